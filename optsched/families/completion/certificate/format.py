"""Certificates of a dual bound for family `completion`, and their exact checker.

A certificate is a tree of splits with prices at its leaves (Cheung et al., 2017); each leaf has a
Lagrangian dual bound (Geoffrion, 1974).

For any prices >= 0 of capacity, no schedule costs less than

    B = sum_j min over schedules of j of (w_j C + cost of its workers and PS) - prices * capacity,

on empty servers: equal servers form a class with one price per slot and resource. After the last
priced slot all is free of charge, so later starts need not be looked at, however long the horizon.

Where the certificate is ``relaxed``, its prices are duals of the linear relaxation, whose value
they prove: jobs may be split (`declared`), and there is one leaf.

A tree of restrictions makes the bound tighter: every inner node splits the schedules in two by an
attribute of one job (at most a value | more), so that its leaves cover all; each leaf has its own
prices and bound, and the least is the bound of the tree.

Without loss a job runs in a mode with the least number of workers for its duration (given worker
type, PS type and locality), no longer than (2f) requires, with one host of parameter servers (PS):
taking workers or PS away, or stopping earlier, breaks no constraint. The tree splits those.

The checker uses integers only, no tolerance but the instance's own, no code of any solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, NonNegativeInt

from optsched.families.completion.certificate.bound import (
    UNLIMITED,
    BoundEvaluator,
    ScaledPrices,
    value_step,
)
from optsched.families.completion.certificate.declared import relaxed_bound
from optsched.families.completion.certificate.program import TimelineProof, proved
from optsched.families.completion.instance import LATEST, CompletionInstance
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import exact
from optsched.problem import Frozen
from optsched.proofs.grid import LARGEST_PRICE, float_below, sparse, to_grid
from optsched.proofs.limits import check_owner, check_size, inside
from optsched.proofs.tree import Change, change, check_tree, walk

MOST_BITS = 400  # of the grid of prices, and as many below 0
ATTRIBUTES = ("start", "completion", "worker_type", "workers", "together")


class Leaf(Frozen):
    """A set of schedules that is bounded by prices; a price that is not listed is 0."""

    node: Literal["leaf"] = "leaf"
    prices: int = Field(ge=0, description="which of the certificate's price lists is its own")


class Split(Frozen):
    """The attribute of the job is at most ``at`` | more."""

    node: Literal["split"] = "split"
    job: NonNegativeInt
    attribute: Literal["start", "completion", "worker_type", "workers", "together"]
    at: NonNegativeInt = Field(le=LATEST)
    left: NonNegativeInt = Field(description="index of the node of the first half")
    right: NonNegativeInt = Field(description="index of the node of the second half")


Node = Annotated[Leaf | Split, Field(discriminator="node")]
Slot = Annotated[int, Field(ge=0, le=LATEST)]
Price = Annotated[int, Field(ge=0, lt=LARGEST_PRICE)]
PriceList = tuple[tuple[Slot, NonNegativeInt, NonNegativeInt, Price], ...]


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
    nodes: tuple[Node, ...] = Field(min_length=1, description="a tree; the first is its root")
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
        The certificate belongs to another instance, is no tree, or holds what is not allowed; the
        message states where.
    """
    check_size(certificate)
    if certificate.relaxed:
        split = _relaxed(inst, certificate)
        if split is None or split > latest_cost(inst):
            return math.inf
        return max(0.0, float_below(split))
    leaves = list(leaf_bounds(inst, certificate))
    least = min((b for b in leaves if b is not None), default=None)
    if least is not None and certificate.program is not None:
        least = max(least, proved(BoundEvaluator(inst), certificate.program))
    if least is None or least > latest_cost(inst):
        return math.inf
    return max(0.0, float_below(round_up(inst, least)))


def _relaxed(inst: CompletionInstance, certificate: CompletionCertificate) -> Fraction | None:
    """Return what the duals of the linear relaxation prove; None where there is no schedule."""
    check_owner(inst, certificate.instance_sha256)
    check_tree(certificate.nodes, lambda k, node: _check(inst, len(certificate.prices), k, node))
    leaf = certificate.nodes[0]
    if not isinstance(leaf, Leaf) or certificate.program is not None:
        raise ValueError("relaxed: there is a tree or a program, expected one leaf")
    evaluation, prices = BoundEvaluator(inst), certificate.prices[leaf.prices]
    priced = evaluation.priced(prices, certificate.grid_bits, f"price list {leaf.prices}")
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


def leaf_bounds(
    inst: CompletionInstance, certificate: CompletionCertificate
) -> Iterator[Fraction | None]:
    """Yield the bounds of the leaves from left to right; None where no schedule is left.

    Raises
    ------
    ValueError
        As in :func:`check`.
    """
    check_owner(inst, certificate.instance_sha256)
    nodes, lists = certificate.nodes, certificate.prices
    check_tree(nodes, lambda k, node: _check(inst, len(lists), k, node))
    splits = [node.at + 1 for node in nodes if isinstance(node, Split)]
    evaluation = BoundEvaluator(inst, max(splits, default=0))
    limits = np.zeros((len(inst.jobs), len(ATTRIBUTES), 2), np.int64)
    limits[:, :, 1] = UNLIMITED
    if inst.deadline is not None:
        limits[:, ATTRIBUTES.index("completion"), 1] = inst.deadline

    @lru_cache(maxsize=1)  # price lists come one after the other
    def priced(which: int) -> ScaledPrices:
        return evaluation.priced(lists[which], certificate.grid_bits, f"price list {which}")

    for k, _ in walk(nodes, lambda split, right: _restrict(limits, split, right)):
        leaf = nodes[k]
        assert isinstance(leaf, Leaf)
        yield evaluation.bound(limits, priced(leaf.prices))


def _check(inst: CompletionInstance, lists: int, k: int, node: Leaf | Split) -> None:
    """Refuse a price list or a job that does not exist."""
    if isinstance(node, Leaf):
        inside(f"node {k}", "price list", node.prices, 0, lists - 1)
    else:
        inside(f"node {k}", "job", node.job, 0, len(inst.jobs) - 1)


def _restrict(limits: Ints, split: Split, right: bool) -> list[Change]:
    """Go down one side of a split; ``limits`` (J, 5, 2) are least and most of each attribute."""
    where = (split.job, ATTRIBUTES.index(split.attribute), 0 if right else 1)
    if right:
        return [change(limits, where, max(limits[where], split.at + 1))]
    return [change(limits, where, min(limits[where], split.at))]
