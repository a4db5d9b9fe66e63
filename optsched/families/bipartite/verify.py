"""Feasibility check of family `bipartite`, from the definition (4)-(8), (12) or (7).

It takes slots as a stream, so that runs of any length can be checked: a decision is looked at once
and discarded. The reward of every slot and a fingerprint of all decisions are kept.

A limit is kept by an amount of at most 1 + 1e-9 times it, so that no unit matters; a limit of 0 by
0 alone. Rewards are computed in floats. Where gain and overhead of a job cancel so far that less
than ten digits would be left, they are computed again from the decimals (`exact_reward`): so
rounding never lifts a schedule above the optimum.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from optsched.families.bipartite.instance import (
    BipartiteArrays,
    BipartiteInstance,
    BipartiteSchedule,
    RowArrays,
)
from optsched.families.bipartite.instance_utilities import LOG, POLY, RECIPROCAL, gain
from optsched.numbers.arrays import Flags, Floats
from optsched.numbers.kernels import kernel, plain
from optsched.numbers.resources import EPS, exact
from optsched.problem import Verdict, Violation
from optsched.process.interrupts import leave_if_abandoned
from optsched.proofs.grid import float_below

Marks = NDArray[np.uint64]

MOST_VIOLATIONS = 100
BLOCK = 2**20  # numbers that are added up at once
DIGITS = 1e-10  # relative error of a job's reward from which it is computed again
SAME = 1e-9  # relative difference up to which two evaluations of one reward agree
MANY_DIGITS = Context(prec=100)


def verify(inst: BipartiteInstance, schedule: BipartiteSchedule) -> Verdict:
    """Check ``schedule`` and recompute its cumulative reward (9).

    Returns
    -------
    Verdict
        Every violated equation with its place and amount (the first hundred), or the reward. A
        record without decisions cannot be checked here, see `online.verify`.
    """
    if len(schedule.used) != inst.horizon:
        return _misfit(f"decisions for {len(schedule.used)} slots", inst.horizon, schedule.used)
    verifier = Verifier(inst)
    if max(schedule.used) >= len(schedule.decisions):
        found = "a decision that does not exist"
        return _misfit(found, f"0..{len(schedule.decisions) - 1}", schedule.used)
    slots: dict[int, list[int]] = {}
    for t, d in enumerate(schedule.used):
        slots.setdefault(d, []).append(t)
    for d, used in slots.items():
        verifier.decision(used, np.array(schedule.decisions[d], float))
    verifier.compare([t for used in slots.values() for t in used], schedule.rewards)
    return verifier.verdict()


def _misfit(what: str, expected: object, given: tuple[object, ...]) -> Verdict:
    found = Violation(
        equation="9", place=f"schedule has {what}, expected {expected}", amount=len(given)
    )
    return Verdict(violations=(found,), value=None)


def is_stationary(_inst: BipartiteInstance, schedule: BipartiteSchedule) -> bool:
    """Return whether one decision is used in all slots, see (10); a record does not show it."""
    used = set(schedule.used)
    if schedule.record is not None or not used or max(used) >= len(schedule.decisions):
        return False
    return len({schedule.decisions[d] for d in used}) == 1


def admitted_rows(a: BipartiteArrays) -> RowArrays:
    """Return capacities and requests with the common tolerance."""
    capacity = np.array([admitted(x) for x in a.capacity.tolist()], float)
    request = np.array([admitted(x) for x in a.request.ravel().tolist()], float)
    upper = request[a.port * a.resources + a.row % a.resources]
    return RowArrays(a.start, a.port, a.kind, a.alpha, a.beta, upper, capacity)


@lru_cache(maxsize=100_000)
def admitted(amount: float) -> float:
    """Return the largest float that is admitted where ``amount`` is there."""
    leave_if_abandoned()
    return float_below(exact(amount) * (1 + EPS))


class Verifier:
    """Checks slot by slot.

    Attributes
    ----------
    rewards : list of float
        q(t) of the slots so far, in the order of checking; 0 where the decision breaks a
        constraint.
    violations : list of Violation
        The first hundred.
    """

    def __init__(self, inst: BipartiteInstance) -> None:
        self.inst = inst
        self.rewards: list[float] = []
        self.violations: list[Violation] = []
        self._arrays = inst.arrays
        self._admitted = admitted_rows(inst.arrays)
        self._rows = plain(self._admitted)
        self._prints: list[int] = []
        self._rewards = np.zeros(self._arrays.copies)
        self._totals = np.zeros((self._arrays.copies, self._arrays.resources))
        parts = np.bincount(self._arrays.port, minlength=self._arrays.copies)
        # every channel's gain, every sum and product may be wrong in its last digit
        self._doubt = (parts + 8.0).astype(np.float64) * (2.0**-52 / DIGITS)
        self._all = np.ones(self._arrays.copies, np.bool_)
        self._all.setflags(write=False)  # as the jobs of a slot: compiled once for both

    def slot(self, t: int, jobs: Flags, decision: Floats) -> None:
        """Check the decision of slot ``t``."""
        self._look(t, jobs, decision)
        self.rewards.append(float(self._rewards.sum()))

    def decision(self, slots: Sequence[int], decision: Floats) -> None:
        """Check one decision that is used in many slots."""
        self._look(slots[0], self._all, decision)
        jobs, step = self.inst.jobs, max(1, BLOCK // max(1, self._arrays.copies))
        for begin in range(0, len(slots), step):  # added up in the order of `slot`
            here = np.where(jobs[slots[begin : begin + step]], self._rewards, 0.0)
            self.rewards += here.sum(axis=1).tolist()

    def rewards_of(self, decision: Floats) -> Floats:
        """Return the reward of a decision for each copy that has a job, shape (C,)."""
        self._look(0, self._all, decision)
        return self._rewards.copy()

    def compare(self, slots: Sequence[int], stated: Sequence[float]) -> None:
        """Report the first reward that differs from the stated one; () means none is stated."""
        if not stated:
            return
        if len(stated) != self.inst.horizon:
            place = f"schedule has rewards of {len(stated)} slots, expected {self.inst.horizon}"
            self._broken("9", place, len(stated))
            return
        allowed = SAME * max(map(abs, self.rewards), default=0.0)
        for t, reward in sorted(zip(slots, self.rewards, strict=True)):
            if abs(reward - stated[t]) > allowed:
                place = f"slot {t}: the stated reward is {stated[t]:.9g}, it earns {reward:.9g}"
                self._broken("9", place, abs(reward - stated[t]))
                return

    def _look(self, t: int, jobs: Flags, decision: Floats) -> None:
        """Write the reward of the decision for each copy with a job; 0 if it breaks the model."""
        a = self._arrays
        y = np.ascontiguousarray(decision, dtype=np.float64).view()
        y.setflags(write=False)  # as decisions of policies are: compiled once for both
        if y.shape != (a.channels,):
            place = f"slot {t}: decision of shape {y.shape}, expected ({a.channels},)"
            self._broken("4", place, abs(y.size - a.channels))
            self._rewards[:] = 0.0
            return
        fine, mark, doubtful = checked(
            y,
            y.view(np.uint64),
            jobs,
            self._rows,
            self._doubt,
            a.summed,
            self._rewards,
            self._totals,
        )
        if not fine:
            self._explain(t, y)
        elif doubtful:
            for copy in np.flatnonzero(self._rewards == DOUBTFUL).tolist():
                self._rewards[copy] = exact_reward(a, y, copy)
        self._prints.append(int(mark))

    def fingerprint(self) -> str:
        """Return the SHA-256 of the 64-bit marks of all decisions so far."""
        return hashlib.sha256(np.array(self._prints, np.uint64).tobytes()).hexdigest()

    def verdict(self) -> Verdict:
        """Return the result so far."""
        value = None if self.violations else math.fsum(self.rewards)
        return Verdict(violations=tuple(self.violations), value=value)

    def _broken(self, equation: str, place: str, amount: float) -> None:
        if len(self.violations) < MOST_VIOLATIONS:
            finite = min(amount, sys.float_info.max)
            self.violations.append(Violation(equation=equation, place=place, amount=finite))

    def _explain(self, t: int, y: Floats) -> None:
        """Name what is wrong with a decision."""
        a, limits, names = self._arrays, self._admitted, self.inst.resources
        bad = ~np.isfinite(y) | (y < 0) | (y > limits.upper)
        for channel in np.flatnonzero(bad)[:MOST_VIOLATIONS]:
            r, copy, k = a.place(int(channel))
            amount, most = float(y[channel]), float(a.upper[channel])
            where = f"{self._port(copy)}, machine {r}, {names[k]}, slot {t}"
            if not math.isfinite(amount):
                self._broken("4", f"{where}: is {amount}, expected a number", 1.0)
            elif amount < 0:
                self._broken("5", f"{where}: is {amount:.9g}, expected at least 0", -amount)
            else:
                place = f"{where}: is {amount:.9g}, expected at most {most:.9g}"
                self._broken("5", place, amount - most)
        sums = row_sums(np.where(np.isfinite(y), y, 0.0), a)
        for row in np.flatnonzero(sums > limits.capacity)[:MOST_VIOLATIONS]:
            r, k = divmod(int(row), a.resources)
            over = float(sums[row] - a.capacity[row])
            self._broken("6", f"machine {r}, {names[k]}, slot {t}", over)

    def _port(self, copy: int) -> str:
        a = self._arrays
        port = int(a.port_of[copy])
        several = self.inst.ports[port].most_jobs > 1
        return f"port {port}, job {a.nth[copy]}" if several else f"port {port}"


def row_sums(y: Floats, a: BipartiteArrays) -> Floats:
    """Return the use of each machine and resource by a decision, shape (R * K,)."""
    return np.bincount(a.row, y, minlength=len(a.capacity)).astype(np.float64)


def exact_reward(a: BipartiteArrays, y: Floats, copy: int) -> float:
    """Return q_l (7) of one copy from the decimals that are written, rounded down."""
    total, sums = Decimal(0), [Decimal(0)] * a.resources
    with localcontext(MANY_DIGITS):
        for i in np.flatnonzero((a.port == copy) & (y > 0)).tolist():
            row, v = int(a.row[i]), Decimal(repr(float(y[i])))
            sums[row % a.resources] += v
            total += 0 if a.summed else _exact_gain(a, row, v)
        total += sum(_exact_gain(a, k, v) for k, v in enumerate(sums) if a.summed)
        beta = [Decimal(repr(float(b))) for b in a.beta]
        left = total - max(b * s for b, s in zip(beta, sums, strict=True))
    near = float(left)
    return near if Decimal(near) <= left else math.nextafter(near, -math.inf)


def _exact_gain(a: BipartiteArrays, row: int, v: Decimal) -> Decimal:
    """Return f (60) of a row, by the context's digits."""
    alpha = Decimal(repr(float(a.alpha[row])))
    if a.kind[row] == LOG:
        return alpha * (v + 1).ln()
    if a.kind[row] == RECIPROCAL:
        return v / (alpha * (v + alpha))
    if a.kind[row] == POLY:
        return alpha * ((v + 1).sqrt() - 1)
    return alpha * v


