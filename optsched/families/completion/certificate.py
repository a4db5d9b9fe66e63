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
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt

from optsched.families.completion.certificate_kernels import least_values, modes_of
from optsched.families.completion.instance import CompletionInstance, float_below
from optsched.problem import Frozen
from optsched.resources import exact

Ints = NDArray[np.int64]

LARGEST = 20_000_000  # characters of a certificate's JSON text
MOST = 2**62
ATTRIBUTES = ("start", "completion", "worker_type", "workers", "together")
UNLIMITED = 2**40


class Leaf(Frozen):
    """A set of schedules that is bounded by prices; a price that is not listed is 0."""

    node: Literal["leaf"] = "leaf"
    prices: int = Field(ge=0, description="which of the certificate's price lists is its own")


class Split(Frozen):
    """The attribute of the job is at most ``at`` | more."""

    node: Literal["split"] = "split"
    job: NonNegativeInt
    attribute: Literal["start", "completion", "worker_type", "workers", "together"]
    at: NonNegativeInt
    left: NonNegativeInt = Field(description="index of the node of the first half")
    right: NonNegativeInt = Field(description="index of the node of the second half")


Node = Annotated[Leaf | Split, Field(discriminator="node")]
PriceList = tuple[tuple[NonNegativeInt, NonNegativeInt, NonNegativeInt, NonNegativeInt], ...]


class CompletionCertificate(Frozen):
    """Why no schedule of an instance costs less than a bound."""

    instance_sha256: str
    grid_bits: int = Field(
        ge=0, le=60, description="prices are integers, in cost units times 2**grid_bits"
    )
    prices: tuple[PriceList, ...] = Field(
        description="lists of [slot, class of servers, resource, price of one demand unit]"
    )
    nodes: tuple[Node, ...] = Field(min_length=1, description="a tree; the first is its root")

    @classmethod
    def root(cls, inst: CompletionInstance, prices: NDArray[np.float64], grid_bits: int) -> Self:
        """Certify by one set of prices (L, C, R), without a tree."""
        entries = sparse(to_grid(prices, grid_bits))
        return cls(
            instance_sha256=inst.digest(),
            grid_bits=grid_bits,
            prices=(entries,),
            nodes=(Leaf(prices=0),),
        )


def to_grid(prices: NDArray[np.float64], grid_bits: int) -> Ints:
    """Round prices to the grid; negative ones become 0."""
    return np.rint(np.clip(prices * 2.0**grid_bits, 0, 2.0**60)).astype(np.int64)


def sparse(prices: Ints) -> PriceList:
    """Return the entries [slot, class, resource, price] that are not 0."""
    where = np.argwhere(prices > 0)
    return tuple((int(t), int(c), int(r), int(prices[t, c, r])) for t, c, r in where.tolist())


def check(inst: CompletionInstance, certificate: CompletionCertificate) -> float:
    """Re-evaluate a certificate.

    Returns
    -------
    float
        A bound that no schedule goes below, rounded downwards.

    Raises
    ------
    ValueError
        The certificate belongs to another instance, is no tree, or holds what is not allowed; the
        message says where.
    """
    size = len(certificate.model_dump_json())
    if size > LARGEST:
        raise ValueError(f"the certificate has {size} characters, expected at most {LARGEST}")
    bounds = [b for b in leaf_bounds(inst, certificate) if b is not None]
    if not bounds:
        raise ValueError("no leaf holds a schedule: the instance is infeasible, it has no bound")
    return max(0.0, float_below(round_up(inst, min(bounds))))


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
    nodes = certificate.nodes
    _check_tree(inst, certificate)
    scale = 2**certificate.grid_bits
    evaluate = _Evaluation(inst, certificate)
    limits = np.zeros((len(inst.jobs), len(ATTRIBUTES), 2), np.int64)
    limits[:, :, 1] = UNLIMITED
    if inst.deadline is not None:
        limits[:, ATTRIBUTES.index("completion"), 1] = inst.deadline
    stack = [(0, limits)]
    while stack:
        k, limits = stack.pop()
        node = nodes[k]
        if isinstance(node, Leaf):
            bound = evaluate.leaf(limits, node.prices)
            yield None if bound is None else Fraction(bound, scale)
            continue
        column = ATTRIBUTES.index(node.attribute)
        left, right = limits.copy(), limits.copy()
        left[node.job, column, 1] = min(limits[node.job, column, 1], node.at)
        right[node.job, column, 0] = max(limits[node.job, column, 0], node.at + 1)
        stack += [(node.right, right), (node.left, left)]


