"""CVXPY models: how they are read, solved, proved and played."""

import gc
import json
import math
import re
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from sweeps import sweep

import optsched
from optsched.core import relax, simulate, solve
from optsched.declared.certificate import Tree, check, in_dual_cone
from optsched.declared.conic import complete
from optsched.declared.events import FunctionPolicy
from optsched.declared.feasibility import verify
from optsched.declared.model import Cone, ExactCone, Member, Solution
from optsched.declared.readers import online
from optsched.models.bipartite import bipartite_program
from optsched.problem import InputError, Level, Status, get_family

SLOTS = 6


def model(seed=1):
    """Return a convex problem with every kind of atom that becomes a cone."""
    weight = np.random.default_rng(seed).uniform(1, 3, (SLOTS, 2)).round(3)
    x = cp.Variable((SLOTS, 2), name="x", nonneg=True)
    gain = cp.sum(cp.log(1 + cp.multiply(weight, x))) + cp.sum(cp.sqrt(x[:, 0]))
    pay = 0.2 * cp.sum(cp.norm(x, axis=1)) + 0.1 * cp.sum(cp.maximum(x[:, 0], x[:, 1]))
    rows = [(cp.sum(x, axis=0) <= 4).set_label("budget"), x <= 2, cp.exp(x[0, 1]) <= 4]
    return cp.Problem(cp.Maximize(gain - pay), rows), x


def declared(seed=1):
    problem, x = model(seed)
    return online(problem, {x: lambda t, _k: t})


