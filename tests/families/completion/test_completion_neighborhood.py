"""The state of the search: what is taken out gives back what it took."""

from __future__ import annotations

import weakref
from functools import partial

import numpy as np
import pytest
from completion_states import SLOTS, arrays, by_slot, filled, recomputed, same
from hypothesis import given, settings
from hypothesis import strategies as st
from independent.completion import tiny
from numba import typeof

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.board.insertion import insert
from optsched.families.completion.optimum.board.plans import FACTORS, Copies, copy_plan, no_plans
from optsched.families.completion.optimum.board.servers import (
    begin_move,
    cut_again,
    empty_servers,
    end_move,
)
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.optimum.relaxations.priced_search import Portfolio
from optsched.families.completion.optimum.search.annealing import anneal, draw
from optsched.families.completion.optimum.search.neighborhood import Neighborhood, schedule_of
from optsched.families.completion.optimum.search.parallel_annealing import adopt, search_together
from optsched.families.completion.oracle.schedule import best_schedule
from optsched.families.completion.oracle.servers import PricedServers, WindowState
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify

pytestmark = pytest.mark.slow

DEAR = 50.0  # multiple of the prices at which jobs wait


@pytest.fixture(params=["ps", "ring"])
def area(request):
    made = filled(request.param)
    assert made.complete()
    return made


def test_the_arrays_of_a_state_are_freed():
    area = filled()
    free = weakref.ref(area.servers.free)
    state = area.tables, area.servers, area.workspace
    heat, drawn = 1.0, np.ones(1, np.uint64)
    anneal(*state, Copies(area.plans, area.snapshot(), area.snapshot()), 0.0, 0.0, heat, 9, drawn)
    adopt(*state, area.plans, area.snapshot())
    area.remove(0)
    area.insert(0, 1.0)
    assert free() is not None
    del area, state
    assert free() is None


def test_removing_all_leaves_empty_servers(area):
    empty = by_slot(empty_servers(area.jobs, SLOTS))
    assert not same(arrays(area), empty)
    area.load(no_plans(area.tables))
    assert same(arrays(area), empty)
    assert area.value == 0.0
    assert not area.complete()
    assert area.cost(area.plans) == np.inf


@pytest.mark.parametrize("factor", FACTORS)
def test_a_job_that_leaves_and_returns(area, factor):
    before, value, plans = arrays(area), area.value, area.snapshot()
    area.remove(4)
    assert not same(arrays(area), before)
    assert area.insert(4, factor)
    verdict = verify(area.jobs.inst, schedule_of(area.pieces(area.plans)))
    assert verdict.feasible, verdict
    assert area.cost(area.plans) == pytest.approx(verdict.value)
    total = sum(job.weight for job in area.jobs.inst.jobs)
    assert area.value == pytest.approx(SLOTS * total - verdict.value)
    if factor == 0:  # at no prices it ends as early as it did, or earlier
        assert area.value >= value
    area.load(plans)
    assert same(arrays(area), before)
    assert area.value == pytest.approx(value)


def test_a_job_ends_by_the_latest_slot_or_stays_out(area):
    """What a job saves by ending later counts nothing behind the latest slot."""
    later = 0
    for i in range(len(area.jobs.modes)):
        area.remove(i)
        gone = arrays(area)
        assert area.insert(i, 0.0)  # as early as possible
        soonest = int(area.ends(area.plans)[i])
        area.remove(i)
        assert area.insert(i, DEAR)
        later += area.ends(area.plans)[i] > soonest
        area.remove(i)
        state = area.tables, area.servers, area.plans, area.workspace, i
        assert not insert(*state, DEAR, soonest - 1)
        assert same(arrays(area), gone)
        assert insert(*state, DEAR, soonest)
        assert area.ends(area.plans)[i] == soonest
        assert same(arrays(area), recomputed(area))
        area.value += area.jobs.weight[i] * (area.slots - soonest)
    assert later > 0


CHANGES = st.lists(st.tuples(st.integers(0, 14), st.sampled_from(FACTORS)), max_size=60)


@given(architecture=st.sampled_from(["ps", "ring"]), seed=st.integers(0, 20), changes=CHANGES)
@settings(deadline=None, max_examples=60)
def test_segments_are_what_a_count_slot_by_slot_says(architecture, seed, changes):
    """Jobs go in and out in any order: the servers hold what the plans leave, and no more cuts."""
    area = filled(architecture, seed=seed, jobs=15, machines=5)
    for i, factor in changes:
        if area.plans.mode[i] >= 0:
            area.remove(i)
        else:
            area.insert(i, factor)
    assert same(arrays(area), recomputed(area))


