"""The time-indexed program of family `rigid`, for small horizons.

x_is = 1 if job i starts in second s; on nodes, y_ish is the number of its tasks on node h. As
scheduling problems are written in Pritsker et al. (1969) and van den Akker et al. (2000).
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections import defaultdict

import pyomo.environ as pyo

from optsched.families.rigid.instance import Cost, RigidInstance
from optsched.problem import InputError

MOST = 500_000  # variables x, each in as many rows as its job runs seconds


def rigid_ilp(
    inst: RigidInstance, *, relaxed: bool = False, printed: bool = False
) -> pyo.ConcreteModel:
    """Build the time-indexed program.

    Parameters
    ----------
    inst : RigidInstance
    relaxed : bool
        Let variables be fractions: the linear relaxation.
    printed : bool
        Means nothing here: no paper prints other numbers.

    Raises
    ------
    InputError
        The horizon is too long: there are more than `MOST` starts.
    """
    del printed
    # the jobs of some best schedule have ended by then: one after the other at last
    end = max((job.arrival for job in inst.jobs), default=0) + sum(job.run for job in inst.jobs)
    starts = sum(max(0, end - job.run - job.arrival + 1) for job in inst.jobs)
    if starts > MOST:
        raise InputError(
            f"the jobs have {starts} possible starts in seconds, expected at most {MOST}: fewer or "
            "shorter jobs"
        )
    jobs, spare = inst.jobs, inst.objective == "makespan"
    costs = [Cost(inst.objective, job) for job in jobs]
    model = pyo.ConcreteModel("rigid")
    model.I = pyo.RangeSet(0, len(jobs) - 1)
    model.IS = pyo.Set(
        dimen=2,
        initialize=[
            (i, s) for i, job in enumerate(jobs) for s in range(job.arrival, end - job.run + 1)
        ],
    )
    model.x = pyo.Var(model.IS, domain=pyo.Binary, doc="job i starts in second s")
    of_job, running = defaultdict(list), defaultdict(list)
    for i, s in model.IS:
        of_job[i].append(s)
        for t in range(s, s + jobs[i].run):
            running[t].append((i, s))
    if spare:
        model.end = pyo.Var(domain=pyo.NonNegativeReals, doc="the makespan")

    @model.Objective(sense=pyo.minimize, doc="(1) weighted mean cost, or the makespan")
    def eq1_cost(model):
        if spare:
            return model.end
        return sum(float(costs[i].at(s) / inst.weight) * model.x[i, s] for i, s in model.IS)

    @model.Constraint(model.I, doc="(2) every job starts once, not before its arrival")
    def eq2_once(model, i):
        return sum(model.x[i, s] for s in of_job[i]) == 1

    nodes = range(len(inst.bins))
    if inst.packed:
        model.y = pyo.Var(model.IS, nodes, domain=pyo.NonNegativeIntegers, doc="tasks on node h")

    @model.Constraint(
        nodes, range(len(inst.resources)), sorted(running), doc="(3) capacity in every second"
    )
    def eq3_capacity(model, h, k, t):
        terms = [
            int(inst.demand(jobs[i])[1][k]) * (model.y[i, s, h] if inst.packed else model.x[i, s])
            for i, s in running[t]
            if jobs[i].need[k]
        ]
        return sum(terms) <= int(inst.bins[h, k]) if terms else pyo.Constraint.Skip

    if inst.packed:

        @model.Constraint(model.IS, doc="(4) every task has a node")
        def eq4_tasks(model, i, s):
            return sum(model.y[i, s, h] for h in nodes) == jobs[i].tasks * model.x[i, s]

    if spare:

        @model.Constraint(model.I, doc="(5) the makespan is not before the end of a job")
        def eq5_makespan(model, i):
            return model.end >= sum((s + jobs[i].run) * model.x[i, s] for s in of_job[i])

    if relaxed:
        pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    return model
