"""Methods of family `bot`: interior point, conic and linear programs for alpha-fair utilities.

Utilities are alpha-fair (Mo and Walrand, 2000); all programs are convex.

- `interior`: primal-dual interior-point method on a tree (Mehrotra, 1992), for every utility but
  max-min;
- `conic`: the conic programs of the utility, by Clarabel (Goulart and Chen, 2024), for every
  utility but max-min;
- `simplex`: linear programs for linear utilities, and for max-min level by level (`simplex`; Nace
  and Pióro, 2008);
- `auto`: `interior` where it applies; while the gap is open and time is left, `simplex` or `conic`.

Rates from any method are scaled to be feasible and checked; prices from any method count only as
far as the checker's bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from optsched.engine.progress import Progress
from optsched.families.bot.certificate.check import Prices
from optsched.families.bot.instance import BotInstance
from optsched.families.bot.optimum.interior.method import solve_tree
from optsched.families.bot.optimum.reports import report, settle
from optsched.families.bot.optimum.simplex import simplex
from optsched.families.bot.shares import equal_shares
from optsched.numbers.arrays import Ints
from optsched.problem import RELAXATION, InputError, Method
from optsched.process.background import supervised
from optsched.solvers import solve_cvxpy

MOST_NUMBERS = 250_000_000  # that the interior-point method holds: 2 GB
MOST_PAIRS = 20_000  # of applications and nodes, up to which CVXPY follows `interior`


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
    problem = _solved(lambda: model.solver_program(inst, "exponential"), progress, threads)
    if problem is None:
        return
    report(inst, progress, model.rates(inst, problem))
    settle(inst, progress, [Prices.of(*model.prices(inst, problem))])


def _solved(build: Callable[[], Any], progress: Progress, threads: int) -> Any:
    """Build a program and solve it under a clock that CVXPY's reductions do not read.

    Returns
    -------
    cvxpy.Problem or None
        With its values and duals; None if time was up or the solver found nothing.
    """
    limits = progress.limits()

    def work(flag: Ints) -> Any:
        problem = build()
        outcome = solve_cvxpy(problem, threads=threads, stop=lambda: bool(flag[0]), **limits)
        return None if outcome.value is None else problem

    # seconds that a conic solver gets to end when time is up
    return supervised(work, progress.called_off, patience=0.2)


def auto(inst: BotInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Try one method after the other until the gap is closed or the time is up."""
    for method in _in_turn(inst):
        method(inst, progress, threads=threads, seed=seed)
        if progress.stop():
            return


def _in_turn(inst: BotInstance) -> Iterator[Method]:
    tree = _fits_interior(inst)
    if tree:
        yield interior
    if inst.alpha in (0, "inf"):
        yield simplex
    elif not tree or inst.present.size <= MOST_PAIRS:
        yield conic


METHODS: Mapping[str, Method] = {
    "auto": auto,
    "interior": interior,
    "conic": conic,
    "simplex": simplex,
    RELAXATION: auto,  # the program is convex, and so its own relaxation
}
