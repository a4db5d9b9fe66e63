"""Certificates of a dual bound for family `rigid`, and their exact checker.

Prices of capacity and surcharges of sizes, constant between breakpoints, prove a Lagrangian bound
(Geoffrion, 1974; see `bound`). A tree of splits, each of which divides the schedules by the start
of one job, makes it tighter: every leaf has its prices, and the least bound of the leaves is that
of the tree, as in the certificates of Cheung et al. (2017).

For the makespan there is a ``deadline``: no schedule ends by it, since at the prices of every leaf
all jobs together pay more than the value of all capacity. So the makespan is greater.

The checker uses integers only, no tolerance, no code of any solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt

from optsched.families.rigid.certificate.bound import BoundEvaluator, Prices, Second, values
from optsched.families.rigid.instance import RigidInstance
from optsched.problem import Frozen
from optsched.proofs.grid import float_below
from optsched.proofs.limits import check_owner, check_size, inside
from optsched.proofs.tree import Change, change, check_tree, walk

MOST_BITS = 100  # of the grid of prices
MOST_FILLED = 2**25  # steps of all knapsacks: intervals * sizes * units
MOST_WALKED = 2**28  # breakpoints of all leaves and jobs


class Leaf(Frozen):
    """A set of schedules that is bounded by prices."""

    node: Literal["leaf"] = "leaf"
    prices: int = Field(ge=0, description="which of the certificate's prices are its own")


class Split(Frozen):
    """The job starts in second ``at`` at the latest | later."""

    node: Literal["split"] = "split"
    job: NonNegativeInt
    at: Second
    left: NonNegativeInt = Field(description="index of the node of the first half")
    right: NonNegativeInt = Field(description="index of the node of the second half")


Node = Annotated[Leaf | Split, Field(discriminator="node")]


class RigidCertificate(Frozen):
    """Why no schedule of an instance costs less than a bound."""

    instance_sha256: str
    grid_bits: int = Field(
        ge=0,
        le=MOST_BITS,
        description="prices are integers, in units of the summed objective times 2**-grid_bits",
    )
    prices: tuple[Prices, ...]
    nodes: tuple[Node, ...] = Field(min_length=1, description="a tree; the first is its root")
    deadline: Second | None = Field(
        default=None, description="makespan only: no schedule ends by this second"
    )
    relaxed: bool = Field(
        default=False, description="true: the prices are duals of the linear relaxation"
    )

    @classmethod
    def root(
        cls, inst: RigidInstance, prices: Prices, grid_bits: int, *, relaxed: bool = False
    ) -> Self:
        """Certify by one set of prices, without a tree."""
        return cls(
            instance_sha256=inst.digest(),
            grid_bits=grid_bits,
            prices=(prices,),
            nodes=(Leaf(prices=0),),
            relaxed=relaxed,
        )


def check(inst: RigidInstance, certificate: RigidCertificate) -> float:
    """Re-evaluate a certificate.

    Returns
    -------
    float
        A bound that no schedule goes below, rounded downwards; that of a relaxed certificate also
        holds for the linear relaxation, whose sum is no whole number.

    Raises
    ------
    ValueError
        The certificate belongs to another instance, is no tree, holds invalid entries, or
        does not exclude its deadline; the message states where.
    """
    check_size(certificate)
    if certificate.relaxed:
        _check_relaxed(inst, certificate)
    bounds = [bound for bound in leaf_bounds(inst, certificate) if bound is not None]
    if inst.objective == "makespan":
        least = max((job.arrival + job.run for job in inst.jobs), default=0)
        if certificate.deadline is None:
            return float_below(Fraction(least))
        if any(bound <= 0 for bound in bounds):
            raise ValueError(
                f"deadline {certificate.deadline} is not excluded: the jobs pay no more than "
                "the value of capacity, expected other prices"
            )
        return float_below(Fraction(max(least, certificate.deadline + 1)))
    if certificate.deadline is not None:
        raise ValueError(f"a deadline, expected none with objective {inst.objective}")
    least_sum = min(bounds, default=Fraction(0))
    if inst.objective != "slowdown" and not certificate.relaxed:
        least_sum = Fraction(math.ceil(least_sum))  # a sum of weights times seconds
    return max(0.0, float_below(least_sum / inst.weight))


def leaf_bounds(inst: RigidInstance, certificate: RigidCertificate) -> Iterator[Fraction | None]:
    """Yield the bounds of the leaves from left to right; None where no schedule is left.

    Raises
    ------
    ValueError
        As in :func:`check`.
    """
    check_owner(inst, certificate.instance_sha256)
    steps = sum(_check_prices(inst, k, prices) for k, prices in enumerate(certificate.prices))
    if steps > MOST_FILLED:
        raise ValueError(
            f"the surcharges: {steps} steps of knapsacks, expected at most {MOST_FILLED}"
        )
    lists, nodes = len(certificate.prices), certificate.nodes
    check_tree(nodes, lambda k, node: _check_node(inst, lists, k, node))
    walked = sum(len(certificate.prices[n.prices].times) for n in nodes if isinstance(n, Leaf))
    if walked * len(inst.jobs) > MOST_WALKED:
        raise ValueError(
            f"the leaves have {walked} breakpoints for each of {len(inst.jobs)} jobs, expected at "
            f"most {MOST_WALKED} of all jobs together"
        )
    evaluation, bits = BoundEvaluator(inst), certificate.grid_bits
    filled = [values(inst, prices) for prices in certificate.prices]
    if certificate.deadline is not None:
        evaluation.high = [certificate.deadline - job.run for job in inst.jobs]

    def restrict(split: Split, right: bool) -> list[Change]:
        side = evaluation.low if right else evaluation.high
        value = max(side[split.job], split.at + 1) if right else min(side[split.job], split.at)
        return [change(side, split.job, value)]

    for k, _ in walk(nodes, restrict):
        leaf = nodes[k]
        assert isinstance(leaf, Leaf)
        found = evaluation.sum(certificate.prices[leaf.prices], bits, filled[leaf.prices])
        yield None if found is None else Fraction(found, 2**bits)


def _check_prices(inst: RigidInstance, k: int, prices: Prices) -> int:
    """Return how many steps the knapsacks take.

    Breakpoints that do not ascend, and prices that are not one per interval, are refused.
    """
    if any(b <= a for a, b in pairwise(prices.times)):
        raise ValueError(f"prices {k}: breakpoints do not ascend, expected ascending ones")
    expected = (len(inst.resources), max(0, len(prices.times) - 1))
    if len(prices.price) != expected[0] or any(len(p) != expected[1] for p in prices.price):
        raise ValueError(
            f"prices {k}: expected {expected[0]} lists of {expected[1]} prices, one for each "
            "interval between breakpoints"
        )
    steps = 0
    for more in prices.surcharges:
        inside(f"prices {k}", "resource", more.resource, 0, len(inst.resources) - 1)
        if any(b <= a for a, b in pairwise(more.needs)):
            raise ValueError(f"prices {k}: needs do not ascend, expected ascending ones")
        if len(more.price) != len(more.needs) or any(len(p) != expected[1] for p in more.price):
            raise ValueError(
                f"prices {k}: expected {len(more.needs)} lists of {expected[1]} surcharges, one "
                "for each interval between breakpoints"
            )
        units = inst.total[more.resource] // math.gcd(*more.needs) if more.needs else 0
        dearest = max((x for row in more.price for x in row), default=0)
        slow = 64 if dearest * units >= 2**62 else 1  # Python's integers
        steps += expected[1] * len(more.needs) * units * slow
    return steps


def _check_relaxed(inst: RigidInstance, certificate: RigidCertificate) -> None:
    """Refuse what bounds schedules only."""
    if inst.objective == "makespan":
        raise ValueError("relaxed: expected an objective other than makespan")
    if len(certificate.nodes) > 1:
        raise ValueError("relaxed: there is a tree, expected one leaf")
    if any(prices.surcharges for prices in certificate.prices):
        raise ValueError("relaxed: there are surcharges, expected none")


def _check_node(inst: RigidInstance, lists: int, k: int, node: Leaf | Split) -> None:
    """Refuse prices or a job that do not exist."""
    if isinstance(node, Leaf):
        inside(f"node {k}", "prices", node.prices, 0, lists - 1)
    else:
        inside(f"node {k}", "job", node.job, 0, len(inst.jobs) - 1)
