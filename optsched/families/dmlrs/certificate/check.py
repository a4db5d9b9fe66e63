"""Certificates of a dual bound for family `dmlrs`, and their exact checker.

A certificate is a tree of splits with prices at its leaves (Cheung et al., 2017); each leaf has a
Lagrangian dual bound (Geoffrion, 1974).

For any prices >= 0 no schedule earns more than

    B = sum_i max(0, payoff_i) + value of the machines at these prices,

with payoff_i the most that job i earns, u_i(completion) - cost of its workers and parameter servers
(PS), on empty machines. Prices are put

- on capacity (``capacity``): a price per slot, class of equal machines and resource; the machines
  have the value price * capacity;
- on workers that sit together (``packings``): a price per job, slot and number of workers on one
  machine with their PS, and prices on capacity for all other placements; the value of a slot is its
  most expensive packing, where a job sits on one machine at most, and the capacity that this
  leaves;
- on capacity, on the work of each job, and on further rows (``relaxed``): the duals of the linear
  relaxation, whose value they prove (`declared`). They bound all schedules, without a tree.

A tree of restrictions makes the bound tighter: every inner node splits the
schedules in two, so that its leaves cover all of them; each leaf has its own bound, and the
greatest is the bound of the tree. A leaf bounds nothing if no schedule meets its restrictions.

Where few jobs run in few slots, a certificate may instead name a value, and the checker follows all
that can happen, slot by slot, and drops states that cannot exceed the value at prices on capacity
(`program`).

Without loss of value a job has exactly the PS that its workers need in a slot, no more workers than
do its whole work, and nothing after its completion; "completes in slot t" means that slot t holds
its last worker. A job that never completes has no workers. Link by link (`links`), all
PS of a job sit on one machine in a slot, and there are no packings.

The checker uses integers only, no tolerance but the instance's own, no code of any solver.
Utilities are rounded up, costs down, the bound up.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import Field, NonNegativeInt

from optsched.families.dmlrs.certificate.bound import LeafBounds
from optsched.families.dmlrs.certificate.declared import RelaxationRow, relaxed_bound
from optsched.families.dmlrs.certificate.limits import (
    MOST_PRICES,
    CapacityPriced,
    PackingPriced,
    Priced,
)
from optsched.families.dmlrs.certificate.program import check_program
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.numbers.arrays import Ints
from optsched.numbers.overflow import INT64
from optsched.problem import Frozen
from optsched.proofs.branching import Index, SlotSplit, priced_leaves
from optsched.proofs.grid import LARGEST_PRICE, Exact, dense, sparse
from optsched.proofs.limits import check_owner, inside
from optsched.proofs.tree import check_tree, greatest_bound

FINEST_GRID = 1200  # bits: the smallest float is above 2**-1100
BLINK = 50_000  # jobs times slots up to which a few seconds are enough for any prices


class CapacityPrices(Frozen):
    """Prices of capacity; a price that is not listed is 0."""

    kind: Literal["capacity"] = "capacity"
    entries: tuple[tuple[int, int, int, int], ...] = Field(
        description="[slot, class, resource, price of one demand unit]"
    )

    @classmethod
    def of(cls, prices: Ints | Exact, **more: Any) -> Self:
        """Make the sparse list from an array of integers, shape (T, C, R)."""
        return cls(entries=sparse(prices), **more)


class PackingPrices(Frozen):
    """Prices of workers that sit together with their PS; a price that is not listed is 0.

    Outer placements pay for capacity.
    """

    kind: Literal["packings"] = "packings"
    together: tuple[tuple[int, int, int, int], ...] = Field(
        description="[job, slot, k, price of one worker more next to k of them]"
    )
    capacity: tuple[tuple[int, int, int, int], ...] = Field(
        description="[slot, class, resource, price of one demand unit]"
    )

    @classmethod
    def of(cls, together: Ints, capacity: Ints) -> Self:
        """Make the sparse lists from arrays of integers, shapes (I, T, N) and (T, C, R)."""
        return cls(together=sparse(together), capacity=sparse(capacity))


class RelaxedPrices(CapacityPrices):
    """Duals of the linear relaxation; unlisted ones are 0."""

    kind: Literal["relaxed"] = "relaxed"  # type: ignore[assignment]
    work: tuple[NonNegativeInt, ...] = Field(
        description="of each job, price of one unit of its work"
    )
    rows: tuple[tuple[int, int, int, int, int, NonNegativeInt], ...] = Field(
        default=(), description="[row, job, slot, class, second class, multiplier]"
    )


Prices = Annotated[CapacityPrices | PackingPrices | RelaxedPrices, Field(discriminator="kind")]


class _Node(Frozen):
    prices: Prices | None = Field(
        default=None,
        description="of the leaves below that have none nearer; without any, all prices are 0",
    )


class Leaf(_Node):
    """A set of schedules that is bounded by prices."""

    node: Literal["leaf"] = "leaf"
    unpackable: None = Field(default=None, exclude=True, description="of earlier versions: null")


class CompletionSplit(SlotSplit, _Node):
    """The job completes in ``slot`` or before | later or never."""

    node: Literal["completion"] = "completion"


class WorkersSplit(SlotSplit, _Node):
    """The job has at most ``at`` workers in ``slot`` | more."""

    node: Literal["workers"] = "workers"
    at: Index


Node = Annotated[Leaf | CompletionSplit | WorkersSplit, Field(discriminator="node")]


class SlotProgramProof(Frozen):
    """A value that the program over slots cannot exceed, at the prices of the only node."""

    value: int = Field(ge=0, le=INT64, description="in value units times 2**grid_bits")
    conflicts: tuple[tuple[tuple[Index, Index, Index], ...], ...] = Field(
        description="lists of [job, mode (1 one machine, 2 two or more), workers] that find no "
        "place in one slot"
    )


class DmlrsCertificate(Frozen):
    """Certificate: no schedule of an instance has a value above a bound."""

    instance_sha256: str
    grid_bits: int = Field(
        ge=-1100,
        le=FINEST_GRID,
        description="prices are integers, in value units times 2**grid_bits",
    )
    value_shift: int = Field(
        default=0,
        ge=0,
        le=FINEST_GRID,
        exclude_if=lambda shift: shift == 0,
        description="binary digits by which values are counted more coarsely than prices, at least",
    )
    nodes: tuple[Node, ...] = Field(min_length=1, description="a tree; the first is its root")
    program: SlotProgramProof | None = Field(
        default=None, description="proof of the bound of the only node, in addition to its prices"
    )

    @classmethod
    def root(cls, inst: DmlrsInstance, prices: Prices | None, grid_bits: int) -> Self:
        """Certify by one set of prices (None: all are 0), without a tree."""
        return cls(instance_sha256=inst.digest(), grid_bits=grid_bits, nodes=(Leaf(prices=prices),))


def leaf_bounds(inst: DmlrsInstance, certificate: DmlrsCertificate) -> Iterator[Fraction | None]:
    """Yield the bounds of the leaves from left to right; None where no schedule is left.

    Raises
    ------
    ValueError
        The certificate belongs to another instance or reading, is no tree, or a node holds what is
        not allowed there; the message names the node.
    """
    check_owner(inst, certificate.instance_sha256)
    nodes = certificate.nodes
    check_tree(nodes, lambda k, node: node.node == "leaf" or node.check(k, inst))
    if certificate.program is not None:
        yield _program(inst, certificate, certificate.program)
        return
    if any(isinstance(node.prices, RelaxedPrices) for node in nodes):
        yield _relaxed(inst, certificate)
        return
    bounds = LeafBounds(inst, certificate.grid_bits, certificate.value_shift)
    root, unit = nodes[0], Fraction(2) ** certificate.grid_bits
    whole = isinstance(root, Leaf) and root.prices is None
    if whole and len(inst.jobs) * inst.horizon > BLINK:
        yield bounds.unpriced() / unit  # the trivial bound
        return
    read = partial(_read, inst)
    for bound in priced_leaves(nodes, bounds.unrestricted(), read, bounds.bound):
        yield None if bound is None else bound / unit


check = partial(greatest_bound, leaf_bounds)
"""Check of the dual bound's certificate: the greatest bound of its leaves, computed anew."""


