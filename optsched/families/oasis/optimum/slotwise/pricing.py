"""Kernel: heuristic pricing of the configuration LP, slot by slot.

The pricing subproblem, packing all machines of a slot at the prices of work, is solved
heuristically (Lübbecke and Desrosiers, 2005): `packing` constructs a column, `refilling` improves
it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from optsched.families.oasis.optimum.slotwise.packing import Packing, Side, learn, pack
from optsched.families.oasis.optimum.slotwise.refilling import Jobs, refill
from optsched.numbers.arrays import Flags, Floats, Ints, Small
from optsched.numbers.kernels import kernel


class Asked(NamedTuple):
    """What S slots are asked, of J jobs."""

    slot: Ints  # (S,)
    may: Flags  # (S, J) run
    value: Floats  # (S, J) of a worker with its PS
    known: Flags  # (S,) whether there is a packing to begin with


class Work(NamedTuple):
    """What J jobs may have in a slot, whichever it is."""

    want: Ints  # (J,) the most workers
    needed: Ints  # (J, N + 1) PS that 0, 1, ... workers need
    ratio: Floats  # (J,) PS of a worker


class Hosted(NamedTuple):
    """What the machines host: H for workers, K for PS; to begin with, and in the end."""

    worker: Small  # (S, H, J)
    ps: Small  # (S, K, J)
    number: Ints  # (S, J) workers that run, in the end


@kernel(nogil=True)
def price_slots(
    asked: Asked,
    work: Work,
    sides: tuple[Side, Side],
    part: Floats,
    backwards: bool,
    moves: int,
    rng: Generator,
    hosted: Hosted,
) -> None:
    """Pack slots.

    Where no packing is known, one machine after the other is filled; then, or if one is known, some
    machines are filled anew, in so many ``moves``.

    Parameters
    ----------
    asked : Asked
    work : Work
    sides : pair
        Of all jobs.
    part : shape (2, J, T)
        Of what is paid, for the worker and for its PS; is learned.
    backwards : bool
        Whether machines are filled from the last one on.
    moves : int
    rng : Generator
    hosted : Hosted
        What is known, of the jobs that may run; receives the packings.
    """
    worker, ps = sides
    for s in range(asked.slot.size):
        t = asked.slot[s]
        jobs = np.flatnonzero(asked.may[s])
        n = jobs.size
        if n == 0:
            continue
        value, want, needed = asked.value[s][jobs], work.want[jobs], work.needed[jobs]
        ratio = work.ratio[jobs]
        some = (
            Side(worker.demand[jobs], worker.capacity, worker.kinds, worker.members),
            Side(ps.demand[jobs], ps.capacity, ps.kinds, ps.members),
        )
        mine, each = np.empty((2, n)), np.empty((2, 1, n))
        for k in range(n):
            for side in range(2):
                mine[side, k] = part[side, jobs[k], t]
                each[side, 0, k] = value[k] * mine[side, k]
            each[1, 0, k] /= max(ratio[k], 1e-12)
        packing = Packing(
            (each[0], each[1]),
            np.zeros(n, np.int64),
            np.empty((worker.capacity.shape[0], n), np.int16),
            np.empty((ps.capacity.shape[0], n), np.int16),
        )
        for k in range(n):
            packing.worker[:, k] = hosted.worker[s, :, jobs[k]]
            packing.ps[:, k] = hosted.ps[s, :, jobs[k]]
        if not asked.known[s]:
            pack(want, needed, some, backwards, packing)
        refill(Jobs(value, mine, want, needed), some, packing, moves, rng)
        learn(value, want, ratio, some, mine)
        for k in range(n):
            part[0, jobs[k], t], part[1, jobs[k], t] = mine[0, k], mine[1, k]
            hosted.number[s, jobs[k]] = packing.number[k]
            hosted.worker[s, :, jobs[k]] = packing.worker[:, k]
            hosted.ps[s, :, jobs[k]] = packing.ps[:, k]
