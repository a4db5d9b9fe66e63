"""The checker of declared problems: what it proves by hand, and certificates that lie."""

import copy
import json
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pyomo.environ as pyo
import pytest
from independent.declared import FILES, draw, enumerated, load
from pydantic import ValidationError
from scipy.optimize import Bounds, LinearConstraint, milp

import optsched
from optsched.core import solve
from optsched.declared.arrays import arrays
from optsched.declared.certificate import (
    Branch,
    Cut,
    Leaf,
    Tree,
    check,
    evaluate,
    implied,
    rounded,
)
from optsched.declared.feasibility import verify
from optsched.declared.model import Maximization, Minimization, Solution
from optsched.declared.optimum import shadow_prices
from optsched.engine.interval import Interval
from optsched.problem import Level, Status, family_of


def column(name, **given):
    return {"name": name, "revealed": 0, "decided": 0} | given


KNAPSACK = Maximization.model_validate(
    {
        "columns": [
            column("x[0]", cost=3, upper=1, integer=True),
            column("x[1]", cost=2, upper=1, integer=True),
            column("y", cost=0.5, upper=4),
        ],
        "rows": [{"name": "room", "upper": 2.5, "entries": [(0, 2), (1, 1), (2, 1)]}],
    }
)


def leaf(*multipliers, ray=False):
    return Leaf(ray=ray, multipliers=tuple((i, str(y)) for i, y in multipliers))


def test_weak_duality_by_hand():
    # minimized: -3 x0 - 2 x1 - y / 2 >= -1.5 * 2.5 - 0.5 * 1, within the tolerance of the row
    bound = check(KNAPSACK, Tree(nodes=(leaf((0, "-3/2")),)))
    assert bound == pytest.approx(4.25, rel=1e-8)
    assert bound >= 4.25


def test_a_branch_restricts_its_halves():
    branch = Branch(column=0, at=0, left=1, right=2)
    tree = Tree(nodes=(branch, leaf((0, "-1/2")), leaf((0, "-2"))))
    # left: 2 + 0.75; right: 3 + 2 - 0.5 of x[1] and y at a price of 2
    assert check(KNAPSACK, tree) == pytest.approx(4.0, rel=1e-8)
    assert solve(KNAPSACK).value == pytest.approx(3.25)


def test_the_bound_of_integers_is_a_multiple_of_the_objective():
    inst = KNAPSACK.model_copy(update={"columns": KNAPSACK.columns[:2], "rows": ()})
    inst = Maximization.model_validate(
        json.loads(inst.model_dump_json())
        | {"rows": [{"name": "room", "upper": 2.9, "entries": [(0, 2), (1, 1)]}]}
    )
    assert inst.exact.sides == [(None, 2)]
    assert check(inst, Tree(nodes=(leaf((0, "-3/2")),))) == 3.0


def test_implied_bounds_are_derived_from_rows():
    inst = Minimization.model_validate(
        {
            "columns": [
                column("x", cost=1, lower="-inf"),
                column("n", cost=-1, integer=True),
            ],
            "rows": [
                {"name": "low", "lower": -2.5, "entries": [(0, 1)]},
                {"name": "both", "upper": 4.2, "entries": [(0, 1), (1, 2)]},
            ],
        }
    )
    lower, upper = implied(inst.exact)
    assert lower[0] == pytest.approx(-2.5)
    assert upper == [pytest.approx(4.2), 3]


@pytest.mark.parametrize(
    ("nodes", "complaint"),
    [
        ((leaf((0, "1")),), "infinite limit"),
        ((leaf((1, "1")),), "there is no row 1"),
        ((leaf((0, "-1"), (0, "-1")),), "listed twice"),
        ((leaf((0, "1e99")),), "no fraction"),
        ((leaf((0, "1/0")),), "no fraction"),
        ((leaf((0, "nan")),), "no fraction"),
        ((leaf((0, "-1"), ray=True),), "the ray proves nothing"),
        ((Branch(column=2, at=1, left=1, right=2), leaf(), leaf()), "no integer variable"),
        ((Branch(column=7, at=1, left=1, right=2), leaf(), leaf()), "no integer variable"),
        ((Branch(column=0, at=0, left=1, right=1), leaf()), "child"),
        ((Branch(column=0, at=0, left=0, right=1), leaf()), "child"),
        ((leaf(), leaf()), "cannot be reached"),
    ],
)
def test_what_proves_nothing_is_refused(nodes, complaint):
    with pytest.raises(ValueError, match=complaint):
        check(KNAPSACK, Tree(nodes=nodes))


