"""Decisions on their way back: whole numbers in any spelling of JSON, and nothing else."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from optsched import get_family
from optsched.scheduling.placement import Placement

WIRE = get_family("dmlrs").wire
PLATFORM = SimpleNamespace(machines=[SimpleNamespace(count=9)])
WRONG = [-1, 2**62, True, 1.0, "x", "", " 3", "-3", "9" * 19, "\u0663", None]


def read(workers):
    return WIRE.read_decision(PLATFORM, {"0": {"workers": workers, "ps": {"4": 1}}})[0]


def take(workers):
    return WIRE.take({0: Placement(workers, {4: 1})})[0]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize("more", [{}, {2: 5}], ids=["alone", "among others"])
def test_what_is_no_whole_number_is_refused(wrong, more):
    for into in (take, read):
        with pytest.raises(ValueError, match="as a number, expected a whole number >= 0"):
            into({1: wrong} | more)
        with pytest.raises(ValueError, match="as a machine, expected a whole number >= 0"):
            into({wrong: 1} | more)


@pytest.mark.parametrize("workers", [{}, {3: 2, 1: 7}, {"3": 2, "1": 7}, {np.int64(3): np.int8(2)}])
def test_whole_numbers_come_through_in_their_places(workers):
    expected = {int(h): int(n) for h, n in workers.items()}
    for found in (take(workers), read(workers)):
        assert dict(found.workers) == expected
        assert [*found.workers] == [*expected]
        assert dict(found.ps) == {4: 1}
        with pytest.raises(TypeError):
            found.workers[9] = 1


def test_jobs_keep_their_own_machines():
    decision = {
        7: Placement({1: 2}, {}),
        5: Placement({}, {3: 1}),
        6: Placement({0: 1, 2: 4}, {1: 1}),
    }
    sent = json.loads(json.dumps(WIRE.decision(decision)))
    assert WIRE.read_decision(PLATFORM, sent) == WIRE.take(decision) == decision


def test_more_machines_than_there_are_are_refused_at_once():
    with pytest.raises(ValueError, match="has 10 machines for job 0, expected at most 9"):
        read(dict.fromkeys(range(10), 0))
