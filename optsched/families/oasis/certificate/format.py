"""Certificates of an upper bound on the optimum of family `oasis`, and their checker.

For any prices >= 0 no schedule earns more than

    B = sum_i max(0, payoff_i) + what the machines are worth at these prices,

with payoff_i the most that job i earns, f_i(completion) - cost of its workers and PS, on empty
machines. Prices are put

- on capacity (``capacity``): a price per slot, class of equal machines and resource; the machines
  are worth price * capacity;
- on workers and PS (``slots``): a price per slot, job and side; a machine is worth the most
  expensive load that it holds, an integer knapsack.

A tree of restrictions makes the bound tighter: every inner node splits the schedules in two, so
that its leaves cover all of them; each leaf has its own bound, and the greatest is the bound of the
tree. A leaf whose restrictions no schedule meets bounds nothing.

Without loss of value a schedule has no workers outside [arrival, completion] and exactly ceil(n b /
B) PS for n workers; "completes in slot t" means that slot t holds its last worker. A job that never
completes has no workers.

The checker is a judge: integers only, no tolerance but the instance's own, no code of any solver.
Utilities are rounded up, costs down, the bound up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from optsched.families.oasis.certificate.bound import (
    LARGEST_PRICE,
    LARGEST_UNIT_PRICE,
    CapacityPriced,
    LeafBounds,
    Limits,
    SlotPriced,
)
from optsched.families.oasis.certificate.limits import cells
from optsched.families.oasis.instance import OasisInstance
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.magnitudes import INT64
from optsched.problem import Frozen

Exact = NDArray[np.object_]  # of Python's integers

LARGEST = 20_000_000  # characters of a certificate's JSON text
FINEST_GRID = 1200  # bits: the smallest and the largest float are within 2**1100
SIDES = ("worker", "PS")


Whole = Annotated[int, Field(ge=-INT64, le=INT64)]
Price = Annotated[int, Field(gt=-LARGEST_UNIT_PRICE, lt=LARGEST_UNIT_PRICE)]
Index = Annotated[int, Field(ge=0, le=INT64)]


class CapacityPrices(Frozen):
    """Prices of capacity; a price that is not listed is 0."""

    kind: Literal["capacity"] = "capacity"
    entries: tuple[tuple[Whole, Whole, Whole, Whole, Price], ...] = Field(
        description="[side (0 workers, 1 PS), slot, class, resource, price of one demand unit]"
    )

    @classmethod
    def of(cls, workers: Ints | Exact, ps: Ints | Exact) -> Self:
        """Make the sparse list from arrays of integers, shape (T, C, R)."""
        return cls(entries=_sparse(workers, ps))


class SlotPrices(Frozen):
    """Prices of a job's workers and PS; a price that is not listed is 0."""

    kind: Literal["slots"] = "slots"
    entries: tuple[tuple[Whole, Whole, Whole, Price], ...] = Field(
        description="[side (0 workers, 1 PS), job, slot, price of one worker or PS]"
    )

    @classmethod
    def of(cls, workers: Ints, ps: Ints) -> Self:
        """Make the sparse list from arrays of integers, shape (I, T)."""
        return cls(entries=_sparse(workers, ps))


def _sparse(workers: Ints | Exact, ps: Ints | Exact) -> tuple[tuple[int, ...], ...]:
    return tuple(
        (side, *where, int(prices[where]))
        for side, prices in enumerate((workers, ps))
        for where in zip(*(x.tolist() for x in np.nonzero(prices)), strict=True)
    )


Prices = Annotated[CapacityPrices | SlotPrices, Field(discriminator="kind")]


class _Node(Frozen):
    prices: Prices | None = Field(
        default=None,
        description="of the leaves below that have none nearer; without any, all prices are 0",
    )


class Leaf(_Node):
    """A set of schedules that is bounded by prices."""

    node: Literal["leaf"] = "leaf"


class _Split(_Node):
    job: Index
    slot: Index
    left: Index = Field(description="index of the node of the first half")
    right: Index = Field(description="index of the node of the second half")


class CompletionSplit(_Split):
    """The job completes in ``slot`` or before | later or never."""

    node: Literal["completion"] = "completion"


class WorkersSplit(_Split):
    """The job has at most ``at`` workers in ``slot`` | more."""

    node: Literal["workers"] = "workers"
    at: Index


class MachineSplit(_Split):
    """The job has at most ``at`` workers (PS) on one machine in ``slot`` | more.

    Allowed above prices of slots only: prices of capacity do not see single machines.
    """

    node: Literal["machine"] = "machine"
    side: Literal[0, 1] = Field(description="0: a worker machine, 1: a PS machine")
    machine: Index
    at: Index


Split = CompletionSplit | WorkersSplit | MachineSplit
Node = Annotated[Leaf | CompletionSplit | WorkersSplit | MachineSplit, Field(discriminator="node")]


