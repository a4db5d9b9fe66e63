"""Certificates from dual values: prices and trees in floats are rounded to a grid of integers.

Rounding to the safe side keeps every bound valid (Neumaier and Shcherbina, 2004); a branching tree
becomes a tree of splits with prices at its leaves (Cheung et al., 2017).
"""

from __future__ import annotations

import math

import numpy as np

from optsched.engine.branch import BranchAndBoundTree, TreeNode
from optsched.engine.reserve import busy
from optsched.engine.slot_tree import Completion, Workers, certified_nodes
from optsched.families.dmlrs.certificate.bound import LeafBounds
from optsched.families.dmlrs.certificate.check import (
    CapacityPrices,
    CompletionSplit,
    DmlrsCertificate,
    Leaf,
    PackingPrices,
    WorkersSplit,
)
from optsched.families.dmlrs.certificate.limits import CapacityPriced
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.dmlrs.optimum.tree.branching import SlotTree
from optsched.numbers.arrays import Floats, Ints
from optsched.proofs.grid import to_grid

KINDS = {TreeNode: Leaf, Completion: CompletionSplit, Workers: WorkersSplit}


def certify_capacity(problem: CapacityRelaxation, prices: Floats) -> DmlrsCertificate:
    """Certify by one set of prices on capacity."""
    whole, bits = _on_grid(problem, prices)
    return DmlrsCertificate.root(problem.inst, CapacityPrices.of(whole), bits)


def check_seconds(problem: CapacityRelaxation, prices: Floats, sample: int) -> float:
    """Return about how many seconds of a processor it takes to check prices on capacity.

    That depends on the prices: the less jobs earn, the more slots are looked at. So the payoffs of
    about ``sample`` jobs are computed as the checker computes all.
    """
    whole, bits = _on_grid(problem, prices)
    bounds = LeafBounds(problem.inst, bits)
    limits, priced = bounds.unrestricted(), CapacityPriced(0, whole)
    some = range(0, problem.jobs, max(1, problem.jobs // sample))
    began = busy()
    for i in some:
        bounds.payoff(i, limits, priced)
    return (busy() - began) * problem.jobs / max(1, len(some))


def _on_grid(problem: CapacityRelaxation, prices: Floats) -> tuple[Ints, int]:
    """Return prices as integers, shape (T, C, R), and the bits of their grid."""
    bits = _bits(problem, float(prices.max(initial=0.0)))
    by_class = np.ascontiguousarray(prices.reshape(problem.shape).transpose(0, 2, 1))
    return to_grid(by_class, bits), bits


def _bits(problem: CapacityRelaxation, highest: float) -> int:
    """Return the bits of a grid for prices up to ``highest``."""
    # a demand unit may be tiny, so the grid is as fine as the largest capacity requires
    largest = max(float(problem.rhs.max(initial=1.0)), 1.0)
    # the same for the price of all capacity of a class; `to_grid` cuts prices off at 2**61
    bits = int(np.clip(round(math.log2(largest)) + 36, 40, 90))
    return min(bits, 61 - math.frexp(highest)[1])


def certify_tree(problem: SlotTree, tree: BranchAndBoundTree) -> DmlrsCertificate:
    """Certify by a branching tree whose leaves price packings."""
    inst = problem.inst
    highest = max(float(node.prices.max(initial=0.0)) for node in tree.nodes)
    bits = _bits(problem.by_capacity, highest)
    # a job that must complete may have to pay a lot, and the checker lowers the price of a worker
    # so that a whole schedule costs less than 2**60: this one stays below 2**59
    dearest = max(_dearest(problem, node.prices) for node in tree.nodes)
    most = max((job.chunks for job in inst.jobs), default=1)
    paid = 4.0 * max(inst.horizon, problem.jobs) * most * dearest
    # the grid of values, at the finest
    values = min(bits, 40, 59 - math.ceil(math.log2(max(1.0, paid))))
    nodes = certified_nodes(tree, lambda prices: _prices(problem, prices, bits), KINDS)
    return DmlrsCertificate(
        instance_sha256=inst.digest(), grid_bits=bits, value_shift=bits - values, nodes=nodes
    )


def _dearest(problem: SlotTree, prices: Floats) -> float:
    """Return the most that a worker or PS pays in a slot, on a machine that holds it."""
    a = problem.inst.arrays
    demand = np.concatenate((a.worker_demand, a.ps_demand)).max(axis=0, initial=0)
    units = np.minimum(demand, problem.capacity).T  # (R, C)
    charged = (problem.by_class(prices) * units).sum(axis=1)
    return float(max(prices[: problem.workers].max(initial=0.0), charged.max(initial=0.0)))


def _prices(problem: SlotTree, prices: Floats, bits: int) -> PackingPrices:
    together = np.diff(problem.by_job(prices), axis=2)
    capacity = np.ascontiguousarray(problem.by_class(prices).transpose(0, 2, 1))
    return PackingPrices.of(to_grid(together, bits), to_grid(capacity, bits))