def test_any_multipliers_are_valid():
    for path in FILES:
        inst, known = load(path)
        if known["status"] != "optimal":
            continue
        best = inst.exact.sign * Fraction(known["optimum"])
        low, high = implied(inst.exact)
        rng = np.random.default_rng(1)
        for _ in range(50):
            drawn = rng.normal(0, 3, len(inst.rows)).round(2).tolist()
            made = [(i, Fraction(str(y))) for i, y in enumerate(drawn) if rng.random() < 0.7]
            bound = evaluate(inst.exact, low, high, made)
            assert bound is None or bound <= best
            assert (evaluate(inst.exact, low, high, made, ray=True) or 0) <= 0


@cache
def proved():
    """Return instances with their optima, minimized, and certificates; infinite: infeasible."""
    found = []
    for seed in range(300):
        inst = draw(seed)
        if any(math.isinf(c.upper - c.lower) for c in inst.columns):
            continue
        best = enumerated(inst)
        content = json.loads(solve(inst).certificate.model_dump_json())
        found.append((inst, math.inf if best is None else best, content))
    return found


def forged(content, rng):
    """Return a certificate with some damage: numbers, signs, rays, splits, halves, leaves."""
    made = copy.deepcopy(content)
    nodes = made["nodes"]
    for _ in range(int(rng.integers(1, 4))):
        node = nodes[int(rng.integers(len(nodes)))]
        if node["node"] == "branch":
            key = rng.choice(["column", "at", "left", "right"])
            node[key] += int(rng.choice([-2, -1, 1, 2]))
            continue
        way = rng.choice(["ray", "number", "row", "drop", "add", "split", "shrink"])
        entries = node["multipliers"]
        if way == "ray":
            node["ray"] = not node["ray"]
        elif way == "add":
            entries.append([int(rng.integers(6)), str(Fraction(int(rng.integers(-9, 9)), 4))])
        elif way == "split":
            nodes.append({"node": "leaf", "ray": bool(rng.random() < 0.5), "multipliers": entries})
            nodes.append(dict(nodes[-1]))
            split = {"column": int(rng.integers(4)), "at": int(rng.integers(-2, 3))}
            ends = {"left": len(nodes) - 2, "right": len(nodes) - 1}
            node.clear()
            node |= {"node": "branch"} | split | ends
        elif entries:
            k = int(rng.integers(len(entries)))
            if way == "drop":
                del entries[k]
            elif way == "row":
                entries[k][0] += 1
            else:
                factor = Fraction(int(rng.integers(-8, 9)), 4)
                entries[k][1] = str(Fraction(entries[k][1]) * factor)
    return made


def refuse_or_prove_less(number):
    cases = proved()
    rng = np.random.default_rng(number)
    inst, best, content = cases[number % len(cases)]
    try:
        bound = check(inst, Tree.model_validate(forged(content, rng)))
    except (ValueError, ValidationError):
        return
    assert inst.exact.sign * bound <= best + 1e-7 * max(1.0, abs(best))


@pytest.mark.slow
def test_forged_certificates_are_refused_or_prove_less():
    for number in range(2000):
        refuse_or_prove_less(number)


@pytest.mark.exhaustive
def test_20000_forged_certificates_are_refused_or_prove_less():
    for number in range(2000, 22_000):
        refuse_or_prove_less(number)


def test_shadow_prices_have_the_names_of_constraints():
    linear = KNAPSACK.model_copy(
        update={"columns": tuple(c.model_copy(update={"integer": False}) for c in KNAPSACK.columns)}
    )
    found = solve(linear)
    assert shadow_prices(linear, found.certificate) == [{"constraint": "room", "price": 1.5}]
    noise = Tree(nodes=(Leaf(multipliers=((0, "-1/1000000000000"),)),))
    assert shadow_prices(linear, noise) == []


def test_rounding_by_hand():
    # x0 + 2/3 x1 <= 4/3, where f = 1/3: x1 keeps (2/3 - 1/3) / (1 - 1/3), so x0 + 1/2 x1 <= 1
    columns = [column(f"x[{j}]", cost=1, upper=3, integer=True) for j in range(2)]
    row = {"name": "room", "upper": 4, "entries": [(0, 3), (1, 2)]}
    inst = Maximization.model_validate({"columns": columns, "rows": [row]})
    bounds = implied(inst.exact)
    assert rounded(inst.exact, bounds, [(0, Fraction(1, 3))], set()) == ([(0, 2), (1, 1)], 2)
    assert rounded(inst.exact, bounds, [(0, Fraction(1))], set()) is None  # 4 is whole
    tree = Tree(cuts=(Cut(multipliers=((0, "1/3"),)),), nodes=(leaf((1, "-1")),))
    assert check(inst, tree) == 2.0


