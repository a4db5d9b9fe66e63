"""Space of a worst-case search: all that a preset could have drawn, or with fewer jobs."""

from __future__ import annotations

from typing import Any

from optsched.families.dmlrs.instance import DmlrsJob, Needs, Platform, fastest_pace
from optsched.families.dmlrs.sources.presets import PRESETS, generate
from optsched.numbers.parameter_space import Data, ParameterSpace, Part, Path, Range, Real, Whole

RATIO = 40.0  # of inner and outer rate, as `generate` has it
LONGER = ("epochs", "batches_per_chunk", "batch_time", "gradient_mb")
DEMANDS = ("worker_demand", "ps_demand")


def parameter_space(preset: str, **sizes: Any) -> ParameterSpace:
    """Return the space of a preset; ``sizes`` as in :func:`generate`."""
    s = PRESETS[preset]
    first = generate(preset, seed=0, **sizes)
    slots, seconds = first.horizon, first.slot_seconds
    least, most = (round(x / seconds, 12) for x in s.batch_seconds)
    fields: dict[Path, Range] = {
        ("arrival",): Whole(0, max(1, int(s.arrivals * slots)) - 1),
        ("batch_time",): Real(least, most, 12),
        ("inner_bandwidth",): Real(*s.inner_bandwidth, 2),
        ("ps_bandwidth",): Real(*s.ps_bandwidth, 2),
        ("gradient_mb",): Whole(*map(int, s.gradient)),
    }
    for name in ("epochs", "chunks", "batches_per_chunk"):
        low, high = getattr(s, name)
        fields[name,] = Whole(int(low), int(high))
    for side in DEMANDS:
        for r, (low, high) in enumerate(s.demand):
            fields[side, r] = Whole(int(low), int(high))

    def settle(data: Data) -> Data | None:
        platform = Platform(**{name: data[name] for name in Platform.model_fields})
        for job in data["jobs"]:
            job["outer_bandwidth"] = round(job["inner_bandwidth"] / RATIO, 9)
            made = DmlrsJob.model_validate(job)
            needs = Needs.of(made, seconds)
            pace = fastest_pace(platform, made, needs).work
            if pace == 0:
                return None
            job["arrival"] = min(job["arrival"], slots + -needs.work // pace)
            if job["arrival"] < 0:
                return None
        return data

    def draw(seed: int) -> Data:
        made = generate(preset, seed=seed, **sizes).model_dump(mode="json")
        return made | {"drawn": [], "source": "", "redrawn": 0}

    length: dict[Path, int] = {(name,): 1 for name in LONGER}
    jobs = Part(
        "jobs",
        fields,
        most=len(first.jobs),
        time=("arrival",),
        length=length | {("inner_bandwidth",): -1},
        width={path: 1 for path in fields if path[0] in DEMANDS} | {("ps_bandwidth",): -1},
    )
    fixed = ("slot_seconds", "horizon", "resources", "units", "machines", "locality")
    return ParameterSpace("dmlrs", preset, draw, jobs, (), settle, fixed)
