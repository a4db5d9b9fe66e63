"""Repairs: how much of the time they take, and what they find in a thread of their own."""

import time

import numpy as np
import pytest
from independent.oasis import FILES, load, schedule

from optsched.engine.progress import Progress
from optsched.families.oasis import FAMILY
from optsched.families.oasis.optimum.priced_search import Portfolio
from optsched.families.oasis.optimum.search import fix_and_optimize
from optsched.families.oasis.optimum.search.fix_and_optimize import FixAndOptimize
from optsched.families.oasis.optimum.search.slot_repair import SlotRepairParams
from optsched.families.oasis.optimum.tree.branching import UnitPriceBranching
from optsched.families.oasis.sources.presets import generate
from optsched.families.oasis.verify import verify

LIMIT = 60.0  # seconds that no test here needs


def among(inst, *, beside, target=-np.inf):
    progress = Progress(FAMILY, inst, time_limit=LIMIT, gap=1e-6)
    progress.budget.began -= LIMIT  # a share of this is theirs
    return repairs(inst, progress, target, beside=beside)


def repairs(inst, progress, target, *, beside):
    how = {"seed": 0, "parallel": beside, "params": SlotRepairParams()}
    return FixAndOptimize(UnitPriceBranching(inst), progress, lambda: target, **how)


def first_found(among_them):
    ends = time.perf_counter() + LIMIT
    while time.perf_counter() < ends:
        for found in among_them.found():
            return found
        time.sleep(0.01)
    return None


def completions(inst, known):
    verdict = verify(inst, schedule(known["optimum_schedule"]))
    return {i: t for i, t in enumerate(verdict.completion) if t is not None}


@pytest.mark.parametrize("path", FILES[:4], ids=lambda p: p.stem)
def test_a_thread_finds_what_the_caller_would(path):
    inst, known = load(path)
    wanted = completions(inst, known)
    with among(inst, beside=True) as there:
        there.add(wanted)
        beside = first_found(there)
        there.work()  # the thread does
        assert list(there.found()) == []
    here = among(inst, beside=False)
    here.add(wanted)
    here.work()
    found = list(here.found())
    assert found
    for each in (beside, *found):
        assert verify(inst, each).value >= known["optimum"] - 1e-9


def test_what_earns_too_little_is_left_alone():
    inst, known = load(FILES[0])
    with among(inst, beside=True, target=2 * known["optimum"]) as there:
        there.add(completions(inst, known))
        while there.open:
            time.sleep(0.01)
    assert list(there.found()) == []


def test_a_failure_of_the_thread_is_raised(monkeypatch):
    def fail(*_):
        raise ArithmeticError("as if")

    inst, known = load(FILES[0])
    monkeypatch.setattr(fix_and_optimize.SlotRepair, "work", fail)
    there = among(inst, beside=True)
    with pytest.raises(ArithmeticError, match="as if"):
        wait_for_the_thread(there, completions(inst, known))


def wait_for_the_thread(there, wanted):
    with there:
        there.add(wanted)
        while not there.thread.done():
            time.sleep(0.01)


def test_they_take_most_of_the_time_once_the_bound_is_stuck():
    inst = generate("small", seed=0)
    progress = Progress(FAMILY, inst, time_limit=600.0, gap=1e-6)
    search = Portfolio(inst, progress, threads=1, seed=0)
    there = repairs(inst, progress, 0.0, beside=False)
    search.compact_bound()
    progress.budget.began -= 100.0  # for this long nothing has happened since
    assert there._share() == SlotRepairParams.stuck_share
    assert progress.bound is not None
    progress.tighten(0.9 * progress.bound, progress.certificate)
    assert there._share() == SlotRepairParams.share
