"""Nonanticipativity of declared problems: planted leaks are found, and none where there is none."""

import re

import numpy as np
import pyomo.environ as pyo
import pytest
from leaky import LEAKY, none
from sweeps import sweep

import optsched
from optsched.declared.leaks import check_problem
from optsched.problem import InputError

NAMED = {
    "cost": "variable x[",
    "right-hand side": "constraint room: upper",
    "horizon": "constraint room: upper is 12.0 or 16.0, depending on whether items is 12 or 16 "
    '(if policies may know it, declare public=["items"])',
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


def test_the_horizon_is_compared_where_events_follow_the_last_arrival():
    @optsched.problem(sizes={"small": {"days": 8}})
    def crews(random, days):
        calls = random.integers(1, 9, days)
        m = pyo.ConcreteModel()
        m.D, m.H = range(days), range(days + 3)
        m.over, m.out = pyo.Var(m.H, bounds=(0, 9)), pyo.Var(m.D, bounds=(0, 9))
        m.cost = pyo.Objective(expr=sum(m.over[h] for h in m.H) + sum(2 * m.out[d] for d in m.D))
        m.need = pyo.Constraint(m.D, rule=lambda m, d: m.over[d] + m.out[d] >= int(calls[d]))
        end = {h: h if h < days else h + 0.5 for h in m.H}
        return optsched.online(m, revealed={"over": 0, "out": lambda d: d}, decided={"over": end})

    assert "depending on whether days is 8 or 11" in str(check_problem(crews, pairs=2))


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


def chosen(numbers):
    """Return a problem whose numbers do not come from those that it is given."""

    @optsched.problem(sizes={"small": {"items": 6}})
    def fixed(random, items):  # noqa: ARG001
        cost = numbers().integers(1, 1000, items)
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(items), domain=pyo.Binary)
        m.gain = pyo.Objective(expr=sum(int(cost[i]) * m.x[i] for i in range(items)), sense=-1)
        m.room = pyo.Constraint(expr=sum(m.x[i] for i in range(items)) <= 3)
        return optsched.online(m, revealed={m.x: lambda i: i})

    return fixed


def test_random_numbers_from_elsewhere_are_no_leak():
    line = (
        r"problem fixed: seed 7 draws two instances that differ in variable x\[0\] \(cost\), expec"
    )
    with pytest.raises(InputError, match=line):
        check_problem(chosen(np.random.default_rng), seed=7)


def test_pairs_that_are_all_alike_prove_little():
    found = check_problem(chosen(lambda: np.random.default_rng(1)), pairs=4)
    assert found.leak is None
    assert str(found).endswith(
        "4 pairs of instances; all pairs are alike: nothing is drawn from the given `random`"
    )


def appointments(**given):
    """Return a problem whose first decisions depend on how many others there will be."""

    @optsched.problem(sizes={"small": {"patients": 8}}, **given)
    def appoint(random, patients):
        took = random.integers(5, 30, patients + 1)
        m = pyo.ConcreteModel()
        m.P = range(1, patients + 1)
        m.slot, m.wait = pyo.Var(m.P, bounds=(5, 30)), pyo.Var(m.P, bounds=(0, None))
        m.cost = pyo.Objective(expr=sum(m.wait[p] + m.slot[p] for p in m.P))
        m.line = pyo.Constraint(m.P, rule=lambda m, p: m.wait[p] >= int(took[p]) - m.slot[p])
        return optsched.online(m, revealed={m.slot: 0, m.wait: lambda p: p})

    return appoint


def test_a_size_may_be_known_from_the_start():
    assert "whether patients is 8 or 11" in str(check_problem(appointments(), pairs=1))
    assert check_problem(appointments(public=["patients"]), pairs=5).leak is None
    for wrong in (["patient"], "patients"):
        with pytest.raises(InputError, match="expected names of its sizes: patients"):
            appointments(public=wrong)


def reservoir(*, as_variable):
    """Return a problem whose limits are about a stock, a variable or a running sum."""

    @optsched.problem(sizes={"small": {"days": 8}})
    def stock(random, days):
        inflow = random.integers(1, 9, days)
        m = pyo.ConcreteModel()
        m.D = range(days)
        m.use, m.spill = pyo.Var(m.D, bounds=(0, 9)), pyo.Var(m.D, bounds=(0, 9))
        times = {m.use: lambda d: d, m.spill: lambda d: d}

        def change(d):
            return int(inflow[d]) - m.use[d] - m.spill[d]

        if as_variable:
            m.level = pyo.Var(m.D, bounds=(0, 20))
            times[m.level] = lambda d: d
            flow = lambda m, d: m.level[d] == (m.level[d - 1] if d else 0) + change(d)  # noqa: E731
        else:
            flow = lambda _, d: (0, sum(change(k) for k in range(d + 1)), 20)  # noqa: E731
        m.flow = pyo.Constraint(m.D, rule=flow)
        m.gain = pyo.Objective(expr=sum(m.use[d] for d in m.D), sense=pyo.maximize)
        return optsched.online(m, revealed=times)

    return stock


