"""Column generation against the same program solved whole, and bounds that hold at any time."""

from itertools import count

import numpy as np
import pytest
from listed_columns import Listed

from optsched.engine.colgen import Column, Master, generate_columns, lagrangian

SEEDS = range(12)


def run(problem, *, stop=lambda _: False, tolerance=1e-7, **options):
    return generate_columns(
        problem, Master(problem), stop=stop, tolerance=lambda _: tolerance, **options
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_bound_and_value_are_those_of_the_whole_program(seed):
    problem = Listed(seed, equality=seed % 3 == 0)
    found = run(problem, tolerance=1e-9)
    assert found.converged
    assert found.bound == pytest.approx(problem.whole(), rel=1e-8)
    assert found.value == pytest.approx(problem.whole(), rel=1e-8)
    assert (found.prices >= 0).all()
    again = lagrangian(problem, found.prices, problem.price(found.prices, found.prices * 0).best)
    assert found.bound == again


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solution_is_one_of_the_program(seed):
    problem = Listed(seed)
    found = run(problem, tolerance=1e-9)
    used, copies = np.zeros(problem.rhs.size), np.zeros(problem.copies.size)
    for c, x in zip(found.columns, found.x, strict=True):
        used[c.rows] += x * c.usage
        copies[c.block] += x
    assert (found.x >= -1e-9).all()
    assert (used <= problem.rhs + 1e-7).all()
    assert (copies <= problem.copies + 1e-7).all()
    value = sum(c.value * x for c, x in zip(found.columns, found.x, strict=True))
    assert value == pytest.approx(found.value)


@pytest.mark.parametrize("smoothing", [0.0, 0.7])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_holds_wherever_it_is_stopped(seed, smoothing):
    problem = Listed(seed)
    optimum = problem.whole()
    before = np.inf
    for most in range(6):
        steps = count()
        found = run(problem, stop=lambda _, s=steps, m=most: next(s) >= m, smoothing=smoothing)
        assert optimum * (1 - 1e-9) <= found.bound <= before
        before = found.bound
        if found.converged:
            return
    assert before < np.inf


def test_prices_to_begin_from_save_questions():
    problem = Listed(1)
    cold = run(problem, tolerance=1e-9)
    asked, problem.asked = problem.asked, 0
    warm = run(problem, tolerance=1e-9, center=cold.prices)
    assert warm.bound == pytest.approx(cold.bound)
    assert problem.asked < asked


def test_a_block_that_asks_for_equality_takes_a_loss():
    # one row of 1; block 0 must take a column: it uses the row and costs 3, block 1 would earn 5
    problem = Listed(0, rows=1, blocks=2, each=0)
    problem.rhs, problem.copies = np.ones(1), np.ones(2)
    problem.equality = np.array([True, False])
    row = np.zeros(1, np.int64)
    problem.columns = [Column(0, -3.0, row, np.ones(1)), Column(1, 5.0, row, np.ones(1))]
    found = run(problem, tolerance=1e-9)
    assert found.converged
    assert found.bound == pytest.approx(-3)
    problem.equality[:] = False
    assert run(problem, tolerance=1e-9).bound == pytest.approx(5)


def test_known_columns_are_not_added_twice():
    problem = Listed(2)
    master = Master(problem)
    assert master.add(problem.columns[:4] + problem.columns[:2]) == 4
    assert master.add(problem.columns[:5]) == 1
    assert len(master.columns) == 5


def test_restrictions_come_and_go():
    problem = Listed(3)
    master = Master(problem)
    master.add(problem.columns)
    everything = np.ones(len(master.columns), bool)
    value = master.solve()[0]
    assert value == pytest.approx(problem.whole())
    master.restrict(~everything, problem.copies, problem.equality)
    assert master.solve()[0] == 0
    master.restrict(everything, problem.copies * 0, problem.equality)
    assert master.solve()[0] == 0
    # without a column, a block that requests equality pays the penalty
    master.restrict(~everything, np.ones(5), np.arange(5) == 2)
    assert master.solve()[0] == pytest.approx(-problem.penalty)
    master.restrict(everything, problem.copies, problem.equality)
    assert master.solve()[0] == pytest.approx(value)
    # a probe with enough iterations finds the same
    assert master.probe(everything, problem.copies, problem.equality) == pytest.approx(value)
    assert master.solve()[0] == pytest.approx(value)
