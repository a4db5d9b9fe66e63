"""The dynamic program over time: never above the optimum, mostly at it; what fits on servers."""

from __future__ import annotations

import itertools

import numpy as np
from completion_brute import optimum, tiny

from optsched.families.completion import FAMILY
from optsched.families.completion.blocks import Jobs, ServerBlocks
from optsched.families.completion.cpsat import Program, all_choices
from optsched.families.completion.exact import Exact
from optsched.families.completion.filtering import filtered
from optsched.families.completion.priced_search import Search
from optsched.families.completion.timeline import Timeline
from optsched.families.completion.timeline_kernels import NO, YES, packs
from optsched.progress import Progress

SOLVABLE = [seed for seed in range(60) if optimum(tiny(seed)) is not None]


def priced(inst, seed):
    """Return the jobs of an instance, random prices, and their bound B(p)."""
    jobs = Jobs(inst)
    problem = ServerBlocks(jobs, inst.horizon)
    rng = np.random.default_rng([seed, 7])
    demand = jobs.types.worker_demand.max(axis=0).clip(1)
    prices = rng.uniform(0, 2, problem.shape) * (rng.random(problem.shape) < 0.4) / demand
    best = problem.price(prices.ravel(), np.full(len(inst.jobs), -np.inf)).best
    return jobs, prices, -float(prices.ravel() @ problem.rhs + best.sum())


def least(jobs, prices, bound, value, limit):
    """Run the dynamic program for values below ``limit``, as exact as it gets."""
    program = Timeline(jobs, prices, filtered(jobs, prices, bound, value))
    found = program.least(limit, lambda: False)
    while program.sharpen():
        found = program.least(limit, lambda: False)
    assert found.finished
    return found


def test_the_least_value_is_the_optimum_or_below_it():
    equal = 0
    for seed in SOLVABLE:
        inst = tiny(seed)
        best = optimum(inst)
        found = least(*priced(inst, seed), best, best + 0.5)
        assert found.best is not None, seed
        assert found.best.value <= best
        equal += found.best.value == best
    assert equal >= 0.9 * len(SOLVABLE)


def test_nothing_is_found_below_the_least_value():
    for seed in SOLVABLE:
        inst = tiny(seed)
        best = optimum(inst)
        problem = priced(inst, seed)
        value = least(*problem, best, best + 0.5).best.value
        assert least(*problem, best, value - 0.5).best is None, seed


def test_a_path_is_made_of_allowed_modes_and_starts():
    placed = 0
    for seed in SOLVABLE:
        inst = tiny(seed)
        best = optimum(inst)
        jobs, prices, bound = priced(inst, seed)
        path = least(jobs, prices, bound, best, best + 0.5).best
        ends = [c.starts[0][0] + int(c.modes[0, 4]) for c in path.choices]
        assert sum(w * c for w, c in zip(jobs.weight, ends, strict=True)) == path.value
        assert all(t >= a for c, a in zip(path.choices, jobs.arrival, strict=True)
                   for t in c.starts[0])  # fmt: skip
        monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
        Program(jobs, path.alike).solve(monitor, threads=1, seed=0)
        placed += monitor.value == path.value
    assert placed >= 0.9 * len(SOLVABLE)


def test_what_a_slot_can_hold_is_never_refused():
    agree, looked, refused = 0, 0, 0
    for seed in SOLVABLE[:16]:
        inst = tiny(seed)
        jobs, prices, bound = priced(inst, seed)
        program = Timeline(jobs, prices, filtered(jobs, prices, bound, None))
        for which, fits, possible in lists(inst, jobs, program):
            assert fits == YES or not possible, (seed, which)
            looked, agree = looked + 1, agree + ((fits == YES) == possible)
            refused += fits == NO
    # workers that should be apart may count as fitting on one server
    assert refused > 20
    assert agree >= 0.9 * looked


def lists(inst, jobs, program):
    """Yield lists of items, one per job, whether they pack, and whether a slot can hold them."""
    kinds = range(len(program.items.workers))
    for which in itertools.combinations_with_replacement(kinds, len(inst.jobs)):
        fits = packs(program.servers, program.items, np.array(which), 10**6)
        assert fits in (YES, NO)
        chosen = _one_slot(jobs, program, which)
        if chosen is not None:
            yield which, fits, _possible(inst, jobs, chosen)


def _one_slot(jobs, program, which):
    """Return choices in which all items run at once: a mode of each job, one common slot."""
    kinds = np.stack(program.items[:4], axis=1)
    rows = []
    for choice, i in zip(all_choices(jobs, jobs.inst.horizon), which, strict=True):
        same = np.flatnonzero((choice.modes[:, :4] == kinds[i]).all(axis=1))
        if not same.size:
            return None
        rows.append(type(choice)(choice.modes[same[:1]], [[int(jobs.arrival.max())]]))
    return rows


def _possible(inst, jobs, choices):
    monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
    status = Program(jobs, choices).solve(monitor, threads=1, seed=0, claim=False)
    return status != "infeasible"


def test_it_closes_what_the_search_for_schedules_leaves_open():
    closed = 0
    for seed in SOLVABLE:
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
            closed += 1
            assert monitor.value == optimum(inst), seed
            assert max(bound for _, bound in monitor.claimed) == monitor.value
    assert closed >= 0.8 * len(SOLVABLE)
