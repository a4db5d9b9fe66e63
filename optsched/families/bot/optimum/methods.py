"""Methods of family `bot`: interior point, conic and linear programs for alpha-fair utilities.

Utilities are alpha-fair (Mo and Walrand, 2000); all programs are convex.

- `interior`: primal-dual interior-point method on a tree (Mehrotra, 1992), for every utility but
  max-min;
- `geometric`, `exponential`: the two conic programs of the logarithm, by Clarabel (Goulart and
  Chen, 2024);
- `conic`: the program of any utility; max-min level by level (Nace and Pióro, 2008);
- `simplex`: linear programs (`simplex`; von Hohenbalken, 1977), for any utility;
- `auto`: `interior` where it applies (for max-min `simplex`), and as long as the gap is open and
  time is left the others in turn, conic ones only for programs that they can read in seconds.

Rates from any method are scaled to be feasible and judged; prices from any method count only as
far as the checker's bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from optsched.engine.progress import Progress
from optsched.families.bot.certificate.format import Prices
from optsched.families.bot.instance import BotInstance
from optsched.families.bot.loads import filled
from optsched.families.bot.optimum.interior.method import solve_tree
from optsched.families.bot.optimum.reports import report, settle
from optsched.families.bot.optimum.simplex import simplex
from optsched.families.bot.shares import equal_shares
from optsched.numbers.arrays import Ints
from optsched.problem import RELAXATION, InputError, Method
from optsched.process.background import supervised
from optsched.solvers import solve_cvxpy

SAFETY = 0.05  # of the gap that is asked for, aimed at by the interior-point method
FINEST = 1e-11  # relative gap below which rounding rules
PATIENCE = 0.2  # seconds that a conic solver gets to end when time is up
MOST_NUMBERS = 250_000_000  # that the interior-point method holds: 2 GB
MOST_PAIRS = 20_000  # of applications and nodes, up to which `auto` asks conic solvers
TIGHT = 1e-5  # an application whose share of the price of a level is above this is settled


def interior(inst: BotInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve on the tree.

    Raises
    ------
    InputError
        The platform has cycles, or max-min is asked for.
    """
    if not _fits_interior(inst):
        raise InputError(
            "method interior needs a tree, a finite alpha, and nodes times the square of the "
            f"applications of at most {MOST_NUMBERS // 2:,}; expected method conic or auto"
        )
    aim = max(SAFETY * progress.gap_limit, FINEST)
    enough = progress.gap_limit / 2
    found = solve_tree(inst, aim, stop=lambda: progress.stop(), enough=enough)
    report(inst, progress, found.rho)
    settle(inst, progress, [Prices.of(found.nodes, found.arcs)])


def _fits_interior(inst: BotInstance) -> bool:
    apps, nodes = inst.present.shape
    fits = 2 * nodes * apps * apps <= MOST_NUMBERS
    return inst.is_tree and inst.alpha != "inf" and fits


def conic(inst: BotInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the conic program of the utility."""
    if inst.alpha == "inf":
        _max_min(inst, progress, threads)
    else:  # the geometric form rounds weights
        even = bool((inst.weights == inst.weights[0]).all())
        _conic(inst, progress, threads, "geometric" if even else "exponential")


def geometric(inst: BotInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the geometric-mean form of proportional fairness."""
    _logarithm(inst)
    _conic(inst, progress, threads, "geometric")


def exponential(inst: BotInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the exponential-cone form of proportional fairness."""
    _logarithm(inst)
    _conic(inst, progress, threads, "exponential")


def _logarithm(inst: BotInstance) -> None:
    if inst.alpha != 1:
        raise InputError(
            f"alpha is {inst.alpha}, the geometric and exponential forms are those of alpha 1; "
            "expected method conic or auto"
        )


def _conic(inst: BotInstance, progress: Progress, threads: int, form: str) -> None:
    from optsched.models import bot as model  # here, since CVXPY takes a while to import

    report(inst, progress, equal_shares(inst))  # whatever the solver does
    problem = _solved(lambda: model.solver_program(inst, form), progress, threads)
    if problem is None:
        return
    report(inst, progress, model.rates(inst, problem))
    settle(inst, progress, [Prices.of(*model.prices(inst, problem))])


def _solved(build: Callable[[], Any], progress: Progress, threads: int) -> Any:
    """Build a program and solve it beside the clock, which CVXPY's reductions do not look at.

    Returns
    -------
    cvxpy.Problem or None
        With its values and duals; None if time was up or the solver found nothing.
    """
    limits = progress.limits()

    def work(told: Ints) -> Any:
        problem = build()
        outcome = solve_cvxpy(problem, threads=threads, stop=lambda: bool(told[0]), **limits)
        return None if outcome.value is None else problem

    return supervised(work, progress.called_off, patience=PATIENCE)


def _max_min(inst: BotInstance, progress: Progress, threads: int) -> None:
    """Raise the smallest rate, settle whoever it is that limits it, and go on with the others."""
    from optsched.models import bot as model

    rho = equal_shares(inst)
    floors: list[float | None] = [None] * len(inst.applications)
    levels: list[Prices] = []
    while None in floors and not progress.stop():
        program = partial(model.level_program, inst, list(floors))
        problem = _solved(program, progress, threads)
        if problem is None:
            break
        rho = filled(inst, model.rates(inst, problem))
        nodes, arcs = model.prices(inst, problem)
        levels.append(Prices.of(nodes, arcs, floors if levels else None))
        limits = model.shares_of_level(inst, problem, floors) > TIGHT
        reached = float(min(r for r, f in zip(rho.sum(axis=1), floors, strict=True) if f is None))
        floors = [reached if s else f for s, f in zip(limits.tolist(), floors, strict=True)]
        if not limits.any():
            break
    report(inst, progress, rho)  # the last level keeps what the others have settled
    if levels:
        settle(inst, progress, levels)


def auto(inst: BotInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Try one method after the other until the gap is closed or the time is up."""
    for method in _in_turn(inst):
        method(inst, progress, threads=threads, seed=seed)
        if progress.stop():
            return


def _in_turn(inst: BotInstance) -> Iterator[Method]:
    few = inst.present.size <= MOST_PAIRS
    if _fits_interior(inst):
        yield interior
    if inst.alpha in (0, "inf"):
        yield simplex
        if few:
            yield conic
        return
    if few:
        yield conic
        if inst.alpha == 1:
            yield exponential
    yield simplex


METHODS: Mapping[str, Method] = {
    "auto": auto,
    "interior": interior,
    "conic": conic,
    "geometric": geometric,
    "exponential": exponential,
    "simplex": simplex,
    RELAXATION: auto,  # the program is convex, and so its own relaxation
}
