"""Prices on a time grid: what a span's slots have in common, and what differs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.engine.colgen import generate_columns, lagrangian
from optsched.engine.progress import Progress
from optsched.families.completion.optimum.large import Dispatching
from optsched.families.completion.optimum.relaxations import priced_search
from optsched.families.completion.optimum.relaxations.capacity import CapacityRelaxation, JobTables
from optsched.numbers.arrays import Floats
from optsched.problem import get_family

JOBS = JobTables(get_family("completion").generate("small", seed=3))
SLOTS = 37


def bound(problem: CapacityRelaxation, prices: Floats) -> float:
    nothing = np.full(problem.copies.size, -np.inf)
    return lagrangian(problem, prices, problem.price(prices, nothing).best)


def falling(seed: int) -> Floats:
    """Return prices of slots (L, C, R): falling in time, each class and resource by a factor."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.random(SLOTS))[::-1] * (rng.random() < 0.9)
    factor = 0.05 * rng.random(JOBS.class_capacity.shape)
    return time[:, None, None] * factor


@given(st.integers(0, 10**6), st.integers(1, 50))
def test_prices_of_the_shape_lose_nothing_on_any_grid(seed: int, span: int) -> None:
    prices = falling(seed)
    single = CapacityRelaxation(JOBS, SLOTS)
    wide = CapacityRelaxation(JOBS, SLOTS, span, prices.sum(axis=(1, 2)))
    exact = bound(single, prices.ravel())
    assert bound(wide, wide.coarsen(prices)) == pytest.approx(exact, rel=1e-4)
    np.testing.assert_allclose(
        wide.per_slot(wide.coarsen(prices))[:SLOTS], prices, rtol=1e-3, atol=1e-6
    )


@given(st.integers(0, 10**6), st.integers(1, 50), st.booleans())
def test_a_column_costs_what_its_slots_cost(seed: int, span: int, shaped: bool) -> None:
    rng = np.random.default_rng(seed)
    worth = rng.random(SLOTS) * (rng.random(SLOTS) < 0.7) if shaped else None
    problem = CapacityRelaxation(JOBS, SLOTS, span, worth)
    prices = rng.random(problem.rhs.size)
    load = rng.integers(0, 5, JOBS.class_capacity.shape)
    start, end = np.sort(rng.integers(0, SLOTS + 5, 2)).tolist()
    rows, usage = problem.usage(start, end, load)
    slots = problem.per_slot(prices)[start:end]
    assert prices[rows] @ usage == pytest.approx(float((slots * load).sum()), abs=1e-9)
    # a load that fills everything uses every row up
    whole = JOBS.class_capacity * JOBS.count[:, None]
    rows, usage = problem.usage(0, problem.slots, whole)
    np.testing.assert_allclose(usage, problem.rhs[rows])


def test_a_grid_of_single_slots_has_no_shape() -> None:
    problem = CapacityRelaxation(JOBS, SLOTS, 1, falling(0).sum(axis=(1, 2)))
    assert (problem.part == 1.0).all()


@pytest.mark.slow
def test_column_generation_on_a_coarse_grid_begins_where_prices_by_time_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    family = get_family("completion")
    inst = family.generate("mid", seed=4, jobs=15, machines=4)
    monitor = Progress(family, inst, time_limit=20.0, gap=0.0)
    search = priced_search.Portfolio(inst, monitor, 1, 0)
    assert search.begin()
    first = Dispatching(inst, monitor, 0)
    assert first.prepare()
    first.dispatch()
    first.find_prices(0.5)
    assert first.prices is not None
    assert monitor.bound is not None
    search.take(first.prices, monitor.bound)
    known, begins = search.bound, []

    def noted(problem, master, **more):  # type: ignore[no-untyped-def]
        begins.append(-bound(problem, more["center"]))
        return generate_columns(problem, master, **more)

    monkeypatch.setattr(priced_search, "generate_columns", noted)
    search.generate(32, 2.0)
    assert begins[0] >= known * (1 - 1e-4)
    assert search.bound >= known
