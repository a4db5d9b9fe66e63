"""The interior master solves the program of the simplex master, with fewer rows and columns."""

import numpy as np
import pytest
from listed_columns import Listed
from patience import LONG

from optsched.engine.colgen import Master, generate_columns
from optsched.engine.interior_master import InteriorMaster, InteriorMasterParams
from optsched.process import work_units

FEW = InteriorMasterParams(min_columns=12)


def settled(master):
    """Return the value once no row that takes no part is overfull."""
    while True:
        value = master.solve(1e-6)[0]
        if not master.overfull:
            return value
        assert master.refine()


@pytest.mark.parametrize("equality", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_both_masters_agree_on_the_same_columns(seed, equality):
    problem = Listed(seed, rows=12, blocks=9, equality=equality)
    vertex, central = Master(problem), InteriorMaster(problem)
    for master in (vertex, central):
        master.add(problem.columns)
    value, _, _, _ = vertex.solve()
    while True:
        found, prices, duals, x = central.solve()
        if np.isfinite(found) or not central.refine():
            break
    assert found == pytest.approx(value, rel=1e-5)
    used, copies = np.zeros(problem.rhs.size), np.zeros(problem.copies.size)
    for c, share in zip(central.columns, x, strict=True):
        used[c.rows] += share * c.usage
        copies[c.block] += share
    assert (used <= problem.rhs * (1 + 1e-6)).all()
    assert (copies <= problem.copies * (1 + 1e-6)).all()
    assert (prices >= 0).all()
    assert prices @ problem.rhs + duals @ problem.copies == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_a_value_is_never_too_great_while_rows_are_left_out(seed):
    problem = Listed(seed, rows=30, blocks=6)
    best = Master(problem)
    best.add(problem.columns)
    whole = best.solve()[0]
    prices = np.where(np.arange(30) < 3, 0.1, 0.0)
    master = InteriorMaster(problem, prices=prices)
    assert np.flatnonzero(master.joined).tolist() == [0, 1, 2]
    master.add(problem.columns)
    values = [master.solve(distance)[0] for distance in (1e-2, 1e-4, 1e-6)]
    assert 0 < values[0] <= whole
    assert max(values) <= whole
    assert values[-1] == pytest.approx(whole, rel=1e-5)


def test_it_begins_where_the_last_program_ended():
    problem = Listed(5, rows=12, blocks=9, each=60)

    def work(master, columns, distance):
        master.add(columns)
        before = work_units.done()
        master.solve(distance)
        return work_units.done() - before

    warm, cold = InteriorMaster(problem), InteriorMaster(problem)
    work(warm, problem.columns[:-5], 1e-2)
    assert work(warm, problem.columns, 1e-2) < work(cold, problem.columns, 1e-2)


def test_rows_that_nobody_fills_take_no_part():
    problem = Listed(3, rows=10)
    problem.rhs[4:] = 1e6
    found = InteriorMaster(problem)
    generate_columns(problem, found, stop=lambda _: False, tolerance=lambda _: 1e-6)
    assert found.joined[:4].any()
    assert not found.joined[4:].any()


def test_columns_leave_and_it_converges_all_the_same():
    problem = Listed(5, rows=12, blocks=9, each=60)
    master = InteriorMaster(problem, params=FEW)
    longest = 0

    def stop(_):
        nonlocal longest
        longest = max(longest, len(master.columns))
        return problem.asked > 400

    found = generate_columns(problem, master, stop=stop, tolerance=lambda _: 1e-6)
    assert found.converged
    assert found.bound == pytest.approx(problem.whole(), rel=1e-5)
    assert longest < len(problem.columns)
    assert len(found.x) <= len(master.columns)


def test_the_columns_that_stay_hold_the_solution_and_the_others_may_come_back():
    problem = Listed(5, rows=12, blocks=9, each=60)
    master = InteriorMaster(problem, params=FEW)
    master.add(problem.columns)
    value = settled(master)
    master._choose()
    kept = len(master.columns)
    assert kept < len(problem.columns)
    assert settled(master) == pytest.approx(value, rel=1e-4)
    assert master.add(problem.columns) == len(problem.columns) - kept


def test_a_program_with_an_overfull_row_is_solved_again():
    problem = Listed(3, rows=10)
    master = InteriorMaster(problem)
    master.add(problem.columns)
    master.solve()
    master.accuracy, master.overfull = InteriorMasterParams().tightest, False
    assert not master.refine()
    master.overfull = True
    assert master.refine()


def test_a_row_that_flips_between_idle_and_overfull_ends():
    from optsched import solve
    from optsched.problem import get_family

    inst = get_family("dmlrs").generate(
        "paper", seed=0, jobs=10, slots=10, machines=10, g_unit="Mbit", ratio=1.0
    )
    limit = LONG  # a second is enough, where it ends at all
    optimum = solve(inst, method="colgen", time_limit=limit)
    assert optimum.bound is not None
    assert optimum.seconds < limit
