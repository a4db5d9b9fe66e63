"""Methods of family `bot`: interior point, conic and linear programs for alpha-fair utilities.

Utilities are alpha-fair (Mo and Walrand, 2000); all programs are convex.

- `interior`: primal-dual interior-point method on a tree (Mehrotra, 1992), for every utility but
  max-min;
- `conic`: the conic programs of the utility, by Clarabel (Goulart and Chen, 2024), for every
  utility but max-min;
- `simplex`: one linear program for linear utilities, and for max-min one per level (Nace and Pióro,
  2008);
- `auto`: `interior` where it applies; while the gap is open and time is left, `simplex` or `conic`.

Weak duality: a method's rates and prices become a schedule and a certificate. Rates from any method
are scaled to be feasible and checked; prices from any method count only as far as the dual function
that the checker evaluates (Boyd and Vandenberghe, 2004).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, hstack, vstack

from optsched import solvers
from optsched.engine.progress import Progress
from optsched.families.bot.certificate.check import BotCertificate, Prices
from optsched.families.bot.instance import BotInstance, BotSchedule, alone, by_node
from optsched.families.bot.loads import equal_shares, filled
from optsched.families.bot.optimum.interior import solve_tree
from optsched.numbers.arrays import Floats, Ints
from optsched.problem import RELAXATION, InputError, Method
from optsched.process import work_units
from optsched.process.background import supervised

MOST_NUMBERS = 250_000_000  # that the interior-point method holds: 2 GB
MOST_PAIRS = 20_000  # of applications and nodes, up to which CVXPY follows `interior`
ACCURACY = 1e-10  # the finest that HiGHS knows, of rows and of costs
LIMITED = "Time limit reached", "Iteration limit reached"
JUDGING = 0.3, 0.01  # work units of a check, and per pair


def report(inst: BotInstance, progress: Progress, rho: Floats) -> None:
    """Report rates (K, N), scaled to the largest load; the feasibility check values them."""
    work_units.spend(JUDGING[0] + JUDGING[1] * rho.size)
    rho = filled(inst, rho)
    if np.isfinite(rho).all():
        progress.incumbent(math.inf, BotSchedule.of(rho))


def settle(inst: BotInstance, progress: Progress, levels: Sequence[Prices]) -> None:
    """Report prices and their bound."""
    work_units.spend(JUDGING[0] + JUDGING[1] * inst.present.size * len(levels))
    certificate = BotCertificate(instance_sha256=progress.digest, levels=tuple(levels))
    try:
        progress.tighten(progress.check(certificate), lambda: certificate)
    except ValueError:  # prices of a solver that was stopped may bound nothing
        return


def interior(inst: BotInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve on the tree.

    Raises
    ------
    InputError
        The platform has cycles, or max-min is requested.
    """
    if not _fits_interior(inst):
        raise InputError(
            "method interior needs a tree, a finite alpha, and nodes times the square of the "
            f"applications of at most {MOST_NUMBERS // 2:,}; expected method conic or auto"
        )
    # relative gap below which rounding rules
    # of the gap that is requested, aimed at by the interior-point method
    aim = max(0.05 * progress.gap_limit, 1e-11)
    enough = progress.gap_limit / 2
    found = solve_tree(inst, aim, stop=lambda: progress.stop(), enough=enough)
    report(inst, progress, found.rho)
    settle(inst, progress, [Prices.of(found.nodes, found.arcs)])


def _fits_interior(inst: BotInstance) -> bool:
    apps, nodes = inst.present.shape
    fits = 2 * nodes * apps * apps <= MOST_NUMBERS
    return inst.is_tree and inst.alpha != "inf" and fits


