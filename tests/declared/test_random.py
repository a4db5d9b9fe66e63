"""Random small models against enumeration: certified values are right, or honest intervals."""

import math

import pytest
from independent.declared import draw, enumerated

from optsched.core import simulate, solve
from optsched.declared.certificate import check
from optsched.declared.model import KINDS
from optsched.problem import InputError, Level, Status

FAST, ALL = range(15), range(15, 120)


def compare_with_enumeration(seed):
    inst = draw(seed)
    sign = 1 if inst.sense == "min" else -1
    best = enumerated(inst)  # beyond its reach there may be better ones
    within = not any(c.integer and math.isinf(c.upper - c.lower) for c in inst.columns)
    try:
        found = solve(inst, time_limit=10)
    except InputError:  # it is unbounded
        assert not within or (best is not None and math.isinf(best))
        return
    if found.status is Status.INFEASIBLE:
        assert best is None
        assert found.bound_level is Level.CERTIFIED
        assert math.isinf(check(inst, found.certificate))
        return
    assert found.value is not None
    assert found.certified_bound is not None
    assert found.certificate is not None
    value, bound = sign * found.value, sign * check(inst, found.certificate)
    assert bound <= value + 1e-6 * max(1.0, abs(value))
    if best is not None:
        assert bound <= best + 1e-9 * max(1.0, abs(best))
        assert value <= best + 1e-6 * max(1.0, abs(best))
    if within:
        assert best is not None
        assert value == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("seed", FAST)
def test_values_are_those_of_enumeration(seed):
    compare_with_enumeration(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", ALL)
def test_values_are_those_of_enumeration_in_many_models(seed):
    compare_with_enumeration(seed)


@pytest.mark.parametrize("upper", [1.7, 0.9999999, 0.9999999999999])
def test_bounds_of_integer_variables_are_not_rounded_outwards(upper):
    columns = [
        {"name": f"x{t}", "cost": 1, "upper": upper, "integer": True, "revealed": t, "decided": t}
        for t in range(3)
    ]
    row = {"name": "room", "upper": 7, "entries": [(j, 1) for j in range(3)]}
    inst = KINDS["max"].model_validate({"columns": columns, "rows": [row]})
    best = 3 * math.floor(upper)
    for method in ("auto", "tree", "cpsat"):
        assert solve(inst, method=method).value == best
    assert solve(inst, method="relaxation").certified_bound == pytest.approx(3 * upper)
    for policy in ("greedy", "re-solve", "rolling", "lookahead", "relaxed"):
        assert simulate(inst, policy).value == best


@pytest.mark.parametrize(("side", "limit"), [("lower", 1e15), ("upper", -1e15)])
def test_limits_beyond_the_input_of_cpsat(side, limit):
    column = {"name": "x", "cost": 1, "upper": 3, "integer": True, "revealed": 0, "decided": 0}
    for sign, value in ((1, None), (-1, 3)):
        row = {"name": "far", side: sign * limit, "entries": [(0, 1e-5)]}
        inst = KINDS["max"].model_validate({"columns": [column], "rows": [row]})
        assert solve(inst, method="cpsat").value == value
