"""Fair bags of tasks as convex programs.

Bertin, Hunold, Legrand, Touati: Fair scheduling of bag-of-tasks applications using distributed
Lagrangian optimization. JPDC 2013. Glossary: families/bot/instance.py.

    max   sum_k U(rho_k)                                                    (10)
    s.t.  rho_k = sum_n rho_nk                            for all k         (10a)
          sum_k w_k rho_nk <= W_n                         for all n         (10b)
          sum_k b_k (sum of rho_nk whose route uses a) <= B_a   for all arcs a    (10c)
          rho_nk >= 0                                                       (10d)

Deviations. A rate is written in units of its application (`units`), loads as shares of what there
is, and pairs that do not exist have no variable: the numbers of flop and bytes differ by 1e10, and
conic solvers do not forgive that. Data that come back use the arc in the other direction.
The logarithm has two forms, the geometric mean (second-order cones) and exponential cones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_matrix

from optsched.families.bot.instance import BotInstance
from optsched.numbers.arrays import Floats

FORMS = ("geometric", "exponential")


def bot_program(
    inst: BotInstance,
    *,
    relaxed: bool = False,  # noqa: ARG001
    printed: bool = False,  # noqa: ARG001
) -> cp.Problem:
    """Build (10) for ``inst``: `solver_program` with an objective in its own units.

    The objective is that of the family, or the mean rate where the utility is a power:
    :func:`utility_of` makes one of the other. Max-min has further levels, which are not part of the
    program.

    Parameters
    ----------
    inst : BotInstance
    relaxed, printed : bool
        Change nothing: rates are fractions as they are, and the numbers those of the paper, in
        other units.

    Returns
    -------
    cvxpy.Problem
        Variables "rho" (pairs in the order of `pairs`); the duals of (10b) and (10c) are prices of
        whole nodes and arcs.
    """
    scaled = solver_program(inst, "exponential")
    unit, g = units(inst), inst.weights
    if inst.alpha == 1:
        objective = float(g.max()) * scaled.objective.expr + float(g @ np.log(unit))
    elif inst.alpha == 0:
        objective = float((g * unit).max()) * scaled.objective.expr
    elif inst.alpha == "inf":
        objective = float(unit.min()) * scaled.objective.expr
    else:
        logs, power = _log_weights(inst), 1 - float(inst.alpha)
        objective = math.exp((logs.max() - math.log(g.sum())) / power) * scaled.objective.expr
    return cp.Problem(cp.Maximize(objective), scaled.constraints)


def utility_of(inst: BotInstance, objective: float) -> float:
    """Return the family's objective of that of `bot_program`: the utility of a mean rate.

    It is the same number but where the utility is a power of the rate.
    """
    if inst.alpha in (0, 1, "inf"):
        return objective
    power = 1 - float(inst.alpha)
    return float(inst.weights.sum() * objective**power / power)


def note(inst: BotInstance) -> tuple[str, ...]:
    """Return notes on the objective for users of other solvers for `bot_program`."""
    if inst.alpha == "inf":
        return ("objective: the smallest rate, tasks/s; the further levels are not in the program",)
    if inst.alpha in (0, 1):
        return ("objective: the utility, as optsched solve has it",)
    power = 1 - float(inst.alpha)
    return (
        "objective: the mean rate M, tasks/s, the one that has the same utility if all have it;",
        f"the utility, as optsched solve has it, is {float(inst.weights.sum())!r} * "
        f"M**({power!r}) / ({power!r})",
    )


def solver_program(inst: BotInstance, form: str = "geometric") -> cp.Problem:
    """Build (10) with the same constraints and an objective near 1, as conic solvers need it.

    Utilities that are powers have the objective (sum_k g_k rho_k^(1 - alpha))^(1 / (1 - alpha)),
    which has the same optimum, and rates where they would have large powers of rates.

    Parameters
    ----------
    inst : BotInstance
    form : {"geometric", "exponential"}
        Of the logarithm; other utilities have one form.
    """
    if form not in FORMS:
        raise ValueError(f"form is {form!r}, expected one of: {', '.join(FORMS)}")
    if inst.alpha == "inf":
        return level_program(inst, [None] * len(inst.applications))
    _, total, constraints = _region(inst)
    g = inst.weights / inst.weights.max()
    if inst.alpha == 1 and form == "geometric":
        eq10 = cp.geo_mean(total, p=g)  # type: ignore[attr-defined]
    elif inst.alpha == 1:
        eq10 = g @ cp.log(total)  # type: ignore[attr-defined]
    elif inst.alpha == 0:
        weights = inst.weights * units(inst)
        eq10 = (weights / weights.max()) @ total
    else:
        logs, power = _log_weights(inst), 1 - float(inst.alpha)
        factors = np.exp((logs - logs.max()) / power)
        rates = cp.multiply(factors, total)  # type: ignore[attr-defined]
        eq10 = cp.pnorm(rates, power, approx=False)  # type: ignore[attr-defined]
    return cp.Problem(cp.Maximize(eq10), constraints)


def _log_weights(inst: BotInstance) -> Floats:
    """Return the logarithms of the weights in the units of the rates, for alpha other than 1."""
    power = 1 - float(inst.alpha)
    return np.asarray(np.log(inst.weights) + power * np.log(units(inst)))


def level_program(inst: BotInstance, floors: Sequence[float | None]) -> cp.Problem:
    """Build one level of max-min: the largest smallest rate of those without a floor.

    Parameters
    ----------
    inst : BotInstance
    floors : sequence of float or None
        Rates (tasks/s) of the applications that are settled, None for the others.
    """
    _, total, constraints = _region(inst)
    level = cp.Variable(name="level")
    unit = units(inst)
    open_ = np.array([f is None for f in floors])
    least = np.array([0.0 if f is None else f for f in floors]) / unit
    scale = unit[open_].min()
    eq10e = (total >= level * (open_ * scale / unit) + least).set_label("(10e) the level")
    return cp.Problem(cp.Maximize(level), [*constraints, eq10e])


def units(inst: BotInstance) -> Floats:
    """Return the rates, tasks/s, in which the programs count, shape (K,).

    Of each application, a share of what all nodes could run or the master's links carry.
    """
    found = []
    for app, way in zip(inst.applications, inst.deployments, strict=True):
        run = float(np.array(inst.speed)[way.present].sum()) / app.flop
        own = inst.speed[app.master] / app.flop if way.present[app.master] else 0.0
        first = way.arc[way.before == app.master]
        sent = own + float(inst.bandwidth[first].sum()) / app.bytes if app.bytes > 0 else run
        found.append(min(run, sent) / len(inst.applications))
    return np.array(found)


def pairs(inst: BotInstance) -> tuple[Any, Any]:
    """Return applications and nodes of the pairs that exist, in the order of the variables."""
    apps, nodes = np.nonzero(inst.present)
    return apps, nodes


def rates(inst: BotInstance, problem: cp.Problem) -> Floats:
    """Return rho (K, N), tasks/s, of a program that was solved; negative ones as 0."""
    values = next(v for v in problem.variables() if v.name() == "rho").value
    apps, nodes = pairs(inst)
    rho = np.zeros(inst.present.shape)
    rho[apps, nodes] = np.maximum(np.asarray(values), 0.0) * units(inst)[apps]
    return rho


def prices(inst: BotInstance, problem: cp.Problem) -> tuple[Floats, Floats]:
    """Return prices per flop (N,) and per byte (2 L,) of a program that was solved."""
    speed = np.array(inst.speed)
    by_label = {c.label: c.dual_value for c in problem.constraints}
    node = np.zeros(len(speed))
    used = inst.present.any(axis=0)
    node[used] = np.maximum(by_label["(10b) speed of each node"], 0.0) / speed[used]
    arc = np.zeros(len(inst.bandwidth))
    dual = by_label.get("(10c) bandwidth of each arc")
    if dual is not None:
        open_ = inst.bandwidth > 0
        arc[open_] = np.maximum(dual, 0.0) / inst.bandwidth[open_]
    return node, arc


def _region(inst: BotInstance) -> tuple[Any, Any, list[Any]]:
    """Return the variables, the totals (10a), and the constraints (10b)-(10d)."""
    apps, nodes = pairs(inst)
    count, unit, speed = len(apps), units(inst), np.array(inst.speed)
    column = np.arange(count)
    flop = np.array([app.flop for app in inst.applications])
    used = np.flatnonzero(inst.present.any(axis=0))
    rho = cp.Variable(count, name="rho", nonneg=True)  # (10d)
    ones: Any = csr_matrix((np.ones(count), (apps, column)), shape=(len(flop), count))
    share = (flop * unit)[apps] / speed[nodes]
    by_node: Any = csr_matrix(
        (share, (np.searchsorted(used, nodes), column)), shape=(len(used), count)
    )
    eq10a = ones @ rho
    eq10b = (by_node @ rho <= 1).set_label("(10b) speed of each node")
    if not inst.links:
        return rho, eq10a, [eq10b]
    traffic: Any = _traffic(inst, unit)
    eq10c = (traffic @ rho <= 1).set_label("(10c) bandwidth of each arc")
    return rho, eq10a, [eq10b, eq10c]


def _traffic(inst: BotInstance, unit: Floats) -> csr_matrix:
    """Return the share of each arc of bandwidth above 0 that each pair takes."""
    apps, nodes = pairs(inst)
    column = {pair: c for c, pair in enumerate(zip(apps.tolist(), nodes.tolist(), strict=True))}
    row = np.cumsum(inst.bandwidth > 0) - 1
    entries: list[tuple[int, int, float]] = []
    for k, (app, way) in enumerate(zip(inst.applications, inst.deployments, strict=True)):
        before, arc, present = way.before.tolist(), way.arc.tolist(), way.present.tolist()
        for n in way.order.tolist():
            if not present[n]:
                continue
            c, at = column[k, n], n
            while before[at] >= 0:
                for size, a in ((app.bytes, arc[at]), (app.return_bytes, arc[at] ^ 1)):
                    if size > 0:
                        entries.append((int(row[a]), c, size * unit[k] / inst.bandwidth[a]))
                at = before[at]
    table = np.array(entries).reshape(-1, 3)
    where = (table[:, 0].astype(int), table[:, 1].astype(int))
    return csr_matrix((table[:, 2], where), shape=(int((inst.bandwidth > 0).sum()), len(apps)))
