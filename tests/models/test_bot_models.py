import cvxpy as cp
import numpy as np
import pytest
from independent.bot import two_nodes
from independent.conic import optimum

import optsched
from optsched.families.bot.gaps import distance
from optsched.families.bot.instance import BotSchedule
from optsched.families.bot.sources.presets import generate
from optsched.families.bot.verify import verify
from optsched.models.bot import (
    bot_program,
    level_program,
    note,
    prices,
    rates,
    solver_program,
    units,
    utility_of,
)
from optsched.results.export import cbf_text
from optsched.solvers import solve_cvxpy


@pytest.fixture
def line():
    """Both masters at node 0; node 1 lies behind a link that carries one task per second."""
    return two_nodes((2.0, 9.0), 1.0, (1.0, 1.0), (1.0, 1.0))


@pytest.mark.parametrize("form", ["geometric", "exponential"])
def test_optimum_worked_by_hand(line, form):
    # three tasks per second in all, shared alike
    problem = solver_program(line, form)
    assert solve_cvxpy(problem).status == "optimal"
    rho = rates(line, problem)
    assert rho.sum(axis=1) == pytest.approx([1.5, 1.5], rel=1e-3)
    nodes, arcs = prices(line, problem)
    # the price of a task is the same everywhere: at node 0, and on the way to node 1
    assert nodes[0] == pytest.approx(arcs[0], rel=1e-4)
    assert nodes[1] == pytest.approx(0, abs=1e-6 * nodes[0])
    assert arcs[1] == pytest.approx(0, abs=1e-6 * nodes[0])


def test_a_solver_that_is_told_to_stop_stops(line):
    problem = solver_program(line)
    assert solve_cvxpy(problem, stop=lambda: True).status == "unknown"


@pytest.mark.parametrize(("alpha", "total"), [(0.0, 3.0), (0.5, 3.0), (3.0, 3.0), ("inf", 3.0)])
def test_other_utilities(line, alpha, total):
    changed = line.model_copy(update={"alpha": alpha})
    problem = bot_program(changed)
    solve_cvxpy(problem)
    assert rates(changed, problem).sum() == pytest.approx(total, rel=1e-5)


def test_weights_share_in_proportion(line):
    heavy = line.applications[0].model_copy(update={"weight": 2.0})
    changed = line.model_copy(update={"applications": (heavy, line.applications[1])})
    problem = bot_program(changed)
    solve_cvxpy(problem)
    assert rates(changed, problem).sum(axis=1) == pytest.approx([2.0, 1.0], rel=1e-4)


def test_every_constraint_cites_its_equation(line):
    labels = [c.label for c in bot_program(line).constraints]
    assert labels == ["(10b) speed of each node", "(10c) bandwidth of each arc"]
    labels = [c.label for c in level_program(line, [None, None]).constraints]
    assert labels[-1] == "(10e) the level"


def test_data_that_come_back_use_the_other_arc(line):
    back = tuple(a.model_copy(update={"return_bytes": 4.0}) for a in line.applications)
    changed = line.model_copy(update={"applications": back})
    problem = bot_program(changed)
    solve_cvxpy(problem)
    assert rates(changed, problem).sum() == pytest.approx(2.25, rel=1e-5)


def test_pairs_that_do_not_exist_have_no_variable(line):
    only = line.applications[0].model_copy(update={"allowed": (1,)})
    changed = line.model_copy(update={"applications": (only, line.applications[1])})
    problem = bot_program(changed)
    assert problem.variables()[0].size == 3
    solve_cvxpy(problem)
    rho = rates(changed, problem)
    assert rho[0, 0] == 0
    assert rho.sum(axis=1) == pytest.approx([1.0, 2.0], rel=1e-4)


def test_a_settled_application_keeps_its_floor(line):
    problem = level_program(line, [0.5, None])
    solve_cvxpy(problem)
    assert rates(line, problem).sum(axis=1) == pytest.approx([0.5, 2.5], rel=1e-5)


def test_rates_are_feasible_but_for_the_solvers_tolerance():
    inst = generate("heterogeneous", seed=3, nodes=40)
    problem = bot_program(inst)
    assert isinstance(problem.objective, cp.Maximize)
    solve_cvxpy(problem)
    rho = rates(inst, problem) * (1 - 1e-6)
    assert verify(inst, BotSchedule.of(rho)).feasible
    assert np.all(units(inst) > 0)


@pytest.mark.parametrize("alpha", [0.0, 0.1234567, 0.5, 1.0, 2.0, 20.0, "inf"])
def test_what_is_exported_has_the_value_of_solve(alpha):
    inst = generate("small", seed=2, alpha=alpha)
    heavy = tuple(
        app.model_copy(update={"weight": 1.0 + k}) for k, app in enumerate(inst.applications)
    )
    inst = inst.model_copy(update={"applications": heavy})
    best = optsched.solve(inst)
    assert best.status == "optimal"
    found = utility_of(inst, optimum(cbf_text(bot_program(inst))))  # read back, without CVXPY
    assert distance(inst, None, best.value, None, found) <= 1e-5
    if alpha in (0.0, 1.0):
        assert found == pytest.approx(best.value, rel=1e-6)
    said = " ".join(optsched.get_family("bot").program_note(inst))
    assert said.startswith("objective: the utility" if alpha in (0.0, 1.0) else "objective: the ")


def test_the_way_back_is_the_formula_of_the_note():
    inst = generate("small", seed=2, alpha=3.0)
    said = " ".join(note(inst))
    formula = said[said.index(" is ", said.index("utility")) + 4 :]
    assert eval(formula, {"M": 0.25}) == utility_of(inst, 0.25) == -3 * 0.25**-2 / 2


def test_an_unknown_form(line):
    with pytest.raises(
        ValueError, match="form is 'cubic', expected one of: geometric, exponential"
    ):
        solver_program(line, "cubic")