class OasisCertificate(Frozen):
    """Why no schedule of an instance is worth more than a bound."""

    instance_sha256: str
    grid_bits: int = Field(
        ge=-FINEST_GRID,
        le=FINEST_GRID,
        description="prices are integers, in value units times 2**-grid_bits",
    )
    nodes: tuple[Node, ...] = Field(min_length=1, description="a tree; the first is its root")

    @classmethod
    def root(
        cls, inst: OasisInstance, prices: CapacityPrices | SlotPrices | None, grid_bits: int
    ) -> Self:
        """Certify by one set of prices (None: all are 0), without a tree."""
        return cls(instance_sha256=inst.digest(), grid_bits=grid_bits, nodes=(Leaf(prices=prices),))


def to_grid(prices: Floats, grid_bits: int) -> Ints:
    """Round prices to the grid; negative ones become 0, those above 2**61 become that."""
    rounded: Ints = np.rint(np.clip(np.ldexp(prices, grid_bits), 0, 2.0**61)).astype(np.int64)
    return rounded


def to_fine_grid(prices: Floats, grid_bits: int) -> Exact:
    """Round prices of units to the grid, in Python's integers: units may be tiny, or not."""
    finest = float(LARGEST_UNIT_PRICE // 2)
    exact = np.rint(np.clip(np.ldexp(prices, grid_bits), 0, finest))
    return np.array([int(x) for x in exact.ravel()], object).reshape(prices.shape)


def check(inst: OasisInstance, certificate: OasisCertificate) -> float:
    """Re-evaluate a certificate.

    Returns
    -------
    float
        A bound that no schedule exceeds, rounded upwards.

    Raises
    ------
    ValueError
        The certificate belongs to another instance, is no tree, or a node holds what is not
        allowed there; the message names the node.
    """
    size = len(certificate.model_dump_json())
    if size > LARGEST:
        raise ValueError(f"the certificate has {size} characters, expected at most {LARGEST}")
    bounds = (b for b in leaf_bounds(inst, certificate) if b is not None)
    return float_above(max(bounds, default=Fraction(0)))  # 0: the empty schedule


def leaf_bounds(inst: OasisInstance, certificate: OasisCertificate) -> Iterator[Fraction | None]:
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
    tree = _Tree(inst, certificate)
    bounds = LeafBounds(inst, certificate.grid_bits)
    limits = bounds.unrestricted()
    for prices in tree.leaves(limits):
        bound = bounds.bound(limits.copy(), prices)
        unit = Fraction(2) ** -certificate.grid_bits
        yield None if bound is None else bound * unit + bounds.late


def float_above(x: Fraction) -> float:
    """Return ``x`` as a float, rounded up."""
    try:
        near = float(x)
    except OverflowError as err:
        raise ValueError("the bound is beyond the largest float, expected lower prices") from err
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)


def _restrict(limits: Limits, split: Split, right: bool) -> list[_Change]:
    """Go down one side of a split; return what it takes to come back."""
    i, t = split.job, split.slot
    if isinstance(split, CompletionSplit):
        if right:
            return [_set(limits.first, i, max(limits.first[i], t + 1))]
        return [_set(limits.last, i, min(limits.last[i], t)), _set(limits.never, i, False)]
    if isinstance(split, WorkersSplit):
        if right:
            return [_set(limits.low, (i, t), max(limits.low[i, t], split.at + 1))]
        return [_set(limits.high, (i, t), min(limits.high[i, t], split.at))]
    place = (split.side, t, split.machine, i)
    low, high = limits.machines.get(place, (0, LARGEST_PRICE))
    narrower = (max(low, split.at + 1), high) if right else (low, min(high, split.at))
    return [_set(limits.machines, place, narrower)]


_Change = tuple[Any, Any, Any]  # container, key, former value


def _set(container: Any, key: Any, value: Any) -> _Change:
    absent = isinstance(container, dict) and key not in container
    change = (container, key, None if absent else container[key])
    container[key] = value
    return change


def _undo(changes: Sequence[_Change]) -> None:
    for container, key, former in changes:
        if former is None:
            del container[key]
        else:
            container[key] = former


