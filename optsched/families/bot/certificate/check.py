"""Certificates of a dual bound for family `bot`, and their exact checker.

Weak duality with prices on nodes and links (Kelly et al., 1998), in exact fractions; enclosures as
in Moore (1966).

Put prices >= 0 on the flop of nodes and on the bytes of arcs. A task of application k costs at
least

    price_k = min over its nodes n of  w_k lambda_n + b_k * sum of mu on the route from the master
                                       (+ return bytes * sum of mu on the way back),

so all rates together cost sum_k price_k rho_k, which is at most the value of the capacity,
pay = sum_n lambda_n W_n + sum_arcs mu B. Whatever is maximized, the best that a budget of ``pay``
buys is a bound (`bound`). Max-min goes on after the smallest rate: a
further level has ``floors`` for the applications that are settled, and states that a schedule that
gives them at least that gives the others at most (pay - sum of price * floor) / (sum of their
prices).

The checker uses whole numbers and fractions only; ln and powers are enclosed, and the
bound is the upper end. A certificate has at most one entry per node, arc and application in each
level, and at most one level per application: its size is bounded by its instance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction
from typing import Annotated, NamedTuple, Self

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt

from optsched.families.bot.certificate.bound import log_mean, utility_of
from optsched.families.bot.instance import BotInstance, latest
from optsched.numbers.arrays import Floats
from optsched.numbers.resources import exact
from optsched.problem import Frozen
from optsched.process.interrupts import leave_if_abandoned
from optsched.proofs.grid import float_above
from optsched.proofs.limits import check_owner

LARGEST = 1e300  # price
EXACT = Context(prec=1000, Emax=10**6, Emin=-(10**6), traps=[Inexact])  # floats have 700 digits

Entry = tuple[NonNegativeInt, Annotated[float, Field(ge=0, le=LARGEST)]]
"""[node or arc, price]; a price that is not listed is 0."""


class Prices(Frozen):
    """Prices, as the decimals that are written. Multiplying all by one number changes nothing."""

    nodes: tuple[Entry, ...] = Field(description="[node, price of a flop], rising numbers")
    arcs: tuple[Entry, ...] = Field(description="[arc, price of a byte], rising numbers")
    floors: tuple[NonNegativeFloat | None, ...] | None = Field(
        default=None,
        description="of a level of max-min after the first: rates (tasks/s) of the applications "
        "that are settled, None for the others",
    )

    @classmethod
    def of(cls, nodes: Floats, arcs: Floats, floors: Sequence[float | None] | None = None) -> Self:
        """List the prices above 0, shapes (N,) and (2 L,); NaN counts as 0."""
        settled = None if floors is None else tuple(floors)
        return cls(nodes=_listed(nodes), arcs=_listed(arcs), floors=settled)


def _listed(prices: Floats) -> tuple[Entry, ...]:
    return tuple((i, x) for i, x in enumerate(prices.tolist()) if 0 < x <= LARGEST)


class BotCertificate(Frozen):
    """Certificate: no schedule of an instance has a value above a bound."""

    instance_sha256: str
    levels: tuple[Prices, ...] = Field(
        min_length=1, description="one; for max-min one per level, the lowest first"
    )


class PriceLevel(NamedTuple):
    """Consequences of the prices of one level."""

    pay: Fraction
    """Value of the platform at these prices."""

    task: tuple[Fraction, ...]
    """Least cost of a task of each application, shape (K,)."""

    floors: tuple[Fraction | None, ...]
    """Floors of the applications that are settled, None for the others, shape (K,)."""

    def bound(self) -> Fraction:
        """Return the bound on the least rate of the others if the settled have their floors."""
        settled = sum(
            (p * f for p, f in zip(self.task, self.floors, strict=True) if f is not None),
            Fraction(0),
        )
        return (self.pay - settled) / self.others()

    def others(self) -> Fraction:
        """Return the price of one task of each application that is not settled."""
        pairs = zip(self.task, self.floors, strict=True)
        return sum((p for p, f in pairs if f is None), Fraction(0))


def check(inst: BotInstance, certificate: BotCertificate) -> float:
    """Re-evaluate a certificate.

    Returns
    -------
    float
        A bound that no schedule exceeds, rounded upwards; for max-min a bound on the smallest rate
        (`level_bounds` has the others).

    Raises
    ------
    ValueError
        The certificate belongs to another instance, or holds invalid entries there.
    """
    return level_bounds(inst, certificate)[0]


def level_bounds(inst: BotInstance, certificate: BotCertificate) -> list[float]:
    """Return the bound of every level.

    Raises
    ------
    ValueError
        As in :func:`check`.
    """
    found = levels(inst, certificate)
    if inst.alpha == "inf":
        return [float_above(level.bound()) for level in found]
    return [utility_of(inst, log_mean(inst, level.pay, level.task)) for level in found]


@latest
def levels(inst: BotInstance, certificate: BotCertificate) -> tuple[PriceLevel, ...]:
    """Return the data of every level; each settles more applications than the one before.

    Raises
    ------
    ValueError
        As in :func:`check`.
    """
    check_owner(inst, certificate.instance_sha256)
    count, most = len(certificate.levels), len(inst.applications) if inst.alpha == "inf" else 1
    if count > most:
        raise ValueError(
            f"{count} levels, expected at most {most}: "
            "only max-min fairness has several, one per application"
        )
    market, apps = _market(inst), len(inst.applications)
    found: list[PriceLevel] = []
    before: set[int] = set()
    for j, prices in enumerate(certificate.levels):
        if (prices.floors is not None) != (j > 0):
            raise ValueError(
                f"level {j}: has {'no' if j else ''} floors, expected them above level 0"
            )
        floors = (None,) * apps if prices.floors is None else prices.floors
        if len(floors) != apps:
            raise ValueError(f"level {j}: has {len(floors)} floors, expected {apps}")
        settled = {k for k, f in enumerate(floors) if f is not None}
        if j > 0 and not before < settled:
            raise ValueError(f"level {j}: settles no new application, or omits a settled one")
        before = settled
        pay, task = market.evaluate(f"level {j}", prices)
        level = PriceLevel(pay, task, tuple(None if f is None else exact(f) for f in floors))
        if inst.alpha == "inf" and level.others() == 0:
            raise ValueError(f"level {j}: the tasks of all others are free, expected one to cost")
        found.append(level)
    return tuple(found)


class _Market:
    """Costs of capacity and tasks, in whole numbers."""

    def __init__(self, inst: BotInstance) -> None:
        self.inst = inst
        self.speed, self.speed_unit = _whole(inst.speed)
        self.bandwidth, self.bandwidth_unit = _whole(inst.bandwidth.tolist())

    def evaluate(self, place: str, prices: Prices) -> tuple[Fraction, tuple[Fraction, ...]]:
        """Return pay, and the price of a task of each application."""
        node, node_unit = _dense(f"{place}, node", prices.nodes, len(self.speed))
        arc, arc_unit = _dense(f"{place}, arc", prices.arcs, len(self.bandwidth))
        pay = Fraction(_dot(node, self.speed), self.speed_unit * node_unit)
        pay += Fraction(_dot(arc, self.bandwidth), self.bandwidth_unit * arc_unit)
        return pay, tuple(
            self.cheapest(k, node, node_unit, arc, arc_unit)
            for k in range(len(self.inst.applications))
        )

    def cheapest(
        self, k: int, node: list[int], node_unit: int, arc: list[int], arc_unit: int
    ) -> Fraction:
        leave_if_abandoned()
        app, way = self.inst.applications[k], self.inst.deployments[k]
        flop, there, back = (
            exact(app.flop) / node_unit,
            exact(app.bytes) / arc_unit,
            exact(app.return_bytes) / arc_unit,
        )
        unit = math.lcm(flop.denominator, there.denominator, back.denominator)
        per_flop, per_byte, per_return = (int(x * unit) for x in (flop, there, back))
        route = [0] * len(node)
        if any(arc):
            step = [per_byte * x for x in arc]
            if per_return:
                step = [x + per_return * arc[a ^ 1] for a, x in enumerate(step)]
            beyond = way.order[1:]
            last, arcs = way.before[beyond].tolist(), way.arc[beyond].tolist()
            for n, m, a in zip(beyond.tolist(), last, arcs, strict=True):
                route[n] = route[m] + step[a]
        # an instance has no application without a node
        best = min(per_flop * node[n] + route[n] for n in np.flatnonzero(way.present).tolist())
        return Fraction(best, unit)


_market = latest(_Market)


def _whole(numbers: Sequence[float]) -> tuple[list[int], int]:
    """Return numbers as integers over a common denominator, a power of ten."""
    known = dict.fromkeys(numbers)  # many may be equal
    with localcontext(EXACT):
        decimals = list(map(Decimal, map(str, known)))
        finest = sum(decimals, Decimal(0)).as_tuple().exponent  # that of the finest of them
        assert isinstance(finest, int)  # floats that are finite
        whole = {x: int(d.scaleb(-finest)) for x, d in zip(known, decimals, strict=True)}
    return [whole[x] for x in numbers], 10**-finest


def _dense(place: str, entries: Sequence[Entry], size: int) -> tuple[list[int], int]:
    """Return the price of everything as integers over a common denominator."""
    last = -1
    for i, _ in entries:
        if i >= size:
            raise ValueError(f"{place} {i} does not exist, expected 0..{size - 1}")
        if i <= last:
            raise ValueError(f"{place} {i}: comes after {last}, expected rising numbers")
        last = i
    whole, unit = _whole([price for _, price in entries])
    dense = [0] * size
    for (i, _), price in zip(entries, whole, strict=True):
        dense[i] = price
    return dense, unit


def _dot(x: Sequence[int], y: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(x, y, strict=True) if a)
