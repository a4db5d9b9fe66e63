from importlib import import_module

import pytest
from independent.oasis import FILES, load, schedule, simple_job
from pydantic import ValidationError

from optsched.families.oasis import FAMILY
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisJob, OasisSchedule
from optsched.families.oasis.verify import MANY, verify
from optsched.numbers.resources import MachineClass


def job(**changes) -> OasisJob:
    """One slot of two workers with one PS; worth 12 / (1 + delay)."""
    data = {
        "arrival": 1,
        "epochs": 2,
        "chunks": 2,
        "batch_time": 0.5,
        "ps_bandwidth": 2,
        "worker_demand": (1, 0.1),
        "ps_demand": (0, 1.5),
        "utility": {"kind": "inverse", "scale": 12},
    }
    return simple_job(**(data | changes))


@pytest.fixture
def inst() -> OasisInstance:
    return OasisInstance(
        horizon=4,
        resources=("gpu", "memory"),
        worker_machines=(MachineClass(count=2, capacity=(2, 0.3)),),
        ps_machines=(MachineClass(count=2, capacity=(0, 2)),),
        jobs=(job(), job(arrival=0, chunks=4, batch_time=0.25)),
    )


def plan(workers=(), ps=()) -> JobSchedule:
    return JobSchedule(workers=tuple(workers), ps=tuple(ps))


GOOD = plan([(2, 0, 1), (2, 1, 1)], [(2, 0, 1)])


def judge(inst, first=GOOD, second=None, **how):
    return verify(inst, OasisSchedule(jobs=(first, second)), **how)


@pytest.mark.parametrize("many", [0, MANY], ids=["at once", "one by one"])
def test_value_by_hand(inst, many, monkeypatch):
    monkeypatch.setattr(import_module(verify.__module__), "MANY", many)
    assert inst.work == (2, 2)
    # Job 0 completes in slot 2, one after its arrival: 12 / 2. Job 1 in slot 3: 12 / 4.
    verdict = judge(inst, second=plan([(0, 0, 1), (3, 1, 1)], [(0, 1, 1), (3, 1, 1)]))
    assert verdict.violations == ()
    assert verdict.value == 6 + 3
    assert verdict.completion == (2, 3)
    assert str(verdict) == "feasible: value 9, 2 of 2 jobs completed"


def test_nothing_admitted_is_worth_nothing(inst):
    verdict = judge(inst, None)
    assert (verdict.value, verdict.completion) == (0, (None, None))


def test_work_beyond_what_is_needed_is_allowed_and_delays_completion(inst):
    longer = plan([*GOOD.workers, (3, 0, 1)], [*GOOD.ps, (3, 0, 1)])
    assert judge(inst, longer).completion[0] == 3


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (plan([(2, 0, 1)], [(2, 0, 1)]), "(2) broken by 1 at job 0: 1 of 2 worker-slots"),
        (plan(), "(2) broken by 2 at job 0: 0 of 2 worker-slots"),
        (
            plan([(2, 0, 2), (2, 1, 1)], [(2, 0, 1), (2, 1, 1)]),
            "(3) broken by 1 at job 0, slot 2: 3 workers, at most 2",
        ),
        (
            plan([(2, 0, 2), (3, 0, 2), (2, 0, 2)], [(2, 0, 1), (2, 1, 1), (3, 0, 1)]),
            "(4) broken by 2 at worker machine 0, gpu, slot 2",
        ),
        (
            plan([(2, 0, 1), (2, 1, 1)], [(2, 0, 2)]),
            "(5) broken by 1 at ps machine 0, memory, slot 2",
        ),
        (
            plan(GOOD.workers),
            "(6) broken by 2 at job 0, slot 2: 0 parameter servers for 2 workers",
        ),
        (
            plan(GOOD.workers, [(2, 0, 1), (3, 0, 1)]),
            "(7) broken by 1 at job 0, slot 3: 1 parameter servers for 0 workers",
        ),
        (
            plan([*GOOD.workers, (0, 0, 1)], [*GOOD.ps, (0, 0, 1)]),
            "(9) broken by 1 at job 0, slot 0: before its arrival 1",
        ),
        (
            plan(GOOD.workers, [*GOOD.ps, (0, 0, 1)]),
            "(10) broken by 1 at job 0, slot 0: before its arrival 1",
        ),
        (
            plan([*GOOD.workers, (4, 0, 1)], GOOD.ps),
            "(12) broken by 1 at job 0: slot 4 of 4, worker machine 0 of 2 does not exist",
        ),
        (
            plan(GOOD.workers, [*GOOD.ps, (2, 2, 1)]),
            "(13) broken by 1 at job 0: slot 2 of 4, ps machine 2 of 2 does not exist",
        ),
    ],
    ids=["2", "2-empty", "3", "4", "5", "6", "7", "9", "10", "12", "13"],
)
@pytest.mark.parametrize("many", [0, MANY], ids=["at once", "one by one"])
def test_every_kind_of_damage_is_named(inst, damaged, message, many, monkeypatch):
    monkeypatch.setattr(import_module(verify.__module__), "MANY", many)
    verdict = judge(inst, damaged)
    assert not verdict.feasible
    assert verdict.value is None
    assert message in str(verdict)


