"""What reduced costs drop: never all best schedules, often something."""

from __future__ import annotations

import numpy as np
import pytest
from completion_brute import optimum, solvable, tiny

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.cpsat import Program
from optsched.families.completion.optimum.prices.capacity import Jobs, ServerBlocks
from optsched.families.completion.optimum.prices.filtering import filtered, reduced, within
from optsched.families.completion.optimum.tree.branching import WindowBlocks


def priced(seed):
    """Return an instance with its jobs, random prices, and their bound B(p)."""
    inst = tiny(seed)
    jobs = Jobs(inst)
    problem = ServerBlocks(jobs, inst.horizon)
    rng = np.random.default_rng([seed, 5])
    demand = jobs.types.worker_demand.max(axis=0).clip(1)
    prices = rng.uniform(0, 2, problem.shape) * (rng.random(problem.shape) < 0.4) / demand
    best = problem.price(prices.ravel(), np.full(len(inst.jobs), -np.inf)).best
    return inst, jobs, prices, -float(prices.ravel() @ problem.rhs + best.sum())


def solved(inst, jobs, choices):
    """Return the least objective among some choices, None if there is no schedule."""
    monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
    program = Program(jobs, choices)
    program.solve(monitor, threads=1, seed=0)
    return monitor.value


def size(choices):
    return sum(len(starts) for choice in choices for starts in choice.starts)


def test_a_best_schedule_is_kept():
    dropped = 0
    for seed in solvable(40):
        inst, jobs, prices, bound = priced(seed)
        best = optimum(inst)
        assert bound <= best * (1 + 1e-9)
        whole = filtered(jobs, prices, bound, None)
        left = filtered(jobs, prices, bound, best)
        assert solved(inst, jobs, left) == pytest.approx(best), seed
        dropped += size(left) < size(whole)
    assert dropped > len(solvable(40)) / 2


def test_what_is_dropped_is_in_no_schedule_of_that_value():
    looked = 0
    for seed in solvable(40)[:12]:
        inst, jobs, prices, bound = priced(seed)
        best = optimum(inst)
        whole = filtered(jobs, prices, bound, None)
        left = filtered(jobs, prices, bound, best)
        for j, (a, b) in enumerate(zip(whole, left, strict=True)):
            kept = {(*row, t) for row, ts in zip(b.modes.tolist(), b.starts, strict=True)
                    for t in ts}  # fmt: skip
            for row, starts in zip(a.modes, a.starts, strict=True):
                gone = [t for t in starts if (*row.tolist(), t) not in kept]
                if not gone or looked > 60:
                    continue
                looked += 1
                alone = type(a)(row[None, :], [gone])
                forced = [*whole[:j], alone, *whole[j + 1 :]]
                value = solved(inst, jobs, forced)
                assert value is None or value > best, (seed, j, row, gone)
    assert looked > 20


def test_halves_of_a_split_hold_everything():
    inst, jobs, prices, bound = priced(solvable(40)[0])
    whole = filtered(jobs, prices, bound, None)
    limits = WindowBlocks(jobs, 1).root()
    assert size(within(whole, limits)) == size(whole)
    for attribute in range(limits.shape[1]):
        for at in range(inst.horizon + 1):
            low, high = limits.copy(), limits.copy()
            low[0, attribute, 1] = min(at, limits[0, attribute, 1])
            high[0, attribute, 0] = at + 1
            parts = [within(whole, half) for half in (low, high)]
            others = size(whole[1:])
            there = [size(part) - others for part in parts if part is not None]
            assert sum(there) == size(whole[:1]), (attribute, at)


def test_choices_of_a_leaf_keep_a_best_schedule_and_nothing_below_the_bound():
    dropped = 0
    for seed in solvable(40):
        inst, jobs, prices, bound = priced(seed)
        best = optimum(inst)
        whole = filtered(jobs, prices, bound, None)
        left = reduced(jobs, whole, prices, best)
        assert solved(inst, jobs, left) == pytest.approx(best), seed
        dropped += size(left) < size(whole)
        assert reduced(jobs, whole, prices, bound - 1e-3) is None
    assert dropped > len(solvable(40)) / 2


def test_choices_within_limits_are_bounded_by_themselves():
    stronger = 0
    for seed in solvable(40)[:20]:
        inst, jobs, prices, bound = priced(seed)
        whole = filtered(jobs, prices, bound, None)
        limits = WindowBlocks(jobs, 1).root()
        limits[0, 0, 0] = jobs.arrival[0] + 1  # a later start of job 0
        choices = within(whole, limits)
        if choices is None:
            continue
        value = solved(inst, jobs, choices)
        if value is None:
            continue
        assert solved(inst, jobs, reduced(jobs, choices, prices, value)) == pytest.approx(value)
        stronger += reduced(jobs, choices, prices, bound + 1e-3) is None
    assert stronger > 0


def test_without_schedule_and_deadline_nothing_can_be_said():
    inst = tiny(solvable(40)[0]).model_copy(update={"enforce_horizon": False})
    jobs = Jobs(inst)
    assert filtered(jobs, np.zeros((1, *jobs.class_capacity.shape)), 0.0, None) is None
