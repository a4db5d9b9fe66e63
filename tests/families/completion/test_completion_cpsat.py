"""CP-SAT between a bound and a value: neither cuts off the optimum."""

from __future__ import annotations

import pytest
from completion_brute import optimum, tiny

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.cpsat import Program, all_choices
from optsched.families.completion.optimum.prices.capacity import Jobs


def solved(jobs, low, high):
    """Return how CP-SAT ends between two values, and the value it finds."""
    program = Program(jobs, all_choices(jobs, [jobs.inst.horizon] * len(jobs.modes)))
    program.bracket(low, high)
    monitor = Progress(FAMILY, jobs.inst, time_limit=30.0, gap=0.0)
    return program.solve(monitor, threads=1, seed=0), monitor.value


@pytest.mark.parametrize("scale", [1.0, 1 / 3, 0.123456789012345])
def test_a_bracket_holds_the_optimum(scale):
    """Weights that are not whole are rounded down, so the program sees less than the value."""
    looked = 0
    for seed in range(30):
        inst = tiny(seed)
        jobs = [job.model_copy(update={"weight": scale * job.weight}) for job in inst.jobs]
        inst = inst.model_copy(update={"jobs": tuple(jobs)})
        best = optimum(inst)
        if best is not None:
            looked += 1
            assert solved(Jobs(inst), best, best) == ("optimal", pytest.approx(best)), seed
            assert solved(Jobs(inst), None, best - 1.01 * scale)[0] == "infeasible", seed
            assert solved(Jobs(inst), best - scale, best + scale)[0] == "optimal", seed
    assert looked > 10


def test_a_gap_that_is_allowed_is_no_proof():
    """Who claims nothing reads from the status that nothing is better: then nothing may be."""
    loose = 0
    for seed in range(30):
        inst = tiny(seed)
        best = optimum(inst)
        if best is None:
            continue
        values = {}
        for claim in (True, False):
            program = Program(Jobs(inst), all_choices(Jobs(inst), [inst.horizon] * len(inst.jobs)))
            monitor = Progress(FAMILY, inst, time_limit=30.0, gap=5.0)
            program.solve(monitor, threads=1, seed=0, claim=claim)
            values[claim] = monitor.value
        assert values[False] == best
        loose += values[True] > best
    assert loose  # else this would prove nothing
