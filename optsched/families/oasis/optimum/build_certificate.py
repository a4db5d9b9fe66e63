"""Certificates from dual values: prices and trees in floats are rounded to a grid of integers.

Rounding to the safe side keeps every bound valid (Neumaier and Shcherbina, 2004); a branching tree
becomes a tree of splits with prices at its leaves (Cheung et al., 2017).
"""

from __future__ import annotations

import math

import numpy as np

from optsched.engine.branch import BranchAndBoundTree, TreeNode
from optsched.engine.slot_tree import Completion, Workers, certified_nodes
from optsched.families.oasis.certificate.check import (
    CapacityPrices,
    CompletionSplit,
    Leaf,
    OasisCertificate,
    SlotPrices,
    WorkersSplit,
    to_fine_grid,
)
from optsched.families.oasis.certificate.limits import GridRange
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.unit_price import UnitPriceDecomposition
from optsched.numbers.arrays import Floats
from optsched.proofs.grid import to_grid
from optsched.proofs.limits import richest_end

KINDS = {TreeNode: Leaf, Completion: CompletionSplit, Workers: WorkersSplit}


def certify_capacity(problem: CapacityRelaxation, prices: Floats) -> OasisCertificate:
    """Certify by one set of prices on capacity."""
    worker, ps = (
        p.reshape(shape).transpose(0, 2, 1)
        for p, shape in zip(np.split(prices, [problem.sizes[0]]), problem.shapes, strict=True)
    )
    return certify_prices(problem.inst, worker, ps, float(problem.rhs.max(initial=1.0)))


def certify_prices(
    inst: OasisInstance, worker: Floats, ps: Floats, most: float
) -> OasisCertificate:
    """Certify by prices of units of capacity, (T, C, R) each; ``most`` units of one class."""
    # a demand unit may be tiny, so the grid is as fine as the largest capacity requires
    # the same for the price of all capacity of a class
    bits = max(40, round(math.log2(max(most, 1.0))) + 36)
    prices = (to_fine_grid(np.ascontiguousarray(p), bits) for p in (worker, ps))
    return OasisCertificate.root(inst, CapacityPrices.of(*prices), bits)


def certify_slots(inst: OasisInstance, prices: tuple[Floats, Floats]) -> OasisCertificate:
    """Certify by one set of prices of workers and PS, (I, T) each."""
    bits = _slot_bits(inst, max(float(p.max(initial=0.0)) for p in prices))
    worker, ps = (to_grid(p, bits) for p in prices)
    return OasisCertificate.root(inst, SlotPrices.of(worker, ps), bits)


def _slot_bits(inst: OasisInstance, dearest: float) -> int:
    """Return a grid on which the checker counts such prices as they are."""
    # the grid of prices per worker, at the finest
    most = GridRange.of(inst, 40, richest_end(inst)).dearest
    return min(40, math.frexp(most)[1] - 1 - math.frexp(max(dearest, 2.0**-60))[1])


def certify_tree(problem: UnitPriceDecomposition, tree: BranchAndBoundTree) -> OasisCertificate:
    """Certify by a branching tree whose leaves price workers and PS."""
    inst = problem.inst
    # a job that must complete may have to pay a lot: the whole schedule stays below 2**60
    bits = _slot_bits(inst, max(float(node.prices.max(initial=0.0)) for node in tree.nodes))
    nodes = certified_nodes(tree, lambda prices: _prices(problem, prices, bits), KINDS)
    return OasisCertificate(instance_sha256=inst.digest(), grid_bits=bits, nodes=nodes)


def _prices(problem: UnitPriceDecomposition, prices: Floats, bits: int) -> SlotPrices:
    return SlotPrices.of(*(to_grid(p, bits) for p in problem.by_job(prices)))
