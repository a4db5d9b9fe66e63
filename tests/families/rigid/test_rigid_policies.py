"""Policies of family `rigid`: schedules that are known, and those of a second implementation."""

import re
from pathlib import Path

import numpy as np
import pytest
from rigid_twin import instance_of, random_log, reference, starts_of
from sweeps import sweep

import optsched
from optsched.families.rigid import FAMILY
from optsched.families.rigid.instance import (
    Machine,
    Platform,
    RigidInstance,
    RigidJob,
    Submission,
)
from optsched.families.rigid.policies.orders import RANKS, Multifactor, Ordered
from optsched.families.rigid.policies.queue import Easy
from optsched.problem import PolicyError

KNOWN = reference()
FIELDS = re.compile(r"^\| `self\.([^|]+)` \| (.*)", re.MULTILINE)
EXACT = ("fcfs", "easy", "conservative")


@pytest.mark.parametrize("name", KNOWN)
def test_schedules_of_the_reference(name):
    inst = instance_of(KNOWN[name])
    for policy in EXACT:
        if policy in KNOWN[name]:
            assert list(optsched.simulate(inst, policy).schedule.start) == KNOWN[name][policy]


@pytest.mark.parametrize("seed", sweep(range(60), 12))
def test_a_second_implementation_looks_at_every_second(seed):
    inst = random_log(seed)
    for policy in EXACT:
        assert list(optsched.simulate(inst, policy).schedule.start) == starts_of(inst, policy)


def test_exact_policies_know_run_times_and_others_do_not():
    inst = random_log(5, jobs=20)
    honest = inst.model_copy(
        update={"jobs": tuple(j.model_copy(update={"request": j.run}) for j in inst.jobs)}
    )
    for policy in ("easy", "conservative", "sjf"):
        exact = optsched.simulate(inst, f"{policy}-exact")
        assert exact.schedule == optsched.simulate(honest, policy).schedule
        assert exact.prior == {"run_times": [job.run for job in inst.jobs]}
        assert optsched.simulate(inst, policy).prior == {}
    events = FAMILY.events(inst)
    (_, job), *_ = next(events).arrived
    assert not hasattr(job, "run")


def test_shortest_jobs_overtake():
    jobs = tuple(RigidJob(arrival=0, run=run, request=run, need=(1,)) for run in (9, 5, 1))
    inst = RigidInstance(resources=("p",), machines=(Machine(capacity=(1,)),), jobs=jobs)
    for policy, starts in (("fcfs", (0, 9, 14)), ("sjf", (6, 1, 0)), ("f1", (6, 1, 0))):
        assert optsched.simulate(inst, policy).schedule.start == starts


def test_every_priority_runs_without_backfilling():
    inst = random_log(3, jobs=20)
    for rank in RANKS:
        run = optsched.simulate(inst, Ordered(rank, backfill=False))
        assert FAMILY.verify(inst, run.schedule).value == run.value


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda _: np.zeros(1), "returned 1 number, expected None or one number for each of"),
        (lambda _: 1.0, r"returned an array of shape \(\)"),
        (lambda jobs: np.zeros(len(jobs) + 1), "for each of the 3 waiting jobs"),
        (lambda jobs: np.zeros((len(jobs), 1)), r"returned an array of shape \(3, 1\)"),
        (lambda jobs: np.where(jobs == 1, np.nan, 0.0), "returned NaN for job 1"),
        (lambda jobs: ["1"] * len(jobs), "returned no numbers"),
        (lambda jobs: [None] * len(jobs), "returned no numbers"),
    ],
)
@pytest.mark.parametrize("backfill", [True, False])
def test_a_priority_is_one_number_for_each_waiting_job(returned, said, backfill):
    class Wrong(Ordered):
        def priority(self, _now, waiting):
            return returned(waiting)

    job = RigidJob(arrival=0, run=2, request=2, need=(1,))
    inst = RigidInstance(resources=("p",), machines=(Machine(capacity=(1,)),), jobs=(job,) * 3)
    policy = Wrong("sjf", backfill=backfill)
    policy.name = "wrong"
    with pytest.raises(PolicyError, match=f"priority .*{said}"):
        optsched.simulate(inst, policy)


@pytest.mark.parametrize("same", [None, [0, 0, 0], np.full(3, -np.inf)])
def test_equal_priorities_and_none_keep_the_order_of_submission(same):
    class Same(Easy):
        name = "same"

        def priority(self, _now, waiting):
            return same if same is None else same[: len(waiting)]

    jobs = tuple(RigidJob(arrival=0, run=run, request=run, need=(1,)) for run in (9, 5, 1))
    inst = RigidInstance(resources=("p",), machines=(Machine(capacity=(1,)),), jobs=jobs)
    assert optsched.simulate(inst, Same()).schedule.start == (0, 9, 14)