@pytest.mark.parametrize("seed", range(120))
def test_cuts_hold_for_all_solutions(seed):
    inst = draw(seed)
    program, rng = inst.exact, np.random.default_rng(seed)
    bounds = implied(program)
    if not program.rows or not any(program.integer):
        return
    for _ in range(20):
        multipliers = [
            (i, Fraction(int(rng.integers(-12, 13)), int(rng.integers(1, 7))))
            for i in range(len(program.rows))
            if rng.random() < 0.6
        ]
        complemented = {j for j in range(len(program.cost)) if rng.random() < 0.5}
        made = rounded(program, bounds, multipliers, complemented)
        if made is None:
            continue
        assert most(inst, made[0]) <= float(made[1]) + 1e-6 * max(1.0, abs(float(made[1])))


def most(inst, entries):
    """Return the most that the left-hand side of a cut reaches."""
    cost = np.zeros(len(inst.columns))
    for j, a in entries:
        cost[j] = -a
    whole = arrays(inst)
    found = milp(
        cost,
        integrality=whole.integer,
        bounds=Bounds(whole.lower, whole.upper),
        constraints=LinearConstraint(whole.rows, whole.low, whole.high),
    )
    assert found.status != 3  # a cut is bounded
    return -found.fun if found.status == 0 else -math.inf


@pytest.mark.parametrize(
    ("multiplier", "complaint"),
    [
        ((0, "1"), "nothing is rounded"),
        ((0, "1e3"), "no fraction"),
        ((1, "1/3"), "there is no row 1"),
    ],
)
def test_cuts_that_are_none_are_refused(multiplier, complaint):
    columns = [column("x", cost=1, upper=3, integer=True)]
    row = {"name": "room", "upper": 2, "entries": [(0, 1)]}
    inst = Maximization.model_validate({"columns": columns, "rows": [row]})
    with pytest.raises(ValueError, match=complaint):
        check(inst, Tree(cuts=(Cut(multipliers=(multiplier,)),), nodes=(leaf(),)))


def test_costs_that_are_rounded_thirds_have_a_granularity():
    columns = [
        column(f"x[{j}]", cost=c, upper=1, integer=True) for j, c in enumerate((1 / 3, 2 / 7))
    ]
    row = {"name": "room", "upper": 2.9, "entries": [(0, 2), (1, 2)]}
    inst = Maximization.model_validate({"columns": columns, "rows": [row]})
    nodes = (leaf((0, "-1/5")),)
    assert check(inst, Tree(nodes=nodes)) == pytest.approx(0.4)
    found = check(inst, Tree(denominator=21, nodes=nodes))
    assert found == pytest.approx(8 / 21, abs=1e-12)
    assert found >= 8 / 21
    with pytest.raises(ValueError, match="no granularity"):
        check(KNAPSACK, Tree(denominator=2, nodes=nodes))


def test_long_common_denominators_are_refused_at_once():
    """Sums over thousands of fractions with different long denominators would take hours."""
    rows = [{"name": f"r[{i}]", "lower": 1, "entries": [(0, 1)]} for i in range(2000)]
    inst = Minimization.model_validate({"columns": [column("x", cost=1, upper=9)], "rows": rows})
    odd = [(i, f"1/{10**195 + 2 * i + 1}") for i in range(2000)]
    made = Tree(nodes=(Leaf(multipliers=tuple(odd)),))
    with pytest.raises(ValueError, match="denominator"):
        check(inst, made)
    check(inst, Tree(nodes=(Leaf(multipliers=tuple(odd[:50])),)))
    whole = inst.model_copy(
        update={"columns": (inst.columns[0].model_copy(update={"integer": True}),)}
    )
    cut = Cut(multipliers=tuple(odd))
    with pytest.raises(ValueError, match="denominator"):
        check(whole, Tree(cuts=(cut,), nodes=(Leaf(multipliers=()),)))


def test_numbers_beyond_the_largest_float_are_refused():
    """Exact sums of values and costs may leave the range of floats, in which they are reported."""

    def made(most, limit):
        row = {"name": "r", "upper": limit, "entries": [(0, 1e15)]}
        columns = [column("x", cost=1e15, upper=most)]
        return Minimization.model_validate({"columns": columns, "rows": [row]})

    verdict = verify(made(math.inf, math.inf), Solution(values=(1e300,)))
    assert (verdict.value, verdict.violations[0].equation) == (None, "objective")
    verdict = verify(made(math.inf, 1.0), Solution(values=(1e300,)))
    assert verdict.violations[0].amount == math.inf
    assert verify(made(math.inf, math.inf), Solution(values=(1e280,))).value == 1e295
    dual = Tree(nodes=(Leaf(multipliers=((0, "-1" + "0" * 390),)),))
    assert shadow_prices(made(4.0, 1.0), dual)[0]["price"] == -math.inf


