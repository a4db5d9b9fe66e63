"""The optimum: known values, the conic solver next to it, properties, limits of time."""

import numpy as np
import pytest
from independent.bipartite import FILES, load

from optsched.core import solve
from optsched.families.bipartite.instance import BipartiteInstance
from optsched.families.bipartite.optimum.decision import Solver
from optsched.families.bipartite.optimum.initial_bounds import opening
from optsched.families.bipartite.optimum.interior import inverted
from optsched.families.bipartite.sources.presets import generate
from optsched.families.bipartite.verify import Verifier
from optsched.problem import Level, Status


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_known_stationary_optimum(path):
    inst, known = load(path)
    np.testing.assert_array_equal(inst.counts, known["counts"])
    found = solve(inst, method="stationary", gap=1e-9)
    assert found.value == pytest.approx(known["stationary"]["value"], rel=1e-8)
    assert found.bound == pytest.approx(known["stationary"]["bound"], rel=1e-8)
    assert found.bound_level is Level.CERTIFIED


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_known_optimum_of_every_slot(path):
    inst, known = load(path)
    found = solve(inst, gap=1e-8)
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(known["per_slot_total"], rel=1e-7)
    assert found.bound == pytest.approx(sum(known["per_slot"]["bound"]), rel=1e-7)
    solver = Solver(inst)
    for pattern in inst.patterns[0]:
        solved = solver.solve(pattern, 1e-8)
        slot = int(np.flatnonzero((inst.jobs == pattern).all(axis=1))[0])
        assert solved.value == pytest.approx(known["per_slot"]["value"][slot], rel=1e-7, abs=1e-9)


KINDS = {
    "mixed": ("linear", "log", "reciprocal", "poly"),
    "linear": ("linear",),
    "log": ("log",),
    "reciprocal": ("reciprocal",),
    "poly": ("poly",),
}


@pytest.mark.parametrize("kinds", KINDS)
def test_closed_gaps_on_many_instances(kinds):
    for seed in range(200):
        inst = generate("small", seed=seed, utilities=KINDS[kinds], contention=1.0 + seed % 5)
        solved = Solver(inst).solve(inst.counts, 1e-8)
        assert solved.bound >= solved.value
        assert solved.bound - solved.value <= 1e-7 * abs(solved.value) + 1e-9


@pytest.mark.parametrize("kinds", KINDS)
def test_closed_gaps_at_the_size_of_the_paper(kinds):
    inst = generate("paper", seed=1, slots=50, utilities=KINDS[kinds])
    for weight in (inst.counts, inst.jobs[0]):
        solved = Solver(inst).solve(weight, 1e-8)
        assert solved.bound - solved.value <= 1e-7 * solved.value
        verifier = Verifier(inst)
        verifier.slot(0, inst.jobs[0], solved.y)
        assert verifier.verdict().feasible


def test_dense_graph():
    inst = generate("paper", seed=1, slots=20, density=10.0, machines=40)
    solved = Solver(inst).solve(inst.counts, 1e-8)
    assert solved.bound - solved.value <= 1e-8 * solved.value


def test_extreme_data():
    """No jobs; no capacity; no request; no overhead; a port without machines."""
    base = generate("small", seed=0).model_dump()
    nobody = base | {"arrivals": [[0] * 4] * 40}
    empty = base | {"machines": [m | {"capacity": (0, 0, 0)} for m in base["machines"]]}
    modest = base | {"ports": [p | {"request": (0, 0, 0)} for p in base["ports"]]}
    for content in (nobody, empty, modest):
        found = solve(BipartiteInstance.model_validate(content))
        assert found.value == pytest.approx(0, abs=1e-6)
        assert found.bound == pytest.approx(0, abs=1e-3)  # the tolerance of zero capacities
    free = BipartiteInstance.model_validate(base | {"overhead": (0, 0, 0)})
    assert solve(free).status is Status.OPTIMAL
    lonely = base | {
        "machines": [m | {"ports": [p for p in m["ports"] if p != 2]} for m in base["machines"]]
    }
    assert solve(BipartiteInstance.model_validate(lonely)).status is Status.OPTIMAL


def until(ticks):
    """Return a watcher that ends the time after this many looks."""
    looks = iter(range(ticks))

    def watch(progress):
        if next(looks, None) is None:
            progress.end()

    return watch


def test_when_time_is_up_the_stationary_decision_stands_in():
    inst = generate("small", seed=3)
    best = solve(inst)
    still = solve(inst, method="stationary")
    hurried = solve(inst, watch=until(9))
    assert hurried.status is Status.FEASIBLE
    assert still.value * (1 - 1e-6) <= hurried.value <= best.value
    assert hurried.bound >= best.bound * (1 - 1e-9)
    assert hurried.bound_level is Level.CERTIFIED


@pytest.mark.parametrize("method", ["auto", "stationary", "conic"])
def test_without_time_doing_nothing_is_the_answer(method):
    inst = generate("small", seed=3)
    hurried = solve(inst, method=method, time_limit=0.0)
    assert hurried.status is Status.FEASIBLE
    assert hurried.value == 0
    assert hurried.bound_level is Level.CERTIFIED
    assert solve(inst).value <= hurried.bound <= opening(inst)[0]


def test_a_second_solver_agrees():
    inst = generate("small", seed=2, slots=12)
    claimed = solve(inst, method="conic", check="claimed")
    best = solve(inst)
    assert claimed.bound == pytest.approx(best.value, rel=1e-6)
    assert claimed.value == pytest.approx(best.value, rel=1e-5)


def test_shares_and_prices_are_prices():
    inst = generate("counts", seed=1)
    solved = Solver(inst).solve(inst.counts, 1e-8)
    assert (solved.share >= 0).all()
    assert (solved.nu >= 0).all()
    np.testing.assert_allclose(solved.share.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("method", ["auto", "stationary"])
def test_shadow_prices_are_what_one_more_unit_is_worth(method):
    inst = generate("small", seed=1, utilities=("log",))
    best = solve(inst, method=method, gap=1e-9)
    first = best.shadow_prices[0]
    assert first["price"] == max(p["price"] for p in best.shadow_prices)
    content = inst.model_dump()
    machine = content["machines"][first["machine"]]
    k = inst.resources.index(first["resource"])
    more = 0.01
    machine["capacity"] = tuple(c + more * (j == k) for j, c in enumerate(machine["capacity"]))
    richer = solve(BipartiteInstance.model_validate(content), method=method, gap=1e-9)
    assert richer.value - best.value == pytest.approx(more * first["price"], rel=0.05)


@pytest.mark.parametrize(
    "matrix", [np.zeros((3, 3)), np.full((3, 3), np.nan), np.diag([1, np.inf])]
)
def test_a_matrix_without_an_inverse_ends_the_method_and_is_no_error(matrix):
    assert not inverted(matrix)


def test_a_matrix_is_replaced_by_its_inverse():
    matrix = np.array([[2.0, -1.0], [-1.0, 3.0]])
    assert inverted(matrix)
    assert matrix == pytest.approx(np.array([[0.6, 0.2], [0.2, 0.4]]))
