"""Certificates of a dual bound for family `completion`, and their exact checker.

A certificate has prices, which prove a Lagrangian dual bound (Geoffrion, 1974), and may have a
program over time (`program`), which proves a value. For any prices >= 0 of capacity, no schedule
costs less than

    B = sum_j min over schedules of j of (w_j C + cost of its workers and PS) - prices * capacity,

on empty servers: equal servers form a class with one price per slot and resource. After the last
priced slot all is free of charge, so later starts need not be looked at, however long the horizon.

Where the certificate is ``relaxed``, its prices are duals of the linear relaxation, whose value
they prove: jobs may be split (`declared`).

Without loss a job runs in a mode with the least number of workers for its duration (given worker
type, PS type and locality), no longer than (2f) requires, with one host of parameter servers (PS):
taking workers or PS away, or stopping earlier, breaks no constraint.

The checker uses integers only, no tolerance but the instance's own, no code of any solver.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, Self

from pydantic import Field

from optsched.families.completion.certificate.bound import BoundEvaluator, value_step
from optsched.families.completion.certificate.declared import relaxed_bound
from optsched.families.completion.certificate.program import PriceList, TimelineProof, proved
from optsched.families.completion.instance import CompletionInstance
from optsched.numbers.arrays import Floats
from optsched.numbers.resources import exact
from optsched.problem import Frozen
from optsched.proofs.grid import float_below, sparse, to_grid
from optsched.proofs.limits import check_owner, check_size, inside

MOST_BITS = 400  # of the grid of prices, and as many below 0


class Leaf(Frozen):
    """All schedules are bounded by prices; a price that is not listed is 0."""

    node: Literal["leaf"] = "leaf"
    prices: int = Field(ge=0, description="which of the certificate's price lists is its own")


class CompletionCertificate(Frozen):
    """Why no schedule of an instance costs less than a bound."""

    instance_sha256: str
    grid_bits: int = Field(
        ge=-MOST_BITS,
        le=MOST_BITS,
        description="prices are integers, in cost units times 2**-grid_bits",
    )
    prices: tuple[PriceList, ...] = Field(
        description="lists of [slot, class of servers, resource, price of one demand unit]"
    )
    nodes: tuple[Leaf] = Field(description="the one node, a leaf")
    program: TimelineProof | None = Field(
        default=None, description="a program over time, whose value is then the bound"
    )
    relaxed: bool = Field(
        default=False,
        description="prices are duals of the linear relaxation, and jobs may be split",
    )

    @classmethod
    def root(cls, inst: CompletionInstance, prices: Floats, grid_bits: int) -> Self:
        """Certify by one set of prices (L, C, R), without a tree."""
        return cls(
            instance_sha256=inst.digest(),
            grid_bits=grid_bits,
            prices=(sparse(to_grid(prices, grid_bits)),),
            nodes=(Leaf(prices=0),),
        )


def check(inst: CompletionInstance, certificate: CompletionCertificate) -> float:
    """Re-evaluate a certificate.

    Returns
    -------
    float
        A bound that no schedule goes below, rounded downwards; infinite if no schedule exists.

    Raises
    ------
    ValueError
        The certificate belongs to another instance, or its content is invalid; the message
        states where.
    """
    check_size(certificate)
    least = price_bound(inst, certificate)
    if least is not None and certificate.program is not None:
        least = max(least, proved(BoundEvaluator(inst), certificate.program))
    if least is None or least > latest_cost(inst):
        return math.inf
    return max(0.0, float_below(least if certificate.relaxed else round_up(inst, least)))


def price_bound(inst: CompletionInstance, certificate: CompletionCertificate) -> Fraction | None:
    """Return what the prices prove; None where there is no schedule.

    Raises
    ------
    ValueError
        As in :func:`check`.
    """
    check_owner(inst, certificate.instance_sha256)
    which = certificate.nodes[0].prices
    inside("node 0", "price list", which, 0, len(certificate.prices) - 1)
    evaluation = BoundEvaluator(inst)
    priced = evaluation.priced(
        certificate.prices[which], certificate.grid_bits, f"price list {which}"
    )
    if not certificate.relaxed:
        return evaluation.bound(priced)
    if certificate.program is not None:
        raise ValueError("relaxed: there is a program, expected none")
    return relaxed_bound(evaluation, priced)


def latest_cost(inst: CompletionInstance) -> Fraction | float:
    """Return what no schedule exceeds: all jobs end at the deadline; infinity without one."""
    if inst.deadline is None:
        return math.inf
    return inst.deadline * sum((exact(job.weight) for job in inst.jobs), Fraction(0))


def round_up(inst: CompletionInstance, bound: Fraction) -> Fraction:
    """Return the least value not below ``bound`` that a sum of weights * slots can have."""
    step = value_step(inst)
    return math.ceil(bound / step) * step if step else bound
