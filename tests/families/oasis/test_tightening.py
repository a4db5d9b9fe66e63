"""The tightened relaxation: every bound is valid, certified, and not above the plain one."""

import numpy as np
import pytest
from independent.oasis import optimum, random_instance

from optsched.engine.budget import Budget
from optsched.families.oasis.certificate.check import check
from optsched.families.oasis.optimum.build_certificate import certify_slots
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.cutting_planes import (
    CutLoop,
    CutParams,
    _Packing,
)
from optsched.families.oasis.sources.traces import generate

PARAMS = CutParams()


def tightened(inst, rounds):
    tightening = CutLoop(CapacityRelaxation(inst), threads=1)
    bounds = []
    while not tightening.done and len(bounds) < rounds:
        tightening.round(Budget(60.0).span())
        bounds.append(tightening.bound)
    return tightening, bounds


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_valid_and_certified(seed):
    inst = random_instance(seed)
    tightening, bounds = tightened(inst, 8)
    if tightening.guide is None:  # no job can finish
        assert optimum(inst) == 0
        return
    assert all(b >= optimum(inst) * (1 - 1e-9) for b in bounds)
    assert bounds == sorted(bounds, reverse=True)
    certified = check(inst, certify_slots(inst, tightening.guide.prices))
    assert certified == pytest.approx(tightening.bound, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_inequalities_tighten():
    inst = generate("earnable", seed=3, jobs=15, slots=20, machines=8)
    tightening, bounds = tightened(inst, 6)
    assert bounds[-1] < 0.97 * bounds[0]
    assert tightening.packings
    guide = tightening.guide
    assert ((guide.share > -1e-6) & (guide.share < 1 + 1e-3)).all()
    assert guide.value.sum() == pytest.approx(tightening.bound, rel=0.1)
    assert (guide.prices[0] >= 0).all()
    assert np.isfinite(guide.prices[1]).all()


def test_inequalities_of_other_slots_are_violated_clearly_and_new():
    draw = np.random.default_rng(0)
    hosted = draw.random((6, 4))
    known = [_Packing(1, int(t), 2, draw.random(4) / 2) for t in draw.integers(0, 6, 20)]
    found = CutLoop._shared(known, hosted, PARAMS)
    weights = [p.weight.tolist() for p in known]
    there = {t: [p.weight for p in known if p.slot == t] for t in range(6)}
    for p in found:
        assert (p.side, p.group) == (1, 2)
        assert p.weight.tolist() in weights
        assert p.weight @ hosted[p.slot] >= 1 + PARAMS.clearly
        length = np.linalg.norm(p.weight)
        for other in there[p.slot]:
            assert p.weight @ other <= PARAMS.alike * length * np.linalg.norm(other)
        there[p.slot].append(p.weight)
    number = np.bincount([p.slot for p in found], minlength=6)
    assert number.max() == PARAMS.shared
    for t in np.flatnonzero(number < PARAMS.shared):  # nothing else is violated and new
        for p in known:
            length = np.linalg.norm(p.weight)
            new = all(p.weight @ w <= PARAMS.alike * length * np.linalg.norm(w) for w in there[t])
            assert not new or p.weight @ hosted[t] < 1 + PARAMS.clearly