DOUBTFUL = math.inf  # a reward that is to be computed again


@kernel
def checked(
    y: Floats, bits: Marks, jobs: Flags, rows: RowArrays, doubt: Floats, summed: bool,
    rewards: Floats, totals: Floats,
) -> tuple[bool, np.uint64, bool]:  # fmt: skip
    """Return whether a decision (N,) keeps (4)-(6), its 64-bit mark, and whether a q_l is doubtful.

    Written are q_l (7) of every copy with a job, ``jobs`` (C,), into ``rewards`` (C,), and S_lk,
    ``totals`` (C, K). A q_l is doubtful, and infinite, if ``doubt`` (C,) times its terms is more
    than what is left. ``summed``: gains are f_k of S_lk. The mark is made of ``bits`` (N,), those
    of the amounts ``y`` (N,).
    """
    start, port, kind, alpha, beta, upper, capacity = rows
    resources = len(beta)
    rewards[:] = 0.0
    totals[:] = 0.0
    fine, doubtful = True, False
    mark = np.uint64(14695981039346656037)
    prime = np.uint64(1099511628211)
    for row in range(len(capacity)):
        used = 0.0
        k = row % resources
        f, al = kind[row], alpha[row]
        for i in range(start[row], start[row + 1]):
            mark = (mark ^ bits[i]) * prime
            v = y[i]
            if not (0.0 <= v <= upper[i]):  # also NaN
                fine = False
            used += v
            p = port[i]
            if jobs[p] and v > 0.0:
                if not summed:
                    rewards[p] += gain(f, al, v)
                totals[p, k] += v
        if not used <= capacity[row]:
            fine = False
    for p in range(len(jobs)):
        most = 0.0
        for k in range(resources):
            most = max(most, beta[k] * totals[p, k])
            if summed:
                rewards[p] += gain(kind[k], alpha[k], totals[p, k])
        left = rewards[p] - most if fine else 0.0
        if 0.0 < left < doubt[p] * (rewards[p] + most):
            left = DOUBTFUL
            doubtful = True
        rewards[p] = left
    return fine, mark, doubtful
