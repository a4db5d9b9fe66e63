"""Certificates of a lower bound on the optimum of family `completion`, and their checker.

For any prices >= 0 of capacity, no schedule costs less than

    B = sum_j min over schedules of j of (w_j C + cost of its workers and PS) - prices * capacity,

on empty servers: equal servers form a class with one price per slot and resource. After the last
priced slot all is free of charge, so later starts need not be looked at, however long the horizon.

A tree of restrictions makes the bound tighter: every inner node splits the schedules in two by an
attribute of one job (at most a value | more), so that its leaves cover all; each leaf has its own
prices and bound, and the least is the bound of the tree.

Without loss a job runs in a mode with the least number of workers for its duration (given worker
type, PS type and locality), no longer than (2f) asks, with one host of parameter servers (PS):
taking workers or PS away, or stopping earlier, breaks no constraint. The tree splits those.

The checker is a judge: integers only, no tolerance but the instance's own, no code of any solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, NonNegativeInt

from optsched.families.completion.certificate.bound import LARGEST_PRICE, UNLIMITED, Evaluation
from optsched.families.completion.instance import LATEST, CompletionInstance, float_below
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import exact
from optsched.problem import Frozen

LARGEST = 20_000_000  # characters of a certificate's JSON text
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

    @classmethod
    def root(cls, inst: CompletionInstance, prices: Floats, grid_bits: int) -> Self:
        """Certify by one set of prices (L, C, R), without a tree."""
        entries = sparse(to_grid(prices, grid_bits))
        return cls(
            instance_sha256=inst.digest(),
            grid_bits=grid_bits,
            prices=(entries,),
            nodes=(Leaf(prices=0),),
        )


def to_grid(prices: Floats, grid_bits: int) -> Ints:
    """Round prices to the grid; negative ones become 0."""
    return np.rint(np.clip(prices * 2.0**grid_bits, 0, LARGEST_PRICE / 2)).astype(np.int64)


def sparse(prices: Ints) -> PriceList:
    """Return the entries [slot, class, resource, price] that are not 0."""
    where = np.argwhere(prices > 0)
    return tuple((int(t), int(c), int(r), int(prices[t, c, r])) for t, c, r in where.tolist())


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
        message says where.
    """
    size = len(certificate.model_dump_json())
    if size > LARGEST:
        raise ValueError(f"the certificate has {size} characters, expected at most {LARGEST}")
    least = min((b for b in leaf_bounds(inst, certificate) if b is not None), default=None)
    if least is None or least > latest_cost(inst):
        return math.inf
    return max(0.0, float_below(round_up(inst, least)))


def latest_cost(inst: CompletionInstance) -> Fraction | float:
    """Return what no schedule exceeds: all jobs end at the deadline; infinity without one."""
    if inst.deadline is None:
        return math.inf
    return inst.deadline * sum((exact(job.weight) for job in inst.jobs), Fraction(0))


def round_up(inst: CompletionInstance, bound: Fraction) -> Fraction:
    """Return the least value not below ``bound`` that a sum of weights * slots can have.

    Weights are decimals, so they are whole multiples of their greatest common divisor.
    """
    weights = [exact(job.weight) for job in inst.jobs]
    if not weights:
        return bound
    whole = math.lcm(*(w.denominator for w in weights))
    step = Fraction(math.gcd(*(int(w * whole) for w in weights)), whole)
    return math.ceil(bound / step) * step


def leaf_bounds(
    inst: CompletionInstance, certificate: CompletionCertificate
) -> Iterator[Fraction | None]:
    """Yield the bounds of the leaves from left to right; None where no schedule is left.

    Raises
    ------
    ValueError
        As in :func:`check`.
    """
    if certificate.instance_sha256 != inst.digest():
        raise ValueError(
            f"the certificate belongs to instance {certificate.instance_sha256}, "
            f"this instance is {inst.digest()}"
        )
    _check_tree(inst, certificate)
    nodes = certificate.nodes
    splits = [node.at + 1 for node in nodes if isinstance(node, Split)]
    evaluation = Evaluation(inst, max(splits, default=0))
    last, priced = -1, None
    for limits, which in _leaves(inst, nodes):
        if priced is None or which != last:
            last = which
            priced = evaluation.priced(
                certificate.prices[which], certificate.grid_bits, f"price list {which}"
            )
        yield evaluation.bound(limits, priced)


def _leaves(inst: CompletionInstance, nodes: Sequence[Leaf | Split]) -> Iterator[tuple[Ints, int]]:
    """Walk the leaves; yield their limits (J, 5, 2), which change afterwards, and price lists."""
    limits = np.zeros((len(inst.jobs), len(ATTRIBUTES), 2), np.int64)
    limits[:, :, 1] = UNLIMITED
    if inst.deadline is not None:
        limits[:, ATTRIBUTES.index("completion"), 1] = inst.deadline
    # a place in the limits is set to a value before node k is looked at; -1: nothing is looked at
    stack: list[tuple[int, tuple[int, int, int], int]] = []
    k = 0
    while True:
        node = nodes[k]
        if isinstance(node, Leaf):
            yield limits, node.prices
        else:
            column = ATTRIBUTES.index(node.attribute)
            high, low = (node.job, column, 1), (node.job, column, 0)
            was_high, was_low = int(limits[high]), int(limits[low])
            stack += [
                (-1, low, was_low),
                (node.right, low, max(was_low, node.at + 1)),
                (-1, high, was_high),
                (node.left, high, min(was_high, node.at)),
            ]
        k = -1
        while k < 0:
            if not stack:
                return
            k, place, value = stack.pop()
            limits[place] = value


def _check_tree(inst: CompletionInstance, certificate: CompletionCertificate) -> None:
    nodes: Sequence[Leaf | Split] = certificate.nodes
    parent: dict[int, int] = {}
    for k, node in enumerate(nodes):
        if isinstance(node, Leaf):
            if node.prices >= len(certificate.prices):
                raise ValueError(
                    f"node {k}: price list {node.prices} does not exist, expected "
                    f"0..{len(certificate.prices) - 1}"
                )
            continue
        if node.job >= len(inst.jobs):
            raise ValueError(
                f"node {k}: job {node.job} does not exist, expected 0..{len(inst.jobs) - 1}"
            )
        for child in (node.left, node.right):
            if not 0 < child < len(nodes):
                raise ValueError(
                    f"node {k}: child {child} does not exist, expected 1..{len(nodes) - 1}"
                )
            if child in parent:
                raise ValueError(
                    f"node {k}: child {child} is already a child of node {parent[child]}, "
                    "expected every node to be used once"
                )
            parent[child] = k
    reached, stack = {0}, [0]
    while stack:
        node = nodes[stack.pop()]
        if isinstance(node, Split):
            stack += (node.left, node.right)
            reached |= {node.left, node.right}
    if len(reached) < len(nodes):
        lost = min(set(range(len(nodes))) - reached)
        raise ValueError(
            f"node {lost}: cannot be reached from the root (an orphan, or a cycle), expected one "
            "tree"
        )
