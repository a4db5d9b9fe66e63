"""Packing a slot anew, and inequalities about packing, against trying everything."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from optsched.families.oasis.optimum.relaxations.knapsack_cuts import packing_cut
from optsched.families.oasis.optimum.search import repacking
from optsched.families.oasis.optimum.search.repacking import (
    RepackingSide,
    count_slots,
    hoped,
    put,
    repack_slots,
)

SEEDS = st.integers(0, 2**32 - 1)


fill_machines = repacking.fill_machines.py_func  # compiled as a part of `repack_slots`


def side_of(demand, capacity, number, most=9):
    """Return machines (H, R) on which ``number`` (T, I) run nobody knows where."""
    (slots, jobs), machines = number.shape, len(capacity)
    return RepackingSide(
        demand=demand,
        most=np.full(jobs, most),
        unit_value=np.ones((jobs, slots)),
        capacity=capacity,
        weight=np.ones((slots, capacity.shape[1], machines)),
        free=np.repeat(capacity.T[None], slots, axis=0),
        number=number,
        hosted=np.zeros((slots, machines, jobs), np.int16),
        max_units=np.zeros(slots),
        repacked=np.zeros(slots, bool),
        fresh=np.zeros((slots, machines, jobs), np.int16),
        scratch=np.empty(machines),
    )


def packed(hosted, demand, capacity):
    return (hosted @ demand <= capacity).all()


@given(SEEDS)
def test_machines_are_filled_within_their_capacity(seed):
    draw = np.random.default_rng(seed)
    demand = draw.integers(1, 6, (4, 2)).astype(float)
    capacity = np.repeat(draw.integers(4, 12, (2, 2)), 2, axis=0).astype(float)
    number = draw.integers(0, 5, 4)
    hosted, left = np.full((4, 4), -1), np.full((1, 4), -1)
    value = draw.random((1, 4)) + 0.1
    fill_machines(number, value, demand, capacity, bool(seed % 2), 30, hosted, left)
    assert (hosted.sum(axis=0) + left[0] == number).all()
    assert packed(hosted, demand, capacity)
    rest = capacity - hosted @ demand
    for j in np.flatnonzero(left[0]):  # what is left fits nowhere
        assert not (rest >= demand[j]).all(axis=1).any()


def test_a_slot_is_packed_anew_without_losing_anybody():
    # machines of 6: two of size 3 sit apart, so that no room is left for one of size 6
    demand, capacity = np.array([[3.0], [6.0]]), np.array([[6.0], [6.0]])
    side = side_of(demand, capacity, np.array([[2, 0]]), most=1)
    repack_slots(1, 0, 0, side, 4)
    assert (side.max_units[0], side.repacked[0]) == (1, True)
    assert side.fresh[0].sum(axis=0).tolist() == [2, 1]
    assert packed(side.fresh[0], demand, capacity)
    # the free amounts would do for one, but two of 4 stay apart: there is nothing to be done
    side = side_of(np.array([[4.0], [4.0]]), capacity, np.array([[2, 0]]), most=1)
    repack_slots(1, 0, 0, side, 4)
    assert (side.max_units[0], side.repacked[0]) == (0, False)
    side = side_of(demand, capacity, np.array([[5, 0]]), most=1)  # they do not fit themselves
    repack_slots(1, 0, 0, side, 4)
    assert (side.max_units[0], side.repacked[0]) == (0, False)


@given(SEEDS)
def test_hope_is_never_below_what_packing_anew_gives(seed):
    draw = np.random.default_rng(seed)
    demand = draw.integers(0, 5, (3, 2)).astype(float)
    capacity = draw.integers(3, 12, (3, 2)).astype(float)
    number, most = draw.integers(0, 3, (2, 3)), 6
    number[:, 2] = 0
    side = side_of(demand, capacity, number, most)
    hope = hoped(2, 0, 1, side)
    repack_slots(2, 0, 1, side, 3)
    assert hope <= 2 * most
    assert hope >= side.max_units.sum()
    for t in np.flatnonzero(side.repacked):
        assert packed(side.fresh[t], demand, capacity)
        assert side.fresh[t].sum(axis=0).tolist() == [*number[t, :2], side.max_units[t]]
    left = capacity.sum(axis=0) - number @ demand  # (T, R)
    needs = demand[2] > 0
    exact = np.minimum(np.floor(left[:, needs] / demand[2, needs]).min(axis=1, initial=most), most)
    assert hope == np.maximum(exact, 0).sum()


def test_workers_go_where_they_leave_the_least():
    capacity = np.array([[7.0], [4.0], [6.0]])
    side = side_of(np.array([[2.0]]), capacity, np.zeros((1, 1), np.int64))
    count_slots(0, 0, 0, side)
    assert side.max_units[0] == 8
    put(0, np.array([5]), side)
    assert side.number[0, 0] == 5
    assert side.hosted[0, :, 0].tolist() == [0, 2, 3]
    assert side.free[0, 0].tolist() == [7, 0, 0]


@given(SEEDS)
def test_a_cut_holds_for_every_pattern_and_measures_what_is_needed(seed):
    draw = np.random.default_rng(seed)
    jobs = 3
    demand = draw.integers(1, 6, (jobs, 2)).astype(float)
    capacity = draw.integers(6, 12, 2).astype(float)
    upper = draw.integers(1, 5, jobs)
    number = draw.random(jobs) * 6
    weight = np.zeros(jobs)
    needed = packing_cut(number, demand, capacity, upper, 0, 300, 10**6, weight)
    patterns = np.array(
        [y for y in product(*(range(u + 1) for u in upper)) if (y @ demand <= capacity).all()]
    )
    assert (patterns @ weight <= 1 + 1e-9).all()
    assert weight @ number == pytest.approx(needed)
    fewest = linprog(np.ones(len(patterns)), A_ub=-patterns.T, b_ub=-number)
    assert needed == pytest.approx(fewest.fun, rel=1e-5)
    # with that many machines there is nothing to cut off
    assert packing_cut(number, demand, capacity, upper, 10**6, 300, 10**6, weight) == 0
