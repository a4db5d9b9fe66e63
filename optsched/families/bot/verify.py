"""The judge of family `bot`, from the definition (10); it knows no model and no policy.

All numbers are the decimals that are written. Loads are added up in decimals of 60 digits, rounded
upwards: what then fits, fits. Where one does not, it is added up again in fractions, which decide.
The exponents of these decimals reach so far that no product of floats, no sum, logarithm or power
of them leaves their range. The value is the nearest float to an objective of 50 digits; one below
all floats is -inf.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal, Inexact, localcontext
from fractions import Fraction

import numpy as np

from optsched.families.bot.instance import BotInstance, BotSchedule
from optsched.numbers.arrays import Ints
from optsched.numbers.resources import EPS, exact
from optsched.problem import Verdict, Violation

FAR = 10**6  # exponents; the smallest rate to the power of -99 has one of 32000
UPWARDS = Context(prec=60, rounding=ROUND_CEILING, Emax=FAR, Emin=-FAR)
EXACT = Context(prec=1000, Emax=FAR, Emin=-FAR, traps=[Inexact])  # a sum of floats has 700 digits
NEAREST = Context(prec=50, rounding=ROUND_HALF_EVEN, Emax=FAR, Emin=-FAR)
FITS = 1 + Decimal(EPS.numerator) / Decimal(EPS.denominator)  # relative: nothing has a natural unit
LARGEST = sys.float_info.max


def verify(inst: BotInstance, schedule: BotSchedule, *, unfinished: bool = False) -> Verdict:  # noqa: ARG001
    """Judge ``schedule`` and recompute its objective.

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
    judge = _Judge(inst, schedule)
    found = tuple(judge.violations())
    if found:
        return Verdict(violations=found, value=None)
    return Verdict(value=_objective(inst, totals(inst, schedule)))


def totals(inst: BotInstance, schedule: BotSchedule) -> list[Fraction]:
    """Return the rate rho_k of every application, exactly."""
    found = [Decimal(0)] * len(inst.applications)
    with localcontext(EXACT):
        for _, k, rate in schedule.rates:
            found[k] += _decimal(rate)
    return [Fraction(x) for x in found]


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


class _Judge:
    def __init__(self, inst: BotInstance, schedule: BotSchedule) -> None:
        self.inst, self.schedule = inst, schedule
        self.rho = np.zeros((len(inst.applications), len(inst.speed)))  # (K, N)

    def violations(self) -> Iterator[Violation]:
        misplaced = list(self.misplaced())
        yield from misplaced
        if misplaced:
            return
        yield from self.node_loads()
        yield from self.arc_loads()

    def misplaced(self) -> Iterator[Violation]:
        """Read the rates; report those of pairs that do not exist, or are given twice."""
        inst = self.inst
        apps, nodes = self.rho.shape
        seen = np.zeros(self.rho.shape, bool)
        for n, k, rate in self.schedule.rates:
            if n >= nodes or k >= apps:
                place = f"node {n} of {nodes}, application {k} of {apps} does not exist"
                yield Violation(equation="10d", place=place, amount=rate)
                continue
            if seen[k, n]:
                place = f"node {n}, application {k} is given twice"
                yield Violation(equation="10d", place=place, amount=rate)
            seen[k, n] = True
            self.rho[k, n] = rate
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
        load = [Decimal(0)] * len(inst.speed)
        with localcontext(UPWARDS):
            for app, rates in zip(inst.applications, self.rho, strict=True):
                flop = _decimal(app.flop)
                for n in np.flatnonzero(rates).tolist():
                    load[n] += flop * _decimal(float(rates[n]))
            over = _above(load, inst.speed)
        for n in over:
            used = sum(
                (
                    exact(app.flop) * exact(float(r))
                    for app, r in zip(inst.applications, self.rho[:, n], strict=True)
                ),
                Fraction(0),
            )
            yield from _judged("10b", f"node {n}", used, inst.speed[n])

    def arc_loads(self) -> Iterator[Violation]:
        inst = self.inst
        load = [Decimal(0)] * (2 * len(inst.links))
        with localcontext(UPWARDS):
            for k, (app, way) in enumerate(zip(inst.applications, inst.deployments, strict=True)):
                sent, back = _decimal(app.bytes), _decimal(app.return_bytes)
                below = _subtree_sums(way.order, way.before, self.rho[k].tolist())
                for n, arc in enumerate(way.arc.tolist()):
                    if arc >= 0 and below[n]:
                        load[arc] += sent * below[n]
                        load[arc ^ 1] += back * below[n]
            over = _above(load, inst.bandwidth.tolist())
        for arc in over:
            used = self.exact_load(arc)
            yield from _judged("10c", inst.arc_name(arc), used, float(inst.bandwidth[arc]))

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


def _judged(equation: str, place: str, used: Fraction, capacity: float) -> Iterator[Violation]:
    c = exact(capacity)
    if used > c * (1 + EPS):  # relative at any size: speeds and bandwidths have no natural unit
        amount = float(min(used - c, Fraction(LARGEST)))
        yield Violation(equation=equation, place=place, amount=amount)


def _above(load: Sequence[Decimal], capacity: Sequence[float]) -> list[int]:
    """Return where a load that was rounded upwards might not fit."""
    pairs = enumerate(zip(load, capacity, strict=True))
    return [i for i, (x, c) in pairs if x > _decimal(c) * FITS]  # of 27 digits: exact


def _decimal(x: float) -> Decimal:
    return Decimal(str(x))


def _subtree_sums(order: Ints, before: Ints, rates: Sequence[float]) -> list[Decimal]:
    """Return for each node what runs there and beyond, seen from the master."""
    sums = [_decimal(x) for x in rates]
    last = before.tolist()
    for node in order[:0:-1].tolist():
        if sums[node]:
            sums[last[node]] += sums[node]
    return sums


def _below(order: Ints, before: Ints, top: int) -> Ints:
    inside = np.zeros(len(before), bool)
    inside[top] = True
    for node in order.tolist():
        if before[node] >= 0 and inside[before[node]]:
            inside[node] = True
    return np.flatnonzero(inside)
