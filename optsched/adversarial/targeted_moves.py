"""Moves that look at where the policy and the best schedule differ."""

from __future__ import annotations

from optsched.adversarial.evaluation import Evaluation
from optsched.adversarial.moves import Move, MoveContext
from optsched.numbers.parameter_space import Data, copied, put

LOST = 1e6  # slots that a job is late which is never done


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
