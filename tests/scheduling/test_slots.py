"""Places in one slot: by hand, and against plain sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optsched.scheduling.oracle import slots
from optsched.scheduling.oracle.slots import charge_leftovers, cheapest, unit_prices, units_that_fit

# parts of `best_schedule` and `plan_entries`: alone, nobody compiles them
place, slot_cost = slots.place.py_func, slots.slot_cost.py_func

MACHINES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=9
)  # price, room of one, how many equal ones


def arrays(machines):
    price, room, count = zip(*machines, strict=True)
    return np.array(price, float), np.array(room, float), np.array(count, np.int64)


def one_by_one(machines):
    """Return (price, index) of every worker that fits, in the order of placement."""
    ranked = sorted((price, h) for h, (price, _, _) in enumerate(machines))
    return [(p, h) for p, h in ranked for _ in range(machines[h][1] * machines[h][2])]


def test_the_price_of_a_worker_adds_up_its_resources():
    price = np.array([[1.0, 2.0], [10.0, 20.0], [5.0, 7.0]])  # (R, H)
    out = np.full(2, np.nan)
    unit_prices(price, np.array([3.0, 0.0, 2.0]), out)
    assert out.tolist() == [3 + 10, 6 + 14]


def test_room_is_what_the_scarcest_resource_leaves():
    free = np.array([[7.0, 6.0, 100.0, 1.0], [9.0, 2.0, 100.0, 9.0]])
    out = np.full(4, np.nan)
    units_that_fit(free, np.array([2.0, 3.0]), 5, out)
    assert out.tolist() == [3, 0, 5, 0]
    units_that_fit(free, np.array([0.0, 0.0]), 5, out)
    assert out.tolist() == [5, 5, 5, 5]


@given(MACHINES, st.integers(1, 20))
def test_cheapest_is_sorting(machines, most):
    price, room, count = arrays(machines)
    cost = np.full(most + 1, np.nan)
    placed = cheapest(price, room, count, most, np.empty(price.size, np.int64), cost)
    wanted = one_by_one(machines)[:most]
    assert placed == len(wanted)
    assert cost[: placed + 1].tolist() == np.cumsum([0, *(p for p, _ in wanted)]).tolist()


@given(MACHINES, st.integers(1, 20))
def test_place_is_sorting_and_ties_go_to_the_lowest_index(machines, number):
    price, room, count = arrays(machines)
    machine, amount = np.empty(price.size, np.int64), np.empty(price.size, np.int64)
    used = place(price, room, count, number, np.empty(price.size, np.int64), machine, amount)
    found = [h for h, n in zip(machine[:used], amount[:used], strict=True) for _ in range(n)]
    assert found == [h for _, h in one_by_one(machines)[:number]]
    assert (amount[:used] > 0).all()


def test_prices_that_differ_by_rounding_are_equal():
    price = np.array([0.1 + 0.2, 0.3, 0.3 * (1 - 1e-10)])
    machine, amount = np.empty(3, np.int64), np.empty(3, np.int64)
    ones = np.ones(3, np.int64)
    place(price, np.ones(3), ones, 3, np.empty(3, np.int64), machine, amount)
    assert machine.tolist() == [2, 0, 1]


def test_workers_are_as_many_as_their_ps_allow():
    # two workers need one PS, the third a second one, for which there is no room
    cost = np.full(4, np.nan)
    workers, ps = np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.0, 10.0])
    most = slot_cost(workers, 3, ps, 1, np.array([0, 1, 1, 2]), cost)
    assert most == 2
    assert cost[:3].tolist() == [0, 11, 12]


def test_leftovers_are_charged_by_hand():
    price, free = np.ones((1, 3)), np.array([[5.0, 4.0, 1.0]])
    room, unit = np.array([2.0, 2.0, 0.0]), np.array([2.0, 2.0, 2.0])
    charge_leftovers(price, free, room, 1.0, unit)
    assert unit.tolist() == [2.5, 2.0, 2.0]  # 5 / 2; nothing is left over; nothing fits
    charge_leftovers(price, free, room, 0.5, unit)
    assert unit.tolist() == [2.5, 2.0, 2.0]
    unit = np.array([2.0, 2.0, 2.0])
    charge_leftovers(price, free, room, 0.5, unit)
    assert unit.tolist() == [2.25, 2.0, 2.0]