@pytest.mark.parametrize("seed", range(5))
def test_convex_problems_are_certified(seed):
    problem, _ = model(seed)
    found = solve(declared(seed))
    problem.solve(solver=cp.CLARABEL)
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(problem.value, rel=1e-7)
    assert found.certified_gap < 1e-7
    assert relax(declared(seed)).bound == pytest.approx(found.value, rel=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_norms_whose_arguments_are_zero_are_certified(seed):
    """Their duals are inside the dual cone: then the bound depends on the norm being at least 0."""
    want = np.random.default_rng(seed).uniform(0, 5, (SLOTS, 2)).round(2)
    x, size = cp.Variable((SLOTS, 2), name="x", bounds=[0, 20]), cp.Variable(name="size")
    goal = 2 * size + cp.sum(cp.norm(x - want, axis=1))
    rows = [cp.sum(x, axis=1) <= size, size >= 0, size <= 20]
    found = solve(online(cp.Problem(cp.Minimize(goal), rows), {"size": 0, x: lambda t, _k: t}))
    assert (found.status, found.bound_level) == (Status.OPTIMAL, Level.CERTIFIED)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bipartite_closes_through_its_own_model(seed):
    own = get_family("bipartite").generate("small", seed=seed)
    found = solve(online(bipartite_program(own), {"y": 0}))
    assert found.bound_level is Level.CERTIFIED
    assert found.certified_gap < 1e-6
    assert found.value == pytest.approx(solve(own).value, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_linear_and_integer_models_have_the_values_of_cvxpy(seed):
    rng = np.random.default_rng(seed)
    y = cp.Variable((3, 2), name="y", integer=bool(seed % 2))
    b = cp.Variable(name="b", boolean=True)
    z = cp.Variable(2, name="z", bounds=[np.array([-1, 0]), np.array([2, 5])])
    target = rng.uniform(0, 5, (3, 2)).round(2)
    pay = cp.sum(cp.abs(y - target)) + 2 * b + cp.max(z) + 0.3 * cp.sum(z) + 1.5
    rows = [y <= 2 + 3 * b, y >= 0, cp.sum(y) == 9 - z[0], cp.sum(y, axis=0) <= 7]
    problem = cp.Problem(cp.Minimize(pay), rows)
    inst = online(problem, {y: lambda i, _k: i, z: {0: 0, 1: 2}, b: 0})
    problem.solve(solver=cp.HIGHS)
    found = solve(inst)
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(problem.value, abs=1e-6)


@pytest.mark.slow
def test_auxiliary_variables_follow_and_are_not_decided():
    inst = declared()
    times = {c.name: c.revealed for c in inst.columns}
    assert times["x[3,1]"] == 3
    assert {c.revealed for c in inst.columns if c.auxiliary} == set(range(SLOTS))

    def half(event):
        assert [x.component for x in event.variables] == ["x", "x"]
        return {x: min(0.5, event.residual(("budget", x.index[1]))) for x in event.variables}

    run = simulate(inst, FunctionPolicy(half))
    _, x = problem = model()
    x.value = np.full((SLOTS, 2), 0.5)
    assert run.value == pytest.approx(problem[0].objective.value, rel=1e-8)
    best = solve(inst).value
    for name in ("greedy", "re-solve", "lookahead", "rolling", "relaxed", "random"):
        assert simulate(inst, name).value <= best + 1e-7


def test_variables_are_in_the_order_of_their_declaration():
    level = cp.Variable((2, 2), name="level", nonneg=True)
    pump, spill = cp.Variable(2, name="pump"), cp.Variable(2, name="spill")
    rows = [pump + spill >= 2, level[:, 1] == pump, level <= 9, cp.abs(spill) <= 3]
    goal = cp.sum(cp.multiply([2, 3], cp.square(pump))) + cp.sum(spill)
    times = {level: lambda t, _k: t, pump: lambda t: t, spill: lambda t: t}
    inst = online(cp.Problem(cp.Minimize(goal), rows), times)
    names = ["level[0,0]", "level[0,1]", "level[1,0]", "level[1,1]", "pump[0]", "pump[1]"]
    assert [c.name for c in inst.columns][:8] == [*names, "spill[0]", "spill[1]"]
    assert all(c.auxiliary for c in inst.columns[8:])
    seen = []

    def told(event):
        seen.append([x.name for x in event.variables])
        prices = [x.cost for x in event.revealed if x.auxiliary and x.cost]
        assert prices == [2 + event.time]
        return {x: 2 for x in event.variables if x.component == "spill"}

    assert simulate(inst, FunctionPolicy(told)).value == pytest.approx(4, abs=1e-8)
    assert seen == [[f"level[{t},0]", f"level[{t},1]", f"pump[{t}]", f"spill[{t}]"] for t in (0, 1)]


@pytest.mark.parametrize(
    ("constraint", "limits", "coefficients"),
    [
        (lambda x: x[0] + x[1] >= 7, (7, math.inf), [1, 1]),
        (lambda x: cp.Constant(7) <= x[0] + x[1], (7, math.inf), [1, 1]),
        (lambda x: x[0] + x[1] <= 7, (-math.inf, 7), [1, 1]),
        (lambda x: -x[0] - x[1] >= -7, (-7, math.inf), [-1, -1]),
        (lambda x: cp.NonNeg(x[0] + x[1] - 7), (7, math.inf), [1, 1]),
        (lambda x: x[0] >= x[1] + 1, (-math.inf, -1), [-1, 1]),  # x[1] + 1 <= x[0], as in Pyomo
        (lambda x: cp.Constant(7) == x[0] + x[1], (7, 7), [1, 1]),
        (lambda x: x[0] + x[1] == 7, (7, 7), [1, 1]),
        (lambda x: cp.log(1 + x[0]) >= 1, (1, math.inf), [1]),
        (lambda x: x >= 0, (0, math.inf), [1]),
    ],
)
def test_rows_have_the_sense_in_which_they_are_written(constraint, limits, coefficients):
    x = cp.Variable(2, name="x", bounds=[0, 9])
    made = constraint(x).set_label("row")
    inst = online(cp.Problem(cp.Minimize(cp.sum(x)), [made]), {x: 0})
    row = next(r for r in inst.rows if r.name in ("row", "row[0]"))
    assert (row.lower, row.upper) == limits
    assert [a for _, a in row.entries] == coefficients
    assert math.copysign(1, row.lower) == math.copysign(1, limits[0])  # no -0.0


def test_the_residual_of_a_demand_is_what_it_still_requires():
    q, short = (cp.Variable(name=name, bounds=[0, 9]) for name in ("q", "short"))
    problem = cp.Problem(cp.Minimize(q + 3 * short), [(q + short >= 7).set_label("need")])
    seen = []

    def meet(event):
        seen.append((event.row("need").lower, event.residual("need")))
        return {"q": event.residual("need")}

    assert simulate(online(problem, [(q, 0), (short, 0)]), FunctionPolicy(meet)).value == 7
    assert seen == [(7, 7)]


def test_the_feasibility_check_names_the_cone():
    inst = declared()
    values = list(solve(inst).schedule.values)
    cone = next(c for c in inst.cones if c.kind == "exponential")
    ((j, _),) = cone.members[0].entries  # t <= log(...)
    values[j] += 1e-3
    (broken,) = verify(inst, Solution(values=tuple(values))).violations
    assert broken.equation == cone.name
    values[j] -= 1e-3 + 1.0
    assert verify(inst, Solution(values=tuple(values))).feasible


def test_dual_cones():
    def cone(kind):
        return ExactCone(Cone(name="k", kind=kind, members=(Member(),) * 3))

    second, exponential = cone("second-order"), cone("exponential")
    assert in_dual_cone(second, [Fraction(3), Fraction(-4)]) == [5, 3, -4]
    head = in_dual_cone(exponential, [Fraction(-1), Fraction(1)])[2]
    assert float(head) == pytest.approx(math.exp(-2))
    for tail in ([1, 0], [0, -1], [Fraction(-1, 10**9), -10]):
        assert in_dual_cone(exponential, [Fraction(z) for z in tail]) is None


@pytest.mark.parametrize("number", range(300))
def test_forged_multipliers_of_cones_prove_less_or_nothing(number):
    inst, found = SOLVED
    rng = np.random.default_rng(number)
    content = json.loads(found.certificate.model_dump_json())
    (leaf,) = content["nodes"]
    for _ in range(int(rng.integers(1, 4))):
        k = int(rng.integers(len(leaf["cones"])))
        way = rng.choice(["number", "cone", "drop", "twice", "shorter", "row"])
        tail = leaf["cones"][k][1]
        if way == "number":
            place = int(rng.integers(len(tail)))
            tail[place] = str(Fraction(tail[place]) * Fraction(int(rng.integers(-8, 9)), 4))
        elif way == "cone":
            leaf["cones"][k][0] = int(rng.integers(-1, len(inst.cones) + 1))
        elif way == "drop":
            del leaf["cones"][k]
        elif way == "twice":
            leaf["cones"].append(leaf["cones"][k])
        elif way == "shorter":
            tail.pop()
            tail.append("1e3") if rng.random() < 0.5 else None
        else:
            entry = leaf["multipliers"][int(rng.integers(len(leaf["multipliers"])))]
            entry[1] = str(Fraction(entry[1]) * Fraction(int(rng.integers(-8, 9)), 4))
    try:
        bound = check(inst, Tree.model_validate(content))
    except ValueError:
        return
    assert bound >= found.value * (1 - 1e-8)


SOLVED = (declared(), solve(declared()))


def test_models_that_cannot_be_declared_are_refused():
    x = cp.Variable(2, name="x")
    whole = cp.Variable(2, name="n", integer=True)
    cases = [
        (
            cp.Minimize(cp.sum(x)),
            [cp.sqrt(x[0]) <= 1],
            {x: 0},
            "c0: is not convex by CVXPY's rules, expected a convex one",
        ),
        (
            cp.Maximize(cp.sum(x) - cp.sqrt(x[1])),
            [x <= 1],
            {x: 0},
            f"objective: {-cp.sqrt(x[1])} is not concave by CVXPY's rules, expected a concave",
        ),
        (cp.Minimize(cp.sqrt(x[1])), [x <= 1], {x: 0}, f"{cp.sqrt(x[1])} is not convex by CVXPY"),
        (cp.Minimize(cp.norm(whole)), [whole >= 0.5], {whole: 0}, "variable n: is integer next to"),
        (
            cp.Minimize(cp.sum(x)),
            [x >= cp.Parameter(name="least")],
            {x: 0},
            "parameter least: has no value, expected one",
        ),
        (cp.Minimize(cp.sum(x)), [x >= 0], {x[0]: 0}, "`revealed` names x[0], which is an expres"),
        (
            cp.Minimize(cp.sum(x)),
            [x == cp.Variable(2, name="x")],
            {x: 0},
            "variable x: the name is used twice",
        ),
        (cp.Minimize(cp.sum(x)), [x >= 0], {}, "variable x[0]: has no time in `revealed`"),
        (
            cp.Minimize(cp.lambda_max(cp.Variable((2, 2), name="P", PSD=True))),
            [],
            {"P": 0},
            "lambda_max(P): becomes a cone of the kind SvecPSD, expected second-order",
        ),
        (
            cp.Minimize(3 * cp.sum(cp.power(x, 1.7, approx=False)) + cp.norm(x)),
            [x >= 1],
            {x: 0},
            "Power(x, 1.7): becomes a cone of the kind PowCone3D, expected second-order",
        ),
        (
            cp.Minimize(cp.sum(x)),
            [x >= 0, cp.PowCone3D(x[0], 1, x[1], 0.3)],
            {x: 0},
            "constraint c1: becomes a cone of the kind PowCone3D",
        ),
    ]
    for goal, rows, times, complaint in cases:
        with pytest.raises(InputError, match=re.escape(complaint)) as refused:
            online(cp.Problem(goal, rows), times)
        assert "\n" not in str(refused.value)
    squares = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1])
    with pytest.raises(InputError, match=r"variable x\[0\]: decided at 0, before it is revealed"):
        online(squares, {x: lambda t: t + 1}, {x: 0})
    with pytest.raises(InputError, match="the model is unbounded"):
        solve(online(cp.Problem(cp.Minimize(x[0]), [cp.norm(x[1]) <= 1]), {x: 0}))
    nothing = online(cp.Problem(cp.Minimize(x[0]), [cp.norm(x) <= 1, x[0] >= 3]), {x: 0})
    assert solve(nothing).status is Status.INFEASIBLE
    assert math.isinf(solve(nothing).bound or math.inf)


