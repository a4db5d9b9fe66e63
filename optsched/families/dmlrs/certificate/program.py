"""Certificates by bounded dynamic programming over slots, in integers only.

A dynamic program that drops states by their dual bound (Morin and Marsten, 1976), on a relaxation
of placement that conflicts refine, as in logic-based Benders decomposition (Hooker and Ottosson,
2003).

A state after a slot is the work that every job has left. From slot to slot every feasible vector
of choices is tried (`joint`); a job that has no work left earns its utility. For every state the
greatest sum earned is kept. A state is dropped when at given prices it cannot end above a value:
with any price p >= 0 of a choice of a job in a slot,

    earned + sum_i (the most that job i still earns beyond what it pays)
           + sum_t (the most that a possible vector pays in slot t),   over the slots to come,

bounds the final value. If no state is left after the last slot, no schedule earns more than the
value.

Doing more work never hurts, since utilities never rise; so only the greatest vectors are tried,
and prices that fall from one choice to the next are lowered, since more work at a lower price is
always preferred.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optsched.families.dmlrs.certificate.forced import INNER_ONLY, OUTER_ONLY, Conflict, refuted
from optsched.families.dmlrs.certificate.joint import Choice, Vectors, choices_of, greatest
from optsched.families.dmlrs.certificate.limits import demands
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.numbers.arrays import Flags, Ints
from optsched.numbers.overflow import Magnitude
from optsched.proofs.grid import charged
from optsched.proofs.limits import inside

LARGEST = 2**61  # of every sum of utilities and prices
MOST_RESTS = 4096  # amounts of work that a job may have left
MOST_CONFLICTS = 1000
MOST_TRIED = 10**8  # states times vectors, over all slots
MOST_STATES = 2 * 10**6  # that are made in one slot
CHUNK = 10**6  # states times vectors at once


class Layer(NamedTuple):
    """The states that are left after a slot, S of them."""

    states: Ints  # (S, I) place among the amounts of work that a job may have left
    earned: Ints  # (S,) at most
    before: Ints  # (S,) the state of the layer before
    vector: Ints  # (S, I) choice in the slot


class _Job(NamedTuple):
    """Tables of one job: T slots, R amounts of work that may be left, K choices and none."""

    rests: Ints  # (R,) rising, the first is 0, the last all of the work
    after: Ints  # (R, K + 1) index of the residual capacity
    rewards: Ints  # (T,) of completing in a slot
    pays: Ints  # (T, K + 1)
    ahead: Ints  # (T + 1, R) the most that it still earns beyond what it pays, from a slot on
    alive: Flags  # (T + 1, R) whether it may still complete, for something


class SlotProgram:
    """The program of one instance, at prices of capacity.

    Parameters
    ----------
    inst : DmlrsInstance
        Of the reading "job".
    grid_bits : int
        Values are counted in units of 2**-grid_bits.
    prices : shape (T, C, R)
        Of a unit of capacity, for classes of equal machines; at least 0.
    check_stop : callable
        Called regularly: it may raise an error when no time is left.

    Raises
    ------
    TooLargeError
        The instance is too large for it, or the grid too fine.
    """

    def __init__(
        self,
        inst: DmlrsInstance,
        grid_bits: int,
        prices: Ints,
        check_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self.inst, self.check_stop = inst, check_stop
        self.choices = choices_of(inst)
        self.arrival = [job.arrival for job in inst.jobs]
        rewards = [self._rewards(i, grid_bits) for i in range(len(inst.jobs))]
        richest = Magnitude("utilities", sum(max(mine, default=0) for mine in rewards))
        most = max((len(mine) for mine in self.choices), default=0)
        chunks = max((job.chunks for job in inst.jobs), default=0)
        richest.total(2 * (inst.horizon + most + chunks + 2)).fits(LARGEST)
        self.vectors = Vectors(inst, self.choices, check_stop)
        self.jobs = [self._tables(i, mine, prices) for i, mine in enumerate(rewards)]
        self._renew()

    def forbid(self, conflicts: Sequence[Conflict]) -> None:
        """Leave out the vectors that hold a conflict."""
        for conflict in conflicts:
            self.vectors.forbid(conflict)
        self._renew()

    def _renew(self) -> None:
        """Choose the greatest vectors, and the most that all slots from t on pay, (T + 1,)."""
        self.top = greatest(self.vectors.every)
        self.paid = [0] * (self.inst.horizon + 1)
        for t in reversed(range(self.inst.horizon)):
            most = sum(job.pays[t][self.top[:, i]] for i, job in enumerate(self.jobs))
            self.paid[t] = self.paid[t + 1] + int(np.max(most, initial=0))

    def _rewards(self, i: int, grid_bits: int) -> list[int]:
        """Return the utility of completing in every slot, rounded up to the grid.

        No job completes before its earliest slot: utilities before it do not count.
        """
        job, end, unit = self.inst.jobs[i], self.inst.earliest[i], Fraction(2) ** grid_bits
        if end is None:
            return [0] * self.inst.horizon
        slots = range(self.inst.horizon)
        return [math.ceil(job.utility.upper(max(t, end) - job.arrival) * unit) for t in slots]

    def _tables(self, i: int, rewards: list[int], prices: Ints) -> _Job:
        mine, slots = self.choices[i], self.inst.horizon
        work = np.array([0, *(choice.work for choice in mine)], np.int64)
        rests = _rests(self.inst.needs[i].work, work.tolist(), slots - self.arrival[i])
        left = np.maximum(0, rests[:, None] - work)
        job = _Job(
            rests,
            np.searchsorted(rests, left),
            np.array(rewards, np.int64),
            _charges(self.inst, i, mine, prices, max(rewards)),
            np.zeros((slots + 1, rests.size), np.int64),
            np.zeros((slots + 1, rests.size), np.bool_),
        )
        free = np.zeros(rests.size, np.int64)  # the same without prices
        for t in reversed(range(slots)):
            if t < self.arrival[i]:
                job.ahead[t], job.alive[t] = job.ahead[t + 1], job.alive[t + 1]
                continue
            gain = _gains(job, t, job.ahead[t + 1])
            job.ahead[t] = np.maximum(0, (gain - job.pays[t]).max(axis=1))
            free = _gains(job, t, free).max(axis=1)
            job.alive[t] = free > 0
        return job

    def bound(self) -> int:
        """Return a bound on the value of the jobs: from the prices alone, without any state."""
        return self.paid[0] + sum(int(job.ahead[0, -1]) for job in self.jobs)

    def run(self, value: int) -> list[Layer] | None:
        """Return the layers of states that may end above ``value``; None if none is left.

        Raises
        ------
        TooLargeError
            There are too many.
        """
        jobs = len(self.jobs)
        start = np.array([[job.rests.size - 1 for job in self.jobs]], np.int64).reshape(1, jobs)
        layers: list[Layer] = []
        self.tried = 0  # states times vectors
        states, earned = start, np.zeros(1, np.int64)
        for t in range(self.inst.horizon):
            layer = self._next(t, states, earned, value)
            if layer is None:
                return None
            layers.append(layer)
            states, earned = layer.states, layer.earned
        return layers if int(earned.max()) > value else None

    def _next(self, t: int, states: Ints, earned: Ints, value: int) -> Layer | None:
        """Return the states that remain after slot ``t``; None if there are none."""
        came = np.array([arrival <= t for arrival in self.arrival], np.bool_)
        vectors = greatest(np.where(came, self.top, 0))
        self.tried += len(states) * len(vectors)
        Magnitude("states times vectors", self.tried).fits(MOST_TRIED)
        gains = [_gains(job, t, job.ahead[t + 1]) for job in self.jobs]
        found, made = [], 0
        step = max(1, CHUNK // len(vectors))
        for first in range(0, len(states), step):
            self.check_stop()
            here = states[first : first + step]
            bound = (earned[first : first + step] + self.paid[t + 1])[:, None]
            for i, gain in enumerate(gains):
                bound = bound + gain[here[:, i]][:, vectors[:, i]]
            s, v = np.nonzero(bound > value)
            found.append(np.stack((s + first, v)))
            made += s.size
            Magnitude("states of a slot", made).fits(MOST_STATES)
        before, vector = np.concatenate(found, axis=1)
        if not before.size:
            return None
        after, total = np.empty((before.size, len(self.jobs)), np.int64), earned[before]
        for i, job in enumerate(self.jobs):
            was = states[before, i]
            now = job.after[was, vectors[vector, i]]
            total += np.where((was > 0) & (now == 0), job.rewards[t], 0)
            # a job that will not complete may as well have done nothing
            lost = (now > 0) & ~job.alive[t + 1][now]
            after[:, i] = np.where(lost, job.rests.size - 1, now)
        order = np.lexsort((total, *after.T))
        after, total = after[order], total[order]
        last = np.ones(order.size, np.bool_)  # of equal states, the one that earned the most
        last[:-1] = (after[1:] != after[:-1]).any(axis=1)
        kept = order[last]
        return Layer(after[last], total[last], before[kept], vectors[vector[kept]])


def _gains(job: _Job, t: int, ahead: Ints) -> Ints:
    """Return the value of a job in slot ``t`` or later, by work left and choice, (R, K + 1).

    ``ahead`` (R,) is its value from the next slot on.
    """
    gains = ahead[job.after]
    gains[job.after == 0] = job.rewards[t]
    gains[0] = 0  # it has earned already
    return gains


def _rests(work: int, steps: list[int], slots: int) -> Ints:
    """Return all that may be left of ``work`` after up to this many slots, and 0."""
    found, last = {0, work}, {work}
    for _ in range(slots):
        last = {max(0, rest - step) for rest in last for step in steps} - found
        found |= last
        Magnitude("amounts of work that a job may have left", len(found)).fits(MOST_RESTS)
    return np.array(sorted(found), np.int64)


def _charges(
    inst: DmlrsInstance, i: int, choices: Sequence[Choice], prices: Ints, most: int
) -> Ints:
    """Return the price of every choice of a job in every slot, at most ``most``, (T, K + 1)."""
    a = inst.arrays
    capacity = a.capacity[[members[0] for members in a.classes]]
    alpha, beta = demands(inst)
    pays = np.zeros((inst.horizon, len(choices) + 1), np.int64)
    worker, ps = (charged(prices, d[i], 0, most).min(axis=1) for d in (alpha, beta))
    for k, choice in enumerate(choices, 1):
        load = np.array(choice.load, np.int64)
        if choice.mode == INNER_ONLY:
            holds = (load <= capacity).all(axis=1)
            pays[:, k] = charged(prices[:, holds], load, 0, most).min(axis=1)
        else:
            pays[:, k] = np.minimum(most, choice.workers * worker + choice.ps * ps)
    pays[: inst.jobs[i].arrival] = 0
    # more work for less is better
    falling = np.minimum.accumulate(pays[:, :0:-1], axis=1)[:, ::-1]
    return np.concatenate([pays[:, :1], falling], axis=1)


def check_program(
    inst: DmlrsInstance, grid_bits: int, prices: Ints, value: int, conflicts: Sequence[Conflict]
) -> None:
    """Refuse a value that schedules may exceed, as far as the program over slots can decide.

    Raises
    ------
    ValueError
        So it is; or a conflict is none, or the program is too large.
    """
    Magnitude("conflicts", len(conflicts)).fits(MOST_CONFLICTS)
    for k, conflict in enumerate(conflicts):
        check_conflict(inst, k, conflict)
    program = SlotProgram(inst, grid_bits, prices)
    program.forbid(conflicts)
    left = program.run(value)
    if left is not None:
        raise ValueError(
            f"the program over slots ends at up to {int(left[-1].earned.max())}, expected at most "
            f"its value, {value}"
        )


def check_conflict(inst: DmlrsInstance, k: int, conflict: Conflict) -> None:
    """Refuse a conflict that can be packed, or names entities that the instance lacks."""
    place = f"conflict {k}"
    for job, mode, workers in conflict:
        inside(place, "job", job, 0, len(inst.jobs) - 1)
        inside(f"{place}, job {job}", "mode", mode, INNER_ONLY, OUTER_ONLY)
        inside(f"{place}, job {job}", "workers", workers, 1, inst.jobs[job].chunks)
    if len({job for job, _, _ in conflict}) < len(conflict):
        raise ValueError(f"{place}: a job is named twice, expected once")
    if not conflict or refuted(inst, conflict) is not True:
        raise ValueError(
            f"{place}: what it names finds a place, or it takes too long to see that it does not"
        )
