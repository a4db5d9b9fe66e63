"""Extreme instances of family `oasis`, against what is right."""

import pytest
from independent.cases import case

from optsched.core import solve
from optsched.engine.interval import CLOSED
from optsched.problem import Status


@pytest.mark.parametrize("seed", range(16))
def test_a_rich_job_that_cannot_run_sets_no_scale(seed):
    for scale in (1e9, 1e12):
        here = case("oasis", "one job", scale, seed)
        found = solve(here.instance, time_limit=60)
        assert found.status is Status.OPTIMAL
        assert here.truth.reached(found.value, CLOSED)
        for method in ("compact", "cpsat"):
            found = solve(here.instance, method=method, time_limit=60)
            assert found.status.closed
            assert here.truth.reached(found.value, CLOSED)
