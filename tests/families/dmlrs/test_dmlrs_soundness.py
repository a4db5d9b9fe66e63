"""Extreme instances of family `dmlrs`, against what is right."""

import pytest
from independent.cases import FIELDS, case, scaled
from independent.dmlrs import mixed, optimum, simple_job, tiny

from optsched.core import solve
from optsched.families.dmlrs.certificate.check import DmlrsCertificate, check
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, JobSchedule
from optsched.families.dmlrs.verify import verify
from optsched.numbers.resources import MachineClass
from optsched.numbers.utility import Constant
from optsched.problem import Status


def test_workers_that_send_next_to_nothing_have_a_server_all_the_same():
    """No PS at all would leave a lone worker on one machine, where this job finds no room."""
    job = simple_job(
        inner_bandwidth=0.01,
        outer_bandwidth=1e-10,
        worker_demand=(1.0, 0.0),
        ps_demand=(0.0, 1.0),
    )
    machines = [MachineClass(capacity=(1.0, 0.0)), MachineClass(capacity=(0.0, 1.0))]
    inst = DmlrsInstance(horizon=3, resources=("a", "b"), machines=machines, jobs=(job,))
    where = JobSchedule(workers=((0, 0, 1),), ps=((0, 1, 1),))
    assert verify(inst, DmlrsSchedule(jobs=(where,))).value == 1
    assert check(inst, DmlrsCertificate.root(inst, None, 20)) >= 1


SCALES = (7.75e5, 1.3e7, 9.26e8, 3.3e10, 7.1e-12)


@pytest.mark.parametrize("seed", range(1000, 1006))
def test_the_program_over_slots_states_values_of_the_instance_in_any_unit(seed):
    drawn = tiny(seed)
    for scale in SCALES:
        found = solve(scaled(drawn, FIELDS["utilities"], scale), time_limit=60)
        assert (found.status, found.defects) == (Status.OPTIMAL, ())
        assert found.value == pytest.approx(optimum(drawn) * scale, rel=1e-9)


@pytest.mark.parametrize("seed", [104, 237, 277, 310, 321])
def test_a_job_that_finds_room_on_one_machine_only_has_no_outer_placement(seed):
    inst = mixed(seed)
    found = solve(inst, time_limit=60)
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(optimum(inst), rel=1e-6)


@pytest.mark.parametrize("seed", [16, 28])
def test_link_by_link_a_rich_job_that_finds_no_place_sets_no_scale(seed):
    here = case("dmlrs", "one job", 1e12, seed)
    assert here.instance.locality == "link"
    for method in ("auto", "compact"):
        found = solve(here.instance, method=method, time_limit=60)
        assert found.status.closed
        assert here.truth.reached(found.value, 1e-9)


def test_a_claim_of_highs_allows_for_what_it_does_not_look_at():
    """Apart, two workers and a PS have room; they do not fit on machines, so 3 is all there is."""
    some = {"chunks": 2, "ps_bandwidth": 2.0, "ps_demand": (1.0,)}
    inst = DmlrsInstance(
        slot_seconds=0.008,
        horizon=1,
        resources=("gpu",),
        machines=(MachineClass(capacity=(2.0,)), MachineClass(capacity=(2.0,))),
        jobs=(
            simple_job(**some, worker_demand=(2.0,), utility=Constant(value=1e13)),
            simple_job(**some, worker_demand=(1.0,), utility=Constant(value=3.0)),
        ),
    )
    found = solve(inst, method="compact", time_limit=60)
    assert optimum(inst) == 3
    assert found.bound >= 3
    assert found.value == 3 or not found.status.closed
