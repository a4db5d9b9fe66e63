"""Random streams: the quick ways to many of them are numpy's own streams."""

from __future__ import annotations

import pytest

from optsched.numbers.streams import Ahead, Streams


def draws(rng):
    return [*rng.integers(0, 9, 3).tolist(), rng.random(), *rng.uniform(1, 2, 2).tolist()]


@pytest.mark.parametrize("seed", [0, 1, 7, 2**32 - 1, 2**32, 2**40 + 3, 2**70])
@pytest.mark.parametrize("attribute", ["arrival", "utility"])
def test_streams_of_many_jobs(seed, attribute):
    streams, jobs = Streams(seed), range(5, 30)
    expected = [draws(streams(attribute, j)) for j in jobs]
    assert [draws(rng) for rng in streams.each(attribute, jobs)] == expected


def test_streams_in_any_order():
    plain, ahead = Streams(3), Ahead(3)
    for attribute, j in [("a", 0), ("a", 1), ("b", 4), ("a", 1), ("a", 0), ("a", 5000), ("b", 5)]:
        assert draws(ahead(attribute, j)) == draws(plain(attribute, j)), (attribute, j)
    assert Ahead(3) != Ahead(4)