HUGE = np.array([1, 1e300, 1])


@pytest.mark.parametrize(
    ("objective", "constraints", "complaint"),
    [
        (
            lambda x: cp.sum(x),
            lambda x: [(cp.norm(cp.multiply(HUGE, x)) <= 1).set_label("lim[3]")],
            "constraint lim[3]: an atom of x[0], x[1], x[2]: coefficient of x[1]: 1e+300 is out",
        ),
        (
            lambda x: cp.sum(x),
            lambda x: [(cp.log(1 + cp.multiply(math.nan * HUGE, x)) >= -1).set_label("lim")],
            "constraint lim[0]: an atom of x[0]: coefficient of x[0]: nan is out of range",
        ),
        (
            lambda x: cp.sum(x),
            lambda x: [cp.SOC(x[0] + 1, cp.multiply(HUGE, x)).set_label("ball")],
            "cone ball: coefficient of x[1]: 1e+300 is out of range",
        ),
        (
            lambda x: cp.sum(x),
            lambda x: [x >= 0, 1e300 * cp.square(x[2]) <= 1],
            "constraint c1: coefficient of an atom of x[2]: 1e+300 is out of range",
        ),
        (
            lambda x: cp.sum(x) + cp.exp(1e300 * x[1]),
            lambda _x: [],
            "objective: an atom of x[1]: coefficient of x[1]: 1e+300 is out of range",
        ),
        (
            lambda x: cp.square(x[0]) + cp.square(x[1] + math.inf),
            lambda _x: [],
            "objective: an atom of x[1]: constant: inf is out of range",
        ),
        (
            lambda x: cp.sum(cp.multiply(HUGE, cp.square(x))),
            lambda _x: [],
            "objective: weight of an atom of x[1]: 1e+300 is out of range",
        ),
    ],
)
def test_numbers_of_atoms_are_refused_with_their_constraints(objective, constraints, complaint):
    x = cp.Variable(3, name="x", bounds=[0, 1])
    with pytest.raises(InputError, match="^" + re.escape(complaint)):
        online(cp.Problem(cp.Minimize(objective(x)), constraints(x)), {x: 0})


