"""The linear relaxation of (2), (15): its value, certified by its capacity duals.

A job is split into units of modes and starts, of which each goes to the servers where it is
cheapest: column generation over those. Equal servers share one row, which changes no optimum of a
linear program: the mean of its solutions is one, too.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.engine.colgen import Column, Master, Pricing, Relaxation, generate_columns
from optsched.engine.interior_master import InteriorMaster
from optsched.engine.progress import Progress
from optsched.families.completion.certificate.bound import Evaluation
from optsched.families.completion.certificate.declared import cheapest_unit, most_servers
from optsched.families.completion.certificate.format import CompletionCertificate
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.optimum.horizon import latest_ends
from optsched.families.completion.optimum.prices.capacity import Jobs, ServerBlocks
from optsched.numbers.arrays import Floats, Ints
from optsched.process import effort

INTERIOR = 2000  # rows from which on an interior point comes first
NEAR, CONVERGED = 1e-6, 1e-9  # relative distances of bound and master: of it, and of the vertices
BITS = 40  # of the grid, for what all servers of a class are worth
STEPS = 3  # of pricing a mode on a class of servers


class _Units(ServerBlocks):
    """The decomposition: one block per job, one row per slot, class and resource."""

    def __init__(self, inst: CompletionInstance, jobs: Jobs, ends: list[int]) -> None:
        super().__init__(jobs, max(ends, default=1))
        self.inst, self.ends = inst, ends
        self.units = Evaluation(inst)
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
            found, arrival = np.zeros(2, np.int64), int(self.jobs.arrival[j])
            weight = math.floor(math.ldexp(self.jobs.weight[j], bits))
            effort.steps(STEPS * modes.shape[0] * self.slots)
            value = cheapest_unit(
                modes, arrival, self.ends[j], weight, self.most, self.inst.ring, costs, found
            )
            best[j] = -math.ldexp(value, -bits)
            if best[j] > duals[j]:
                columns.append(self._column(j, modes[found[0]], int(found[1]), costs))
        return Pricing(best, columns)

    def _column(self, j: int, mode: Ints, start: int, costs: object) -> Column:
        d, m, p, q, n = mode.tolist()
        unit, most, inst = self.units, self.most, self.inst
        a, b = min(start, self.slots), min(start + d, self.slots)
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
        return self.column(j, start, start + d, load, None)  # type: ignore[arg-type]


def relaxation(inst: CompletionInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the linear relaxation; report its value once it is reached."""
    jobs = Jobs(inst)
    if jobs.impossible() is not None:
        progress.infeasible = True
        return
    problem = _Units(inst, jobs, latest_ends(jobs))

    def stop(_found: Relaxation) -> bool:
        return progress.called_off() or progress.left() <= 0

    center = np.zeros(problem.rhs.size)
    columns: list[Column] = []
    if problem.rhs.size > INTERIOR:
        first = generate_columns(
            problem,
            InteriorMaster(problem, threads=threads),
            stop=stop,
            center=center,
            tolerance=lambda _: NEAR,
        )
        center, columns = first.prices, first.columns
    master = Master(problem, threads=threads)
    master.add(columns)
    found = generate_columns(
        problem, master, stop=stop, center=center, tolerance=lambda _: CONVERGED
    )
    if found.bound - found.value > NEAR * abs(found.bound):
        return
    whole = found.prices.reshape(problem.shape)
    bits = BITS + round(math.log2(max(1.0, problem.rhs.max(initial=1.0))))
    bits = min(bits, 60 - math.frexp(whole.max(initial=0.0))[1])
    made = CompletionCertificate.root(inst, whole, bits).model_copy(update={"relaxed": True})
    progress.proved(-found.bound, lambda: made)
