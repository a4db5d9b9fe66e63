"""The integer knapsack of all judges: against trying all loads, and at the limits of 64 bits."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.numbers.overflow import INT64
from optsched.proofs import knapsack
from optsched.proofs.knapsack import (
    NONE,
    best_load,
    by_density,
    multipliers,
    relaxed,
    units_that_fit,
)

SEEDS = st.integers(0, 2**32 - 1)
LARGEST_CAPACITY = 2**50 - 1


def drawn(seed, items=6, resources=4):
    """Return a small knapsack: value, most, demand, capacity."""
    draw = np.random.default_rng(seed)
    n, resources = int(draw.integers(1, items)), int(draw.integers(1, resources))
    demand = draw.integers(0, 6, size=(n, resources))
    # prices close to the demands' own worth are the hard ones
    value = demand.sum(axis=1) * draw.integers(0, 4) * 10 + draw.integers(0, 30, size=n)
    return value, draw.integers(0, 5, size=n), demand, draw.integers(0, 16, size=resources)


def by_trying(value, most, demand, capacity):
    loads = np.array(list(product(*(range(m + 1) for m in most))))
    fits = (loads @ demand <= capacity).all(axis=1)
    return int((loads[fits] @ value).max())


@settings(max_examples=150)
@given(SEEDS)
def test_the_best_of_all_loads(seed):
    assert best_load(*drawn(seed)) == by_trying(*drawn(seed))


@pytest.mark.parametrize("few", [1, 3, 8])
@pytest.mark.parametrize("nodes", [1, 3, 10_000])
def test_a_search_that_is_given_up_bounds_from_above(few, nodes, monkeypatch):
    monkeypatch.setattr(knapsack, "FEW", few)
    monkeypatch.setattr(knapsack, "NODES", nodes)
    exact = 0
    for seed in range(60):
        value, most, demand, capacity = drawn(seed, 7)
        best, found = by_trying(value, most, demand, capacity), best_load(*drawn(seed, 7))
        assert best <= found <= int(value @ most)
        exact += best == found
    assert exact == 60 if nodes == 10_000 else exact < 60


@pytest.mark.slow
@given(SEEDS)
def test_any_multipliers_are_whole_and_not_negative(seed):
    value, most, demand, capacity = drawn(seed)
    units = np.zeros(len(capacity), np.int64)
    multipliers(value, most, demand, capacity, units)
    assert (units >= 0).all()
    assert sum(int(u) * int(c) for u, c in zip(units, capacity, strict=True)) <= 2**51


@given(*[st.integers(0, 2**60)] * 2, *[st.integers(0, 2**60)] * 2)
def test_densities_are_compared_exactly(v, w, d, e):
    order = np.array([0, 1])
    by_density(np.array([v, w]), np.array([d, e]), order)
    # free items first, equals as they were
    assert (order[0] == 1) == (e == 0 < d or (d > 0 and w * d > v * e))


def test_equal_densities_stay_in_order():
    order = np.array([3, 1, 0, 2])
    by_density(np.array([2, 4, 9, 6]), np.array([1, 2, 3, 3]), order)
    assert order.tolist() == [2, 3, 1, 0]


@given(st.integers(0, NONE), st.integers(1, 2**60), st.data())
def test_part_of_an_item_is_never_undervalued(value, demand, data):
    room = data.draw(st.integers(0, demand - 1))
    items = np.array([[value], [1], [0], [0]])
    found = relaxed(items, np.array([demand]), np.array([0]), 0, room, NONE)
    assert value * room // demand <= found <= value


@pytest.mark.parametrize(
    ("value", "room"), [(NONE, 1), (NONE, 2), (NONE, 3), (NONE - 1, 2**50 - 1)]
)
def test_a_part_of_the_most_valuable_item(value, room):
    items = np.array([[value], [1], [0], [0]])
    found = relaxed(items, np.array([room + 1]), np.array([0]), 0, room, NONE)
    assert value * room // (room + 1) <= found <= value


@pytest.mark.parametrize("resources", [1, 2048, 2049, 8192])
@pytest.mark.parametrize("capacity", [1, 2**30, LARGEST_CAPACITY])
def test_loads_of_the_largest_machines(resources, capacity):
    draw = np.random.default_rng(resources)
    demand = np.zeros((3, resources), np.int64)
    demand[:, :3] = draw.integers(0, max(2, capacity // 2), (3, min(3, resources)))
    demand[:, -1] = draw.integers(1, max(2, capacity), 3)
    value, most = draw.integers(1, NONE // 9, 3), np.array([2, 2, 2])
    size = np.full(resources, capacity)
    looked_at = [r for r in {0, 1, 2, resources - 1} if r < resources]
    fits = [
        load
        for load in product(range(3), repeat=3)
        if all(
            sum(n * int(demand[i, r]) for i, n in enumerate(load)) <= capacity for r in looked_at
        )
    ]
    best = max(sum(n * int(v) for n, v in zip(load, value, strict=True)) for load in fits)
    assert best_load(value, most, demand, size) == best


def test_the_sums_of_the_search_stay_in_range():
    for resources in (1, 2, 3, 2047, 2048, 2049, 10**6):
        for capacity in (1, 2**30, LARGEST_CAPACITY):
            unit = min(knapsack.FINEST, knapsack.SCALE // resources) // capacity
            assert resources * unit * capacity <= knapsack.SCALE < NONE
    assert NONE + NONE <= INT64 + 1


@given(SEEDS)
def test_rooms_are_the_most_that_fit(seed):
    draw = np.random.default_rng(seed)
    demand, capacity = draw.integers(0, 5, (4, 3)), draw.integers(0, 30, (2, 3))
    most = draw.integers(0, 9, 4)
    found = units_that_fit(demand, capacity, most)
    for c, i in np.ndindex(2, 4):
        fit = [n for n in range(most[i] + 1) if (n * demand[i] <= capacity[c]).all()]
        assert found[c, i] == max(fit)
