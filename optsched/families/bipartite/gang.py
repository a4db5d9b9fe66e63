"""Gangs online: the judge of gang decisions, and OGASched with launching.

A gang decision is an array of shape (Q, N): what each component gets on each channel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.families.bipartite.instance import Floats, Slot
from optsched.families.bipartite.instance_gang import GangInstance
from optsched.families.bipartite.online import events
from optsched.families.bipartite.policy import KNOWLEDGE, OgaSched
from optsched.families.bipartite.verify import Judge
from optsched.problem import Information, Verdict, Violation
from optsched.streams import Streams

CLOSE = 1e-9


class GangJudge:
    """Judges gang decisions slot by slot: components, and then the rest by the family's judge."""

    def __init__(self, inst: GangInstance) -> None:
        a = inst.base.arrays
        self._inst = inst
        self._judge = Judge(inst.base)
        self._violations: list[Violation] = []
        rows = np.repeat(np.arange(len(a.capacity)), np.diff(a.start))
        self._resource = rows % a.resources
        self._upper = inst.requests[a.port, :, self._resource].T  # (Q, N)

    @property
    def rewards(self) -> list[float]:
        """q(t) of the slots so far."""
        return self._judge.rewards

    def slot(self, t: int, jobs: NDArray[np.bool_], decision: Floats) -> None:
        """Judge the gang decision (Q, N) of slot ``t``."""
        a, inst = self._inst.base.arrays, self._inst
        y = np.asarray(decision, dtype=np.float64)
        if y.shape != self._upper.shape:
            place = f"slot {t}: gang decision of shape {y.shape}, expected {self._upper.shape}"
            self._violations.append(Violation(equation="4", place=place, amount=1.0))
            y = np.zeros(self._upper.shape)
        over = np.maximum(y - self._upper, -y)
        for q, i in np.argwhere(over > CLOSE * np.maximum(1.0, self._upper)):
            place = f"component {q} of port {a.port[i]}, channel {i}, slot {t}"
            self._violations.append(Violation(equation="5", place=place, amount=over[q, i]))
        totals = np.zeros((a.copies, inst.most, a.resources))
        for q in range(inst.most):
            np.add.at(totals[:, q], (a.port, self._resource), y[q])
        least = inst.minima - CLOSE * np.maximum(1.0, inst.minima)
        running = np.all(totals >= least, axis=2).reshape(a.copies, inst.most)
        for p, gang in enumerate(inst.gangs):
            count = int(running[p, : len(gang.components)].sum())
            if totals[p].sum() > 0 and count < gang.at_least:
                place = f"port {p}, slot {t}: {count} components reach their minimum"
                missing = gang.at_least - count
                self._violations.append(Violation(equation="3.5", place=place, amount=missing))
        self._judge.slot(t, jobs, y.sum(axis=0))

    def verdict(self) -> Verdict:
        """Return what was found so far."""
        found = self._judge.verdict()
        every = (*self._violations, *found.violations)
        return Verdict(violations=every, value=None if every else found.value)


class GangOga:
    """OGASched on the ports, whose decision is dealt out to components and launched where it can.

    The learner ignores the gangs, so that it stays in a convex set. Its decision is then dealt out
    port by port: components with small minima first, each until its minimum is reached; if enough
    of them run, what is left is dealt out up to their requests; if not, the job gets nothing.
    """

    name = "gang-ogasched"
    information: Information = "before"

    def __init__(self, learner: OgaSched | None = None) -> None:
        self._learner = OgaSched("theory") if learner is None else learner

    def start(self, inst: GangInstance) -> None:
        """Forget every earlier run."""
        a = inst.base.arrays
        self._inst = inst
        platform = inst.base.platform()
        known = {name: KNOWLEDGE[name](platform) for name in self._learner.knows}
        self._learner.start(platform, known, Streams(0))
        resource = np.repeat(np.arange(len(a.capacity)) % a.resources, np.diff(a.start))
        self._channels = [
            [np.flatnonzero((a.port == p) & (resource == k)) for k in range(a.resources)]
            for p in range(a.copies)
        ]

    def step(self, event: Slot) -> Floats:
        """Learn from the jobs of the slot before, which the event shows; return the decision."""
        return self._dealt(self._learner.step(event))

    def _dealt(self, y: Floats) -> Floats:
        out = np.zeros((self._inst.most, len(y)))
        for p, gang in enumerate(self._inst.gangs):
            left = y.copy()
            parts = np.zeros_like(out)
            order = sorted(
                range(len(gang.components)), key=lambda q: (sum(gang.components[q].minimum), q)
            )
            running = [q for q in order if self._fill(p, q, self._inst.minima, left, parts)]
            if len(running) >= gang.at_least:
                for q in running:
                    self._fill(p, q, None, left, parts)
                out += parts
        return out

    def _fill(self, p: int, q: int, minima: Floats | None, left: Floats, parts: Floats) -> bool:
        """Deal out to one component until its minimum is reached, or all that it may have.

        Returns whether the minimum was reached; if not, nothing is dealt out.
        """
        before = left.copy(), parts[q].copy()
        for k, channels in enumerate(self._channels[p]):
            room = np.minimum(left[channels], self._inst.requests[p, q, k] - parts[q, channels])
            wanted = np.inf if minima is None else minima[p, q, k]
            earlier = np.concatenate([[0.0], np.cumsum(room)[:-1]])
            taken = np.clip(wanted - earlier, 0.0, room)
            if minima is not None and taken.sum() < wanted - CLOSE * max(1.0, wanted):
                left[:], parts[q] = before
                return False
            left[channels] -= taken
            parts[q, channels] += taken
        return True


def run_gangs(inst: GangInstance, policy: GangOga) -> tuple[Verdict, list[float]]:
    """Run ``policy`` on all slots; return the verdict and the rewards."""
    policy.start(inst)
    judge = GangJudge(inst)
    for event in events(inst.base, policy.information):
        judge.slot(event.slot, inst.base.jobs[event.slot], policy.step(event))
    return judge.verdict(), judge.rewards
