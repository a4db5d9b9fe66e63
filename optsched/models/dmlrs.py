"""DMLRS as integer programs, in both readings of where a worker's rate comes from.

Yu: Toward efficient online scheduling for large-scale distributed machine learning system (PD-ORS).
Master's thesis, Iowa State University, 2019. Glossary: families/dmlrs/instance.py.

    max   sum_i u_i(completion_i - a_i) x_i
    s.t.  mini-batches trained by job i >= E_i K_i M_i x_i           for all i          (3.1)
          sum_h w_ih[t] <= K_i x_i                                   for all i, t       (3.2)
          sum_i (alpha_i^r w_ih[t] + beta_i^r s_ih[t]) <= C_h^r      for all h, r, t    (3.3)
          rates of all links <= B_i sum_h s_ih[t]                    for all i, t       (3.4)
          sum_h s_ih[t] <= sum_h w_ih[t]                             for all i, t       (3.5)
          completion_i = the last t with a worker                    for all i          (3.6)
          w_ih[t], s_ih[t] in {0, 1, ...}, 0 before a_i                                 (3.7)

`dmlrs_job_ilp` reads (3.1) and (3.4) as the thesis's own algorithm does (Fact 1): the rate is the
inner one if and only if all workers and parameter servers (PS) of the job sit on one machine. Mode
binaries make that linear: ``inner[i, t, h, n]``, the job has n workers, all on h, with exactly the
PS that they need; ``outer[i, t]``, it runs on two machines or more.

`dmlrs_link_ilp` takes (3.1) and (3.4) as printed, link by link: a worker on h has the inner rate if
and only if all PS are on h, and takes bandwidth to every machine with PS.

Deviations, all exact. v_it, "i completes in t", replaces the arg max of (3.6), since u_i never
increases: a job done before the declared slot earns no less. A job has no variable before it
arrives: (3.7). A slot with workers has a PS: as printed, the minimum over no PS at all would let a
job train for free. PS and capacities are the whole numbers that the feasibility check counts in;
(3.1) is the inequality of the feasibility check in the smallest whole numbers, with a right-hand
side half a unit below the least work that is enough. No job completes before the slot in which the
empty machines allow it.

With ``printed`` these are the numbers of the thesis: (3.1) in mini-batches, demands and capacities
in natural units, b_i and B_i, and completions from the arrival on. Where variables are whole that
changes nothing, beyond the common tolerance of 1e-9; the relaxation is looser.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# ruff: noqa: ARG001, N806
# Pyomo calls every rule with the model, used or not; capital letters are the paper's.

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo

from optsched.families.dmlrs.instance import (
    IMPOSSIBLE,
    DmlrsInstance,
    DmlrsJob,
    Needs,
    batch_slots,
    usable_ps,
)
from optsched.numbers.resources import exact, units_that_fit


def dmlrs_ilp(
    inst: DmlrsInstance, *, relaxed: bool = False, printed: bool = False
) -> pyo.ConcreteModel:
    """Build the program in the reading that the instance requests.

    Parameters
    ----------
    inst : DmlrsInstance
    relaxed : bool
        Let variables be fractions: the linear relaxation.
    printed : bool
        Write the thesis's own numbers: see the module.
    """
    build = dmlrs_job_ilp if inst.locality == "job" else dmlrs_link_ilp
    model = build(inst, printed=printed)
    if relaxed:
        pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    return model


def dmlrs_job_ilp(inst: DmlrsInstance, *, printed: bool = False) -> pyo.ConcreteModel:
    """Build (3.1)-(3.7) with the rate of Fact 1.

    Returns
    -------
    pyo.ConcreteModel
        With the variables ``v[i, t]``, ``inner[i, t, h, n]``, ``outer[i, t]``, and ``w[i, t, h]``
        and ``s[i, t, h]`` of the workers and PS of outer placements.
    """
    jobs, capacity = inst.jobs, inst.capacity
    m = _frame(inst, "dmlrs_job", printed=printed)
    H = range(len(capacity))
    ps_in = [needs.ps_inner for needs in inst.needs]
    fits = {
        (i, h): [n for n in range(1, job.chunks + 1) if _holds(capacity[h], job, n, ps_in[i][n])]
        for i, job in enumerate(jobs)
        for h in H
    }
    max_units = _max_units(inst)
    ratio = [_ratio(needs.ps_outer) for needs in inst.needs]
    spreads = [
        ratio[i] is not None
        and len(capacity) > 1
        and all(any(max_units[i, h][side] for h in H) for side in (0, 1))
        for i in m.I
    ]
    outer = [(i, t) for i, t in m.IT if spreads[i]]
    m.inner = pyo.Var(
        [(i, t, h, n) for i, t in m.IT for h in H for n in fits[i, h]],
        domain=pyo.Binary,
        doc="job i runs n workers and their PS, all on machine h, in slot t",
    )
    m.outer = pyo.Var(outer, domain=pyo.Binary, doc="job i runs on two machines or more in slot t")
    for name, side, what in (("w", 0, "workers"), ("s", 1, "parameter servers")):
        index = [(i, t, h) for i, t in outer for h in H if max_units[i, h][side]]
        variable = pyo.Var(
            index,
            domain=pyo.NonNegativeIntegers,
            doc=f"(3.7) {what} of job i on machine h in slot t, at the outer rate",
        )
        m.add_component(name, variable)
    inside: dict[tuple[int, int], list[tuple[int, int]]] = {
        (i, t): [(h, n) for h in H for n in fits[i, h]] for i, t in m.IT
    }

    def spread(what, i, t):
        return sum(what[i, t, h] for h in H if (i, t, h) in what)

    def workers(i, t):
        return sum(n * m.inner[i, t, h, n] for h, n in inside[i, t]) + spread(m.w, i, t)

    @m.Constraint(m.J, doc="(3.1) an admitted job is trained to the end")
    def eq3_1_work(m, i):
        inner, outer, enough = _work(inst, i, len(m.slots[i]), printed=printed)
        return (
            sum(
                inner * sum(n * m.inner[i, t, h, n] for h, n in inside[i, t])
                + outer * spread(m.w, i, t)
                for t in m.slots[i]
            )
            >= enough * m.x[i]
        )

    @m.Constraint(m.IT, doc="(3.2) at most K_i workers, and none after the completion (3.6)")
    def eq3_2_workers(m, i, t):
        return workers(i, t) <= jobs[i].chunks * m.still[i, t]

    _capacity(m, inst, inside, ps_in, printed=printed)

    @m.Constraint(outer, doc="(3.4) parameter servers are no bottleneck at the outer rate")
    def eq3_4_bandwidth(m, i, t):
        b, B = (jobs[i].outer_bandwidth, jobs[i].ps_bandwidth) if printed else ratio[i]
        return b * spread(m.w, i, t) <= B * spread(m.s, i, t)

    @m.Constraint(outer, doc="(3.5) no more parameter servers than workers")
    def eq3_5_servers(m, i, t):
        return spread(m.s, i, t) <= spread(m.w, i, t)

    @m.Constraint(m.IT, doc="(Fact 1) inner on one machine, or outer, or not at all")
    def fact1_one_mode(m, i, t):
        return (
            sum(m.inner[i, t, h, n] for h, n in inside[i, t])
            + sum(m.outer[k] for k in ((i, t),) if k in m.outer)
            <= m.still[i, t]
        )

    @m.Constraint(list(m.w), doc="(Fact 1) workers of outer placements in outer slots only")
    def fact1_workers(m, i, t, h):
        return m.w[i, t, h] <= max_units[i, h][0] * m.outer[i, t]

    @m.Constraint(list(m.s), doc="(Fact 1) parameter servers of outer placements likewise")
    def fact1_servers(m, i, t, h):
        return m.s[i, t, h] <= max_units[i, h][1] * m.outer[i, t]

    @m.Constraint(
        [(i, t, h) for i, t in outer for h in H], doc="(Fact 1) an outer placement leaves machine h"
    )
    def fact1_two_machines(m, i, t, h):
        elsewhere = [x[i, t, p] for x in (m.w, m.s) for p in H if p != h and (i, t, p) in x]
        return sum(elsewhere) >= m.outer[i, t]

    return m


def dmlrs_link_ilp(inst: DmlrsInstance, *, printed: bool = False) -> pyo.ConcreteModel:
    """Build (3.1)-(3.7) link by link, as printed.

    Returns
    -------
    pyo.ConcreteModel
        With the variables ``v[i, t]``, ``w[i, t, h]``, ``s[i, t, h]``, ``holds[i, t, p]`` (machine
        p has PS), ``alone[i, t, p]`` (no other has), ``near[i, t, h]`` (workers at the inner rate)
        and ``link[i, t, h, p]`` (workers on h that are linked to PS on p).
    """
    jobs, capacity = inst.jobs, inst.capacity
    m = _frame(inst, "dmlrs_link", printed=printed)
    m.H = pyo.RangeSet(0, len(capacity) - 1)
    ITH = [(i, t, h) for i, t in m.IT for h in m.H]
    max_units = _max_units(inst)
    m.w = pyo.Var(ITH, domain=pyo.NonNegativeIntegers, doc="(3.7) workers of i on h in t")
    m.s = pyo.Var(ITH, domain=pyo.NonNegativeIntegers, doc="(3.7) PS of i on h in t")
    m.holds = pyo.Var(ITH, domain=pyo.Binary, doc="h is in P_i[t]")
    m.alone = pyo.Var(ITH, domain=pyo.Binary, doc="P_i[t] = {h}")
    m.near = pyo.Var(ITH, domain=pyo.NonNegativeIntegers, doc="workers on h at the inner rate")
    m.link = pyo.Var(ITH, m.H, domain=pyo.NonNegativeReals, doc="workers on h linked to PS on p")

    def total(what, i, t):
        return sum(what[i, t, h] for h in m.H)

    @m.Constraint(m.J, doc="(3.1) an admitted job is trained to the end")
    def eq3_1_work(m, i):
        inner, outer, enough = _work(inst, i, len(m.slots[i]), printed=printed)
        return (
            sum(
                outer * total(m.w, i, t) + (inner - outer) * total(m.near, i, t) for t in m.slots[i]
            )
            >= enough * m.x[i]
        )

    @m.Constraint(ITH, doc="(3.1) the inner rate is for workers where all PS are")
    def eq3_1_near(m, i, t, h):
        return m.near[i, t, h] <= max_units[i, h][0] * m.alone[i, t, h]

    @m.Constraint(ITH, doc="(3.1) of the workers there are")
    def eq3_1_near_workers(m, i, t, h):
        return m.near[i, t, h] <= m.w[i, t, h]

    @m.Constraint(ITH, doc="(3.1) all PS on h: h has some")
    def eq3_1_alone(m, i, t, h):
        return m.alone[i, t, h] <= m.holds[i, t, h]

    @m.Constraint(ITH, doc="(3.1) all PS on h: no other machine has any")
    def eq3_1_no_other(m, i, t, h):
        others = len(capacity) - 1
        return sum(m.holds[i, t, p] for p in m.H if p != h) <= others * (1 - m.alone[i, t, h])

    @m.Constraint(m.IT, doc="(3.2) at most K_i workers, and none after the completion (3.6)")
    def eq3_2_workers(m, i, t):
        return total(m.w, i, t) <= jobs[i].chunks * m.still[i, t]

    @m.Constraint(ITH, doc="(3.2) what one machine holds of workers")
    def eq3_2_room(m, i, t, h):
        return m.w[i, t, h] <= max_units[i, h][0]

    _capacity(m, inst, {}, (), printed=printed)

    @m.Constraint(ITH, m.H, doc="(3.4) a link for every worker and machine with PS")
    def eq3_4_link(m, i, t, h, p):
        return m.link[i, t, h, p] >= m.w[i, t, h] - max_units[i, h][0] * (1 - m.holds[i, t, p])

    @m.Constraint(m.IT, doc="(3.4) parameter servers are no bottleneck")
    def eq3_4_bandwidth(m, i, t):
        job = jobs[i]
        b_in, b_ex = (
            float(exact(b) / exact(job.ps_bandwidth))
            for b in (job.inner_bandwidth, job.outer_bandwidth)
        )
        flow = sum((b_in if h == p else b_ex) * m.link[i, t, h, p] for h in m.H for p in m.H)
        return flow <= total(m.s, i, t)

    @m.Constraint(m.IT, doc="(3.4) no workers without a parameter server")
    def eq3_4_some_server(m, i, t):
        return total(m.w, i, t) <= jobs[i].chunks * total(m.s, i, t)

    @m.Constraint(ITH, doc="(3.4) h has PS if it is declared to")
    def eq3_4_holds_some(m, i, t, h):
        return m.s[i, t, h] >= m.holds[i, t, h]

    @m.Constraint(ITH, doc="(3.4) h has no PS unless it is declared to")
    def eq3_4_holds_none(m, i, t, h):
        return m.s[i, t, h] <= max_units[i, h][1] * m.holds[i, t, h]

    @m.Constraint(m.IT, doc="(3.5) no more parameter servers than workers")
    def eq3_5_servers(m, i, t):
        return total(m.s, i, t) <= total(m.w, i, t)

    return m


def _frame(inst: DmlrsInstance, name: str, *, printed: bool) -> pyo.ConcreteModel:
    """Start a program: jobs, slots, completions, admissions, and the objective."""
    jobs, u, never = inst.jobs, inst.arrays.utility.tolist(), inst.horizon
    ends = [range(never if end is None else end, never) for end in inst.earliest]
    if printed:
        ends = [range(job.arrival, never) for job in jobs]
        u = [[0.0] * job.arrival + job.utility.of_first(never - job.arrival) for job in jobs]
    m = pyo.ConcreteModel(name)
    m.I = pyo.RangeSet(0, len(jobs) - 1)
    m.J = pyo.Set(initialize=[i for i in m.I if len(ends[i])], doc="jobs that can finish")
    m.slots = {i: range(jobs[i].arrival, inst.horizon) if len(ends[i]) else range(0) for i in m.I}
    m.IT = pyo.Set(initialize=[(i, t) for i in m.I for t in m.slots[i]], dimen=2)
    m.v = pyo.Var(
        [(i, t) for i in m.I for t in ends[i]], domain=pyo.Binary, doc="job i completes in slot t"
    )
    m.x = {i: sum(m.v[i, t] for t in ends[i]) for i in m.I}
    m.still = {(i, t): sum(m.v[i, u] for u in ends[i] if u >= t) for i, t in m.IT}

    @m.Objective(sense=pyo.maximize, doc="(DMLRS) total utility")
    def dmlrs_utility(m):
        return sum(u[i][t] * m.v[i, t] for i, t in m.v)

    @m.Constraint(m.J, doc="(3.6) a job completes at most once")
    def eq3_6_once(m, i):
        return m.x[i] <= 1

    return m


def _capacity(m, inst, inside, ps_in, *, printed):
    """Add (3.3): workers and PS of outer placements (``w``, ``s``) and of inner ones."""
    a = inst.arrays
    unit = np.maximum(1, np.gcd.reduce(np.concatenate([a.worker_demand, a.ps_demand]), axis=0))
    alpha, beta = (a.worker_demand // unit).tolist(), (a.ps_demand // unit).tolist()
    limit = (a.capacity // unit).tolist()
    if printed:
        alpha = [job.worker_demand for job in inst.jobs]
        beta, limit = [job.ps_demand for job in inst.jobs], inst.capacity
    load = defaultdict(list)  # (machine, resource, slot) -> terms
    for what, demand in ((m.w, alpha), (m.s, beta)):
        for i, t, h in what:
            for r, d in enumerate(demand[i]):
                if d:
                    load[h, r, t].append(d * what[i, t, h])
    for (i, t), choices in inside.items():
        for h, n in choices:
            for r, d in enumerate(alpha[i]):
                if d or beta[i][r]:
                    load[h, r, t].append((n * d + ps_in[i][n] * beta[i][r]) * m.inner[i, t, h, n])

    @m.Constraint(sorted(load), doc="(3.3) capacity of a machine")
    def eq3_3_capacity(m, h, r, t):
        return sum(load[h, r, t]) <= limit[h][r]


def _max_units(inst: DmlrsInstance) -> dict[tuple[int, int], tuple[int, int]]:
    """Return how many workers and PS of job i the empty machine h holds, by (i, h)."""
    return {
        (i, h): (
            units_that_fit(c, job.worker_demand, job.chunks),
            units_that_fit(c, job.ps_demand, job.chunks),
        )
        for i, job in enumerate(inst.jobs)
        for h, c in enumerate(inst.capacity)
    }


def _holds(capacity: tuple[float, ...], job: DmlrsJob, workers: int, ps: int) -> bool:
    return ps != IMPOSSIBLE and usable_ps(capacity, job, workers, ps) >= ps


def _ratio(table: tuple[int, ...]) -> tuple[int, int] | None:
    """Return integers b, B with ceil(n b / B) = table[n] for all n; None if nothing is possible.

    >>> _ratio((0, 1, 1, 2, 2))
    (1, 2)
    """
    if IMPOSSIBLE in table:
        return None
    found = min((Fraction(ps, n) for n, ps in enumerate(table) if n), default=Fraction(0))
    return found.numerator, found.denominator


def _work(inst: DmlrsInstance, i: int, slots: int, *, printed: bool) -> tuple[float, float, float]:
    """Return coefficients and right-hand side of (3.1) for a job with this many slots."""
    job = inst.jobs[i]
    if not printed:
        return work_row(inst.needs[i], job.chunks * slots)
    inner, outer = (
        float(1 / batch_slots(job, b, inst.slot_seconds))
        for b in (job.inner_bandwidth, job.outer_bandwidth)
    )
    return inner, outer, job.epochs * job.chunks * job.batches_per_chunk * (1 - 1e-9)


def work_row(needs: Needs, most: int) -> tuple[int, int, float]:
    """Return coefficients of workers at the inner and outer rate, and right-hand side, of (3.1).

    Whole numbers, as small as ``most`` worker-slots in all allow, and a threshold half a unit below
    the least that is enough: so far from both sides that no solver's tolerance can tell otherwise.
    """
    total, inner, outer = needs.smallest(most)
    return inner, outer, total - 0.5
