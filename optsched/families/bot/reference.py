"""How family `bot` finds its optimum.

- `interior`: the interior-point method on a tree (`interior`), for every utility but max-min;
- `geometric`, `exponential`: the two conic programs of the logarithm, by Clarabel;
- `conic`: the program of any utility; max-min level by level;
- `auto`: `interior` where it applies, else `conic`.

Whatever found the rates, they are scaled to what is feasible and judged; whatever found the prices,
the bound is what they prove.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optsched.families.bot.certificate import BotCertificate, Prices, check
from optsched.families.bot.fairness import mean_rate, raised, utility
from optsched.families.bot.instance import BotInstance, BotSchedule, Floats
from optsched.families.bot.interior import solve_tree
from optsched.families.bot.loads import filled
from optsched.families.bot.shares import equal_shares
from optsched.problem import InputError, Method
from optsched.progress import Progress
from optsched.solvers import solve_cvxpy

SAFETY = 0.05  # of the gap that is asked for, aimed at by the interior-point method
FINEST = 1e-11  # relative gap below which rounding rules
TIGHT = 1e-5  # an application whose share of the price of a level is above this is settled


def interior(inst: BotInstance, monitor: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve on the tree.

    Raises
    ------
    InputError
        The platform has cycles, or max-min is asked for.
    """
    if not inst.is_tree or inst.alpha == "inf":
        raise InputError(
            "method interior needs a tree and a finite alpha, expected method conic or auto"
        )
    found = solve_tree(inst, _tolerance(inst, monitor.gap_limit))
    value = _report(inst, monitor, found.rho)
    bound = raised(inst.alpha, inst.weights, value, found.log_gap)
    monitor.proved(bound, lambda: _certificate(inst, [Prices.of(found.nodes, found.arcs)]))


def _tolerance(inst: BotInstance, gap: float) -> float:
    """Return the gap of the logarithm of the mean rate that is a gap of the utility."""
    if inst.alpha == 1:
        return max(SAFETY * gap / float(inst.weights.sum()), FINEST)
    rough = utility(inst.alpha, inst.weights, equal_shares(inst).sum(axis=1))
    mean = mean_rate(inst.alpha, inst.weights, rough)
    slope = float(inst.weights.sum()) * mean ** (1 - float(inst.alpha))
    return float(max(SAFETY * gap / max(slope, SAFETY), FINEST))


def _report(inst: BotInstance, monitor: Progress, rho: Floats) -> float:
    """Hand over rates scaled to the largest load; return what they are worth."""
    rho = filled(inst, rho)
    value = utility(inst.alpha, inst.weights, rho.sum(axis=1))
    monitor.incumbent(value, BotSchedule.of(rho))
    return value


def _certificate(inst: BotInstance, levels: Sequence[Prices]) -> BotCertificate:
    return BotCertificate(instance_sha256=inst.digest(), levels=tuple(levels))


def conic(inst: BotInstance, monitor: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the conic program of the utility."""
    if inst.alpha == "inf":
        _max_min(inst, monitor, threads)
    else:
        _conic(inst, monitor, threads, "geometric")


def geometric(inst: BotInstance, monitor: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the geometric-mean form of proportional fairness."""
    _logarithm(inst)
    _conic(inst, monitor, threads, "geometric")


def exponential(inst: BotInstance, monitor: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the exponential-cone form of proportional fairness."""
    _logarithm(inst)
    _conic(inst, monitor, threads, "exponential")


def _logarithm(inst: BotInstance) -> None:
    if inst.alpha != 1:
        raise InputError(
            f"alpha is {inst.alpha}, the geometric and exponential forms are those of alpha 1; "
            "expected method conic or auto"
        )


def _conic(inst: BotInstance, monitor: Progress, threads: int, form: str) -> None:
    from optsched.models import bot as model  # here, since CVXPY takes a while to import

    _report(inst, monitor, equal_shares(inst))  # whatever the solver does
    problem = model.bot_program(inst, form)
    outcome = solve_cvxpy(problem, time_limit=monitor.left(), threads=threads)
    if outcome.value is None:
        return
    _report(inst, monitor, model.rates(inst, problem))
    certificate = _certificate(inst, [Prices.of(*model.prices(inst, problem))])
    try:
        monitor.proved(check(inst, certificate), lambda: certificate)
    except ValueError:  # prices of a solver that was stopped may bound nothing
        return


def _max_min(inst: BotInstance, monitor: Progress, threads: int) -> None:
    """Raise the smallest rate, settle whoever it is that limits it, and go on with the others."""
    from optsched.models import bot as model

    rho = equal_shares(inst)
    floors: list[float | None] = [None] * len(inst.applications)
    levels: list[Prices] = []
    while None in floors and monitor.left() > 0:
        problem = model.level_program(inst, floors)
        outcome = solve_cvxpy(problem, time_limit=monitor.left(), threads=threads)
        if outcome.value is None:
            break
        rho = filled(inst, model.rates(inst, problem))
        nodes, arcs = model.prices(inst, problem)
        levels.append(Prices.of(nodes, arcs, floors if levels else None))
        limits = model.shares_of_level(inst, problem, floors) > TIGHT
        reached = float(min(r for r, f in zip(rho.sum(axis=1), floors, strict=True) if f is None))
        floors = [reached if s else f for s, f in zip(limits.tolist(), floors, strict=True)]
    _report(inst, monitor, rho)  # the last level keeps what the others have settled
    if levels:
        certificate = _certificate(inst, levels)
        try:
            monitor.proved(check(inst, certificate), lambda: certificate)
        except ValueError:  # prices of a solver that was stopped may bound nothing
            return


def auto(inst: BotInstance, monitor: Progress, *, threads: int, seed: int) -> None:
    """Choose by platform and utility."""
    method = interior if inst.is_tree and inst.alpha != "inf" else conic
    method(inst, monitor, threads=threads, seed=seed)


METHODS: Mapping[str, Method] = {
    "auto": auto,
    "interior": interior,
    "conic": conic,
    "geometric": geometric,
    "exponential": exponential,
}
