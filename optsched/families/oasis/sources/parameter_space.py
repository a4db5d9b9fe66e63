"""Space of a worst-case search: all that a preset could have drawn, or with fewer jobs."""

from __future__ import annotations

from typing import Any

from optsched.families.oasis.instance import OasisInstance, OasisJob, Platform, job_work
from optsched.families.oasis.instance import most_workers as most_at_once
from optsched.families.oasis.sources.presets import DECIMALS, NIC, PRESETS, generate
from optsched.numbers.parameter_space import (
    Data,
    Either,
    ParameterSpace,
    Part,
    Path,
    Range,
    Real,
    Whole,
)

DECAY: tuple[Whole | Real, ...] = (
    Whole(0, 0),
    Real(0.01, 1.0, 3),
    Real(4.0, 6.0, 3),
)  # of the kinds of jobs, as mixed
PRIORITY = (1.0, 100.0)
LAST = 4  # of the resources: bandwidth, which follows from the rates


def parameter_space(preset: str, **sizes: Any) -> ParameterSpace:
    """Return the space of a preset; ``sizes`` as in :func:`generate`."""
    s = PRESETS[preset]
    first = generate(preset, seed=0, **sizes)
    slots = first.horizon
    fields: dict[Path, Range] = {("arrival",): Whole(0, slots - 1)}
    for name in ("epochs", "chunks", "batches_per_chunk", "gradient_mb"):
        low, high = getattr(s, name)
        fields[name,] = Whole(int(low), int(high))
    for name, decimals in DECIMALS.items():
        low, high = getattr(s, name)
        fields[name,] = Real(low, high, decimals)
    for name in ("worker_demand", "ps_demand"):
        for r, (low, high) in enumerate(getattr(s, name)):
            fields[name, r] = Whole(int(low), int(high))
    later = slots if s.shifted else 0
    fields["utility", "scale"] = Real(*PRIORITY, 2)
    fields["utility", "decay"] = Either(
        tuple(kind for kind, share in zip(DECAY, s.mix, strict=True) if share > 0)
    )
    fields["utility", "target"] = Real(s.target[0], s.target[1] + later, 2)

    def settle(data: Data) -> Data | None:
        platform = Platform(**{name: data[name] for name in Platform.model_fields})
        for job in data["jobs"]:
            for side in ("worker", "ps"):
                job[f"{side}_demand"][LAST] = job[f"{side}_bandwidth"]
            made = OasisJob.model_validate(job)
            most = most_at_once(platform, made)
            if most == 0:
                return None
            run = -(-job_work(made, platform.slot_seconds) // most)
            job["arrival"] = min(job["arrival"], slots - run)
            if job["arrival"] < 0:
                return None
            if s.shifted:
                low, high = (limit + run - 1 for limit in s.target)
                job["utility"]["target"] = min(max(job["utility"]["target"], low), high)
        return data

    def draw(seed: int) -> Data:
        return plain(generate(preset, seed=seed, **sizes))

    machines: dict[Path, Range] = {("capacity", LAST): Whole(*NIC)}
    others = tuple(
        Part(name, machines, len(there), len(there))
        for name, there in (
            ("worker_machines", first.worker_machines),
            ("ps_machines", first.ps_machines),
        )
    )
    jobs = Part(
        "jobs",
        fields,
        most=len(first.jobs),
        time=("arrival",),
        value=("utility", "scale"),
    )
    fixed = ("slot_seconds", "horizon", "resources", "units")
    return ParameterSpace("oasis", preset, draw, jobs, others, settle, fixed)


def plain(instance: OasisInstance) -> Data:
    """Return an instance without the marks of its origin."""
    return instance.model_dump(mode="json") | {"drawn": [], "source": "", "redrawn": 0}
