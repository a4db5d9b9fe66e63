"""Certificates of an upper bound on the optimum of family `bot`, and their checker.

Put prices >= 0 on the flop of nodes and on the bytes of arcs. A task of application k costs at
least

    price_k = min over its nodes n of  w_k lambda_n + b_k * sum of mu on the route from the master
                                       (+ return bytes * sum of mu on the way back),

so all rates together cost sum_k price_k rho_k, and no platform can be sold for more than its
capacity is worth, pay = sum_n lambda_n W_n + sum_arcs mu B. Whatever is maximized, the best that a
budget of ``pay`` buys is a bound:

    logarithm          sum_k g_k ln(g_k pay / (G price_k)),               G = sum_k g_k
    alpha-fairness     A^alpha pay^(1 - alpha) / (1 - alpha)
                       with A = sum_k g_k^(1/alpha) price_k^(1 - 1/alpha)
    total throughput   pay * max_k g_k / price_k
    max-min            pay / sum_k price_k, the smallest rate

None of them changes when all prices are multiplied. Max-min goes on after the smallest rate: a
further level has ``floors`` for the applications that are settled, and says that whoever gives
them at least that gives the others at most (pay - sum of price * floor) / (sum of their prices).

The checker is a judge: whole numbers and fractions only; ln and powers are enclosed, and the
bound is the upper end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt

from optsched.families.bot.certificate_enclosure import ln, power
from optsched.families.bot.instance import BotInstance, Floats
from optsched.problem import Frozen
from optsched.resources import exact

LARGEST = 20_000_000  # characters of a certificate's JSON text

Entry = tuple[NonNegativeInt, NonNegativeInt]
"""[node or arc, price on the grid]; a price that is not listed is 0."""


class Prices(Frozen):
    """Prices, as whole multiples of 2**-bits."""

    node_bits: int = Field(
        ge=-2000, le=2000, description="prices of a flop are times 2**-node_bits"
    )
    arc_bits: int = Field(ge=-2000, le=2000, description="unit of arc prices: 2**-arc_bits")
    nodes: tuple[Entry, ...] = Field(description="[node, price of a flop]")
    arcs: tuple[Entry, ...] = Field(description="[arc, price of a byte]")
    floors: tuple[NonNegativeFloat | None, ...] | None = Field(
        default=None,
        description="of a level of max-min after the first: rates (tasks/s) of the applications "
        "that are settled, None for the others",
    )

    @classmethod
    def of(cls, nodes: Floats, arcs: Floats, floors: Sequence[float | None] | None = None) -> Self:
        """Round prices, shapes (N,) and (2 L,), to a grid."""
        node_bits, node_entries = _on_grid(nodes)
        arc_bits, arc_entries = _on_grid(arcs)
        return cls(
            node_bits=node_bits,
            arc_bits=arc_bits,
            nodes=node_entries,
            arcs=arc_entries,
            floors=None if floors is None else tuple(floors),
        )


def _on_grid(prices: Floats) -> tuple[int, tuple[Entry, ...]]:
    largest = float(prices.max(initial=0.0))
    if largest <= 0:
        return 0, ()
    bits = 50 - math.frexp(largest)[1]
    whole = [round(math.ldexp(max(x, 0.0), bits)) for x in prices.tolist()]
    return bits, tuple((i, x) for i, x in enumerate(whole) if x > 0)


class BotCertificate(Frozen):
    """Why no schedule of an instance is worth more than a bound."""

    instance_sha256: str
    levels: tuple[Prices, ...] = Field(
        min_length=1, description="one; for max-min one per level, the lowest first"
    )


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
        The certificate belongs to another instance, or holds what is not allowed there.
    """
    return level_bounds(inst, certificate)[0]


def level_bounds(inst: BotInstance, certificate: BotCertificate) -> list[float]:
    """Return the bound of every level.

    Raises
    ------
    ValueError
        As in :func:`check`.
    """
    size = len(certificate.model_dump_json())
    if size > LARGEST:
        raise ValueError(f"the certificate has {size} characters, expected at most {LARGEST}")
    if certificate.instance_sha256 != inst.digest():
        raise ValueError(
            f"the certificate belongs to instance {certificate.instance_sha256}, "
            f"this instance is {inst.digest()}"
        )
    if len(certificate.levels) > 1 and inst.alpha != "inf":
        raise ValueError(
            f"{len(certificate.levels)} levels, expected 1: only max-min fairness has several"
        )
    market = _Market(inst)
    return [_level(inst, market, j, prices) for j, prices in enumerate(certificate.levels)]


def _level(inst: BotInstance, market: _Market, j: int, prices: Prices) -> float:
    pay, task = market.evaluate(f"level {j}", prices)
    if (prices.floors is not None) != (j > 0):
        raise ValueError(f"level {j}: has {'no' if j else ''} floors, expected them above level 0")
    if prices.floors is not None:
        return _float_above(_next_level(j, pay, task, prices.floors))
    return _float_above(budget_bound(inst, pay, task))


