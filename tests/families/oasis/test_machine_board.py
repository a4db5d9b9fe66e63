"""The board of the search: jobs find a place, and every state can be brought back."""

import numpy as np
import pytest
from small_requests import request

from optsched.families.oasis.optimum.search.machine_board import MachineBoard


def board(*requests, workers=(2.0, 2.0), ps=(8.0,)):
    slots = 3
    capacity = (np.array([[w] for w in workers]), np.array([[p] for p in ps]))
    prices = tuple(np.zeros((len(requests), slots)) for _ in capacity)
    weight = tuple(np.ones((slots, 1, len(c))) for c in capacity)
    here = MachineBoard(requests, capacity, prices, weight, (1.0,))
    here.empty = [side.free.copy() for side in here.sides]
    return here


def consistent(here):
    for side, empty in zip(here.sides, here.empty, strict=True):
        used = np.einsum("thi,ir->trh", side.hosted.astype(float), side.demand)
        assert (side.free == empty - used).all()
        assert (side.free >= 0).all()
    assert here.value == sum(here.requests[i].utility[t] for i, t in here.plans.items())


def apart():
    """Return a board on which jobs 0 and 2 sit on different machines in slot 0."""
    small = request(work=1, most=1)
    here = board(small, small, small, request(work=1, most=1, demand=2.0))
    for i in (0, 1, 2):
        assert here.insert(i, 0)
    here.remove(1)
    assert {int(here.plan(i).entries[0, 2]) for i in (0, 2)} == {0, 1}
    return here


def test_a_job_comes_later_where_no_machine_has_room():
    here = apart()
    assert here.insert(3, 0)
    assert here.plans == {0: 0, 2: 0, 3: 1}
    consistent(here)


def test_workers_go_where_they_leave_the_least():
    here = board(request(work=5, most=5, demand=2.0), workers=(7.0, 4.0, 6.0))
    assert here.insert(0, 0)
    assert here.sides[0].hosted[0, :, 0].tolist() == [0, 2, 3]
    assert here.sides[0].free[0, 0].tolist() == [7, 0, 0]


def test_states_come_back():
    here = apart()
    back, before = here.keep(), {i: here.plan(i).entries.tolist() for i in here.plans}
    plan = here.remove(0)
    consistent(here)
    here.restore(0, plan)
    consistent(here)
    here.insert(3, 0)
    here.remove(2)
    consistent(here)
    back()
    consistent(here)
    assert {i: here.plan(i).entries.tolist() for i in here.plans} == before


def test_a_job_that_does_not_pay_stays_out():
    here = board(request(utility=(0, 0, 0)), request(work=40))
    assert not here.insert(0, 0)
    assert not here.insert(1, 0)
    assert here.plans == {}
    assert here.value == 0


@pytest.mark.parametrize("seed", range(5))
def test_random_moves_keep_the_books(seed):
    draw = np.random.default_rng(seed)
    jobs = [
        request(work=int(w), most=3, demand=float(d))
        for w, d in zip(draw.integers(1, 7, 8), draw.integers(1, 4, 8), strict=True)
    ]
    here = board(*jobs, workers=(3.0, 3.0, 4.0), ps=(2.0, 3.0))
    for _ in range(40):
        i = int(draw.integers(8))
        if i in here.plans:
            here.remove(i)
        else:
            here.insert(i, 0)
        consistent(here)
