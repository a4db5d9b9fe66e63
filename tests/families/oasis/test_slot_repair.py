"""Schedules for decided completions: found where the optimum shows that there is one."""

from __future__ import annotations

import numpy as np
import pytest
from oasis_reference import FILES, load, schedule

from optsched.families.oasis.presets import generate
from optsched.families.oasis.slot_repair import SlotRepair
from optsched.families.oasis.slot_tree import SlotTree
from optsched.families.oasis.verify import verify


def completions(verdict):
    return {i: t for i, t in enumerate(verdict.completion) if t is not None}


def repair(inst, wanted, seconds=20.0):
    return SlotRepair(SlotTree(inst), wanted, np.random.default_rng(1)).work(seconds)


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


def test_what_cannot_be_met_ends_with_the_time():
    inst = generate("paper", seed=3, jobs=10, slots=10, machines=20)
    at_once = {i: job.arrival for i, job in enumerate(inst.jobs)}
    assert repair(inst, at_once, seconds=1.0) is None


def test_a_plan_is_never_given_up_for_a_worse_one():
    inst = generate("paper", seed=3, jobs=10, slots=10, machines=20)
    problem = SlotTree(inst)
    late = dict.fromkeys(range(len(inst.jobs)), inst.horizon - 1)
    search = SlotRepair(problem, late, np.random.default_rng(0))
    search.work(0.0)
    lacking = [np.maximum(search.missing(), 0).sum()]
    assert lacking[0] > 0
    for _ in range(5):
        search.work(0.3)
        lacking.append(np.maximum(search.missing(), 0).sum())
    assert lacking == sorted(lacking, reverse=True)
