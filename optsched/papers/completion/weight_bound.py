"""The maximum weighted schedule problem (7), (16) as a problem of its own: value, bound, ratio.

All jobs are present, the servers are empty, and every job that has ended by tau counts its weight.
The bound is that of prices on capacity, for which every job pays: B(p) = prices * capacity + sum_j
max(0, w_j - cost of its cheapest schedule).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optsched.engine.colgen import Column, Master, Pricing, Relaxation, generate_columns
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule, Piece
from optsched.families.completion.optimum.relaxations.capacity import CapacityRelaxation, JobTables
from optsched.families.completion.oracle.schedule import best_schedule, load_of, placement
from optsched.families.completion.policies.max_weight import jain, max_weight
from optsched.families.completion.verify import verify
from optsched.numbers.arrays import Floats
from optsched.process import timing

NO_PRICES_TO_SPEAK_OF = 2.0  # lambda at which hardly any job is rejected
ROUNDING = 1e-9  # relative: of the floats that make up the bound


class WeightBlocks(CapacityRelaxation):
    """The decomposition of (8), (17): a job may be left out, and earns its weight by tau."""

    def __init__(self, jobs: JobTables, tau: int, span: int) -> None:
        super().__init__(jobs, tau, span, deadline=tau)
        self.tau = tau
        self.equality = np.zeros(len(jobs.modes), bool)
        self.penalty = 1.0  # no block requests equality

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Call the oracle for every job's cheapest schedule by tau."""
        servers, jobs = self.servers(prices), self.jobs
        best = np.zeros(len(self.copies))
        columns: list[Column] = []
        for j, weight in enumerate(jobs.weight.tolist()):
            least = max(0.0, float(duals[j]))
            found = best_schedule(
                jobs.types,
                jobs.modes[j].at_most(self.tau),
                servers,
                arrival=0,
                weight=0.0,
                deadline=self.tau,
                cutoff=weight - least,
            )
            best[j] = least if found is None else weight - found.value
            if found is None:
                continue
            workers, ps = placement(jobs.types, servers, found)
            load = load_of(jobs.types, found, workers, ps)
            rows, usage = self.usage(found.start, found.completion, load)
            columns.append(Column(j, weight, rows, usage, found))
        return Pricing(best, columns)


@dataclass(frozen=True)
class MostWeight:
    """Lagrangian bound on the weight, and the weight that each method attains."""

    value: float  # of `schedule`, the best of all methods
    bound: float  # no schedule has more
    schedule: Mapping[int, Piece]  # by job
    by_method: Mapping[str, float]

    def ratio(self, name: str) -> float:
        """Return how far a method is from the bound, at most."""
        value = self.by_method[name]
        return self.bound / value if value > 0 else float("inf")


def most_weight(
    inst: CompletionInstance,
    tau: int,
    lam: float,
    *,
    seconds: float = 5.0,
    span: int = 4,
) -> MostWeight:
    """Compare A_maxweight, its variants and Jain et al.'s greedy with a bound on (7), (16).

    Parameters
    ----------
    inst : CompletionInstance
        Arrivals do not count.
    tau : int
        The deadline.
    lam : float
        lambda of the price function (11).
    seconds : float
        Of column generation.
    span : int
        Slots that share a price.
    """
    jobs = JobTables(inst)
    tasks = dict(enumerate(jobs.tasks))
    everybody = [j for j, task in tasks.items() if task.modes.size]
    found = {
        "a_maxweight": max_weight(jobs.cluster, tasks, everybody, tau, lam),
        "density": max_weight(jobs.cluster, tasks, everybody, tau, lam, order="density"),
        "density, no prices": max_weight(
            jobs.cluster, tasks, everybody, tau, NO_PRICES_TO_SPEAK_OF, order="density"
        ),
        "jain": jain(jobs.cluster, tasks, everybody, tau),
    }
    values = {name: weight_of(inst, tau, made) for name, made in found.items()}
    best = max(values, key=lambda name: values[name])
    problem = WeightBlocks(jobs, tau, min(span, tau))
    until = timing.now() + seconds

    def stop(relaxation: Relaxation) -> bool:
        near = relaxation.bound <= values[best] * (1 + ROUNDING)
        return near or timing.now() > until

    relaxation = generate_columns(problem, Master(problem), stop=stop, tolerance=lambda _: 1e-4)
    bound = min(relaxation.bound * (1 + ROUNDING), math.fsum(jobs.weight))
    return MostWeight(values[best], bound, found[best], values)


def weight_of(inst: CompletionInstance, tau: int, made: Mapping[int, Piece]) -> float:
    """Return the weight of the jobs that are scheduled, if the feasibility check accepts how.

    Raises
    ------
    RuntimeError
        If a schedule breaks the model, or ends too late.
    """
    present = tuple(inst.jobs[j].model_copy(update={"arrival": 0}) for j in made)
    waiting = inst.model_copy(update={"jobs": present, "enforce_horizon": False})
    schedule = CompletionSchedule(jobs=tuple((piece,) for piece in made.values()))
    verdict = verify(waiting, schedule)
    if not verdict.feasible or any(p.start + p.duration > tau for p in made.values()):
        raise RuntimeError(f"a method brought a schedule that breaks the model: {verdict}")
    return math.fsum(inst.jobs[j].weight for j in made)
