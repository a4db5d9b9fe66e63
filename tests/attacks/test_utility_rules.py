"""Families `oasis` and `dmlrs`: a schedule that only a policy may leave behind is no optimum."""

import pytest
from forging import forged, refused_or_right, second_look
from independent import dmlrs, oasis
from sweeps import sweep

from optsched import solve
from optsched.problem import get_family

DRAWN = {
    "oasis": (oasis.random_instance, oasis.optimum),
    "dmlrs": (dmlrs.tiny, dmlrs.optimum),
}


def cases(family, number):
    """Yield instances whose optimum is above 0, the optimum, and a schedule that has it."""
    draw, optimum = DRAWN[family]
    found = 0
    for seed in range(200_000, 200_100):
        inst = draw(seed)
        truth = optimum(inst)
        if truth > 0 and found < number:
            found += 1
            yield inst, truth, solve(inst, time_limit=60).schedule
    assert found == number


def damaged(schedule, change):
    content = schedule.model_dump(mode="json")
    for job in content["jobs"]:
        if job is not None:
            change(job)
    return type(schedule).model_validate(content)


CLAIMED = {"status": "feasible", "bound_level": None, "certified_bound": None}
CHANGES = {
    "one worker fewer": lambda job: job["workers"].pop(),
    "no PS": lambda job: job["ps"].clear(),
    "no workers": lambda job: job["workers"].clear(),
    "nothing at all": lambda job: (job["workers"].clear(), job["ps"].clear()),
    "twice as many workers": lambda job: job["workers"].extend(list(job["workers"])),
    "all a slot earlier": lambda job: [
        entry.__setitem__(0, max(0, entry[0] - 1)) for side in job.values() for entry in side
    ],
}


@pytest.mark.parametrize("family", DRAWN)
@pytest.mark.parametrize("what", sweep(CHANGES, 3))
def test_what_is_left_unfinished_earns_nothing(family, what, tmp_path):
    for inst, truth, schedule in cases(family, 4):
        wrong = damaged(schedule, CHANGES[what])
        free = get_family(family).verify(inst, wrong, unfinished=True).value
        for value in {free, truth, truth * 1.5} - {None}:
            claim = forged(
                inst, wrong, value, bound_level=None, certified_bound=None, status="feasible"
            )
            refused_or_right(second_look(tmp_path, inst, claim), "max", truth)
            refused_or_right(second_look(tmp_path, inst, forged(inst, wrong, value)), "max", truth)
