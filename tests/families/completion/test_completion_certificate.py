"""Certificates: known bounds, and what a checker must refuse."""

import math

import numpy as np
import pytest
from independent.completion import FILES, load, optimum, tiny

from optsched.core import solve
from optsched.families.completion.certificate.check import (
    CompletionCertificate,
    Leaf,
    check,
    price_bound,
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
        bound = price_bound(inst, certificate)
        if answer["bound"] is None:
            assert bound is None
            assert check(inst, certificate) == math.inf
        else:
            assert float(bound) == pytest.approx(answer["bound"], rel=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_no_prices_bound_too_high(seed):
    inst = tiny(seed)
    best = optimum(inst)
    if best is None:
        pytest.skip("no schedule exists")
    rng = np.random.default_rng(seed)
    a = inst.arrays
    shape = (inst.horizon, len(a.classes), len(inst.resources))
    for _ in range(3):
        prices = rng.uniform(0, 2, shape) * (rng.random(shape) < 0.3)
        assert check(inst, CompletionCertificate.root(inst, prices, 20)) <= best


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
        ({"prices": (((0, 5, 0, 1),),)}, r"price \[0, 5, 0, 1\]: class 5 does not exist"),
        ({"prices": (((0, 0, 0, 1), (0, 0, 0, 2)),)}, "is given twice"),
        ({"prices": (((10**8, 0, 0, 1),),)}, "slot 100000000 is beyond what the instance needs"),
    ],
)
def test_what_is_no_certificate_is_refused(whole, change, words):
    inst, certificate = whole
    with pytest.raises(ValueError, match=words):
        check(inst, certificate.model_copy(update=change))
