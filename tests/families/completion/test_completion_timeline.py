"""The dynamic program over time: never above the optimum, mostly at it; what fits on servers."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from completion_brute import optimum, solvable, tiny
from timelines import priced, program_of

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.cpsat import Program, all_choices
from optsched.families.completion.optimum.dominance import undominated
from optsched.families.completion.optimum.exact import Exact
from optsched.families.completion.optimum.prices.capacity import Jobs
from optsched.families.completion.optimum.prices.filtering import filtered
from optsched.families.completion.optimum.prices.priced_search import Search
from optsched.families.completion.optimum.prices.repricing import Repricing
from optsched.families.completion.optimum.timeline.program import Timeline
from optsched.families.completion.optimum.timeline.slot_items import SlotItems
from optsched.families.completion.optimum.timeline.slot_kernels import NO, YES
from optsched.families.completion.optimum.tree.branching import WindowBlocks
from optsched.families.completion.sources.presets import generate


@cache
def optimal(seed):
    """Return the optimum of a tiny instance, its problem, and what the program finds up to it."""
    best = optimum(tiny(seed))
    problem = priced(tiny(seed), seed)
    return best, problem, least(*problem, best, best + 0.5).best


def least(jobs, prices, bound, value, limit):
    """Run the dynamic program for values below ``limit``, as exact as it gets."""
    program = program_of(jobs, prices, bound, value)
    found = program.least(limit, lambda: False)
    while found.best is not None and program.slot_items.settle(found.best.lists):
        found = program.least(limit, lambda: False)
    assert found.finished
    return found


def test_the_least_value_is_the_optimum_or_below_it():
    equal = 0
    for seed in solvable(60):
        best, _, found = optimal(seed)
        assert found is not None, seed
        assert found.value <= best
        equal += found.value == best
    assert equal >= 0.9 * len(solvable(60))


def test_nothing_is_found_below_the_least_value():
    for seed in solvable(60):
        best, problem, found = optimal(seed)
        assert least(*problem, best, found.value - 0.5).best is None, seed


def test_a_path_is_made_of_allowed_modes_and_starts():
    placed = 0
    for seed in solvable(60):
        _, (jobs, _, _), path = optimal(seed)
        ends = [c.starts[0][0] + int(c.modes[0, 4]) for c in path.choices]
        assert sum(w * c for w, c in zip(jobs.weight, ends, strict=True)) == path.value
        assert all(t >= a for c, a in zip(path.choices, jobs.arrival, strict=True)
                   for t in c.starts[0])  # fmt: skip
        monitor = Progress(FAMILY, tiny(seed), time_limit=30.0, gap=0.0)
        Program(jobs, path.choices).solve(monitor, threads=1, seed=0)
        placed += monitor.value == path.value
    assert placed >= 0.9 * len(solvable(60))


def test_what_a_slot_can_hold_is_never_refused():
    agree, looked, refused = 0, 0, 0
    for seed in solvable(60)[:16]:
        jobs = Jobs(tiny(seed))
        items = SlotItems(jobs, undominated(jobs))
        for which, chosen in lists(jobs, items):
            small = np.array(which, np.int32)
            fits = items.packs(small, np.ones(small.size, np.int64), 10**6)
            assert fits in (YES, NO)
            possible = _possible(jobs.inst, jobs, chosen)
            assert fits == YES or not possible, (seed, which)
            looked, agree = looked + 1, agree + ((fits == YES) == possible)
            refused += fits == NO
    # workers that should be apart may count as fitting on one server
    assert refused > 20
    assert agree >= 0.9 * looked


def lists(jobs, items):
    """Yield lists of items, one of every job, and the modes that they stand for in one slot."""
    slot = int(jobs.arrival.max())
    every = zip(items.index, all_choices(jobs, [jobs.inst.horizon] * len(jobs.modes)), strict=True)
    mine = [[(i, m, d, choice) for (m, d), i in index.items()] for index, choice in every]
    for picked in itertools.product(*mine):
        chosen = []
        for _, m, d, choice in picked:
            same = (choice.modes[:, 0] == m) & (choice.modes[:, 4] == d)
            chosen.append(type(choice)(choice.modes[same], [[slot]] * int(same.sum())))
        if all(len(c.modes) for c in chosen):
            yield sorted(i for i, *_ in picked), chosen


def _possible(inst, jobs, choices):
    monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
    status = Program(jobs, choices).solve(monitor, threads=1, seed=0, claim=False)
    return status != "infeasible"


def test_it_closes_what_the_search_for_schedules_leaves_open():
    closed = 0
    for seed in solvable(60):
        inst = tiny(seed)
        monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
        search = Search(inst, monitor, 1, 0)
        assert search.begin()
        search.generate(1, 5.0)
        if monitor.value is None:
            continue
        exact = Exact(search)
        exact.sequence(10.0)
        if exact.closed:
            assert max(bound for _, bound in monitor.claimed) == monitor.value
        if exact.closed or monitor.closed():  # where prices prove it, it does not look
            closed += 1
            assert monitor.value == optimum(inst), seed
    assert closed >= 0.8 * len(solvable(60))


def test_more_prices_leave_the_least_value_as_it_is():
    fewer = 0
    for seed in solvable(60):
        inst = tiny(seed)
        best = optimum(inst)
        jobs, prices, bound = priced(inst, seed)
        modes = undominated(jobs)
        left = filtered(jobs, prices, bound, best, modes)
        items = SlotItems(jobs, modes)

        def make(some, choices=left, jobs=jobs, items=items):
            return Timeline(jobs, items, some, choices)

        program = make([prices])
        one = program.least(best + 0.5, lambda: False)
        repricing = Repricing(WindowBlocks(jobs, inst.horizon), prices, threads=1, seed=0)
        repricing.improve(program, make, best, lambda: False)
        again = make(repricing.kept)
        many = again.least(best + 0.5, lambda: False)
        assert many.best.value == one.best.value, seed
        fewer += many.states < one.states
        states = np.arange(int(again.pool.size[0]))
        # the last of the kept prices are those of the beginning, if nothing better was found
        assert again.bounds(again.pool, states).max(axis=0).min() <= best
    assert fewer > len(solvable(60)) / 4


def test_limits_of_states_hold_the_schedules_that_go_on_from_them():
    """So prices that are best within them are mostly better than those of the beginning."""
    better = []
    for seed in range(3):
        inst = generate("mid", seed=seed, jobs=5, machines=3, slots=10)
        monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
        search = Search(inst, monitor, 1, 0)
        assert search.begin()
        search.generate(1, 5.0)
        jobs = search.jobs
        program = program_of(jobs, search.prices, search.bound, monitor.value)
        program.least(monitor.value, lambda: False)
        problem = WindowBlocks(jobs, search.slots + 3)
        repricing = Repricing(problem, search.prices, threads=1, seed=0)
        for s in range(1, min(60, int(program.pool.size[0])), 7):
            limits = program.limits(s, problem.root())
            own = repricing.at(int(program.pool.slot[s]), limits, lambda: False)
            both = Timeline(jobs, program.slot_items, [search.prices, own], program.left)
            first, second = both.bounds(program.pool, np.array([s]))[:, 0]
            better.append((second - first) / first)
    assert len(better) > 10
    assert np.mean(np.array(better) > 1e-6) > 0.8
