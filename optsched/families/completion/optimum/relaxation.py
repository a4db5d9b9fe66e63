"""Linear relaxation of (2), (15) by column generation, certified by its capacity duals.

Column generation prices the variables of a time-indexed program, compare van den Akker et al.
(2000): columns are units of a mode and a start, each on the servers where it is cheapest; a job
may be split over them. Equal servers share one row, which changes no optimum: the mean of permuted
solutions is a solution as well (Margot, 2010).
"""

from __future__ import annotations

import math

import numpy as np

from optsched.engine.colgen import Column, Master, Pricing, Relaxation, generate_columns
from optsched.engine.progress import Progress
from optsched.families.completion.certificate.bound import BoundEvaluator
from optsched.families.completion.certificate.check import CompletionCertificate
from optsched.families.completion.certificate.declared import (
    StartWindows,
    cheapest_unit,
    most_servers,
)
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.optimum.horizon import latest_ends
from optsched.families.completion.optimum.relaxations.capacity import CapacityRelaxation, JobTables
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.overflow import INT64
from optsched.process import work_units

NEAR, CONVERGED = 1e-6, 1e-9  # relative distances of bound and master: of it, and of the vertices
STEPS = 3  # of pricing a mode on a class of servers


class _Units(CapacityRelaxation):
    """The decomposition: one block per job, one row per slot, class and resource."""

    def __init__(
        self, inst: CompletionInstance, jobs: JobTables, ends: list[int], slots: int
    ) -> None:
        super().__init__(jobs, slots)
        self.inst, self.ends = inst, ends
        self.units = BoundEvaluator(inst)
        self.most = most_servers(self.units)
        # costs of a job, in 62 bits
        reach = jobs.weight * (np.array(ends) + self.units.duration.most)
        self.reach = max(1.0, float(reach.max(initial=1.0)))

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Return the cheapest unit of every job."""
        demand = self.units.dearest
        whole = prices.reshape(self.shape)
        rent = float((whole @ np.array(demand, float)).sum(axis=0).max(initial=0.0))
        most = self.reach + rent * (self.units.number.most + self.units.ps.most)
        bits = 61 - math.frexp(most)[1]
        costs = self.units.costs(np.rint(np.ldexp(whole, bits)).astype(np.int64))
        best, columns = np.empty(len(self.ends)), []
        for j, modes in enumerate(self.units.modes):
            arrival, found = int(self.jobs.arrival[j]), np.zeros(2, np.int64)
            weight = math.floor(math.ldexp(self.jobs.weight[j], bits))
            work_units.steps(STEPS * modes.shape[0] * self.slots)
            best[j] = -np.inf
            latest = max(arrival, self.slots)
            # of starts, of each of which the cheapest unit becomes a column
            step = -(-(latest - arrival + 1) // 12)
            for first in range(arrival, latest + 1, step):
                starts = StartWindows(first, min(first + step - 1, latest), self.ends[j])
                value = cheapest_unit(
                    modes, starts, weight, self.most, self.inst.ring, costs, found
                )
                payoff = -math.ldexp(value, -bits)
                if value < INT64 and payoff > duals[j]:
                    columns.append(self._column(j, modes[found[0]], int(found[1]), costs))
                best[j] = max(best[j], payoff)
        return Pricing(best, columns)

    def late(self) -> list[Column]:
        """Return units after all slots that have a row, where a job may start so late."""
        found, free = [], self.units.free
        for j, modes in enumerate(self.units.modes):
            start = max(int(self.jobs.arrival[j]), self.slots)
            if start + int(modes[0, 0]) <= self.ends[j]:
                found.append(self._column(j, modes[0], start, free))
        return found

    def overfull(self, found: Relaxation) -> bool:
        """Return whether a solution needs more than there is after the last slot with a row."""
        choices = [(x, *c.choice) for x, c in zip(found.x, found.columns, strict=True) if x > 0]
        last = max((end for _, _, end, _ in choices), default=0)
        load = np.zeros((max(0, last - self.slots) + 1, *self.shape[1:]))
        for x, start, end, each in choices:  # as differences of slots
            if end > self.slots:
                load[max(0, start - self.slots)] += x * each
                load[end - self.slots] -= x * each
        capacity = self.jobs.class_capacity * self.jobs.count[:, None]
        return bool((load.cumsum(axis=0) > capacity * (1 + CONVERGED)).any())

    def _column(self, j: int, mode: Ints, start: int, costs: object) -> Column:
        d, m, p, q, n = mode.tolist()
        unit, most, inst = self.units, self.most, self.inst
        slots = costs.worker.shape[1] - 1  # type: ignore[attr-defined]
        a, b = min(start, slots), min(start + d, slots)
        worker = costs.worker[m, b] - costs.worker[m, a]  # type: ignore[attr-defined]
        load = np.zeros(self.shape[1:])
        cheap = int(worker.argmin())
        if inst.ring:
            load[cheap] += n * unit.platform.e[m]
        else:
            ps = costs.ps[p, b] - costs.ps[p, a]  # type: ignore[attr-defined]
            share = q / most
            host = int((share * n * worker + ps).argmin())
            load[cheap] += (1 - share) * n * unit.platform.e[m]
            load[host] += share * n * unit.platform.e[m] + unit.platform.z[p]
        rows, usage = self.usage(start, start + d, load)
        value = -float(self.jobs.weight[j]) * (start + d)
        return Column(j, value, rows, usage, (start, start + d, load))


def relaxation(inst: CompletionInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the linear relaxation; report its value once it is reached."""
    jobs = JobTables(inst)
    if jobs.impossible() is not None:
        progress.infeasible = True
        return
    ends = latest_ends(jobs)
    slots, last = 2 * inst.horizon, max(ends, default=1)
    while True:  # late slots have more capacity than all jobs can use, and need no rows
        problem = _Units(inst, jobs, ends, min(slots, last))
        found = _solved(problem, progress, threads)
        if found is None:
            return
        if slots >= last or not problem.overfull(found):
            break
        slots *= 2
    whole = found.prices.reshape(problem.shape)
    # of the grid, for the value of all servers of a class
    bits = 40 + round(math.log2(max(1.0, problem.rhs.max(initial=1.0))))
    bits = min(bits, 60 - math.frexp(whole.max(initial=0.0))[1])
    made = CompletionCertificate.root(inst, whole, bits).model_copy(update={"relaxed": True})
    progress.tighten(-found.bound, lambda: made)


def _solved(problem: _Units, progress: Progress, threads: int) -> Relaxation | None:
    """Return the solution of the linear program; None if a limit came first."""

    def stop(_found: Relaxation) -> bool:
        return progress.called_off() or progress.left() <= 0

    master = Master(problem, threads=threads)
    master.add(problem.late())
    found = generate_columns(
        problem,
        master,
        stop=stop,
        center=np.zeros(problem.rhs.size),
        tolerance=lambda _: CONVERGED,
    )
    reached = found.bound - found.value <= NEAR * abs(found.bound)
    return found if reached else None
