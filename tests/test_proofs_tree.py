"""Trees of restrictions: what is no tree is refused, and a walk sees the limits of every leaf."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.proofs.tree import change, check_tree, walk

SEEDS = st.integers(0, 2**32 - 1)


def leaf(prices=None):
    return SimpleNamespace(node="leaf", prices=prices)


def split(left, right, prices=None):
    return SimpleNamespace(node="split", left=left, right=right, prices=prices)


def drawn(seed, splits):
    """Return a tree whose nodes stand in any order, but for the root."""
    draw = np.random.default_rng(seed)
    nodes = [leaf()]
    for _ in range(splits):
        k = draw.choice([k for k, node in enumerate(nodes) if node.node == "leaf"])
        nodes[k] = split(len(nodes), len(nodes) + 1)
        nodes += [leaf(), leaf()]
    place = np.concatenate([[0], 1 + draw.permutation(len(nodes) - 1)])
    out = [None] * len(nodes)
    for k, node in enumerate(nodes):
        node.prices = int(draw.integers(9)) if draw.random() < 0.4 else None
        if node.node == "split":
            node.left, node.right = int(place[node.left]), int(place[node.right])
        out[place[k]] = node
    return out


def accepts(nodes):
    try:
        check_tree(nodes, lambda _k, _node: None)
    except ValueError:
        return False
    return True


def is_tree(nodes):
    """Whether walking down from the root meets every node once."""
    met, stack = [], [0]
    while stack and len(met) <= len(nodes):
        k = stack.pop()
        if not 0 <= k < len(nodes):
            return False
        met.append(k)
        if nodes[k].node == "split":
            stack += [nodes[k].left, nodes[k].right]
    return sorted(met) == list(range(len(nodes)))


@given(SEEDS, st.integers(0, 6), st.integers(0, 2))
def test_exactly_the_trees_are_accepted(seed, splits, damages):
    nodes, draw = drawn(seed, splits), np.random.default_rng([seed, 1])
    assert accepts(nodes)
    for _ in range(damages):
        node = nodes[draw.integers(len(nodes))]
        if node.node == "split":
            setattr(node, "left" if draw.random() < 0.5 else "right", int(draw.integers(-1, 14)))
    assert accepts(nodes) == is_tree(nodes)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([split(1, 2), leaf()], r"node 0: child 2 does not exist, expected 1\.\.1"),
        ([split(0, 1), leaf()], "node 0: child 0 does not exist"),
        ([split(1, 1), leaf()], "node 0: child 1 is already a child of node 0"),
        ([leaf(), leaf()], "node 1: cannot be reached from the root"),
        ([leaf(), split(2, 3), split(1, 4), leaf(), leaf()], "node 1: cannot be reached"),
    ],
)
def test_messages_name_the_node(nodes, message):
    with pytest.raises(ValueError, match=message):
        check_tree(nodes, lambda _k, _node: None)


def test_what_else_a_node_may_hold_is_asked_in_order():
    seen = []
    check_tree([split(2, 1), leaf(), leaf()], lambda k, node: seen.append((k, node.node)))
    assert seen == [(0, "split"), (1, "leaf"), (2, "leaf")]


@given(SEEDS, st.integers(0, 8))
def test_a_walk_sees_the_limits_and_prices_of_every_leaf(seed, splits):
    nodes = drawn(seed, splits)
    array, table = np.zeros(len(nodes), np.int64), {}

    def restrict(node, right):
        k = nodes.index(node)
        return [change(array, k, 1 + right), change(table, ("side", right), k)]

    def expected(k, owner, path, sides):
        node = nodes[k]
        owner = owner if node.prices is None else k
        if node.node == "leaf":
            yield k, owner, path, sides
            return
        for right, child in enumerate((node.left, node.right)):
            yield from expected(
                child, owner, path | {k: 1 + right}, sides | {("side", bool(right)): k}
            )

    found = [
        (k, owner, {j: int(x) for j, x in enumerate(array) if x}, dict(table))
        for k, owner in walk(nodes, restrict)
    ]
    assert found == list(expected(0, -1, {}, {}))
    assert not array.any()
    assert table == {}
