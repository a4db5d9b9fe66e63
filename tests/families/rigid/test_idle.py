"""A log from which jobs are missing shows others that waited on free machines."""

import random
import re

import pytest

import optsched
from optsched.families.rigid.facts import BUSY, DOWN
from optsched.families.rigid.instance import Machine, RigidInstance, RigidJob
from optsched.families.rigid.sources.idle import Record
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
    share, waited, number = Record(inst, [0, 1000, 600, 5000, 1460]).free_while_waiting()
    # of job 1: full until 600, then job 2 until 650, then 350 s free; of job 2: full until 600
    assert (share, waited, number) == (350 / (900 + 100), 1000 / 3600, 2)
    # job 0 waits for 100 s of a free pool, job 1 from 700 on; nothing is free while job 2 waits
    share, _, number = Record(inst, [100, 1000, 600, 5000, 1461]).free_while_waiting()
    assert (share, number) == ((100 + 300 + 61) / (100 + 900 + 100 + 61), 4)


HEAD = "JobID|Submit|Start|Elapsed|State|NCPUS|User"
DAY = "2026-11-18T"


def maintained(folder, last="16:30", runs="", cores=20):
    """Return a log whose nodes are down from 8:00 to 16:00 on a Wednesday, and the remarks.

    Of ten jobs submitted from 8:00 to 9:30, each waits until 16:00; job 2 began in time.
    """
    rows = [f"1|{DAY}05:00:00|{DAY}05:00:00|00:10:00|COMPLETED|4|ann"]
    rows += [f"2|{DAY}07:00:00|{DAY}07:00:00|01:00:00|COMPLETED|4|bob", *runs.splitlines()]
    rows += [
        f"{k + 3}|{DAY}{8 + k // 6:02}:{10 * (k % 6):02}:00|{DAY}16:00:00|00:30:00|COMPLETED|2|ann"
        for k in range(10)
    ]
    rows += [f"99|{DAY}{last}:00|{DAY}{last}:00|00:30:00|COMPLETED|4|bob"]
    (folder / "log.txt").write_text("\n".join([HEAD, *rows]))
    (folder / "nodes.csv").write_text(f"name,count,gpu,cpu,memory_gb\nn,{cores},0,1,64\n")
    with messages.collected_remarks() as remarks:
        get_family("rigid").open_trace(
            folder / "log.txt", Window(machines=folder / "nodes.csv", packed=False)
        )
    return folder / "log.txt", [x for x in remarks if DOWN in x or BUSY in x]


def test_a_down_time_is_stated_with_the_waiting_time_in_it(tmp_path):
    waits = [8 - k / 6 for k in range(10)]  # h, of 13 jobs
    mean = sum(waits) / 13
    log, (told,) = maintained(tmp_path)
    assert told == (
        "no job ran from Wed 2026-11-18 08:00 to 16:00 although up to 10 jobs waited that fit on "
        "the machines, which were probably down or reserved; policies and the optimum run jobs "
        f"then. {mean:.3g} h of the recorded {mean:.3g} h mean waiting time lie in this period, "
        f"and {mean:.3g} h are those of the jobs that waited in it. Waits of other jobs before it, "
        "if they would not have ended in time, and after it, in the queue that was left, may have "
        "the same cause"
    )
    how = {"machines": tmp_path / "nodes.csv", "policies": ["fcfs", "easy"], "work_limit": 50}
    found = optsched.whatif(log, **how)
    assert found.answer[0] == told
    assert told in found.summary()["answer"]
    assert "would have saved" not in str(found)
    assert found.answer[1] == (
        "Under fcfs jobs wait 0 h on average if all machines are up; in your cluster, as recorded, "
        f"{mean:.3g} h. How much of the difference is due to the policy is not known."
    )
    assert any(x.endswith("than the least possible if all machines are up.") for x in found.answer)
    found.save(tmp_path / "w.json")
    assert told in optsched.report(tmp_path / "w.json", tmp_path / "w.html").read_text()


def test_a_few_running_jobs_do_not_hide_a_down_time(tmp_path):
    long = f"98|{DAY}07:00:00|{DAY}07:00:00|1-00:00:00|RUNNING|1|eve"
    _, (told,) = maintained(tmp_path, runs=long)
    assert told.startswith("at most 1 job ran from Wed 2026-11-18 08:00 to 16:00 although up to 10")
    _, told = maintained(tmp_path, runs=long.replace("|1|", "|2|"))  # a tenth of the cores
    assert told == []


