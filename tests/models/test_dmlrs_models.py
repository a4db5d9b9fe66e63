"""The programs: known optima in both readings, equations by number, what each row does."""

import pyomo.environ as pyo
import pytest
from independent.dmlrs import FILES, load, optimum, tiny
from sweeps import sweep

from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.optimum.monolithic_mip import schedule_of
from optsched.families.dmlrs.verify import verify
from optsched.models.dmlrs import dmlrs_ilp, work_row
from optsched.solvers import solve_pyomo

CASES = [(file, locality) for file in FILES for locality in ("job", "link")]


@pytest.mark.parametrize(("file", "locality"), sweep(CASES, 8), ids=lambda x: getattr(x, "stem", x))
def test_known_optima(file, locality):
    inst, reference = load(file, locality)
    model = dmlrs_ilp(inst)
    found = solve_pyomo(model)
    best = reference[f"optimum_{locality}"]["value"]
    assert found.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
    verdict = verify(inst, schedule_of(inst, model))
    assert verdict.value == pytest.approx(best, rel=1e-6, abs=1e-9), verdict


@pytest.mark.parametrize("locality", ["job", "link"])
def test_every_component_cites_its_equation(locality):
    inst, _ = load(FILES[0], locality)
    for c in dmlrs_ilp(inst).component_objects((pyo.Constraint, pyo.Objective)):
        assert c.doc, c.name
        number = c.name.split("_")
        cited = {
            "eq3": f"(3.{number[1]})",
            "fact1": "(Fact 1)",
            "dmlrs": "(DMLRS)",
        }[number[0]]
        assert c.doc.startswith(cited), c.name


@pytest.mark.parametrize("seed", [11, 44])
def test_without_the_two_machine_rows_outer_slots_hide_on_one_machine(seed):
    inst = tiny(seed)
    model = dmlrs_ilp(inst)
    model.fact1_two_machines.deactivate()
    # all of a job on one machine, with the few PS of the outer rate: more than can be
    found = solve_pyomo(model)
    assert found.objective > optimum(inst) + 1
    assert verify(inst, schedule_of(inst, model)).value is None


def test_jobs_without_a_chance_have_no_variables():
    inst, _ = load(next(f for f in FILES if f.stem == "024"))
    model = dmlrs_ilp(inst)
    assert solve_pyomo(model).objective == 0
    nobody = DmlrsInstance.model_validate(inst.model_dump() | {"jobs": ()})
    assert solve_pyomo(dmlrs_ilp(nobody)).objective == 0


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_tolerance_does_not_decide_what_is_enough(file):
    inst, _ = load(file)
    for needs in inst.needs:
        enough = -(-needs.work // needs.inner)
        inner, outer, least = work_row(needs, 1000 * enough)
        for a in range(enough + 1):
            b = max(0, -(-(needs.work - a * needs.inner) // needs.outer))
            assert a * inner + b * outer > least
            assert b == 0 or a * inner + (b - 1) * outer < least