def test_a_long_last_job_is_no_queue_that_grows():
    jobs = [RigidJob(arrival=10 * k, run=2, request=2, need=(1,)) for k in range(9)]
    jobs.append(RigidJob(arrival=90, run=900, request=900, need=(1,)))
    inst = RigidInstance(resources=("p",), machines=(Machine(capacity=(1,)),), jobs=tuple(jobs))
    assert [
        s - job.arrival
        for s, job in zip(optsched.simulate(inst, "fcfs").schedule.start, jobs, strict=False)
    ] == [0] * 10
    (line,) = FAMILY.warnings(inst)
    assert line.startswith("the offered load is 10: ")
    assert line.endswith("a queue is likely")


def test_multifactor_prefers_a_partition_and_who_has_used_little():
    def job(user, partition=""):
        return RigidJob(arrival=0, run=10, request=10, need=(1,), user=user, partition=partition)

    one = {"resources": ("p",), "machines": (Machine(capacity=(1,)),)}
    inst = RigidInstance(jobs=(job("a"), job("a"), job("b")), **one)
    assert optsched.simulate(inst, Multifactor()).schedule.start == (0, 20, 10)
    inst = RigidInstance(jobs=(job("a"), job("b", "slow"), job("b", "fast")), **one)
    policy = Multifactor(fair=0.0, partition=1.0, partitions={"fast": 1.0})
    assert optsched.simulate(inst, policy).schedule.start == (10, 20, 0)


def test_multifactor_prefers_who_has_waited_longest():
    jobs = [RigidJob(arrival=t, run=10, request=10, need=(1,)) for t in (0, 1, 2)]
    inst = RigidInstance(resources=("p",), machines=(Machine(capacity=(1,)),), jobs=tuple(jobs))
    policy = Multifactor(fair=0.0, size=0.0)
    assert optsched.simulate(inst, policy).schedule.start == (0, 10, 20)


@pytest.mark.parametrize("policy", FAMILY.policies)
@pytest.mark.parametrize("seed", [1, 2])
def test_tasks_are_packed_onto_nodes(policy, seed):
    inst = FAMILY.generate("small", seed=seed, packed=True, machines=3, jobs=15)
    run = optsched.simulate(inst, policy)
    assert FAMILY.verify(inst, run.schedule).feasible


class Starts:
    """Starts jobs when it is stopped."""

    name, information, knows = "starts", "after", ()

    def __init__(self, decisions):
        self.decisions = decisions

    def start(self, _public, _prior, _streams):
        pass

    def step(self, event):
        return self.decisions.get(event.slot, ())


@pytest.mark.parametrize(
    ("decisions", "said"),
    [
        ({}, "job 0 never starts"),
        ({0: (1,)}, "job 1 is started, but submitted in second 5"),
        ({0: (0, 0)}, "job 0 was already started in second 0"),
        ({0: (0,), 5: (1,)}, "job 1 does not fit next to the running jobs"),
        ({0: (0, 7)}, "job 7 does not exist, expected 0..1"),
        ({0: (-1,)}, "job -1 does not exist"),
        ({0: ("x",)}, "is no tuple"),
    ],
)
def test_decisions_that_cannot_be_carried_out_are_refused(decisions, said):
    jobs = tuple(RigidJob(arrival=a, run=9, request=9, need=(2,)) for a in (0, 5))
    inst = RigidInstance(resources=("p",), machines=(Machine(capacity=(3,)),), jobs=jobs)
    with pytest.raises(PolicyError, match=said):
        optsched.simulate(inst, Starts(decisions))


def test_the_page_names_all_that_a_policy_of_ones_own_may_use():
    page = (Path(__file__).parents[3] / "docs" / "rigid.md").read_text()
    rows = {name: re.findall(r"`(\w+)`", rest) for name, rest in FIELDS.findall(page)}
    assert [*rows] == ["jobs[i]", "table[NAME]", "waiting`, `self.running", "public"]
    job, public = Submission.model_fields, Platform.model_fields
    assert {*rows["jobs[i]"]} - {"i"} == {*job}
    assert {*rows["public"]} == {*public}

    class Reader(Easy):
        name = "reader"

        def priority(self, now, waiting):
            assert {*self.waiting} == {*waiting}
            assert all(end > now and i in self.jobs for end, i in self.running)
            for i in waiting:
                known = {n: self.table[n][i] for n in rows["table[NAME]"]}
                assert known["arrival"] <= now
                assert known["planned"] == self.jobs[i].request
                assert tuple(known["need"]) == self.jobs[i].need
                assert (known["tasks"], known["weight"]) == (
                    self.jobs[i].tasks,
                    self.jobs[i].weight,
                )
            return np.array([self.table["arrival"][i] for i in waiting], float)

        def ended(self, i, now):
            seen.append(i)
            return super().ended(i, now)

    seen: list[int] = []
    inst = FAMILY.generate("small", seed=1)
    assert optsched.simulate(inst, Reader()).value == optsched.simulate(inst, "easy").value
    assert sorted(seen) == [*range(len(inst.jobs))]
