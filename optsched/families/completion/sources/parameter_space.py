"""Space of a worst-case search: all that a preset could have drawn, or with fewer jobs."""

from __future__ import annotations

import math
from typing import Any

from optsched.families.completion.instance import CompletionJob, Platform
from optsched.families.completion.modes import Cluster
from optsched.families.completion.sources.presets import GPU_POWER, PRESETS, Settings, generate
from optsched.numbers.parameter_space import (
    Data,
    ParameterSpace,
    Part,
    Path,
    Range,
    Real,
    Whole,
    copied,
)

SECONDS = 3600.0  # of a slot, as `generate` has it
RATES = 1  # decimals of bandwidths


def parameter_space(preset: str, **sizes: Any) -> ParameterSpace:
    """Return the space of a preset; ``sizes`` as in :func:`generate`. Servers are fixed."""
    s = PRESETS[preset]
    first = generate(preset, seed=0, **sizes)
    servers = first.model_dump(mode="json")["servers"]

    def settle(data: Data) -> Data | None:
        for kind, r in (("worker", 0), ("ps", 1)):
            for made in data[f"{kind}_types"]:
                made["demand"][-1] = made["bandwidth"]
                made["name"] = f"{made['demand'][r]:g} {'GPU' if kind == 'worker' else 'vCPU'}"
        power = [max(kind["demand"][0], 1.0) ** -GPU_POWER for kind in data["worker_types"]]
        for job in data["jobs"]:
            low, high = s.batch_time
            v = min(max(job["batch_time"][0] / power[0], low), high)
            job["batch_time"] = [round(v * each, 6) for each in power]
        platform = Platform(**{name: data[name] for name in Platform.model_fields})
        cluster = Cluster(platform)
        jobs = map(CompletionJob.model_validate, data["jobs"])
        return data if all(cluster.task(job).modes.size for job in jobs) else None

    def draw(seed: int) -> Data:
        made = generate(preset, seed=seed, **sizes).model_dump(mode="json")
        unnamed = {"drawn": [], "source": "", "redrawn": 0, "servers": servers}
        return settle(made | unnamed) or copied(first_data)

    first_data = first.model_dump(mode="json") | {"drawn": [], "source": "", "redrawn": 0}
    fixed = ("architecture", "slot_seconds", "horizon", "enforce_horizon", "resources", "units")
    jobs = Part(
        "jobs",
        _fields(s, first.horizon, len(first.ps_types)),
        most=len(first.jobs),
        time=("arrival",),
        value=("weight",),
    )
    kinds = tuple(
        Part(name, _kind(demand, rate), len(there), len(there))
        for name, demand, rate, there in (
            ("worker_types", s.worker, s.worker_bandwidth, first.worker_types),
            ("ps_types", s.ps, s.ps_bandwidth, first.ps_types),
        )
    )
    return ParameterSpace("completion", preset, draw, jobs, kinds, settle, (*fixed, "servers"))


def _fields(s: Settings, slots: int, updates: int) -> dict[Path, Range]:
    """Return the variable fields of a job; its time on other workers follows from the first."""
    fields: dict[Path, Range] = {
        ("arrival",): Whole(0, max(1, math.ceil(slots * s.arrival)) - 1),
        ("batch_time", 0): Real(0.0, s.batch_time[1], 6),
    }
    for name in ("weight", "epochs", "chunks", "batches_per_chunk", "gradient_mb"):
        low, high = getattr(s, name)
        fields[name,] = Whole(int(low), int(high))
    for p in range(updates):
        low, high = (round(ms / 1000 / SECONDS, 9) for ms in s.update_ms)
        fields["update_time", p] = Real(low, high, 9)
    return fields


def _kind(demand: tuple[tuple[float, float], ...], rate: tuple[float, float]) -> dict[Path, Range]:
    """Return the variable fields of a kind of worker or parameter server."""
    fields: dict[Path, Range] = {("bandwidth",): Real(*rate, RATES)}
    for r, (low, high) in enumerate(demand):
        fields["demand", r] = Whole(int(low), int(high))
    return fields
