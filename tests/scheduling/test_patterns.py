"""Patterns on one machine, against trying everything."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.scheduling.oracle.patterns import STEPS, Knapsacks, best_patterns

SEEDS = st.integers(0, 2**32 - 1)


def knapsack(seed):
    """Draw values, demands (some 0), capacities and limits of 1 to 5 jobs."""
    draw = np.random.default_rng(seed)
    jobs, resources = draw.integers(1, 6), draw.integers(1, 4)
    value = draw.integers(0, 9, jobs) * (0.5 if seed % 2 else draw.random(jobs))
    demand = draw.integers(0, 6, (jobs, resources)).astype(float)
    lower = draw.integers(0, 2, jobs) * draw.integers(0, 2)
    upper = lower + draw.integers(0, 4, jobs)
    capacity = draw.integers(0, 16, resources).astype(float)
    return value.astype(float), demand, capacity, lower, upper


def best_pattern(value, demand, capacity, lower, upper, out, nodes):
    """Solve for one machine; fill ``out``, and return the greatest value."""
    best, pattern = np.empty(1), np.empty((1, value.size), np.int64)
    asked = Knapsacks(value[None], demand, capacity[None], lower[None], upper[None])
    best_patterns(asked, best, pattern, nodes, STEPS)
    out[:] = pattern[0]
    return best[0]


@given(SEEDS)
def test_best_pattern_tries_every_pattern(seed):
    value, demand, capacity, lower, upper = knapsack(seed)
    out = np.zeros(value.size, np.int64)
    found = best_pattern(value, demand, capacity, lower, upper, out, 2**62)
    ranges = [range(a, b + 1) for a, b in zip(lower, upper, strict=True)]
    fitting = [np.array(y) for y in product(*ranges) if (y @ demand <= capacity).all()]
    if not fitting:
        assert found == -np.inf
        return
    assert found == pytest.approx(max(value @ y for y in fitting), rel=1e-9)
    assert value @ out == pytest.approx(found)
    assert (out @ demand <= capacity).all()
    assert (lower <= out).all()
    assert (out <= upper).all()


def test_density_misleads_but_not_the_search():
    # densest first takes job 0 (6 for 4) and leaves no room for two of job 1 (5 for 3 each)
    out = np.zeros(2, np.int64)
    none, most = np.zeros(2, np.int64), np.array([1, 2])
    value, demand = np.array([8.0, 5.0]), np.array([[4.0], [3.0]])
    assert best_pattern(value, demand, np.array([6.0]), none, most, out, 2**62) == 10
    assert out.tolist() == [0, 2]


def test_many_machines_are_solved_one_by_one():
    problems = [knapsack(s) for s in range(40)]
    problems = [p for p in problems if p[1].shape == problems[0][1].shape]
    demand = problems[0][1]
    value, capacity = (np.array([p[k] for p in problems]) for k in (0, 2))
    lower, upper = (np.array([p[k] for p in problems]) for k in (3, 4))
    best, out = np.empty(len(problems)), np.empty((len(problems), value.shape[1]), np.int64)
    asked = Knapsacks(value, demand, capacity, lower, upper)
    best_patterns(asked, best, out, 2**62, STEPS)
    single = np.empty(value.shape[1], np.int64)
    for b in range(len(problems)):
        assert best[b] == best_pattern(
            value[b], demand, capacity[b], lower[b], upper[b], single, 2**62
        ), b
        assert out[b].tolist() == single.tolist(), b


@given(SEEDS, st.integers(0, 5))
def test_a_search_that_ends_early_promises_no_less(seed, nodes):
    value, demand, capacity, lower, upper = knapsack(seed)
    out = np.zeros(value.size, np.int64)
    best = best_pattern(value, demand, capacity, lower, upper, out, 2**62)
    promise = best_pattern(value, demand, capacity, lower, upper, out, nodes)
    assert promise >= best * (1 - 1e-12)
    if best > -np.inf:
        assert (out @ demand <= capacity).all()
        assert value @ out <= best * (1 + 1e-12)