class _Tree:
    """The nodes of a certificate, checked against its instance."""

    def __init__(self, inst: OasisInstance, certificate: OasisCertificate) -> None:
        self.inst = inst
        self.nodes: Sequence[Leaf | Split] = certificate.nodes
        self.parent: list[int | None] = [None] * len(self.nodes)
        for k, node in enumerate(self.nodes):
            if not isinstance(node, Leaf):
                self._check_split(k, node)
                self._adopt(k, node)
        self._check_connected()
        self._read: dict[int, CapacityPriced | SlotPriced] = {}

    def _adopt(self, k: int, node: Split) -> None:
        for child in (node.left, node.right):
            if not 0 < child < len(self.nodes):
                raise ValueError(
                    f"node {k}: child {child} does not exist, expected 1..{len(self.nodes) - 1}"
                )
            if self.parent[child] is not None:
                raise ValueError(
                    f"node {k}: child {child} is already a child of node {self.parent[child]}, "
                    "expected every node to be used once"
                )
            self.parent[child] = k

    def _check_connected(self) -> None:
        reached, stack = {0}, [0]
        while stack:
            node = self.nodes[stack.pop()]
            if not isinstance(node, Leaf):
                stack += (node.left, node.right)
                reached |= {node.left, node.right}
        if len(reached) < len(self.nodes):
            lost = min(set(range(len(self.nodes))) - reached)
            raise ValueError(
                f"node {lost}: cannot be reached from the root (an orphan, or a cycle), "
                "expected one tree"
            )

    def _check_split(self, k: int, node: Split) -> None:
        inst = self.inst
        _inside(f"node {k}", "job", node.job, 0, len(inst.jobs) - 1)
        job = inst.jobs[node.job]
        _inside(f"node {k}, job {node.job}", "slot", node.slot, job.arrival, inst.horizon - 1)
        if isinstance(node, CompletionSplit):
            return
        _inside(f"node {k}, job {node.job}", "at", node.at, 0, job.chunks - 1)
        if isinstance(node, MachineSplit):
            _inside(f"node {k}", "side", node.side, 0, 1)
            machines = (inst.worker_capacity, inst.ps_capacity)[node.side]
            _inside(f"node {k}", f"{SIDES[node.side]} machine", node.machine, 0, len(machines) - 1)

    def leaves(self, limits: Limits) -> Iterator[CapacityPriced | SlotPriced]:
        """Walk the leaves from left to right, yielding their prices; ``limits`` follows."""
        stack: list[tuple[int, int, Split | None, bool] | list[_Change]] = [(0, -1, None, False)]
        while stack:
            top = stack.pop()
            if isinstance(top, list):
                _undo(top)
                continue
            k, owner, above, right = top
            if above is not None:
                stack.append(_restrict(limits, above, right))
            node = self.nodes[k]
            if node.prices is not None:
                owner = k  # the leaves below have these prices, unless there are nearer ones
            if isinstance(node, Leaf):
                yield self._prices(k, owner, limits)
            else:
                stack += [(node.right, owner, node, True), (node.left, owner, node, False)]

    def _prices(self, leaf: int, owner: int, limits: Limits) -> CapacityPriced | SlotPriced:
        if owner not in self._read:
            held = None if owner < 0 else self.nodes[owner].prices
            self._read.clear()  # price sets come one after the other
            self._read[owner] = self._dense(owner, held or SlotPrices(entries=()))
        found = self._read[owner]
        if isinstance(found, CapacityPriced) and limits.machines:
            raise ValueError(
                f"node {leaf}: prices of capacity below a split on a single machine, "
                "expected prices of slots"
            )
        return found

    def _dense(self, k: int, prices: CapacityPrices | SlotPrices) -> CapacityPriced | SlotPriced:
        a, inst = self.inst.arrays, self.inst
        if isinstance(prices, SlotPrices):
            shape = (len(inst.jobs), inst.horizon)
            names = {"job": shape[0], "slot": shape[1]}
            return SlotPriced(_fill(k, prices.entries, (shape, shape), names, LARGEST_PRICE))
        classes = (len(a.worker_classes), len(a.ps_classes))
        r = len(inst.resources)
        shapes = ((inst.horizon, classes[0], r), (inst.horizon, classes[1], r))
        names = {"slot": inst.horizon, "class": max(classes), "resource": r}
        return CapacityPriced(k, _fill(k, prices.entries, shapes, names, LARGEST_UNIT_PRICE))


def _inside(place: str, name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{place}: {name} {value} does not exist, expected {low}..{high}")


def _fill(
    k: int,
    entries: Sequence[tuple[int, ...]],
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    names: Mapping[str, int],
    limit: int,
) -> tuple[Ints, Ints]:
    """Turn a sparse list into one array per side; of Python's integers, where 64 bits are few."""
    for entry in entries:
        where = f"node {k}, price {list(entry)}"
        _inside(where, "side", entry[0], 0, 1)
        for name, index, size in zip(names, entry[1:-1], shapes[entry[0]], strict=True):
            _inside(where, name, index, 0, size - 1)
        if not 0 <= entry[-1] < limit:
            bits = limit.bit_length() - 1
            raise ValueError(f"{where}: is {entry[-1]}, expected 0..2**{bits} - 1")
    sides: list[Any] = []
    for side, shape in enumerate(shapes):
        cells("prices", *shape)
        mine = [e for e in entries if e[0] == side]
        where_to = np.array([e[1:-1] for e in mine], np.int64).reshape(-1, len(shape))
        places, seen = np.unique(where_to, axis=0, return_counts=True)
        if seen.max(initial=0) > 1:
            twice = [side, *places[seen > 1][0].tolist()]
            raise ValueError(f"node {k}: the price of {twice} is given twice, expected once")
        prices = [e[-1] for e in mine]
        dense = np.zeros(shape, np.int64 if max(prices, default=0) < LARGEST_PRICE else object)
        dense[tuple(where_to.T)] = prices
        sides.append(dense)
    return sides[0], sides[1]
