"""A log from which jobs are missing shows others that waited on free machines."""

import random
import re

import pytest

import optsched
from optsched.families.rigid.instance import Machine, RigidInstance, RigidJob
from optsched.families.rigid.sources.idle import free_while_waiting
from optsched.problem import Window, get_family
from optsched.process import messages

TOLD = "enough free for them in the recorded schedule. Reasons may be that the scheduler kept it "


def busy(seed):
    """Return jobs on eight cores, and when EASY starts them."""
    draw, jobs, now = random.Random(seed), [], 0
    for _ in range(300):
        now += draw.randint(0, 72)
        run, cores = draw.randint(10, 200), draw.choice((1, 1, 2, 2, 4, 8))
        jobs.append(RigidJob(arrival=now, run=run, request=2 * run, tasks=cores, need=(1,)))
    inst = RigidInstance(resources=("cpu",), machines=(Machine(capacity=(8,)),), jobs=jobs)
    return jobs, optsched.simulate(inst, "easy").schedule.start


@pytest.mark.parametrize("seed", range(2))
def test_half_a_log_is_remarked_and_a_complete_one_is_not(tmp_path, seed):
    jobs, start = busy(seed)
    head = "submit_seconds,start_seconds,run_seconds,tasks"
    rows = [f"{j.arrival},{s},{j.run},{j.tasks}" for j, s in zip(jobs, start, strict=True)]
    draw = random.Random(seed)
    (tmp_path / "nodes.csv").write_text("gpu,cpu,memory_gb\n0,8,64\n")
    logs = {
        "whole": (rows, False),
        "half": ([row for row in rows if draw.random() < 0.5], True),
        "end": (rows[150:], False),  # whose first jobs waited for others
        "window": (rows, False),
    }
    for name, (some, partial) in logs.items():
        (tmp_path / "jobs.csv").write_text("\n".join([head, *some]))
        begin = "#150" if name == "window" else None
        window = Window(machines=tmp_path / "nodes.csv", start=begin)
        with messages.collected_remarks() as remarks:
            get_family("rigid").open_trace(tmp_path / "jobs.csv", window)
        assert (TOLD in "\n".join(remarks)) == partial, name
        of = re.compile(
            r"for \d+% of the [\d.]+ h that \d+ jobs waited \(each more than 60 s\), the"
        )
        assert any(map(of.match, remarks)) == partial
        assert "sacct" not in "\n".join(remarks)  # the log is not of Slurm


def test_nodes_of_other_partitions_are_not_free_for_jobs_that_wait(tmp_path):
    jobs, start = busy(0)
    head = "submit_seconds,start_seconds,run_seconds,tasks,partition"
    whole = [f"{j.arrival},{s},{j.run},{j.tasks},a" for j, s in zip(jobs, start, strict=True)]
    end = f"{jobs[-1].arrival},{jobs[-1].arrival},10,1,b"
    some = [row for k, row in enumerate(whole) if k % 2]
    divided = "gpu,cpu,memory_gb,partition\n0,8,64,a\n0,64,64,b\n"
    pooled = "\n".join(line.rpartition(",")[0] for line in divided.splitlines())
    for rows, nodes, partial in ((whole, divided, False), (some, divided, True),
                                 (whole, pooled, False)):  # fmt: skip
        (tmp_path / "jobs.csv").write_text("\n".join([head, *rows, end]))
        (tmp_path / "nodes.csv").write_text(nodes)
        with messages.collected_remarks() as remarks:
            get_family("rigid").open_trace(
                tmp_path / "jobs.csv", Window(machines=tmp_path / "nodes.csv")
            )
        told = f"the nodes of their partitions together had {TOLD}"
        assert (told in "\n".join(remarks)) == (TOLD in "\n".join(remarks)) == partial


@pytest.mark.parametrize("first", [True, False])
def test_what_jobs_used_that_never_fit_is_not_free(tmp_path, first):
    rows = [f"{1 + k},1000,100,1" for k in range(8)] * 4
    large = "0,0,1000,9"  # more than the list has
    rows = [large, *rows] if first else ["0,0,1,1", large, *rows]
    head = "submit_seconds,start_seconds,run_seconds,tasks"
    (tmp_path / "jobs.csv").write_text("\n".join([head, *rows, "5000,5000,1,1"]))
    (tmp_path / "nodes.csv").write_text("gpu,cpu,memory_gb\n0,8,64\n")
    window = Window(machines=tmp_path / "nodes.csv", skip_unfit=True)
    with messages.collected_remarks() as remarks:
        get_family("rigid").open_trace(tmp_path / "jobs.csv", window)
    told = "\n".join(remarks)
    assert "left out, since they never fit on the machines: 1 of " in told
    assert TOLD not in told
    assert "empty cluster" not in told


def test_shares_of_waiting_times_by_hand():
    """Job 1 waits 900 s, 350 of them on free cores, job 2 100 s for a full pool; 3 starts last.

    Job 4 waits a minute on a free pool, which may only be the scheduler's cycle.
    """
    jobs = [
        RigidJob(arrival=a, run=r, request=r, tasks=n, need=(1,))
        for a, r, n in ((0, 600, 4), (100, 100, 4), (500, 50, 1), (2000, 1, 1), (1400, 1, 1))
    ]
    inst = RigidInstance(resources=("cpu",), machines=(Machine(capacity=(4,)),), jobs=jobs)
    share, waited, number = free_while_waiting(inst, [0, 1000, 600, 5000, 1460])
    # of job 1: full until 600, then job 2 until 650, then 350 s free; of job 2: full until 600
    assert (share, waited, number) == (350 / (900 + 100), 1000 / 3600, 2)
    # job 0 waits for 100 s of a free pool, job 1 from 700 on; nothing is free while job 2 waits
    share, _, number = free_while_waiting(inst, [100, 1000, 600, 5000, 1461])
    assert (share, number) == ((100 + 300 + 61) / (100 + 900 + 100 + 61), 4)