def budget_bound(inst: BotInstance, pay: Fraction, task: Sequence[Fraction]) -> Fraction:
    """Return at least what rates are worth that cost at most ``pay`` at ``task`` each.

    Raises
    ------
    ValueError
        Somebody's tasks are free, so that these prices bound nothing.
    """
    weights = [exact(app.weight) for app in inst.applications]
    if inst.alpha == "inf":
        total = sum(task, Fraction(0))
        if total == 0:
            raise ValueError("all tasks are free, expected a price for some application")
        return pay / total
    free = [k for k, price in enumerate(task) if price == 0]
    if free:
        raise ValueError(
            f"application {free[0]}: its tasks are free at these prices, expected all to cost"
        )
    if pay == 0:
        raise ValueError("the platform is worth nothing, expected prices of what is used")
    alpha = exact(float(inst.alpha))
    if alpha == 0:
        return pay * max(g / price for g, price in zip(weights, task, strict=True))
    if alpha == 1:
        whole = sum(weights)
        return sum(
            (g * ln(g * pay / (whole * p))[1] for g, p in zip(weights, task, strict=True)),
            Fraction(0),
        )
    # the multiplier 1 / (1 - alpha) turns the sides around above 1
    side = 1 if alpha < 1 else 0
    total = sum(
        (
            power(g, 1 / alpha)[side] * power(price, 1 - 1 / alpha)[side]
            for g, price in zip(weights, task, strict=True)
        ),
        Fraction(0),
    )
    return power(total, alpha)[side] * power(pay, 1 - alpha)[side] / (1 - alpha)


def _next_level(
    j: int, pay: Fraction, task: Sequence[Fraction], floors: Sequence[float | None]
) -> Fraction:
    if len(floors) != len(task):
        raise ValueError(f"level {j}: has {len(floors)} floors, expected {len(task)}")
    settled = sum(
        (p * exact(f) for p, f in zip(task, floors, strict=True) if f is not None), Fraction(0)
    )
    others = sum((p for p, f in zip(task, floors, strict=True) if f is None), Fraction(0))
    if others == 0:
        raise ValueError(f"level {j}: the tasks of all others are free, expected one to cost")
    return (pay - settled) / others


class _Market:
    """What capacity and tasks cost, in whole numbers."""

    def __init__(self, inst: BotInstance) -> None:
        self.inst = inst
        self.speed, self.speed_unit = _whole(inst.speed)
        self.bandwidth, self.bandwidth_unit = _whole(inst.bandwidth.tolist())

    def evaluate(self, place: str, prices: Prices) -> tuple[Fraction, list[Fraction]]:
        """Return pay, and the price of a task of each application."""
        node = _dense(f"{place}, node", prices.nodes, len(self.speed))
        arc = _dense(f"{place}, arc", prices.arcs, len(self.bandwidth))
        node_unit = Fraction(2) ** prices.node_bits
        arc_unit = Fraction(2) ** prices.arc_bits
        pay = Fraction(_dot(node, self.speed), self.speed_unit) / node_unit
        pay += Fraction(_dot(arc, self.bandwidth), self.bandwidth_unit) / arc_unit
        return pay, [
            self.cheapest(k, node, node_unit, arc, arc_unit)
            for k in range(len(self.inst.applications))
        ]

    def cheapest(
        self, k: int, node: list[int], node_unit: Fraction, arc: list[int], arc_unit: Fraction
    ) -> Fraction:
        app, way = self.inst.applications[k], self.inst.deployments[k]
        flop, there, back = (
            exact(app.flop) / node_unit,
            exact(app.bytes) / arc_unit,
            exact(app.return_bytes) / arc_unit,
        )
        unit = math.lcm(flop.denominator, there.denominator, back.denominator)
        per_flop, per_byte, per_return = (int(x * unit) for x in (flop, there, back))
        before, arcs, present = way.before.tolist(), way.arc.tolist(), way.present.tolist()
        route = [0] * len(node)
        best: int | None = None
        for n in way.order.tolist():
            if arcs[n] >= 0:
                a = arcs[n]
                route[n] = route[before[n]] + per_byte * arc[a] + per_return * arc[a ^ 1]
            if present[n]:
                cost = per_flop * node[n] + route[n]
                best = cost if best is None or cost < best else best
        assert best is not None  # an instance has no application without a node
        return Fraction(best, unit)


def _whole(numbers: Sequence[float]) -> tuple[list[int], int]:
    """Return numbers as integers over a common denominator."""
    fractions = [exact(x) for x in numbers]
    unit = math.lcm(*{f.denominator for f in fractions})
    return [f.numerator * (unit // f.denominator) for f in fractions], unit


def _dense(place: str, entries: Sequence[Entry], size: int) -> list[int]:
    dense: list[int] = [0] * size
    last = -1
    for i, price in entries:
        if i >= size:
            raise ValueError(f"{place} {i} does not exist, expected 0..{size - 1}")
        if i <= last:
            raise ValueError(f"{place} {i}: comes after {last}, expected rising numbers")
        last = i
        dense[i] = price
    return dense


def _dot(x: Sequence[int], y: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(x, y, strict=True) if a)


def _float_above(x: Fraction) -> float:
    try:
        near = float(x)
    except OverflowError as err:
        raise ValueError("the bound is beyond the largest float, expected other prices") from err
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)