@optsched.policy
def constant(event):
    return dict.fromkeys(event.variables, 6)


def test_values_of_atoms_keep_the_tolerance_of_the_feasibility_check():
    x = cp.Variable(12, nonneg=True, name="x")
    goal = cp.Minimize(sum(cp.square(x[t]) for t in range(12)))
    inst = online(cp.Problem(goal, [x >= 1]), {x: lambda t: t})
    assert simulate(inst, constant).value == pytest.approx(12 * 36, rel=1e-7)


@pytest.mark.parametrize(
    ("constraint", "complaint"),
    [
        (
            lambda p, q: cp.norm(cp.hstack([p, q])) <= 5000,
            "activity 5315.07290637, upper limit 5000",
        ),
        (
            lambda p, q: cp.square(p) + cp.square(q) <= 25e6,
            "activity 28250000, upper limit 25000000",
        ),
        (lambda p, _q: cp.log(1 + p) >= 10, "activity 8.16080392095, lower limit 10"),
        (lambda p, _q: cp.exp(p / 1000) <= 5, "activity 33.1154519587, upper limit 5"),
        (lambda p, q: cp.abs(p - q) <= 3, "activity 500, upper limit 3"),
        (lambda p, q: cp.maximum(p, q) <= 500, "activity 4000, upper limit 500"),
    ],
)
def test_a_broken_constraint_on_atoms_is_named_and_not_its_atoms(constraint, complaint):
    p, q = (cp.Variable(3, name=name, bounds=[0, 6000]) for name in "pq")
    rows = [constraint(p[1], q[1]).set_label("kva[1]"), cp.norm(q) <= 9000]
    inst = online(cp.Problem(cp.Maximize(cp.sum(p) - 1e-3 * cp.sum_squares(p)), rows), {p: 0, q: 0})
    given = {"p[1]": 3500.0, "q[1]": 4000.0}
    solution = complete(inst, [given.get(c.name, 0.0) for c in inst.columns])
    (broken,) = verify(inst, solution).violations
    assert (broken.equation, broken.place) == ("kva[1]", complaint)


