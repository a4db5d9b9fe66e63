"""Moves: one instance becomes another one, by chance.

A move takes JSON data that no other code holds, changes them and returns them, or None where it
means nothing. What it makes is put right, or refused, by the box.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from numpy.random import Generator

from optsched.adversarial.evaluation import Evaluation
from optsched.numbers.parameter_space import (
    Data,
    ParameterSpace,
    Part,
    Path,
    Range,
    Real,
    Whole,
    copied,
    put,
    value_at,
)

LARGEST_SEED = 2**31
JOBS = 0.6  # share of changes that are made to jobs, where other lists vary too
T = TypeVar("T")


@dataclass(frozen=True)
class Evaluated:
    """An instance, and what came of it."""

    data: Data
    found: Evaluation
    fitness: float


@dataclass(frozen=True)
class MoveContext:
    """Context of a move."""

    box: ParameterSpace
    rng: Generator
    others: Sequence[Evaluated] = ()  # the best instances so far

    def one(self, values: Sequence[T]) -> T:
        """Return any of some values."""
        return values[int(self.rng.integers(len(values)))]

    def chance(self, share: float) -> bool:
        """Return True so often."""
        return bool(self.rng.random() < share)

    def drawn(self) -> Data:
        """Draw an instance of the preset."""
        return self.box.draw(int(self.rng.integers(LARGEST_SEED)))

    def part(self) -> Part:
        """Return a list that is to be changed."""
        others = [part for part in self.box.others if part.fields]
        return self.box.jobs if not others or self.chance(JOBS) else self.one(others)

    def place(self, data: Data) -> tuple[list[Any], int, Path, Range]:
        """Return a field: its list, its entry, where in it it is, and what it may be."""
        part = self.part()
        path, values = self.one(list(part.fields.items()))
        return data[part.name], int(self.rng.integers(len(data[part.name]))), path, values

    def late(self, entry: Any, slots: int) -> None:
        """Move an entry in time."""
        time = self.box.jobs.time
        if time is None:
            return
        values = self.box.jobs.fields[time]
        assert isinstance(values, Whole)  # slots are counted
        put([entry], 0, time, values.clip(value_at(entry, time) + slots))

    def stretch(self, entry: Any, signs: Mapping[Path, int], way: int) -> None:
        """Take some fields some way towards one of their ends."""
        for path, sign in signs.items():
            values = self.box.jobs.fields[path]
            assert isinstance(values, Whole | Real)  # they grow and fall
            if self.chance(0.5):
                continue
            value, end = value_at(entry, path), values.ends()[sign * way > 0]
            share = 1.0 if self.chance(0.5) else float(self.rng.random())
            reached = value + share * (end - value)
            whole = isinstance(values, Whole)
            put([entry], 0, path, values.clip(round(reached) if whole else reached))

    def put_in(self, entries: list[Any], entry: Any) -> None:
        """Put in an entry somewhere: of jobs that arrive together, the first is served first."""
        if len(entries) >= self.box.jobs.most:
            del entries[int(self.rng.integers(len(entries)))]
        entries.insert(int(self.rng.integers(len(entries) + 1)), entry)


Move = Callable[[MoveContext, Data, Evaluation], Data | None]


def redraw(hand: MoveContext, data: Data, _found: Evaluation) -> Data:
    """Draw a field anew."""
    entries, k, path, values = hand.place(data)
    put(entries, k, path, values.draw(hand.rng))
    return data


def nudge(hand: MoveContext, data: Data, _found: Evaluation) -> Data:
    """Change a field by a step."""
    entries, k, path, values = hand.place(data)
    put(entries, k, path, values.near(value_at(entries[k], path), hand.rng))
    return data


def drop(hand: MoveContext, data: Data, _found: Evaluation) -> Data | None:
    """Leave out a job."""
    entries = data[hand.box.jobs.name]
    if len(entries) <= hand.box.jobs.least:
        return None
    del entries[int(hand.rng.integers(len(entries)))]
    return data


def add(hand: MoveContext, data: Data, _found: Evaluation) -> Data:
    """Put in a job of another draw."""
    name = hand.box.jobs.name
    hand.put_in(data[name], hand.one(hand.drawn()[name]))
    return data


def to_the_end(hand: MoveContext, data: Data, _found: Evaluation) -> Data | None:
    """Set a field to an end of its range."""
    entries, k, path, values = hand.place(data)
    if not values.ends():
        return None
    put(entries, k, path, hand.one(values.ends()))
    return data


def alike(hand: MoveContext, data: Data, _found: Evaluation) -> Data | None:
    """Set a field of all entries of a list to one value, mostly an end."""
    entries, k, path, values = hand.place(data)
    value = value_at(entries[k], path)
    if values.ends() and hand.chance(0.7):
        value = hand.one(values.ends())
    for other in range(len(entries)):
        put(entries, other, path, copied(value))
    return data


def double(hand: MoveContext, data: Data, _found: Evaluation) -> Data:
    """Copy a job, at the same time or some slots away."""
    entries = data[hand.box.jobs.name]
    entry = copied(hand.one(entries))
    hand.late(entry, int(hand.rng.integers(-2, 3)))
    hand.put_in(entries, entry)
    return data


def exchange(hand: MoveContext, data: Data, _found: Evaluation) -> Data | None:
    """Exchange two jobs, or one field of theirs."""
    part = hand.box.jobs
    entries = data[part.name]
    if len(entries) < 2:
        return None
    a, b = (int(k) for k in hand.rng.permutation(len(entries))[:2])
    path: Path = () if hand.chance(0.4) else hand.one(list(part.fields))
    one, other = (copied(value_at(entries[k], path)) for k in (a, b))
    put(entries, a, path, other)
    put(entries, b, path, one)
    return data


def shift(hand: MoveContext, data: Data, _found: Evaluation) -> Data:
    """Let a job, or all, come earlier or later."""
    entries = data[hand.box.jobs.name]
    slots = hand.one((-2, -1, 1, 2))
    if hand.box.jobs.numbers:
        entries[:] = entries[slots:] + entries[:slots]
        return data
    for entry in entries if hand.chance(0.4) else [hand.one(entries)]:
        hand.late(entry, slots)
    return data


def repeat(hand: MoveContext, data: Data, _found: Evaluation) -> Data | None:
    """Repeat what comes, some slots later; where entries are slots, one of them several times."""
    part = hand.box.jobs
    entries = data[part.name]
    if part.numbers:
        row = hand.one(entries)
        first, last = sorted(int(k) for k in hand.rng.integers(len(entries) + 1, size=2))
        entries[first:last] = [copied(row) for _ in range(last - first)]
        return data
    free_entries = part.most - len(entries)
    if free_entries < 1:
        return None
    slots = int(hand.rng.integers(0, 4))
    again = [copied(entry) for entry in entries[:free_entries]]
    for entry in again:
        hand.late(entry, slots)
    entries += again
    return data


def cross(hand: MoveContext, data: Data, _found: Evaluation) -> Data | None:
    """Take jobs of this instance and of another good one, and the platform of either."""
    if not hand.others:
        return None
    other, name = copied(hand.one(hand.others).data), hand.box.jobs.name
    if hand.box.jobs.numbers:
        cut = int(hand.rng.integers(len(data[name]) + 1))
        jobs = data[name][:cut] + other[name][cut:]
    else:
        jobs = [entry for entry in (*data[name], *other[name]) if hand.chance(0.5)]
    taken = other if hand.chance(0.5) else data
    least, most = hand.box.jobs.least, hand.box.jobs.most
    if len(jobs) < least:
        return None
    taken[name] = jobs[:most]
    return taken


PLAIN: tuple[Move, ...] = (redraw, nudge, drop, add)
"""Generic moves."""
STRUCTURAL: tuple[Move, ...] = (to_the_end, alike, double, exchange, shift, repeat, cross)
