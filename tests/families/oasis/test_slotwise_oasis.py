"""The search among sets of jobs: packings of slots, their program, and a packing for every slot."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.core import solve
from optsched.engine.budget import Budget
from optsched.families.oasis import FAMILY
from optsched.families.oasis.instance import JobSchedule, OasisSchedule
from optsched.families.oasis.optimum import priced_search
from optsched.families.oasis.optimum.prices.capacity import CapacityBlocks
from optsched.families.oasis.optimum.prices.tightening import Tightening
from optsched.families.oasis.optimum.search.neighbourhood import Neighbourhood, flat_prices
from optsched.families.oasis.optimum.slotwise import search as slotwise
from optsched.families.oasis.optimum.slotwise import slots as whole_slots
from optsched.families.oasis.optimum.slotwise.machine import empty_machines, fill, new_desk
from optsched.families.oasis.optimum.slotwise.meeting import Decisions, Meeting
from optsched.families.oasis.optimum.slotwise.packing import Packing, Side, learn, pack
from optsched.families.oasis.optimum.slotwise.program import MARGIN, SlotProgram
from optsched.families.oasis.optimum.slotwise.refilling import Jobs, refill
from optsched.families.oasis.optimum.slotwise.rounding import choose
from optsched.families.oasis.optimum.slotwise.search import SlotSearch
from optsched.families.oasis.optimum.slotwise.slots import Slots
from optsched.families.oasis.sources.presets import generate
from optsched.scheduling.board import planned_jobs
from optsched.scheduling.oracle.patterns import Knapsacks, best_patterns

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module", params=[0, 1])
def tightened(request):
    """Return an instance, a tightened program, and a schedule by the other search."""
    inst = generate("earnable", seed=request.param, jobs=30, slots=30, machines=10)
    tightening = Tightening(CapacityBlocks(inst), threads=1)
    for _ in range(2):
        tightening.round(Budget().span())
    area = Neighbourhood(inst, flat_prices(inst), tightening.guide)
    area.start()
    return tightening, area.schedule(area.plans())


def value_of(schedule, inst):
    verdict = FAMILY.verify(inst, schedule)
    assert verdict.value is not None, verdict
    return verdict.value


def searching(tightening, schedule, meeting=None, seed=0):
    rng = np.random.default_rng(seed)
    return SlotSearch(tightening.blocks, tightening.guide, schedule, rng, meeting or Meeting())


def side_of(draw, jobs, most):
    demand = draw.integers(0, 5, (jobs, 2)).astype(float)
    kinds = draw.integers(2, 14, (2, 2)).astype(float)
    members = draw.integers(1, most, 2)
    return Side(demand, np.repeat(kinds, members, axis=0), kinds, members)


def assert_fits(packing, sides):
    for hosted, side in zip((packing.worker, packing.ps), sides, strict=True):
        assert (hosted >= 0).all()
        assert (hosted @ side.demand <= side.capacity).all()


@pytest.mark.slow
@given(SEEDS)
@settings(deadline=None)
def test_packings_fit_and_have_the_ps_that_they_need(seed):
    draw = np.random.default_rng(seed)
    jobs = 5
    sides = side_of(draw, jobs, 4), side_of(draw, jobs, 3)
    want = draw.integers(1, 9, jobs)
    ratio = draw.uniform(0.1, 1.0, jobs)
    needed = np.ceil(np.arange(9) * ratio[:, None] - 1e-9).astype(np.int64)
    packing = Packing(
        (draw.random((1, jobs)), draw.random((1, jobs))),
        np.full(jobs, -1),
        np.zeros((len(sides[0].capacity), jobs), np.int16),
        np.zeros((len(sides[1].capacity), jobs), np.int16),
    )
    pack(want, needed, sides, bool(seed % 2), packing)
    assert (packing.number <= want).all()
    assert (packing.worker.sum(axis=0) == packing.number).all()
    assert (packing.ps.sum(axis=0) == needed[np.arange(jobs), packing.number]).all()
    assert_fits(packing, sides)
    part = draw.random((2, jobs))
    learn(draw.random(jobs) + 0.1, want, ratio, sides, part)
    assert (part > 0).all()
    assert (part.sum(axis=0) <= 1.01).all()


@given(SEEDS)
@settings(deadline=None)
def test_an_empty_machine_hosts_what_pays_most(seed):
    """Far from its limit of nodes, the search earns as much as the other one."""
    draw = np.random.default_rng(seed)
    jobs = 5
    side = side_of(draw, jobs, 4)
    machines, desk = empty_machines(side), new_desk(jobs, 2)
    desk.offered[:] = draw.integers(0, 4, jobs) * draw.random(jobs)
    desk.most[:] = draw.integers(0, 6, jobs)
    hosted = np.zeros((len(side.capacity), jobs), np.int16)
    total = np.zeros(jobs, np.int64)
    for h in range(len(side.capacity)):
        fill(machines, h, desk, 100_000, hosted, total)
    assert (hosted <= desk.most).all()
    assert (hosted @ side.demand <= side.capacity).all()
    assert (total == hosted.sum(axis=0)).all()
    many = np.ones((len(side.capacity), 1))
    best, pattern = np.empty(len(many)), np.empty(hosted.shape, np.int64)
    limits = np.zeros(hosted.shape, np.int64), np.tile(desk.most, (len(many), 1))
    asked = Knapsacks(many * desk.offered, side.demand, side.capacity, *limits)
    best_patterns(asked, best, pattern, 100_000, 0)
    assert hosted @ desk.offered == pytest.approx(best, abs=1e-12)


def refilled(draw, sides, value, want, ratio, moves):
    """Fill the machines of a slot, then fill some anew; return both numbers and the packing."""
    jobs = value.size
    needed = np.ceil(np.arange(want.max() + 1) * ratio[:, None] - 1e-9).astype(np.int64)
    part = np.full((2, jobs), 0.5)
    each = value / 2 / np.maximum(needed[np.arange(jobs), want] / want, 1e-12)
    packing = Packing(
        (value[None] / 2, each[None]),
        np.zeros(jobs, np.int64),
        np.zeros((len(sides[0].capacity), jobs), np.int16),
        np.zeros((len(sides[1].capacity), jobs), np.int16),
    )
    pack(want, needed, sides, False, packing)
    before = packing.number.copy()
    refill(Jobs(value, part, want, needed), sides, packing, moves, draw)
    return before, packing, needed


@pytest.mark.slow
@given(SEEDS)
@settings(deadline=None)
def test_machines_filled_anew_fit_and_pay_no_less(seed):
    draw = np.random.default_rng(seed)
    jobs = 5
    sides = side_of(draw, jobs, 4), side_of(draw, jobs, 3)
    value, want, ratio = draw.random(jobs), draw.integers(1, 9, jobs), draw.uniform(0.1, 1.0, jobs)
    before, packing, needed = refilled(draw, sides, value, want, ratio, 30)
    assert (packing.number <= want).all()
    assert (packing.worker.sum(axis=0) >= packing.number).all()
    assert (packing.ps.sum(axis=0) >= needed[np.arange(jobs), packing.number]).all()
    assert_fits(packing, sides)
    assert value @ packing.number >= value @ before - 1e-9
    there, served = packing.worker.sum(axis=0), packing.ps.sum(axis=0)
    for i in range(jobs):  # no worker with its PS is left out
        more = packing.number[i] + 1
        assert more > min(want[i], there[i]) or needed[i, more] > served[i]


def test_machines_filled_anew_host_workers_and_their_ps():
    """Filled one after the other, they leave workers without PS, and PS without workers."""
    before = after = 0.0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        sides = side_of(draw, 8, 6), side_of(draw, 8, 6)
        value, ratio = draw.random(8), draw.uniform(0.3, 1.0, 8)
        first, packing, _ = refilled(draw, sides, value, draw.integers(4, 9, 8), ratio, 60)
        before += value @ first
        after += value @ packing.number
    assert after > 1.03 * before


@pytest.mark.slow
def test_a_known_packing_is_where_the_next_one_begins(tightened, monkeypatch):
    monkeypatch.setattr(whole_slots, "MOVES", 0)
    tightening, schedule = tightened
    slots = Slots(tightening.blocks, tightening.guide.prices, np.random.default_rng(0))
    jobs = tightening.problem.jobs
    price = np.where(slots.most > 0, 1.0, 0.0)
    last = np.full(jobs, tightening.problem.slots - 1)
    known = {s.slot: s for s in slots.of(schedule)}
    t = max(known, key=lambda t: int(known[t].number.sum()))
    every = np.full((jobs, tightening.problem.slots), price[:, None])
    some = np.array([t])
    (again,) = slots.price_some(some, every, last, known)
    assert (again.numbers(jobs) == known[t].numbers(jobs)).all()
    gone = int(known[t].jobs[0])
    last[gone] = t - 1
    (without,) = slots.price_some(some, every, last, known)
    assert gone not in without.jobs
    assert slots.price_some(some, every, np.full(jobs, -1), known) == []


def test_what_is_hosted_too_much_pays_less_than_before():
    # one machine of 8 for the first job's workers, which may be 2; PS for it without end
    worker = Side(np.array([[1.0]]), np.array([[8.0]]), np.array([[8.0]]), np.array([1]))
    ps = Side(np.array([[0.0]]), np.array([[1.0]]), np.array([[1.0]]), np.array([1]))
    part = np.array([[0.5], [0.5]])
    learn(np.array([1.0]), np.array([2]), np.array([1.0]), (worker, ps), part)
    assert (part <= 0.5).all()
    # no worker fits: workers are to pay more, PS less
    part = np.array([[0.4], [0.4]])
    full = worker._replace(kinds=np.array([[0.5]]))
    learn(np.array([1.0]), np.array([2]), np.array([1.0]), (full, ps), part)
    assert part[0, 0] > part[1, 0]


def test_the_slots_of_a_schedule_give_it_back(tightened):
    tightening, schedule = tightened
    inst = tightening.problem.inst
    search = searching(tightening, schedule)
    plans = search._plans(search.slots.of(schedule))
    jobs = planned_jobs(len(inst.jobs), plans, JobSchedule)
    again = value_of(OasisSchedule(jobs=jobs), inst)
    assert again == pytest.approx(value_of(schedule, inst), abs=1e-9)


def test_the_program_knows_the_schedule_and_stays_below_the_bound(tightened):
    tightening, schedule = tightened
    inst = tightening.problem.inst
    slots = Slots(tightening.blocks, tightening.guide.prices, np.random.default_rng(0))
    ends = slotwise._completions(schedule)
    options = {i: np.array([c]) for i, c in ends.items()}
    program = SlotProgram(slots, options)
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
    program.forget(len(ends))
    assert len(program.packings) == len(ends)
    assert program.solve()[0].value <= after * (1 + 1e-9)


def test_completions_are_put_off_where_an_option_is_closed(tightened):
    tightening, schedule = tightened
    slots = Slots(tightening.blocks, tightening.guide.prices, np.random.default_rng(0))
    i, c = next(iter(slotwise._completions(schedule).items()))
    later = min(c + 2, tightening.problem.slots - 1)
    program = SlotProgram(slots, {i: np.unique([c, later])})
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
    some = [i for i in search.jobs if not program.closed(i)][: slotwise.TRIED]
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
        if all(point.x[program.row[i]].sum() > slotwise.WHOLE for i in running):
            continue
        lacked += 1
        for i in running:
            if lowest[i] < after[i] < program.row[i].size:
                by_then = point.x[program.row[i][: after[i] + 1]].sum()
                assert by_then > slotwise.SURE * point.x[program.row[i]].sum()
    assert lacked > 0


@pytest.mark.slow
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


def test_a_search_that_comes_later_begins_anew_with_known_packings(tightened):
    tightening, schedule = tightened
    meeting = Meeting()
    first = searching(tightening, schedule, meeting)
    begun = dict(first.program.lowest)
    point = first.program.improve(2)
    i = next(i for i in first.jobs if not first.program.closed(i))
    first.program.close(i)
    first._tell(first.program.solve()[0])
    second = searching(tightening, schedule, meeting, seed=1)
    assert second.program.lowest == begun
    assert second.decided == first.decided
    assert second.program.options is first.program.options
    assert second.program.solve()[0].value >= point.value * (1 - 1e-9)
    second._take(meeting.best)
    assert second.program.closed(i)
    assert second.program.solve()[0].value >= meeting.best.value * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("quarter", [True, False])
def test_a_search_takes_over_in_the_end_what_another_has_found(tightened, quarter):
    """One that has no time for a dive has the decisions that were left meanwhile, or its own."""
    tightening, schedule = tightened
    inst = tightening.problem.inst
    better = searching(tightening, schedule)
    calls = iter(range(10**6))
    better.search(lambda: 150.0 - next(calls), lambda plans: sum(p.value for p in plans.values()))
    meeting = Meeting()
    late = searching(tightening, schedule, meeting)
    values = []

    def found(plans):
        values.append(sum(p.value for p in plans.values()))
        if len(values) == 1:  # the search has begun
            meeting.tell(better.meeting.best)
        return values[-1]

    # no time is left for a dive, then half a second is kept for the end
    clock = iter([10.0, 9.9, 9.9, 5.0, 0.5, 0.5 if quarter else 5.0])
    late.search(lambda: next(clock, 0.5), found)
    assert (late.program.lowest == better.meeting.best.lowest) == quarter
    if quarter:
        assert values[-1] > value_of(schedule, inst)


def test_searches_that_meet_keep_the_best_and_show_it_once():
    meeting = Meeting()
    low, high = (Decisions(value, {}, frozenset(), (), ()) for value in (1.0, 2.0))
    meeting.tell(high)
    meeting.tell(low)
    assert meeting.best is high
    assert meeting.show(100.0)
    assert not meeting.show(100.1, 0.002)
    assert meeting.show(100.3, 0.002)
    assert meeting.shown == 100.3
    assert meeting.options(lambda: {1: np.array([2])}) is meeting.options(dict)


@pytest.mark.slow
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


@given(SEEDS)
@settings(deadline=None)
def test_packings_are_chosen_so_that_little_is_lost(seed):
    draw = np.random.default_rng(seed)
    slots, jobs, each = 4, 3, 3
    first = np.arange(slots + 1) * each
    number = draw.integers(0, 4, (slots * each, jobs))
    due, worth = draw.integers(-1, slots, jobs), draw.random(jobs) + 0.1
    hidden = first[:-1] + draw.integers(0, each, slots)
    work = np.array(
        [number[hidden[: due[i] + 1], i].sum() for i in range(jobs)]
    )  # so that one choice loses nothing
    choice = first[:-1].copy()
    lost = choose(first, number, due, work, worth, 1.0, 4000, 1.0, draw, choice)
    assert ((first[:-1] <= choice) & (choice < first[1:])).all()
    done = np.array([number[choice[: due[i] + 1], i].sum() for i in range(jobs)])
    short = np.maximum(work - done, 0)
    share = short * 2.0 / (short + np.maximum(work, 1))
    assert lost == pytest.approx(float(worth[due >= 0] @ share[due >= 0]), abs=1e-9)
    assert lost < 0.2


@pytest.mark.slow
def test_two_threads_tighten_and_search_side_by_side(monkeypatch):
    monkeypatch.setattr(priced_search, "SLOTWISE_SECONDS", 1.0)
    inst = generate("earnable", seed=3, jobs=60, slots=40, machines=20)
    result = solve(inst, threads=2, time_limit=10.0)
    assert result.value is not None
    assert result.certified_gap is not None
    assert result.certified_gap < 0.4
    assert FAMILY.verify(inst, result.schedule).value == pytest.approx(result.value)
