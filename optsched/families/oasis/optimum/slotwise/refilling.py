"""Kernels: ruin and recreate on the machines of one slot.

A few machines are emptied and filled again, and the result is kept unless it is worse (Schrimpf et
al., 2000); this improves columns of the configuration LP. A worker earns only with its parameter
servers (PS), which run on other machines. So machines of both sides are emptied together and
filled in a random order: what matches the other side's present load has its full value, what may
still be matched has a part of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from optsched.families.oasis.optimum.slotwise.machine import (
    Desk,
    Empty,
    empty_machines,
    fill,
    new_desk,
)
from optsched.families.oasis.optimum.slotwise.packing import Packing, Side
from optsched.numbers.arrays import Flags, Floats, Ints, Small
from optsched.numbers.kernels import kernel

MACHINES = 4  # of a side that are emptied at a time, at most
ALONE = 0.15  # of the moves leave the PS where they are; as many leave the workers
FOLLOWS = 0.7  # of its part, for a worker whose PS may follow, and for a PS
NEVER = 1e-3  # the same where no machine is left that could host them
NOISE = 0.1  # of what anything pays
NODES = 60  # of the search for a machine's best pattern
EQUAL = 1e-12  # payments, relatively: sums in other orders


class Jobs(NamedTuple):
    """What n jobs pay in a slot, and what they may have there."""

    value: Floats  # (n,) for a worker with its PS
    part: Floats  # (2, n) of that: for the worker, and for the PS
    want: Ints  # (n,) the most workers
    needed: Ints  # (n, N + 1) PS that 0, 1, ... workers need


class _State(NamedTuple):
    """What the machines host: H for workers, K for PS."""

    worker: Small  # (H, n)
    ps: Small  # (K, n)
    there: Ints  # (n,) workers on all machines
    served: Ints  # (n,) PS on all machines


class _Emptied(NamedTuple):
    """Machines in the order in which they are filled, and what they hosted."""

    of_workers: Flags  # (M,)
    machine: Ints  # (M,)
    hosted: Small  # (M, n)


@kernel(nogil=True)
def refill(
    jobs: Jobs, sides: tuple[Side, Side], packing: Packing, moves: int, rng: Generator
) -> None:
    """Improve a packing by so many moves: it never pays less.

    Parameters
    ----------
    jobs : Jobs
    sides : pair
        Of these jobs alone.
    packing : Packing
        Where it begins, and what is found; workers may stand there without PS, and PS without
        workers, which ``number`` does not count.
    moves : int
    rng : Generator
    """
    n = jobs.want.size
    state = _State(packing.worker, packing.ps, np.zeros(n, np.int64), np.zeros(n, np.int64))
    for i in range(n):
        for h in range(state.worker.shape[0]):
            state.there[i] += state.worker[h, i]
        for h in range(state.ps.shape[0]):
            state.served[i] += state.ps[h, i]
    most = 2 * MACHINES
    emptied = _Emptied(
        np.empty(most, np.bool_), np.empty(most, np.int64), np.empty((most, n), np.int16)
    )
    machines = empty_machines(sides[0]), empty_machines(sides[1])
    desk = new_desk(n, sides[0].demand.shape[1])
    best = _paid(jobs, state)
    for _ in range(moves):
        draw = rng.random()
        workers = 0 if draw < ALONE else min(state.worker.shape[0], _few(rng))
        servers = 0 if draw >= 1.0 - ALONE else min(state.ps.shape[0], _few(rng))
        _empty(state, workers, servers, rng, emptied)
        left_workers, left_servers = workers, servers
        for k in range(workers + servers):
            if emptied.of_workers[k]:
                left_workers -= 1
                follows = FOLLOWS if left_servers > 0 else NEVER
                _fill_workers(jobs, machines[0], emptied.machine[k], follows, desk, rng, state)
            else:
                left_servers -= 1
                follows = FOLLOWS if left_workers > 0 else NEVER
                _fill_servers(jobs, machines[1], emptied.machine[k], follows, desk, rng, state)
        paid = _paid(jobs, state)
        if paid >= best * (1.0 - EQUAL):
            best = paid
        else:
            _restore(emptied, workers + servers, state)
    for i in range(n):
        packing.number[i] = _complete(jobs, state, i)


@kernel(inline="always")
def _few(rng: Generator) -> int:
    return 1 + int(rng.random() * MACHINES)


@kernel(nogil=True, counted=False)
def _complete(jobs: Jobs, state: _State, i: int) -> int:
    """Return how many workers of job i have their PS."""
    n = min(jobs.want[i], state.there[i])
    while jobs.needed[i, n] > state.served[i]:
        n -= 1
    return int(n)


@kernel(nogil=True, counted=False)
def _paid(jobs: Jobs, state: _State) -> float:
    total = 0.0
    for i in range(jobs.want.size):
        total += jobs.value[i] * _complete(jobs, state, i)
    return total


@kernel(nogil=True, counted=False)
def _empty(state: _State, workers: int, servers: int, rng: Generator, out: _Emptied) -> None:
    """Empty so many machines for workers and for PS, drawn with the order in which to fill them."""
    of_workers, machine, hosted = out
    k = 0
    while k < workers + servers:
        first = k < workers
        side = state.worker if first else state.ps
        total = state.there if first else state.served
        h = int(rng.random() * side.shape[0])
        new = True
        for q in range(k):
            new = new and (of_workers[q] != first or machine[q] != h)
        if not new:
            continue
        place = int(rng.random() * (k + 1))
        of_workers[k], machine[k] = of_workers[place], machine[place]
        of_workers[place], machine[place] = first, h
        for i in range(total.size):
            hosted[k, i] = hosted[place, i]
            hosted[place, i] = side[h, i]
            total[i] -= side[h, i]
            side[h, i] = 0
        k += 1


@kernel(nogil=True, counted=False)
def _fill_workers(
    jobs: Jobs,
    machines: Empty,
    h: int,
    follows: float,
    desk: Desk,
    rng: Generator,
    state: _State,
) -> None:
    """Fill machine h: workers whose PS run pay all, the others only if their PS follow."""
    there, served = state.there, state.served
    for i in range(there.size):
        paired = there[i]
        while paired < jobs.want[i] and jobs.needed[i, paired + 1] <= served[i]:
            paired += 1
        pays = jobs.value[i] * (1.0 + NOISE * (rng.random() - 0.5))
        if paired > there[i]:
            desk.offered[i], desk.most[i] = pays, paired - there[i]
        else:
            desk.offered[i] = pays * jobs.part[0, i] * follows
            desk.most[i] = max(0, jobs.want[i] - there[i])
    fill(machines, h, desk, NODES, state.worker, there)


@kernel(nogil=True, counted=False)
def _fill_servers(
    jobs: Jobs,
    machines: Empty,
    h: int,
    follows: float,
    desk: Desk,
    rng: Generator,
    state: _State,
) -> None:
    """Fill machine h: PS whose workers run pay all, the others only if workers follow."""
    there, served = state.there, state.served
    for i in range(there.size):
        whole = jobs.needed[i, jobs.want[i]]
        lacking = jobs.needed[i, min(jobs.want[i], there[i])] - served[i]
        pays = jobs.value[i] * jobs.want[i] / max(1, whole) * (1.0 + NOISE * (rng.random() - 0.5))
        if lacking > 0:
            desk.offered[i], desk.most[i] = pays, lacking
        else:
            desk.offered[i] = pays * jobs.part[1, i] * follows
            desk.most[i] = max(0, whole - served[i])
    fill(machines, h, desk, NODES, state.ps, served)


@kernel(nogil=True, counted=False)
def _restore(emptied: _Emptied, number: int, state: _State) -> None:
    """Let the machines host again what they did."""
    of_workers, machine, hosted = emptied
    for k in range(number):
        side = state.worker if of_workers[k] else state.ps
        total = state.there if of_workers[k] else state.served
        h = machine[k]
        for i in range(total.size):
            total[i] += hosted[k, i] - side[h, i]
            side[h, i] = hosted[k, i]
