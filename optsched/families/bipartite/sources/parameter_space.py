"""Space of a worst-case search: all that a preset could have drawn, or with fewer slots."""

from __future__ import annotations

import math
from typing import Any

from optsched.families.bipartite.instance_utilities import KINDS
from optsched.families.bipartite.sources.presets import PRESETS, generate
from optsched.numbers.parameter_space import (
    Data,
    Either,
    OneOf,
    ParameterSpace,
    Part,
    Path,
    Range,
    Real,
    Some,
    Whole,
)

PLACES = 4  # decimals of all that is drawn


def parameter_space(preset: str, **sizes: Any) -> ParameterSpace:
    """Return the space of a preset; ``sizes`` as in :func:`generate`."""
    s = PRESETS[preset]
    first = generate(preset, seed=0, **sizes)
    ports, machines = len(first.ports), len(first.machines)
    ranges: dict[Path, Range] = {}
    for k, ((low, high), rare) in enumerate(zip(s.request, s.rare, strict=True)):
        amount = Real(low * s.contention * s.scale, high * s.contention * s.scale, PLACES)
        ranges["request", k] = Either((Whole(0, 0), amount)) if rare else amount
    least, most = math.floor(s.density), math.ceil(s.density)
    held: dict[Path, Range] = {("ports",): Some(ports, min(least, ports), min(most, ports))}
    for k, (low, high) in enumerate(s.capacity):
        held["capacity", k] = Whole(int(low), int(high))
        held["utility", k, "kind"] = OneOf(KINDS)
        held["utility", k, "alpha"] = Real(*s.alpha, PLACES)
    come: dict[Path, Range] = {(i,): Whole(0, s.most_jobs) for i in range(ports)}
    beta: dict[Path, Range] = {(): Real(*s.beta, PLACES)}
    count = len(s.resources)

    def draw(seed: int) -> Data:
        made = generate(preset, seed=seed, **sizes).model_dump(mode="json")
        return made | {"drawn": [], "source": ""}

    def settle(data: Data) -> Data | None:
        data["horizon"] = len(data["arrivals"])
        if s.gain == "sum":  # a resource has one utility
            for machine in data["machines"]:
                machine["utility"] = data["machines"][0]["utility"]
        return data if any(map(any, data["arrivals"])) else None

    return ParameterSpace(
        "bipartite",
        preset,
        draw,
        Part("arrivals", come, most=first.horizon, numbers=True),
        (
            Part("ports", ranges, ports, ports),
            Part("machines", held, machines, machines),
            Part("overhead", beta, count, count),
        ),
        settle,
        ("slot_seconds", "resources", "units"),
    )
