"""Certificates of a dual bound for family `oasis`, and their exact checker.

A certificate is a tree of splits with prices at its leaves (Cheung et al., 2017); each leaf has a
Lagrangian dual bound (Geoffrion, 1974).

For any prices >= 0 no schedule earns more than

    B = sum_i max(0, payoff_i) + value of the machines at these prices,

with payoff_i the most that job i earns, f_i(completion) - cost of its workers and PS, on empty
machines. Prices are put

- on capacity (``capacity``): a price per slot, class of equal machines and resource; the machines
  have the value price * capacity;
- on workers and PS (``slots``): a price per slot, job and side; the value of a machine is the most
  expensive load that it holds, an integer knapsack;
- on capacity and on the work of each job (``relaxed``): the duals of the linear relaxation, whose
  value they prove (`declared`). They bound all schedules, without a tree.

A tree of restrictions makes the bound tighter: every inner node splits the schedules in two, so
that its leaves cover all of them; each leaf has its own bound, and the greatest is the bound of the
tree. A leaf that contains no schedule does not count.

Without loss of value a schedule has no workers outside [arrival, completion] and exactly ceil(n b /
B) PS for n workers; "completes in slot t" means that slot t holds its last worker. A job that never
completes has no workers.

The checker uses integers only, no tolerance but the instance's own, no code of any solver.
Utilities are rounded up, costs down, the bound up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from optsched.families.oasis.certificate.bound import (
    LARGEST_UNIT_PRICE,
    CapacityPriced,
    LeafBounds,
    SlotPriced,
)
from optsched.families.oasis.certificate.declared import relaxed_bound
from optsched.families.oasis.certificate.limits import CELLS, large
from optsched.families.oasis.instance import OasisInstance
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.overflow import INT64
from optsched.problem import Frozen
from optsched.proofs.branching import Index, SlotSplit, priced_leaves
from optsched.proofs.grid import LARGEST_PRICE, Exact, dense, sparse
from optsched.proofs.limits import check_owner, inside
from optsched.proofs.tree import check_tree, greatest_bound

FINEST_GRID = 1200  # bits: the smallest and the largest float are within 2**1100
SIDES = ("worker", "PS")

Whole = Annotated[int, Field(ge=-INT64, le=INT64)]
Price = Annotated[int, Field(gt=-LARGEST_UNIT_PRICE, lt=LARGEST_UNIT_PRICE)]


class CapacityPrices(Frozen):
    """Prices of capacity; a price that is not listed is 0."""

    kind: Literal["capacity"] = "capacity"
    entries: tuple[tuple[Whole, Whole, Whole, Whole, Price], ...] = Field(
        description="[side (0 workers, 1 PS), slot, class, resource, price of one demand unit]"
    )

    @classmethod
    def of(cls, workers: Ints | Exact, ps: Ints | Exact, **more: Any) -> Self:
        """Make the sparse list from arrays of integers, shape (T, C, R)."""
        return cls(entries=_sparse(workers, ps), **more)


class SlotPrices(Frozen):
    """Prices of a job's workers and PS; a price that is not listed is 0."""

    kind: Literal["slots"] = "slots"
    entries: tuple[tuple[Whole, Whole, Whole, Price], ...] = Field(
        description="[side (0 workers, 1 PS), job, slot, price of one worker or PS]"
    )
    limits: tuple[()] = Field(default=(), exclude=True, description="of earlier versions: empty")

    @classmethod
    def of(cls, workers: Ints, ps: Ints) -> Self:
        """Make the sparse list from arrays of integers, shape (I, T)."""
        return cls(entries=_sparse(workers, ps))


class RelaxedPrices(CapacityPrices):
    """Duals of the linear relaxation; a price of capacity that is not listed is 0."""

    kind: Literal["relaxed"] = "relaxed"  # type: ignore[assignment]
    work: tuple[Price, ...] = Field(description="of each job, price of one worker-slot of its work")


def _sparse(workers: Ints | Exact, ps: Ints | Exact) -> tuple[tuple[int, ...], ...]:
    return tuple((side, *entry) for side in (0, 1) for entry in sparse((workers, ps)[side]))


Prices = Annotated[CapacityPrices | SlotPrices | RelaxedPrices, Field(discriminator="kind")]


class _Node(Frozen):
    prices: Prices | None = Field(
        default=None,
        description="of the leaves below that have none nearer; without any, all prices are 0",
    )


class Leaf(_Node):
    """A set of schedules that is bounded by prices."""

    node: Literal["leaf"] = "leaf"


class CompletionSplit(SlotSplit, _Node):
    """The job completes in ``slot`` or before | later or never."""

    node: Literal["completion"] = "completion"


class WorkersSplit(SlotSplit, _Node):
    """The job has at most ``at`` workers in ``slot`` | more."""

    node: Literal["workers"] = "workers"
    at: Index


Node = Annotated[Leaf | CompletionSplit | WorkersSplit, Field(discriminator="node")]


