"""Moves: one instance becomes another one, by chance.

A move takes JSON data that no other code holds, changes them and returns them, or None where it
means nothing. The parameter space repairs or rejects the result.
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
LOST = 1e6  # slots that a job is late which is never done
JOBS = 0.6  # share of changes that are made to jobs, where other lists vary too
T = TypeVar("T")


@dataclass(frozen=True)
class Evaluated:
    """An instance and its evaluation."""

    data: Data
    found: Evaluation
    fitness: float


@dataclass(frozen=True)
class MoveContext:
    """Context of a move."""

    space: ParameterSpace
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
        return self.space.draw(int(self.rng.integers(LARGEST_SEED)))

    def part(self) -> Part:
        """Return a list that is to be changed."""
        others = [part for part in self.space.others if part.fields]
        return self.space.jobs if not others or self.chance(JOBS) else self.one(others)

    def place(self, data: Data) -> tuple[list[Any], int, Path, Range]:
        """Return a field: its list, its entry, its position, and its range."""
        part = self.part()
        path, values = self.one(list(part.fields.items()))
        return data[part.name], int(self.rng.integers(len(data[part.name]))), path, values

    def late(self, entry: Any, slots: int) -> None:
        """Move an entry in time."""
        time = self.space.jobs.time
        if time is None:
            return
        values = self.space.jobs.fields[time]
        assert isinstance(values, Whole)  # slots are counted
        put([entry], 0, time, values.clip(value_at(entry, time) + slots))

    def stretch(self, entry: Any, signs: Mapping[Path, int], way: int) -> None:
        """Take some fields some way towards one of their ends."""
        for path, sign in signs.items():
            values = self.space.jobs.fields[path]
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
        if len(entries) >= self.space.jobs.most:
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
    entries = data[hand.space.jobs.name]
    if len(entries) <= hand.space.jobs.least:
        return None
    del entries[int(hand.rng.integers(len(entries)))]
    return data


def add(hand: MoveContext, data: Data, _found: Evaluation) -> Data:
    """Put in a job of another draw."""
    name = hand.space.jobs.name
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
    entries = data[hand.space.jobs.name]
    entry = copied(hand.one(entries))
    hand.late(entry, int(hand.rng.integers(-2, 3)))
    hand.put_in(entries, entry)
    return data


def exchange(hand: MoveContext, data: Data, _found: Evaluation) -> Data | None:
    """Exchange two jobs, or one field of theirs."""
    part = hand.space.jobs
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
    entries = data[hand.space.jobs.name]
    slots = hand.one((-2, -1, 1, 2))
    if hand.space.jobs.numbers:
        entries[:] = entries[slots:] + entries[:slots]
        return data
    for entry in entries if hand.chance(0.4) else [hand.one(entries)]:
        hand.late(entry, slots)
    return data


def repeat(hand: MoveContext, data: Data, _found: Evaluation) -> Data | None:
    """Repeat the arrivals some slots later; where entries are slots, one of them several times."""
    part = hand.space.jobs
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
    other, name = copied(hand.one(hand.others).data), hand.space.jobs.name
    if hand.space.jobs.numbers:
        cut = int(hand.rng.integers(len(data[name]) + 1))
        jobs = data[name][:cut] + other[name][cut:]
    else:
        jobs = [entry for entry in (*data[name], *other[name]) if hand.chance(0.5)]
    taken = other if hand.chance(0.5) else data
    least, most = hand.space.jobs.least, hand.space.jobs.most
    if len(jobs) < least:
        return None
    taken[name] = jobs[:most]
    return taken


PLAIN: tuple[Move, ...] = (redraw, nudge, drop, add)
"""Generic moves."""
STRUCTURAL: tuple[Move, ...] = (to_the_end, alike, double, exchange, shift, repeat, cross)


def harm(found: Evaluation, jobs: int) -> list[float] | None:
    """Return how much later the policy ends each job than the best schedule does, in slots.

    Below 0: earlier. None where nothing is stated of the jobs.
    """
    if len(found.mine) != jobs or len(found.best) != jobs:
        return None
    mine, best = ([LOST if end is None else end for end in x] for x in (found.mine, found.best))
    return [m - b for m, b in zip(mine, best, strict=True)]


def advance_job(hand: MoveContext, data: Data, found: Evaluation) -> Data | None:
    """Increase the value of jobs that the policy harms, and reduce that of others."""
    part = hand.space.jobs
    entries = data[part.name]
    late = harm(found, len(entries))
    if part.value is None or late is None:
        return None
    values = part.fields[part.value]
    low, high = values.ends()[0], values.ends()[-1]
    all_of_them = hand.chance(0.5)
    chosen = range(len(entries)) if all_of_them else [int(hand.rng.integers(len(entries)))]
    for k in chosen:
        if late[k] != 0 or hand.chance(0.5):
            put(entries, k, part.value, high if late[k] > 0 else low)
    return data


def drop_idle(hand: MoveContext, data: Data, found: Evaluation) -> Data | None:
    """Leave out all jobs that neither of the two does, or that both end in the same slot."""
    part = hand.space.jobs
    entries = data[part.name]
    late = harm(found, len(entries))
    if late is None:
        return None
    undone = hand.chance(0.7)
    kept = [
        entry
        for k, entry in enumerate(entries)
        if late[k] != 0 or (undone and found.best[k] is not None)
    ]
    if not part.least <= len(kept) < len(entries):
        return None
    data[part.name] = kept
    return data


def hurt_losers(hand: MoveContext, data: Data, found: Evaluation) -> Data | None:
    """Copy a job that the policy harms, or leave out one that it prefers."""
    entries = data[hand.space.jobs.name]
    late = harm(found, len(entries))
    if late is None or max(late) <= 0:
        return None
    worse = [k for k, slots in enumerate(late) if slots > 0]
    better = [k for k, slots in enumerate(late) if slots < 0]
    if better and len(entries) > hand.space.jobs.least and hand.chance(0.3):
        del entries[hand.one(better)]
        return data
    entry = copied(entries[hand.one(worse)])
    hand.late(entry, int(hand.rng.integers(-1, 3)))
    if len(entries) >= hand.space.jobs.most:
        others = [k for k in range(len(entries)) if k not in worse] or worse
        del entries[hand.one(others)]
    entries.append(entry)
    return data


def add_filler_job(hand: MoveContext, data: Data, _found: Evaluation) -> Data | None:
    """Insert a job of negligible value: a policy that earns nothing has something to earn."""
    part = hand.space.jobs
    if part.value is None:
        return None
    entry = copied(hand.one(hand.drawn()[part.name]))
    put([entry], 0, part.value, part.fields[part.value].ends()[0])
    entries = data[part.name]
    if len(entries) < part.most:
        entries.insert(int(hand.rng.integers(len(entries) + 1)), entry)
    else:
        entries[int(hand.rng.integers(len(entries)))] = entry
    return data


def block(hand: MoveContext, data: Data, found: Evaluation) -> Data | None:
    """Let a job that the policy prefers come first and be longer, and those that it harms denser.

    Where no job is harmed, any job is taken to be preferred, and all others to be harmed.
    """
    part = hand.space.jobs
    entries = data[part.name]
    late = harm(found, len(entries))
    if late is None or len(entries) < 2 or not (part.length or part.width):
        return None
    first = hand.one([k for k, slots in enumerate(late) if slots <= 0] or range(len(entries)))
    harmed = [k for k, slots in enumerate(late) if slots > 0 and k != first]
    harmed = harmed or [k for k in range(len(entries)) if k != first]
    if hand.chance(0.7):
        hand.stretch(entries[first], part.length, 1)
        hand.late(entries[first], -hand.one((0, 1, 2)))
    if hand.chance(0.3):
        hand.stretch(entries[first], part.width, hand.one((-1, 1)))
    if hand.chance(0.7):
        like = copied(entries[hand.one(harmed)])
        hand.stretch(like, part.length, -1)
        hand.stretch(like, part.width, 1)
        for k in harmed if hand.chance(0.7) else [hand.one(harmed)]:
            entries[k] = copied(like)
            hand.late(entries[k], hand.one((0, 0, 1, 2)))
    entries.insert(0, entries.pop(first))
    return data


AIMED: tuple[Move, ...] = (advance_job, drop_idle, hurt_losers, add_filler_job, block)
"""Moves that look at where the policy and the best schedule differ."""