def conic(inst: BotInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the conic program of the utility; of the logarithm, its form with exponential cones.

    Raises
    ------
    InputError
        Max-min is requested.
    """
    if inst.alpha == "inf":
        raise InputError("alpha is inf, which takes a program per level; expected method simplex")
    from optsched.models import bot as model  # here, since CVXPY takes a while to import

    report(inst, progress, equal_shares(inst))  # whatever the solver does
    limits = progress.limits()

    def work(flag: Ints) -> Any:
        problem = model.solver_program(inst, "exponential")
        outcome = solvers.solve_cvxpy(
            problem, threads=threads, stop=lambda: bool(flag[0]), **limits
        )
        return None if outcome.value is None else problem

    # CVXPY's reductions read no clock; the conic solver gets 0.2 s to end when time is up
    problem = supervised(work, progress.called_off, patience=0.2)
    if problem is not None:
        report(inst, progress, model.rates(inst, problem))
        settle(inst, progress, [Prices.of(*model.prices(inst, problem))])


class Vertex(NamedTuple):
    """The optimum of a linear program."""

    x: Floats
    duals: Floats  # of the rows, as prices >= 0


def simplex(inst: BotInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve linear programs.

    Raises
    ------
    InputError
        The utility is neither linear nor max-min.
    """
    if inst.alpha == "inf":
        _level_by_level(inst, progress, threads)
        return
    if inst.alpha != 0:
        raise InputError(
            f"alpha is {inst.alpha}, method simplex is for alpha 0 and inf; "
            "expected method conic or auto"
        )
    region = Region(inst)
    value = inst.weights[region.apps] * region.most
    value /= value.max()
    size = region.matrix.shape[0]
    rows = (np.full(size, -np.inf), np.ones(size))
    found = _solved(-value, region.matrix, *rows, np.full(len(value), 2.0), progress, threads)
    if found is not None:
        report(inst, progress, region.rates(found.x))
        duals = _raised(region, found.duals, value)
        settle(inst, progress, [Prices.of(*region.prices(duals))])


def _raised(region: Region, duals: Floats, value: Floats) -> Floats:
    """Return prices of rows raised until no column has a positive reduced cost."""
    short = np.maximum(value - region.matrix.T @ duals, 0.0)
    fullest = np.asarray(region.matrix.argmax(axis=0)).ravel()  # a row that the pair fills alone
    raised = np.zeros(len(duals))
    np.maximum.at(raised, fullest, short)
    return np.asarray(duals + raised)


def _solved(
    cost: Floats,
    matrix: csc_array,
    low: Floats,
    high: Floats,
    most: Floats,
    progress: Progress,
    threads: int,
) -> Vertex | None:
    """Minimize ``cost`` times x over rows within limits, 0 <= x <= ``most``; None: no optimum.

    The rows keep x within half of ``most``, but where their entries are so small that they count
    as 0.
    """
    h = solvers.highs(threads=threads)
    # entries below it, of columns whose largest is 1, count as 0
    for name, value in (
        ("presolve", "off"),
        ("simplex_scale_strategy", 0),  # the columns are scaled: other scales lose digits
        ("primal_feasibility_tolerance", ACCURACY),
        ("dual_feasibility_tolerance", ACCURACY),
        ("small_matrix_value", 1e-12),
    ):
        h.setOptionValue(name, value)
    solvers.load(h, cost, matrix, low, high, np.zeros(len(cost)), most)
    until, status = 0.0, LIMITED[0]
    while status in LIMITED:
        if progress.stop():
            return None
        # seconds between two checks of the remaining time
        limits = progress.limits(0.2)
        until += limits["time_limit"]
        h.setOptionValue("time_limit", until)
        solvers.run(h, effort=limits["effort"])
        status = h.modelStatusToString(h.getModelStatus())
    if status != "Optimal":
        return None
    return Vertex(np.array(h.getSolution().col_value), np.abs(solvers.row_duals(h)))


def _level_by_level(inst: BotInstance, progress: Progress, threads: int) -> None:
    """Raise the smallest rate, settle the application that limits it, and go on with the others."""
    region = Region(inst)
    most = [alone(inst, k) for k in range(len(inst.applications))]
    floors: list[float | None] = [None] * len(most)
    levels: list[Prices] = []
    rho: Floats | None = None
    try:
        while None in floors and not progress.stop():
            open_ = [k for k, f in enumerate(floors) if f is None]
            found = _level(region, floors, min(most[k] for k in open_), progress, threads)
            if found is None:
                break
            rho, duals = found
            reached = float(rho.sum(axis=1)[open_].min())
            price = region.cheapest(duals)[open_]
            # an application whose share of the price of a level is above this is settled
            settled = price > 1e-4 * price.sum()
            if reached <= 0 or not settled.any():
                break
            levels.append(Prices.of(*region.prices(duals), floors if levels else None))
            for k in np.array(open_)[settled].tolist():
                floors[k] = reached
    finally:  # also after Ctrl-C
        if rho is not None:
            report(inst, progress, rho)  # the last level keeps the settled rates of the others
        if levels:
            settle(inst, progress, levels)


def _level(
    region: Region, floors: list[float | None], unit: float, progress: Progress, threads: int
) -> Vertex | None:
    """Solve one level, in which a rate of ``unit`` is 1; return rates (K, N) and prices of rows."""
    open_ = np.array([f is None for f in floors])
    units = np.array([unit if f is None else f for f in floors])
    column = np.minimum(region.most, units[region.apps])  # tasks/s of a pair at x = 1
    size = region.matrix.shape[0]
    matrix = region.matrix.multiply((column / region.most)[None, :])
    totals = region.totals(units).multiply((column / region.most)[None, :])
    level = csc_array(np.concatenate([np.zeros(size), -open_.astype(float)])[:, None])
    found = _solved(
        np.append(np.zeros(len(column)), -1.0),
        csc_array(hstack([vstack([matrix, totals]), level])),
        np.concatenate([np.full(size, -np.inf), np.where(open_, 0.0, 1.0)]),
        np.concatenate([np.ones(size), np.full(len(units), np.inf)]),
        np.append(2 * region.most / column, np.inf),
        progress,
        threads,
    )
    if found is None:
        return None
    rho = np.zeros(region.inst.present.shape)
    rho[region.apps, region.nodes] = np.maximum(found.x[:-1], 0.0) * column
    # a pair that alone gives less than the level may seem free, within the accuracy
    value = found.duals[size:][region.apps] * (region.most / units[region.apps])
    little = np.where(region.most <= units[region.apps], value, 0.0)
    return Vertex(filled(region.inst, rho), _raised(region, found.duals[:size], little))


class Region:
    """Rates x >= 0, one per pair that exists, whose loads are at most 1: rows of a program.

    A pair at x = 1 has the rate that it could have alone, so that it saturates its limit: the
    largest entry of a column is 1, whatever the sizes of tasks, nodes and links.
    """

    def __init__(self, inst: BotInstance) -> None:
        self.inst = inst
        self.apps, self.nodes = np.nonzero(inst.present)
        alone = np.array([by_node(inst, k) for k in range(len(inst.applications))])
        self.most = alone[self.apps, self.nodes]  # tasks/s of a pair at x = 1
        flop = np.array([app.flop for app in inst.applications])
        share = flop[self.apps] * self.most / np.array(inst.speed)[self.nodes]
        columns = np.arange(len(self.apps))
        rows, cols, entries = [self.nodes], [columns], [share]
        offset = len(inst.speed)
        for k, (app, way) in enumerate(zip(inst.applications, inst.deployments, strict=True)):
            for size, turn in ((app.bytes, 0), (app.return_bytes, 1)):
                if size > 0:
                    for c in columns[self.apps == k].tolist():
                        used = _route(way.before, way.arc, int(self.nodes[c])) ^ turn
                        rows.append(offset + used)
                        cols.append(np.full(len(used), c))
                        entries.append(size * self.most[c] / inst.bandwidth[used])
        shape = (offset + len(inst.bandwidth), len(columns))
        where = (np.concatenate(rows), np.concatenate(cols))
        self.matrix: Any = csc_array((np.concatenate(entries), where), shape=shape)

    def rates(self, x: Floats) -> Floats:
        """Return rates by node, shape (K, N)."""
        rho = np.zeros(self.inst.present.shape)
        rho[self.apps, self.nodes] = np.maximum(x, 0.0) * self.most
        return rho

    def totals(self, unit: Floats) -> Any:
        """Return the matrix that turns x into the total of each application, in its unit (K,)."""
        columns = np.arange(len(self.apps))
        entries = self.most / unit[self.apps]
        return csc_array((entries, (self.apps, columns)), shape=(len(unit), len(columns)))

    def cheapest(self, duals: Floats) -> Floats:
        """Return the price of a task of each application at prices of whole rows, shape (K,)."""
        first = np.searchsorted(self.apps, np.arange(len(self.inst.applications)))
        price: Floats = np.minimum.reduceat((self.matrix.T @ duals) / self.most, first)
        return price

    def prices(self, duals: Floats) -> tuple[Floats, Floats]:
        """Return prices per flop (N,) and per byte (2 L,) of prices of whole rows."""
        speed, wide = np.array(self.inst.speed), self.inst.bandwidth
        node, arc = np.maximum(duals[: len(speed)], 0.0), np.maximum(duals[len(speed) :], 0.0)
        node = np.where(speed > 0, node / np.where(speed > 0, speed, 1.0), 0.0)
        return node, np.where(wide > 0, arc / np.where(wide > 0, wide, 1.0), 0.0)


def _route(before: Ints, arc: Ints, node: int) -> Ints:
    """Return the arcs from the master to a node."""
    used: list[int] = []
    while before[node] >= 0:
        used.append(int(arc[node]))
        node = int(before[node])
    return np.array(used, np.int64)


def auto(inst: BotInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Try one method after the other until the gap is closed or the time is up."""
    tree = _fits_interior(inst)
    turn: list[Method] = [interior] if tree else []
    if inst.alpha in (0, "inf"):
        turn.append(simplex)
    elif not tree or inst.present.size <= MOST_PAIRS:
        turn.append(conic)
    for method in turn:
        method(inst, progress, threads=threads, seed=seed)
        if progress.stop():
            return


METHODS: Mapping[str, Method] = {
    "auto": auto,
    "interior": interior,
    "conic": conic,
    "simplex": simplex,
    RELAXATION: auto,  # the program is convex, and so its own relaxation
}
