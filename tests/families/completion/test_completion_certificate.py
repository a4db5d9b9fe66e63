"""Certificates: known bounds, coverage of the tree, and what a checker must refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from independent.completion import FILES, load, optimum, tiny

from optsched.core import solve
from optsched.families.completion.certificate.format import (
    CompletionCertificate,
    Leaf,
    Split,
    check,
    leaf_bounds,
    round_up,
)
from optsched.problem import Level, Status


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_bounds_are_the_known_ones(path):
    inst, known = load(path)
    if any(len(members) > 1 for members in inst.arrays.classes):
        pytest.skip("the known prices differ between equal servers")
    for answer in known["oracle"]:
        prices = np.array(answer["delta"]) / inst.arrays.scale
        certificate = CompletionCertificate.root(inst, prices, 32)
        bounds = list(leaf_bounds(inst, certificate))
        if answer["bound"] is None:
            assert bounds == [None]
            assert check(inst, certificate) == math.inf
        else:
            assert float(bounds[0]) == pytest.approx(answer["bound"], rel=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_no_prices_and_no_tree_bound_too_high(seed):
    inst = tiny(seed)
    best = optimum(inst)
    if best is None:
        pytest.skip("no schedule exists")
    rng = np.random.default_rng(seed)
    a = inst.arrays
    shape = (inst.horizon, len(a.classes), len(inst.resources))
    lists = []
    for _ in range(3):
        prices = rng.uniform(0, 2, shape) * (rng.random(shape) < 0.3)
        lists += CompletionCertificate.root(inst, prices, 20).prices
    nodes = (
        Split(job=0, attribute="completion", at=int(rng.integers(1, 5)), left=1, right=2),
        Leaf(prices=0),
        Split(job=1, attribute="workers", at=1, left=3, right=4),
        Leaf(prices=1),
        Leaf(prices=2),
    )
    tree = CompletionCertificate(
        instance_sha256=inst.digest(), grid_bits=20, prices=tuple(lists), nodes=nodes
    )
    assert check(inst, tree) <= best


@pytest.mark.slow
def test_certified_optimum_of_known_instances():
    closed = 0
    for path in FILES:
        inst, known = load(path)
        found = solve(inst, method="auto", time_limit=120)
        if known["optimum"] is None:
            assert (found.status, found.bound_level) == (Status.INFEASIBLE, Level.CERTIFIED)
            assert check(inst, found.certificate) == math.inf
            continue
        assert found.status.closed
        assert found.value == known["optimum"] == found.bound
        assert check(inst, found.certificate) == found.certified_bound <= found.value
        assert found.bound_level in (Level.CERTIFIED, Level.CROSS_CHECKED)
        closed += found.bound_level is Level.CERTIFIED
    assert closed >= 8


def test_values_between_multiples_of_the_weights_do_not_exist():
    inst, _ = load(FILES[0])
    assert round_up(inst, 5 / 2) == 3


@pytest.fixture
def whole():
    inst, _ = load(FILES[0])
    return inst, CompletionCertificate.root(inst, np.zeros((1, 2, 2)), 20)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"instance_sha256": "0" * 64}, "belongs to instance 000"),
        ({"nodes": (Leaf(prices=1),)}, "node 0: price list 1 does not exist, expected 0..0"),
        (
            {"nodes": (Split(job=9, attribute="start", at=1, left=1, right=2),)},
            "node 0: job 9 does not exist",
        ),
        (
            {"nodes": (Split(job=0, attribute="start", at=1, left=1, right=2),)},
            "node 0: child 1 does not exist",
        ),
        (
            {
                "nodes": (
                    Split(job=0, attribute="start", at=1, left=1, right=1),
                    Leaf(prices=0),
                )
            },
            "already a child",
        ),
        ({"nodes": (Leaf(prices=0), Leaf(prices=0))}, "node 1: cannot be reached"),
        ({"prices": (((0, 5, 0, 1),),)}, r"price \[0, 5, 0, 1\]: class 5 does not exist"),
        ({"prices": (((0, 0, 0, 1), (0, 0, 0, 2)),)}, "is given twice"),
        ({"prices": (((10**8, 0, 0, 1),),)}, "slot 100000000 is beyond what the instance needs"),
    ],
)
def test_what_is_no_certificate_is_refused(whole, change, words):
    inst, certificate = whole
    with pytest.raises(ValueError, match=words):
        check(inst, certificate.model_copy(update=change))
