"""Workers of several types on single servers: the table of the kernel, and trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np

from optsched.families.completion.slot_kernels import NO, UNKNOWN, YES, _fill, spread


def possible(free, left, demand):
    """Whether so many workers of each type fit, by trying all numbers on each server in turn."""
    reached = {(0,) * len(left)}
    for room in free:
        here = [
            n
            for n in product(*(range(k + 1) for k in left))
            if (np.array(n) @ demand <= room).all()
        ]
        reached = {
            tuple(min(a + b, k) for a, b, k in zip(x, n, left, strict=True))
            for x in reached
            for n in here
        }
    return tuple(left) in reached


def test_workers_are_spread_where_that_is_possible():
    rng = np.random.default_rng(3)
    seen = {YES: 0, NO: 0}
    tables = {YES: 0, NO: 0}
    for _ in range(1500):
        kinds, servers = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        demand = rng.integers(0, 4, (kinds, 2))
        demand[demand.sum(axis=1) == 0] = 1
        free, left = rng.integers(0, 8, (servers, 2)), rng.integers(0, 4, kinds)
        found = spread(free, left, demand)
        assert found in (YES, NO)
        assert (found == YES) == possible(free, left.tolist(), demand)
        seen[found] += 1
        if _fill(free, left, demand) == UNKNOWN:
            tables[found] += 1
    assert min(seen.values()) > 300
    assert min(tables.values()) > 10  # answers of the table, not of the quick look


def test_too_large_a_table_leaves_it_open():
    free = np.array([[30, 31], [31, 30]])
    demand = np.array([[1, 2], [2, 1], [2, 3], [3, 2], [3, 3]])
    left = np.array([9, 9, 9, 9, 1])
    assert spread(free, left, demand) in (NO, UNKNOWN)
    assert spread(np.array([[100, 100], [31, 30]]), np.array([20, 20, 20, 20, 1]), demand) != YES