def test_a_stock_is_a_variable_or_its_inflows_leak():
    found = check_problem(reservoir(as_variable=False))
    assert re.search(r"time 0: constraint flow\[\d\]: (low|upp)er is .*; a limit becom", str(found))
    assert check_problem(reservoir(as_variable=True)).leak is None
    inst = reservoir(as_variable=True)()
    assert inst.times == tuple(range(8))  # as the page states


@pytest.mark.parametrize("kind", ["coefficient", "constant"])
def test_leaks_in_cones_are_found(kind):
    cp = pytest.importorskip("cvxpy", reason="CVXPY is an optional extra")

    @optsched.problem(sizes={"small": {"days": 4}}, public=["days"])
    def norms(random, days):
        worth = random.uniform(1, 2, days)
        total = float(worth.sum())
        x = [cp.Variable(2, name=f"x{t}", nonneg=True) for t in range(days)]
        limits = [
            cp.norm(total * x[t]) <= 5 if kind == "coefficient" else cp.norm(x[t] - total) <= 9
            for t in range(days)
        ]
        gain = cp.Maximize(sum(worth[t] * cp.sum(x[t]) for t in range(days)))
        return optsched.online(cp.Problem(gain, limits), revealed={x[t]: t for t in range(days)})

    found = check_problem(norms)
    assert found.leak is not None
    assert re.match(
        r"norms reveals what is still to come: time 0: cone atom\[0,\d+\]: members", str(found)
    )


@pytest.mark.slow
def test_names_of_atoms_do_not_reveal_how_much_is_still_to_come():
    cp = pytest.importorskip("cvxpy", reason="CVXPY is an optional extra")

    @optsched.problem(sizes={"small": {"days": 4}})
    def mixed(random, days):
        worth = random.uniform(1, 2, days)
        x = [cp.Variable(2, name=f"x{t}", nonneg=True) for t in range(days)]
        both = cp.Variable(days, name="both", bounds=[0, 3])
        limits = [c for t in range(days) for c in (cp.norm(x[t]) <= 5, cp.abs(x[t]) <= both[t])]
        gain = sum(float(worth[t]) * cp.sqrt(x[t][0]) + cp.min(x[t]) for t in range(days))
        gain += cp.sum(cp.log(1 + both)) - cp.sum(both)
        when = {x[t]: t for t in range(days)} | {both: lambda t: t}
        return optsched.online(cp.Problem(cp.Maximize(gain), limits), revealed=when)

    inst = mixed()
    assert {c.kind for c in inst.cones} == {"second-order", "exponential"}
    assert check_problem(mixed).leak is None
    assert optsched.simulate(inst, "re-solve").value > 0


def test_a_sense_that_depends_on_later_data_is_a_leak():
    @optsched.problem(sizes={"small": {"days": 8}}, public=["days"])
    def wavering(random, days):
        worth = random.integers(1, 9, days)
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(days), bounds=(0, 1))
        m.goal = pyo.Objective(
            expr=sum(int(worth[d]) * m.x[d] for d in range(days)), sense=-1 if worth[-1] > 4 else 1
        )
        m.least = pyo.Constraint(expr=sum(m.x[d] for d in range(days)) >= 1)
        return optsched.online(m, revealed={m.x: lambda d: d})

    assert "time 0: the objective: sense is m" in str(check_problem(wavering).leak)


@pytest.mark.parametrize("leaks", [False, True])
@pytest.mark.parametrize("kind", sweep(["zeros", "left out", "rows"], quick=1))
def test_an_atom_that_vanishes_does_not_rename_others(kind, leaks):
    cp = pytest.importorskip("cvxpy", reason="CVXPY is an optional extra")

    @optsched.problem(sizes={"small": {"slots": 8}}, public=["slots"])
    def rates(random, slots):
        gain = random.integers(0, 3, slots)
        price = random.integers(1, 9, slots)
        p = cp.Variable(slots, nonneg=True, name="p")
        if kind == "zeros":
            rate = cp.sum(cp.log(1 + cp.multiply(gain, p)))
        elif kind == "left out":
            rate = cp.sum([cp.log(1 + g * x) for g, x in zip(gain, p, strict=True) if g])
        else:
            rate = cp.sum([cp.minimum(g * x, 2) for g, x in zip(gain, p, strict=True) if g])
        heat = cp.sum(cp.multiply(price, cp.square(p))) * (price.sum() if leaks else 0.1)
        times = {p: lambda t: t}
        return optsched.online(cp.Problem(cp.Maximize(rate - heat), [p <= 4]), revealed=times)

    found = str(check_problem(rates))
    if leaks:  # the price of an auxiliary variable
        assert re.search(r"time \d+: variable auxiliary\[\d,0\]: cost is -\d", found), found
    else:
        assert found == "rates: no leak in 20 pairs of instances"