@pytest.mark.parametrize("seed", sweep([0, 2, 6, 7, 10], quick=1))
def test_atoms_at_their_limits_are_completed(seed):
    """What is decided leaves exp(x) <= 4 and logarithms no interior."""
    for number in (1, 2, 3):
        assert simulate(declared(number), "random", seed=seed).value is not None


@pytest.mark.parametrize("policy", ["greedy", "re-solve", "lookahead"])
@pytest.mark.parametrize("seed", sweep([4, 5, 7], quick=1))
def test_decisions_of_an_interior_point_method_keep_equations(seed, policy):
    random = np.random.default_rng(seed)
    inflow, price = random.integers(0, 10, 12), random.uniform(1, 3, 12)
    names = ("pump", "spill", "level")
    pump, spill, level = (cp.Variable(12, nonneg=True, name=name) for name in names)
    rows = [level <= 12, level[0] == 4 + int(inflow[0]) - pump[0] - spill[0]]
    rows += [level[t] == level[t - 1] + int(inflow[t]) - pump[t] - spill[t] for t in range(1, 12)]
    cost = (
        8 * cp.sum(spill)
        + 20 * level[11]
        + sum(p * cp.square(pump[t]) for t, p in enumerate(price))
    )
    inst = online(
        cp.Problem(cp.Minimize(cost), rows), dict.fromkeys((pump, spill, level), lambda t: t)
    )
    assert simulate(inst, policy).value >= solve(inst).certified_bound * (1 - 1e-6)


