"""Declared problems against instances whose answers were proved elsewhere."""

import math
from fractions import Fraction

import pytest
from independent.declared import ALL, FILES, MORE, load

from optsched.core import relax, simulate, solve
from optsched.declared.certificate import check
from optsched.problem import Level, PolicyError, Status


def compare_with(path):
    inst, known = load(path)
    found = solve(inst)
    if known["status"] == "infeasible":
        assert (found.status, found.bound_level) == (Status.INFEASIBLE, Level.CERTIFIED)
        assert math.isinf(check(inst, found.certificate))
        return
    best = float(Fraction(known["optimum"]))
    assert found.status is Status.OPTIMAL
    assert found.bound_level is Level.CERTIFIED
    assert found.value == pytest.approx(best, rel=1e-9)
    sign = 1 if inst.sense == "max" else -1
    assert sign * check(inst, found.certificate) >= sign * best
    assert found.bound == pytest.approx(best, rel=1e-8)
    # the files leave the offset out of the relaxation alone
    relaxed = relax(inst)
    assert (relaxed.status, relaxed.bound_level) == (Status.BOUND_ONLY, Level.CERTIFIED)
    assert relaxed.bound - inst.offset == pytest.approx(known["relaxation"], rel=1e-7)
    assert check(inst, relaxed.certificate) == pytest.approx(relaxed.bound, rel=1e-12)
    for name in ("greedy", "re-solve"):
        try:
            value = simulate(inst, name).value
        except PolicyError:
            value = None
        if known[name] is None:
            assert value is None, name
        else:
            assert value == pytest.approx(float(Fraction(known[name])), rel=1e-9), name
    # a row of what only lowers its activity waits for the first variable that raises it
    for time, row in zip(inst.times, known["program"]["rows"], strict=True):
        assert time >= (math.inf if row["seen"] is None else row["seen"]), row["name"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_answers_are_those_of_the_reference(path):
    compare_with(path)


@pytest.mark.skipif(not MORE, reason=f"no reference instances in {ALL}")
def test_answers_are_those_of_all_references():
    for path in MORE:
        compare_with(path)