def test_jobs_share_the_machines(inst):
    verdict = judge(inst, second=plan([(2, 0, 2)], [(2, 1, 1)]))
    assert [str(v) for v in verdict.violations] == [
        "(4) broken by 1 at worker machine 0, gpu, slot 2"
    ]


def test_a_load_within_the_tolerance_fits(inst):
    # three times 0.1 is 0.3, whatever floats state
    three = job(worker_demand=(0, 0.1), chunks=3, epochs=1, batch_time=1)
    instance = inst.model_copy(update={"jobs": (three, three)})
    verdict = judge(instance, plan([(1, 0, 3)], [(1, 0, 1), (1, 1, 1)]))
    assert verdict.feasible, str(verdict)


def test_a_schedule_of_another_number_of_jobs_is_rejected(inst):
    verdict = verify(inst, OasisSchedule(jobs=(GOOD,)))
    assert "schedule of 1 jobs, expected 2" in str(verdict)


def test_unfinished_jobs_earn_nothing_where_that_is_allowed(inst):
    half = plan([(3, 0, 1)], [(3, 0, 1)])
    verdict = judge(inst, half, plan(), unfinished=True)
    assert verdict.feasible
    assert (verdict.value, verdict.completion) == (0, (None, None))
    # every other constraint is requested of them all the same
    alone = plan([(2, 0, 1)])
    assert "(6) broken by 1 at job 0, slot 2" in str(judge(inst, alone, unfinished=True))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_reference_schedules(path):
    inst, reference = load(path)
    assert list(inst.work) == reference["work"]
    best = verify(inst, schedule(reference["optimum_schedule"]))
    assert best.value == pytest.approx(reference["optimum"], rel=1e-9)
    assert list(best.completion) == reference["optimum_completion"]
    online = verify(inst, schedule(reference["online"]["schedule"]))
    assert online.value == pytest.approx(reference["online"]["value"], rel=1e-9)
    assert list(online.completion) == reference["online"]["completion"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_reference_mutants(path):
    inst, reference = load(path)
    assert reference["mutants"]["rejected"]
    for mutant in reference["mutants"]["rejected"]:
        if (
            min(
                x
                for plan in mutant["schedule"]
                if plan
                for side in plan.values()
                for e in side
                for x in e
            )
            < 0
        ):
            with pytest.raises(ValidationError, match="greater than or equal to 0"):
                schedule(mutant["schedule"])  # a slot before the first: no schedule at all
            continue
        verdict = verify(inst, schedule(mutant["schedule"]))
        assert not verdict.feasible
        # the reason names the equation of the first damage: "job 4: (6)"
        equation = mutant["reason"].split("(")[-1].split(")")[0]
        assert equation in {v.equation for v in verdict.violations}, mutant["reason"]
    for mutant in reference["mutants"].get("accepted", []):
        verdict = verify(inst, schedule(mutant["schedule"]))
        assert verdict.value == pytest.approx(mutant["value"], rel=1e-9)


@pytest.mark.parametrize("utility", [{"kind": "inverse"}, {"kind": "table", "values": [3, 2, 1]}])
def test_a_worker_before_the_arrival_is_reported_and_worth_nothing(inst, utility):
    early = inst.model_copy(update={"jobs": (job(utility=utility), inst.jobs[1])})
    for unfinished in (False, True):
        verdict = judge(early, plan([(0, 0, 2)], [(0, 0, 1)]), unfinished=unfinished)
        assert verdict.value is None
        assert [v.equation for v in verdict.violations] == ["9", "10"]
        assert verdict.completion[0] is None


def test_amounts_beyond_all_floats_are_reported(inst):
    # 2^53 workers of a demand of 1e9: (2) to (7) are broken, by numbers that can be shown
    most = 2**53 - 1
    large = inst.model_copy(update={"jobs": (job(worker_demand=(999_999_999, 0)), inst.jobs[1])})
    verdict = judge(large, plan([(2, 0, most)] * 300, [(2, 0, most)] * 300))
    assert {v.equation for v in verdict.violations} >= {"3", "4", "5"}
    assert "rejected" in str(verdict)
    with pytest.raises(ValidationError):
        plan([(2, 0, most + 1)])


def test_trim_drops_jobs_that_do_not_complete(inst):
    half = plan([(3, 0, 1)], [(3, 0, 1)])
    schedule = OasisSchedule(jobs=(GOOD, half))
    assert not verify(inst, schedule).feasible
    trimmed = FAMILY.trim(inst, schedule)
    assert trimmed.jobs == (GOOD, None)
    assert verify(inst, trimmed).value == verify(inst, schedule, unfinished=True).value
    assert verify(inst, FAMILY.empty(inst)).value == 0