@pytest.mark.parametrize("seed", [1, 2, 4, 7])
def test_optima_with_small_squares_next_to_equations_are_found(seed):
    """Clarabel's point breaks rows and atoms by more than the tolerance."""
    random = np.random.default_rng(seed)
    made, short, level = (
        cp.Variable(12, nonneg=True, name=name) for name in ("made", "short", "level")
    )
    demand, price = random.integers(0, 9, 12), random.uniform(1, 3, 12)
    rows = [level <= 20, level[0] == 5 + made[0] + short[0] - int(demand[0])]
    rows += [level[t] == level[t - 1] + made[t] + short[t] - int(demand[t]) for t in range(1, 12)]
    squares = sum(0.1 * p * cp.square(made[t]) for t, p in enumerate(price))
    program = cp.Problem(cp.Minimize(15 * cp.sum(short) + squares), rows)
    found = solve(online(program, dict.fromkeys((made, short, level), lambda t: t)))
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("size", [1, 1e3, 1e5])
def test_values_are_exact_whatever_the_size_of_the_variables(size):
    need = np.array([0.7, 1.4, 1.2]) * size
    x = cp.Variable(3, name="x")
    instance = online(
        cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= need, x <= 10 * size]), {x: 0}
    )
    found = solve(instance)
    assert found.status is Status.OPTIMAL
    assert found.bound_level is Level.CERTIFIED
    assert found.value == pytest.approx(need @ need, rel=1e-9)
    exact = FunctionPolicy(lambda e: dict(zip(e.variables, need, strict=True)))
    for policy in ("re-solve", exact):
        assert simulate(instance, policy).value == pytest.approx(need @ need, rel=1e-8)


def limited(atom, limit):
    """Return a problem whose decisions are limited by an atom."""
    price = np.random.default_rng(1).uniform(1, 5, 8).round(2)
    use, gain = cp.Variable(8, nonneg=True, name="use"), cp.Variable(8, nonneg=True, name="gain")
    rows = [*atom(use, gain), use <= limit, gain <= 1e5, cp.sum(use) <= 3 * limit]
    goal = cp.Maximize(price @ gain - cp.sum(use) / 10)
    return online(cp.Problem(goal, rows), dict.fromkeys((use, gain), lambda t: t))


LIMITED = {
    "root": lambda: limited(lambda x, y: [y <= 140 * cp.sqrt(x)], 8e3),
    "logarithm": lambda: limited(lambda x, y: [y <= 1e4 * cp.log(1 + x / 100)], 1e4),
    "exponential": lambda: limited(lambda x, y: [1000 * (cp.exp(y / 5000) - 1) <= x], 9e3),
    "power": lambda: limited(lambda x, y: [cp.power(y, 1.5) <= x], 1e5),
    "geometric mean": lambda: limited(
        lambda x, y: [y[t] <= 10 * cp.geo_mean(cp.hstack([x[t], 2.5])) for t in range(8)], 5e3
    ),
    "norm": lambda: limited(
        lambda x, y: [cp.norm(cp.hstack([y[t], 700.0])) <= 701 + x[t] for t in range(8)], 9e3
    ),
}


