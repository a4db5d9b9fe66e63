"""The search among sets of jobs: packings of slots, their program, and the dives."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import LONG, until

from optsched.core import solve
from optsched.engine.budget import Budget
from optsched.families.oasis import FAMILY
from optsched.families.oasis.instance import JobSchedule, OasisSchedule
from optsched.families.oasis.optimum.configuration_lp import pricing
from optsched.families.oasis.optimum.configuration_lp import search as configuration_lp
from optsched.families.oasis.optimum.configuration_lp.linear_program import MARGIN, ConfigurationLp
from optsched.families.oasis.optimum.configuration_lp.packing import (
    PackingSide,
    SlotJobs,
    _State,
    empty_machines,
    fill,
    new_workspace,
    refill,
)
from optsched.families.oasis.optimum.configuration_lp.pricing import SlotPricing
from optsched.families.oasis.optimum.configuration_lp.search import SlotSearch
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.cutting_planes import CutLoop
from optsched.families.oasis.optimum.search.neighborhood import Neighborhood, flat_prices
from optsched.families.oasis.sources.presets import generate
from optsched.scheduling.board import planned_jobs
from optsched.scheduling.oracle.patterns import Knapsacks, best_patterns

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module", params=[0, 1])
def tightened(request):
    """Return an instance, a tightened program, and a schedule by the other search."""
    inst = generate("earnable", seed=request.param, jobs=30, slots=30, machines=10)
    tightening = CutLoop(CapacityRelaxation(inst), threads=1)
    for _ in range(2):
        tightening.round(Budget().span())
    area = Neighborhood(inst, flat_prices(inst), tightening.guide)
    area.start()
    for i in list(area.board.plans)[::3]:  # others can find better ones
        area.board.remove(i)
    return tightening, area.schedule(area.board.plans)


def value_of(schedule, inst):
    verdict = FAMILY.verify(inst, schedule)
    assert verdict.value is not None, verdict
    return verdict.value


def searching(tightening, schedule, seed=0):
    rng = np.random.default_rng(seed)
    return SlotSearch(tightening.blocks, tightening.guide, schedule, rng)


def side_of(draw, jobs, most):
    demand = draw.integers(0, 5, (jobs, 2)).astype(float)
    kinds = draw.integers(2, 14, (2, 2)).astype(float)
    kind = draw.permutation(np.repeat([0, 1], draw.integers(1, most, 2)))
    return PackingSide(demand, kinds, kind)


def assert_fits(state, sides):
    for hosted, side in zip((state.worker, state.ps), sides, strict=True):
        assert (hosted >= 0).all()
        assert (hosted @ side.demand <= side.kinds[side.kind]).all()


@given(SEEDS)
@settings(deadline=None)
def test_an_empty_machine_hosts_what_pays_most(seed):
    """Far from its limit of nodes, the search earns as much as the other one."""
    draw = np.random.default_rng(seed)
    jobs = 5
    side = side_of(draw, jobs, 4)
    machines, workspace = empty_machines(side, np.arange(jobs)), new_workspace(jobs, 2)
    capacity = side.kinds[side.kind]
    workspace.offered[:] = draw.integers(0, 4, jobs) * draw.random(jobs)
    workspace.most[:] = draw.integers(0, 6, jobs)
    hosted = np.zeros((len(capacity), jobs), np.int16)
    total = np.zeros(jobs, np.int64)
    for h in range(len(capacity)):
        fill(machines, h, workspace, 100_000, hosted, total)
    assert (hosted <= workspace.most).all()
    assert (hosted @ side.demand <= capacity).all()
    assert (total == hosted.sum(axis=0)).all()
    many = np.ones((len(capacity), 1))
    best, pattern = np.empty(len(many)), np.empty(hosted.shape, np.int64)
    limits = np.zeros(hosted.shape, np.int64), np.tile(workspace.most, (len(many), 1))
    asked = Knapsacks(many * workspace.offered, side.demand, capacity, *limits)
    best_patterns(asked, best, pattern, 100_000, 0)
    assert hosted @ workspace.offered == pytest.approx(best, abs=1e-12)


def refilled(draw, sides, value, want, ratio, moves):
    """Fill the machines of a slot, then fill some anew; return both numbers and the packing."""
    jobs = value.size
    needed = np.ceil(np.arange(want.max() + 1) * ratio[:, None] - 1e-9).astype(np.int64)
    mine = SlotJobs(value, np.full((2, jobs), 0.5), want, needed)
    machines = tuple(empty_machines(side, np.arange(jobs)) for side in sides)
    hosted = [np.zeros((side.kind.size, jobs), np.int16) for side in sides]
    state = _State(*hosted, np.zeros(jobs, np.int64), np.zeros(jobs, np.int64))
    refill(mine, machines, state, True, 0, draw)
    before = running(state, mine)
    refill(mine, machines, state, False, moves, draw)
    return before, state, mine


def running(state, jobs):
    """Return the workers that have their PS."""
    there = np.minimum(jobs.want, state.worker.sum(axis=0))
    served = state.ps.sum(axis=0)
    return np.array(
        [
            max(n for n in range(m + 1) if jobs.needed[i, n] <= served[i])
            for i, m in enumerate(there)
        ]
    )


@given(SEEDS)
@settings(deadline=None)
def test_machines_filled_anew_fit_and_pay_no_less(seed):
    draw = np.random.default_rng(seed)
    jobs = 5
    sides = side_of(draw, jobs, 4), side_of(draw, jobs, 3)
    value, want, ratio = draw.random(jobs), draw.integers(1, 9, jobs), draw.uniform(0.1, 1.0, jobs)
    before, state, mine = refilled(draw, sides, value, want, ratio, 30)
    assert_fits(state, sides)
    assert (state.there == state.worker.sum(axis=0)).all()
    assert (state.served == state.ps.sum(axis=0)).all()
    assert value @ running(state, mine) >= value @ before - 1e-9


def test_machines_filled_anew_host_workers_and_their_ps():
    """Filled one after the other, they leave workers without PS, and PS without workers."""
    before = after = 0.0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        sides = side_of(draw, 8, 6), side_of(draw, 8, 6)
        value, ratio = draw.random(8), draw.uniform(0.3, 1.0, 8)
        first, state, mine = refilled(draw, sides, value, draw.integers(4, 9, 8), ratio, 60)
        before += value @ first
        after += value @ running(state, mine)
    assert after > 1.03 * before


def numbers(packing, jobs):
    return np.bincount(packing.jobs, packing.number, jobs).tolist()


def test_a_known_packing_is_where_the_next_one_begins(tightened, monkeypatch):
    monkeypatch.setattr(pricing, "MOVES", 0)
    tightening, schedule = tightened
    slots = SlotPricing(tightening.blocks, tightening.guide.prices, np.random.default_rng(0))
    jobs = tightening.problem.jobs
    price = np.where(slots.most > 0, 1.0, 0.0)
    last = np.full(jobs, tightening.problem.slots - 1)
    known = {s.slot: s for s in slots.of(schedule)}
    t = max(known, key=lambda t: int(known[t].number.sum()))
    every = np.full((jobs, tightening.problem.slots), price[:, None])
    some = np.array([t])
    (again,) = slots.price_some(some, every, last, known)
    assert numbers(again, jobs) == numbers(known[t], jobs)
    gone = int(known[t].jobs[0])
    last[gone] = t - 1
    (without,) = slots.price_some(some, every, last, known)
    assert gone not in without.jobs
    assert slots.price_some(some, every, np.full(jobs, -1), known) == []


def test_the_slots_of_a_schedule_give_it_back(tightened):
    tightening, schedule = tightened
    inst = tightening.problem.inst
    search = searching(tightening, schedule)
    plans = search.of_packings({p.slot: p for p in search.slots.of(schedule)})
    jobs = planned_jobs(len(inst.jobs), plans, JobSchedule)
    again = value_of(OasisSchedule(jobs=jobs), inst)
    assert again == pytest.approx(value_of(schedule, inst), abs=1e-9)


def test_the_program_knows_the_schedule_and_stays_below_the_bound(tightened):
    tightening, schedule = tightened
    inst = tightening.problem.inst
    slots = SlotPricing(tightening.blocks, tightening.guide.prices, np.random.default_rng(0))
    ends = configuration_lp._completions(schedule)
    options = {i: np.array([c]) for i, c in ends.items()}
    program = ConfigurationLp(slots, options)
    program.add(slots.of(schedule))
    whole = value_of(schedule, inst)
    before = program.solve()[0].value
    assert whole * (1 - 2 * MARGIN) <= before <= whole * (1 + 1e-9)
    after = program.improve(3).value
    assert before <= after * (1 + 1e-9)
    assert after <= min(whole, tightening.bound) * (1 + 1e-9)
    first = min(ends, key=lambda i: ends[i])
    program.close(first)
    assert program.closed(first)
    assert program.solve()[0].x[program.row[first]].sum() == pytest.approx(0.0, abs=1e-9)
    program.open(first)
    program.drop_columns(len(ends))
    assert len(program.packings) == len(ends)
    assert program.solve()[0].value <= after * (1 + 1e-9)


def test_completions_are_put_off_where_an_option_is_closed(tightened):
    tightening, schedule = tightened
    slots = SlotPricing(tightening.blocks, tightening.guide.prices, np.random.default_rng(0))
    i, c = next(iter(configuration_lp._completions(schedule).items()))
    later = min(c + 2, tightening.problem.slots - 1)
    program = ConfigurationLp(slots, {i: np.unique([c, later])})
    program.add(slots.of(schedule))
    program.open(i, program.row[i].size - 1)
    x = program.improve(2).x
    assert x[:-1].sum() == pytest.approx(0.0, abs=1e-9)
    assert x[-1] == pytest.approx(1.0)


def test_a_settled_point_has_one_packing_for_every_slot(tightened):
    tightening, schedule = tightened
    search = searching(tightening, schedule)
    for i in search.jobs:
        search.program.open(i)
    point = search.program.improve(5)
    settled = search.program.settle(point)
    assert np.isclose(settled.z, np.rint(settled.z), atol=1e-6).all()
    assert settled.value <= point.value * (1 + 1e-6) or len(settled.z) > len(point.z)
    assert search.program.solve()[0].value >= point.value * (1 - 1e-6)  # it is open again


def test_the_job_stays_out_without_which_most_is_earned(tightened):
    tightening, schedule = tightened
    search = searching(tightening, schedule)
    program = search.program
    some = [i for i in search.jobs if not program.closed(i)][: search.params.tried]
    chosen = search._least_missed(some, program.improve(2).x)
    earned = {}
    for i in some:
        lowest = program.lowest[i]
        program.close(i)
        earned[i] = program.solve()[0].value
        program.open(i, lowest)
    assert len(set(earned.values())) > 1
    assert earned[chosen] == pytest.approx(max(earned.values()))


def test_nothing_is_put_off_for_a_job_that_may_stay_out(tightened, monkeypatch):
    """As long as a job lacks work, others wait only for what is nearly certain."""
    tightening, schedule = tightened
    search = searching(tightening, schedule)
    program, improve, points = search.program, search.program.improve, []

    def noted(rounds):
        point = improve(rounds)
        points.append((point, dict(program.lowest)))
        return point

    for i in search.jobs:
        program.open(i)
    search.decided.clear()
    monkeypatch.setattr(program, "improve", noted)
    search._dive(0.0, lambda: 100.0)
    lacked = 0
    for (point, lowest), (_, after) in itertools.pairwise(points):
        running = [i for i in search.jobs if lowest[i] < program.row[i].size]
        if all(point.x[program.row[i]].sum() > search.params.whole for i in running):
            continue
        lacked += 1
        for i in running:
            if lowest[i] < after[i] < program.row[i].size:
                by_then = point.x[program.row[i][: after[i] + 1]].sum()
                assert by_then > search.params.sure * point.x[program.row[i]].sum()
    assert lacked > 0


def test_the_search_brings_schedules_that_the_judge_accepts(tightened):
    tightening, schedule = tightened
    inst = tightening.problem.inst
    search = searching(tightening, schedule)
    looks, best = [0], [value_of(schedule, inst)]

    def left():  # seconds that pass with every question
        looks[0] += 1
        return max(0.0, 120.0 - looks[0])

    def found(plans):
        jobs = planned_jobs(len(inst.jobs), plans, JobSchedule)
        best.append(value_of(OasisSchedule(jobs=jobs), inst))
        return max(best)

    search.search(left, found)
    assert max(best) <= tightening.bound * (1 + 1e-9)
    assert max(best) > best[0]  # it is not for nothing


def test_slow_first_rounds_do_not_end_the_search_early(tightened):
    """What the end needs is measured where it was done, not expected from the first rounds."""
    tightening, schedule = tightened
    inst = tightening.problem.inst
    search = searching(tightening, schedule)
    clock = [100.0, 40.0]  # the first rounds take a minute
    clock += [40.0 - 0.25 * k for k in range(1, 161)]
    asked, known = [], [value_of(schedule, inst)]

    def left():
        asked.append(clock[len(asked)] if len(asked) < len(clock) else 0.0)
        return asked[-1]

    def found(plans):
        jobs = planned_jobs(len(inst.jobs), plans, JobSchedule)
        known.append(value_of(OasisSchedule(jobs=jobs), inst))
        return max(known)

    search.search(left, found)
    assert len(known) > 2  # one was measured
    assert min(asked) < 1.0
    assert search.ending < 1.0


def test_two_threads_tighten_and_search_side_by_side():
    inst = generate("earnable", seed=3, jobs=60, slots=40, machines=20)
    near = until(lambda p: (p.gap() or math.inf) < 0.4)
    result = solve(inst, threads=2, time_limit=LONG, watch=near)
    assert result.value is not None
    assert result.certified_gap is not None
    assert result.certified_gap < 0.4
    assert FAMILY.verify(inst, result.schedule).value == pytest.approx(result.value)


def test_equal_machines_may_be_listed_apart(tightened):
    """Machines of one class that are not next to each other keep their own capacity."""
    inst = tightened[0].problem.inst
    big, *rest = inst.worker_machines
    assert big.count > 1
    one = big.model_copy(update={"count": 1, "name": "another"})
    apart = (big.model_copy(update={"count": big.count - 1}), *rest, one)
    inst = inst.model_copy(update={"worker_machines": apart})
    tightening = CutLoop(CapacityRelaxation(inst), threads=1)
    tightening.round(Budget().span())
    area = Neighborhood(inst, flat_prices(inst), tightening.guide)
    area.start()
    search = searching(tightening, area.schedule(area.board.plans))
    plans = search.plans(search.program.improve(5))
    value_of(OasisSchedule(jobs=planned_jobs(len(inst.jobs), plans, JobSchedule)), inst)
