"""Nonanticipativity of declared problems: planted leaks are found, and none where there is none."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest
from leaky import LEAKY, none

import optsched
from optsched.declared.leaks import check_problem

NAMED = {
    "cost": "variable x[",
    "right-hand side": "constraint room: upper",
    "horizon": "constraint room: upper is 12.0 or 16.0, depending on whether items is 12 or 16",
    "later jobs": "constraint room: upper",
    "scaled": "time 0: variable x[0]: cost",
    "name": "time 0: variable x[0 of",
    "order": "constraint own[",
    "bound": "upper is",
    "coefficient": "coefficient of x[",
    "decided": "decided is",
    "integer": "integer is",
    "event": "the next event",
}


@pytest.mark.parametrize("kind", LEAKY)
def test_planted_leaks_are_found(kind):
    found = check_problem(LEAKY[kind])
    assert found.leak is not None
    assert NAMED[kind] in str(found)


def test_an_honest_problem_has_none():
    assert str(check_problem(none, pairs=40)) == "knapsack: no leak in 40 pairs of instances"


def test_a_size_that_is_decided_first_reveals_no_horizon():
    @optsched.problem(sizes={"small": {"days": 8}})
    def plant(random, days):
        demand = random.integers(1, 9, days)
        m = pyo.ConcreteModel()
        m.D = range(days)
        m.size = pyo.Var(bounds=(0, 9))
        m.make, m.buy = pyo.Var(m.D, bounds=(0, 9)), pyo.Var(m.D, bounds=(0, 9))
        m.cost = pyo.Objective(expr=3 * m.size + sum(m.make[d] + 2 * m.buy[d] for d in m.D))
        m.room = pyo.Constraint(m.D, rule=lambda m, d: m.make[d] <= m.size)
        m.need = pyo.Constraint(m.D, rule=lambda m, d: m.make[d] + m.buy[d] >= int(demand[d]))
        return optsched.online(
            m, revealed=[(m.size, 0), (m.make, lambda d: d + 1), (m.buy, lambda d: d + 1)]
        )

    assert check_problem(plant, pairs=8).leak is None
    assert optsched.simulate(plant(seed=1), "re-solve").value > 0
