"""The state of the search: what is taken out gives back what it took."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.families.completion import FAMILY
from optsched.families.completion.blocks import Jobs
from optsched.families.completion.neighbourhood import FACTORS, Neighbourhood, schedule_of
from optsched.families.completion.oracle import State
from optsched.families.completion.presets import generate
from optsched.families.completion.verify import verify
from optsched.progress import Progress

SLOTS = 60
ARRAYS = ("free", "room", "total", "top")


@pytest.fixture(params=["ps", "ring"])
def area(request):
    inst = generate("mid", seed=3, jobs=12, machines=3, architecture=request.param)
    jobs = Jobs(inst)
    prices = np.random.default_rng(0).uniform(0, 5, (SLOTS, *jobs.class_capacity.shape))
    made = Neighbourhood(jobs, prices, SLOTS)
    made.start(0)
    assert made.complete()
    return made


def arrays(state):
    return {name: getattr(state, name).copy() for name in ARRAYS}


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in ARRAYS)


def test_removing_all_leaves_empty_servers(area):
    jobs, board = area.jobs, area.board
    empty = arrays(State.of(jobs.types, jobs.capacity, jobs.cluster.ones, SLOTS))
    assert not same(arrays(board.state), empty)
    area.load({})
    assert same(arrays(board.state), empty)
    assert (board.plans, board.value) == ({}, 0.0)


@pytest.mark.parametrize("factor", range(len(FACTORS)))
def test_a_job_that_returns_changes_nothing(area, factor):
    board = area.board
    before, value = arrays(board.state), board.value
    plan = board.remove(4)
    assert not same(arrays(board.state), before)
    board.restore(4, plan)
    assert same(arrays(board.state), before)
    board.remove(4)
    assert board.insert(4, factor)
    verdict = verify(area.jobs.inst, schedule_of(area.pieces(board.plans)))
    assert verdict.feasible, verdict
    total = sum(job.weight for job in area.jobs.inst.jobs)
    assert board.value == pytest.approx(SLOTS * total - verdict.value)
    if factor == 0:  # at no prices it ends as early as it did, or earlier
        assert board.value >= value


def test_search_keeps_the_best(area):
    monitor = Progress(FAMILY, area.jobs.inst, time_limit=30.0, gap=0.0)
    steps = iter(np.linspace(0, 1, 200))
    began = area.worth(area.board.plans)
    best = area.search(monitor, seed=0, start=0, done=lambda: float(next(steps, 1.0)))
    assert area.worth(best) > began
    verdict = verify(area.jobs.inst, schedule_of(area.pieces(best)))
    assert verdict.value == monitor.value


def test_jobs_find_room_long_after_the_last_price():
    inst = generate("mid", seed=8, jobs=10, machines=8, slots=20)  # one server can host PS
    jobs = Jobs(inst)
    area = Neighbourhood(jobs, np.zeros((1, *jobs.class_capacity.shape)), 200)
    area.start(0)
    assert area.complete()
    starts = [plan.found.start for plan in area.board.plans.values()]
    assert max(starts) > inst.horizon


def test_sums_and_tops_of_rooms_follow_every_change():
    inst = generate("paper", seed=2, jobs=20, machines=12)
    jobs, rng = Jobs(inst), np.random.default_rng(0)
    area = Neighbourhood(jobs, np.zeros((1, *jobs.class_capacity.shape)), 200)
    for i in rng.integers(20, size=60).tolist():
        if i in area.board.plans:
            area.board.remove(i)
        else:
            area.board.insert(i, 0)
        state = area.board.state
        assert np.array_equal(state.top[0], state.room[0].max(axis=2))
        assert np.array_equal(state.total[0], state.room[0].sum(axis=2))
