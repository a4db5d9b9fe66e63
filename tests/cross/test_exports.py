"""The exported program is the problem that `solve` solves: other solvers find the same."""

from pathlib import Path

import pytest
from independent import completion, dmlrs, oasis
from sweeps import sweep

from optsched.core import solve
from optsched.declared.readers import offline
from optsched.problem import Status, get_family
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
TINY = {
    "oasis": (range(8), oasis.random_instance, oasis.optimum),
    "dmlrs": (range(40, 46), dmlrs.tiny, dmlrs.optimum),
    "dmlrs, link by link": (range(40, 46), lambda s: dmlrs.tiny(s, "link"), dmlrs.optimum),
    "dmlrs, on the edge": (range(20), dmlrs.on_the_edge, dmlrs.optimum),
}


@SOLVERS
@pytest.mark.parametrize("to", [Format.MPS, Format.LP])
@pytest.mark.parametrize("kind", sweep(TINY, quick=1))
def test_other_solvers_find_what_trying_everything_finds(solver, to, kind, tmp_path):
    seeds, draw, optimum = TINY[kind]
    for seed in seeds:
        inst, path = draw(seed), tmp_path / f"{seed}.{to}"
        write_program(inst, path, to)
        assert solver(path) == pytest.approx(optimum(inst), rel=1e-6, abs=1e-9), seed


# oasis 39 is the one on which HiGHS is wrong unless presolve is off: 109.50 of 112.69
@SOLVERS
@pytest.mark.parametrize(
    ("family", "seed"), [("oasis", 1), ("oasis", 39), ("dmlrs", 25), ("dmlrs", 33)]
)
def test_other_solvers_find_what_solve_finds(solver, family, seed, tmp_path):
    inst = get_family(family).generate("small", seed=seed)
    found = solve(inst, time_limit=60)
    assert (found.status, found.bound_level) == (Status.OPTIMAL, "certified")
    path = tmp_path / "program.mps"
    write_program(inst, path, Format.MPS)
    assert solver(path) == pytest.approx(found.value, rel=1e-6)


@pytest.mark.slow
def test_jobs_may_run_on_after_the_horizon(tmp_path):
    """An export that ended at the horizon would request more than the best."""
    late = 0
    for seed in range(12):
        inst = completion.tiny(seed).model_copy(update={"enforce_horizon": False, "horizon": 2})
        path = tmp_path / f"{seed}.mps"
        write_program(inst, path, Format.MPS)
        best = solve(inst, time_limit=60)
        assert best.status.closed
        assert by_highs(path) == pytest.approx(best.value), seed
        late += max(piece.end for (piece,) in best.schedule.jobs) > 2
    assert late >= 6


@pytest.mark.parametrize("seed", range(4))
def test_scip_lets_jobs_run_on_after_the_horizon(seed, tmp_path):
    inst = completion.tiny(seed).model_copy(update={"enforce_horizon": False, "horizon": 2})
    write_program(inst, tmp_path / "program.mps", Format.MPS)
    assert by_scip(tmp_path / "program.mps") == pytest.approx(solve(inst, time_limit=60).value)


@pytest.mark.parametrize("name", ["oasis", "dmlrs", "completion"])
def test_an_exported_program_can_be_read_as_a_declared_problem(tmp_path, name):
    path = tmp_path / "small.mps"
    write_program(get_family(name).generate("small", seed=1), path, Format.MPS)
    assert offline(path).columns
