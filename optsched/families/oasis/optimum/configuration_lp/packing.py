"""Kernels: heuristic pricing of the configuration LP, ruin and recreate on the machines of a slot.

A few machines are emptied and filled again one by one, each with its best pattern, and the result
is kept unless it is worse (Schrimpf et al., 2000). A worker earns only with its parameter servers
(PS), which run on other machines, so machines of both sides are emptied together and filled in a
random order: what matches the other side's present load has its full value, what may still be
matched has a part of it, as in Lagrangian decomposition (Guignard and Kim, 1987). The first packing
of a slot fills all machines so.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from optsched.numbers.arrays import Flags, Floats, Ints, Small
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.patterns import Items, Levels, depth_first, new_items, new_levels

MACHINES = 4  # of a side that are emptied at a time, at most
ALONE = 0.15  # of the moves leave the PS where they are; as many leave the workers
FOLLOWS = 0.7  # of its part, for a worker whose PS may follow, and for a PS
NEVER = 1e-3  # the same where no machine is left that could host them
NOISE = 0.1  # of the greatest payment
NODES = 60  # of the search for a machine's best pattern


class PackingSide(NamedTuple):
    """The workers, or the PS, of J jobs on H machines of C classes."""

    demand: Floats  # (J, R) of one worker, in units
    kinds: Floats  # (C, R) in units of one machine of each class
    kind: Ints  # (H,) the class of each machine


class PricingProblem(NamedTuple):
    """Pricing subproblems of S slots over J jobs."""

    slot: Ints  # (S,)
    may: Flags  # (S, J) run
    value: Floats  # (S, J) of a worker with its PS
    part: Floats  # (2, J, T) of that: for the worker, and for the PS
    known: Flags  # (S,) whether there is a packing to begin with


class SlotWork(NamedTuple):
    """Limits on the workers of J jobs, the same in every slot."""

    want: Ints  # (J,) the most workers
    needed: Ints  # (J, N + 1) PS that 0, 1, ... workers need


class Hosted(NamedTuple):
    """Packings of S slots on H worker and K PS machines: the start, overwritten by the result."""

    worker: Small  # (S, H, J)
    ps: Small  # (S, K, J)
    number: Ints  # (S, J) workers that run, in the end


class EmptyMachines(NamedTuple):
    """Empty machines of one side: H of C classes, for n jobs."""

    kind: Ints  # (H,) the class
    free: Floats  # (C, R) units
    demand: Floats  # (n, R) units of one worker
    fits: Ints  # (C, n) workers that fit alone
    size: Floats  # (C, n) mean share of the free capacity, over resources, of one worker


class Workspace(NamedTuple):
    """Demands of n jobs, and working arrays of the pattern search."""

    offered: Floats  # (n,) by job: for a worker
    most: Ints  # (n,) by job: workers that are requested
    items: Items
    levels: Levels


class SlotJobs(NamedTuple):
    """Prices and limits of n jobs in one slot."""

    value: Floats  # (n,) for a worker with its PS
    part: Floats  # (2, n) of that: for the worker, and for the PS
    want: Ints  # (n,) the most workers
    needed: Ints  # (n, N + 1) PS that 0, 1, ... workers need


class _State(NamedTuple):
    """Packing of one slot on H worker and K PS machines."""

    worker: Small  # (H, n)
    ps: Small  # (K, n)
    there: Ints  # (n,) workers on all machines
    served: Ints  # (n,) PS on all machines


class _Emptied(NamedTuple):
    """Machines in the order in which they are filled, and their previous content."""

    of_workers: Flags  # (M,)
    machine: Ints  # (M,)
    hosted: Small  # (M, n)


@kernel(nogil=True)
def price_slots(
    pricing: PricingProblem,
    work: SlotWork,
    sides: tuple[PackingSide, PackingSide],
    moves: int,
    rng: Generator,
    hosted: Hosted,
) -> None:
    """Pack slots, each in this many moves from a known packing, or from filled machines.

    Parameters
    ----------
    pricing : PricingProblem
    work : Work
    sides : pair
        Of all jobs.
    moves : int
    rng : Generator
    hosted : Hosted
        Packings to start from, by eligible job; receives the result.
    """
    for s in range(pricing.slot.size):
        t = pricing.slot[s]
        jobs = np.flatnonzero(pricing.may[s])
        n = jobs.size
        if n == 0:
            continue
        part = np.empty((2, n))
        for k in range(n):
            for side in range(2):
                part[side, k] = pricing.part[side, jobs[k], t]
        mine = SlotJobs(pricing.value[s][jobs], part, work.want[jobs], work.needed[jobs])
        state = _State(
            hosted.worker[s][:, jobs],
            hosted.ps[s][:, jobs],
            np.zeros(n, np.int64),
            np.zeros(n, np.int64),
        )
        machines = empty_machines(sides[0], jobs), empty_machines(sides[1], jobs)
        refill(mine, machines, state, not pricing.known[s], moves, rng)
        for k in range(n):
            hosted.number[s, jobs[k]] = _complete(mine, state, k)
            hosted.worker[s, :, jobs[k]] = state.worker[:, k]
            hosted.ps[s, :, jobs[k]] = state.ps[:, k]


@kernel(nogil=True)
def empty_machines(side: PackingSide, jobs: Ints) -> EmptyMachines:
    """Prepare for the machines of a side, and some jobs.

    Parameters
    ----------
    side : Side
    jobs : shape (n,)
        Their numbers.
    """
    demand = side.demand[jobs]
    n, resources = demand.shape
    classes = side.kinds.shape[0]
    fits, size = np.empty((classes, n), np.int64), np.zeros((classes, n))
    for c in range(classes):
        some = 0
        for r in range(resources):
            some += side.kinds[c, r] > 0.0
        for i in range(n):
            most = math.inf
            for r in range(resources):
                if demand[i, r] > 0.0:
                    most = min(most, math.floor(side.kinds[c, r] / demand[i, r]))
                    if side.kinds[c, r] > 0.0:
                        size[c, i] += demand[i, r] / side.kinds[c, r] / some
            fits[c, i] = np.iinfo(np.int64).max if most == math.inf else int(most)
    return EmptyMachines(side.kind, side.kinds, demand, fits, size)


@kernel(nogil=True)
def new_workspace(n: int, resources: int) -> Workspace:
    """Return a desk for n jobs."""
    return Workspace(np.empty(n), np.empty(n, np.int64), new_items(n), new_levels(n, resources))


@kernel(nogil=True, counted=False)
def fill(
    machines: EmptyMachines, h: int, workspace: Workspace, nodes: int, hosted: Small, total: Ints
) -> None:
    """Fill the empty machine h with the most valuable pattern of the demands.

    Parameters
    ----------
    machines : EmptyMachines
    h : int
    workspace : Workspace
        The offers, and the numbers of workers.
    nodes : int
        How many the search may visit.
    hosted : shape (H, n)
        Its row h, all zeros, receives the pattern.
    total : shape (n,)
        Of all machines; the pattern is added.
    """
    c, items, levels = machines.kind[h], workspace.items, workspace.levels
    n = _rank(machines, c, workspace)
    for r in range(machines.free.shape[1]):
        levels.free[0, r] = machines.free[c, r]
    depth_first(items, machines.demand, n, nodes, levels)
    for k in range(n):
        hosted[h, items.job[k]] = levels.best[k]
        total[items.job[k]] += levels.best[k]


@kernel(nogil=True, counted=False)
def _rank(machines: EmptyMachines, c: int, workspace: Workspace) -> int:
    """Write down the items for a machine of class c, the densest first; return their number."""
    job, value, size, density, most = workspace.items
    n = 0
    for i in range(workspace.offered.size):
        limit = min(workspace.most[i], machines.fits[c, i])
        if workspace.offered[i] <= 0.0 or limit <= 0:
            continue
        here = machines.size[c, i]
        dense = workspace.offered[i] / here if here > 0.0 else math.inf
        k = n
        while k > 0 and density[k - 1] < dense:
            density[k], job[k] = density[k - 1], job[k - 1]
            k -= 1
        density[k], job[k] = dense, i
        n += 1
    for k in range(n):
        i = job[k]
        value[k], size[k] = workspace.offered[i], machines.size[c, i]
        most[k] = min(workspace.most[i], machines.fits[c, i])
    return n


@kernel(nogil=True)
def refill(
    jobs: SlotJobs,
    machines: tuple[EmptyMachines, EmptyMachines],
    state: _State,
    new: bool,
    moves: int,
    rng: Generator,
) -> None:
    """Improve a packing by this many moves: it never pays less.

    Parameters
    ----------
    jobs : Jobs
    machines : pair
        For these jobs.
    state : _State
        Start and result; workers may be there without PS, and PS without
        workers. Sums need not be filled in.
    new : bool
        Whether all machines are empty, and are to be filled first.
    moves : int
    rng : Generator
    """
    n = jobs.want.size
    for i in range(n):
        state.there[i], state.served[i] = state.worker[:, i].sum(), state.ps[:, i].sum()
    most = 2 * MACHINES
    emptied = _Emptied(
        np.empty(most, np.bool_), np.empty(most, np.int64), np.empty((most, n), np.int16)
    )
    workspace = new_workspace(n, machines[0].demand.shape[1])
    count = state.worker.shape[0], state.ps.shape[0]
    for h in range(max(count) if new else 0):
        if h < count[0]:
            _fill_workers(jobs, machines[0], h, FOLLOWS, workspace, rng, state)
        if h < count[1]:
            _fill_servers(jobs, machines[1], h, FOLLOWS, workspace, rng, state)
    best = _paid(jobs, state)
    for _ in range(moves):
        draw = rng.random()
        workers = 0 if draw < ALONE else min(count[0], _few(rng))
        servers = 0 if draw >= 1.0 - ALONE else min(count[1], _few(rng))
        _empty(state, workers, servers, rng, emptied)
        left_workers, left_servers = workers, servers
        for k in range(workers + servers):
            if emptied.of_workers[k]:
                left_workers -= 1
                follows = FOLLOWS if left_servers > 0 else NEVER
                _fill_workers(jobs, machines[0], emptied.machine[k], follows, workspace, rng, state)
            else:
                left_servers -= 1
                follows = FOLLOWS if left_workers > 0 else NEVER
                _fill_servers(jobs, machines[1], emptied.machine[k], follows, workspace, rng, state)
        paid = _paid(jobs, state)
        # payments, relatively: sums in other orders
        if paid >= best * (1.0 - 1e-12):
            best = paid
        else:
            _restore(emptied, workers + servers, state)


@kernel(inline="always")
def _few(rng: Generator) -> int:
    return 1 + int(rng.random() * MACHINES)


@kernel(nogil=True, counted=False)
def _complete(jobs: SlotJobs, state: _State, i: int) -> int:
    """Return how many workers of job i have their PS."""
    n = min(jobs.want[i], state.there[i])
    while jobs.needed[i, n] > state.served[i]:
        n -= 1
    return int(n)


@kernel(nogil=True, counted=False)
def _paid(jobs: SlotJobs, state: _State) -> float:
    total = 0.0
    for i in range(jobs.want.size):
        total += jobs.value[i] * _complete(jobs, state, i)
    return total


@kernel(nogil=True, counted=False)
def _empty(state: _State, workers: int, servers: int, rng: Generator, out: _Emptied) -> None:
    """Empty this many machines for workers and for PS; draw the order in which to fill them."""
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
    jobs: SlotJobs,
    machines: EmptyMachines,
    h: int,
    follows: float,
    workspace: Workspace,
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
            workspace.offered[i], workspace.most[i] = pays, paired - there[i]
        else:
            workspace.offered[i] = pays * jobs.part[0, i] * follows
            workspace.most[i] = max(0, jobs.want[i] - there[i])
    fill(machines, h, workspace, NODES, state.worker, there)


@kernel(nogil=True, counted=False)
def _fill_servers(
    jobs: SlotJobs,
    machines: EmptyMachines,
    h: int,
    follows: float,
    workspace: Workspace,
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
            workspace.offered[i], workspace.most[i] = pays, lacking
        else:
            workspace.offered[i] = pays * jobs.part[1, i] * follows
            workspace.most[i] = max(0, whole - served[i])
    fill(machines, h, workspace, NODES, state.ps, served)


@kernel(nogil=True, counted=False)
def _restore(emptied: _Emptied, number: int, state: _State) -> None:
    """Restore the previous content of the machines."""
    of_workers, machine, hosted = emptied
    for k in range(number):
        side = state.worker if of_workers[k] else state.ps
        total = state.there if of_workers[k] else state.served
        h = machine[k]
        for i in range(total.size):
            total[i] += hosted[k, i] - side[h, i]
            side[h, i] = hosted[k, i]
