"""Limits of effort: what they end repeats on any machine, under any load, in any process."""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import efforts
import numpy as np
import pytest
from independent.oasis import random_instance
from patience import LONG, until

import optsched
from optsched import InputError, Optimum, compare, get_family, solve, solvers
from optsched.engine.budget import Budget
from optsched.engine.progress import Progress
from optsched.families.completion.optimum.search import neighborhood as completion_search
from optsched.families.completion.optimum.search import orders
from optsched.families.dmlrs.optimum.build_certificate import certify_capacity
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.dmlrs.optimum.search.neighborhood import SharedBoard
from optsched.families.oasis import FAMILY
from optsched.problem import Level
from optsched.process import blas, work_units

pytestmark = pytest.mark.slow

# --- counting ---


def test_a_budget_counts_work_and_not_the_clock():
    budget = Budget(units=100.0)
    half, whole = budget.span(0.05), budget.span()
    work_units.spend(30.0)
    assert budget.spent() == pytest.approx(30.0)
    assert budget.seconds() == pytest.approx(0.03)
    assert budget.left() == pytest.approx(0.07)
    assert half.share() == pytest.approx(0.6)
    assert whole.limits(0.5) == {"time_limit": math.inf, "effort": pytest.approx(70.0)}
    work_units.spend(25.0)
    assert half.over()
    assert half.share() == 1.0
    assert whole.left() == pytest.approx(0.045)
    assert half.limits()["effort"] == 0.0


def test_a_budget_of_seconds_knows_no_effort():
    budget = Budget(LONG)
    work_units.spend(1e9)
    assert budget.left() > LONG / 2
    assert budget.limits(3.0) == {"time_limit": 3.0, "effort": math.inf}
    assert not budget.span(LONG / 4).over()


def test_of_two_limits_the_first_ends_it():
    assert Budget(0.0, 1e9).left() == 0
    assert Budget(LONG, 0.0).left() == 0
    assert Budget(LONG, 5.0).left() == pytest.approx(0.005)
    assert Budget(LONG, 5.0).limits(1.0)["time_limit"] > LONG / 2
    found = solve(random_instance(0), time_limit=0.0, work_limit=1e9)
    assert found.effort < 1e3


def test_a_signal_leaves_nothing():
    asked = []
    budget = Budget(units=10.0, ended=lambda: bool(asked))
    span = budget.span()
    assert span.left() > 0
    asked.append(True)
    assert budget.left() == span.left() == 0.0


def test_asking_whether_to_stop_comes_to_an_end():
    progress = Progress(FAMILY, random_instance(0), units=1.0, gap=0.0)
    asked = 0
    while not progress.stop():
        asked += 1
    assert asked <= 1 / work_units.QUESTION
    assert progress.left() == 0


def test_waiting_for_a_thread_costs_nothing():
    progress = Progress(FAMILY, random_instance(0), units=1.0, gap=0.0)
    assert not any(progress.called_off() for _ in range(5000))
    progress.end()
    assert progress.called_off()


# --- solvers ---


def hard_program():
    """Return an integer program that takes long: many knapsacks."""
    rng = np.random.default_rng(0)
    a = rng.integers(1, 60, (8, 50)).astype(float)
    n = a.shape[1]
    return -a.sum(axis=0) / 8, a, np.full(8, -np.inf), a.sum(axis=1) // 2, np.zeros(n), np.ones(n)


def test_effort_ends_an_integer_program_at_the_same_place():
    program = hard_program()
    whole = np.ones(50, bool)
    before = work_units.done()
    first = solvers.solve_mip(*program, whole, effort=20.0)
    spent = work_units.done() - before
    again = solvers.solve_mip(*program, whole, effort=20.0)
    assert first.status == "feasible"
    assert 20 < spent < 100
    assert work_units.done() - before == pytest.approx(2 * spent)
    assert (first.objective, first.bound) == (again.objective, again.bound)
    assert np.array_equal(first.x, again.x)


def test_effort_ends_an_integer_program_before_it_begins():
    found = solvers.solve_mip(*hard_program(), np.ones(50, bool), effort=0.05)
    assert (found.status, found.x, found.bound) == ("unknown", None, None)


