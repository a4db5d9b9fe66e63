"""The judge of family `bipartite`, from the definition (4)-(8), (12); it knows no policy.

It takes slots as a stream, so that runs of any length can be judged: a decision is looked at once
and forgotten. What remains is the reward of every slot and a fingerprint of all decisions.
"""

# mypy: allow-untyped-defs
# The arguments of compiled functions are described where they are first met.

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from optsched.families.bipartite.instance import (
    BipartiteArrays,
    BipartiteInstance,
    BipartiteSchedule,
    Floats,
    Platform,
    gain,
)
from optsched.problem import Verdict, Violation
from optsched.resources import usable

MOST_VIOLATIONS = 100


def verify(inst: BipartiteInstance, schedule: BipartiteSchedule) -> Verdict:
    """Judge ``schedule`` and recompute its cumulative reward (9).

    Returns
    -------
    Verdict
        Every violated equation with its place and amount (the first hundred), or the reward. A
        record without decisions cannot be judged here, see `online.verify`.
    """
    if len(schedule.used) != inst.horizon:
        return _misfit(f"decisions for {len(schedule.used)} slots", inst.horizon, schedule.used)
    judge = Judge(inst)
    if schedule.used and max(schedule.used) >= len(schedule.decisions):
        return _misfit(f"decision {max(schedule.used)}", len(schedule.decisions), schedule.used)
    slots: dict[int, list[int]] = {}
    for t, d in enumerate(schedule.used):
        slots.setdefault(d, []).append(t)
    for d, used in slots.items():
        judge.decision(used, np.array(schedule.decisions[d], float))
    return judge.verdict()


def _misfit(what: str, expected: int, given: tuple[object, ...]) -> Verdict:
    found = Violation(
        equation="9", place=f"schedule has {what}, expected {expected}", amount=len(given)
    )
    return Verdict(violations=(found,), value=None)


class Limits:
    """What the judge admits: capacities and requests with the common tolerance, as floats."""

    def __init__(self, platform: Platform) -> None:
        a = platform.arrays
        self.capacity = np.array([admitted(x) for x in a.capacity.tolist()], float)
        request = np.array([admitted(x) for x in a.request.ravel().tolist()], float)
        resource = np.repeat(np.arange(len(a.capacity)) % a.resources, np.diff(a.start))
        self.upper = request[a.port * a.resources + resource]


@lru_cache(maxsize=100_000)
def admitted(amount: float) -> float:
    """Return the largest float that is admitted where ``amount`` is there."""
    most = usable(amount)
    near = float(most)
    return near if Fraction(near) <= most else math.nextafter(near, -math.inf)


class Judge:
    """Judges slot by slot.

    Attributes
    ----------
    rewards : list of float
        q(t) of the slots so far, in the order of judging; 0 where the decision breaks a constraint.
    violations : list of Violation
        The first hundred.
    """

    def __init__(self, inst: BipartiteInstance) -> None:
        self.inst = inst
        self.rewards: list[float] = []
        self.violations: list[Violation] = []
        self._arrays = inst.arrays
        self._limits = Limits(inst)
        self._prints: list[int] = []
        self._worth = np.zeros(self._arrays.copies)
        self._totals = np.zeros((self._arrays.copies, self._arrays.resources))
        self._all = np.ones(self._arrays.copies, np.bool_)
        self._all.setflags(write=False)  # as the jobs of a slot: compiled once for both

    def slot(self, t: int, jobs: NDArray[np.bool_], decision: Floats) -> None:
        """Judge the decision of slot ``t``."""
        self._look(t, jobs, decision)
        self.rewards.append(float(self._worth.sum()))

    def decision(self, slots: Sequence[int], decision: Floats) -> None:
        """Judge one decision that is used in many slots."""
        self._look(slots[0], self._all, decision)
        self.rewards += (self.inst.jobs[slots] @ self._worth).tolist()

    def _look(self, t: int, jobs: NDArray[np.bool_], decision: Floats) -> None:
        """Write what the decision is worth to each copy with a job; 0 if it breaks the model."""
        a, limits = self._arrays, self._limits
        y = np.ascontiguousarray(decision, dtype=np.float64)
        if y.shape != (a.channels,):
            place = f"slot {t}: decision of shape {y.shape}, expected ({a.channels},)"
            self._broken("4", place, abs(y.size - a.channels))
            self._worth[:] = 0.0
            return
        fine, mark = judged(
            y, jobs, a.start, a.port, a.kind, a.alpha, a.beta, limits.upper, limits.capacity,
            self._worth, self._totals,
        )  # fmt: skip
        if not fine:
            self._explain(t, y)
        self._prints.append(mark)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the 64-bit marks of all decisions so far."""
        return hashlib.sha256(np.array(self._prints, np.uint64).tobytes()).hexdigest()

    def verdict(self) -> Verdict:
        """Return what was found so far."""
        value = None if self.violations else math.fsum(self.rewards)
        return Verdict(violations=tuple(self.violations), value=value)

    def _broken(self, equation: str, place: str, amount: float) -> None:
        if len(self.violations) < MOST_VIOLATIONS:
            self.violations.append(Violation(equation=equation, place=place, amount=amount))

    def _explain(self, t: int, y: Floats) -> None:
        """Name what is wrong with a decision."""
        a, limits, names = self._arrays, self._limits, self.inst.resources
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
    """Return what a decision takes of each machine and resource, shape (R * K,)."""
    sums = np.bincount(
        np.repeat(np.arange(len(a.capacity)), np.diff(a.start)), y, minlength=len(a.capacity)
    )
    return sums.astype(np.float64)


@njit(cache=True)
def judged(y, jobs, start, port, kind, alpha, beta, upper, capacity, worth, totals):
    """Return whether a decision keeps (4)-(6), and its 64-bit mark.

    Written are q_l (7) of every copy with a job, into ``worth`` (C,), and S_lk, ``totals`` (C, K).
    """
    resources = len(beta)
    worth[:] = 0.0
    totals[:] = 0.0
    fine = True
    mark = np.uint64(14695981039346656037)
    prime = np.uint64(1099511628211)
    bits = y.view(np.uint64)
    for row in range(len(capacity)):
        used = 0.0
        k = row % resources
        f, al = kind[row], alpha[row]
        for i in range(start[row], start[row + 1]):
            mark = (mark ^ bits[i]) * prime
            v = y[i]
            if not (0.0 <= v <= upper[i]):  # also what is no number
                fine = False
            used += v
            p = port[i]
            if jobs[p] and v > 0.0:
                worth[p] += gain(f, al, v)
                totals[p, k] += v
        if not used <= capacity[row]:
            fine = False
    for p in range(len(jobs)):
        most = 0.0
        for k in range(resources):
            most = max(most, beta[k] * totals[p, k])
        worth[p] = worth[p] - most if fine else 0.0
    return fine, mark
