"""OASiS as an integer program.

Bao, Peng, Wu, Li: Online Job Scheduling in Distributed Machine Learning Clusters. INFOCOM 2018,
arXiv:1801.00936. Glossary: families/oasis/instance.py.

    max   sum_it f_i(t - a_i) v_it                                          (1)
    s.t.  sum_th y_iht >= W_i x_i                        for all i          (2)
          sum_i w_ir y_iht <= c_hr                       for all h, r, t    (4)
          sum_i s_ir z_ikt <= c_kr                       for all k, r, t    (5)
          b_i sum_h y_iht <= B_i sum_k z_ikt             for all i, t       (6)
          sum_k z_ikt <= sum_h y_iht                     for all i, t       (7)
          sum_h y_iht <= N_i sum_{u >= t} v_iu           for all i, t       (8)
          x_i = sum_t v_it <= 1                          for all i          (11)
          y_iht, z_ikt in {0, 1, ...}                                       (12), (13)

Deviations, all exact. f_i is at most what the earliest completion on the empty machines earns, and
0 where there is none. v_it, "i completes in t", replaces the arg max of (8), since f_i never
increases: a job done before the declared slot earns no less. (3) follows from (8). (9) and (10)
hold by construction: a job has no variable before it arrives. The data of (2) and (4)-(8) are whole
numbers, the very ones that the feasibility check counts in: W_i is rounded up; w, s and c are
multiples of a common measure of the demands; b_i : B_i is the ratio of the smallest integers that
request the same number of parameter servers, ceil(n b_i / B_i), for every n <= N_i (there is one
whenever b_i / B_i > 1e-9).

With ``printed`` these numbers are those of the paper: f_i and W_i as they are, demands and
capacities in natural units, b_i and B_i. Where variables are whole that changes nothing, beyond the
tolerance of 1e-9; the relaxation is looser.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# ruff: noqa: ARG001, N806
# Pyomo calls every rule with the model, used or not; capital letters are the paper's.

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo

from optsched.families.oasis.instance import OasisInstance, work_of
from optsched.numbers.arrays import Ints


def oasis_ilp(
    inst: OasisInstance, *, relaxed: bool = False, printed: bool = False
) -> pyo.ConcreteModel:
    """Build (1)-(13) for ``inst``.

    Parameters
    ----------
    inst : OasisInstance
    relaxed : bool
        Let variables be fractions: the linear relaxation.
    printed : bool
        Write the paper's own numbers: see the module.

    Returns
    -------
    pyo.ConcreteModel
        With the variables ``v[i, t]``, ``y[i, h, t]`` and ``z[i, k, t]``, and a component for each
        equation, named after its number.
    """
    jobs, f = inst.jobs, inst.arrays.utility.tolist()
    W: Sequence[float] = inst.work
    w, c_h = measured(inst.arrays.worker_demand, inst.arrays.worker_capacity)  # (I, R), (H, R)
    s, c_k = measured(inst.arrays.ps_demand, inst.arrays.ps_capacity)  # (I, R), (K, R)
    if printed:
        f = [[0.0] * job.arrival + job.utility.of_first(inst.horizon - job.arrival) for job in jobs]
        W = [float(work_of(job, inst.slot_seconds)) for job in jobs]
        w, c_h = [list(job.worker_demand) for job in jobs], list(map(list, inst.worker_capacity))
        s, c_k = [list(job.ps_demand) for job in jobs], list(map(list, inst.ps_capacity))
    m = pyo.ConcreteModel("oasis")

    m.I = pyo.RangeSet(0, len(jobs) - 1)
    m.H = pyo.RangeSet(0, len(c_h) - 1)
    m.K = pyo.RangeSet(0, len(c_k) - 1)
    m.R = pyo.RangeSet(0, len(inst.resources) - 1)
    m.T = pyo.RangeSet(0, inst.horizon - 1)
    slots = {i: range(jobs[i].arrival, inst.horizon) for i in m.I}
    m.IT = pyo.Set(initialize=[(i, t) for i in m.I for t in slots[i]])

    m.v = pyo.Var(m.IT, domain=pyo.Binary, doc="job i completes in slot t")
    m.y = pyo.Var(
        [(i, h, t) for i, t in m.IT for h in m.H],
        domain=pyo.NonNegativeIntegers,
        doc="(12) workers of job i on machine h in slot t",
    )
    m.z = pyo.Var(
        [(i, k, t) for i, t in m.IT for k in m.K],
        domain=pyo.NonNegativeIntegers,
        doc="(13) parameter servers of job i on machine k in slot t",
    )
    x = {i: sum(m.v[i, t] for t in slots[i]) for i in m.I}
    workers = {(i, t): sum(m.y[i, h, t] for h in m.H) for i, t in m.IT}
    servers = {(i, t): sum(m.z[i, k, t] for k in m.K) for i, t in m.IT}

    @m.Objective(sense=pyo.maximize, doc="(1) total utility")
    def eq1_utility(m):
        return sum(f[i][t] * m.v[i, t] for i, t in m.IT)

    @m.Constraint(m.I, doc="(2) an admitted job is trained to the end")
    def eq2_work(m, i):
        return sum(workers[i, t] for t in slots[i]) >= W[i] * x[i]

    @m.Constraint(m.H, m.R, m.T, doc="(4) capacity of a worker machine")
    def eq4_worker_capacity(m, h, r, t):
        users = [i for i in m.I if t in slots[i] and w[i][r] > 0]
        if not users:
            return pyo.Constraint.Skip  # Pyomo refuses the trivial row 0 <= c_hr
        return sum(w[i][r] * m.y[i, h, t] for i in users) <= c_h[h][r]

    @m.Constraint(m.K, m.R, m.T, doc="(5) capacity of a PS machine")
    def eq5_ps_capacity(m, k, r, t):
        users = [i for i in m.I if t in slots[i] and s[i][r] > 0]
        if not users:
            return pyo.Constraint.Skip
        return sum(s[i][r] * m.z[i, k, t] for i in users) <= c_k[k][r]

    @m.Constraint(m.IT, doc="(6) parameter servers are no bottleneck")
    def eq6_bandwidth(m, i, t):
        b, B = (
            (jobs[i].worker_bandwidth, jobs[i].ps_bandwidth)
            if printed
            else bandwidths(inst.ps_needed(i))
        )
        return b * workers[i, t] <= B * servers[i, t]

    @m.Constraint(m.IT, doc="(7) no more parameter servers than workers")
    def eq7_servers(m, i, t):
        return servers[i, t] <= workers[i, t]

    @m.Constraint(m.IT, doc="(8) no worker after the completion slot, and (3) at most N_i")
    def eq8_completion(m, i, t):
        return workers[i, t] <= jobs[i].chunks * sum(m.v[i, u] for u in slots[i] if u >= t)

    @m.Constraint(m.I, doc="(11) a job completes at most once")
    def eq11_once(m, i):
        return x[i] <= 1

    if relaxed:
        pyo.TransformationFactory("core.relax_integer_vars").apply_to(m)
    return m


def measured(demand: Ints, capacity: Ints) -> tuple[list[list[float]], list[list[float]]]:
    """Divide demands by their greatest common measure, per resource, and round capacities down.

    >>> measured(np.array([[20], [30]]), np.array([[47]]))
    ([[2], [3]], [[4]])
    """
    unit = np.maximum(1, np.gcd.reduce(demand, axis=0, initial=0))
    return (demand // unit).tolist(), (capacity // unit).tolist()


def bandwidths(ps_needed: tuple[int, ...]) -> tuple[int, int]:
    """Return the integers b, B with ceil(n b / B) = ps_needed[n] for all n.

    >>> bandwidths((0, 1, 1, 2, 2))
    (1, 2)
    """
    ratio = min((Fraction(ps, n) for n, ps in enumerate(ps_needed) if n), default=Fraction(0))
    return ratio.numerator, ratio.denominator
