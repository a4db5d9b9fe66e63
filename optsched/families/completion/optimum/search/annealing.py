"""Kernel: simulated annealing over destroy-and-repair moves.

Some jobs that run at about the same time, or on the same servers, are removed and reinserted in
random order (Schrimpf et al., 2000); simulated annealing accepts or rejects the move (Kirkpatrick
et al., 1983).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from optsched.families.completion.optimum.board.insertion import insert
from optsched.families.completion.optimum.board.plans import (
    BoardTables,
    Copies,
    Plans,
    copy_plan,
    most_value,
    value_of,
)
from optsched.families.completion.optimum.board.scratch import BoardWorkspace
from optsched.families.completion.optimum.board.servers import (
    GIVE,
    Servers,
    begin_move,
    cut_again,
    end_move,
    occupy,
)
from optsched.numbers.kernels import kernel

State = NDArray[np.uint64]

MOST_OUT = 6  # jobs that are taken out at once
ANYWHERE = 0.05  # share of moves that take out any jobs, else those of about the same time
PLACE = 0.5  # share of moves that take out only jobs that also share a server
COMMON = 0.7  # share of insertions at the multiple of the prices that the move has drawn
LEAST = 1e-12  # relative: rounding
ROUNDING = 1e-6  # slots


@kernel(nogil=True)
def draw(state: State) -> float:
    """Return the next random number in [0, 1): splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) / 9007199254740992.0


@kernel(nogil=True)
def anneal(
    tables: BoardTables,
    servers: Servers,
    workspace: BoardWorkspace,
    copies: Copies,
    value: float,
    best_value: float,
    heat: float,
    moves: int,
    state: State,
) -> tuple[float, float]:
    """Make some moves at one temperature; return what ``copies.now`` and ``copies.best`` earn.

    ``state`` (1,) is that of the random numbers.
    """
    plans, best, spare = copies
    factors, out = tables.factors, workspace.out
    jobs, slots = plans.mode.size, servers.cuts.size - 1
    for _ in range(moves):
        before = value
        need = before + heat * math.log(max(draw(state), 1e-300))  # to be kept
        number = _choose(tables, plans, workspace, state)
        begin_move(servers)
        hope = 0.0  # what jobs that are out may earn at most
        for x in range(number):
            i = out[x]
            copy_plan(plans, spare, i)
            hope += most_value(tables, i, slots)
            if plans.mode[i] >= 0:
                value -= value_of(tables, plans, i, slots)
                occupy(tables, servers, plans, workspace, i, GIVE)
                plans.mode[i] = -1
        _sort(tables, spare, workspace, number, state)
        common = int(draw(state) * factors.size)
        for x in range(number):
            f = common if draw(state) < COMMON else int(draw(state) * factors.size)
            i = out[x]
            hope -= most_value(tables, i, slots)
            # a job that ends later makes the move too bad, whatever the others earn
            latest = slots - math.ceil(max(0.0, need - value - hope) / tables.weight[i] - ROUNDING)
            if insert(tables, servers, plans, workspace, i, factors[f], latest):
                value += value_of(tables, plans, i, slots)
            elif value + hope < need:
                break
        undo = value < need
        end_move(servers, undo)
        if undo:
            for x in range(number):
                i = out[x]
                if plans.mode[i] >= 0:
                    cut_again(tables, servers, plans, i, -1)
                copy_plan(spare, plans, i)
                if plans.mode[i] >= 0:
                    cut_again(tables, servers, plans, i, 1)
            value = before
        elif value > best_value * (1 + LEAST):
            best_value = value
            for i in range(jobs):
                copy_plan(plans, best, i)
    return value, best_value


@kernel(nogil=True)
def _choose(tables: BoardTables, plans: Plans, workspace: BoardWorkspace, state: State) -> int:
    """Fill ``workspace.out`` with jobs to take out, and all that are not in; return how many."""
    jobs, found = plans.mode.size, 0
    out, near = workspace.out, workspace.near
    size, pivot = 1 + int(draw(state) * MOST_OUT), int(draw(state) * jobs)
    other = int(draw(state) * jobs)
    both = plans.mode[pivot] >= 0 and plans.mode[other] >= 0
    if both and plans.start[other] < plans.start[pivot]:
        pivot = other  # the earlier of two: what starts early decides on more, and is moved sooner
    kind = draw(state)
    anywhere, nearby = kind < ANYWHERE or plans.mode[pivot] < 0, kind >= 1 - PLACE
    start, end = 0, 0
    if not anywhere:
        start = plans.start[pivot]
        end = start + tables.duration[plans.mode[pivot]]
    for i in range(jobs):
        k = plans.mode[i]
        if i == pivot or k < 0:
            continue
        if not anywhere:
            if plans.start[i] > end or plans.start[i] + tables.duration[k] < start:
                continue
            if nearby and not _meet(plans, i, pivot):
                continue
        near[found] = i
        found += 1
    out[0], number = pivot, 1
    while number < size and found > 0:
        x = int(draw(state) * found)
        out[number] = near[x]
        number += 1
        found -= 1
        near[x] = near[found]
    for i in range(jobs):
        if plans.mode[i] < 0 and i != pivot:
            out[number] = i
            number += 1
    return number


@kernel(nogil=True)
def _meet(plans: Plans, i: int, j: int) -> bool:
    """Whether jobs i and j have workers on the same server."""
    meet = False
    for x in range(plans.parts[i]):
        for y in range(plans.parts[j]):
            meet |= plans.where[i, x] == plans.where[j, y]
    return meet


@kernel(nogil=True)
def _sort(
    tables: BoardTables, spare: Plans, workspace: BoardWorkspace, number: int, state: State
) -> None:
    """Sort the jobs that are out at random, roughly by density, or roughly as they started."""
    out, keys, kind = workspace.out, workspace.keys, int(draw(state) * 3)
    for x in range(number):
        i, noise, key = out[x], draw(state), 0.0
        if kind == 0:
            key = noise
        elif kind == 1:
            key = -tables.density[i] * (0.7 + 0.6 * noise)
        else:
            key = spare.start[i] * (0.9 + 0.2 * noise)
        a = x
        while a > 0 and keys[a - 1] > key:
            keys[a], out[a] = keys[a - 1], out[a - 1]
            a -= 1
        keys[a], out[a] = key, i
