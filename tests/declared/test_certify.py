"""`certify`: what is proved of a model, what its solver claims, and files that lie."""

import json
import re

import cvxpy as cp
import highspy
import pyomo.environ as pyo
import pytest
from damages import damaged, said
from independent import reference
from independent.declared import draw, enumerated
from second_checker import NODE, answers, differences
from typer.testing import CliRunner

import optsched
from optsched.cli.app import app
from optsched.problem import InputError, Verdict
from optsched.results.certify import SolverClaim, contradictions
from optsched.results.result import recheck

TRAP = reference.DATA / "solver_traps" / "wrong_optimum.lp"
LP = """max
 obj: 3 a + 2 b + c
st
 room: 2 a + b + c <= 2.5
 least: a + c >= {least}
bounds
 c <= 0.5
binary
 a b
end
"""
SOUND = Verdict(violations=(), value=-31.8)


def run(*words):
    done = CliRunner().invoke(app, [*map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.lp"
    path.write_text(LP.format(least=1))
    return path


def test_the_trap_is_minus_36_5_whatever_the_solver_claims():
    found = optsched.certify(TRAP)
    assert (found.value, found.bound, found.gap) == (-36.5, -36.5, 0)
    assert found.claim is not None
    assert found.claim.solver.startswith("HiGHS 1.")
    lie = SolverClaim(solver="s", status="Optimal", value=-31.8, bound=-31.8, check=SOUND)
    (against,) = contradictions(found.optimum, lie)
    assert against == "contradicted: a solution of value -36.5 beats its bound"
    (against,) = contradictions(found.optimum, lie.model_copy(update={"bound": None}))
    assert against == "contradicted: a solution of value -36.5 is better"


@pytest.mark.parametrize("limit", ["time_limit", "work_limit"])
def test_the_claim_of_a_solver_is_computed_within_the_limit(model, limit):
    assert optsched.certify(model, **{limit: 0}).claim is None


@pytest.mark.parametrize(
    ("claim", "against"),
    [
        ({"value": 3.5, "bound": 3.5}, []),
        ({"value": 3.5000001, "bound": 3.5000001}, []),  # within HiGHS's tolerances
        ({"value": 3.6, "bound": 3.6}, ["no solution is better than 3.5"]),
        ({"value": 3.5, "bound": 3.4}, ["a solution of value 3.5 beats its bound"]),
        ({"status": "Time limit reached", "value": 3.0, "bound": 9.0}, []),
        ({"value": 3.0, "bound": 9.0}, ["a solution of value 3.5 is better"]),
        ({"status": "Infeasible"}, ["a solution of value 3.5 passes the exact check"]),
    ],
)
def test_claims_are_contradicted_by_what_is_proved(model, claim, against):
    found = optsched.certify(model)
    given = {"solver": "s", "status": "Optimal", "value": None, "bound": None, "check": None}
    complaints = contradictions(found.optimum, SolverClaim(**(given | claim)))
    assert len(complaints) == len(against)
    assert all(part in text for part, text in zip(against, complaints, strict=True))


def test_a_solution_of_what_is_infeasible_is_contradicted(model):
    model.write_text(LP.format(least=2))
    found = optsched.certify(model)
    assert found.certified
    assert found.value is None
    claim = SolverClaim(solver="s", status="Optimal", value=1.0, bound=1.0, check=None)
    assert contradictions(found.optimum, claim) == [
        "contradicted: nothing is feasible, which is certified"
    ]


def test_the_command_states_value_bound_claim_and_check(model):
    output = model.with_name("result.json")
    done = run("certify", model, "-o", output)
    assert done.exit_code == 0
    first, claim, check, verdict = done.stdout.splitlines()
    assert first.startswith("declared-max: 3.5 is optimal (certified)")
    assert re.fullmatch(r"HiGHS \S+ claims: Optimal, value 3.5, bound 3.5", claim)
    assert check == "its solution: passes the exact check, value 3.5"
    assert verdict == "nothing that it claims is contradicted"
    assert run("verify", output).exit_code == 0
    content = json.loads(run("certify", model, "--json").stdout)
    assert content["optimum"]["certified_bound"] == pytest.approx(3.5)
    assert content["claim"]["check"]["value"] == 3.5
    assert content["contradictions"] == []


def test_an_infeasible_model_is_certified(model):
    model.write_text(LP.format(least=2))
    done = run("certify", model, "-o", model.with_name("result.json"))
    assert done.exit_code == 0
    assert "no schedule exists (certified)" in done.stdout
    assert "claims: Infeasible\n" in done.stdout
    assert run("verify", model.with_name("result.json")).exit_code == 0


@pytest.mark.parametrize(
    "text",
    [
        "max\n obj: x\nst\n c: x >= 1\nend\n",
        "max\n 1e-6 x + 1e6 y\nst\n c: y - z <= 3\n d: z <= 2\nend\n",  # 0 next to 1e6
    ],
)
def test_an_unbounded_model_is_refused_in_one_line(model, text):
    model.write_text(text)
    with pytest.raises(InputError, match="the model is unbounded: variable x can grow"):
        run("certify", model)


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("a 1\nc 0.5\n", 0, "passes the exact check, value 3.5"),
        ("=obj= 3.5\na 1\nc 0.5\n", 0, "passes the exact check, value 3.5"),
        ("a 1\nb 1\n", 1, "fails the exact check once, at room by 0.5 (activity 3, upper limit"),
        ("a 0.5\nc 0.5\n", 1, "fails the exact check once, at a by 0.5 (value 0.5, expected an"),
        ("b 1\nc 0.6\n", 1, "fails the exact check 2 times, most at least by 0.4"),
    ],
)
def test_a_solution_file_is_checked_exactly(model, text, status, words):
    path = model.with_suffix(".sol")
    path.write_text(text)
    done = run("certify", model, "--solution", path)
    assert done.exit_code == status
    assert f"the given solution: {words}" in done.stdout


