"""Schedules for decided completions: found where the optimum shows that there is one."""

from functools import cache

import numpy as np
import pytest
from independent.oasis import FILES, load, schedule
from patience import LONG

from optsched.engine.budget import Budget
from optsched.families.oasis.optimum.search.slot_repair import SlotRepair, SlotRepairParams
from optsched.families.oasis.optimum.tree.branching import UnitPriceBranching
from optsched.families.oasis.sources.presets import generate
from optsched.families.oasis.verify import verify


def completions(verdict):
    return {i: t for i, t in enumerate(verdict.completion) if t is not None}


def repair(inst, wanted, seconds=LONG):
    return SlotRepair(UnitPriceBranching(inst), wanted, np.random.default_rng(1)).work(
        Budget(seconds).span()
    )


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_completions_of_an_optimum_are_met(path):
    inst, known = load(path)
    best = verify(inst, schedule(known["optimum_schedule"]))
    found = repair(inst, completions(best))
    assert found is not None
    verdict = verify(inst, found)
    assert verdict.feasible
    assert verdict.value >= known["optimum"] - 1e-9
    for i, due in completions(best).items():
        assert verdict.completion[i] <= due


@pytest.mark.slow
def test_what_cannot_be_met_ends_with_the_time():
    inst = generate("paper", seed=3, jobs=10, slots=10, machines=20)
    at_once = {i: job.arrival for i, job in enumerate(inst.jobs)}
    assert repair(inst, at_once, seconds=1.0) is None


@cache
def _begun():
    inst = generate("paper", seed=3, jobs=10, slots=10, machines=20)
    late = dict.fromkeys(range(len(inst.jobs)), inst.horizon - 2)
    search = SlotRepair(UnitPriceBranching(inst), late, np.random.default_rng(0))
    search.work(Budget(0.0).span())
    assert (search.missing() > 0).any()
    return inst, search


def stuck_search():
    inst, search = _begun()
    return inst, search.follow(dict(search.due))


def test_work_that_stays_missing_counts_more_and_ends_as_stuck():
    _, search = stuck_search()
    search.due.pop(0)  # lacks nothing
    before, least = search.weight.copy(), search.size @ np.maximum(search.missing(), 0)
    lacks = search.missing() > 0
    search.least = 0.0  # as if everything had been done once: nothing can be better
    for _ in range(SlotRepairParams.patience):
        assert not search.stuck
        search._learn()
    assert search.stuck
    share = search.weight / before
    assert share[lacks] == pytest.approx(share[lacks][0])
    assert share[lacks][0] > share[~lacks].max()
    search.least = 2 * least
    search._learn()
    assert not search.stuck
    assert search.least == pytest.approx(least)


def test_weights_stay_comparable_however_long_work_is_missing():
    _, search = stuck_search()
    search.due.pop(0)  # lacks nothing
    search.least = 0.0
    for _ in range(2000):
        search._learn()
    assert search.weight.max() == 1.0
    assert search.weight[0] == SlotRepairParams.lightest
    assert (search.weight[1:] > SlotRepairParams.lightest).all()


def test_the_job_that_loses_the_least_is_postponed():
    inst, search = stuck_search()
    later = search.postponed()
    loss = inst.arrays.utility[:, -2] - inst.arrays.utility[:, -1]
    changed = {i for i in search.due if later.get(i) != search.due[i]}
    assert changed == {int(loss.argmin())}  # all run side by side
    assert later[changed.pop()] == inst.horizon - 1
    search.due = dict.fromkeys(search.due, inst.horizon - 1)  # no slot is left: one stays out
    gone = set(search.due) - set(search.postponed())
    assert gone == {int(inst.arrays.utility[:, -1].argmin())}


def test_a_search_goes_on_where_another_was():
    inst, search = stuck_search()
    missing = search.missing()
    later = search.due | {0: inst.horizon - 1}
    assert (search.follow(later).missing() == missing).all()
    without = {i: t for i, t in search.due.items() if i != 0}
    left = search.follow(without).missing()
    assert left[0] == 0
    assert (left[1:] == missing[1:]).all()
