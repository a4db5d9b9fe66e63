"""The interior point for linear programs, beside HiGHS's simplex."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array

from optsched import solvers


def program(seed, equations):
    """Return a program whose variables are limited: cost, matrix, lower, upper."""
    rng = np.random.default_rng(seed)
    m, n = 8, 30
    matrix = rng.integers(0, 5, (m, n)) * (rng.random((m, n)) < 0.5)
    matrix[0] = 1  # so that it is bounded
    upper = rng.integers(5, 20, m).astype(float)
    lower = np.full(m, -np.inf)
    lower[1 : 1 + equations] = upper[1 : 1 + equations] = rng.integers(1, 4, equations)
    return -rng.random(n) * 10, csc_array(matrix.astype(float)), lower, upper


@pytest.mark.parametrize("equations", [0, 2])
@pytest.mark.parametrize("seed", range(5))
def test_same_optimum_as_the_simplex(seed, equations):
    cost, matrix, lower, upper = program(seed, equations)
    n = cost.size
    h = solvers.highs()
    solvers.load(h, cost, matrix, lower, upper, np.zeros(n), np.full(n, np.inf))
    solvers.run(h)
    best = h.getInfo().objective_function_value
    found = solvers.interior_point(cost, matrix, lower, upper)
    assert found.solved
    assert cost @ found.x == pytest.approx(best, rel=1e-6)
    assert upper @ found.duals == pytest.approx(best, rel=1e-6)
    assert (found.duals[~np.isfinite(lower)] <= 1e-6).all()
    assert (cost - matrix.T @ found.duals >= -1e-5).all()
    assert (matrix @ found.x <= upper + 1e-5).all()
    assert found.x.min() >= 0


def test_a_looser_answer_is_a_rougher_one():
    cost, matrix, lower, upper = program(3, 0)
    rough, fine = (
        solvers.interior_point(cost, matrix, lower, upper, accuracy=a) for a in (1e-2, 1e-8)
    )
    distance = [abs(cost @ found.x - upper @ found.duals) for found in (rough, fine)]
    assert distance[0] > 100 * distance[1]


def test_nothing_to_gain():
    found = solvers.interior_point(
        np.zeros(2), csc_array([[1.0, 1.0]]), np.array([-np.inf]), np.array([1.0])
    )
    assert found.duals == pytest.approx([0.0], abs=1e-6)


def test_a_program_without_a_solution_is_not_solved():
    found = solvers.interior_point(
        np.ones(1), csc_array([[1.0], [1.0]]), np.array([1.0, 2.0]), np.array([1.0, 2.0])
    )
    assert not found.solved