def test_a_solution_file_of_highs_is_read(model):
    h = highspy.Highs()
    h.silent()
    h.readModel(str(model))
    h.run()
    path = model.with_suffix(".sol")
    h.writeSolution(str(path), 0)
    found = optsched.certify(model, solution=path)
    assert found.given is not None
    assert found.given.value == 3.5


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a 1\nz 1\n", "line 2: 'z 1', expected a variable and its value"),
        ("a one\n", "line 1: 'a one', expected a variable and its value"),
        ("a inf\n", "line 1: a is inf, expected a finite number"),
        ("a 1\na 0\n", "line 2: 'a 0', expected a variable and its value, once"),
        ("a 1_0\n", "line 1: 'a 1_0', expected a variable and its value"),
        ("a \u0661\n", "line 1: 'a \u0661', expected a variable and its value"),
        ("# Columns 3\na 1\n", "ends after line 2, expected 3 columns"),
    ],
)
def test_solution_files_that_are_none_are_refused(model, text, complaint):
    path = model.with_suffix(".sol")
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(complaint)):
        optsched.certify(model, solution=path)


def test_no_input_is_overwritten(model):
    (model.with_suffix(".sol")).write_text("a 1\n")
    for words in (
        ["-o", model],
        ["-o", "x.json", "--vipr", model],
        ["-o", model.with_suffix(".sol")],
    ):
        with pytest.raises(InputError, match="is an input as well, expected another file"):
            run("certify", model, "--solution", model.with_suffix(".sol"), *words)
    with pytest.raises(InputError, match="result and proof, expected two files"):
        run("certify", model, "-o", model.with_suffix(".x"), "--vipr", model.with_suffix(".x"))


def test_a_solution_is_a_file(model):
    """A device never ends."""
    with pytest.raises(InputError, match="/dev/zero: is a device, expected a file"):
        run("certify", model, "--solution", "/dev/zero")


