"""Random streams: the first draws of many jobs are those of every job's own stream."""

import numpy as np
import pytest

from optsched.numbers.streams import Streams, draw_whole


@pytest.mark.parametrize("seed", [0, 7, 2**32, 2**70])
def test_first_draws_of_many_jobs(seed):
    streams, jobs = Streams(seed), range(3, 2000)
    each = [streams("a", j) for j in jobs]
    assert streams.randoms("a", jobs, 4).tolist() == [rng.random(4).tolist() for rng in each]
    limits = np.linspace(1.5, 90.0, len(jobs))
    expected = [streams("a", j).uniform(1.25, x) for j, x in zip(jobs, limits, strict=True)]
    assert streams.uniforms("a", jobs, 1.25, limits).tolist() == expected


@pytest.mark.parametrize("high", [-4, -3, 5, 2**31, 3 * 2**30, 2**32 - 6, 2**32 - 5, 2**32, 2**40])
def test_whole_numbers_of_many_jobs(high):
    streams, jobs = Streams(5), range(200)
    expected = [draw_whole(streams("a", j), (-4, high)) for j in jobs]
    assert streams.wholes("a", jobs, -4, high).tolist() == expected
    each = np.minimum(np.arange(len(jobs)), high)
    expected = [draw_whole(streams("a", j), (-4, x)) for j, x in zip(jobs, each, strict=True)]
    assert streams.wholes("a", jobs, -4, each).tolist() == expected
    assert streams.wholes("a", range(0), -4, high).tolist() == []
