"""The judge of family `bot`, from the definition (10); it knows no model and no policy.

Loads are added up in floats first; where one comes so near to what fits that rounding could
decide, it is added up again in fractions of the written decimals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from optsched.families.bot.instance import BotInstance, BotSchedule, Floats, Ints
from optsched.problem import Verdict, Violation
from optsched.resources import EPS, exact

NEAR = 1e-11  # relative; the float sums of a load err by less


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
    return Verdict(value=_objective(inst, judge.totals().tolist()))


def _objective(inst: BotInstance, totals: list[float]) -> float:
    """Return (10) at the totals rho_k."""
    if inst.alpha == "inf":
        return min(totals)
    alpha = float(inst.alpha)
    if alpha >= 1 and min(totals) <= 0:
        return -math.inf
    return math.fsum(
        app.weight * (math.log(rho) if alpha == 1 else rho ** (1 - alpha) / (1 - alpha))
        for app, rho in zip(inst.applications, totals, strict=True)
    )


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

    def totals(self) -> Floats:
        """Return rho_k, shape (K,)."""
        return np.array([_total(row) for row in self.rho])

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
        flop = np.array([app.flop for app in inst.applications])
        load, speed = flop @ self.rho, np.array(inst.speed)
        for n in np.flatnonzero(load > speed * (1 + float(EPS) - NEAR)).tolist():
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
        if not inst.links:
            return
        load = np.zeros(2 * len(inst.links))
        for k, (app, way) in enumerate(zip(inst.applications, inst.deployments, strict=True)):
            below = _subtree_sums(way.order, way.before, self.rho[k])
            routed = way.arc >= 0
            np.add.at(load, way.arc[routed], app.bytes * below[routed])
            np.add.at(load, way.arc[routed] ^ 1, app.return_bytes * below[routed])
        for arc in np.flatnonzero(load > inst.bandwidth * (1 + float(EPS) - NEAR)).tolist():
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
                        total += exact(size) * _sum(self.rho[k, nodes].tolist())
        return total


def _judged(equation: str, place: str, used: Fraction, capacity: float) -> Iterator[Violation]:
    c = exact(capacity)
    if used > c * (1 + EPS):  # relative at any size: speeds and bandwidths have no natural unit
        yield Violation(equation=equation, place=place, amount=float(used - c))


def _sum(rates: Iterable[float]) -> Fraction:
    return sum((exact(x) for x in rates if x > 0), Fraction(0))


def _total(row: Floats) -> float:
    return float(np.sum(row[row > 0]))


def _subtree_sums(order: Ints, before: Ints, rates: Floats) -> Floats:
    """Return for each node what runs there and beyond, seen from the master."""
    sums = rates.tolist()
    last = before.tolist()
    for node in order[:0:-1].tolist():
        sums[last[node]] += sums[node]
    return np.array(sums)


def _below(order: Ints, before: Ints, top: int) -> Ints:
    inside = np.zeros(len(before), bool)
    inside[top] = True
    for node in order.tolist():
        if before[node] >= 0 and inside[before[node]]:
            inside[node] = True
    return np.flatnonzero(inside)
