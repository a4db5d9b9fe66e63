"""Certificates of an upper bound on the optimum of family `dmlrs`, and their checker.

For any prices >= 0 no schedule earns more than

    B = sum_i max(0, payoff_i) + what the machines are worth at these prices,

with payoff_i the most that job i earns, u_i(completion) - cost of its workers and parameter servers
(PS), on empty machines. Prices are put

- on capacity (``capacity``): a price per slot, class of equal machines and resource; the machines
  are worth price * capacity;
- on workers and PS (``units``): a price per job, slot, class and side; a machine is worth the most
  expensive load that it holds, an integer knapsack;
- on workers that sit together (``packings``): a price per job, slot and number of workers on one
  machine with their PS, and prices on capacity for all other placements; a slot is worth its most
  expensive packing, where a job sits on one machine at most, and the capacity that this leaves.

A tree of restrictions makes the bound tighter: every inner node splits the
schedules in two, so that its leaves cover all of them; each leaf has its own bound, and the
greatest is the bound of the tree. A leaf bounds nothing if no schedule meets its restrictions, such
as one whose forced workers find no place in some slot (``unpackable``).

Without loss of value a job has exactly the PS that its workers need in a slot, no more workers than
do its whole work, and nothing after its completion; "completes in slot t" means that slot t holds
its last worker. A job that never completes has no workers. Link by link (`certificate_links`), all
PS of a job sit on one machine in a slot, and there are no packings, nor modes.

The checker is a judge: integers only, no tolerance but the instance's own, no code of any solver.
Utilities are rounded up, costs down, the bound up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, NonNegativeInt

from optsched.families.dmlrs.certificate.bound import LeafBounds
from optsched.families.dmlrs.certificate.forced import (
    INNER_ONLY,
    OUTER_ONLY,
    Forced,
    unpackable,
)
from optsched.families.dmlrs.certificate.limits import (
    LARGEST_PRICE,
    MOST_PRICES,
    CapacityPriced,
    Limits,
    PackingPriced,
    Priced,
    UnitPriced,
)
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.numbers.arrays import Floats, Ints
from optsched.problem import Frozen

FINEST_GRID = 1200  # bits: the smallest float is above 2**-1100
LARGEST = 20_000_000  # characters of a certificate's JSON text
NOWHERE = -1  # the mode of a slot in which a job may not run at all


class CapacityPrices(Frozen):
    """Prices of capacity; a price that is not listed is 0."""

    kind: Literal["capacity"] = "capacity"
    entries: tuple[tuple[int, int, int, int], ...] = Field(
        description="[slot, class, resource, price of one demand unit]"
    )

    @classmethod
    def of(cls, prices: Ints) -> Self:
        """Make the sparse list from an array of integers, shape (T, C, R)."""
        return cls(entries=_sparse(prices))


class UnitPrices(Frozen):
    """Prices of a job's workers and PS; a price that is not listed is 0."""

    kind: Literal["units"] = "units"
    entries: tuple[tuple[int, int, int, int, int], ...] = Field(
        description="[side (0 workers, 1 PS), job, slot, class, price of one worker or PS]"
    )

    @classmethod
    def of(cls, prices: Ints) -> Self:
        """Make the sparse list from an array of integers, shape (2, I, T, C)."""
        return cls(entries=_sparse(prices))


class PackingPrices(Frozen):
    """Prices of workers that sit together with their PS; a price that is not listed is 0.

    What does not sit on one machine pays for capacity.
    """

    kind: Literal["packings"] = "packings"
    together: tuple[tuple[int, int, int, int], ...] = Field(
        description="[job, slot, k, price of one worker more beside k of them]"
    )
    capacity: tuple[tuple[int, int, int, int], ...] = Field(
        description="[slot, class, resource, price of one demand unit]"
    )

    @classmethod
    def of(cls, together: Ints, capacity: Ints) -> Self:
        """Make the sparse lists from arrays of integers, shapes (I, T, N) and (T, C, R)."""
        return cls(together=_sparse(together), capacity=_sparse(capacity))


def _sparse(prices: Ints) -> tuple[tuple[int, ...], ...]:
    where = np.nonzero(prices)
    return tuple(zip(*(x.tolist() for x in where), prices[where].tolist(), strict=True))


Prices = Annotated[CapacityPrices | UnitPrices | PackingPrices, Field(discriminator="kind")]