class _Evaluation:
    """The bound of a leaf, in units of 2**-grid_bits."""

    def __init__(self, inst: CompletionInstance, certificate: CompletionCertificate) -> None:
        self.inst, self.certificate = inst, certificate
        a = inst.arrays
        self.members = [c[0] for c in a.classes]
        self.count = np.array([len(c) for c in a.classes], np.int64)
        self.capacity = a.capacity[self.members]  # (C, R) of one server
        self.modes = [modes_of(inst.durations(job), inst.ring) for job in inst.jobs]
        scale = 2**certificate.grid_bits
        weights = [int(exact(job.weight) * scale) for job in inst.jobs]  # rounded down
        if max(weights, default=0) >= MOST // UNLIMITED * 2**20:
            raise ValueError(
                f"grid_bits is {certificate.grid_bits}, too fine for the weights, expected less"
            )
        self.weights = np.array(weights, np.int64)
        self.dense: dict[int, tuple[Ints, Ints, int]] = {}

    def leaf(self, limits: Ints, which: int) -> int | None:
        worker, ps, worth = self._prices(which)
        a, total = self.inst.arrays, -worth
        for j, job in enumerate(self.inst.jobs):
            least = least_values(
                self.modes[j],
                limits[j],
                job.arrival,
                self.weights[j],
                worker,
                ps,
                self.capacity,
                self.count,
                a.worker_demand,
                a.ps_demand,
                a.ps_needed,
                self.inst.ring,
            )
            if least < 0:
                return None
            total += int(least)
        return total

    def _prices(self, which: int) -> tuple[Ints, Ints, int]:
        """Return the costs of workers and PS up to each slot, and what the servers are worth."""
        if which not in self.dense:
            self.dense[which] = self._read(which)
        return self.dense[which]

    def _read(self, which: int) -> tuple[Ints, Ints, int]:
        entries = self.certificate.prices[which]
        classes, resources = self.capacity.shape
        slots = max((t for t, *_ in entries), default=-1) + 1
        prices = np.zeros((slots, classes, resources), np.int64)
        for entry in entries:
            t, c, r, price = entry
            place = f"price list {which}, entry {list(entry)}"
            if c >= classes or r >= resources:
                raise ValueError(
                    f"{place}: class or resource does not exist, expected classes "
                    f"0..{classes - 1}, resources 0..{resources - 1}"
                )
            if prices[t, c, r]:
                raise ValueError(f"{place}: is given twice, expected once")
            prices[t, c, r] = price
        worth = sum(
            price * int(self.capacity[c, r]) * int(self.count[c]) for _, c, r, price in entries
        )
        a = self.inst.arrays
        demands = np.concatenate([a.worker_demand, a.ps_demand])
        per_slot = prices.astype(object).sum() * int(demands.max(initial=1))
        most = int(a.ps_needed.max(initial=1)) + a.ps_needed.shape[2]
        if per_slot * most >= MOST:
            raise ValueError(f"price list {which}: its prices are too large, expected below 2**62")
        costs = []
        for demand in (a.worker_demand, a.ps_demand):
            unit = np.einsum("tcr,kr->ktc", prices, demand)
            costs.append(np.zeros((len(demand), slots + 1, classes), np.int64))
            np.cumsum(unit, axis=1, out=costs[-1][:, 1:])
        return costs[0], costs[1], worth


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
