"""Optima by linear programs: at once where the utility is linear, level by level for max-min, and
by vertices for every other utility.

The vertices are those of the feasible rates. In turn, the gradient at the best mixture of those
that are known asks a linear program for a further one, and the best mixture of all is found by
Newton's method in as many variables as there are vertices. The duals of each program are prices,
and so a bound. It needs many programs, but no program with cones, and no elimination whose
rounding grows with the range of the data: a simplex basis is solved anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, hstack, vstack

from optsched import solvers
from optsched.families.bot.certificate import Prices
from optsched.families.bot.instance import BotInstance, Floats
from optsched.families.bot.loads import filled
from optsched.families.bot.mixture import best_mixture, logarithmic_slopes
from optsched.families.bot.reports import report, settle
from optsched.families.bot.rows import Region, scaled
from optsched.families.bot.shares import equal_shares
from optsched.progress import Progress

ACCURACY = 1e-10  # the finest that HiGHS knows, of rows and of costs
DROPPED = 1e-12  # entries below it, of columns whose largest is 1, count as 0
SLICE = 0.2  # seconds between two looks at the clock
TIGHT = 1e-4  # an application whose share of the price of a level is above this is settled
MOST_VERTICES = 60
ROUGH = 0.01  # a level below this share of its unit is counted anew in a smaller one


class Vertex(NamedTuple):
    """The optimum of a linear program."""

    x: Floats
    duals: Floats  # of the rows, as prices >= 0


def simplex(inst: BotInstance, monitor: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve linear programs."""
    if inst.alpha == "inf":
        _level_by_level(inst, monitor, threads)
    elif inst.alpha == 0:
        _at_once(inst, monitor, threads)
    else:
        _by_vertices(inst, monitor, threads)


def _at_once(inst: BotInstance, monitor: Progress, threads: int) -> None:
    region = Region(inst)
    found = _sold(region, scaled(inst.weights[region.apps] * region.most), monitor, threads)
    if found is not None:
        report(inst, monitor, region.rates(found.x))
        settle(inst, monitor, [Prices.of(*region.prices(found.duals))])


def _by_vertices(inst: BotInstance, monitor: Progress, threads: int) -> None:
    region = Region(inst)
    known = [filled(inst, equal_shares(inst))]  # (K, N) each
    weights = np.ones(1)
    while not monitor.stop():
        rho = filled(inst, np.tensordot(weights, known, 1))
        report(inst, monitor, rho)
        total = rho.sum(axis=1)
        slope = logarithmic_slopes(inst, np.log(total)) / total
        found = _sold(region, slope[region.apps] * region.most, monitor, threads)
        if found is None:
            return
        settle(inst, monitor, [Prices.of(*region.prices(found.duals))])
        keep = np.argsort(-weights)[:MOST_VERTICES]
        known = [rho, *(known[i] for i in keep if weights[i] > DROPPED), region.rates(found.x)]
        start = np.full(len(known), 1e-3 / len(known))
        start[0] += 1 - start.sum()
        weights = best_mixture(inst, np.array([v.sum(axis=1) for v in known]), start)


def _sold(region: Region, worth: Floats, monitor: Progress, threads: int) -> Vertex | None:
    """Maximize the sum of ``worth`` times x; prices are raised to where no column gains."""
    size = region.matrix.shape[0]
    rows = (np.full(size, -np.inf), np.ones(size))
    found = _solved(-worth, region.matrix, *rows, monitor, threads)
    if found is None:
        return None
    short = np.maximum(worth - region.matrix.T @ found.duals, 0.0)
    fullest = np.asarray(region.matrix.argmax(axis=0)).ravel()  # a row that one pair fills
    np.maximum.at(raised := np.zeros(size), fullest, short)
    return Vertex(found.x, found.duals + raised)


def _solved(
    cost: Floats, matrix: csc_array, low: Floats, high: Floats, monitor: Progress, threads: int
) -> Vertex | None:
    """Minimize ``cost`` times x over rows within limits, x >= 0; None: stopped, or no optimum."""
    h = solvers.highs(threads=threads)
    for name, value in (
        ("presolve", "off"),
        ("simplex_scale_strategy", 0),  # the columns are scaled: other scales lose digits
        ("primal_feasibility_tolerance", ACCURACY),
        ("dual_feasibility_tolerance", ACCURACY),
        ("small_matrix_value", DROPPED),
    ):
        h.setOptionValue(name, value)
    n = len(cost)
    solvers.load(h, cost, matrix, low, high, np.zeros(n), np.full(n, np.inf))
    until = 0.0
    while not monitor.stop():
        until += min(SLICE, monitor.left())
        h.setOptionValue("time_limit", until)
        solvers.run(h)
        status = h.modelStatusToString(h.getModelStatus())
        if status == "Optimal":
            return Vertex(np.array(h.getSolution().col_value), np.abs(solvers.row_duals(h)))
        if status != "Time limit reached":
            return None
    return None


def _level_by_level(inst: BotInstance, monitor: Progress, threads: int) -> None:
    """Raise the smallest rate, settle whoever it is that limits it, and go on with the others."""
    region = Region(inst)
    floors: list[float | None] = [None] * len(inst.applications)
    levels: list[Prices] = []
    rho: Floats | None = None
    unit = float(np.max(region.totals(np.ones(len(floors))) @ np.ones(len(region.apps))))
    while None in floors and not monitor.stop():
        found = _level(region, floors, unit, monitor, threads)
        if found is None:
            break
        (x, duals), share = found
        rho = filled(inst, x)
        open_ = [k for k, f in enumerate(floors) if f is None]
        reached = float(rho.sum(axis=1)[open_].min())
        if reached <= 0:
            break
        if reached < ROUGH * unit:
            unit = reached  # its rounding was relative to the larger unit
            continue
        unit = max(unit, reached)
        levels.append(Prices.of(*region.prices(duals), floors if levels else None))
        for k in open_:
            if share[k] > TIGHT:
                floors[k] = reached
    if rho is not None:
        report(inst, monitor, rho)  # the last level keeps what the others have settled
    if levels:
        settle(inst, monitor, levels)


def _level(
    region: Region, floors: list[float | None], unit: float, monitor: Progress, threads: int
) -> tuple[Vertex, Floats] | None:
    """Solve one level; return rates (K, N) and prices of rows, and how much each limits it."""
    open_ = np.array([f is None for f in floors])
    units = np.array([unit if f is None else f for f in floors])
    column = np.minimum(region.most, units[region.apps])  # tasks/s of a pair at x = 1
    size = region.matrix.shape[0]
    matrix = csc_array(region.matrix.multiply((column / region.most)[None, :]))
    totals = csc_array(region.totals(units).multiply((column / region.most)[None, :]))
    level = csc_array(np.concatenate([np.zeros(size), -open_.astype(float)])[:, None])
    cost = np.append(np.zeros(len(column)), -1.0)
    found = _solved(
        cost,
        csc_array(hstack([vstack([matrix, totals]), level])),
        np.concatenate([np.full(size, -np.inf), np.where(open_, 0.0, 1.0)]),
        np.concatenate([np.ones(size), np.full(len(units), np.inf)]),
        monitor,
        threads,
    )
    if found is None:
        return None
    share = np.where(open_, found.duals[size:], 0.0)
    rho = np.zeros(region.inst.present.shape)
    rho[region.apps, region.nodes] = np.maximum(found.x[:-1], 0.0) * column
    return Vertex(rho, found.duals[:size]), np.asarray(share / max(share.sum(), 1e-300))
