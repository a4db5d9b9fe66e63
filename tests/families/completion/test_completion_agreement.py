"""Brute force, Pyomo, CP-SAT and column generation agree on tiny instances of both kinds."""

import pytest
from independent.completion import optimum, tiny
from sweeps import sweep

from optsched.core import solve
from optsched.models.completion import completion_ilp
from optsched.problem import Status

INSTANCES = 200
CHUNK = 25


@pytest.mark.slow
@pytest.mark.parametrize("first", sweep(range(0, INSTANCES, CHUNK), 1))
def test_all_methods_agree(first):
    possible = closed = 0
    for seed in range(first, first + CHUNK):
        inst = tiny(seed)
        best = optimum(inst)
        for method in ("compact", "cpsat"):
            found = solve(inst, method=method, time_limit=60, check="claimed")
            assert found.value == pytest.approx(best), (seed, method)
            assert (found.status is Status.INFEASIBLE) == (best is None), (seed, method)
        # a certified bracket, and mostly a certified optimum
        found = solve(inst, time_limit=60)
        if best is None:
            assert found.value is None, seed
            continue
        possible += 1
        assert found.bound is not None, seed
        assert found.bound <= best * (1 + 1e-9), seed
        assert found.value is None or found.value >= best * (1 - 1e-9), seed
        if found.status is Status.OPTIMAL:
            closed += 1
            assert found.value == pytest.approx(best), seed
    assert possible >= 5
    assert closed == possible


def test_building_the_program_can_be_stopped():
    class StopError(Exception):
        pass

    def watch():
        raise StopError

    with pytest.raises(StopError):
        completion_ilp(tiny(0), watch=watch)
    found = solve(tiny(0), method="compact", time_limit=1e-6, check="claimed")
    assert not found.status.closed