def _program(
    inst: DmlrsInstance, certificate: DmlrsCertificate, program: SlotProgramProof
) -> Fraction:
    """Return the value that the program over slots cannot exceed."""
    _only_by_job(inst, "program", "the program over slots")
    root, bits = certificate.nodes[0], certificate.grid_bits
    if not isinstance(root, Leaf):
        raise ValueError("program: the first node is no leaf, expected it to be the only one")
    priced = _read(inst, 0, root.prices)
    if not isinstance(priced, CapacityPriced):
        raise ValueError("program: the node has other prices, expected prices of capacity, or none")
    check_program(inst, bits, priced.prices, program.value, program.conflicts)
    return program.value / Fraction(2) ** bits


def _relaxed(inst: DmlrsInstance, certificate: DmlrsCertificate) -> Fraction:
    """Return the bound that the duals of the linear relaxation prove."""
    root = certificate.nodes[0]
    prices = root.prices
    if not isinstance(root, Leaf) or not isinstance(prices, RelaxedPrices):
        raise ValueError("duals of the relaxation in a tree, expected them at a leaf, alone")
    if len(prices.work) != len(inst.jobs):
        raise ValueError(f"node 0: {len(prices.work)} prices of work, expected {len(inst.jobs)}")
    classes = len(inst.arrays.classes)
    sizes = (len(RelaxationRow), len(inst.jobs), inst.horizon, classes, classes)
    names = ("row", "job", "slot", "class", "second class")
    multipliers: dict[tuple[int, int, int, int, int], int] = {}
    for entry in prices.rows:
        where = entry[:5]
        for name, index, size in zip(names, where, sizes, strict=True):
            inside(f"node 0, row {list(entry)}", name, index, 0, size - 1)
        if where in multipliers:
            raise ValueError(f"node 0: the multiplier of {list(where)} is given twice")
        multipliers[where] = entry[5]
    priced = _read(inst, 0, prices)
    bound = relaxed_bound(inst, priced.prices, prices.work, multipliers, certificate.grid_bits)
    return bound / Fraction(2) ** certificate.grid_bits


def _only_by_job(inst: DmlrsInstance, place: str, what: str) -> None:
    if inst.locality != "job":
        raise ValueError(f"{place}: {what} has a meaning in the reading 'job' only, expected none")


def _read(inst: DmlrsInstance, k: int, prices: Prices | None) -> Priced:
    """Return the arrays that the prices of node ``k`` mean; without any, all are 0."""
    jobs, slots, classes = len(inst.jobs), inst.horizon, len(inst.arrays.classes)

    def read(entries: tuple[tuple[int, ...], ...], names: dict[str, int]) -> Ints:
        return dense(f"node {k}", entries, names, LARGEST_PRICE, MOST_PRICES)

    names = {"slot": slots, "class": classes, "resource": len(inst.resources)}
    if isinstance(prices, PackingPrices):
        _only_by_job(inst, f"node {k}", "a price of workers that sit together")
        most = max((job.chunks for job in inst.jobs), default=1)
        together = read(prices.together, {"job": jobs, "slot": slots, "k": most})
        return PackingPriced(k, together, read(prices.capacity, names))
    return CapacityPriced(k, read(prices.entries if prices else (), names))