class _Node(Frozen):
    prices: Prices | None = Field(
        default=None,
        description="of the leaves below that have none nearer; without any, all prices are 0",
    )


class Leaf(_Node):
    """A set of schedules that is bounded by prices, or empty."""

    node: Literal["leaf"] = "leaf"
    unpackable: NonNegativeInt | None = Field(
        default=None, description="a slot whose forced workers find no place"
    )


class _Split(_Node):
    job: NonNegativeInt
    slot: NonNegativeInt
    left: NonNegativeInt = Field(description="index of the node of the first half")
    right: NonNegativeInt = Field(description="index of the node of the second half")


class CompletionSplit(_Split):
    """The job completes in ``slot`` or before | later or never."""

    node: Literal["completion"] = "completion"


class WorkersSplit(_Split):
    """The job has at most ``at`` workers in ``slot`` | more."""

    node: Literal["workers"] = "workers"
    at: NonNegativeInt


class ModeSplit(_Split):
    """What the job has in ``slot`` sits on one machine | on two or more."""

    node: Literal["mode"] = "mode"


Split = CompletionSplit | WorkersSplit | ModeSplit
Node = Annotated[Leaf | CompletionSplit | WorkersSplit | ModeSplit, Field(discriminator="node")]


class DmlrsCertificate(Frozen):
    """Why no schedule of an instance is worth more than a bound."""

    instance_sha256: str
    grid_bits: int = Field(
        ge=-1100,
        le=FINEST_GRID,
        description="prices are integers, in value units times 2**grid_bits",
    )
    nodes: tuple[Node, ...] = Field(min_length=1, description="a tree; the first is its root")

    @classmethod
    def root(
        cls, inst: DmlrsInstance, prices: CapacityPrices | UnitPrices | None, grid_bits: int
    ) -> Self:
        """Certify by one set of prices (None: all are 0), without a tree."""
        return cls(instance_sha256=inst.digest(), grid_bits=grid_bits, nodes=(Leaf(prices=prices),))


def to_grid(prices: Floats, grid_bits: int) -> Ints:
    """Round prices to the grid; negative ones become 0, those above 2**61 become that."""
    with np.errstate(over="ignore"):  # which is cut off
        scaled = np.clip(np.ldexp(prices, grid_bits), 0, 2.0**61)
    rounded: Ints = np.rint(scaled).astype(np.int64)
    return rounded


def check(inst: DmlrsInstance, certificate: DmlrsCertificate) -> float:
    """Re-evaluate a certificate.

    Returns
    -------
    float
        A bound that no schedule exceeds, rounded upwards.

    Raises
    ------
    ValueError
        The certificate belongs to another instance or reading, is no tree, or a node holds what is
        not allowed there; the message names the node.
    """
    size = len(certificate.model_dump_json())
    if size > LARGEST:
        raise ValueError(f"the certificate has {size} characters, expected at most {LARGEST}")
    bounds = (b for b in leaf_bounds(inst, certificate) if b is not None)
    return float_above(max(bounds, default=Fraction(0)))  # 0: the empty schedule


def leaf_bounds(inst: DmlrsInstance, certificate: DmlrsCertificate) -> Iterator[Fraction | None]:
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
    for k, priced in tree.leaves(limits):
        leaf = certificate.nodes[k]
        assert isinstance(leaf, Leaf)
        if leaf.unpackable is not None:
            _only_by_job(inst, f"node {k}", "an unpackable slot")
            _check_unpackable(inst, k, leaf.unpackable, limits)
            yield None
            continue
        bound = bounds.bound(limits.copy(), priced)
        yield None if bound is None else bound / Fraction(2) ** certificate.grid_bits


def _check_unpackable(inst: DmlrsInstance, k: int, slot: int, limits: Limits) -> None:
    _inside(f"node {k}", "unpackable slot", slot, 0, inst.horizon - 1)
    forced = [
        Forced(i, int(limits.low[i, slot]), int(limits.mode[i, slot]))
        for i in np.flatnonzero(limits.low[:, slot]).tolist()
    ]
    if any(f.mode == NOWHERE for f in forced):
        return
    if unpackable(inst, forced) is not True:
        raise ValueError(
            f"node {k}: the workers that are forced in slot {slot} find a place, or it takes too "
            "long to see that they do not"
        )


def _only_by_job(inst: DmlrsInstance, place: str, what: str) -> None:
    if inst.locality != "job":
        raise ValueError(f"{place}: {what} has a meaning in the reading 'job' only, expected none")


