"""Kernel: simulated annealing chooses one packing for every slot, so that little work is missing.

Rounds the configuration LP to a schedule (Kirkpatrick et al., 1983).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

COLDEST = 1e-3  # of the first temperature


@kernel(inline="always")
def _loss(lack: int, work: int, worth: float, soon: float) -> float:
    """Return what a job counts that lacks some of its work: all of its ``worth`` if it lacks all.

    Half of it, if it lacks the share ``soon``, where that is small; where it is large, as it lacks.
    """
    return worth * lack * (1.0 + soon) / (lack + soon * work) if lack > 0 else 0.0


@kernel(nogil=True)
def choose(
    first: Ints,
    number: Ints,
    due: Ints,
    work: Ints,
    worth: Floats,
    soon: float,
    moves: int,
    heat: float,
    rng: Generator,
    choice: Ints,
) -> float:
    """Exchange packings of slots by simulated annealing; return what is lost.

    Parameters
    ----------
    first : shape (T + 1,)
        Where the packings of each slot begin.
    number : shape (P, J)
        Workers of every job in a packing.
    due : shape (J,)
        The slot by which each job's work counts; -1 if it does not.
    work : shape (J,)
        Worker-slots of each job.
    worth : shape (J,)
        What each job earns.
    soon : float
        See `_loss`.
    moves : int
    heat : float
        Temperature at the start: of what is lost.
    rng : Generator
    choice : shape (T,)
        The packing of each slot, which changes; -1 where there is none.
    """
    slots, jobs = choice.size, due.size
    done, some, n = np.zeros(jobs, np.int64), np.empty(slots, np.int64), 0
    for t in range(slots):
        if first[t + 1] - first[t] > 1:
            some[n] = t
            n += 1
        for i in range(jobs):
            if choice[t] >= 0 and t <= due[i]:
                done[i] += number[choice[t], i]
    lost = 0.0
    for i in range(jobs):
        if due[i] >= 0:
            lost += _loss(work[i] - done[i], work[i], worth[i], soon)
    least, best = lost, choice.copy()
    for move in range(moves if n else 0):
        if least == 0.0:
            break
        t = some[int(rng.random() * n)]
        p = first[t] + int(rng.random() * (first[t + 1] - first[t]))
        former, change = choice[t], 0.0
        for i in range(jobs):
            more = number[p, i] - number[former, i]
            if more != 0 and t <= due[i]:
                lack = work[i] - done[i]
                change += _loss(lack - more, work[i], worth[i], soon)
                change -= _loss(lack, work[i], worth[i], soon)
        now = heat * COLDEST ** (move / moves)
        if change > 0.0 and rng.random() >= math.exp(-change / now):
            continue
        for i in range(jobs):
            if t <= due[i]:
                done[i] += number[p, i] - number[former, i]
        choice[t] = p
        lost += change
        if lost < least - 1e-9:
            least = lost
            best[:] = choice
    choice[:] = best
    return least