@given(
    architecture=st.sampled_from(["ps", "ring"]),
    seed=st.integers(0, 20),
    moves=st.lists(st.tuples(CHANGES, st.booleans()), max_size=5),
)
@settings(deadline=None, max_examples=60)
def test_a_move_is_undone_or_kept(architecture, seed, moves):
    area = filled(architecture, seed=seed, jobs=15, machines=5)
    state = area.tables, area.servers, area.plans
    for changes, undo in moves:
        before, plans = arrays(area), area.snapshot()
        begin_move(area.servers)
        for i, factor in changes:
            if area.plans.mode[i] >= 0:
                area.remove(i)
            else:
                area.insert(i, factor)
        end_move(area.servers, undo)
        if undo:
            for i in range(15):
                if area.plans.mode[i] >= 0:
                    cut_again(*state, i, -1)
                copy_plan(plans, area.plans, i)
                if area.plans.mode[i] >= 0:
                    cut_again(*state, i, 1)
            assert same(arrays(area), before)
        assert same(arrays(area), recomputed(area))
    area.load(no_plans(area.tables))
    assert area.servers.number[0] == 1
    assert not area.servers.cuts.any()


def test_fine_decimals_have_many_units():
    """More than 32 bits hold: the servers count in long numbers, and lose nothing."""
    inst = generate("mid", seed=3, jobs=12, machines=3)
    fields = inst.model_dump()
    *others, last = fields["worker_types"][0]["demand"]
    fields["worker_types"][0]["demand"] = (*others, last + 1e-9)
    fine = type(inst).model_validate(fields)
    for some, unit in ((inst, np.int32), (fine, np.int64)):
        made = JobTables(some)
        area = Neighborhood(made, np.zeros((SLOTS, *made.class_capacity.shape)), SLOTS)
        area.construct(list(range(12)), 0.0)
        assert area.servers.free.dtype == area.workspace.left.dtype == unit
        assert verify(some, schedule_of(area.pieces(area.plans))).feasible
        assert same(arrays(area), recomputed(area))


@pytest.mark.parametrize("architecture", ["ps", "ring"])
@pytest.mark.parametrize("seed", range(4))
def test_a_job_on_empty_servers_costs_what_the_oracle_says(architecture, seed):
    """At prices of workers alone the cheapest workers are right, whoever hosts the PS."""
    inst = generate("mid", seed=seed, jobs=10, machines=6, architecture=architecture)
    jobs = JobTables(inst)
    prices = np.random.default_rng(seed).uniform(0, 9, (SLOTS, *jobs.class_capacity.shape))
    free = jobs.types.ps_demand.any(axis=0)
    if architecture == "ps":
        prices[:, :, free] = 0.0
    priced = PricedServers.of(jobs.types, prices, jobs.class_capacity, jobs.count)
    compared = 0
    for i, modes in enumerate(jobs.modes):
        area = Neighborhood(jobs, prices, SLOTS)
        found = best_schedule(
            *(jobs.types, modes, priced),
            arrival=int(jobs.arrival[i]),
            weight=float(jobs.weight[i]),
            deadline=SLOTS,
        )
        assert area.insert(i, 1.0) == (found is not None)
        if found is None:
            continue
        end, cost = int(area.ends(area.plans)[i]), 0.0
        k = int(area.plans.mode[i])
        m, begin = int(area.tables.type_of[k]), int(area.plans.start[i])
        for x in range(int(area.plans.parts[i])):
            g = jobs.class_of[area.plans.where[i, x]]
            unit = (prices[begin:end, g] @ jobs.types.worker_demand[m]).sum()
            cost += unit * area.plans.number[i, x]
        assert jobs.weight[i] * end + cost == pytest.approx(found.value)
        compared += 1
    assert compared >= 8


def assert_ends_agree(inst, seed, rounds):
    """Insert jobs in random order where they end first, among these where a class is cheapest."""
    jobs, slots, rng = JobTables(inst), inst.deadline or SLOTS, np.random.default_rng(seed)
    prices = rng.uniform(0, 1e-9, (slots, *jobs.class_capacity.shape))
    area = Neighborhood(jobs, prices, slots)
    single = np.ascontiguousarray(prices[:, jobs.class_of])
    servers = PricedServers.of(jobs.types, single, jobs.capacity, jobs.cluster.ones)
    for _ in range(rounds):
        area.load(no_plans(area.tables))
        state = WindowState.of(jobs.types, jobs.capacity, jobs.cluster.ones, slots)
        for i in rng.permutation(len(jobs.modes)).tolist():
            found = best_schedule(
                *(jobs.types, jobs.modes[i], servers._replace(**state._asdict())),
                arrival=int(jobs.arrival[i]),
                weight=float(jobs.weight[i]),
                deadline=slots,
            )
            assert area.insert(i, 1.0) == (found is not None)
            if found is not None:
                assert area.ends(area.plans)[i] == found.completion
                _occupy(state, area, i)


@pytest.mark.parametrize("seed", range(30))
def test_a_job_ends_on_crowded_servers_when_the_oracle_says(seed):
    assert_ends_agree(tiny(seed), seed, 4)


