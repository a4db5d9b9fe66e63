"""Feasibility check of family `bot`, from the definition (10), without solver code.

All numbers are the decimals that are written. Loads are added up in floats first: no term is
negative, so that a sum errs by no more than rounding can, and what fits by more than that, fits.
Everything else is added up in fractions, which decide. Totals are exact decimals. The exponents
of decimals reach so far that no sum, logarithm or power of floats leaves their range. The value is
the nearest float to an objective of 50 digits; one below all floats is -inf.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact, localcontext
from fractions import Fraction

import numpy as np

from optsched.families.bot.instance import BotInstance, BotSchedule, latest
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import EPS, exact
from optsched.problem import Verdict, Violation

FAR = 10**6  # exponents; the smallest rate to the power of -99 has one of 32000
EXACT = Context(prec=1000, Emax=FAR, Emin=-FAR, traps=[Inexact])  # a sum of floats has 700 digits
NEAREST = Context(prec=50, rounding=ROUND_HALF_EVEN, Emax=FAR, Emin=-FAR)
LARGEST = sys.float_info.max
DUST = 1e-280  # above all that underflows, negligible for a capacity: 0, or at least 1e-30
ROUNDING = 1.001 * 2.0**-53  # of one operation, relatively, or of one number that is read


def verify(inst: BotInstance, schedule: BotSchedule, *, unfinished: bool = False) -> Verdict:  # noqa: ARG001
    """Check ``schedule`` and recompute its objective.

    Parameters
    ----------
    inst : BotInstance
    schedule : BotSchedule
    unfinished : bool
        Means nothing here: bags have no end.

    Returns
    -------
    Verdict
        Every violated constraint with its place and amount (flop/s, byte/s, tasks/s), or the
        objective (10): the utility of all rates, the smallest rate for max-min. An application that
        gets nothing makes it -inf where the utility is unbounded.
    """
    verifier = _Verifier(inst, schedule)
    found = [*verifier.misplaced()] or [*verifier.node_loads(), *verifier.arc_loads()]
    if found:
        return Verdict(violations=tuple(found), value=None)
    return Verdict(value=_objective(inst, totals(inst, schedule)))


@latest
def totals(inst: BotInstance, schedule: BotSchedule) -> tuple[Fraction, ...]:
    """Return the rate rho_k of every application, exactly."""
    found: list[list[str]] = [[] for _ in inst.applications]
    for _, k, rate in schedule.rates:
        found[k].append(str(rate))
    with localcontext(EXACT):
        return tuple(Fraction(sum(map(Decimal, rates), Decimal(0))) for rates in found)


def _objective(inst: BotInstance, rates: Sequence[Fraction]) -> float:
    """Return (10) at the totals rho_k."""
    if inst.alpha == "inf":
        return float(min(rates))
    alpha = _decimal(float(inst.alpha))
    if alpha >= 1 and min(rates) <= 0:
        return -math.inf
    with localcontext(NEAREST):
        value = Decimal(0)
        for app, rate in zip(inst.applications, rates, strict=True):
            if rate > 0:
                rho = Decimal(rate.numerator) / Decimal(rate.denominator)
                value += _decimal(app.weight) * _utility(alpha, rho)
        return float(value)


def _utility(alpha: Decimal, rho: Decimal) -> Decimal:
    power = 1 - alpha
    if power in (0, 1):
        return rho if power else rho.ln()
    return (power * rho.ln()).exp() / power


class _Verifier:
    def __init__(self, inst: BotInstance, schedule: BotSchedule) -> None:
        self.inst, self.schedule = inst, schedule
        self.rho = np.zeros((len(inst.applications), len(inst.speed)))  # (K, N)

    def misplaced(self) -> Iterator[Violation]:
        """Read the rates; report those of pairs that do not exist, or are given twice."""
        inst = self.inst
        apps, nodes = self.rho.shape
        given = dict[int, float]()  # pair -> rate
        for n, k, rate in self.schedule.rates:
            if n >= nodes or k >= apps:
                place = f"node {n} of {nodes}, application {k} of {apps} does not exist"
                yield Violation(equation="10d", place=place, amount=rate)
                continue
            if k * nodes + n in given:
                place = f"node {n}, application {k} is given twice"
                yield Violation(equation="10d", place=place, amount=rate)
            given[k * nodes + n] = rate
        self.rho.ravel()[list(given)] = list(given.values())
        for k, n in zip(*np.nonzero((self.rho > 0) & ~inst.present), strict=True):
            place = f"node {n}, application {k}: {self.why(int(k), int(n))}"
            yield Violation(equation="10d", place=place, amount=float(self.rho[k, n]))

    def why(self, k: int, n: int) -> str:
        app = self.inst.applications[k]
        if app.allowed is not None and n not in app.allowed:
            return "the node is not allowed"
        return "the node has speed 0" if self.inst.speed[n] == 0 else "no route leads there"

    def node_loads(self) -> Iterator[Violation]:
        inst = self.inst
        load = np.zeros(len(inst.speed))
        with np.errstate(over="ignore"):
            for app, rates in zip(inst.applications, self.rho, strict=True):
                load += _used(app.flop, rates)
            over = self.unsure(load, np.array(inst.speed))
        for n in over:
            used = sum(
                (
                    exact(app.flop) * exact(float(r))
                    for app, r in zip(inst.applications, self.rho[:, n], strict=True)
                ),
                Fraction(0),
            )
            yield from _fits("10b", f"node {n}", used, inst.speed[n])

    def arc_loads(self) -> Iterator[Violation]:
        inst = self.inst
        load = np.zeros(2 * len(inst.links))
        with np.errstate(over="ignore"):
            for app, way, rates in zip(inst.applications, inst.deployments, self.rho, strict=True):
                below = _subtree_sums(way.order, way.before, rates)
                routed = np.flatnonzero(way.arc >= 0)
                arc = way.arc[routed]
                np.add.at(load, arc, _used(app.bytes, below[routed]))
                np.add.at(load, arc ^ 1, _used(app.return_bytes, below[routed]))
            over = self.unsure(load, inst.bandwidth)
        for place in over:
            used = self.exact_load(place)
            yield from _fits("10c", inst.arc_name(place), used, float(inst.bandwidth[place]))

    def unsure(self, load: Floats, capacity: Floats) -> list[int]:
        """Return where a load that was added up in floats does not surely fit.

        Each rate comes at most once, with its dust; numbers and products are read and rounded.
        """
        error = (2 * len(self.schedule.rates) + 16) * ROUNDING
        return np.flatnonzero(~(load <= capacity * (1 + float(EPS) - error))).tolist()

    def exact_load(self, arc: int) -> Fraction:
        total = Fraction(0)
        for k, (app, way) in enumerate(
            zip(self.inst.applications, self.inst.deployments, strict=True)
        ):
            for used, size in ((arc, app.bytes), (arc ^ 1, app.return_bytes)):
                if size > 0:
                    for top in np.flatnonzero(way.arc == used).tolist():
                        nodes = _below(way.order, way.before, top)
                        rates = (exact(x) for x in self.rho[k, nodes].tolist() if x > 0)
                        total += exact(size) * sum(rates, Fraction(0))
        return total


def _fits(equation: str, place: str, used: Fraction, capacity: float) -> Iterator[Violation]:
    c = exact(capacity)
    if used > c * (1 + EPS):  # relative at any size: speeds and bandwidths have no natural unit
        amount = float(min(used - c, Fraction(LARGEST)))
        yield Violation(equation=equation, place=place, amount=amount)


def _used(size: float, rates: Floats) -> Floats:
    """Return size times rates, and more than any underflow."""
    if size == 0:
        return np.zeros(len(rates))
    return np.asarray(size * rates + DUST * (rates > 0))


def _decimal(x: float) -> Decimal:
    return Decimal(str(x))


def _subtree_sums(order: Ints, before: Ints, rates: Floats) -> Floats:
    """Return for each node the rate there and beyond, seen from the master."""
    sums, beyond = rates.tolist(), order[:0:-1]
    for node, last in zip(beyond.tolist(), before[beyond].tolist(), strict=True):
        sums[last] += sums[node]
    return np.array(sums)


def _below(order: Ints, before: Ints, top: int) -> Ints:
    inside = np.zeros(len(before), bool)
    inside[top] = True
    for node in order.tolist():
        if before[node] >= 0 and inside[before[node]]:
            inside[node] = True
    return np.flatnonzero(inside)
