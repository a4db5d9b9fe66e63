"""Threads that search from one state agree on the next one."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from completion_states import SLOTS, arrays, filled, recomputed, same
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.prices.priced_search import Search
from optsched.families.completion.optimum.search.joining import differ
from optsched.families.completion.optimum.search.neighbourhood import schedule_of
from optsched.families.completion.optimum.search.together import Chain, search_together
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify


def changed(base, plans):
    return {i for i in range(base.mode.size) if differ(base, plans, i)}


def moved(area, jobs, factor):
    """Take jobs out, and put them in again; return the state's jobs that run in another way."""
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
    base, value = area.snapshot(), area.value
    moved(area, mine, factor)
    moved(other, theirs, 1.25 - factor)
    here, there = changed(base, area.plans), changed(base, other.plans)
    before, state = area.snapshot(), arrays(area)
    chain, lead = Chain(other, 0, 1), Chain(area, 0, 0)
    merged = lead.merge(base, value, chain)
    if merged:
        assert not here & there
        assert changed(base, area.plans) == here | there
        assert all(not differ(area.plans, other.plans, i) for i in there)
    else:
        assert not changed(before, area.plans)
        assert same(arrays(area), state)
    assert area.value == pytest.approx(
        float(area.jobs.weight @ np.maximum(area.slots - area.ends(area.plans), 0.0))
    )
    assert same(arrays(area), recomputed(area))
    assert (arrays(area)["free"] >= 0).all()
    chain.adopt(lead)
    assert not changed(area.plans, other.plans)
    assert same(arrays(other), arrays(area))
    assert other.value == area.value


def test_what_does_not_fit_is_not_done():
    area, other = filled(), filled()
    base, value = area.snapshot(), area.value
    last = int(np.argmax(area.ends(base)))
    others = [i for i in range(12) if i != last]
    for i in others:
        other.remove(i)
    other.remove(last)
    other.insert(last, 0.0)  # where the others stand
    for i in others:
        other.plans.mode[i] = base.mode[i]
    assert changed(base, other.plans) == {last}
    before = arrays(area)
    assert not Chain(area, 0, 0).merge(base, value, Chain(other, 0, 1))
    assert same(arrays(area), before)


@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_threads_repeat_each_other_whoever_is_faster(architecture):
    found = []
    for _ in range(2):
        areas = [filled(architecture) for _ in range(2)]
        late = [filled(architecture)]
        monitor = Progress(FAMILY, areas[0].jobs.inst, time_limit=30.0, gap=0.0)
        steps = iter(np.linspace(0, 1, 60).tolist())
        asked = iter(range(60))

        def joins(late=late, asked=asked):
            return late.pop() if late and next(asked) == 20 else None

        done = partial(next, steps, 1.0)
        best = search_together(areas, monitor, seed=0, start=0, done=done, joins=joins)
        assert not late
        assert verify(areas[0].jobs.inst, schedule_of(areas[0].pieces(best))).value == monitor.value
        for area in areas:
            assert same(arrays(area), recomputed(area))
        assert not changed(areas[0].plans, areas[1].plans)
        found.append((monitor.value, areas[0].ends(areas[0].plans).tolist()))
    assert found[0] == found[1]
    alone = filled(architecture)
    done = partial(next, iter(np.linspace(0, 1, 60).tolist()), 1.0)
    assert changed(alone.plans, search_together([alone], None, seed=0, start=0, done=done))
    assert alone.slots == SLOTS


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