@pytest.mark.parametrize("solver", ["simplex", "ipm"])
def test_effort_ends_a_linear_program(solver):
    h = solvers.highs()
    h.setOptionValue("solver", solver)
    h.setOptionValue("presolve", "off")
    solvers.load(h, *hard_program())
    before = work_units.done()
    solvers.run(h, effort=0.1)
    assert h.modelStatusToString(h.getModelStatus()) == "Iteration limit reached"
    assert 0 < work_units.done() - before < 5


def test_effort_ends_constraint_programs():
    cost, rows, _, limits, _, _ = hard_program()
    model = solvers.cp_program()
    x = [model.new_bool_var("") for _ in cost]
    for row, limit in zip(rows.astype(int).tolist(), limits.tolist(), strict=True):
        model.add(sum(int(n) * v for n, v in zip(row, x, strict=True)) <= int(limit))
    model.minimize(sum(n * v for n, v in zip((8 * cost).astype(int).tolist(), x, strict=True)))
    seen = []
    for _ in range(2):
        solver, before = solvers.cp_solver(effort=30.0), work_units.done()
        assert solvers.run_cp(solver, model) == "feasible"
        assert 30 < work_units.done() - before < 300
        seen.append(
            (solver.objective_value, solvers.cp_bound(solver), list(solver.response_proto.solution))
        )
    assert seen[0] == seen[1]


@pytest.mark.filterwarnings("ignore:invalid value")  # it ends outside the domain
def test_effort_ends_convex_programs():
    import cvxpy as cp

    x = cp.Variable(30)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.log(x))), [cp.sum(x) <= 1.0, x[0] >= 2 * x[1]])
    before = work_units.done()
    outcome = solvers.solve_cvxpy(problem, effort=0.2)
    assert outcome.inaccurate
    assert 0 < work_units.done() - before < 200
    assert solvers.solve_cvxpy(problem).status == "optimal"


def blas_threads() -> list[int]:
    """Return how many threads each library of linear algebra has."""
    return [x["num_threads"] for x in blas.controller().info() if x["user_api"] == "blas"]


def test_linear_algebra_uses_one_thread_inside():
    before = blas_threads()
    with blas.one_thread(), blas.one_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


# --- solve ---


