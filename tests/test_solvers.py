"""Solvers do what they are configured for; what they are known to do wrong does not get through."""

import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import cvxpy as cp
import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from ortools.sat.python import cp_model
from packaging.requirements import Requirement
from patience import LONG

from optsched import solvers
from optsched.files import provenance
from optsched.files.format import save_instance
from optsched.problem import InputError, get_family
from optsched.solvers.linear import _checked

TRAPS = Path(__file__).parent / "data" / "solver_traps"
ROOT = Path(__file__).parents[1]
INF = np.inf


def knapsacks(n=200, m=100):
    """Return an integer program that takes longer than anybody waits here."""
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 30, (m, n))
    upper = rows.sum(axis=1) * 0.7
    return -rng.random(n), rows, np.full(m, -INF), upper, np.zeros(n), np.full(n, 5.0), np.ones(n)


@pytest.mark.parametrize("primal", [False, True])
def test_a_ray_is_no_reason_to_solve_a_program(primal):
    h = solvers.highs()
    upper = [INF, INF if primal else 1.0]
    solvers.load(h, [-1.0], np.ones((2, 1)), [2.0, -INF], upper, [0.0], [INF])
    assert solvers.ray(h, primal=primal) is None
    assert h.getModelStatus() == highspy.HighsModelStatus.kNotset