@pytest.mark.parametrize("policy", ["greedy", "re-solve", "lookahead", "rolling", "random"])
@pytest.mark.parametrize("atom", sweep(LIMITED, quick=2))
def test_decisions_keep_the_atoms_that_limit_them_in_any_units(atom, policy):
    """Clarabel breaks cones by more than the tolerance where values are large."""
    instance = LIMITED[atom]()
    found = solve(instance)
    assert found.certified_gap < 1e-6
    assert simulate(instance, policy).value <= found.certified_bound


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_large_powers_are_certified_in_any_units(seed):
    """Auxiliary variables near 1e9 have no upper bounds: their reduced costs must be tiny."""
    random = np.random.default_rng(seed)
    need, price = random.uniform(500, 2500, 8).round(), random.uniform(1, 5, 8).round(2)
    flow, buy = cp.Variable(8, nonneg=True, name="flow"), cp.Variable(8, nonneg=True, name="buy")
    rows = [flow + buy >= need, flow <= 2000, cp.sum(flow) <= 8800]
    goal = cp.Minimize(1.5e-5 * cp.sum(cp.power(flow, 3)) + 30 * price @ buy)
    found = solve(online(cp.Problem(goal, rows), dict.fromkeys((flow, buy), lambda t: t)))
    assert found.certified_gap < 1e-7


@pytest.mark.parametrize("seed", sweep(range(4), quick=1))
@pytest.mark.parametrize("policy", ["greedy", "random"])
def test_atoms_that_are_decided_have_no_part_in_later_programs(seed, policy):
    """They have no interior, with which Clarabel returns anything."""
    price = np.random.default_rng(seed).uniform(1, 5, 8).round(2)
    out, use = cp.Variable(8, nonneg=True, name="out"), cp.Variable(8, nonneg=True, name="use")
    rows = [cp.power(out, 3) <= 1e6 * use, out <= 7000, use <= 2e5, cp.sum(use) <= 4e5]
    goal = cp.Maximize(100 * price @ out - 2 * cp.sum(use))
    inst = online(cp.Problem(goal, rows), dict.fromkeys((out, use), lambda t: t))
    assert simulate(inst, policy).value <= solve(inst).certified_bound


ATOMS = {
    "cube": lambda p, g: cp.sum(cp.power(p, 3)) - 3 * g @ p,
    "power": lambda p, g: cp.sum(cp.power(p, 2.5)) - 3 * g @ p,
    "huber": lambda p, g: cp.sum(cp.huber(p - g, 0.5)) + cp.sum(p) / 20,
    "geometric mean": lambda p, g: g @ p / 40 - cp.geo_mean(p),
    "harmonic mean": lambda p, g: g @ p / 40 - cp.harmonic_mean(p + 1),
    "norm": lambda p, g: cp.pnorm(p - g, 3) + cp.sum(p) / 40,
    "largest": lambda p, g: cp.sum_largest(cp.square(p - g), 2) + cp.sum(p) / 10,
    "square of a square": lambda p, g: cp.sum(cp.square(cp.square(p))) - g @ p,
    "weight of 0": lambda p, g: (
        cp.sum(cp.multiply([0, *g[1:]], cp.square(p - 2))) + cp.sum(cp.exp(-p))
    ),
    "entropy": lambda p, g: -cp.sum(cp.entr(p + 0.1)) - g @ p / 20,
}