class OasisCertificate(Frozen):
    """Certificate: no schedule of an instance has a value above a bound."""

    instance_sha256: str
    grid_bits: int = Field(
        ge=-FINEST_GRID,
        le=FINEST_GRID,
        description="prices are integers, in value units times 2**-grid_bits",
    )
    limits: tuple[()] = Field(default=(), exclude=True, description="of earlier versions: empty")
    nodes: tuple[Node, ...] = Field(min_length=1, description="a tree; the first is its root")

    @classmethod
    def root(cls, inst: OasisInstance, prices: Prices | None, grid_bits: int) -> Self:
        """Certify by one set of prices (None: all are 0), without a tree."""
        return cls(instance_sha256=inst.digest(), grid_bits=grid_bits, nodes=(Leaf(prices=prices),))


def to_fine_grid(prices: Floats, grid_bits: int) -> Exact:
    """Round prices of units to the grid, in Python's integers: units may be tiny, or not."""
    finest = float(LARGEST_UNIT_PRICE // 2)
    exact = np.rint(np.clip(np.ldexp(prices, grid_bits), 0, finest))
    return np.array([int(x) for x in exact.ravel()], object).reshape(prices.shape)


def leaf_bounds(inst: OasisInstance, certificate: OasisCertificate) -> Iterator[Fraction | None]:
    """Yield the bounds of the leaves from left to right; None where no schedule is left.

    Raises
    ------
    ValueError
        The certificate belongs to another instance, is no tree, or a node holds what is not
        allowed there; the message names the node.
    """
    check_owner(inst, certificate.instance_sha256)
    nodes = certificate.nodes
    check_tree(nodes, lambda k, node: node.node == "leaf" or node.check(k, inst))
    if any(isinstance(node.prices, RelaxedPrices) for node in nodes):
        yield _relaxed(inst, certificate)
        return
    bounds = LeafBounds(inst, certificate.grid_bits)
    if len(nodes) == 1 and nodes[0].prices is None:  # the trivial bound
        yield bounds.unpriced()
        return
    unit = Fraction(2) ** -certificate.grid_bits
    if len(nodes) == 1 and large(inst):
        alone = _read(bounds, 0, nodes[0].prices)
        if isinstance(alone, CapacityPriced):
            yield bounds.relaxed(alone) * unit + bounds.late
            return
    root, read = bounds.unrestricted(), partial(_read, bounds)
    for bound in priced_leaves(nodes, root, read, bounds.bound):
        yield None if bound is None else bound * unit + bounds.late


check = partial(greatest_bound, leaf_bounds)
"""Check of the dual bound's certificate: the greatest bound of its leaves, computed anew."""


def _relaxed(inst: OasisInstance, certificate: OasisCertificate) -> Fraction:
    """Return the bound that the duals of the linear relaxation prove."""
    prices = certificate.nodes[0].prices
    if len(certificate.nodes) > 1 or not isinstance(prices, RelaxedPrices):
        raise ValueError("duals of the relaxation in a tree, expected them at a node that is alone")
    if len(prices.work) != len(inst.jobs) or min(prices.work, default=0) < 0:
        raise ValueError(
            f"node 0: {len(prices.work)} prices of work, expected {len(inst.jobs)}, all at least 0"
        )
    both = _capacity(inst, 0, prices)
    bound = relaxed_bound(inst, both, prices.work, certificate.grid_bits)
    return bound / Fraction(2) ** certificate.grid_bits


def _read(bounds: LeafBounds, k: int, prices: Prices | None) -> CapacityPriced | SlotPriced:
    """Return the arrays that the prices of node ``k`` mean; without any, all are 0."""
    inst = bounds.inst
    if isinstance(prices, CapacityPrices):
        return CapacityPriced(k, _capacity(inst, k, prices))
    entries = prices.entries if prices else ()
    names = {"job": len(inst.jobs), "slot": inst.horizon}
    return bounds.slot_priced(
        _side(k, 0, entries, names, LARGEST_PRICE), _side(k, 1, entries, names, LARGEST_PRICE)
    )


def _capacity(inst: OasisInstance, k: int, prices: CapacityPrices) -> tuple[Ints, Ints]:
    """Return the prices of capacity of node ``k``, shape (T, C, R) on each side."""
    worker, ps = (
        {"slot": inst.horizon, "class": len(classes), "resource": len(inst.resources)}
        for classes in (inst.arrays.worker_classes, inst.arrays.ps_classes)
    )
    entries = prices.entries
    return (
        _side(k, 0, entries, worker, LARGEST_UNIT_PRICE),
        _side(k, 1, entries, ps, LARGEST_UNIT_PRICE),
    )


def _side(
    k: int, side: int, entries: Sequence[tuple[int, ...]], names: dict[str, int], limit: int
) -> Ints:
    """Return the array of one side that the entries [side, ..., price] of node ``k`` mean."""
    for entry in entries:
        inside(f"node {k}, price {list(entry)}", "side", entry[0], 0, 1)
    mine = [entry[1:] for entry in entries if entry[0] == side]
    return dense(f"node {k}, {SIDES[side]} side", mine, names, limit, CELLS)
