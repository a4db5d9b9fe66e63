"""Published lists of jobs and machines: small pieces made here, read by the families."""

import json

import pytest

from optsched.families.bipartite.sources.traces import open_trace as bipartite
from optsched.families.completion.sources.traces import open_trace as completion
from optsched.families.dmlrs.sources.traces import open_trace as dmlrs
from optsched.families.oasis.sources.traces import open_trace as oasis
from optsched.problem import InputError, Window
from optsched.traces import read_jobs, read_machines
from optsched.traces.pods import read_arrivals

GAVEL = """vc\tjob_type\ttotal_steps\tarrival_time_s\tscale_factor
a\tnet (batch size 8)\t600\t5\t1
a\tdeep, wide (batch size 4)\t100\t2\t4
b\tnet (batch size 8)\t50\t0\t1
"""
SHOCKWAVE = """trace\tjob_type\ttotal_steps\tscale_factor\tmode\tduration_s\tarrival_time_s
0.5,0.6\tnet (batch size 8)\t600\t1\tgns\t3600\t0
0.5,0.6\tnet (batch size 8)\t90\t2\tstatic\t1800\t7
"""
POLLUX = """set,workload,name,time,application,num_replicas,batch_size
x,1,bert-0,11.5,bert,6,320
x,1,ncf-1,9,ncf,1,8
x,2,bert-0,1,bert,2,96
"""
TIRESIAS = """job_id,num_gpu,submit_time,iterations,model_name,duration,interval
0,1,0,606,vgg,1640,30
1,8,30,133,alex,1470,23
"""
INSTANCES = """instance_sn,role,app_name,cpu_request,gpu_request,memory_request,\
creation_time,scheduled_time,deletion_time
i0,HN,app,8,1,40.0,,,
i1,HN,app,8,1,40.0,10,12,72
i2,CN,app,64,0,320.0,5,5,3605
i3,CN,app,64,0,320.0,20,,
"""
REQUESTS = """gmt_create,predict_type,exec_time_seconds,groupId,checkpoint_model_version_id
2024-11-15 16:57:50,TXT,32.0,G0,M1
2024-11-15 16:57:40,TXT,60.0,G1,M0
"""
HELIOS = """time,submit_job_all,submit_gpu_job,submit_gpu_num
2020-04-01 00:10:00,4,2,3
2020-04-01 00:00:00,5,1,8
2020-04-01 00:20:00,7,0,0
"""
PAI = """machine,gpu_type,cap_cpu,cap_mem,cap_gpu
m0,CPU,96,512,0
m1,V100,96,512,8
m2,P100,64,512,2
"""
SPOT = "gpu_model,gpu_capacity_num,cpu_num,node_name\nA10,1,128,0\nA10,1,128,1\nH800,8,192,2\n"
CLUSTER = "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n2,16,4,128,254\n"


def profile(write):
    speeds = {"net (batch size 8)": (1.0, 2.0, 4.0), "deep, wide (batch size 4)": (2.0, 5.0, 5.0)}
    return write(
        json.dumps(
            {
                gpu: {f"({model!r}, 1)": {"null": x[k]} for model, x in speeds.items()}
                for k, gpu in enumerate(("k80", "p100", "v100"))
            }
        ),
        "speeds.json",
    )


def test_lists_with_steps_have_models_and_no_running_times(write, remarks):
    jobs = read_jobs(write(GAVEL, "jobs.tsv.gz"))
    assert jobs["model"].tolist() == ["deep, wide (batch size 4)", "net (batch size 8)"]
    assert jobs["steps"].tolist() == [100, 600]
    assert jobs["tasks"].tolist() == [4, 1]
    assert jobs["submit_seconds"].tolist() == [0, 3]
    assert jobs["run_seconds"].isna().all()
    assert jobs.attrs["dropped"] == 0
    assert (
        "holds 2 lists of jobs, each with a clock of its own; the first, a, is read" in remarks[0]
    )


def test_steps_become_work_at_measured_speeds(write, remarks):
    window = Window(profiles=(profile(write),), jobs=2, slots=20, slot="60", load=0.01)
    inst = completion(write(GAVEL, "jobs.tsv"), window)
    wide, net = inst.jobs
    assert wide.epochs * wide.chunks * wide.batches_per_chunk == pytest.approx(400, rel=0.2)
    assert net.epochs * net.chunks * net.batches_per_chunk == pytest.approx(600, rel=0.2)
    assert net.batch_time == pytest.approx([1 / 60, 1 / 120, 1 / 240])  # slots: of its own model
    assert "model" not in inst.drawn
    assert remarks


def test_a_list_without_running_times_needs_the_speeds_of_its_models(write):
    path = write(GAVEL.replace("net (", "other ("), "jobs.tsv")
    with pytest.raises(InputError, match="no profile has the speed of 'other "):
        completion(path, Window(profiles=(profile(write),), jobs=2, slots=20))
    with pytest.raises(InputError, match="has no running times, expected a list that has them"):
        oasis(path, Window(jobs=2))


def test_shockwave_has_running_times(write):
    path = write(SHOCKWAVE, "jobs.tsv")
    jobs = read_jobs(path)
    assert jobs["run_seconds"].tolist() == [3600, 1800]
    assert jobs["user"].tolist() == ["", ""]
    assert len(oasis(path, Window(jobs=2, slots=20)).jobs) == 2
    inst = completion(path, Window(profiles=(profile(write),), jobs=2, slots=20))
    assert "model" not in inst.drawn