@pytest.mark.filterwarnings("ignore:.*is being approximated")
@pytest.mark.parametrize("atom", ATOMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_atoms_of_all_kinds_are_certified(atom, seed):
    """Their auxiliary variables have no bounds: reduced costs need the right sign, or to be 0."""
    weight = np.random.default_rng(seed).uniform(0.2, 3, SLOTS).round(2)
    p = cp.Variable(SLOTS, name="p")
    problem = cp.Problem(cp.Minimize(ATOMS[atom](p, weight)), [p >= 0, p <= 4])
    found = solve(online(problem, {p: lambda t: t}))
    problem.solve(solver=cp.CLARABEL)
    assert (found.status, found.bound_level) == (Status.OPTIMAL, Level.CERTIFIED)
    assert found.value == pytest.approx(problem.value, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("size", [1e-2, 1.0, 1e2, 1e4])
def test_auxiliary_variables_have_the_values_of_their_atoms(size):
    pairs = {
        "cube": (lambda x: cp.power(x, 3), size**3),
        "inverse": (cp.inv_pos, 1 / size),
        "logarithm": (lambda x: -cp.log(x), -math.log(size)),
        "root": (lambda x: -cp.sqrt(x), -math.sqrt(size)),
    }
    for atom, value in pairs.values():
        x = cp.Variable(2, name="x", bounds=[1e-3, 1e6])
        instance = online(cp.Problem(cp.Minimize(cp.sum(atom(x)))), {x: 0})
        policy = FunctionPolicy(lambda e: dict.fromkeys(e.variables, size))
        assert simulate(instance, policy).value == pytest.approx(2 * value, rel=1e-7, abs=1e-8)


def changing(kind, p, q):
    """Return a model that nobody else holds, with the parameters p and q."""
    x = cp.Variable(3, name="x", bounds=[0, 1])
    return {
        "limit": lambda: cp.Problem(cp.Minimize(cp.sum(x)), [x[0] >= p]),
        "cost": lambda: cp.Problem(cp.Minimize(q @ x), [x[0] >= 0.5]),
        "constant": lambda: cp.Problem(cp.Minimize(cp.sum(x) + p), [x[0] >= 0.5]),
        "in an atom": lambda: cp.Problem(
            cp.Maximize(cp.sum(x)), [cp.norm(cp.multiply(q, x)) <= 0.5]
        ),
        "constant of an atom": lambda: cp.Problem(cp.Maximize(cp.sum(cp.log(x + q)))),
        "cone": lambda: cp.Problem(cp.Maximize(cp.sum(x)), [cp.SOC(p, x).set_label("ball")]),
        "weight of an atom": lambda: cp.Problem(cp.Minimize(p * cp.sum_squares(x - 0.5))),
    }[kind]()


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        ("limit", "constraint c0: "),
        ("cost", "variable x[1]: cost was 2.0 and is 0.0"),
        ("constant", "the model has another objective"),
        ("in an atom", "cone atom[2,0]: had other coefficients"),
        ("constant of an atom", "cone atom[1,0]: had other coefficients"),
        ("cone", "cone ball: had other coefficients"),
        ("weight of an atom", "variable auxiliary[2,0]: cost was 0.5 and is 0.7"),
    ],
)
def test_a_parameter_that_is_changed_is_refused(kind, complaint, held):
    p = cp.Parameter(name="p", value=0.5, nonneg=True)
    q = cp.Parameter(3, name="q", value=[1.0, 2.0, 3.0], nonneg=True)
    made = changing(kind, p, q)
    inst = online(made, {"x": lambda t: t})
    if not held:
        del made
        gc.collect()
    assert solve(inst).value is not None
    p.value, q.value = 0.7, np.array([1.0, 0.0, 3.0])
    with pytest.raises(InputError, match=re.escape(complaint)):
        solve(inst)


def test_a_model_whose_values_grow_without_limit_has_no_optimum():
    x = cp.Variable(3, name="x")
    inst = online(cp.Problem(cp.Maximize(cp.sum(cp.log(x)))), {x: 0})
    with pytest.raises(InputError, match=r"unbounded: variable x\[\d\] goes beyond 1e15, expected"):
        solve(inst)
    bounded = online(cp.Problem(cp.Maximize(cp.sum(cp.log(x))), [x <= 1e12]), {x: 0})
    assert solve(bounded).value == pytest.approx(3 * math.log(1e12))


@pytest.mark.parametrize("size", [1, 4, 10])
def test_a_sum_of_roots_without_bounds_has_no_optimum(size):
    x = cp.Variable(size, name="x")
    inst = online(cp.Problem(cp.Maximize(cp.sum(cp.sqrt(x)))), {x: 0})
    with pytest.raises(InputError, match=r"unbounded: variable x\[\d\] goes beyond 5e11, expected"):
        solve(inst)


def test_an_optimum_of_which_the_solver_is_not_sure_is_not_claimed():
    x = cp.Variable(4, name="x")
    inst = online(cp.Problem(cp.Maximize(cp.sum(cp.sqrt(x)) - 1e-9 * cp.sum(x))), {x: 0})
    found = solve(inst)  # 1e9, at x = 2.5e17
    assert found.bound is None or found.bound >= 1e9
