"""The interior point for linear programs of column generation, next to HiGHS's simplex."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from optsched import solvers
from optsched.solvers import interior
from optsched.solvers.interior import InteriorPoint, InteriorProgram, interior_point


def draw(seed, equations=0, m=8, n=30):
    """Return a program whose variables are limited."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 5, (m, n)) * (rng.random((m, n)) < 0.5)
    matrix[0] = 1  # so that it is bounded
    limit = rng.integers(5, 20, m).astype(float)
    equal = (np.arange(m) >= 1) & (np.arange(m) < 1 + equations)
    limit[equal] = rng.integers(1, 4, equations)
    return InteriorProgram(rng.random(n) * 10, csc_array(matrix.astype(float)), limit, equal)


def anywhere(program):
    """Return a point that satisfies no row."""
    m, n = program.matrix.shape
    return InteriorPoint(np.ones(n), np.ones(m), np.where(program.equal, 0.0, 1.0), np.ones(n))


def by_simplex(program):
    value, matrix, limit, equal = program
    n = value.size
    h = solvers.highs()
    lower = np.where(equal, limit, -np.inf)
    solvers.load(h, -value, matrix, lower, limit, np.zeros(n), np.full(n, np.inf))
    solvers.run(h)
    return -h.getInfo().objective_function_value


@pytest.mark.parametrize("equations", [0, 2])
@pytest.mark.parametrize("seed", range(5))
def test_same_optimum_as_the_simplex(seed, equations):
    program = draw(seed, equations)
    value, matrix, limit, equal = program
    best = by_simplex(program)
    (x, duals, slack, reduced), _, solved = interior_point(program, anywhere(program), 1e-7)
    assert solved
    assert value @ x == pytest.approx(best, rel=1e-6)
    assert limit @ duals == pytest.approx(best, rel=1e-6)
    assert (duals[~equal] > 0).all()
    assert matrix.T @ duals - value == pytest.approx(reduced, abs=1e-6)
    assert limit - matrix @ x == pytest.approx(slack, abs=1e-4)
    assert min(x.min(), slack[~equal].min(), reduced.min()) > 0


def test_many_equal_solutions_and_rows_that_say_the_same():
    some = draw(1)
    matrix = csc_array(np.repeat(np.repeat(some.matrix.toarray(), 3, axis=0), 4, axis=1))
    value, limit = np.repeat(some.value, 4), np.repeat(some.limit, 3)
    program = InteriorProgram(value, matrix, limit, np.zeros(limit.size, bool))
    found = interior_point(program, anywhere(program), 1e-7)
    assert found.solved
    assert value @ found.found.x == pytest.approx(by_simplex(some), rel=1e-6)


def test_a_looser_answer_is_a_rougher_one_and_the_earlier_point_is_rougher_still():
    program = draw(3, m=20, n=200)
    distance = []
    for accuracy in (1e-2, 1e-7):
        found, earlier, solved = interior_point(program, anywhere(program), accuracy)
        assert solved
        for point in (earlier, found):
            gap = abs(program.value @ point.x - program.limit @ point.duals)
            distance.append(gap / (program.limit @ point.duals))
    assert distance[0] > distance[1] > 10 * distance[3]
    assert distance[2] > distance[3]
    assert distance[1] <= 1e-2
    assert distance[3] <= 1e-7


def test_products_are_those_of_numpy(monkeypatch):
    program = draw(2, m=12, n=40)
    weight = np.random.default_rng(0).random(40)
    expected = program.matrix.toarray() @ np.diag(weight) @ program.matrix.toarray().T
    for dense in (interior.DENSE, 0):
        monkeypatch.setattr(interior, "DENSE", dense)
        out = np.full((12, 12), np.nan)
        interior._normal(program.matrix, weight, out)
        assert np.tril(out) == pytest.approx(np.tril(expected))


def test_a_program_without_a_solution_is_not_solved():
    program = InteriorProgram(
        -np.ones(1), csc_array([[1.0], [1.0]]), np.array([1.0, 2.0]), np.ones(2, bool)
    )
    assert not interior_point(program, anywhere(program), 1e-6).solved
