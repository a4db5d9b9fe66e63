"""Threads that search from one state meet now and then."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from completion_states import arrays, filled, recomputed, same
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.board.plans import no_plans, sums_of
from optsched.families.completion.optimum.relaxations.priced_search import Portfolio
from optsched.families.completion.optimum.search.neighborhood import schedule_of
from optsched.families.completion.optimum.search.parallel_annealing import (
    MEETINGS,
    Chain,
    SharedBest,
    differ,
    search_together,
)
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify

pytestmark = pytest.mark.slow


def changed(base, plans):
    return {i for i in range(base.mode.size) if differ(base, plans, i)}


def earned(area):
    return float(area.jobs.weight @ np.maximum(area.slots - area.ends(area.plans), 0.0))


@given(
    architecture=st.sampled_from(["ps", "ring"]),
    out=st.lists(st.integers(0, 11), unique=True, max_size=8),
    gone=st.sets(st.integers(0, 11), max_size=3),
    factor=st.sampled_from([0.0, 0.5, 1.25]),
)
@settings(max_examples=60, deadline=None)
def test_a_search_goes_on_from_another_state(architecture, out, gone, factor):
    area, other = filled(architecture), filled(architecture)
    for i in out:
        other.remove(i)
    for i in out:
        if i not in gone:
            other.insert(i, factor)
    common = SharedBest(area)
    Chain(area, common, 0, 0).join(Chain(other, common, 0, 1))
    assert not changed(area.plans, other.plans)
    assert same(arrays(area), arrays(other))
    assert area.value == other.value == pytest.approx(earned(area))


def three_chains():
    """Return chains of which the second has the best state, and the third the worst."""
    areas = [filled() for _ in range(3)]
    common = SharedBest(areas[0])
    areas[1].remove(0)
    assert areas[1].insert(0, 0.0)
    areas[2].remove(0)
    areas[0].remove(1)
    made = [Chain(area, common, 0, k) for k, area in enumerate(areas)]
    assert areas[1].value > max(areas[0].value, areas[2].value)
    return made


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_all_go_on_from_the_best_of_a_meeting_whoever_comes_first(order):
    chains = three_chains()
    best = chains[1].area.snapshot()
    for _ in range(2):
        for k in order:
            chains[k].meet(1)
    for chain in chains:
        assert not changed(best, chain.area.plans)
        assert same(arrays(chain.area), recomputed(chain.area))
        assert chain.area.value == pytest.approx(earned(chain.area))


def test_who_has_become_better_meanwhile_does_not_hear_of_it():
    chains = three_chains()
    for chain in chains[:2]:
        chain.meet(1)
    first = chains[0].area
    first.load(chains[1].area.plans)
    first.value *= 2  # as if it were better
    chains[0].meet(1)
    assert first.value == pytest.approx(2 * earned(first))


def test_between_meetings_everyone_goes_their_own_way():
    first, second, _ = three_chains()
    for _ in range(2):
        first.meet(1)
        second.meet(1)
    second.area.remove(2)  # worse than what was best at the meeting, and so it stays
    first.area.remove(3)
    mine, theirs = first.area.snapshot(), second.area.snapshot()
    for _ in range(2):
        first.meet(1)
        second.meet(1)
    assert not changed(mine, first.area.plans)
    assert not changed(theirs, second.area.plans)
    first.area.insert(3, 0.0)
    for _ in range(2):  # the next one forgets the state of the last one
        second.meet(2)
        first.meet(2)
    assert first.area.value == second.area.value
    assert (first.area.plans.mode >= 0).all()


@pytest.mark.parametrize("architecture", ["ps", "ring"])
@pytest.mark.parametrize("threads", [1, 3])
def test_all_threads_search_and_meet(architecture, threads, monkeypatch):
    areas = [filled(architecture) for _ in range(threads)]
    first = areas[0]
    began = first.snapshot()
    for area in areas[1:]:
        area.load(no_plans(area.tables))  # they begin where the first one is
    meet, met = Chain.meet, {id(area): set() for area in areas}
    move, jobs = Chain.move, []

    def noted(chain, number):
        met[id(chain.area)].add(number)
        meet(chain, number)

    def counted(chain, heat):
        jobs.append(np.count_nonzero(chain.area.plans.mode >= 0))
        move(chain, heat)

    monkeypatch.setattr(Chain, "meet", noted)
    monkeypatch.setattr(Chain, "move", counted)
    monitor = Progress(FAMILY, first.jobs.inst, time_limit=30.0, gap=0.0)
    steps = iter(np.linspace(0, 1, 200).tolist())
    asked = iter(range(1000))
    prices = np.full((5, *first.jobs.class_capacity.shape), 7.0)

    def late():
        return prices if next(asked) >= 100 else None

    best = search_together(
        areas,
        monitor,
        seed=0,
        start=0,
        done=partial(next, steps, 1.0),
        late=late if threads > 1 else None,
    )
    assert next(asked) == (101 if threads > 1 else 0)  # not called any more after its answer
    assert verify(first.jobs.inst, schedule_of(first.pieces(best))).value == monitor.value
    assert monitor.value < first.cost(began)
    assert all(changed(began, area.plans) for area in areas)
    assert set(jobs) == {12}
    for area in areas:
        assert same(arrays(area), recomputed(area))
        assert area.value == pytest.approx(earned(area))
        assert area.complete()
        if threads > 1:  # all have gone on at these prices
            np.testing.assert_array_equal(area.tables.worker_cost, sums_of(area.jobs, prices)[0])
        assert {0, len(MEETINGS)} - ({0} if area is areas[-1] else set()) <= met[id(area)]


def test_prices_are_improved_beside_the_search():
    inst = generate("mid", seed=4, jobs=15, machines=4)
    monitor = Progress(FAMILY, inst, time_limit=3.0, gap=0.0)
    search = Portfolio(inst, monitor, 2, 0)
    assert search.begin()
    search.generate(16, 5.0)
    bound, value = search.bound, monitor.value
    search.generate_in_parallel((4, 1), 2.0)
    assert search.bound > bound
    assert monitor.bound == search.bound
    assert (
        search.bound * (1 - 1e-6) <= monitor.check(monitor.certificate()) <= monitor.value < value
    )
    assert verify(inst, monitor.schedule).value == monitor.value
