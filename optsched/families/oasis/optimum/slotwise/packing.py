"""Kernels: sequential knapsack heuristic for all machines of a slot, with split job prices.

Machines are filled one by one with their best patterns (`search.repacking`; Belov and Scheithauer,
2007). The price of a worker is split between the worker and its parameter servers (PS), which run
on other machines, as in Lagrangian decomposition (Guignard and Kim, 1987); part of it is withheld
where a job has all the workers that it may have, so that machines of every class prefer the jobs
that suit them. `learn` adjusts the split by comparing what each side would host alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optsched.families.oasis.optimum.search.repacking import fill_machines
from optsched.numbers.arrays import Floats, Ints, Small
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.patterns import Knapsacks, best_patterns
from optsched.scheduling.oracle.slots import plain_int

NODES = 100  # of the search for a machine's best pattern: with few, much of a slot is lost
QUICK = 30  # the same where only the parts are learned
TURNS = 3  # of packing workers, then PS, then the workers for which there are PS
STEP = 0.3  # of the logarithms of the parts
LEAST, MOST = 1e-3, 1.5  # of a part; of the hosted workers, in those that a job may have


class Side(NamedTuple):
    """The workers, or the PS, of J jobs on H machines of C classes."""

    demand: Floats  # (J, R) of one worker, in units
    capacity: Floats  # (H, R) in units, equal machines next to each other
    kinds: Floats  # (C, R) in units of one machine of each class
    members: Ints  # (C,) machines of each class


class Packing(NamedTuple):
    """What is decided in a slot for n jobs, and notes."""

    worth: tuple[Floats, Floats]  # (1, n) of a worker, and of a PS
    number: Ints  # (n,) workers that run
    worker: Small  # (H, n) by machine
    ps: Small  # (K, n) PS by machine


@kernel(nogil=True)
def pack(
    want: Ints,
    needed: Ints,
    sides: tuple[Side, Side],
    backwards: bool,
    packing: Packing,
) -> None:
    """Pack the workers of n jobs and their PS, the dearest first.

    Parameters
    ----------
    want : shape (n,)
        The most workers.
    needed : shape (n, N + 1)
        PS that 0, 1, ... workers need.
    sides : pair
        Of these jobs alone.
    backwards : bool
        Whether machines are filled from the last one on.
    packing : Packing
        By its ``worth``; receives the best of some turns.
    """
    worker, ps = sides
    n = want.size
    limit, served = want.copy(), np.empty(n, np.int64)
    left, unserved = np.empty((1, n), np.int64), np.empty((1, n), np.int64)
    hosted = np.empty((worker.capacity.shape[0], n), np.int64)
    beside = np.empty((ps.capacity.shape[0], n), np.int64)
    nodes = plain_int(NODES)
    best = -1.0
    for _ in range(TURNS):
        fill_machines(
            limit, packing.worth[0], worker.demand, worker.capacity, backwards, nodes, hosted, left
        )
        for k in range(n):
            served[k] = needed[k, limit[k] - left[0, k]]
        fill_machines(
            served, packing.worth[1], ps.demand, ps.capacity, backwards, nodes, beside, unserved
        )
        total, short = 0.0, False
        for k in range(n):
            there = limit[k] - left[0, k]
            runs = there
            while needed[k, runs] > served[k] - unserved[0, k]:
                runs -= 1
            short = short or runs < there
            left[0, k] = runs
            limit[k] = runs if runs < there else want[k]
            total += runs * packing.worth[0][0, k] + needed[k, runs] * packing.worth[1][0, k]
        if total > best:
            best = total
            for k in range(n):
                packing.number[k] = left[0, k]
                _keep(hosted, k, left[0, k], packing.worker)
                _keep(beside, k, needed[k, left[0, k]], packing.ps)
        if not short:
            break


@kernel(nogil=True)
def _keep(hosted: Ints, k: int, most: int, out: Small) -> None:
    """Copy column k of ``hosted`` (H, n), of which ``most`` are needed, to ``out`` (H, n)."""
    for h in range(hosted.shape[0]):
        here = min(most, hosted[h, k])
        out[h, k] = here
        most -= here


@kernel(nogil=True)
def learn(value: Floats, want: Ints, ratio: Floats, sides: tuple[Side, Side], part: Floats) -> None:
    """Change the parts of n jobs towards those at which both sides host the same workers.

    Parameters
    ----------
    value : shape (n,)
        What a worker with its PS pays.
    want : shape (n,)
        The most workers.
    ratio : shape (n,)
        PS of a worker.
    sides : pair
        Of these jobs alone.
    part : shape (2, n)
        Of what is paid, for the worker and for its PS.
    """
    n = want.size
    loads = np.zeros((2, n))
    best, pattern = np.empty(1), np.empty((1, n), np.int64)
    lower, upper, worth = np.zeros((1, n), np.int64), np.empty((1, n), np.int64), np.empty((1, n))
    for side in range(2):
        here = sides[side]
        for k in range(n):
            each = 1.0 if side == 0 else ratio[k]
            upper[0, k] = math.ceil(want[k] * each)
            worth[0, k] = value[k] * part[side, k] / each
        for c in range(here.members.size):
            room = here.kinds[c : c + 1]
            asked = Knapsacks(worth, here.demand, room, lower, upper)
            best_patterns(asked, best, pattern, QUICK, 0)
            for k in range(n):
                each = 1.0 if side == 0 else ratio[k]
                loads[side, k] += here.members[c] * pattern[0, k] / each / want[k]
    for k in range(n):
        worker, ps = min(MOST, loads[0, k]), min(MOST, loads[1, k])
        apart, both = ps - worker, min(worker, ps)
        apart = max(-1.0, min(1.0, apart))
        # above 1, they would host more than may run
        all_of_it = 1.0 - STEP * (both - 1.0)
        first = part[0, k] * math.exp(STEP * apart) * all_of_it
        second = part[1, k] * math.exp(-STEP * apart) * all_of_it
        whole = max(1.0, first + second)
        part[0, k] = max(LEAST, first / whole)
        part[1, k] = max(LEAST, second / whole)
