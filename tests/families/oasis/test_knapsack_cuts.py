"""Inequalities about packing, against trying everything."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from optsched.families.oasis.optimum.relaxations.knapsack_cuts import packing_cut

SEEDS = st.integers(0, 2**32 - 1)


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
