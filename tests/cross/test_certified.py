"""Certified optima of 100 random small instances per family: right, and nothing beyond passes."""

import math

import pytest
from completion_programs import accepts, changed
from independent.cases import MAIN, case
from patience import LONG
from sweeps import sweep

from optsched.core import solve
from optsched.engine.interval import CLOSED, Interval
from optsched.families.completion.optimum.initial_bounds import one_by_one
from optsched.problem import Level, Status, family_of
from optsched.results.result import recheck_optimum

INSTANCES, CHUNK = 100, 5
FIRST = 400_000  # beyond the seeds of all other tests
STEP = 3 * CLOSED  # relative: what no longer counts as closed
ROWS = [
    pytest.param(family, *row.values, marks=row.marks)
    for family in MAIN
    for row in sweep(range(0, INSTANCES, CHUNK), family != "completion")
]


def drawn(family, k):
    """Return a case; of `dmlrs` one in the reading that trees know: every fourth is the other."""
    seed = FIRST + (4 * (k // 3) + 1 + k % 3 if family == "dmlrs" else k)
    return case(family, MAIN[family], 1.0, seed)


def poor(inst):
    """Return a schedule that is known without any search."""
    family = family_of(inst)
    return one_by_one(inst) if family.empty is None else family.empty(inst)


def worse(family, value):
    """Return a value that is one step worse."""
    return value - family.sign * STEP * (abs(value) or 1.0)


def says_more(inst, found):
    """Return whether a program over time or slots is accepted with a value one step worse."""
    value = found.certificate.program.value
    if family_of(inst).name == "completion":
        more = changed(found.certificate, value=value + 1)
        return accepts(inst, more, math.nextafter(found.value, math.inf))
    less = found.certificate.program.model_copy(update={"value": value - 1})
    with pytest.raises(ValueError, match="program"):
        family_of(inst).check(inst, found.certificate.model_copy(update={"program": less}))
    return False


def complaints(inst, said):
    return recheck_optimum(family_of(inst), inst, said, "").complaints


@pytest.mark.parametrize(("name", "first"), ROWS)
def test_a_certified_optimum_is_right_and_a_value_one_step_worse_is_refused(name, first):
    for k in range(first, first + CHUNK):
        here = drawn(name, k)
        inst, family = here.instance, family_of(here.instance)
        found = solve(inst, time_limit=LONG)
        if here.truth.low is None:
            assert (found.status, found.bound_level) == (Status.INFEASIBLE, Level.CERTIFIED), k
            continue
        assert (found.status, found.bound_level) == (Status.OPTIMAL, Level.CERTIFIED), (k, found)
        assert here.truth.reached(found.value, CLOSED), k
        assert not here.truth.refutes(family.check(inst, found.certificate)), k
        assert not complaints(inst, found), k

        past = worse(family, found.value)
        bound = {"bound": past, "certified_bound": past}
        said = f"the certificate proves the bound {family.check(inst, found.certificate)}, the file"
        assert any(said in c for c in complaints(inst, found.model_copy(update=bound))), k
        if getattr(found.certificate, "program", None) is not None:  # it states what it proves
            assert not says_more(inst, found), k
        value = {"value": past}
        assert any("value is" in c for c in complaints(inst, found.model_copy(update=value))), k
        other = poor(inst)
        if other is None:
            continue
        known = family.verify(inst, other).value
        bound, proof = found.certified_bound, found.certificate
        gap = Interval(family, inst, known, bound, other, proof).gap
        if math.isfinite(known) and gap > CLOSED:
            forged = found.model_copy(update={"schedule": other, "value": known})
            assert any("status is optimal" in c for c in complaints(inst, forged)), k


def test_a_search_ends_where_nothing_is_feasible():
    found = solve(drawn("completion", 40).instance, work_limit=20_000)
    assert (found.status, found.bound_level) == (Status.INFEASIBLE, Level.CERTIFIED)
    assert found.effort < 2000
