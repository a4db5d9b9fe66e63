"""The published traces, where they are at hand, and the sample of the package."""

import os
from pathlib import Path

import pytest

import optsched
from optsched.traces import read_jobs, read_machines
from optsched.traces.platforms import read_platform
from optsched.traces.pods import read_arrivals
from optsched.traces.workflows import read_bags

ROOT = Path(optsched.__file__).parent.parent
TRACES = Path(os.environ.get("OPTSCHED_TRACES", ROOT.parent / "shared" / "data"))
SAMPLES = Path(optsched.__file__).parent / "samples"


def trace(name):
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"{path} is not there; OPTSCHED_TRACES names the folder of the traces")
    return path


def test_sample():
    jobs, machines = read_jobs(SAMPLES / "jobs.csv"), read_machines(SAMPLES / "machines.csv")
    assert len(jobs) == 400
    assert machines["count"].sum() == 60
    assert (jobs["tasks"] > 1).sum() > 200
    assert jobs["submit_seconds"].is_monotonic_increasing


@pytest.mark.parametrize(
    ("name", "jobs", "dropped", "tasks"),
    [
        ("philly-pollux/philly.csv.gz", 82247, 0, 128),
        ("alibaba-gpu-v2023/openb_pod_list_default.csv", 7255, 897, 1),
        ("alibaba-gpu-v2023/openb_pod_list_gpushare20.csv.gz", 7312, 840, 1),
        ("alibaba-gpu-v2023/openb_pod_list_multigpu20.csv.gz", 8324, 0, 1),
        ("swf/NASA-iPSC-1993-3.1-cln.swf.gz", 18239, 0, 128),
        ("swf/hpc2n-head.swf.gz", 3145, 25, 128),
        ("swf/wagap-2013.swf.gz", 17898, 2, None),
        ("gavel/msr_seed0_traces.tsv.gz", 1181, 0, 8),
        ("gavel/physical_cluster_traces.tsv", 15, 0, 2),
        ("shockwave/traces.tsv.gz", 120, 0, 4),
        ("pollux/workloads.csv.gz", 80, 0, 32),
        ("sia/workloads.csv.gz", 960, 0, 16),
        ("tiresias/60_job.csv", 60, 0, 8),
        ("alibaba-gpu-v2025/disaggregated_DLRM_trace.csv.gz", 12390, 11481, 1),
        ("alibaba-genai-v2026/lora_request_trace.csv.gz", 26823, 0, 1),
    ],
)
def test_published_jobs(name, jobs, dropped, tasks):
    table = read_jobs(trace(name))
    assert len(table) == jobs
    assert table.attrs["dropped"] == dropped
    assert tasks is None or table["tasks"].max() == tasks


@pytest.mark.parametrize(
    ("name", "machines", "gpus"),
    [
        ("alibaba-gpu-v2023/openb_node_list_all_node.csv", 1523, 6212),
        ("alibaba-gpu-v2023/openb_node_list_gpu_node.csv", 1213, 6212),
        ("swf/hpc2n-head.swf.machines", 120, 0),
        ("swf/wagap-2013.swf.machines", 68, 0),
        ("alibaba-gpu-v2020/pai_machine_spec.csv", 1897, 6742),
        ("alibaba-spot-gpu-v2026/node_info_df.csv", 4278, 10412),
        ("tiresias/n32g4.csv", 32, 128),
    ],
)
def test_published_machines(name, machines, gpus):
    table = read_machines(trace(name))
    assert table["count"].sum() == machines
    assert (table["count"] * table["gpu"]).sum() == gpus


def test_published_counts_of_arrivals():
    table = read_arrivals(trace("helios-venus-lucid/cluster_throughput.csv.gz"))
    assert len(table) == 125214
    assert table["submit_seconds"].max() < 26064 * 600


@pytest.mark.parametrize(
    ("name", "hosts", "links"),
    [
        ("g5k_tree.csv", 1528, 64),
        ("gridpp_grid_2004.conf", 6888, 38),
        ("lcg_sept2004_grid.conf", 14020, 127),
    ],
)
def test_published_platforms(name, hosts, links):
    platform = read_platform(trace(f"simgrid-platforms/{name}"))
    assert sum(platform.hosts) == hosts
    assert len(platform.links) == links


@pytest.mark.parametrize(
    ("name", "tasks", "seconds"),
    [
        ("1000genome-chameleon-10ch-100k-001", 100, 61.64),
        ("blast-chameleon-large-001", 100, 1547.87),
        ("bwa-chameleon-medium-001", 1000, 3.18),
        ("seismology-chameleon-100p-001", 100, 0.55),
        ("srasearch-chameleon-10a-001", 10, 634.3),
    ],
)
def test_published_workflows(name, tasks, seconds):
    (bag,) = read_bags(trace(f"wfinstances/{name}.json.gz"), 1)
    assert bag.tasks == tasks
    assert round(bag.seconds, 2) == seconds