@pytest.mark.parametrize(("architecture", "seed"), [("ps", 6), ("ps", 8), ("ring", 6)])
def test_many_jobs_end_on_crowded_servers_when_the_oracle_says(architecture, seed):
    inst = generate("mid", seed=seed, jobs=20, machines=4, architecture=architecture)
    assert_ends_agree(inst, seed, 8)


def _occupy(state, area, i):
    """Take from ``state`` what job i uses on the servers of ``area``."""
    plans, tables = area.plans, area.tables
    load, parts, k = np.zeros_like(area.jobs.capacity), plans.parts[i], plans.mode[i]
    load[plans.where[i, :parts]] += plans.number[i, :parts, None] * tables.e[tables.type_of[k]]
    if not tables.ring:
        load[plans.host[i]] += plans.ps[i] * tables.z[plans.kind[i]]
    end = int(plans.start[i] + tables.duration[k])
    hosts = np.flatnonzero(load.any(axis=1))
    state.occupy(area.jobs.types, int(plans.start[i]), end, hosts, load)


def test_search_keeps_the_best(area):
    monitor = Progress(FAMILY, area.jobs.inst, time_limit=30.0, gap=0.0)
    steps = iter(np.linspace(0, 1, 50))
    began = area.cost(area.plans)
    done = partial(next, map(float, steps), 1.0)
    best = search_together([area], monitor, seed=0, start=0, done=done)
    assert area.cost(best) < began
    verdict = verify(area.jobs.inst, schedule_of(area.pieces(best)))
    assert verdict.value == monitor.value == pytest.approx(area.cost(best))
    if area.complete():
        assert same(arrays(area), recomputed(area))


def test_a_search_repeats_itself():
    ends = []
    for start in (0, 0, 1):
        area = filled()
        done = partial(next, iter(np.linspace(0, 1, 30)), 1.0)
        best = search_together([area], None, seed=1, start=start, done=done)
        ends.append((area.ends(best).tolist(), area.ends(area.plans).tolist()))
    assert ends[0] == ends[1]
    assert ends[0] != ends[2]


def test_random_numbers_are_spread_evenly():
    state = np.array([1], np.uint64)
    drawn = np.array([draw(state) for _ in range(4000)])
    assert 0 <= drawn.min() < drawn.max() < 1
    counts = np.histogram(drawn, bins=10, range=(0, 1))[0]
    assert counts.min() > 330
    assert counts.max() < 470


def test_a_plan_is_copied_whole():
    area = filled()
    other = no_plans(area.tables)
    for i in range(12):
        copy_plan(area.plans, other, i)
    assert area.pieces(other) == area.pieces(area.plans)


def test_jobs_find_room_long_after_the_last_price():
    inst = generate("mid", seed=8, jobs=10, machines=8, slots=20)  # one server can host PS
    jobs = JobTables(inst)
    area = Neighborhood(jobs, np.zeros((1, *jobs.class_capacity.shape)), 200)
    area.construct(range(10), 0.0)
    assert area.complete()
    assert area.plans.start.max() > inst.horizon


def test_every_thread_counts():
    inst = generate("mid", seed=4, jobs=15, machines=4)
    bounds = []
    for threads in (1, 2, 1):
        monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
        search = Portfolio(inst, monitor, threads, 0)
        assert search.begin()
        began = monitor.value
        search.generate(1, 5.0)
        bounds.append(search.bound)
        search.improve(0.3)
        assert search.rounds == 1
        assert search.plans is not None
        assert monitor.value < began
        assert verify(inst, monitor.schedule).value == monitor.value
    assert bounds == pytest.approx([bounds[0]] * 3)


def test_a_search_goes_on_at_other_prices():
    """What a state costs at new prices is what a new state costs at them."""
    inst = generate("mid", seed=5, jobs=12, machines=4)
    jobs, rng = JobTables(inst), np.random.default_rng(2)
    shape = jobs.class_capacity.shape
    old, new = (1e3 * rng.random((slots, *shape)) for slots in (30, 50))
    area, fresh = Neighborhood(jobs, old, 200), Neighborhood(jobs, new, 200)
    area.construct(range(12), 0.0)
    area.reprice(new)
    for name in ("worker_cost", "ps_cost", "least"):
        np.testing.assert_array_equal(getattr(area.tables, name), getattr(fresh.tables, name))
    area.construct(range(12), 1.0)
    fresh.construct(range(12), 1.0)
    assert area.pieces(area.plans) == fresh.pieces(fresh.plans)


def test_kernels_are_compiled_once_for_all_instances():
    """A layout of an array is part of its type, and every type of an argument is compiled."""
    found = set()
    for inst in (*(FAMILY.generate(p, seed=1) for p in ("small", "mid")), tiny(0), tiny(1)):
        made = JobTables(inst)
        area = Neighborhood(made, np.zeros((SLOTS, *made.class_capacity.shape)), SLOTS)
        found.add(typeof((area.tables, area.servers, area.plans, area.workspace)))
    assert len(found) == 1