@pytest.mark.parametrize("hidden", ["\u202e", "\u061c", "\x1b"])
def test_names_that_cannot_be_shown_are_refused(hidden, tmp_path):
    """Else a result could be written that no checker reads."""
    path, name = tmp_path / "m.mps", f"x{hidden}y"
    path.write_text(
        f"NAME\nROWS\n N obj\n G c\nCOLUMNS\n    {name}  obj  1  c  1\nRHS\n    rhs  c  5\nENDATA\n"
    )
    with pytest.raises(InputError, match=r"line 6: holds .*, expected other characters"):
        run("certify", path, "-o", tmp_path / "r.json")
    assert not (tmp_path / "r.json").exists()


def test_models_of_python_are_certified():
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1, 2], domain=pyo.Binary)
    m.gain = pyo.Objective(expr=2 * m.x[0] + 2 * m.x[1] + 3 * m.x[2], sense=pyo.maximize)
    m.room = pyo.Constraint(expr=m.x[0] + m.x[1] + 2 * m.x[2] <= 3)
    assert optsched.certify(m).bound == 5
    x = cp.Variable(2, nonneg=True)
    found = optsched.certify(cp.Problem(cp.Minimize(cp.sum(x)), [x[0] + 2 * x[1] >= 4]))
    assert found.value == pytest.approx(2)
    assert found.bound == pytest.approx(2)


def test_a_linopy_model_is_certified():
    linopy = pytest.importorskip("linopy", reason="linopy is an optional extra")
    import pandas as pd

    m = linopy.Model()
    x = m.add_variables(
        integer=True, lower=0, upper=9, coords=[pd.RangeIndex(2, name="t")], name="x"
    )
    m.add_constraints(2 * x.sum() >= 5, name="need")
    m.add_objective(x.sum())
    assert optsched.certify(m).bound == 3


@pytest.mark.parametrize("seed", range(8))
def test_what_is_certified_is_the_optimum(seed):
    inst = draw(seed)
    model = optsched.problem.family_of(inst).program(inst)
    best = enumerated(inst)
    if best is not None and best == -float("inf"):
        with pytest.raises(InputError, match="unbounded"):
            optsched.certify(model)
        return
    found = optsched.certify(model)
    sign = 1 if inst.sense == "min" else -1
    assert not found.contradictions
    if best is None:
        assert found.certified
        assert found.value is None
    else:
        assert found.value == pytest.approx(sign * best, abs=1e-6)
        assert found.bound == pytest.approx(sign * best, abs=1e-6)


@pytest.mark.skipif(NODE is None, reason="there is no Node")
def test_forged_results_are_accepted_by_no_checker(model, tmp_path):
    paths = [tmp_path / "trap.json", tmp_path / "small.json", tmp_path / "none.json"]
    optsched.certify(TRAP).save(paths[0])
    optsched.certify(model).save(paths[1])
    model.write_text(LP.format(least=2))
    optsched.certify(model).save(paths[2])
    files = [*paths, *(f for path in paths for f, _ in damaged(path, tmp_path, 15, seed=2))]
    assert all(part.accepted for path in paths for part in recheck(path))
    assert differences(files, answers(files, tmp_path)) == []
    original = {path.stem: json.loads(path.read_text())["instance"] for path in paths}
    for file in files:
        content = json.loads(file.read_text())
        if content.get("instance") == original[file.stem.partition("-")[0]]:
            for part in said(file) or ():
                refused_or_true(file.stem.partition("-")[0], part)


def refused_or_true(which, part):
    """Assert that nothing is accepted that is better than the truth."""
    if part.accepted and which == "trap":
        assert (part.value or 0) >= -36.5
        assert part.bound is None or part.bound <= -36.5
    if part.accepted and which == "small":
        assert (part.value or 0) <= 3.5
        assert part.bound is None or part.bound >= 3.5
    if part.accepted and which == "none":
        assert part.value is None


def test_a_point_that_highs_leaves_behind_is_no_claim(tmp_path):
    path = tmp_path / "empty.lp"
    path.write_text("max\n obj: x\nst\n c: 0 x >= 3\nbounds\n x <= 2\nend\n")
    found = optsched.certify(path)
    assert (found.claim.status, found.claim.value, found.contradictions) == ("Infeasible", None, ())
