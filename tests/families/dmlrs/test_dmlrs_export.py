"""The exported program is the problem that `solve` solves: other solvers find the same."""

from pathlib import Path

import pytest
from independent.dmlrs import on_the_edge, optimum, tiny

from optsched.core import solve
from optsched.families.dmlrs.sources.presets import generate
from optsched.problem import Status
from optsched.results.export import Format, write_program


def by_scip(path: Path) -> float:
    scip = pytest.importorskip("pyscipopt")
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    assert model.getStatus() == "optimal"
    return float(model.getObjVal())


def by_highs(path: Path) -> float:
    """Read and solve the file as a user would, without anything of this package."""
    import highspy

    h = highspy.Highs()
    for name, value in {"output_flag": False, "presolve": "off", "mip_rel_gap": 0.0}.items():
        h.setOptionValue(name, value)
    assert h.readModel(str(path)) != highspy.HighsStatus.kError
    h.run()
    assert h.modelStatusToString(h.getModelStatus()) == "Optimal"
    return float(h.getObjectiveValue())


SOLVERS = pytest.mark.parametrize("solver", [by_scip, by_highs])


@SOLVERS
@pytest.mark.parametrize("to", [Format.MPS, Format.LP])
@pytest.mark.parametrize("locality", ["job", "link"])
def test_other_solvers_find_what_trying_everything_finds(solver, to, locality, tmp_path):
    for seed in range(40, 46):
        inst, path = tiny(seed, locality), tmp_path / f"{seed}.{to}"
        write_program(inst, path, to)
        assert solver(path) == pytest.approx(optimum(inst), rel=1e-6, abs=1e-9), seed


@SOLVERS
def test_other_solvers_find_the_optimum_on_the_edge(solver, tmp_path):
    for seed in range(20):
        inst, path = on_the_edge(seed), tmp_path / f"{seed}.mps"
        write_program(inst, path, Format.MPS)
        assert solver(path) == pytest.approx(optimum(inst), rel=1e-6, abs=1e-9), seed


@SOLVERS
@pytest.mark.parametrize(("seed", "locality"), [(25, "job"), (33, "job")])
def test_other_solvers_find_what_solve_finds(solver, seed, locality, tmp_path):
    inst = generate("small", seed=seed)
    inst = type(inst).model_validate(inst.model_dump() | {"locality": locality})
    found = solve(inst, time_limit=60)
    assert found.status is Status.OPTIMAL
    path = tmp_path / "program.mps"
    write_program(inst, path, Format.MPS)
    assert solver(path) == pytest.approx(found.value, rel=1e-6)
