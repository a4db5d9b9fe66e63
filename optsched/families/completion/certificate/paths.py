"""Kernels: enumeration of all paths of the dynamic program over time within a limit.

Depth-first enumeration of near-shortest paths with the exact cost to go as bound (Byers and
Waterman, 1984); paths whose prefix holds a conflict are cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.completion.certificate.holding import (
    ZERO,
    Conflicts,
    Memory,
    holds,
    remembered,
    sort_in,
)
from optsched.families.completion.certificate.states import NOTHING, Demand, StatePool, Transitions
from optsched.numbers.arrays import Ints, Medium
from optsched.numbers.kernels import kernel

DONE, FOUND, PAUSED = 0, 1, 2


class Trail(NamedTuple):
    """Where a walk along the steps is."""

    state: Ints  # (D,)
    at: Ints  # (D,) place of the next step
    value: Ints  # (D,)
    number: Ints  # (D,) runs that have started
    item: Ints  # (J,) of these
    start: Ints  # (J,)
    end: Ints  # (J,)
    choice: Ints  # (J,)
    depth: Ints  # (1,)


@kernel
def rest_costs(steps: Transitions, states: int) -> Ints:
    """Return the least cost of all steps that follow a state, shape (N + 1,); the last: the end."""
    rest = np.full(states + 1, NOTHING, np.int64)
    rest[states] = 0
    for n in range(steps.size[0] - 1, -1, -1):  # what follows a state begins after what leads to it
        after = rest[steps.target[n]]
        if after < NOTHING:
            s = steps.source[n]
            rest[s] = min(rest[s], steps.cost[n] + after)
    return rest


@kernel
def walk(
    demand: Demand,
    conflicts: Conflicts,
    memory: Memory,
    pool: StatePool,
    steps: Transitions,
    order: Ints,
    first: Ints,
    rest: Ints,
    trail: Trail,
    limit: Ints,
) -> int:
    """Go on depth first along all steps whose cheapest continuation ends at the limit or below.

    Prefixes that hold a conflict are cut. Returns FOUND at a path, which is on the trail, DONE
    where there is none any more, PAUSED after this many nodes, or at the end of the memory's work.

    Parameters
    ----------
    order : shape (E,)
        Steps by the state in which they begin, the cheapest continuation first; those of state s
        are from ``first[s]`` to ``first[s + 1]``.
    rest : shape (N + 1,)
        As `rest_costs`.
    limit : shape (2,)
        Of the value, and of nodes.
    """
    listed = np.empty(64, np.int32)
    state, at, value, number, item, start, end, choice, depth = trail
    # what was found out since may have shown that the path so far holds a conflict
    for d in range(1, depth[0] + 1):
        n, t = number[d], start[number[d] - 1] if number[d] > 0 else ZERO
        if n > number[d - 1] and _cut(conflicts, memory, trail, n, t, listed):
            depth[0] = d - 1
            break
    nodes = limit[1]
    while depth[0] >= 0:
        d = depth[0]
        s = state[d]
        if s < 0 or at[d] == first[s + 1]:
            depth[0] -= 1
            continue
        k = order[at[d]]
        at[d] += 1
        total = value[d] + steps.cost[k]
        if rest[steps.target[k]] == NOTHING or total + rest[steps.target[k]] > limit[0]:
            at[d] = first[s + 1]  # the others cost more
            continue
        nodes -= 1
        if nodes < 0 or memory.work[0] < 0:
            at[d] -= 1
            return PAUSED
        n, t = number[d], pool.slot[s]
        for x in range(steps.first[k], steps.first[k + 1]):
            c = steps.choice[x]
            item[n], start[n], end[n] = demand.item[c], t, t + demand.duration[c]
            choice[n] = c
            n += 1
        if n > number[d] and _cut(conflicts, memory, trail, n, t, listed):
            continue
        depth[0] = d + 1
        state[d + 1], value[d + 1], number[d + 1] = steps.target[k], total, n
        if steps.target[k] < 0:
            return FOUND
        at[d + 1] = first[steps.target[k]]
    return DONE


@kernel
def _cut(
    conflicts: Conflicts, memory: Memory, trail: Trail, n: int, t: int, listed: Medium
) -> bool:
    """Whether the first n runs of a trail, the last of which begin in slot t, hold a conflict.

    ``listed`` (J,) is scratch.
    """
    some = ZERO
    for r in range(n):
        if trail.end[r] > t:
            sort_in(listed, some, trail.item[r])
            some += 1
    if remembered(conflicts, memory, listed, some):
        return True
    memory.work[0] -= conflicts.first.size
    return bool(holds(conflicts, trail.item, trail.start, trail.end, n))