@contextmanager
def busy() -> Iterator[None]:
    """Keep a core busy."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as loop:
        yield
        loop.kill()


def test_the_same_effort_finds_the_same_in_another_process_of_a_busy_machine():
    here = {  # in another order: what was solved before makes no difference
        name: solve(case.instance(), work_limit=case.effort)
        for name, case in reversed(efforts.CASES.items())
    }
    for found in here.values():
        assert found.gap > 1e-6, "this one is meant to stay open"
        assert found.proved is not None
    environment = {"PYTHONHASHSEED": "17", "OPENBLAS_NUM_THREADS": "3"}
    with busy():
        ran = subprocess.run(
            [sys.executable, efforts.__file__],
            env=os.environ | environment,
            capture_output=True,
            check=True,
            text=True,
        )
    assert json.loads(ran.stdout) == {n: efforts.repeated(found) for n, found in here.items()}


@pytest.mark.parametrize("name", efforts.CASES)
def test_little_effort_finds_a_schedule_and_a_bound_and_more_no_worse_ones(name):
    case = efforts.CASES[name]
    inst, family = case.instance(), optsched.get_family(name)
    found = [solve(inst, work_limit=units) for units in (1, case.effort, 3 * case.effort)]
    for one in found:
        assert family.verify(inst, one.schedule).value == one.value
        assert family.check(inst, one.certificate) == one.proved
        assert family.sign * (one.proved - one.value) >= -1e-9 * abs(one.value)
    for less, more in pairwise(found):
        assert family.sign * (more.value - less.value) >= 0
        assert family.sign * (less.bound - more.bound) >= 0


@pytest.mark.parametrize("method", ["compact", "cpsat"])
def test_no_program_is_written_down_that_takes_more_than_is_left(method):
    inst = efforts.CASES["dmlrs"].instance()
    found = solve(inst, method=method, work_limit=5)
    assert found.value == 0
    assert found.effort < 1
    assert found.proved is not None


@pytest.mark.parametrize(
    ("family", "preset", "method", "sizes", "units"),
    [
        ("oasis", "small", "auto", {"jobs": 14}, 1000),
        ("dmlrs", "small", "search", {}, 1000),
        ("completion", "mid", "search", {}, 1000),
        ("bipartite", "counts", "conic", {}, 1000),
    ],
)
def test_a_unit_is_about_a_millisecond(family, preset, method, sizes, units):
    instance = get_family(family).generate(preset, seed=3, **sizes)
    each = []
    for _ in range(2):  # kernels are compiled meanwhile, or not
        began = time.process_time()
        found = solve(instance, method=method, work_limit=units)
        each.append(1000 * (time.process_time() - began) / found.effort)
    assert found.effort < 4 * units
    assert 0.1 < min(each) < 6


def test_a_unit_of_search_by_prices_lasts_as_long_as_one_of_search_by_moves():
    instance = get_family("oasis").generate("paper", seed=0)
    each = {}
    for method in ("auto", "search"):
        solve(instance, method=method, work_limit=50)  # loads what it needs
        began = time.process_time()
        found = solve(instance, method=method, work_limit=1000)
        each[method] = (time.process_time() - began) / found.effort
    assert each["auto"] < 1.8 * each["search"]


@pytest.mark.parametrize(("preset", "method"), [("mid", "compact"), ("paper", "cpsat")])
def test_what_writing_a_program_takes_is_counted(preset, method):
    instance = get_family("completion").generate(preset, seed=1)
    solve(instance, method=method, work_limit=1)  # loads what it needs
    began = time.process_time()
    solve(instance, method=method, work_limit=500)
    assert time.process_time() - began < 500 * 0.006 + 1


def test_what_placing_on_thousands_of_servers_takes_is_counted(monkeypatch):
    calls, dispatch = [], orders.dispatch
    monkeypatch.setattr(orders, "dispatch", lambda *of: calls.append(1) or dispatch(*of))
    family = get_family("completion")
    instance = family.generate("mid", seed=0, jobs=100, machines=10_000)
    found = solve(instance, method="search", work_limit=60)
    assert found.effort > 2 * len(calls) > 0


def many_slots(jobs, epochs):
    """Return jobs of many epochs on one server: a million slots."""
    inst = get_family("completion").generate("mid", seed=0, jobs=jobs, machines=1)
    data = inst.model_dump()
    data["resources"], data["units"] = data["resources"][:1], data["units"][:1]
    fields = {"servers": "capacity", "worker_types": "demand", "ps_types": "demand"}
    for name, field in fields.items():
        data[name] = [data[name][0] | {field: data[name][0][field][:1]}]
    data["jobs"] = [
        job
        | {name: job[name][:1] for name in ("batch_time", "update_time")}
        | {"epochs": epochs * job["epochs"]}
        for job in data["jobs"]
    ]
    return type(inst).model_validate(data | {"horizon": 1_000_000})


def test_prices_of_a_million_slots_keep_a_limit_of_work():
    assert solve(many_slots(3, 5000), work_limit=50).effort < 60


def test_what_inserting_into_a_million_slots_takes_is_counted(monkeypatch):
    calls, best = [], completion_search.best_schedule
    monkeypatch.setattr(
        completion_search, "best_schedule", lambda *of, **how: calls.append(1) or best(*of, **how)
    )
    found = solve(many_slots(2, 20_000), method="search", work_limit=50)
    assert found.effort > 2 * len(calls) > 0


def test_what_making_a_large_board_takes_is_counted():
    inst = efforts.CASES["dmlrs"].instance()
    made = []
    for machines in (1_000, 20_000):
        free = np.ones((inst.horizon, len(inst.resources), machines))
        before = work_units.done()
        SharedBoard(inst, free, free)
        made.append(work_units.done() - before)
    assert made[0] == 0
    assert 10 < made[1] < 100


def many_workers(chunks):
    """Return two jobs that can run as many workers, on as many machines of a class."""
    inst = efforts.CASES["dmlrs"].instance()
    data = inst.model_dump()
    machine = {"capacity": [4.0] * len(inst.resources), "count": chunks}
    wide = {
        "chunks": chunks, "gradient_mb": 100.0, "ps_bandwidth": 1.0, "outer_bandwidth": 1.0,
        "worker_demand": [1.0, 2.0, 1.0], "ps_demand": [1.0, 1.0, 2.0],
    }  # fmt: skip
    jobs = [job | wide for job in data["jobs"][:2]]
    return type(inst).model_validate(data | {"machines": [machine], "jobs": jobs})


def test_machines_beyond_the_limit_are_left_to_prices():
    """A board of all machines would take more than the limit, prices by class do not."""
    inst = efforts.CASES["dmlrs"].instance()
    data = inst.model_dump()
    data["machines"] = [data["machines"][0] | {"count": 100_000}]
    inst = type(inst).model_validate(data)
    assert 0.2 < solve(inst, work_limit=30, method="colgen").effort < 40


def test_what_the_first_bound_of_thousands_of_types_takes_is_counted():
    inst = efforts.CASES["dmlrs"].instance()
    data, made = inst.model_dump(), []
    machine = data["machines"][0]
    for types in (10, 2000):
        capacities = [[(1 + k / types) * c for c in machine["capacity"]] for k in range(types)]
        data["machines"] = [machine | {"capacity": c, "count": 1} for c in capacities]
        large = type(inst).model_validate(data)
        before = work_units.done()
        assert get_family("dmlrs").opening(large)[0] > 0
        made.append((work_units.done() - before) / len(inst.jobs))
    assert made[0] == 0
    assert 20 < made[1] < 60


@pytest.mark.parametrize("workers", [100, 400])
def test_tables_of_link_by_link_are_counted(workers):
    """One unit holds about a millisecond of pricing, and of the check."""
    inst = many_workers(workers)
    data = inst.model_dump() | {"locality": "link"}
    problem = CapacityRelaxation(type(inst).model_validate(data))
    prices = 1e-6 * np.random.default_rng(0).random(problem.rhs.size)
    made = certify_capacity(problem, prices)

    def price():
        problem.price(prices, np.zeros(problem.jobs))

    def check():
        get_family("dmlrs").check(problem.inst, made)

    for work in (price, check):
        work()  # compiled
        began, before = time.thread_time(), work_units.done()
        work()
        units, seconds = work_units.done() - before, time.thread_time() - began
        assert 0.2 * units < 1000 * seconds < 5 * units


def test_what_pricing_many_workers_takes_is_counted():
    problem = CapacityRelaxation(many_workers(120))
    rng = np.random.default_rng(0)
    before = work_units.done()
    problem.price(1e-6 * rng.random(problem.rhs.size), np.zeros(problem.jobs))
    assert work_units.done() - before > 50


def test_little_effort_ends_in_the_middle_of_pricing_and_of_a_check():
    """In full either would take days: thousands of workers on thousands of machines."""
    found = solve(many_workers(4000), work_limit=5)
    assert found.effort < 5000
    assert found.value == 0
    assert found.bound_level is Level.CLAIMED


def test_nothing_is_asked_of_other_threads():
    case = efforts.CASES["oasis"]
    found = [solve(case.instance(), work_limit=20, threads=n) for n in (1, 3)]
    assert efforts.repeated(found[0]) == efforts.repeated(found[1])


def test_the_old_name_of_the_limit_still_works():
    inst = random_instance(0)
    with pytest.warns(DeprecationWarning, match=r"solve\(effort=\) is deprecated, use work_limit="):
        found = solve(inst, effort=5)
    assert efforts.repeated(found) == efforts.repeated(solve(inst, work_limit=5))
    with pytest.warns(DeprecationWarning, match=r"compare\(effort=\)"):
        assert compare(inst, ["fifo"], effort=5).optimum.bound == found.bound


@pytest.mark.parametrize("limit", [{"work_limit": 5}, {"time_limit": LONG, "threads": 2}])
def test_linear_algebra_uses_one_thread_while_solving(limit):
    seen = set[int]()
    with blas.controller().limit(limits=2, user_api="blas"):
        before = blas_threads()
        solve(random_instance(0), watch=lambda _: seen.update(blas_threads()), **limit)
        assert seen == {1}
        assert blas_threads() == before


def test_who_watches_ends_a_search_of_much_effort():
    case = efforts.CASES["oasis"]
    found = solve(case.instance(), work_limit=1e9, watch=until(lambda p: p.value is not None))
    assert found.effort < 1e4


def test_an_optimum_says_what_it_took():
    found = solve(random_instance(0), time_limit=LONG)
    assert found.effort > 0
    again = Optimum.model_validate_json(found.model_dump_json())
    assert again == found
    assert found.summary()["effort"] == found.effort
    content = found.model_dump(mode="json")
    del content["effort"]  # as files of old
    assert Optimum.model_validate(content).effort is None


@pytest.mark.parametrize("wrong", [-1, math.inf, math.nan])
def test_an_effort_is_a_number(wrong):
    with pytest.raises(InputError, match="expected a number of units >= 0"):
        solve(random_instance(0), work_limit=wrong)
