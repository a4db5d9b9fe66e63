"""Parameter space of a worst-case search: the instances that it may generate.

A space is a preset with its ranges. Inside it an instance is plain JSON data: lists of entries
(jobs, machines, ...), whose fields are numbers or words within ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from numpy.random import Generator

Path: TypeAlias = tuple[str | int, ...]
"""Path of a field in an entry: ("utility", "scale"), ("request", 2)."""
Data: TypeAlias = dict[str, Any]
"""An instance as JSON."""

NEAR = 1e-9  # relative: rounding error by which a number may leave its range
SPREAD = 2.0  # powers of ten between the largest and the least step


class Range(Protocol):
    """Range of a field."""

    def draw(self, rng: Generator) -> Any:
        """Return any value, each as likely as the others."""

    def near(self, value: Any, rng: Generator) -> Any:
        """Return a value that is not far from ``value``."""

    def ends(self) -> Sequence[Any]:
        """Return the values beyond which there are no others."""

    def holds(self, value: Any) -> bool:
        """Whether ``value`` is one of the range."""


@dataclass(frozen=True)
class Whole:
    """Whole numbers from ``low`` to ``high``, both included."""

    low: int
    high: int

    def draw(self, rng: Generator) -> int:
        """Return one of them."""
        return int(rng.integers(self.low, self.high + 1))

    def near(self, value: int, rng: Generator) -> int:
        """Return a number that is at least 1 away, if there is one."""
        step = max(1, round(_step(self.high - self.low, rng)))
        return self.clip(value + step if rng.random() < 0.5 else value - step)

    def ends(self) -> tuple[int, int]:
        """Return the least and the greatest."""
        return self.low, self.high

    def holds(self, value: Any) -> bool:
        """Whether it is a whole number of the range."""
        return bool(value == int(value) and self.low <= value <= self.high)

    def clip(self, value: int) -> int:
        """Return the number of the range that is nearest."""
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class Real:
    """Numbers from ``low`` to ``high``, both included, rounded."""

    low: float
    high: float
    decimals: int = 6

    def draw(self, rng: Generator) -> float:
        """Return one of them."""
        return self.clip(float(rng.uniform(self.low, self.high)))

    def near(self, value: float, rng: Generator) -> float:
        """Return a number some way off."""
        step = _step(self.high - self.low, rng)
        return self.clip(value + step if rng.random() < 0.5 else value - step)

    def ends(self) -> tuple[float, float]:
        """Return the least and the greatest."""
        return self.low, self.high

    def holds(self, value: Any) -> bool:
        """Whether it lies in the range, but for rounding."""
        slack = NEAR * max(abs(self.low), abs(self.high)) + 0.5 * 10.0**-self.decimals
        return bool(self.low - slack <= value <= self.high + slack)

    def clip(self, value: float) -> float:
        """Return the number of the range that is nearest."""
        return min(max(round(value, self.decimals), self.low), self.high)


def _step(width: float, rng: Generator) -> float:
    """Return a part of a range: steps of every size are as likely."""
    return width * float(10.0 ** -(SPREAD * rng.random()))


@dataclass(frozen=True)
class OneOf:
    """Some values, in no order."""

    values: tuple[Any, ...]

    def draw(self, rng: Generator) -> Any:
        """Return one of them."""
        return self.values[int(rng.integers(len(self.values)))]

    def near(self, value: Any, rng: Generator) -> Any:
        """Return another one, if there is one."""
        others = [v for v in self.values if v != value] or list(self.values)
        return others[int(rng.integers(len(others)))]

    def ends(self) -> tuple[Any, ...]:
        """Return all."""
        return self.values

    def holds(self, value: Any) -> bool:
        """Whether it is one of them."""
        return value in self.values


@dataclass(frozen=True)
class Either:
    """Union of ranges."""

    ranges: tuple[Real | Whole, ...]

    def draw(self, rng: Generator) -> Any:
        """Return a value of one of them."""
        return self.ranges[int(rng.integers(len(self.ranges)))].draw(rng)

    def near(self, value: Any, rng: Generator) -> Any:
        """Return a value of the range that holds ``value``, now and then of another one."""
        mine = [r for r in self.ranges if r.holds(value)]
        return mine[0].near(value, rng) if mine and rng.random() < 0.7 else self.draw(rng)

    def ends(self) -> tuple[Any, ...]:
        """Return the ends of all."""
        return tuple(end for r in self.ranges for end in r.ends())

    def holds(self, value: Any) -> bool:
        """Whether one of them holds it."""
        return any(r.holds(value) for r in self.ranges)


@dataclass(frozen=True)
class Some:
    """Lists of ``least`` to ``most`` different numbers below ``of``, ascending."""

    of: int
    least: int
    most: int

    def draw(self, rng: Generator) -> list[int]:
        """Return one of them."""
        size = int(rng.integers(self.least, self.most + 1))
        return sorted(rng.permutation(self.of)[:size].tolist())

    def near(self, value: list[int], rng: Generator) -> list[int]:
        """Return a list in which one number is another one."""
        others = [n for n in range(self.of) if n not in value]
        if not value or not others:
            return self.draw(rng)
        kept = list(value)
        kept[int(rng.integers(len(kept)))] = others[int(rng.integers(len(others)))]
        return sorted(kept)

    def ends(self) -> tuple[Any, ...]:
        """Return nothing: there are no ends."""
        return ()

    def holds(self, value: Any) -> bool:
        """Whether it is such a list."""
        fine = self.least <= len(value) <= self.most and sorted(set(value)) == list(value)
        return fine and all(0 <= n < self.of for n in value)


@dataclass(frozen=True)
class Part:
    """A list of an instance whose entries may be changed."""

    name: str
    fields: Mapping[Path, Range]
    least: int = 1  # entries
    most: int = 1
    time: Path | None = None  # the field that states when an entry comes
    value: Path | None = None  # the field that states how much an entry counts
    # fields that make an entry longer, and that make it need more at a time: 1 as they grow, -1 as
    # they fall
    length: Mapping[Path, int] = field(default_factory=dict)
    width: Mapping[Path, int] = field(default_factory=dict)
    numbers: bool = False  # an entry is a slot: numbers of jobs that come in it, by place


@dataclass(frozen=True)
class ParameterSpace:
    """All instances that a search may try, of one preset and at most its sizes."""

    family: str
    preset: str
    draw: Callable[[int], Data]  # an instance of a seed
    jobs: Part
    others: tuple[Part, ...] = ()
    # derived fields are set; None: the data leave the parameter space
    settle: Callable[[Data], Data | None] = field(default=lambda data: data)
    fixed: tuple[str, ...] = ()  # fields that are the same in all
    make: Callable[[Data], Any] | None = None  # makes an instance of data; None: they are one

    def instance(self, kind: Any, data: Data) -> Any:
        """Return data as an instance of a kind."""
        return kind.model_validate(data) if self.make is None else self.make(data)


def value_at(entry: Any, path: Path) -> Any:
    """Return the field of an entry; the empty path is the entry."""
    for step in path:
        entry = entry[step]
    return entry


def put(entries: list[Any], k: int, path: Path, value: Any) -> None:
    """Set a field of entry ``k``."""
    inner: Any = entries
    for step in (k, *path)[:-1]:
        inner = inner[step]
    inner[(k, *path)[-1]] = value


def copied(value: Any) -> Any:
    """Return a copy of JSON data that shares nothing with it."""
    if isinstance(value, dict):
        return {name: copied(inner) for name, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list) else value
