"""The programs that the built-in policies solve."""

import re
import subprocess
import sys

import numpy as np
import pyomo.environ as pyo
import pytest

import optsched
from optsched.core import simulate
from optsched.declared.policies import POLICIES
from optsched.problem import PolicyError
from optsched.process import work_units


def big_m(demand, most, stock):
    """One lot: its setup is paid if anything is ordered."""
    m = pyo.ConcreteModel()
    m.q, m.y = pyo.Var(bounds=(0, most)), pyo.Var(domain=pyo.Binary)
    m.s = pyo.Var(bounds=(0, 25 if stock else 0))
    m.cost = pyo.Objective(expr=4 * m.q + 30 * m.y + m.s)
    if stock:
        m.balance = pyo.Constraint(expr=m.q - m.s == demand)
    else:
        m.balance = pyo.Constraint(expr=m.q >= demand)
    m.link = pyo.Constraint(expr=m.q <= most * m.y)
    return optsched.online(m, revealed={"q": 0, "y": 0, "s": 0})


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("stock", [False, True])
def test_policies_keep_the_rows_of_a_setup(policy, stock):
    for most in (35, 1000):
        for demand in range(1, 10):
            run = simulate(big_m(demand, most, stock), policy)
            assert policy == "random" or run.value == 30 + 4 * demand


def growing(limit=None, late=None, whole=False):
    """Variables without bounds; a row may bind the first one when ``late`` is revealed."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, None), domain=pyo.Integers if whole else pyo.Reals)
    m.y = pyo.Var(bounds=(0, 1))
    m.gain = pyo.Objective(expr=3 * m.x[0] + m.x[1] + m.y, sense=pyo.maximize)
    times = {"x": {0: 0, 1: 1}, "y": 0 if late is None else late}
    if limit is not None:
        m.level = pyo.Constraint(expr=m.x[0] <= limit + m.y)
    return optsched.online(m, revealed=times)


@pytest.mark.parametrize("policy", ["greedy", "re-solve", "rolling", "relaxed"])
@pytest.mark.parametrize("whole", [False, True])
def test_an_unbounded_program_is_named(policy, whole):
    said = f"policy {policy}: time 0: the model of what is revealed is unbounded: variable x[0]"
    with pytest.raises(PolicyError, match=re.escape(said)):
        simulate(growing(whole=whole), policy)
    with pytest.raises(PolicyError, match=re.escape(said)):  # its row is not revealed yet
        simulate(growing(limit=5, late=1, whole=whole), policy)
    with pytest.raises(PolicyError, match=re.escape(f"{policy}: time 1: the model of what")):
        simulate(growing(limit=5, whole=whole), policy)


@pytest.mark.parametrize("policy", ["greedy", "re-solve", "relaxed"])
def test_nothing_feasible_is_not_called_unbounded(policy):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(domain=pyo.Binary)
    m.gain = pyo.Objective(expr=m.x, sense=pyo.maximize)
    m.never = pyo.Constraint(expr=2 * m.y == 1)
    inst = optsched.online(m, revealed={"x": 0, "y": 0})
    with pytest.raises(PolicyError, match="no values satisfy"):
        simulate(inst, policy)


WILD = """
from optsched import solve
from optsched.declared.model import Minimization
upper, cost = (4, "inf", 1, 3, "inf"), (123456.789, 0, 1e-6, 123456.789, 1)
columns = [
    {"name": f"x{j}", "cost": cost[j], "lower": "-inf" if j == 1 else 0, "upper": upper[j],
     "integer": j < 4, "revealed": 0, "decided": 0}
    for j in range(5)
]
entries = [[0, 1e-9], [1, -2.5e-7], [2, 1e-6], [3, 1e9], [4, -2.5e-7]]
rows = [
    {"name": "a", "upper": 0, "entries": [[0, 1e6], [2, 0.333333]]},
    {"name": "b", "lower": 123456.788999999, "upper": 123456.789, "entries": entries},
]
program = {"offset": -2.5e-7, "columns": columns, "rows": rows}
print(solve(Minimization.model_validate(program), work_limit=400))
"""


def test_coefficients_of_eighteen_orders_of_magnitude_end_no_process():
    """HiGHS crashed on it without its feasibility jump heuristic."""
    done = subprocess.run([sys.executable, "-c", WILD], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "-2.5e-07 is optimal (certified)" in done.stdout


def split(goods, rows):
    """A market split, and the plan of its first goods: an optimum takes hours to prove."""
    random = np.random.default_rng(1)
    a, m = random.integers(0, 100, (goods, rows)), pyo.ConcreteModel()
    m.x = pyo.Var(range(goods), domain=pyo.Binary)
    m.up, m.down = pyo.Var(range(rows), bounds=(0, None)), pyo.Var(range(rows), bounds=(0, None))
    m.cost = pyo.Objective(expr=1 + sum(m.up.values()) + sum(m.down.values()))

    def half(m, r):
        sold = sum(int(x) * m.x[i] for i, x in enumerate(a[:, r]))
        return sold + m.up[r] - m.down[r] == int(a[:, r].sum()) // 2

    m.rows = pyo.Constraint(range(rows), rule=half)
    return optsched.online(m, revealed={"x": 0, "up": 0, "down": 0})


def test_the_work_on_a_program_is_limited(monkeypatch):
    monkeypatch.setattr("optsched.declared.policies.EFFORT", 200.0, raising=False)
    inst, began = split(60, 7), work_units.done()
    assert simulate(inst, "re-solve").value == simulate(inst, "re-solve").value < 200
    assert work_units.done() - began < 2000


def test_work_goes_on_until_there_is_a_solution(monkeypatch):
    monkeypatch.setattr("optsched.declared.policies.EFFORT", 1e-6, raising=False)
    assert simulate(big_m(5, 35, stock=True), "re-solve").value == 50


def test_work_ends_in_one_line_where_no_solution_is_found(monkeypatch):
    monkeypatch.setattr("optsched.declared.policies.EFFORT", 20.0)
    monkeypatch.setattr("optsched.declared.policies.MOST_EFFORT", 40.0, raising=False)
    random, m = np.random.default_rng(1), pyo.ConcreteModel()
    a = random.integers(1, 100, (50, 6))
    m.x = pyo.Var(range(50), domain=pyo.Binary)
    m.cost = pyo.Objective(expr=1 + sum(m.x.values()))

    def half(m, r):
        return sum(int(x) * m.x[i] for i, x in enumerate(a[:, r])) == int(a[:, r].sum()) // 2

    m.rows = pyo.Constraint(range(6), rule=half)
    inst = optsched.online(m, revealed={"x": 0})
    for name in POLICIES:
        with pytest.raises(PolicyError, match="no solution of the integer program of 50") as raised:
            simulate(inst, name)
        assert "\n" not in str(raised.value)
