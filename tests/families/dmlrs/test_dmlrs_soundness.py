"""Tiny instances of family `dmlrs` in other units, or extreme, against what is right."""

from __future__ import annotations

from small_soundness import failures

from optsched.families.dmlrs.certificate.format import DmlrsCertificate, check
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, DmlrsSchedule, JobSchedule
from optsched.families.dmlrs.verify import verify
from optsched.numbers.resources import MachineClass
from optsched.numbers.utility import Constant


def test_nothing_is_wrong_in_other_units(tmp_path):
    assert failures("dmlrs", tmp_path, 1e-9, 1e9) == []


def test_workers_that_send_next_to_nothing_have_a_server_all_the_same():
    """No PS at all would leave a lone worker on one machine, where this job finds no room."""
    job = DmlrsJob(
        arrival=0,
        epochs=1,
        chunks=1,
        batches_per_chunk=1,
        batch_time=1.0,
        gradient_mb=0.0,
        inner_bandwidth=0.01,
        outer_bandwidth=1e-10,
        ps_bandwidth=1.0,
        worker_demand=(1.0, 0.0),
        ps_demand=(0.0, 1.0),
        utility=Constant(value=1.0),
    )
    machines = [MachineClass(capacity=(1.0, 0.0)), MachineClass(capacity=(0.0, 1.0))]
    inst = DmlrsInstance(horizon=3, resources=("a", "b"), machines=machines, jobs=(job,))
    where = JobSchedule(workers=((0, 0, 1),), ps=((0, 1, 1),))
    assert verify(inst, DmlrsSchedule(jobs=(where,))).value == 1
    assert check(inst, DmlrsCertificate.root(inst, None, 20)) >= 1
