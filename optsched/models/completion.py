"""Weighted completion time as an integer program, indexed by modes and starts.

Zhou, Pang, Zhang, Wu, Jiao, Zhong, Li: Online Scheduling Algorithm for Heterogeneous Distributed
Machine Learning Jobs. IEEE Transactions on Cloud Computing 11(2), 2023. Glossary:
families/completion/instance.py.

    min   sum_j w_j sum_kt (t + d_k) x_jkt                                          (2), (15)
    s.t.  sum_kt x_jkt = 1                                       for all j          (2a)
          sum_h y_jkth = n_k x_jkt                               for all j, k, t    (2f)
          sum_h s_jkth >= x_jkt                                  for all j, k, t    (2e)
          sum of e_m^r y + z_p^r s of running jobs <= C_h^r      for all h, r, t    (2h), (15b)
          b_m sum_{h' /= h} y_jkth' <= B_p s_jkth if s_jkth > 0  for all j, k, t, h (2i)

A mode k of a job is a worker type m, a PS type p, a locality q, a number of workers n and the least
duration d that (2f) allows; (2b), (2c) and (2g) hold by its choice, (2j) since no start lies before
the arrival. u_jkth states whether server h hosts PS: (2d) for q = 1 puts all workers on the one
host, (15a) on one server. A placement on one server under a mode with q = 0 is slower than it might
be, so it is not excluded. Where jobs may run on after T, the starts reach as far as any job of a
better schedule than a known one can.

With ``printed`` every number of workers up to D_j is a mode, and demands and capacities are in
natural units. Where variables are whole that changes nothing, beyond the common tolerance of 1e-9.

The maximum weighted schedule problem has the same constraints, all jobs present, and

    max   sum_j w_j sum_kt x_jkt                                                    (7), (16)
    s.t.  sum_kt x_jkt <= 1, all ends by tau                     for all j          (7a)
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.modes import Cluster


@dataclass(frozen=True)
class Mode:
    """A mode with one PS type (0 in a ring)."""

    m: int
    p: int
    q: int
    n: int
    d: int


def modes_by_job(inst: CompletionInstance, *, printed: bool = False) -> list[list[Mode]]:
    """Return the modes of every job, the masks of PS types taken apart.

    With ``printed`` they are all that (2b)-(2g) allow: also those that take more workers for no
    less time, or do not fit.
    """
    if printed:
        return [
            [
                Mode(m, p, q, n + 1, int(d))
                for (m, p, q, n), d in np.ndenumerate(inst.durations(job))
                if n or q or not inst.ring  # two servers need two workers
            ]
            for job in inst.jobs
        ]
    cluster, kinds = Cluster(inst), range(max(1, len(inst.ps_types)))
    out = []
    for job in inst.jobs:
        rows = zip(*(column.tolist() for column in cluster.task(job).modes), strict=True)
        out.append(
            [Mode(m, p, q, n, d) for m, q, n, d, mask in rows for p in kinds if mask >> p & 1]
        )
    return out


def completion_ilp(
    inst: CompletionInstance,
    ends: Sequence[int] | None = None,
    watch: Callable[[], None] | None = None,
    *,
    relaxed: bool = False,
    printed: bool = False,
) -> pyo.ConcreteModel:
    """Build (2), or (15) for a ring.

    Parameters
    ----------
    inst : CompletionInstance
    ends : sequence of int, optional
        The slot by which each job ends; by default T. Where jobs may run on after T, that is
        another problem: `families.completion.optimum.horizon.latest_ends` states how far to go.
    watch : callable, optional
        Called again and again while the model is built, which takes long; it may raise.
    relaxed : bool
        Let variables be fractions: the linear relaxation.
    printed : bool
        Write the paper's own numbers: see the module.
    """
    jobs, modes = inst.jobs, modes_by_job(inst, printed=printed)
    if ends is None:
        ends = [inst.horizon] * len(jobs)
    arrival, look = [job.arrival for job in jobs], watch or (lambda: None)
    model = _schedules(inst, modes, arrival, ends, look, printed=printed)

    @model.Objective(sense=pyo.minimize, doc="(2) weighted completion time")
    def eq2_weighted_completion(model):
        return sum(jobs[j].weight * (t + modes[j][k].d) * model.x[j, k, t] for j, k, t in model.JKT)

    of_job = _by_job(model)

    @model.Constraint(model.J, doc="(2a) every job is scheduled once")
    def eq2a_once(_model, j):
        if not of_job[j]:
            return pyo.Constraint.Infeasible
        return sum(of_job[j]) == 1

    if relaxed:
        pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    return model


def max_weight_ilp(inst: CompletionInstance, tau: int) -> pyo.ConcreteModel:
    """Build (7), or (16) for a ring: the most weight that ends by ``tau``, all jobs present."""
    jobs, modes = inst.jobs, modes_by_job(inst)
    model = _schedules(inst, modes, [0] * len(jobs), [tau] * len(jobs), lambda: None)

    @model.Objective(sense=pyo.maximize, doc="(7), (16) weight of the jobs that end in time")
    def eq7_weight(model):
        return sum(jobs[j].weight * model.x[j, k, t] for j, k, t in model.JKT)

    of_job = _by_job(model)

    @model.Constraint(model.J, doc="(7a) every job is scheduled once at most")
    def eq7a_at_most_once(_model, j):
        return sum(of_job[j]) <= 1 if of_job[j] else pyo.Constraint.Skip

    return model


def _by_job(model: pyo.ConcreteModel) -> defaultdict[int, list[Any]]:
    """Return the variables x of every job."""
    of_job = defaultdict(list)
    for j, k, t in model.JKT:
        of_job[j].append(model.x[j, k, t])
    return of_job


def _schedules(
    inst: CompletionInstance,
    modes: list[list[Mode]],
    arrival: Sequence[int],
    ends: Sequence[int],
    look: Callable[[], None],
    *,
    printed: bool = False,
) -> pyo.ConcreteModel:
    """Build the variables, and the constraints on how jobs are placed while they run."""
    ring, a = inst.ring, inst.arrays
    demands: tuple[Any, Any] = a.worker_demand.tolist(), a.ps_demand.tolist()
    capacity: Any = a.capacity.tolist()
    if printed:
        demands = [w.demand for w in inst.worker_types], [z.demand for z in inst.ps_types]
        capacity = inst.capacity
    servers = range(len(inst.capacity))
    model = pyo.ConcreteModel("completion")
    model.JKT = pyo.Set(
        dimen=3,
        initialize=[
            (j, k, t)
            for j, (first, end) in enumerate(zip(arrival, ends, strict=True))
            for k, mode in enumerate(modes[j])
            for t in range(first, end - mode.d + 1)
        ],
    )
    model.J = pyo.RangeSet(0, len(arrival) - 1)
    model.H = pyo.Set(initialize=list(servers))
    model.x = pyo.Var(model.JKT, domain=pyo.Binary, doc="job j starts in slot t in mode k")
    model.y = pyo.Var(model.JKT, model.H, domain=pyo.NonNegativeIntegers, doc="workers on h")
    if not ring:
        model.s = pyo.Var(model.JKT, model.H, domain=pyo.NonNegativeIntegers, doc="PS on h")
    model.u = pyo.Var(model.JKT, model.H, domain=pyo.Binary, doc="h hosts PS (ring: everything)")

    @model.Constraint(model.JKT, doc="(2f) as many workers as finish in time")
    def eq2f_work(model, j, k, t):
        look()
        return sum(model.y[j, k, t, h] for h in servers) == modes[j][k].n * model.x[j, k, t]

    local = "(15a)" if ring else "(2d)"

    @model.Constraint(model.JKT, doc=f"{local} together: one host")
    def eq2d_host(model, j, k, t):
        hosts = sum(model.u[j, k, t, h] for h in servers)
        if modes[j][k].q:
            return hosts == model.x[j, k, t]
        return pyo.Constraint.Skip

    @model.Constraint(model.JKT, model.H, doc=f"{local} together: all workers on the host")
    def eq2d_together(model, j, k, t, h):
        if modes[j][k].q:
            return model.y[j, k, t, h] <= modes[j][k].n * model.u[j, k, t, h]
        return pyo.Constraint.Skip

    if not ring:
        most = max(
            (int(a.ps_needed[mode.m, mode.p, mode.n]) for row in modes for mode in row), default=1
        )

        @model.Constraint(model.JKT, doc="(2e) at least one PS")
        def eq2e_servers(model, j, k, t):
            return sum(model.s[j, k, t, h] for h in servers) >= model.x[j, k, t]

        @model.Constraint(model.JKT, model.H, doc="(2i) PS are on hosts only")
        def eq2i_hosts(model, j, k, t, h):
            look()
            return model.s[j, k, t, h] <= most * model.u[j, k, t, h]

        @model.Constraint(model.JKT, model.H, doc="(2i) bandwidth of the PS of a host")
        def eq2i_bandwidth(model, j, k, t, h):
            look()
            mode = modes[j][k]
            if mode.q:
                return pyo.Constraint.Skip  # there are no workers elsewhere
            b, big_b = inst.worker_types[mode.m].bandwidth, inst.ps_types[mode.p].bandwidth
            outside = sum(model.y[j, k, t, g] for g in servers if g != h)
            here = model.u[j, k, t, h]
            return outside <= big_b / b * model.s[j, k, t, h] + mode.n * (1 - here) + FORGIVEN

    running = defaultdict(list)
    for j, k, t in model.JKT:
        for slot in range(t, t + modes[j][k].d):
            running[slot].append((j, k, t))

    name = "(15b)" if ring else "(2h)"

    @model.Constraint(
        model.H,
        pyo.RangeSet(0, len(inst.resources) - 1),
        pyo.RangeSet(0, max(ends, default=0) - 1),
        doc=f"{name} capacity of a server",
    )
    def eq2h_capacity(model, h, r, slot):
        look()
        terms = []
        for j, k, t in running[slot]:
            mode = modes[j][k]
            worker = demands[0][mode.m][r]
            if worker:
                terms.append(worker * model.y[j, k, t, h])
            ps = 0 if ring else demands[1][mode.p][r]
            if ps:
                terms.append(ps * model.s[j, k, t, h])
        return sum(terms) <= capacity[h][r] if terms else pyo.Constraint.Skip

    return model


FORGIVEN = 1e-9  # workers: (2i) is rounded with the common tolerance
