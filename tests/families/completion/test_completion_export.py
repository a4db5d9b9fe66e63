"""The exported program is the problem that is solved, by the word of other solvers."""

from __future__ import annotations

import pytest
from independent.completion import tiny

from optsched.core import solve
from optsched.results.export import Format, write_program


@pytest.mark.parametrize("seed", range(12))
def test_what_is_exported_is_the_problem_that_is_solved(seed, tmp_path):
    """Where jobs may run on after T, an export that ended at T would ask for more than the best."""
    inst = tiny(seed).model_copy(update={"enforce_horizon": False, "horizon": 2})
    target = tmp_path / "program.mps"
    write_program(inst, target, Format.MPS)
    best = solve(inst, time_limit=60)
    assert best.status.closed
    assert highs_value(target) == pytest.approx(best.value)
    if seed < 4:
        assert scip_value(target) == pytest.approx(best.value)


def test_some_optimum_ends_after_the_horizon():
    """So the test above says something."""
    late = 0
    for seed in range(12):
        inst = tiny(seed).model_copy(update={"enforce_horizon": False, "horizon": 2})
        best = solve(inst, time_limit=60)
        late += max(piece.end for (piece,) in best.schedule.jobs) > 2
    assert late >= 6


def highs_value(path):
    """Return the optimum of a program by HiGHS without presolve."""
    import highspy

    h = highspy.Highs()
    for name, value in (("output_flag", False), ("presolve", "off"), ("mip_rel_gap", 0.0)):
        h.setOptionValue(name, value)
    h.readModel(str(path))
    h.run()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return h.getInfo().objective_function_value


def scip_value(path):
    """Return the optimum of a program by SCIP."""
    model = pytest.importorskip("pyscipopt").Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    assert model.getStatus() == "optimal"
    return model.getObjVal()