def interrupt(*_):
    """Press Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("presolve", ["off", "on"])
def test_wrong_optimum_is_right_through_our_configuration(presolve):
    h = solvers.highs(mip=True)
    h.setOptionValue("presolve", presolve)
    h.readModel(str(TRAPS / "wrong_optimum.lp"))
    solvers.run(h)
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    assert h.getInfo().objective_function_value == pytest.approx(-36.5)
    assert h.getInfo().mip_dual_bound == pytest.approx(-36.5)


def test_wrong_optimum_is_right_through_solve_mip():
    h = solvers.highs(mip=True)
    h.readModel(str(TRAPS / "wrong_optimum.lp"))
    lp = h.getLp()
    rows = np.zeros((lp.num_row_, lp.num_col_))
    start, index, value = lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_
    for j in range(lp.num_col_):
        for k in range(start[j], start[j + 1]):
            rows[index[k], j] = value[k]
    whole = [kind == highspy.HighsVarType.kInteger for kind in lp.integrality_]
    bounds = lp.row_lower_, lp.row_upper_, lp.col_lower_, lp.col_upper_
    found = solvers.solve_mip(lp.col_cost_, rows, *bounds, whole)
    assert (found.status, found.objective, found.bound) == ("optimal", -36.5, -36.5)


@pytest.mark.parametrize("presolve", ["off", "on"])
def test_optimum_worked_by_hand(presolve):
    # x = 4.5, z = 0: the integer costs more; HiGHS 1.14 with presolve reported 15
    h = solvers.highs(mip=True)
    h.setOptionValue("presolve", presolve)
    solvers.load(h, [2, 3], [[1, 1]], [4.5], [INF], [0, 0], [10, 10], [False, True])
    solvers.run(h)
    assert h.getInfo().objective_function_value == pytest.approx(9)
    assert h.getInfo().mip_dual_bound == pytest.approx(9)
    assert h.getSolution().col_value == pytest.approx([4.5, 0])


def test_optimum_worked_by_hand_through_solve_mip():
    found = solvers.solve_mip([2, 3], [[1, 1]], [4.5], [INF], [0, 0], [10, 10], [False, True])
    assert (found.status, found.objective, found.bound) == ("optimal", 9.0, 9.0)
    assert found.x.tolist() == [4.5, 0.0]


def test_program_without_variables_is_solved():
    found = solvers.solve_mip([], np.zeros((0, 0)), [], [], [], [], [])
    assert (found.status, found.objective, found.bound) == ("optimal", 0.0, 0.0)


def test_infeasible_and_unbounded_are_told_apart():
    assert solvers.solve_mip([1], [[2]], [1], [1], [0], [9], [True]).status == "infeasible"
    assert solvers.solve_mip([-1], [[1]], [0], [INF], [0], [INF], [False]).status == "unbounded"


def test_limit_keeps_the_best_and_a_bound():
    program = knapsacks()
    for limit in (0.5, 2.0, 8.0, 32.0, LONG):  # as long as a busy machine needs
        seen = []
        found = solvers.solve_mip(
            *program, time_limit=limit, on_improve=lambda *found, to=seen: to.append(found)
        )
        if found.x is not None:
            break
    assert found.status == "feasible"
    assert found.bound < found.objective == seen[-1][1] == min(o for _, o in seen)
    assert np.all(program[1] @ found.x <= program[3] + 1e-6)
    assert np.array_equal(found.x, np.rint(found.x))


def test_start_is_where_the_search_begins():
    program = knapsacks()
    with pytest.raises(solvers.Interrupted) as stopped:
        solvers.solve_mip(*program, time_limit=LONG, on_improve=interrupt)
    best, seen = stopped.value.result, []

    def look(_, objective):
        seen.append(objective)
        raise KeyboardInterrupt

    with pytest.raises(solvers.Interrupted):
        solvers.solve_mip(*program, start=best.x, time_limit=LONG, on_improve=look)
    assert seen[0] == pytest.approx(best.objective)


def test_limit_without_a_solution_gives_none():
    found = solvers.solve_mip(*knapsacks(), time_limit=0.0)
    assert (found.status, found.x, found.objective) == ("unknown", None, None)


@pytest.mark.parametrize(
    ("x", "broken"),
    [
        ((1.0, 2.0), False),
        ((1.0, 2.0 + 1e-9), False),
        ((0.0, 0.0), True),  # row: the zeros of a solver that was stopped
        ((4.0, 2.0), True),  # upper bound of a column
        ((-1.0, 4.0), True),  # lower bound of a column
        ((1.0, 2.1), True),  # not an integer
        ((np.nan, 2.0), True),
    ],
)
def test_solution_that_breaks_a_constraint_is_rejected(x, broken):
    rows = np.array([3.0]), np.array([8.0])
    columns = np.zeros(2), np.array([3.0, 9.0])
    whole = np.array([False, True])
    good = _checked(np.array(x), np.array([[1.0, 1.0]]), *rows, *columns, whole)
    assert (good is None) is broken


def test_threads_may_differ_from_run_to_run():
    program = [1, 1], [[1, 1]], [1], [2], [0, 0], [1, 1], [True, True]
    assert [solvers.solve_mip(*program, threads=n).status for n in (1, 2, 1)] == ["optimal"] * 3


def test_maximization_is_refused():
    h = solvers.highs()
    solvers.load(h, [3, 2], [[1, 1]], [-INF], [4], [0, 0], [3, 10])
    h.changeObjectiveSense(highspy.ObjSense.kMaximize)
    with pytest.raises(ValueError, match="is a maximization"):
        solvers.run(h)
    with pytest.raises(ValueError, match="is a maximization"):
        solvers.row_duals(h)


def test_duals_of_an_interior_point_have_the_right_sign():
    # max 3x + 2y, x + y <= 4, x + 3y <= 9, y >= 0.5, x <= 3: only the first row has a price
    h = solvers.highs()
    h.setOptionValue("solver", "ipm")
    h.setOptionValue("run_crossover", "off")
    rows, lower, upper = [[1, 1], [1, 3], [0, 1]], [-INF, -INF, 0.5], [4, 9, INF]
    solvers.load(h, [-3, -2], rows, lower, upper, [0, 0], [3, 10])
    solvers.run(h)
    duals = solvers.row_duals(h)
    assert duals == pytest.approx([-2, 0, 0], abs=1e-5)
    assert np.all(duals[:2] <= 0)
    assert duals[2] >= 0


def test_program_that_is_no_program_is_refused():
    with pytest.raises(ValueError, match="holds NaN"):
        solvers.load(solvers.highs(), [np.nan], [[1]], [0], [1], [0], [1])
    with pytest.raises(ValueError, match="does not accept"):
        solvers.load(solvers.highs(), [1], [[1]], [INF], [INF], [0], [1])


def test_interrupt_stops_highs():
    h = solvers.highs(mip=True, time_limit=LONG)
    solvers.load(h, *knapsacks())
    with pytest.raises(KeyboardInterrupt):
        solvers.run(h, on_improve=interrupt)
    assert h.getModelStatus() == highspy.HighsModelStatus.kInterrupt  # not kTimeLimit


def test_interrupt_brings_the_best_so_far():
    with pytest.raises(solvers.Interrupted) as stopped:
        solvers.solve_mip(*knapsacks(), time_limit=LONG, on_improve=interrupt)
    best = stopped.value.result
    assert best.status == "feasible"
    assert best.bound <= best.objective <= 0


def knapsack_model():
    """Return max 5a + 4b + 1, 6a + 4b <= 24, a + 2b <= 6: a = 4, b = 0 (relaxed: 3 and 1.5)."""
    m = pyo.ConcreteModel()
    m.a = pyo.Var(domain=pyo.NonNegativeIntegers)
    m.b = pyo.Var(domain=pyo.NonNegativeIntegers)
    m.goal = pyo.Objective(expr=5 * m.a + 4 * m.b + 1, sense=pyo.maximize)
    m.first = pyo.Constraint(expr=6 * m.a + 4 * m.b <= 24)
    m.second = pyo.Constraint(expr=(None, m.a + 2 * m.b, 6))
    return m


@pytest.mark.parametrize("solver", ["highs", "appsi_highs"])
def test_pyomo_model_is_solved_in_its_own_sense(solver):
    m = knapsack_model()
    assert solvers.solve_pyomo(m, solver) == solvers.PyomoOutcome("optimal", 21.0, 21.0)
    assert (m.a.value, m.b.value) == (4, 0)
    m.third = pyo.Constraint(expr=m.a - 3 * m.b >= 5)
    assert solvers.solve_pyomo(m, solver).status == "infeasible"


def test_pyomo_model_reports_better_solutions_when_loaded():
    m, seen = knapsack_model(), []
    solvers.solve_pyomo(m, on_improve=lambda value: seen.append((value, pyo.value(m.goal))))
    assert seen[-1] == (21, 21)
    assert all(told == loaded for told, loaded in seen)


def test_solver_that_is_not_there_is_named():
    with pytest.raises(InputError, match="'no_such_solver' is not available to Pyomo, expected"):
        solvers.solve_pyomo(knapsack_model(), "no_such_solver")


def magic_model():
    """Return a model with many solutions and a slow proof."""
    m = cp_model.CpModel()
    x = [m.new_int_var(0, 60, f"x{i}") for i in range(60)]
    rows = np.random.default_rng(0).integers(1, 30, (40, 60)).tolist()
    for row in rows:
        m.add(sum(c * v for c, v in zip(row, x, strict=True)) <= 9 * sum(row) + 1)
    m.maximize(sum((7 * i % 11 + 3) * v for i, v in enumerate(x)))
    return m


def test_threads_leave_the_silence_of_pyomo_in_any_order(caplog):
    """A program is still being written down, for nobody, while the next one is."""
    logger = logging.getLogger("pyomo.core")
    first, second = solvers.silent_pyomo(), solvers.silent_pyomo()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    logger.error("the second is silent")
    second.__exit__(None, None, None)
    logger.error("nobody is silent")
    assert [record.message for record in caplog.records] == ["nobody is silent"]


def test_interrupt_stops_cp_sat():
    limit = LONG
    solver = solvers.cp_solver(time_limit=limit)
    with pytest.raises(KeyboardInterrupt):
        solvers.run_cp(solver, magic_model(), on_improve=interrupt)
    assert solver.wall_time < limit  # it was not the limit that stopped it
    assert solvers.cp_bound(solver) >= solver.objective_value > 0


def test_cp_sat_is_deterministic_and_has_no_bound_before_it_searches():
    m = cp_model.CpModel()
    x = m.new_int_var(0, 9, "x")
    m.add(2 * x <= 15)
    m.maximize(x)
    solver, seen = solvers.cp_solver(seed=3), []
    assert solvers.cp_bound(solver) is None
    assert solvers.run_cp(solver, m, on_improve=lambda of: seen.append(of(x))) == "optimal"
    assert seen[-1] == solvers.cp_bound(solver) == 7
    stopped = solvers.cp_solver(time_limit=0)
    assert solvers.run_cp(stopped, magic_model()) == "unknown"
    assert solvers.cp_bound(stopped) is None  # CP-SAT states 0, below the optimum


def test_cp_sat_searches_small_programs_as_they_are():
    m = cp_model.CpModel()
    x = m.new_int_var(0, 9, "x")
    m.add(2 * x <= 15)
    m.maximize(x)
    for small in (False, True):
        solver = solvers.cp_solver(small=small)
        assert solver.parameters.cp_model_presolve is not small
        assert solvers.run_cp(solver, m) == "optimal"
        assert solver.objective_value == 7


def test_cp_sat_runs_without_the_step_that_may_lose_the_optimum():
    # or-tools#5293, of 9.15: its model, with 90,770 variables, is not public
    assert solvers.cp_solver().parameters.presolve_inclusion_work_limit == 0


def test_clarabel_solves_exponential_cones_of_very_different_size():
    # max sum log x_i, sum a_i x_i <= 1: x_i = 1 / (n a_i)
    a = np.logspace(-4, 6, 30)
    x = cp.Variable(30)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.log(x))), [a @ x <= 1])
    found = solvers.solve_cvxpy(problem)
    assert found.status == "optimal"
    assert found.value == pytest.approx(-np.log(30 * a).sum(), abs=1e-4)


def test_clarabel_says_infeasible():
    x = cp.Variable()
    found = solvers.solve_cvxpy(cp.Problem(cp.Minimize(cp.exp(x)), [x >= 1, x <= 0]))
    assert (found.status, found.value) == ("infeasible", None)


SOLVE = {  # max 3x + 2y, x + y <= 4, x <= 3: 11
    "highspy": """
