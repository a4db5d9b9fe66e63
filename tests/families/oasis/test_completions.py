"""Branching above the tightened relaxation: bounds stay valid, fall, and are certified."""

from __future__ import annotations

import numpy as np
import pytest
from independent.oasis import optimum, random_instance

from optsched.engine.budget import Budget
from optsched.engine.progress import Progress
from optsched.families.oasis import FAMILY
from optsched.families.oasis.certificate.format import CompletionSplit, check
from optsched.families.oasis.optimum import methods, priced_search
from optsched.families.oasis.optimum.build_certificate import certify_parts
from optsched.families.oasis.optimum.params import AutoParams
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.cutting_planes import CutLoop
from optsched.families.oasis.optimum.shadow import shadow_prices
from optsched.families.oasis.optimum.tree.completion_branching import MOST_LEAVES, CompletionTree
from optsched.families.oasis.sources.traces import generate

LOADS = 1e-3  # relatively: what the searches for the dearest load of a machine may differ by


def never():
    return False


def grown(inst, rounds, splits):
    """Return a tree after this many splits, and the bounds on the way."""
    tightening = CutLoop(CapacityRelaxation(inst), threads=1)
    for _ in range(rounds):
        if not tightening.done:
            tightening.round(Budget(60.0).span())
    if tightening.guide is None:
        return None, []
    tree = CompletionTree(tightening)
    bounds = [tree.bound]
    for bound in tree.grow(Budget(60.0).span(), never):
        bounds.append(bound)
        if len(bounds) > splits:
            break
    return tree, bounds


@pytest.fixture(scope="module")
def crowded():
    inst = generate("earnable", seed=3, jobs=15, slots=20, machines=8)
    return inst, *grown(inst, 4, 6)  # after three rounds, a part has jobs that cannot all complete


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_bounds_are_valid_and_certified(seed):
    inst = random_instance(seed)
    tree, bounds = grown(inst, 2, 5)
    if tree is None:  # no job can finish
        assert optimum(inst) == 0
        return
    assert all(b >= optimum(inst) * (1 - 1e-9) for b in bounds)
    assert bounds == sorted(bounds, reverse=True)
    certified = check(inst, certify_parts(inst, tree.root))
    assert certified >= optimum(inst) * (1 - 1e-9)
    assert certified == pytest.approx(tree.bound, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_splits_lower_the_bound(crowded):
    inst, tree, bounds = crowded
    assert len(bounds) == 7
    assert bounds[-1] < 0.97 * bounds[0]
    assert check(inst, certify_parts(inst, tree.root)) == pytest.approx(bounds[-1], rel=LOADS)


@pytest.mark.slow
def test_every_leaf_does_what_is_decided(crowded):
    inst, tree, _ = crowded
    leaves = list(tree.root.leaves())
    assert len(leaves) == 7
    late = np.arange(inst.horizon)
    solved = 0
    for leaf in leaves:
        completed, node = leaf.completed, leaf.node
        found = tree.cut_loop.relax(node, Budget(60.0).span().limits(), tree.jobs)
        if not found.sound:  # its jobs cannot all complete: there is nothing to see
            continue
        solved += 1
        within = (late >= node.first[:, None]) & (late <= node.last[:, None])
        assert completed[~within] == pytest.approx(0, abs=1e-2)
        must = node.last < inst.horizon
        assert completed.sum(axis=1)[must] == pytest.approx(1, abs=1e-2)
        out = node.first == inst.horizon
        assert not leaf.prices[0][out].any()
    assert 2 * solved > len(leaves)


@pytest.mark.slow
def test_a_tree_is_split_where_it_is_worst(crowded):
    _, tree, _ = crowded
    assert tree.root.split is not None
    for leaf in tree.root.leaves():
        assert leaf.bound <= tree.bound
    assert max(leaf.bound for leaf in tree.root.leaves()) == tree.bound


@pytest.mark.slow
def test_a_tree_ends_with_its_leaves():
    inst = generate("paper", seed=2, jobs=12, slots=20, machines=4)
    tree, bounds = grown(inst, 3, 2 * MOST_LEAVES)
    assert tree is not None
    assert 1 < len(list(tree.root.leaves())) <= MOST_LEAVES
    assert len(bounds) == len(list(tree.root.leaves()))


@pytest.mark.slow
def test_without_time_nothing_is_split(crowded):
    inst, _, _ = crowded
    tightening = CutLoop(CapacityRelaxation(inst), threads=1)
    tightening.round(Budget(60.0).span())
    tree = CompletionTree(tightening, seconds=1.0)
    for seconds in (1.5, 2.1):  # for one part; for both of a split, but not for checking them
        assert list(tree.grow(Budget(seconds).span(), never)) == []
    assert list(tree.grow(Budget(60.0).span(), lambda: True)) == []
    assert tree.bound == tightening.bound
    assert check(inst, certify_parts(inst, tree.root)) == pytest.approx(tree.bound, rel=LOADS)


@pytest.mark.slow
def test_auto_grows_a_tree_where_the_instance_is_large(crowded, monkeypatch):
    inst, _, bounds = crowded
    for gain in ("LEAST_GAIN", "TREE_GAIN"):  # the first rounds are enough
        monkeypatch.setattr(priced_search, gain, 1.0)

    def interrupt(progress):  # so that it does not matter how fast the machine is
        if progress.bound is not None and progress.bound < 0.98 * bounds[0]:
            progress.end()

    progress = Progress(FAMILY, inst, gap=1e-6, time_limit=600.0, watch=interrupt)
    methods.auto(inst, progress, threads=1, seed=0, params=AutoParams(small=0))
    certificate, bound = progress.proof(check=True)
    assert isinstance(certificate.nodes[0], CompletionSplit)
    assert progress.value <= bound < bounds[0]
    assert shadow_prices(inst, certificate)  # the root has prices


@pytest.mark.slow
def test_damaged_trees_are_weaker_or_rejected(crowded):
    inst, tree, bounds = crowded
    certificate = certify_parts(inst, tree.root)
    raw = certificate.model_dump()
    raw["nodes"] = list(raw["nodes"])
    k, split = next(
        (k, n) for k, n in enumerate(certificate.nodes) if isinstance(n, CompletionSplit)
    )
    raw["nodes"][k] |= {"left": split.right, "right": split.left}
    assert check(inst, certificate.model_validate(raw)) > bounds[-1] * (1 + 1e-4)
    raw["nodes"][k] |= {"left": split.left, "right": split.left}
    with pytest.raises(ValueError, match="already a child"):
        check(inst, certificate.model_validate(raw))
    raw["nodes"][k] |= {"right": split.right, "job": len(inst.jobs)}
    with pytest.raises(ValueError, match="does not exist"):
        check(inst, certificate.model_validate(raw))
