"""Work over slots: hulls and the dynamic program against trying every distribution."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.scheduling.oracle import workload
from optsched.scheduling.oracle.workload import hull_insert

# parts of `best_schedule`: alone, nobody compiles them
hull, prefix_costs, backtrack = (
    part.py_func for part in (workload.hull, workload.prefix_costs, workload.backtrack)
)

# costs of 0, 1, ... units in every slot, as increments; multiples of 1/4, so that sums are exact
SLOTS = st.lists(st.lists(st.integers(0, 6), max_size=3), min_size=1, max_size=4)
WIDEST = 3


def table_of(slots):
    """Return (cost, most) of the slots."""
    cost = np.full((len(slots), WIDEST + 1), np.nan)
    for t, steps in enumerate(slots):
        cost[t, : len(steps) + 1] = np.cumsum([0, *steps]) / 4
    return cost, np.array([len(steps) for steps in slots], np.int64)


def distributions(cost, most, work):
    """Yield (cost, amounts) of every way to do exactly ``work``."""
    for amounts in product(*(range(m + 1) for m in most)):
        if sum(amounts) == work:
            yield sum(cost[t, n] for t, n in enumerate(amounts)), amounts


def least(cost, most, work):
    return min((c for c, _ in distributions(cost, most, work)), default=np.inf)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8))
def test_hull_is_the_greatest_convex_function_below(steps):
    cost = np.cumsum([0, *steps]).astype(float)
    slope, length = np.empty(len(steps)), np.empty(len(steps), np.int64)
    used = hull(cost, len(steps), slope, length)
    assert (np.diff(slope[:used]) > 0).all()
    corners = np.concatenate([[0], np.cumsum(length[:used])])
    assert corners[-1] == len(steps)
    below = np.interp(np.arange(len(steps) + 1), corners, cost[corners])  # corners are costs
    assert (below <= cost + 1e-12).all()
    assert np.repeat(slope[:used], length[:used]) == pytest.approx(np.diff(below))


@given(SLOTS, st.integers(1, 8))
def test_merged_hulls_enclose_the_cost_of_every_prefix(slots, work):
    cost, most = table_of(slots)
    slopes, lengths = np.empty(99), np.empty(99, np.int64)
    slope, length = np.empty(WIDEST), np.empty(WIDEST, np.int64)
    held = 0
    for t in range(len(slots)):
        used = hull(cost[t], most[t], slope, length)
        held, low, high = hull_insert(slope, length, used, slopes, lengths, held, work)
        best = least(cost[: t + 1], most[: t + 1], work)
        assert low <= best + 1e-12
        assert high >= best - 1e-12
        assert np.isinf(low) == np.isinf(best)


@given(SLOTS, st.integers(1, 8))
def test_the_dynamic_program_tries_every_distribution(slots, work):
    cost, most = table_of(slots)
    last = len(slots) - 1
    table = np.full((len(slots) + 1, WIDEST + work + 1), np.inf)
    prefix_costs(cost, most, 0, last, work, WIDEST, table)
    for t in range(len(slots)):
        assert table[t + 1, WIDEST + work] == least(cost[: t + 1], most[: t + 1], work)
    ways = list(distributions(cost, most, work))
    if not ways:
        return
    amount = np.zeros(len(slots), np.int64)
    backtrack(cost, most, 0, last, work, WIDEST, table, amount)
    cheapest = min(c for c, _ in ways)
    # least work in the last slot, then in the slot before it, and so on
    assert tuple(amount) == min((a for c, a in ways if c == cheapest), key=lambda a: a[::-1])


def test_slots_outside_the_window_are_left_alone():
    cost, most = table_of([[1], [1, 1], [1, 1], [0]])
    table = np.full((5, WIDEST + 4), np.inf)
    prefix_costs(cost, most, 1, 2, 3, WIDEST, table)
    amount = np.full(4, 7)
    backtrack(cost, most, 1, 2, 3, WIDEST, table, amount)
    assert amount.tolist() == [7, 2, 1, 7]
    assert table[2, WIDEST + 3] == 0.75
