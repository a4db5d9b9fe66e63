"""Family `completion`: the state of the large neighborhood search, its moves, and what it finds."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.optimum.relaxations.priced_search import Portfolio
from optsched.families.completion.optimum.search.neighborhood import (
    Neighborhood,
    cost,
    schedule_of,
)
from optsched.families.completion.oracle.servers import ServerState
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify

pytestmark = pytest.mark.slow
SLOTS = 60


def filled(architecture="ps", seed=3, jobs=12, machines=3, factor=1.0):
    inst = generate("mid", seed=seed, jobs=jobs, machines=machines, architecture=architecture)
    made = JobTables(inst)
    prices = np.random.default_rng(0).uniform(0, 5, (SLOTS, *made.class_capacity.shape))
    area = Neighborhood(made, prices, SLOTS)
    area.construct(np.argsort([-task.density for task in made.tasks]).tolist(), factor)
    return area


@pytest.fixture(params=["ps", "ring"])
def area(request):
    return filled(request.param)


def assert_consistent(area):
    """Work out from the pieces what is free in every window, and what all jobs earn."""
    jobs, value = area.jobs, 0.0
    state = ServerState.of(jobs.types, jobs.capacity, jobs.cluster.ones, area.slots)
    for i, plan in enumerate(area.plans):
        if plan is not None:
            load, piece = jobs.load(plan.piece), plan.piece
            hosts = np.flatnonzero(load.any(axis=1))
            state.occupy(jobs.types, piece.start, piece.end, hosts, load)
            value += jobs.weight[i] * (area.slots - piece.end)
    assert area.value == pytest.approx(value)
    for mine, other in zip(area.state, state, strict=True):
        np.testing.assert_array_equal(mine, other)
    assert (state.free[0] >= 0).all()


@given(
    architecture=st.sampled_from(["ps", "ring"]),
    out=st.lists(st.integers(0, 11), unique=True, max_size=8),
    gone=st.sets(st.integers(0, 11), max_size=3),
    factor=st.sampled_from([0.25, 0.5, 1.25]),
)
@settings(max_examples=30, deadline=None)
def test_jobs_leave_and_return(architecture, out, gone, factor):
    area = filled(architecture)
    before = list(area.plans)
    for i in out:
        area.remove(i)
    for i in out:
        if i not in gone:
            area.insert(i, factor)
    assert_consistent(area)
    area.load(before)
    assert area.plans == before
    assert_consistent(area)


def test_a_job_ends_by_the_latest_slot_or_stays_out(area):
    for i, plan in enumerate(list(area.plans)):
        if plan is not None:
            area.remove(i)
            latest = plan.piece.end - 1
            if area.insert(i, 1.0, latest):
                assert area.plans[i].piece.end <= latest
            else:
                assert area.plans[i] is None
    assert_consistent(area)


@pytest.mark.parametrize("heat", [0.0, 1e9])
def test_a_move_is_undone_or_kept(area, heat):
    rng, least = np.random.default_rng(1), area.value
    for _ in range(30):
        area.move(heat, rng)
        assert_consistent(area)
        assert heat or area.value >= least
        least = area.value


def test_search_keeps_the_best(area):
    done = partial(next, iter(np.linspace(0, 1, 60)), 1.0)
    began, seen = area.value, []
    best = area.anneal(np.random.default_rng(0), done, lambda plans: seen.append(list(plans)))
    assert seen[-1] == best
    area.load(best)
    assert area.value > began
    if None not in best:
        found = verify(area.jobs.inst, schedule_of(best))
        assert found.value == pytest.approx(cost(area.jobs, best))


def test_a_search_repeats_itself():
    found = []
    for seed in (0, 0, 1):
        area = filled()
        done = partial(next, iter(np.linspace(0, 1, 30)), 1.0)
        area.anneal(np.random.default_rng(seed), done)
        found.append([plan and plan.piece for plan in area.plans])
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_jobs_find_room_long_after_the_last_price():
    inst = generate("mid", seed=8, jobs=10, machines=8, slots=20)  # one server can host PS
    jobs = JobTables(inst)
    area = Neighborhood(jobs, np.zeros((1, *jobs.class_capacity.shape)), 200)
    area.construct(range(10), 1.0)
    assert None not in area.plans
    assert max(plan.piece.start for plan in area.plans) > inst.horizon


@pytest.mark.parametrize("threads", [1, 2])
def test_all_threads_search(threads):
    inst = generate("mid", seed=4, jobs=15, machines=4)
    monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
    search = Portfolio(inst, monitor, threads, 0)
    assert search.begin()
    began = monitor.value
    search.generate(1, 5.0)
    search.improve(0.5)
    assert monitor.value < began
    assert monitor.value == cost(search.jobs, search.plans)
    assert verify(inst, monitor.schedule).value == monitor.value
