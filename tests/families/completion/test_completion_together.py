"""Threads that search from one state agree on the next one."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from completion_states import arrays, filled, recomputed, same
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.board.joining import differ, merge
from optsched.families.completion.optimum.board.plans import copy_plan
from optsched.families.completion.optimum.prices.priced_search import Search
from optsched.families.completion.optimum.search.neighbourhood import schedule_of
from optsched.families.completion.optimum.search.together import Chain, Common, search_together
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify


def changed(base, plans):
    return {i for i in range(base.mode.size) if differ(base, plans, i)}


def earned_by(area, plans):
    return float(area.jobs.weight @ np.maximum(area.slots - area.ends(plans), 0.0))


def earned(area):
    return earned_by(area, area.plans)


def moved(area, jobs, factor):
    """Take jobs out, and put them in again."""
    for i in jobs:
        area.remove(i)
    for i in jobs:
        area.insert(i, factor)


@given(
    architecture=st.sampled_from(["ps", "ring"]),
    mine=st.lists(st.integers(0, 11), unique=True, max_size=4),
    theirs=st.lists(st.integers(0, 11), unique=True, max_size=4),
    factor=st.sampled_from([0.0, 0.5, 1.25]),
)
@settings(max_examples=60, deadline=None)
def test_changes_that_do_not_meet_are_all_made(architecture, mine, theirs, factor):
    area, other = filled(architecture), filled(architecture)
    base, common = area.snapshot(), Common(area)
    chain = Chain(other, common, 0, 1)
    moved(area, mine, factor)
    moved(other, theirs, 1.25 - factor)
    here, there = changed(base, area.plans), changed(base, other.plans)
    before, state = area.snapshot(), arrays(area)
    if chain.agree():
        assert not here & there
        assert changed(before, area.plans) == there
        assert changed(base, area.plans) == here | there
        assert common.most == pytest.approx(max(earned_by(area, base), area.value))
    else:
        assert there
        assert not changed(before, area.plans)
        assert same(arrays(area), state)
    assert area.value == pytest.approx(earned(area))
    assert same(arrays(area), recomputed(area))
    assert (arrays(area)["free"] >= 0).all()
    assert not changed(area.plans, other.plans)
    assert not changed(area.plans, chain.base)
    assert same(arrays(other), arrays(area))
    assert other.value == chain.value == area.value


def test_what_does_not_fit_is_not_done():
    area, other = filled(), filled()
    base = area.snapshot()
    last = int(np.argmax(area.ends(base)))
    for i in range(12):
        other.remove(i)
    other.insert(last, 0.0)  # where the others stand
    theirs = area.snapshot()
    copy_plan(other.plans, theirs, last)
    assert changed(base, theirs) == {last}
    before = arrays(area)
    assert not merge(area.tables, area.servers, area.notes, area.plans, base, theirs)
    assert not changed(base, area.plans)
    assert same(arrays(area), before)


@pytest.mark.parametrize("architecture", ["ps", "ring"])
@pytest.mark.parametrize("threads", [1, 3])
def test_all_threads_search(architecture, threads):
    areas = [filled(architecture) for _ in range(1 + threads)]
    first = areas[0]
    began = first.snapshot()
    monitor = Progress(FAMILY, first.jobs.inst, time_limit=30.0, gap=0.0)
    steps = iter(np.linspace(0, 1, 200).tolist())
    asked = iter(range(1000))
    best = search_together(
        areas,
        monitor,
        seed=0,
        start=0,
        done=partial(next, steps, 1.0),
        late=(lambda: next(asked) >= 100) if threads > 1 else None,
    )
    assert next(asked) >= 100 or threads == 1
    assert verify(first.jobs.inst, schedule_of(first.pieces(best))).value == monitor.value
    assert monitor.value < first.cost(began)
    assert all(changed(began, area.plans) for area in areas)
    for area in areas:
        assert same(arrays(area), recomputed(area))
        assert area.value == pytest.approx(earned(area))


def test_prices_are_improved_beside_the_search():
    inst = generate("mid", seed=4, jobs=15, machines=4)
    monitor = Progress(FAMILY, inst, time_limit=3.0, gap=0.0)
    search = Search(inst, monitor, 2, 0)
    assert search.begin()
    search.generate(16, 5.0)
    bound, value = search.bound, monitor.value
    search.generate_beside((4, 1), 2.0)
    assert search.bound > bound
    assert monitor.bound == search.bound
    assert (
        search.bound * (1 - 1e-6) <= monitor.check(monitor.certificate()) <= monitor.value < value
    )
    assert verify(inst, monitor.schedule).value == monitor.value
