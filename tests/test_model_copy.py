"""Copies of instances with other data: checked again, without anything computed of the old ones."""

import pytest
from pydantic import ValidationError

import optsched
from optsched.problem import families

PARTS = {"bot": "applications", "bipartite": "arrivals"}  # the others have jobs


@pytest.mark.parametrize("family", families())
def test_a_copy_with_other_data_is_as_if_it_were_new(family):
    inst = optsched.get_family(family).generate("small", seed=1)
    optsched.simulate(inst, next(iter(optsched.get_family(family).policies)))
    optsched.solve(inst, work_limit=50)
    part = PARTS.get(family, "jobs")
    change = {part: getattr(inst, part)[:: -1 if family == "bipartite" else 2]}
    new = type(inst)(**{name: getattr(inst, name) for name in type(inst).model_fields} | change)
    copy = inst.model_copy(update=change)
    assert copy == new != inst
    assert optsched.solve(copy, work_limit=50).value == optsched.solve(new, work_limit=50).value


def test_a_copy_with_wrong_data_is_refused():
    inst = optsched.get_family("oasis").generate("small", seed=1)
    with pytest.raises(ValidationError, match="arrival 99 is outside the horizon"):
        inst.model_copy(update={"jobs": [inst.jobs[0].model_copy(update={"arrival": 99})]})


def test_a_copy_of_a_part_keeps_nothing_that_was_computed():
    platform = optsched.get_family("oasis").generate("small", seed=1).platform()
    machines = platform.worker_machines[:1]
    assert len(platform.worker_capacity) > machines[0].count
    copy = platform.model_copy(update={"worker_machines": machines})
    assert len(copy.worker_capacity) == machines[0].count
