"""Lists of machines: three formats, one table of classes."""

import pytest

from optsched.problem import InputError
from optsched.traces import read_machines

NODES = """sn,cpu_milli,memory_mib,gpu,model
n0,32000,262144,0,
n1,96000,393216,8,G2
n2,32000,262144,0,
n3,96000,393216,8,T4
"""
OWN = """name,count,gpu,cpu,memory_gb,nic_gbps
big,3,8,96,512,25
small,2,0,32,128,
big,1,8,96,512,25
"""


def test_equal_nodes_become_one_class(write):
    machines = read_machines(write(NODES))
    assert machines["count"].tolist() == [2, 1, 1]
    assert machines["gpu"].tolist() == [0, 8, 8]
    assert machines["cpu"].tolist() == [32, 96, 96]
    assert machines["memory_gb"].tolist() == [256, 384, 384]
    assert machines["model"].tolist() == ["", "G2", "T4"]
    assert machines["nic_gbps"].isna().all()


def test_own_format(write):
    machines = read_machines(write(OWN))
    assert machines["name"].tolist() == ["big", "small"]
    assert machines["count"].tolist() == [4, 2]
    assert machines["nic_gbps"].isna().tolist() == [False, True]
    types = read_machines(write("name,count,gpu,cpu,memory_gb\nold,2,0,4,16\nnew,3,0,4,16\n"))
    assert [*zip(types["name"], types["count"], strict=True)] == [("old", 2), ("new", 3)]
    nodes = read_machines(write("name,gpu,cpu,memory_gb\nn1,0,4,16\nn2,0,4,16\n"))
    assert [*zip(nodes["name"], nodes["count"], strict=True)] == [("n1", 2)]
    plain = read_machines(write("gpu,cpu,memory_gb\n0,4,16\n"))
    assert plain["count"].tolist() == [1]


def test_swf_machines(write):
    machines = read_machines(write("0\tseth\t120\t2\t1\t1048576\n", "log.swf.machines"))
    assert machines.loc[0, ["name", "count", "cpu", "memory_gb"]].tolist() == ["seth", 120, 2, 1]


def test_nodes_of_slurm_count_once_with_all_their_partitions(write):
    rows = (
        "a[01-03]|64|524288|gpu:a100:8(S:0-1),mps:800|gpu*",
        "m1|64|524288|gpu:a100:4,gpu:t4:2|gpu*",
        "c1|64|2048|(null)|cpu",
        "a02|64|524288|gpu:a100:8(S:0-1),mps:800|late",
        "g1|64|2048|gpu:2|cpu",
    )
    machines = read_machines(write("NODELIST|CPUS|MEMORY|GRES|PARTITION\n" + "\n".join(rows)))
    assert machines["count"].tolist() == [2, 1, 1, 1, 1]
    assert machines["gpu"].tolist() == [8, 8, 6, 0, 2]
    assert machines["memory_gb"].tolist() == [512, 512, 512, 2, 2]
    assert machines["partition"].tolist() == ["gpu", "gpu,late", "gpu", "cpu", "cpu"]
    types = ["gpu:a100:8", "gpu:a100:8", "gpu:a100:4,gpu:t4:2", "", ""]
    assert machines["gpu_type"].tolist() == types


def test_nodes_of_slurm_that_are_down_are_remarked(write, remarks):
    rows = "".join(
        f"n{k}|64|2048|(null)|{state}\n"
        for k, state in enumerate(("idle", "down*", "mixed", "drained", "drng", "alloc", "maint"))
    )
    machines = read_machines(write(f"NODELIST|CPUS|MEMORY|GRES|STATE\n{rows}"))
    assert machines["count"].tolist() == [7]
    told = "nodes that are down, drained or in maintenance count like the others: n1, n3, n4, n6; "
    assert told in remarks[0]
    assert len(remarks) == 1
    remarks.clear()
    read_machines(write("NODELIST|CPUS|MEMORY|GRES|STATE\nn1|64|2048|(null)|idle\n"))
    assert remarks == []


def test_columns_of_an_own_list_may_be_types_of_gpus(write, remarks):
    head = "gpu,cpu,memory_gb,a100,rack,kind\n"
    machines = read_machines(write(f"{head}8,64,512,8,9,1\n0,64,512,0,9,x\n"))
    assert machines["gpu_type"].tolist() == [",gpu:a100:8", ",gpu:a100:0"]
    assert remarks[0].endswith("columns that are not used: rack, kind")


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (NODES.replace("96000", "fast", 1), "m.csv", r"line 3, cpu_milli: is 'fast', expected a n"),
        (
            NODES.replace("32000", "0", 1),
            "m.csv",
            r"line 2, cpu_milli: is '0', expected .* above 0",
        ),
        (NODES.replace("8,G2", "-8,G2"), "m.csv", r"line 3, gpu: is '-8', expected a whole number"),
        (
            NODES.replace("gpu", "gpus"),
            "m.csv",
            r"line 1: lacks column gpu .has 'gpus'., expected as Alibaba",
        ),
        (NODES.splitlines()[0], "m.csv", r"names no machine, expected at least one"),
        (OWN.replace("big,3", "big,0"), "m.csv", r"line 2, count: is '0', expected a whole number"),
        (OWN.replace("512,25", "inf,25", 1), "m.csv", r"line 2, memory_gb: is 'inf', expected a n"),
        ("0 seth 120 2 1 10\n", "a.machines", r"line 1: has 1 fields, expected 6 with tabs"),
        ("0\tx\t-1\t2\t1\t10\n", "a.machines", r"line 1, nodes: is '-1', expected a whole number"),
        (
            "NodeName=a[01-03] CPUs=64\n",
            "m.csv",
            r"of one format .*; of Slurm, .* sinfo --Node --for",
        ),
        (
            "HOSTNAMES|CPUS|MEMORY|GRES|PARTITION\na01|64|512|(null)|cpu\n",
            "m.csv",
            r"lacks column NODELIST, .*; of Slurm, this writes one: sinfo",
        ),
        (
            "a01|64|512|(null)|cpu\n",
            "m.csv",
            r"has no header, .*; of Slurm, this writes one: sinfo",
        ),
        (
            f"NODELIST|CPUS|MEMORY|GRES|PARTITION\nn1|4|64|gpu:{'1' * 5000}|b\n",
            "m.csv",
            r"line 2, GRES: is 'gpu:111.*', expected a whole number",
        ),
        (
            f"NODELIST|CPUS|MEMORY|GRES|PARTITION\n{'n[1-9]' * 9}|4|64||b\n",
            "m.csv",
            r"line 2, NODELIST: is 'n\[1-9\].*', expected names of at most 100000 nodes",
        ),
        (
            f"gpu,cpu,memory_gb,gres\n1,4,64,gpu:x:{'1' * 5000}\n",
            "m.csv",
            r"line 2, gres: is 'gpu:x:111.*', expected a whole number",
        ),
        ("timestamp,duration,num_gpus\n", "m.csv", r"is a list of jobs, expected a list of mach"),
    ],
)
def test_wrong_list(write, text, name, message):
    with pytest.raises(InputError, match=message):
        read_machines(write(text, name))
