"""Random instances after Sec. 4 and Table II.

Presets: `paper` has the settings of Table II; `large` those of Sec. 4.3; `small` is for tests and
for reading; `counts` lets up to three jobs arrive at a port in one slot (Sec. 3.4); `sum` has gains
of the sums over machines, as (7) is printed.

The paper takes capacities and requests from traces that it does not name in detail. Here they are
drawn: machines have 64-96 cores, 100 units of memory and 0-8 of each accelerator; a job requests,
on each of its machines, 1-8 cores, 1-12 units of memory and a fraction of half of the
accelerators, times the contention level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from optsched.families.bipartite.instance import BipartiteInstance, Machine, Port
from optsched.families.bipartite.instance_utilities import KINDS, Utility
from optsched.numbers import settings
from optsched.numbers.streams import Streams
from optsched.problem import InputError

Range = tuple[float, float]


@dataclass(frozen=True)
class Settings:
    """Parameters of a preset's distributions; the defaults are those of Table II."""

    ports: int = 10
    machines: int = 128
    slots: int = 2000
    density: float = 3.0  # ports per machine, on average
    alpha: Range = (1.0, 1.5)
    beta: Range = (0.3, 0.5)
    arrival_probability: float = 0.7
    contention: float = 10.0  # multiplies requests
    scale: float = 1.0  # multiplies capacities and requests
    utilities: tuple[str, ...] = KINDS  # one is drawn for each machine and resource
    gain: str = "machine"  # "sum": one is drawn for each resource
    most_jobs: int = 1  # in one slot at one port
    resources: tuple[str, ...] = ("cpu", "memory", "gpu", "npu", "tpu", "fpga")
    units: tuple[str, ...] = ("core", "unit", "GPU", "NPU", "TPU", "FPGA")
    capacity: tuple[Range, ...] = ((64, 96), (100, 100), (0, 8), (0, 8), (0, 8), (0, 8))
    request: tuple[Range, ...] = ((1, 8), (1, 12), (0, 1.5), (0, 1), (0, 1), (0, 0.5))
    rare: tuple[bool, ...] = (False, False, True, True, True, True)  # half of the jobs request none


PRESETS = {
    "paper": Settings(),
    "large": Settings(ports=100, machines=1024, slots=10000, beta=(0.01, 0.015), contention=5.0),
    "small": Settings(
        ports=4,
        machines=5,
        slots=40,
        density=2.0,
        contention=2.0,
        resources=("cpu", "memory", "gpu"),
        units=("core", "unit", "GPU"),
        capacity=((8, 16), (8, 16), (0, 4)),
        request=((1, 6), (1, 6), (0, 2)),
        rare=(False, False, True),
    ),
}
PRESETS["counts"] = replace(PRESETS["small"], ports=3, most_jobs=3)
PRESETS["sum"] = replace(PRESETS["small"], gain="sum")


def generate(preset: str = "paper", *, seed: int = 0, **changes: Any) -> BipartiteInstance:
    """Draw an instance.

    Parameters
    ----------
    preset : str
        One of `PRESETS`.
    seed : int
        Fixes all that is drawn.
    **changes
        Fields of `Settings` that differ from the preset's: ports, machines, slots, density, ...

    Raises
    ------
    InputError
        Unknown preset or setting, or a setting that makes no sense.
    """
    settings.one_of("preset", preset, PRESETS)
    settings.whole(0, seed=seed)
    try:
        s = replace(PRESETS[preset], **changes)
    except TypeError as err:
        known = ", ".join(Settings.__dataclass_fields__)
        raise InputError(
            f"unknown setting in {sorted(changes)}, expected some of: {known}"
        ) from err
    _check(s)
    streams, each = Streams(seed), (s.slots, s.most_jobs)
    jobs = [  # each of a port's jobs arrives independently
        (streams("arrivals", i).random(each) < s.arrival_probability).sum(axis=1)
        for i in range(s.ports)
    ]
    return BipartiteInstance(
        horizon=s.slots,
        resources=s.resources,
        units=s.units,
        gain=s.gain,
        overhead=tuple(
            _rounded(streams("overhead", k).uniform(*s.beta)) for k in range(len(s.resources))
        ),
        ports=tuple(_port(s, streams, i) for i in range(s.ports)),
        machines=tuple(_machine(s, streams, r) for r in range(s.machines)),
        arrivals=tuple(map(tuple, np.array(jobs).T.tolist())),
        drawn=("all",),
        source=f"preset {preset}, seed {seed}"
        + "".join(f", {name}={value}" for name, value in changes.items()),
    )


def _check(s: Settings) -> None:
    settings.whole(ports=s.ports, machines=s.machines, slots=s.slots, most_jobs=s.most_jobs)
    settings.positive(contention=s.contention, scale=s.scale)
    if not 0 <= s.density <= s.ports:
        raise InputError(f"density is {s.density}, expected 0..{s.ports}, the number of ports")
    if not 0 <= s.arrival_probability <= 1:
        raise InputError(f"arrival_probability is {s.arrival_probability}, expected 0..1")
    settings.one_of("gain", s.gain, ("machine", "sum"))
    unknown = [kind for kind in s.utilities if kind not in KINDS]
    if unknown or not s.utilities:
        raise InputError(f"utilities is {s.utilities}, expected some of: {', '.join(KINDS)}")


def _rounded(x: float) -> float:
    return round(float(x), 4)


def _port(s: Settings, streams: Streams, i: int) -> Port:
    rng = streams("request", i)
    request = []
    for (low, high), rare in zip(s.request, s.rare, strict=True):
        amount, requested = rng.uniform(low, high), rng.random() < 0.5
        request.append(_rounded(amount * s.contention * s.scale) if requested or not rare else 0.0)
    return Port(name=f"type {i}", request=tuple(request), most_jobs=s.most_jobs)


def _machine(s: Settings, streams: Streams, r: int) -> Machine:
    rng = streams("capacity", r)
    capacity = tuple(
        _rounded(rng.integers(int(low), int(high) + 1) * s.scale) for low, high in s.capacity
    )
    edges, whole = streams("edges", r), math.floor(s.density)
    degree = whole + (edges.random() < s.density - whole)
    drawn_for = 0 if s.gain == "sum" else r
    return Machine(
        name=f"machine {r}",
        capacity=capacity,
        ports=tuple(sorted(edges.permutation(s.ports)[:degree].tolist())),
        utility=draw_utilities(
            streams("utility", drawn_for), len(s.resources), s.alpha, s.utilities
        ),
    )


def draw_utilities(
    rng: Generator, resources: int, alpha: Range, kinds: tuple[str, ...]
) -> tuple[Utility, ...]:
    """Draw f_r^k of one machine: a kind and its parameter for every resource."""
    return tuple(
        Utility.model_validate(
            {"kind": kinds[int(rng.integers(len(kinds)))], "alpha": _rounded(rng.uniform(*alpha))}
        )
        for _ in range(resources)
    )
