"""Round robin and first fit against placing one unit after another."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optsched.scheduling.online.round_robin import first_fit, round_robin

ROOMS = st.lists(st.integers(0, 6), min_size=1, max_size=8)


def one_by_one(room: list[int], number: int, start: int) -> tuple[list[int], int]:
    left, counts, at = list(room), [0] * len(room), start
    for _ in range(number):
        while left[at] == 0:
            at = (at + 1) % len(room)
        left[at] -= 1
        counts[at] += 1
        at = (at + 1) % len(room)
    return counts, at


def test_worked_by_hand():
    # From machine 2: 2, 3, (0 is full), 1, 2, 3, 1, 2. The next is 3.
    counts, after = round_robin(np.array([0, 2, 4, 2]), 7, start=2)
    assert counts.tolist() == [0, 2, 3, 2]
    assert after == 3


@given(ROOMS, st.data())
def test_equals_placing_one_by_one(room, data):
    number = data.draw(st.integers(0, sum(room)))
    start = data.draw(st.integers(0, len(room) - 1))
    counts, after = round_robin(np.array(room), number, start)
    assert (counts.tolist(), after) == one_by_one(room, number, start)


@given(ROOMS, st.integers(0, 60))
def test_first_fit_fills_up_in_order(room, number):
    counts = first_fit(np.array(room), number).tolist()
    assert sum(counts) == min(number, sum(room))
    last = max((h for h, n in enumerate(counts) if n), default=0)
    assert counts[:last] == room[:last]
    assert all(n <= r for n, r in zip(counts, room, strict=True))
