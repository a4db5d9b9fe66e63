"""Free capacity in exact integers."""

from hypothesis import given
from hypothesis import strategies as st

from optsched.numbers.resources import exact, usable
from optsched.scheduling.online.pool import Pool, in_units

AMOUNTS = st.integers(1, 10**6).flatmap(lambda n: st.sampled_from([n / 10, n / 10**4, n / 10**9]))


def test_decimals_that_floats_get_wrong():
    # 3 * 0.1 > 0.3 in floats, and 0.3 - 0.1 - 0.1 < 0.1: three fit all the same.
    pool = Pool([(0.3,)])
    demand = in_units((0.1,))
    for left in (3, 2, 1, 0):
        assert pool.max_units(demand, 10).tolist() == [left]
        if left:
            pool.place(demand, 1)


@given(AMOUNTS, AMOUNTS)
def test_room_is_the_judges(capacity, demand):
    # The judge: n fit if and only if n times the demand is at most the usable capacity.
    (n,) = Pool([(capacity,)]).max_units(in_units((demand,)), 10**6)
    assert n * exact(demand) <= usable(capacity)
    assert n == 10**6 or (n + 1) * exact(demand) > usable(capacity)


def test_the_scarcest_resource_decides_and_what_is_not_demanded_does_not():
    pool = Pool([(4.0, 9.0), (0.0, 100.0)])
    assert pool.max_units(in_units((1, 3)), 10).tolist() == [3, 0]
    assert pool.max_units(in_units((0, 3)), 10).tolist() == [3, 10]
    assert pool.max_units(in_units((0, 0)), 10).tolist() == [10, 10]
    assert pool.holds(in_units((0, 3)), 7) == 7


def test_round_robin_goes_on_where_it_stopped_and_take_is_undone():
    pool, demand = Pool([(2.0,), (1.0,), (2.0,)]), in_units((1,))
    assert pool.place(demand, 2).tolist() == [1, 1, 0]
    counts = pool.place(demand, 2)
    assert counts.tolist() == [1, 0, 1]
    pool.give(demand, counts)
    assert pool.max_units(demand, 9).tolist() == [1, 0, 2]
    twin = pool.copy()
    twin.clear()
    assert twin.max_units(demand, 9).tolist() == [2, 1, 2]
    assert pool.max_units(demand, 9).tolist() == [1, 0, 2]


def test_shares_are_of_all_machines():
    pool = Pool([(2.0, 0.0), (6.0, 0.0)])
    assert pool.shares(in_units((2, 0))).tolist() == [0.25, 0.0]
    assert pool.shares(in_units((2, 1)))[1] > 10**8  # there is none: more than everything