def test_periods_are_counted_and_short_or_unsure_ones_are_not(tmp_path):
    noon = f"98|{DAY}12:00:00|{DAY}12:00:00|00:30:00|COMPLETED|4|eve"
    _, (told,) = maintained(tmp_path, runs=noon)
    assert "no job ran in 2 periods (7.5 h in all, the first from Wed 2026-11-18 08:00 to 12:00, " \
        "the last from Wed 2026-11-18 12:30 to 16:00) although" in told  # fmt: skip
    # what ran after the last submission may be missing
    _, (told,) = maintained(tmp_path, last="12:00")
    assert told.startswith("no job ran from Wed 2026-11-18 08:00 to 12:00 although up to 10")
    _, told = maintained(tmp_path, last="09:35", runs=noon.replace("12:00:00", "08:05:00"))
    assert "from Wed 2026-11-18 08:35 to 09:35" in told[0]  # not from 08:00 to 08:05
    _, told = maintained(tmp_path, runs=f"98|{DAY}08:00:00|{DAY}08:00:00|08:00:00|COMPLETED|20|eve")
    assert told == []


@pytest.mark.parametrize("seed", range(3))
def test_periods_without_jobs_are_those_that_every_moment_shows(seed):
    """All times are multiples of 10 s."""
    draw, jobs, starts, now = random.Random(seed), [], [], 0
    for _ in range(40):
        now += draw.choice((10, 600, 3000))
        run, cores = draw.choice((50, 900)), draw.choice((1, 3))
        jobs.append(RigidJob(arrival=now, run=run, request=run, need=(cores,), weight=cores))
        starts.append(now + draw.choice((0, 30, 700, 4000)))
    inst = RigidInstance(resources=("cpu",), machines=(Machine(capacity=(40,)),), jobs=jobs)
    record = Record(inst, starts)
    pairs = [*zip(jobs, starts, strict=True)]
    idle = {
        t
        for t in range(min(s + j.run for j, s in pairs), now, 10)
        if not any(s <= t < s + j.run for j, s in pairs)
        and any(j.arrival <= t < s for j, s in pairs if s > j.arrival + 60)
    }
    firsts = sorted(t for t in idle if t - 10 not in idle)
    lasts = sorted(t + 10 for t in idle if t + 10 not in idle)
    periods = [(a, b) for a, b in zip(firsts, lasts, strict=True) if b - a >= 600]
    found = record._standstill(0.0)
    assert [*found.periods] == periods
    assert len(periods) > 3
    inside = [
        10 * sum(a <= t < b for a, b in periods for t in range(j.arrival, s, 10)) for j, s in pairs
    ]
    weight = sum(j.weight for j in jobs)
    assert found.inside == pytest.approx(
        sum(x * j.weight for x, j in zip(inside, jobs, strict=True)) / weight
    )
    whole = sum((s - j.arrival) * j.weight for x, (j, s) in zip(inside, pairs, strict=True) if x)
    assert found.whole == pytest.approx(whole / weight)
    assert found.waiting == max(
        sum(j.arrival <= t < s for j, s in pairs if s > j.arrival + 60)
        for a, b in periods
        for t in range(a, b, 10)
    )


def test_a_log_that_begins_on_a_busy_cluster_is_stated(tmp_path):
    """Job 3 waits 5 h, although of the log only 1 and 2 ran until the first one ended, at 6:00."""
    rows = f"""1|{DAY}00:00:00|{DAY}00:00:00|06:00:00|COMPLETED|8|ann
2|{DAY}00:30:00|{DAY}00:30:00|09:00:00|COMPLETED|4|bob
3|{DAY}01:00:00|{DAY}06:00:00|01:00:00|COMPLETED|{{cores}}|eve
4|{DAY}02:00:00|{DAY}0{{start}}:00:00|05:00:00|COMPLETED|4|eve"""
    later = [f"{k}|{DAY}10:{k}:00|{DAY}10:{k}:00|00:01:00|COMPLETED|4|eve" for k in range(10, 27)]
    (tmp_path / "nodes.csv").write_text("name,count,gpu,cpu,memory_gb\nn,20,0,1,64\n")
    told = (
        f"{BUSY}: 1 job submitted before its first job ended (Wed 2026-11-18 06:00) waited "
        "although the jobs of the log left space, probably for earlier ones, which policies and "
        "the optimum do not have; 0.238 h of the recorded 0.238 h mean waiting time are theirs"
    )
    # a job of 12 cores has no space next to 12, so job 4 may wait behind it although 8 are free
    for cores, start, stated in ((4, 2, True), (12, 6, False)):
        log = [HEAD, rows.format(cores=cores, start=start), *later]
        (tmp_path / "log.txt").write_text("\n".join(log))
        found = optsched.whatif(
            tmp_path / "log.txt",
            machines=tmp_path / "nodes.csv",
            policies=["fcfs"],
            work_limit=50,
        )
        assert (found.answer[0] == told) == stated
        assert (BUSY in str(found)) == stated
