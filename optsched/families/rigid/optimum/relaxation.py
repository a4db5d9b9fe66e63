"""Linear relaxation of the time-indexed program by column generation (Dantzig and Wolfe, 1960).

A column is a start of a job, as in van den Akker et al. (2000); a row is a second and a resource.
The capacity duals are prices, whose Lagrangian bound is the value of the relaxation, certified.
On nodes, or for the makespan, the program is another one, and this method finds no value.
"""

from __future__ import annotations

import numpy as np

from optsched.engine.colgen import Column, Master, Pricing, Relaxation, generate_columns
from optsched.engine.progress import Progress
from optsched.families.rigid.certificate.check import RigidCertificate
from optsched.families.rigid.instance import RigidInstance
from optsched.families.rigid.optimum.prices import cheapest
from optsched.families.rigid.optimum.problem import RigidProblem, grid_bits, written
from optsched.numbers.arrays import Floats
from optsched.process import messages, work_units

MOST_ROWS = 20_000  # seconds times resources
CONVERGED = 1e-9


class _Starts:
    """The decomposition: one block per job, one row per second and resource."""

    def __init__(self, problem: RigidProblem, first: int, end: int) -> None:
        self.problem, self.times = problem, np.arange(first, end + 1)
        self.kinds, self.seconds = len(problem.capacity), end - first
        self.rhs = np.repeat(problem.capacity, self.seconds)
        self.copies, self.equality = np.ones(problem.n), np.ones(problem.n, np.bool_)
        costs = problem.jobs.rate * (end + problem.jobs.run)
        self.penalty = float(10 * costs.max(initial=1.0) * max(1, problem.n))

    def prices(self, prices: Floats) -> Floats:
        """Return prices by resource and second, and 0 behind the last."""
        each = prices.reshape(self.kinds, self.seconds)
        return np.hstack([each, np.zeros((self.kinds, 1))])

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Return the cheapest start of every job that beats its dual."""
        jobs, price = self.problem.jobs, self.prices(prices)
        cumulative = np.hstack([np.zeros((self.kinds, 1)), price[:, :-1].cumsum(axis=1)])
        best, columns = np.zeros(self.problem.n), []
        for i in range(self.problem.n):
            cost, start, *_ = cheapest(jobs, i, self.times, price, cumulative)
            work_units.steps(8 * self.seconds)
            best[i] = -cost
            if best[i] > duals[i]:
                columns.append(self.column(i, int(start)))
        return Pricing(best, columns)

    def column(self, i: int, start: int) -> Column:
        """Return the column of a start."""
        jobs, first = self.problem.jobs, int(self.times[0])
        used = np.flatnonzero(jobs.demand[i])
        span = np.arange(start - first, min(start - first + int(jobs.run[i]), self.seconds))
        rows = (used[:, None] * self.seconds + span).ravel()
        amount = np.broadcast_to(jobs.demand[i, used][:, None], (len(used), len(span))).ravel()
        late = max(int(jobs.floor[i]), start - int(jobs.arrival[i]) + int(jobs.shift[i]))
        return Column(i, -float(jobs.rate[i]) * late, rows, amount.copy(), start)


def relaxation(inst: RigidInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the linear relaxation; report its value once it is reached."""
    if inst.packed or inst.objective == "makespan":
        what = "packed tasks" if inst.packed else "the makespan"
        messages.remark(f"the linear relaxation has no value for {what}, only for sums in a pool")
        return
    problem = RigidProblem(inst)
    first = int(problem.jobs.arrival.min(initial=0))
    # from the last arrival on, any schedule can be done one job after the other
    end = int(problem.jobs.arrival.max(initial=0) + problem.jobs.run.sum())
    rows = (end - first) * len(problem.capacity)
    if rows > MOST_ROWS:
        messages.remark(
            f"the linear relaxation has {rows} rows, one per second and resource, expected at most "
            f"{MOST_ROWS}: its value is not computed"
        )
        return
    begun = problem.listed(problem.jobs.arrival, progress.stop)
    if begun is None:
        return
    blocks = _Starts(problem, first, max(end, first + 1))
    master = Master(blocks, threads=threads)
    master.add([blocks.column(i, int(s)) for i, s in enumerate(begun[0])])

    def stop(_found: Relaxation) -> bool:
        return progress.called_off() or progress.left() <= 0

    center = np.zeros(blocks.rhs.size)
    found = generate_columns(
        blocks, master, stop=stop, center=center, tolerance=lambda _: CONVERGED
    )
    if found.bound - found.value > 1e-6 * max(1.0, abs(found.bound)):
        messages.remark("the linear relaxation was not solved within the limit")
        return
    price = blocks.prices(found.prices)
    bits = grid_bits(problem, blocks.times, price)
    prices = written(blocks.times, price, bits)
    progress.prove(RigidCertificate.root(inst, prices, bits, relaxed=True))
