"""Judges of `oasis` and `dmlrs`: whatever a schedule holds, they say what is wrong with it."""

import math

import pytest
from independent import dmlrs
from known_optima import of_oasis

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, JobSchedule
from optsched.families.oasis.instance import OasisSchedule
from optsched.numbers.utility import Constant, Inverse, Sigmoid, Table
from optsched.problem import get_family


def told(inst, schedule, **how):
    """Return the verdict on a schedule, which states what is wrong, or what it earns."""
    verdict = get_family(inst.family).verify(inst, schedule, **how)
    assert (verdict.value is None) == bool(verdict.violations)
    assert all(math.isfinite(v.amount) for v in verdict.violations)
    assert str(verdict)
    return verdict


@pytest.mark.parametrize("copies", [1, 3])
def test_the_judge_reports_what_no_file_should_hold(copies):
    most = 2**53 - 1
    for seed in range(6):
        inst, _ = of_oasis(seed)
        hostile = (
            [],
            [(0, 0, most)] * copies,
            [(most, most, most)] * copies,
            [(inst.horizon, 0, 1)] * copies,
            [(0, len(inst.worker_capacity), 1)] * copies,
            [(max(0, inst.jobs[0].arrival - 1), 0, inst.work[0])] * copies,
        )
        for workers in hostile:
            for ps in hostile:
                plan = {"workers": workers, "ps": ps}
                jobs = [plan] + [None] * (len(inst.jobs) - 1)
                for n in (0, 1, len(jobs), len(jobs) + 5):
                    told(inst, OasisSchedule.model_validate({"jobs": (jobs * 9)[:n]}))


UTILITIES = [
    Inverse(scale=3.0),
    Constant(value=3.0),
    Table(values=(3.0, 2.0)),
    Sigmoid(scale=3.0, decay=700.0, target=-3.0),
]


@pytest.mark.parametrize("utility", UTILITIES, ids=lambda u: u.kind)
@pytest.mark.parametrize("locality", ["job", "link"])
def test_the_judge_reports_what_no_schedule_should_hold(utility, locality):
    data = dmlrs.tiny(5, locality).model_dump()
    data["jobs"] = [job | {"arrival": 2, "utility": utility} for job in data["jobs"]]
    inst = DmlrsInstance.model_validate(data)
    huge, enough = 10**5000, 10**6
    hostile = [
        (),
        ((1, 0, enough),),  # done one slot before it came, where 1 / (1 + d) has no value
        ((0, 0, enough),),
        ((2, 0, huge), (2, 0, huge)),
        ((huge, 0, 1),),
        ((2, huge, 1),),
        tuple((2, h % 2, 1) for h in range(1000)),
    ]
    for workers in hostile:
        for ps in hostile:
            plan = JobSchedule.model_construct(workers=workers, ps=ps)
            for jobs in ((plan,), (plan,) * len(inst.jobs), (plan,) * 9, ()):
                schedule = DmlrsSchedule.model_construct(jobs=jobs)
                told(inst, schedule)
                told(inst, schedule, unfinished=True)
