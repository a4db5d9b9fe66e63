"""Pictures show what happens, not the rest of a far horizon."""

import pytest

from optsched import simulate
from optsched.families.completion.pictures import pictures
from optsched.families.completion.sources.presets import generate


@pytest.mark.parametrize("policies", [(), ("fifo", "a_online")])
def test_charts_end_with_the_last_job(policies):
    inst = generate("small", seed=0)
    inst = inst.model_copy(update={"horizon": 5000})
    runs = {name: simulate(inst, name).schedule for name in policies}
    drawn = pictures(inst, runs)
    ends = [piece.end for s in runs.values() for job in s.jobs for piece in job]
    for figure in drawn.values():
        for axis in figure.axes[: max(1, len(runs))]:
            assert axis.get_xlim()[1] < 5000
            assert not runs or axis.get_xlim()[1] == max(ends)