import highspy
h = highspy.Highs()
h.silent()
x, y = h.addIntegral(0, 3), h.addIntegral(0)
h.addConstr(x + y <= 4)
h.maximize(3 * x + 2 * y)
assert abs(h.getObjectiveValue() - 11) < 1e-6
""",
    "ortools": """
from ortools.sat.python import cp_model
m = cp_model.CpModel()
x, y = m.new_int_var(0, 3, "x"), m.new_int_var(0, 4, "y")
m.add(x + y <= 4)
m.maximize(3 * x + 2 * y)
s = cp_model.CpSolver()
assert s.solve(m) == cp_model.OPTIMAL and s.objective_value == 11
""",
    "cvxpy": """
import cvxpy as cp
x, y = cp.Variable(nonneg=True), cp.Variable(nonneg=True)
p = cp.Problem(cp.Maximize(3 * x + 2 * y), [x + y <= 4, x <= 3])
for solver in cp.CLARABEL, cp.HIGHS:
    p.solve(solver=solver)
    assert abs(p.value - 11) < 1e-6
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("order", [*itertools.permutations(SOLVE)], ids="-".join)
def test_solvers_live_together_in_every_order(order):
    imports = (SOLVE[name].strip().partition("\n")[0] for name in order)
    code = "\n".join([*imports, *(SOLVE[name] for name in order)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_highs_leaves_stdout_to_the_results():
    code = (
        "from optsched import solvers\n"
        "print(solvers.solve_mip([2, 3], [[1, 1]], [4.5], [9], [0, 0], [9, 9], [0, 1]).objective)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("9.0\n", "")


@pytest.mark.slow
def test_results_on_stdout_are_clean(tmp_path):
    family = get_family("oasis")
    save_instance(family.generate("small", seed=0, jobs=2), tmp_path / "small.json")
    command = [sys.executable, "-m", "optsched", "solve", str(tmp_path / "small.json")]
    done = subprocess.run(
        [*command, "--method", "compact", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["family"] == "oasis"


def test_installed_versions_are_the_pinned_ones():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for pin in map(Requirement, project["dependencies"]):
        assert pin.specifier.contains(metadata.version(pin.name)), pin
    assert {"cvxpy", "highspy", "ortools"} <= {Requirement(d).name for d in project["dependencies"]}


def test_versions_of_what_is_installed():
    found = provenance.solver_versions()
    assert found["highspy"] == metadata.version("highspy")
    assert {"highspy", "ortools", "clarabel", "cvxpy", "pyomo"} <= found.keys()


def test_a_search_that_a_limit_of_work_ends_was_not_interrupted_by_the_user():
    cost, rows, _, upper, *_ = knapsacks()
    h = solvers.highs()
    for c in cost:
        h.addBinary(obj=float(c))
    for row, most in zip(rows, upper, strict=True):
        h.addRow(-INF, float(most) / 5, len(row), np.arange(len(row)), row.astype(float))
    h.cbMipInterrupt.subscribe(lambda event: event.interrupt())
    h.run()
    assert h.modelStatusToString(h.getModelStatus()) == "Interrupted by user"
    assert solvers.claim_of(h, 1.0).status == "Stopped early"