def float_above(x: Fraction) -> float:
    """Return the least float that is not below ``x`` >= 0, or the one above it."""
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
    mode = OUTER_ONLY if right else INNER_ONLY
    if limits.mode[i, t] not in (0, mode):  # neither on one machine nor on more
        return [_set(limits.mode, (i, t), NOWHERE), _set(limits.high, (i, t), 0)]
    return [_set(limits.mode, (i, t), mode)]


_Change = tuple[Any, Any, Any]  # container, key, former value


def _set(container: Any, key: Any, value: Any) -> _Change:
    change = (container, key, container[key])
    container[key] = value
    return change


def _undo(changes: Sequence[_Change]) -> None:
    for container, key, former in changes:
        container[key] = former


class _Tree:
    """The nodes of a certificate, checked against its instance."""

    def __init__(self, inst: DmlrsInstance, certificate: DmlrsCertificate) -> None:
        self.inst = inst
        self.nodes: Sequence[Leaf | Split] = certificate.nodes
        self.parent: list[int | None] = [None] * len(self.nodes)
        for k, node in enumerate(self.nodes):
            if not isinstance(node, Leaf):
                self._check_split(k, node)
                self._adopt(k, node)
        self._check_connected()
        self._read: dict[int, Priced] = {}

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
        if isinstance(node, ModeSplit):
            _only_by_job(inst, f"node {k}", "a split of modes")
        if isinstance(node, WorkersSplit):
            _inside(f"node {k}, job {node.job}", "at", node.at, 0, job.chunks - 1)

    def leaves(self, limits: Limits) -> Iterator[tuple[int, Priced]]:
        """Walk the leaves from left to right, yielding (leaf, its prices).

        ``limits`` follows.
        """
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
                yield k, self._prices(owner)
            else:
                stack += [(node.right, owner, node, True), (node.left, owner, node, False)]

    def _prices(self, owner: int) -> Priced:
        if owner not in self._read:
            held = None if owner < 0 else self.nodes[owner].prices
            self._read.clear()  # price sets come one after the other
            self._read[owner] = self._dense(owner, held or CapacityPrices(entries=()))
        return self._read[owner]

    def _dense(self, k: int, prices: Prices) -> Priced:
        """Turn a sparse list into an array."""
        inst = self.inst
        classes = len(inst.arrays.classes)
        if isinstance(prices, UnitPrices):
            names = {"side": 2, "job": len(inst.jobs), "slot": inst.horizon, "class": classes}
            return UnitPriced(k, _fill(k, prices.entries, names))
        names = {"slot": inst.horizon, "class": classes, "resource": len(inst.resources)}
        if isinstance(prices, PackingPrices):
            _only_by_job(inst, f"node {k}", "a price of workers that sit together")
            most = max((job.chunks for job in inst.jobs), default=1)
            numbers = {"job": len(inst.jobs), "slot": inst.horizon, "k": most}
            together = _fill(k, prices.together, numbers)
            return PackingPriced(k, together, _fill(k, prices.capacity, names))
        return CapacityPriced(k, _fill(k, prices.entries, names))


def _fill(k: int, entries: Sequence[tuple[int, ...]], names: Mapping[str, int]) -> Ints:
    """Return the array that a sparse list means; ``names`` has its shape."""
    shape = tuple(names.values())
    if math.prod(shape) > MOST_PRICES:
        raise ValueError(
            f"node {k}: there are {math.prod(shape)} prices by {', '.join(names)}, "
            f"expected at most {MOST_PRICES}: another kind of prices"
        )
    dense = np.zeros(shape, np.int64)
    seen = np.zeros(dense.shape, np.bool_)
    for entry in entries:
        where = f"node {k}, price {list(entry)}"
        for (name, size), index in zip(names.items(), entry[:-1], strict=True):
            _inside(where, name, index, 0, size - 1)
        if not 0 <= entry[-1] < LARGEST_PRICE:
            raise ValueError(f"{where}: is {entry[-1]}, expected 0..2**62 - 1")
        if seen[entry[:-1]]:
            raise ValueError(
                f"node {k}: the price of {list(entry[:-1])} is given twice, expected once"
            )
        dense[entry[:-1]], seen[entry[:-1]] = entry[-1], True
    return dense


def _inside(place: str, name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{place}: {name} {value} does not exist, expected {low}..{high}")
