"""What CP-SAT reports of an optimum."""

import pytest
from independent.completion import optimum, tiny

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.cpsat import CpSatProgram, all_choices
from optsched.families.completion.optimum.relaxations.capacity import JobTables


@pytest.mark.slow
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
            program = CpSatProgram(
                JobTables(inst), all_choices(JobTables(inst), [inst.horizon] * len(inst.jobs))
            )
            monitor = Progress(FAMILY, inst, time_limit=30.0, gap=5.0)
            program.solve(monitor, threads=1, seed=0, claim=claim)
            values[claim] = monitor.value
        assert values[False] == best
        loose += values[True] > best
    assert loose  # else this would prove nothing
