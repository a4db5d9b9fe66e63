"""Types of GPUs: a job that requested one runs on nodes that have it, and others on any."""

import pytest

import optsched
from optsched.families.rigid.verify import verify
from optsched.problem import Window, get_family
from optsched.process import messages

FAMILY = get_family("rigid")
HEAD = "JobID|Submit|Start|Elapsed|State|AllocTRES|ReqTRES|Partition|NodeList\n"
ROW = "{}|2026-01-05T08:00:{:02}|2026-01-05T{}|01:00:00|COMPLETED|{}|{}|gpu|{}\n"
ANY, OLD, NEW = (f"cpu=2,gres/gpu{t}" for t in ("=2", ":v100=2,gres/gpu=2", ":a100=2,gres/gpu=2"))
LOG = HEAD + "".join(
    (
        ROW.format(1, 0, "08:00:00", NEW, ANY, "n2"),  # of any type, as Slurm allocated it
        ROW.format(2, 10, "08:00:10", OLD, OLD, "n1"),
        ROW.format(3, 20, "09:00:00", NEW, NEW, "n2"),
        ROW.format(4, 30, "09:00:10", OLD, ANY, "n1"),
    )
)
OWN = "name,count,gpu,cpu,memory_gb{}\n{},1,2,8,64{}\n{},1,2,8,64{}\nthin,1,0,8,64{}\n"
SINFO = """NODELIST|CPUS|MEMORY|GRES|PARTITION
n1|8|65536|gpu:V100:2(S:0-1)|gpu*
n[2]|8|65536|gpu:a100:2,mps:100|gpu*
n3|8|65536|(null)|gpu*
n3|8|65536|(null)|late
"""


def opened(folder, nodes, log=LOG, **more):
    """Return an instance, its recorded schedule and the remarks."""
    (folder / "sacct.txt").write_text(log)
    window = Window(**more)
    if nodes:
        (folder / "nodes.csv").write_text(nodes)
        window = Window(machines=folder / "nodes.csv", **more)
    with messages.collected_remarks() as remarks:
        inst = FAMILY.open_trace(folder / "sacct.txt", window)
    return inst, FAMILY.recorded(folder / "sacct.txt", window, inst)[0], "\n".join(remarks)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "nodes",
    [
        OWN.format("", "v100", "", "big-A100x2", "", ""),
        OWN.format(",model", "x", ",V100", "y", ",A100", ","),
        OWN.format(",gres", "v100", ',"gpu:v100:2"', "host4", ',"gpu:a100:2,mps:9"', ","),
        OWN.format(",v100,a100", "x", ",2,0", "y", ",0,2", ",0,0"),
        SINFO,
    ],
)
def test_a_job_runs_on_the_type_that_it_requested(tmp_path, nodes, packed):
    inst, schedule, told = opened(tmp_path, nodes, packed=packed)
    there = dict(zip(inst.resources, inst.total, strict=True))
    assert there == {"gpu": 4, "gpu:a100": 2, "gpu:v100": 2, "cpu": 24}
    needs = [tuple(job.tasks * d for d in job.need[1:3]) for job in inst.jobs]
    assert needs == [(0, 0), (0, 2), (2, 0), (0, 0)]
    assert (
        "2 of 4 jobs requested a type of GPU, and run on nodes that have it (1 node has a100"
        ", 1 has v100)" in told
    )
    assert "not distinguished" not in told
    assert "not used" not in told
    assert verify(inst, schedule).feasible
    # Job 1 takes v100, which job 2 needs, or a100, which job 3 does: one of them waits
    run = optsched.simulate(inst, "fcfs").schedule
    assert verify(inst, run).feasible
    if packed:
        assert [inst.machines[h].capacity[1:3] for ((h, _),) in schedule.nodes[1:3]] == [
            (0, 2),
            (2, 0),
        ]
    for i, other in ((1, 2), (2, 1)):  # two jobs of one type at once, on four free GPUs
        jobs = [inst.jobs[i], inst.jobs[i], inst.jobs[other]]
        two = inst.model_copy(update={"jobs": tuple(jobs)})
        first, second, third = optsched.simulate(two, "easy").schedule.start
        assert second == first + 3600
        assert third < second


def test_types_that_the_list_does_not_have_are_counted(tmp_path):
    named = OWN.format("", "t4", "", "hosta100", "", "")  # a100 may be a part by chance
    for nodes, why in ((named, "no node of the list has such GPUs"), ("", "expected a list of ma")):
        inst, _, told = opened(tmp_path, nodes)
        assert inst.resources == ("gpu", "cpu")
        assert "2 of 4 jobs requested GPUs of type a100 or v100, not distinguished: " in told
        assert f"such a job may run on any GPU ({why}" in told
    (tmp_path / "nodes.csv").write_text(named)
    how = {"machines": tmp_path / "nodes.csv", "policies": ["fcfs"], "work_limit": 50}
    first = optsched.whatif(tmp_path / "sacct.txt", **how).answer[0]  # it questions all numbers
    assert first.startswith("2 of 4 jobs requested GPUs of type a100 or v100, not distinguished")
    (tmp_path / "bare.csv").write_text("gpu,cpu,memory_gb\n4,8,64\n")
    window = Window(machines=tmp_path / "bare.csv", as_is=True)
    with messages.collected_remarks() as remarks:
        get_family("dmlrs").open_trace(tmp_path / "sacct.txt", window)
    assert "(this family has no types)" in "\n".join(remarks)


def test_what_slurm_allocated_is_no_request(tmp_path):
    inst, _, told = opened(tmp_path, SINFO, LOG.replace(OLD + "|gpu", ANY + "|gpu"))
    assert "gpu:v100" not in inst.resources
    assert "1 of 4 jobs requested a type of GPU, and" in told
    rows = [line.split("|") for line in LOG.splitlines()]
    bare = "\n".join("|".join(row[:6] + row[7:]) for row in rows)
    inst, _, told = opened(tmp_path, SINFO, bare)
    assert inst.resources == ("gpu", "cpu")
    assert "GPUs of 4 jobs are of the types a100, v100, which are not distinguished" in told
    assert "ReqTRES states: add it to --format of sacct" in told
