"""Test of nonanticipativity: instances that agree up to a time must have equal events up to it.

The pairs come from the problem's own generator: with the same random numbers before a time and
others from then on, or with a longer horizon. Differences in the earlier events are leaks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from optsched.declared.events import Event, NewCone, NewRow, events
from optsched.declared.model import Declared, ProgramVariable
from optsched.declared.problem import Draws, Problem
from optsched.numbers import settings
from optsched.numbers.streams import Streams
from optsched.problem import InputError

LIMIT = (
    "a limit becomes known with the constraint: if it sums the data of several times, expected the "
    "running sum to be a variable, as in level[t] == level[t-1] + inflow[t] - use[t]"
)
OTHER = 1_000_003  # between the seeds of the two instances of a pair


@dataclass(frozen=True)
class Leak:
    """The first difference between two instances that are alike before a time."""

    time: float
    what: str  # "variable x[3]", "constraint c[2]"
    field: str
    values: tuple[Any, Any]
    cut: float  # the two are alike before this time
    why: str  # how the second instance was made

    def __str__(self) -> str:
        one, other = self.values
        found = (
            f"time {self.time:g}: {self.what}: {self.field} is {one} or {other}, depending on "
            f"{self.why}"
        )
        of_row = self.what.startswith("constraint") and self.field in ("lower", "upper")
        return f"{found}; {LIMIT}" if of_row else found


@dataclass(frozen=True)
class Pairs:
    """Result of the test."""

    problem: str
    pairs: int
    leak: Leak | None
    drawn: bool = True  # some pair differs: else the test shows nothing about random data

    def __str__(self) -> str:
        if self.leak is None:
            found = f"{self.problem}: no leak in {self.pairs} pairs of instances"
            alike = "; all pairs are alike: nothing is drawn from the given `random`"
            return found if self.drawn else found + alike
        return f"{self.problem} reveals what is still to come: {self.leak}"


def check_problem(
    problem: Problem, preset: str | None = None, *, pairs: int = 20, seed: int = 0
) -> Pairs:
    """Compare pairs of instances of a problem, and return the first leak.

    Parameters
    ----------
    problem : Problem
    preset : str, optional
        By default the first one.
    pairs : int
    seed : int
        Of the first pair.

    Raises
    ------
    InputError
        An instance has fewer than two events, or a seed draws another instance each time.
    """
    settings.whole(pairs=pairs)
    chosen = preset or next(iter(problem.sizes))
    drawn = False
    for number in range(pairs):
        here = seed + number
        base = problem(chosen, seed=here)
        if number == 0:
            _must_repeat(problem, chosen, here, base)
        times = sorted({t for c in base.columns for t in (c.revealed, c.decided)})
        if len(times) < 2:
            raise InputError(
                f"problem {problem.name}: preset {chosen!r}, seed {here} has {len(times)} events, "
                "expected at least two"
            )
        cut = float(times[1 + int(Streams(here)("cut").integers(len(times) - 1))])
        draws = Draws(here, cut, here + OTHER)
        twin = problem.draw(draws, here, chosen, {})
        why = f"what is drawn for time {cut:g} or later"
        leak = difference(base, twin, cut, why)
        drawn |= (base.columns, base.rows, base.cones) != (twin.columns, twin.rows, twin.cones)
        if leak is None:
            leak = _longer(problem, chosen, here, base, times)
        if leak is not None:
            return Pairs(problem.name, number + 1, leak)
    return Pairs(problem.name, pairs, None, drawn)


def _must_repeat(problem: Problem, preset: str, seed: int, base: Declared) -> None:
    """Refuse a generator whose numbers do not all come from its seed."""
    again = problem(preset, seed=seed)
    if again == base:
        return
    found = difference(base, again, math.inf, "")
    where = "" if found is None else f" that differ in {found.what} ({found.field})"
    raise InputError(
        f"problem {problem.name}: seed {seed} draws two instances{where}, expected all random "
        "numbers to be drawn from the given `random`"
    )


def _longer(
    problem: Problem, preset: str, seed: int, base: Declared, times: list[float]
) -> Leak | None:
    """Compare with instances of a longer horizon: a size of the preset that adds later events."""
    for size, number in problem.sizes[preset].items():
        if size in problem.public or not isinstance(number, int) or isinstance(number, bool):
            continue
        more = number + 1 + number // 4
        try:
            twin = problem.draw(Draws(seed), seed, preset, {size: more})
        except InputError:
            continue
        after = sorted({t for c in twin.columns for t in (c.revealed, c.decided)})
        alike = [one == other for one, other in zip(times, after, strict=False)]
        shared = [*alike, False].index(False)
        if after[-1] > times[-1] and shared > 1:  # events may follow the last arrival
            cut = times[3 * shared // 4]
            leak = difference(base, twin, cut, _horizon(size, number, more))
            if leak is not None:
                return leak
    return None


def _horizon(size: str, number: int, more: int) -> str:
    known = f'if policies may know it, declare public=["{size}"]'
    return f"whether {size} is {number} or {more} ({known})"


def difference(one: Declared, other: Declared, cut: float, why: str) -> Leak | None:
    """Return the first difference between two instances before a time, or None."""
    if one.sense != other.sense:
        first = min(c.revealed for c in one.columns)
        return Leak(first, "the objective", "sense", (one.sense, other.sense), cut, why)
    sides = ([e for e in events(inst) if e.time < cut] for inst in (one, other))
    for a, b in zip_longest(*sides):  # None where one has no more
        if a is None or b is None or a.time != b.time:
            there = [e.time for e in (a, b) if e is not None]
            shown = tuple("none" if e is None else f"at time {e.time:g}" for e in (a, b))
            return Leak(min(there), "the next event", "time", (shown[0], shown[1]), cut, why)
        for what, field, values in _differences(a, b):
            return Leak(a.time, what, field, values, cut, why)
    return None


def _differences(a: Event, b: Event) -> Iterator[tuple[str, str, tuple[Any, Any]]]:
    """Yield the differences of two events of the same time: subject, field and values."""
    sides: list[tuple[str, Sequence[ProgramVariable | NewRow | NewCone], Sequence[Any]]] = [
        ("variable", a.columns, b.columns),
        ("constraint", a.rows, b.rows),
        ("cone", a.cones, b.cones),
    ]
    for kind, mine, theirs in sides:
        for x, y in zip(mine, theirs, strict=False):
            for field in type(x).model_fields:
                values = getattr(x, field), getattr(y, field)
                if values[0] != values[1]:
                    attribute = "name or order" if field == "name" else field
                    yield f"{kind} {x.name}", attribute, values
        if len(mine) != len(theirs):
            yield f"the {kind}s", "number", (len(mine), len(theirs))
    for one, other in zip(a.entries, b.entries, strict=False):
        (row, column, number), (row_too, column_too, number_too) = one, other
        if (row, column) != (row_too, column_too):
            entries = f"{number:g} {column}", f"{number_too:g} {column_too} in {row_too}"
            yield f"constraint {row}", "entry", entries
        elif number != number_too:
            yield f"constraint {row}", f"coefficient of {column}", (number, number_too)
    if len(a.entries) != len(b.entries):
        yield "the constraints", "number of coefficients", (len(a.entries), len(b.entries))
    if a.decide != b.decide:
        yield "the variables to be decided", "names", (a.decide, b.decide)
