"""Turns prices and branching trees into certificates."""

from __future__ import annotations

import math

import numpy as np

from optsched.branch import Tree, TreeNode
from optsched.colgen import Floats
from optsched.families.oasis.capacity_blocks import CapacityBlocks
from optsched.families.oasis.certificate import (
    CapacityPrices,
    CompletionSplit,
    Leaf,
    MachineSplit,
    Node,
    OasisCertificate,
    SlotPrices,
    WorkersSplit,
    to_grid,
)
from optsched.families.oasis.slot_blocks import Completion, Machine, SlotBlocks, Workers

SLOT_BITS = 44  # a price is of one worker
RELATIVE = 2.0**-40  # resolution of a whole machine's worth of capacity, relative to the value


def certify_capacity(problem: CapacityBlocks, prices: Floats) -> OasisCertificate:
    """Certify by one set of prices on capacity."""
    parts = np.split(prices, [problem.sizes[0]])
    # a demand unit may be tiny, so the grid is as fine as the largest capacity asks
    bits = int(np.clip(round(math.log2(max(problem.rhs.max(initial=1.0), 1.0))) + 36, 40, 90))
    worker, ps = (
        to_grid(np.ascontiguousarray(p.reshape(shape).transpose(0, 2, 1)), bits)
        for p, shape in zip(parts, problem.shapes, strict=True)
    )
    return OasisCertificate.root(problem.inst, CapacityPrices.of(worker, ps), bits)


def certify_tree(problem: SlotBlocks, tree: Tree) -> OasisCertificate:
    """Certify by a branching tree whose leaves price workers and PS."""
    nodes: list[Node] = []
    held: dict[int, bytes] = {}  # prices that a node inherits from above, by node
    for k, node in enumerate(tree.nodes):
        key = node.prices.tobytes()
        prices = None
        if held.get(k) != key:
            worker, ps = problem.by_job(node.prices)
            prices = SlotPrices.of(to_grid(worker, SLOT_BITS), to_grid(ps, SLOT_BITS))
        for child in node.children or ():
            held[child] = key
        nodes.append(_node(node, prices))
    return OasisCertificate(
        instance_sha256=problem.inst.digest(), grid_bits=SLOT_BITS, nodes=tuple(nodes)
    )


def _node(node: TreeNode, prices: SlotPrices | None) -> Node:
    if node.children is None:
        return Leaf(prices=prices)
    left, right = node.children
    what = node.split
    if isinstance(what, Completion):
        return CompletionSplit(
            job=what.job, slot=what.slot, left=left, right=right, prices=prices
        )
    if isinstance(what, Workers):
        return WorkersSplit(
            job=what.job, slot=what.slot, at=what.at, left=left, right=right, prices=prices
        )
    assert isinstance(what, Machine)
    return MachineSplit(
        job=what.job,
        slot=what.slot,
        side=what.side,
        machine=what.machine,
        at=what.at,
        left=left,
        right=right,
        prices=prices,
    )
