"""Checker of capacity cuts for whole slots: a branching tree with a Lagrangian bound per leaf.

A cut gives weights of jobs, and the most that the weighted workers of any slot can be; it holds in
every slot, since the machines are the same. Its proof is a tree that splits numbers of workers
(Cheung et al., 2017). At the prices of a leaf, the weights of the workers minus their price and
that of their PS, plus the most that the machines can earn, bound the weights of every slot
(Geoffrion, 1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from optsched.families.oasis.certificate.bound import LeafBounds
from optsched.families.oasis.certificate.limits import LARGEST_LIMIT_PRICE, LARGEST_WEIGHT, cells
from optsched.numbers.arrays import Ints
from optsched.numbers.magnitudes import INT64
from optsched.problem import Frozen
from optsched.proofs.grid import dense
from optsched.proofs.limits import inside
from optsched.proofs.slots import Index
from optsched.proofs.tree import Change, change, check_tree, walk

FINEST_LIMIT = 20  # bits of its grid

Held = dict[tuple[int, int, int], tuple[int, int]]
"""(side, machine, job) -> fewest and most workers (PS) there"""

Whole = Annotated[int, Field(ge=-INT64, le=INT64)]


class SlotLeaf(Frozen):
    """A set of slots that is bounded by prices of workers and PS."""

    node: Literal["leaf"] = "leaf"
    prices: tuple[tuple[Whole, Whole, Whole], ...] = Field(
        description="[side (0 workers, 1 PS), job, price of one worker or PS]; others are 0"
    )


class NumberSplit(Frozen):
    """The job has at most ``at`` workers | more."""

    node: Literal["number"] = "number"
    job: Index
    at: Index
    left: Index
    right: Index


class HostedSplit(Frozen):
    """The job has at most ``at`` workers (PS) on one machine | more."""

    node: Literal["machine"] = "machine"
    job: Index
    side: Literal[0, 1] = Field(description="0: a worker machine, 1: a PS machine")
    machine: Index
    at: Index
    left: Index
    right: Index


SlotSplits = NumberSplit | HostedSplit
SlotNode = Annotated[SlotLeaf | NumberSplit | HostedSplit, Field(discriminator="node")]


class SlotLimit(Frozen):
    """In every slot, the workers of the jobs, times their weights, are at most ``most``."""

    weights: tuple[tuple[Whole, Whole], ...] = Field(
        min_length=1, description="[job, weight of a worker]; others count nothing"
    )
    most: int = Field(ge=0, le=INT64)
    grid_bits: int = Field(
        ge=0, le=FINEST_LIMIT, description="prices are integers, in weights times 2**-grid_bits"
    )
    nodes: tuple[SlotNode, ...] = Field(min_length=1, description="a tree; the first is its root")


def _weights_of(k: int, limit: SlotLimit, jobs: int) -> Ints:
    """Return the weights by job, shape (I,), of limit ``k``.

    Raises
    ------
    ValueError
        A job does not exist, or is given twice; or a weight is out of range.
    """
    weights = np.zeros(jobs, np.int64)
    for i, weight in limit.weights:
        inside(f"limit {k}, weight of job {i}", "job", i, 0, jobs - 1)
        if not 1 <= weight <= LARGEST_WEIGHT:
            raise ValueError(
                f"limit {k}: weight of job {i} is {weight}, expected 1..{LARGEST_WEIGHT}"
            )
        if weights[i]:
            raise ValueError(f"limit {k}: job {i} has two weights, expected one")
        weights[i] = weight
    return weights


def check_limits(limits: Sequence[SlotLimit], bounds: LeafBounds) -> Ints:
    """Prove limits again; return their weights, shape (K, I).

    Raises
    ------
    ValueError
        One is no tree, a node holds what is not allowed there, or it proves less than it says.
    """
    jobs = len(bounds.inst.jobs)
    cells("weights of limits", len(limits), jobs)
    weights = np.zeros((len(limits), jobs), np.int64)
    for k, limit in enumerate(limits):
        weights[k] = _weights_of(k, limit, jobs)
        found = proved(k, limit, weights[k], bounds)
        if found > limit.most:
            raise ValueError(f"limit {k}: most is {limit.most}, expected {found}, which is proved")
    return weights


def proved(k: int, limit: SlotLimit, weights: Ints, bounds: LeafBounds) -> int:
    """Return the most that the proof of limit ``k`` leaves to a slot, whatever it says.

    Parameters
    ----------
    k : int
        For messages.
    limit : SlotLimit
    weights : shape (I,)
        Its weights by job.
    bounds : LeafBounds
        Of the instance, at any grid.

    Raises
    ------
    ValueError
        It is no tree, or a node holds what is not allowed there.
    """
    jobs = len(bounds.inst.jobs)

    def check(n: int, node: SlotLeaf | SlotSplits) -> None:
        if not isinstance(node, SlotLeaf):
            place = f"limit {k}, node {n}"
            inside(place, "job", node.job, 0, jobs - 1)
            inside(f"{place}, job {node.job}", "at", node.at, 0, bounds.inst.jobs[node.job].chunks)
            if isinstance(node, HostedSplit):
                machines = bounds.sides[node.side].machines
                inside(place, f"machine of side {node.side}", node.machine, 0, machines - 1)

    check_tree(limit.nodes, check)
    low, high = np.zeros(jobs, np.int64), np.where(weights > 0, bounds.cap, 0)
    held: Held = {}

    def restrict(split: SlotSplits, more: bool) -> list[Change]:
        i = split.job
        if isinstance(split, HostedSplit):
            place = split.side, split.machine, i
            least, most = held.get(place, (0, bounds.inst.jobs[i].chunks))
            narrower = (max(least, split.at + 1), most) if more else (least, min(most, split.at))
            return [change(held, place, narrower)]
        if more:
            return [change(low, i, max(low[i], split.at + 1))]
        return [change(high, i, min(high[i], split.at))]

    most = 0
    for leaf, _ in walk(limit.nodes, restrict):
        names = {"side": 2, "job": jobs}
        entries = limit.nodes[leaf].prices  # type: ignore[union-attr]
        prices = dense(f"limit {k}, node {leaf}", entries, names, LARGEST_LIMIT_PRICE, 2 * jobs)
        numbers = weights << limit.grid_bits, low, high
        found = _bound(bounds, numbers, held, prices)
        if found is not None:
            most = max(most, found >> limit.grid_bits)
    return most


def _bound(
    bounds: LeafBounds, numbers: tuple[Ints, Ints, Ints], held: Held, prices: Ints
) -> int | None:
    """Return a bound on the weights of a slot, on the grid of the prices; None: no slot is so.

    Parameters
    ----------
    bounds : LeafBounds
    numbers : three arrays of shape (I,)
        Weights on the grid; fewest and most workers.
    held : mapping
        (side, machine, job) -> fewest and most there.
    prices : shape (2, I)
        Of a worker, of a PS.
    """
    weights, low, high = numbers
    if np.any(low > high) or any(least > most for least, most in held.values()):
        return None
    total = 0
    for i in np.flatnonzero(weights).tolist():
        cells(f"numbers of job {i}", int(high[i]) + 1)
        number = np.arange(low[i], high[i] + 1)
        earned = (weights[i] - prices[0, i]) * number - prices[1, i] * bounds.ps_needed[i][number]
        total += int(earned.max())
    numbers_of_ps = [bounds.ps_needed[i][n] for i, n in enumerate(high.tolist())]
    for s, most in enumerate((high, np.array(numbers_of_ps, np.int64))):
        side, machines = bounds.sides[s], dict[int, dict[int, tuple[int, int]]]()
        for (where, h, i), limits in held.items():
            if where == s:
                machines.setdefault(h, {})[i] = limits
        for c, count in enumerate(side.count.tolist()):
            alone = count - sum(side.class_of[h] == c for h in machines)
            if alone:
                total += alone * bounds.load(s, c, prices[s], most)
        for h, jobs in machines.items():
            load = bounds.restricted(s, side.class_of[h], prices[s], most, jobs)
            if load is None:
                return None
            total += load
    return total
