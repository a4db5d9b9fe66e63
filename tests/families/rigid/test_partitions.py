"""Partitions: a job runs on nodes of its own only, whatever the model of the machines."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from sweeps import sweep

import optsched
from optsched.families.rigid.changes import Changes, units_of
from optsched.families.rigid.instance import Machine, RigidInstance, RigidJob, RigidSchedule
from optsched.families.rigid.policies.orders import POLICIES
from optsched.families.rigid.policies.queue import Easy
from optsched.families.rigid.sources.partitions import shares
from optsched.families.rigid.verify import verify
from optsched.problem import InputError, Window, get_family
from optsched.process import messages

FAMILY = get_family("rigid")
SACCT = """JobID|Partition|Submit|Start|Elapsed|NCPUS|AllocTRES
1|batch|2026-01-05T08:00:00|2026-01-05T08:00:00|01:00:00|8|cpu=8
2|gpu|2026-01-05T08:00:10|2026-01-05T08:00:10|01:00:00|4|cpu=4,gres/gpu=2
3|debug|2026-01-05T08:00:20|2026-01-05T08:00:20|00:10:00|4|cpu=4
4|batch|2026-01-05T08:00:30|2026-01-05T09:00:00|00:30:00|4|cpu=4
"""
NODES = """name,count,gpu,cpu,memory_gb,partition
thin,1,0,8,64,batch
dev,1,0,8,64,debug
fat,2,2,8,64,gpu
"""


def opened(folder, nodes=NODES, log=SACCT, **more):
    """Return an instance, its recorded schedule and the remarks."""
    (folder / "sacct.txt").write_text(log)
    window = Window(**more)
    if nodes is not None:
        (folder / "nodes.csv").write_text(nodes)
        window = Window(machines=folder / "nodes.csv", **more)
    with messages.collected_remarks() as remarks:
        inst = FAMILY.open_trace(folder / "sacct.txt", window)
        schedule, _ = FAMILY.recorded(folder / "sacct.txt", window, inst)
    return inst, schedule, "\n".join(remarks)


def test_jobs_of_a_slurm_log_run_on_the_nodes_of_their_partition(tmp_path):
    inst, schedule, told = opened(tmp_path)
    expected = {"gpu of gpu": 4, "cpu of batch": 8, "cpu of gpu": 16, "cpu of debug": 8}
    assert dict(zip(inst.resources, inst.total, strict=True)) == expected
    needs = [
        {n: job.tasks * d for n, d in zip(inst.resources, job.need, strict=True) if d}
        for job in inst.jobs
    ]
    there = "partition gpu: 4 GPUs, 16 cores; partition batch: 8 cores; partition debug: 8 cores"
    assert FAMILY.describe(inst)["resources"] == there
    assert FAMILY.headline(inst).endswith(there)
    assert needs == [
        {"cpu of batch": 8}, {"gpu of gpu": 2, "cpu of gpu": 4}, {"cpu of debug": 4},
        {"cpu of batch": 4},
    ]  # fmt: skip
    assert verify(inst, schedule).feasible
    assert "a job runs on nodes of its partition only: 1 of batch, 1 of debug, 2 of gpu" in told
    assert "the log names no memory of jobs: the nodes' memory is no limit" in told
    # the other nodes are free, but not for job 3
    early = RigidSchedule(start=(*schedule.start[:3], inst.jobs[3].arrival))
    assert "cpu of batch" in verify(inst, early).violations[0].place


def test_without_partitions_of_the_nodes_all_are_pooled_and_a_remark_says_so(tmp_path):
    plain = "\n".join(line.rpartition(",")[0] for line in NODES.splitlines())
    inst, _, told = opened(tmp_path, plain)
    assert dict(zip(inst.resources, inst.total, strict=True)) == {"gpu": 4, "cpu": 32}
    assert "the list of machines has no column partition" in told
    anonymous = re.sub(r"\|(batch|gpu|debug)\|", "||", SACCT)
    inst, _, told = opened(tmp_path, log=anonymous)
    assert inst.resources == ("gpu", "cpu")
    assert "the log names no partitions: a job may use the nodes of all" in told


def test_the_log_alone_has_a_pool_for_each_partition(tmp_path):
    inst, schedule, told = opened(tmp_path, None)
    there = dict(zip(inst.resources, inst.total, strict=True))
    assert there == {"gpu of gpu": 2, "cpu of batch": 8, "cpu of gpu": 4, "cpu of debug": 4}
    assert verify(inst, schedule).feasible
    assert "every partition is a pool with as much as the recorded schedule used" in told
    assert [m.name for m in inst.machines] == ["pool of batch", "pool of gpu", "pool of debug"]
    how = {"remove": [], "scale_load": None, "without": []}
    more = Changes.of(add=["3xcpu of batch"], **how).apply(inst, skip_unfit=False).after
    assert more.total[inst.resources.index("cpu of batch")] == 11
    assert sum(more.total) == sum(inst.total) + 3
    with pytest.raises(InputError, match="expected one of: cpu of batch, cpu of gpu, cpu of debug"):
        Changes.of(add=["3xcpu"], **how).on(inst)


def test_packed_tasks_go_to_nodes_of_their_partition(tmp_path):
    inst, schedule, _ = opened(tmp_path, packed=True)
    assert schedule.nodes == (((0, 8),), ((2, 2),), ((1, 4),), ((0, 4),))
    assert verify(inst, schedule).feasible
    there = "4 nodes (partition gpu: 4 GPUs, 16 cores; partition batch: 8 cores; "
    assert f"s, {there}" in FAMILY.headline(inst)
    elsewhere = schedule.model_copy(update={"nodes": (((1, 8),), *schedule.nodes[1:])})
    assert not verify(inst, elsewhere).feasible
    for policy in ("fcfs", "conservative"):
        run = optsched.simulate(inst, policy)
        assert run.schedule.nodes[:3] == schedule.nodes[:3]


def test_nodes_that_partitions_share_count_once(tmp_path):
    shared = NODES.replace("64,gpu", '64,"batch,gpu"')
    inst, _, _ = opened(tmp_path, shared, packed=True)
    assert FAMILY.headline(inst).endswith(
        "4 nodes (partitions batch and gpu together: 4 GPUs, 24 cores; partition gpu: 4 GPUs, 16 "
        "cores; partition debug: 8 cores)"
    )
    assert FAMILY.describe(inst)["offered load"].keys() == {
        "gpu of partitions batch and gpu together", "gpu of partition gpu",
        "cpu of partitions batch and gpu together", "cpu of partition gpu",
        "cpu of partition debug",
    }  # fmt: skip
    assert "GPU of partition gpu" in units_of(inst)
    lost = SACCT.replace("|8|cpu=8", "|40|cpu=40")
    with pytest.raises(InputError, match=r"the first is job 1 \(40 cores\); expected larger ones"):
        opened(tmp_path, shared, log=lost)


@pytest.mark.parametrize("packed", [False, True])
def test_a_misspelt_partition_of_the_nodes_is_named(tmp_path, packed):
    wrong = NODES.replace("64,batch", '64,"batch,gpu"').replace(
        "fat,2,2,8,64,gpu", "fat,2,2,8,64,gpus"
    )
    said = (
        "): no node of partition gpu has GPU, and no job of the log is in partition gpus (is the "
        "name right?); expected nodes for them, or --skip-unfit, which leaves such jobs out"
    )
    with pytest.raises(InputError, match=f"the first is job 2 .*{re.escape(said)}"):
        opened(tmp_path, wrong, packed=packed)
    plain = SACCT.replace("|4|cpu=4,gres/gpu=2", "|4|cpu=4")
    _, _, told = opened(tmp_path, wrong, log=plain)
    assert "; no job of the log is in partition gpus" in told
    assert "no job of the log" not in opened(tmp_path)[2]


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (NODES.replace("64,debug", "64,dev"), "expected one of: batch, dev, gpu; add its nodes"),
        (NODES.replace("64,debug", "64,"), "list of machines, row 2: has no partition"),
    ],
)
def test_what_has_no_nodes_or_no_partition_is_refused(tmp_path, nodes, said):
    with pytest.raises(InputError, match=re.escape(said)):
        opened(tmp_path, nodes)


def test_blanks_around_commas_mean_nothing():
    (found,) = shares(["a, b"], ["a , c", "b"])
    assert found.rows == {0, 1}


@pytest.mark.parametrize("partitions", [8, 9])
def test_partitions_that_overlap_in_too_many_ways_are_refused(partitions):
    labels = [f"p{k}" for k in range(partitions)]
    nodes = [*labels, ",".join(labels)]  # one of each, and one that all share
    if partitions == 8:
        assert len(shares(labels, nodes)) == 2**8 - 1
        return
    with pytest.raises(InputError, match="share nodes have more than 256 unions, expected fewer"):
        shares(labels, nodes)


def can_run(there, demand, capacity):
    """Whether demands, by set of rows, have units on their rows: by enumeration."""
    if not demand:
        return True
    (rows, units), *rest = demand
    splits = itertools.product(*(range(capacity[h] + 1) for h in rows))
    return any(
        can_run(there, rest, [c - dict(zip(rows, s, strict=True)).get(h, 0)
                              for h, c in enumerate(capacity)])
        for s in splits if sum(s) == units
    )  # fmt: skip


@pytest.mark.parametrize("seed", sweep(range(300), 40))
def test_shares_allow_exactly_what_can_be_divided_among_nodes(seed):
    draw = random.Random(seed)
    names = "abcd"[: draw.randint(1, 4)]
    nodes = [
        ",".join(draw.sample(names, draw.randint(1, len(names)))) for _ in range(draw.randint(1, 4))
    ]
    capacity = [draw.randint(1, 3) for _ in nodes]
    known = sorted({name for text in nodes for name in text.split(",")})
    labels = [",".join(draw.sample(known, draw.choice((1, 1, min(2, len(known))))))
              for _ in range(3)] + [""] * draw.randint(0, 1)  # fmt: skip
    found = shares(labels, nodes)
    rows = {
        label: [h for h, text in enumerate(nodes)
                if not label or {*label.split(",")} & {*text.split(",")}]
        for label in labels
    }  # fmt: skip
    for _ in range(20):
        units = [draw.randint(0, 4) for _ in labels]
        within = all(
            sum(u for u, label in zip(units, labels, strict=True) if label in share.labels)
            <= sum(capacity[h] for h in share.rows)
            for share in found
        )
        demand = [(rows[label], u) for u, label in zip(units, labels, strict=True)]
        assert within == can_run(nodes, demand, capacity)


def split(seed):
    """Return an instance of two partitions, and each alone with the numbers of its jobs."""
    draw = random.Random(seed)
    jobs, of = [], []
    for _ in range(30):
        run, k = draw.randint(1, 20), draw.randrange(2)
        need = [0, 0]
        need[k] = draw.randint(1, 4)
        of.append(k)
        jobs.append(
            RigidJob(arrival=draw.randint(0, 60), run=run, request=run + draw.randint(0, 9),
                     need=tuple(need))
        )  # fmt: skip
    machines = [Machine(name="x", capacity=(4, 0)), Machine(name="y", count=2, capacity=(0, 2))]
    both = RigidInstance(resources=("a", "b"), machines=machines, jobs=jobs)
    for k in (0, 1):
        mine = [i for i in range(30) if of[i] == k]
        alone = [jobs[i].model_copy(update={"need": (jobs[i].need[k],)}) for i in mine]
        yield (
            both,
            mine,
            RigidInstance(resources=("a",), machines=(Machine(capacity=(4,)),), jobs=alone),
        )


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "f1"])  # not by waiting time
@pytest.mark.parametrize("seed", sweep(range(60), 4))
def test_partitions_without_common_nodes_have_queues_of_their_own(seed, policy):
    for both, mine, alone in split(seed):
        start = optsched.simulate(both, policy).schedule.start
        expected = optsched.simulate(alone, policy).schedule.start
        assert [start[i] for i in mine] == [*expected]


def test_a_policy_sees_the_tasks_and_the_need_that_were_submitted():
    seen = []

    class Seeing(Easy):
        name = "seeing"

        def priority(self, now, waiting):
            need = self.table["need"][waiting].tolist()
            seen.extend(zip(self.table["tasks"][waiting].tolist(), need, strict=True))
            return super().priority(now, waiting)

    for packed in (False, True):
        inst = RigidInstance(
            resources=("a", "b"), machines=(Machine(count=2, capacity=(4, 9)),), packed=packed,
            jobs=(RigidJob(arrival=0, run=5, request=9, tasks=3, need=(2, 1)),),
        )  # fmt: skip
        assert optsched.simulate(inst, Seeing()).schedule.start == (0,)
    assert seen == [(3, [2, 1])] * 2


def test_the_size_of_a_job_is_what_it_needs_of_its_own_machines():
    first = RigidJob(arrival=0, run=9, request=9, need=(0, 4))
    jobs = [first, *(first.model_copy(update={"arrival": 1, "need": (0, n)}) for n in (4, 1))]
    inst = RigidInstance(resources=("a", "b"), machines=(Machine(capacity=(4, 4)),), jobs=jobs)
    assert optsched.simulate(inst, POLICIES["f3"]()).schedule.start == (0, 18, 9)


def test_jobs_without_a_time_limit_have_the_longest_of_their_partition(tmp_path):
    limits = ["Timelimit", "UNLIMITED", "00:30:00", "Partition_Limit", "02:00:00"]
    log = "\n".join(f"{a}|{b}" for a, b in zip(SACCT.splitlines(), limits, strict=True))
    log = log.replace("|01:00:00|4|", "|00:20:00|4|")
    inst, _, told = opened(tmp_path, log=log)
    assert [job.request for job in inst.jobs] == [7200, 1800, 7200, 7200]
    assert "2 of 4 jobs have no time limit: policies plan with the longest" in told
    inst, _, told = opened(tmp_path, log=log.replace("02:00:00", "UNLIMITED"))
    assert [job.request for job in inst.jobs] == [3600, 1800, 1800, 1800]  # at least run times
    inst, _, told = opened(tmp_path)
    assert [job.request for job in inst.jobs] == [job.run for job in inst.jobs]
    assert "the list has no requested times" in told


def test_a_log_without_gpus_on_machines_that_have_some_is_remarked(tmp_path):
    remark = "the list of machines has 4 GPUs, the log names none: add AllocTRES to --format"
    assert remark not in opened(tmp_path)[2]
    bare = "\n".join(line.rpartition("|")[0] for line in SACCT.splitlines())
    assert remark in opened(tmp_path, log=bare)[2]
    assert remark not in opened(tmp_path, NODES.replace("fat,2,2", "fat,2,0"), log=bare)[2]