def small_amounts():
    """Return a knapsack of projects whose gains are costs of 1e9 times amounts up to 1e-9 v."""
    values, weights = (9, 8, 2, 6), (5, 4, 1, 4)
    n = len(values)
    chosen = [column(f"b[{j}]", cost=0, upper=1, integer=True) for j in range(n)]
    amounts = [column(f"x[{j}]", cost=1e9, upper=v / 1e9) for j, v in enumerate(values)]
    links = [
        {"name": f"link[{j}]", "upper": 0, "entries": [(n + j, 1e9), (j, -v)]}
        for j, v in enumerate(values)
    ]
    room = {"name": "room", "upper": 8, "entries": list(enumerate(weights))}
    return Maximization.model_validate({"columns": [*chosen, *amounts], "rows": [*links, room]})


def test_a_gap_is_relative_to_the_value_however_small_amounts_are():
    inst = small_amounts()
    found = solve(inst)
    assert found.value == pytest.approx(14)
    assert found.gap == pytest.approx(found.bound / found.value - 1)
    assert (str(found.status) == "optimal") == (found.bound <= 14 * (1 + 1e-6))
    one = Maximization.model_validate({"columns": [column("x", cost=1e9, upper=1e-9)], "rows": []})
    assert Interval(family_of(one), one, 0.0, 1.0).gap == math.inf
    assert Interval(family_of(one), one, 0.5, 1.0).gap == 1.0


def test_rounding_to_the_granularity_never_weakens_a_bound():
    columns = [column(f"x[{j}]", cost=0.333333333, upper=1, integer=True) for j in range(3)]
    thirds = Minimization.model_validate({"columns": columns, "rows": []})
    assert check(thirds, Tree(denominator=3, nodes=(leaf(),))) == 0.0


def test_a_gap_that_was_asked_for_is_certified():
    """A solver claims the optimum, which the search for a proof does not reach."""
    rng = np.random.default_rng(1)
    gain, size = rng.integers(10, 100, (2, 60)).tolist()
    items = [column(f"x[{i}]", cost=gain[i], upper=1, integer=True) for i in range(60)]
    row = {"name": "room", "upper": 700, "entries": list(enumerate(size))}
    inst = Maximization.model_validate({"columns": items, "rows": [row]})
    found = solve(inst, gap=0.05)
    assert (found.status, found.bound_level) == (Status.FEASIBLE, Level.CERTIFIED)
    assert found.bound == found.certified_bound
    assert 1e-6 < found.gap < 0.05


def rooms():
    """Return rooms to be opened for operations of known length."""
    times = (160, 170, 95, 33, 120, 141, 88, 71)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(8), range(4), domain=pyo.Binary)
    m.open, m.over = pyo.Var(range(4), domain=pyo.Binary), pyo.Var(range(4), bounds=(0, 2000))
    m.cost = pyo.Objective(expr=sum(300 * m.open[b] + 3 * m.over[b] for b in range(4)))
    m.one = pyo.Constraint(range(8), rule=lambda m, j: sum(m.x[j, b] for b in range(4)) == 1)
    m.link = pyo.Constraint(range(8), range(4), rule=lambda m, j, b: m.x[j, b] <= m.open[b])
    m.used = pyo.Constraint(
        range(4),
        rule=lambda m, b: sum(p * m.x[j, b] for j, p in enumerate(times)) <= 420 + m.over[b],
    )
    return optsched.online(m, revealed={"x": 0, "open": 0, "over": 0})


def test_root_cuts_close_a_min_max_objective_and_rooms_that_open():
    """Split cuts of a load, and variable upper bounds put into a capacity, end at the root."""
    sizes = (7, 8, 9, 11, 13, 17)
    m = pyo.ConcreteModel()
    m.x, m.level = pyo.Var(range(6), range(2), domain=pyo.Binary), pyo.Var(bounds=(0, 200))
    m.cost = pyo.Objective(expr=m.level)
    m.one = pyo.Constraint(range(6), rule=lambda m, j: m.x[j, 0] + m.x[j, 1] == 1)
    m.used = pyo.Constraint(
        range(2), rule=lambda m, k: sum(p * m.x[j, k] for j, p in enumerate(sizes)) <= m.level
    )
    machines = optsched.online(m, revealed={"x": 0, "level": 0})
    for inst, value in ((machines, 33), (rooms(), 714)):
        found = solve(inst, time_limit=60, params={"tree": {"patience": 1}})
        assert found.value == pytest.approx(value)
        assert found.certified_gap < 1e-6
        assert len(found.certificate.nodes) == 1
        assert 0 < len(found.certificate.cuts) < 20


def test_cuts_below_the_root_save_nodes():
    few = {"patience": 1, "rounds": 2, "most_cuts": 4}
    alone, cut = (solve(rooms(), params={"tree": few | {"most_in_tree": k}}) for k in (1, 300))
    assert alone.value == cut.value == pytest.approx(714)
    assert len(cut.certificate.nodes) < len(alone.certificate.nodes)
    assert len(cut.certificate.cuts) > len(alone.certificate.cuts)
