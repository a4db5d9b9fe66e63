"""Packing a slot anew, and inequalities about packing, against trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from optsched.families.oasis.optimum.prices.packing_cuts import packing_cut
from optsched.families.oasis.optimum.search.repacking import (
    fill_machines,
    hoped,
    put_best_fit,
    repack,
    slot_rooms,
)

SEEDS = st.integers(0, 2**32 - 1)


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
    fill_machines(number, value, demand, capacity, bool(seed % 2), hosted, left)
    assert (hosted.sum(axis=0) + left[0] == number).all()
    assert packed(hosted, demand, capacity)
    rest = capacity - hosted @ demand
    for j in np.flatnonzero(left[0]):  # what is left fits nowhere
        assert not (rest >= demand[j]).all(axis=1).any()


def test_a_slot_is_packed_anew_without_losing_anybody():
    # machines of 6: two of size 3 sit apart, so that no room is left for one of size 6
    demand, capacity = np.array([[3.0], [6.0]]), np.array([[6.0], [6.0]])
    number, fresh = np.array([[2, 0]]), np.zeros((1, 2, 2), np.int16)
    worth = np.array([[1.0], [1.0]])
    assert repack(0, 1, 1, number, worth, demand, capacity, 4, fresh) == 1
    assert fresh[0].sum(axis=0).tolist() == [2, 1]
    assert packed(fresh[0], demand, capacity)
    number[0, 0] = 5  # they do not fit themselves
    assert repack(0, 1, 1, number, worth, demand, capacity, 4, fresh) == -1


@given(SEEDS)
def test_hope_is_never_below_what_packing_anew_gives(seed):
    draw = np.random.default_rng(seed)
    demand = draw.integers(0, 5, (3, 2)).astype(float)
    capacity = draw.integers(3, 12, (3, 2)).astype(float)
    number, fresh = draw.integers(0, 3, (2, 3)), np.zeros((2, 3, 3), np.int16)
    number[:, 2] = 0
    room, most = np.zeros(2), 6
    hope = hoped(2, most, 0, 1, number, demand, capacity, room)
    got = [repack(t, 2, most, number, demand + 1, demand, capacity, 3, fresh) for t in (0, 1)]
    assert hope <= 2 * most
    assert hope >= sum(got)
    left = capacity.sum(axis=0) - number @ demand  # (T, R)
    needs = demand[2] > 0
    exact = np.minimum(np.floor(left[:, needs] / demand[2, needs]).min(axis=1, initial=most), most)
    assert hope == np.maximum(exact, room).sum()


def test_workers_go_where_they_leave_the_least():
    free = np.array([[[7.0, 4.0, 6.0]]])
    hosted, room = np.zeros((1, 3, 1), np.int16), np.empty(3)
    demand, weight = np.array([[2.0]]), np.ones((1, 1, 3))
    out = np.zeros(1)
    slot_rooms(free, demand[0], 9, 0, 0, room, out)
    assert out[0] == 8
    put_best_fit(0, 0, 5, demand, weight, hosted, free, room)
    assert hosted[0, :, 0].tolist() == [0, 2, 3]
    assert free[0, 0].tolist() == [7, 0, 0]


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
