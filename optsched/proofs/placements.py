"""Feasibility check of schedules whose jobs have workers and PS on machines, slot by slot.

The primal half of a verified optimum (Cheung et al., 2017); it shares no code with a solver.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from optsched.numbers.resources import exact, usable
from optsched.problem import Verdict, Violation

LARGEST = 10**300  # by which a constraint is violated, as far as it is reported

Capacities = Sequence[tuple[float, ...]]
Entry = tuple[int, int, int]
"""[slot, machine, number]"""


def wrong_number(inst: Any, schedule: Any, equation: str) -> Verdict | None:
    """Refuse a schedule of more or fewer jobs than the instance has; None: it has as many."""
    jobs, expected = len(schedule.jobs), len(inst.jobs)
    if jobs == expected:
        return None
    found = Violation(
        equation=equation,
        place=f"schedule of {jobs} jobs, expected {expected}",
        amount=abs(jobs - expected),
    )
    return Verdict(violations=(found,), value=None, completion=(None,) * expected)


class PlacementVerifier(ABC):
    """Takes down what is broken, and what every machine holds in every slot.

    Parameters
    ----------
    inst, schedule
    machines : mapping
        What the machines are called: their capacities, and the equation that keeps to them.
    """

    def __init__(
        self, inst: Any, schedule: Any, machines: Mapping[str, tuple[Capacities, str]]
    ) -> None:
        self.inst, self.schedule, self.machines = inst, schedule, machines
        self.violations: list[Violation] = []
        self.completion: list[int | None] = [None] * len(inst.jobs)
        # whole numbers of the finest decimal of any demand: exact, and faster than fractions
        self.scale = _finest_decimals(inst)
        # what is placed on (kind of machine, slot, machine), by resource
        self.load: dict[tuple[str, int, int], list[int]] = {}

    @abstractmethod
    def job(self, i: int, unfinished: bool) -> None:
        """Check all that concerns job ``i`` alone, and place it."""

    @abstractmethod
    def value(self) -> float:
        """Return the objective."""

    def verdict(self, unfinished: bool) -> Verdict:
        """Check the jobs, and then the machines."""
        for i in range(len(self.inst.jobs)):
            self.job(i, unfinished)
        self._capacity()
        value = None if self.violations else self.value()
        return Verdict(
            violations=tuple(self.violations), value=value, completion=tuple(self.completion)
        )

    def broken(self, equation: str, place: str, amount: float | Fraction) -> None:
        """Take down that a constraint is broken."""
        found = float(min(amount, LARGEST))
        self.violations.append(Violation(equation=equation, place=place, amount=found))

    def place(
        self,
        i: int,
        entries: Iterable[Entry],
        demand: Sequence[float],
        kind: str,
        equations: tuple[str, str],
    ) -> Iterator[Entry]:
        """Place a job's workers (or PS); yield what exists, note what is out of place.

        ``demand`` is that of one, shape (R,); ``kind`` what the machines are called. The equations
        state which slots and machines there are, and that no job runs before its arrival.
        """
        arrival, horizon = self.inst.jobs[i].arrival, self.inst.horizon
        number = len(self.machines[kind][0])
        needs = [int(exact(d) * s) for d, s in zip(demand, self.scale, strict=True)]
        for t, h, n in entries:
            if t >= horizon or h >= number:
                where = f"slot {shown(t)} of {horizon}, {kind} {shown(h)} of {number}"
                self.broken(equations[0], f"job {i}: {where} does not exist", n)
                continue
            if t < arrival:
                self.broken(equations[1], f"job {i}, slot {t}: before its arrival {arrival}", n)
            load = self.load.setdefault((kind, t, h), [0] * len(needs))
            for r, need in enumerate(needs):
                load[r] += n * need
            yield t, h, n

    def _capacity(self) -> None:
        known: dict[tuple[int, float], int] = {}
        for (kind, t, h), load in sorted(self.load.items()):
            machines, equation = self.machines[kind]
            for r, (used, capacity) in enumerate(zip(load, machines[h], strict=True)):
                if (r, capacity) not in known:
                    known[r, capacity] = math.floor(usable(capacity) * self.scale[r])
                if used > known[r, capacity]:
                    place = f"{kind} {h}, {self.inst.resources[r]}, slot {t}"
                    over = Fraction(used, self.scale[r]) - exact(capacity)
                    self.broken(equation, place, over)


def shown(x: int | Fraction) -> str:
    """Write a number of a schedule, however large.

    >>> shown(7), shown(Fraction(3, 2)), shown(10**5000)
    ('7', '1.5', 'over 1e+300')
    """
    return f"over {LARGEST:g}" if x > LARGEST else f"{float(x):.12g}"


def _finest_decimals(inst: Any) -> list[int]:
    """Return, for every resource, the least power of ten that makes all demands whole."""
    scale = [1] * len(inst.resources)
    for job in inst.jobs:
        for demand in (job.worker_demand, job.ps_demand):
            for r, amount in enumerate(demand):
                while scale[r] % exact(amount).denominator:
                    scale[r] *= 10
    return scale