def test_pollux_and_sia(write, remarks):
    path = write(POLLUX)
    jobs = read_jobs(path)
    assert jobs["name"].tolist() == ["ncf-1", "bert-0"]
    assert jobs["submit_seconds"].tolist() == [0, 2.5]
    assert jobs["tasks"].tolist() == [1, 6]
    assert "the first, x 1, is read" in remarks[0]
    inst = bipartite(path, Window(slots=10))
    assert [p.name for p in inst.ports] == [
        "one GPU on any model (ncf)",
        "several GPUs on any model (bert)",
    ]
    assert inst.resources == ("gpu",)
    assert inst.ports[1].request[0] == pytest.approx(6 * inst.ports[0].request[0], rel=1e-4)


def test_tiresias(write):
    path = write(TIRESIAS)
    jobs = read_jobs(path)
    assert jobs["run_seconds"].tolist() == [1640, 1470]
    assert jobs["steps"].tolist() == [606, 133]
    made = dmlrs(path, Window(jobs=2, slots=10, machines=write(CLUSTER, "machines.csv")))
    assert len(made.jobs) == 2


def test_services_that_began_before_the_list_are_left_out(write):
    jobs = read_jobs(write(INSTANCES))
    assert jobs["name"].tolist() == ["i2", "i1"]
    assert jobs["run_seconds"].tolist() == [3600, 60]
    assert jobs["start_seconds"].tolist() == [0, 7]
    assert jobs["memory_gb"].tolist() == [320, 40]
    assert jobs.attrs["dropped"] == 2
    wrong = INSTANCES.replace("10,12,72", "10,12,7")
    with pytest.raises(InputError, match=r"line 3, deletion_time: is '7', expected at least the s"):
        read_jobs(write(wrong))


def test_requests(write):
    jobs = read_jobs(write(REQUESTS))
    assert jobs["submit_seconds"].tolist() == [0, 10]
    assert jobs["run_seconds"].tolist() == [60, 32]
    assert jobs["model"].tolist() == ["M0", "M1"]
    assert str(jobs.attrs["start"]) == "2024-11-15 16:57:40"


def test_counts_of_arrivals(write):
    path = write(HELIOS)
    table = read_arrivals(path)
    assert table["submit_seconds"].tolist() == [0, 600, 600]
    assert table["gpu"].tolist() == [8, 1.5, 1.5]
    assert table["gpus"].tolist() == [8, 2, 2]
    inst = bipartite(path, Window(slots=4))
    assert inst.resources == ("gpu",)
    assert sum(map(sum, inst.arrivals)) == 2  # one per slot and type counts
    with pytest.raises(InputError, match="line 4, submit_gpu_num: is '3', expected 0"):
        read_arrivals(write(HELIOS.replace("7,0,0", "7,0,3")))
    with pytest.raises(InputError, match="counts no GPU job"):
        read_arrivals(write(HELIOS[:-1].replace("4,2,3", "4,0,0").replace("5,1,8", "5,0,0")))


def test_machines_of_2020(write):
    path = write(PAI)
    machines = read_machines(path)
    assert machines["gpu"].tolist() == [0, 8, 2]
    assert machines["model"].tolist() == ["", "V100", "P100"]
    assert machines["memory_gb"].tolist() == [512, 512, 512]
    with pytest.raises(InputError, match="is a list of machines"):
        read_jobs(path)


def test_machines_without_memory(write, remarks):
    path = write(SPOT)
    machines = read_machines(path)
    assert machines["count"].tolist() == [2, 1]
    assert machines["memory_gb"].isna().all()
    jobs = write(TIRESIAS, "jobs.csv")
    with pytest.raises(InputError, match="Alibaba spot GPU v2026 nodes name no memory"):
        oasis(jobs, Window(jobs=2, machines=path, load=2))
    inst = bipartite(write(HELIOS, "counts.csv"), Window(slots=4, machines=path))
    assert {m.name for m in inst.machines} == {"1 x A10", "8 x H800"}
    table = "submit_seconds,run_seconds,tasks,gpu,memory_gb\n0,60,1,1,4\n5,60,1,1,4\n"
    inst = bipartite(write(table, "own.csv"), Window(slots=4, machines=path))
    assert inst.resources == ("gpu",)
    assert "memory_gb: left out, since the list of machines lacks it" in remarks


def test_clusters_have_switches_times_nodes(write):
    machines = read_machines(write(CLUSTER))
    assert machines[["count", "gpu", "cpu", "memory_gb"]].iloc[0].tolist() == [32, 4, 128, 254]


def test_servers_of_completion_are_those_of_the_list(write, remarks):
    window = Window(jobs=2, slots=20, machines=write(PAI, "machines.csv"))
    inst = completion(write(SHOCKWAVE, "jobs.tsv"), window)
    assert {s.name: s.capacity for s in inst.servers}.items() <= {
        "8 V100": (0, 0, 8, 96, 512, 25),
        "2 P100": (0, 2, 0, 64, 512, 25),
    }.items()
    assert "servers" not in inst.drawn
    assert "machines without K80, P100 or V100 are left out: 1" in remarks
    none = write(CLUSTER, "none.csv")
    with pytest.raises(InputError, match="no machine has K80, P100, V100"):
        completion(write(SHOCKWAVE, "jobs.tsv"), Window(jobs=2, slots=20, machines=none))
