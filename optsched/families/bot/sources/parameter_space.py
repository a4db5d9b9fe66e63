"""The space of a worst-case search: all platforms and masters that a preset could have drawn."""

from __future__ import annotations

from collections import Counter
from typing import Any

from optsched.families.bot.sources.presets import (
    BANDWIDTH,
    KINDS,
    MIXES,
    SPEED,
    UNITS,
    generate,
)
from optsched.numbers.parameter_space import (
    Data,
    OneOf,
    ParameterSpace,
    Part,
    Path,
    Range,
    Real,
    Whole,
)

DEGREE = 5  # most neighbours of a node, as `generate` has it
LARGE = 500  # nodes from which on it is more


def parameter_space(preset: str, **sizes: Any) -> ParameterSpace:
    """Return the space of a preset; ``sizes`` as in :func:`generate`."""
    first = generate(preset, seed=0, **sizes)
    nodes = len(first.speed)
    degree = 15 if nodes >= LARGE else DEGREE
    kinds = MIXES["heterogeneous" if preset == "small" else preset]
    bags: dict[Path, Range] = {
        ("master",): Whole(0, nodes - 1),
        ("name",): OneOf(tuple(dict.fromkeys(kinds))),
    }
    slowest, fastest = (x * UNITS["sec6.5"] for x in SPEED)
    wide: dict[Path, Range] = {("forward",): Real(*BANDWIDTH, 0), ("a",): Whole(0, nodes - 1)}
    fast: dict[Path, Range] = {(): Real(slowest, fastest, 0)}

    def draw(seed: int) -> Data:
        made = generate(preset, seed=seed, **sizes).model_dump(mode="json")
        return made | {"drawn": [], "source": ""}

    def settle(data: Data) -> Data | None:
        for n, link in enumerate(data["links"], start=1):
            link["a"], link["backward"] = min(link["a"], n - 1), link["forward"]
        near = Counter(end for link in data["links"] for end in (link["a"], link["b"]))
        masters = [bag["master"] for bag in data["applications"]]
        for bag in data["applications"]:
            bag["flop"], bag["bytes"] = KINDS[bag["name"]]
        fine = len(set(masters)) == len(masters) and max(near.values(), default=0) <= degree
        return data if fine else None

    return ParameterSpace(
        "bot",
        preset,
        draw,
        Part("applications", bags, most=len(first.applications)),
        (
            Part("speed", fast, nodes, nodes),
            *([Part("links", wide, nodes - 1, nodes - 1)] if nodes > 1 else []),
        ),
        settle,
        ("alpha", "routes", "names"),
    )
