"""Instances from tables: the trace's work, arrivals over the horizon, the requested load."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import optsched
from optsched.families.oasis.facts import describe, offered_load, warnings
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.sources import traces
from optsched.families.oasis.sources.traces import MACHINES
from optsched.numbers.resources import ceil_tol, exact
from optsched.problem import InputError
from optsched.traces import Tables, read_jobs, read_machines

ROOT = Path(optsched.__file__).parent.parent
TRACES = Path(os.environ.get("OPTSCHED_TRACES", ROOT.parent / "shared" / "data"))
SAMPLES = Path(optsched.__file__).parent / "samples"
DRAWN_FOR_PHILLY = (
    *("epochs", "batches_per_chunk", "batch_time", "gradient_mb"),
    *("worker_bandwidth", "ps_bandwidth", "worker_demand of cpu", "worker_demand of memory"),
    *("ps_demand", "utility", "bandwidth of the machines"),
)


def from_trace(table, machines=None, *, shapes=None, **options):
    return traces.from_trace(Tables(table, machines, shapes), **options)


@pytest.fixture(scope="module")
def sample():
    """Return the sample trace."""
    return read_jobs(SAMPLES / "jobs.csv"), read_machines(SAMPLES / "machines.csv")


def table(*rows, **columns):
    """Return a table of jobs; a row is (submit_seconds, run_seconds, tasks)."""
    jobs = pd.DataFrame(rows, columns=["submit_seconds", "run_seconds", "tasks"])
    jobs["name"] = [f"j{k}" for k in range(len(jobs))]
    return jobs.assign(**{"gpu": 1.0, "cpu": np.nan, "memory_gb": np.nan, "user": ""} | columns)


def trace(name):
    """Return the path of a published trace, or skip."""
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"{path} is not there; OPTSCHED_TRACES names the folder of the traces")
    return path


def expected_work(window, slot_seconds):
    """Return the worker-slots that the rows of a trace request."""
    return tuple(
        max(1, ceil_tol(exact(run) * int(tasks) / exact(slot_seconds)))
        for run, tasks in zip(window["run_seconds"], window["tasks"], strict=True)
    )


@pytest.mark.parametrize("slot_seconds", [3600.0, 600.0, 1.0])
def test_work_and_workers_are_those_of_the_trace(sample, slot_seconds):
    jobs, machines = sample
    inst = from_trace(jobs, machines, slot_seconds=slot_seconds, start="#50")
    window = jobs.iloc[50:150]
    assert inst.work == expected_work(window, slot_seconds)
    assert [job.chunks for job in inst.jobs] == window["tasks"].tolist()
    assert all(job.epochs >= 1 and job.batches_per_chunk >= 1 for job in inst.jobs)


def test_work_of_odd_jobs():
    jobs = table((0, 0, 128), (5, 1e9, 1000), (9, 3600, 7), (9, 3600.5, 1), (20, 1e-3, 1))
    inst = from_trace(jobs, jobs=5, slots=10)
    assert inst.work == (1, 277777778, 7, 2, 1)


def test_gradients_leave_time_to_compute_in_the_shortest_jobs():
    jobs = table(*[(k, 0.01, 64) for k in range(30)])
    inst = from_trace(jobs, jobs=30, slots=10, slot_seconds=1.0)
    assert set(inst.work) == {1}
    assert all(job.batch_time > 0 for job in inst.jobs)


def test_arrivals_span_the_horizon_in_proportion():
    jobs = table((100, 1, 1), (100, 1, 1), (150, 1, 1), (300, 1, 1))
    inst = from_trace(jobs, jobs=4, slots=8)
    assert [job.arrival for job in inst.jobs] == [0, 0, 2, 7]
    at_once = from_trace(jobs, jobs=2, slots=8)
    assert [job.arrival for job in at_once.jobs] == [0, 0]


@pytest.mark.parametrize("load", [0.25, 0.5, 1.0, 2.0])
def test_offered_load_is_as_asked(sample, load):
    jobs, machines = sample
    loads = offered_load(from_trace(jobs, machines, load=load))
    assert max(loads["worker"].values()) == pytest.approx(load, rel=0.05)
    assert load / 2 < max(loads["ps"].values()) <= load


def test_machines_keep_the_proportions_of_the_list(sample):
    jobs, machines = sample
    inst = from_trace(jobs, machines, load=0.05)
    counts = {c.name: c.count for c in inst.worker_machines}
    assert counts["4 x A, 48 cores"] / counts["2 x B, 32 cores"] == pytest.approx(26 / 14, abs=0.05)
    assert all(c.capacity[0] > 0 for c in inst.worker_machines)
    assert all(c.capacity[0] == 0 for c in inst.ps_machines)


def test_a_tiny_load_leaves_one_machine_on_each_side():
    inst = from_trace(table((0, 60, 1), (9, 60, 1)), jobs=2, slots=50)
    assert len(inst.worker_capacity) == len(inst.ps_capacity) == 1
    assert "capacity is ample" in warnings(inst)[-1]


def test_list_of_one_kind_of_machines():
    jobs = table((0, 7200, 2), (9, 3600, 1))
    gpus, cpus = MACHINES[MACHINES["gpu"] > 0], MACHINES[MACHINES["gpu"] == 0]
    only_gpus = from_trace(jobs, gpus, jobs=2, slots=4)
    assert "ps_machines" in only_gpus.drawn
    assert {c.name for c in only_gpus.ps_machines} <= {*cpus["name"]}
    only_cpus = from_trace(jobs.assign(gpu=0.0), cpus, jobs=2, slots=4)
    assert "ps_machines" not in only_cpus.drawn
    assert {c.name for c in only_cpus.worker_machines} <= {*cpus["name"]}
    assert describe(only_cpus)["jobs that can never finish"] == 0


def test_demands_of_the_trace_are_kept_and_gaps_are_drawn():
    jobs = table((0, 60, 1), (9, 60, 1), gpu=0.25, cpu=[3.0, np.nan], memory_gb=[7.0, np.nan])
    inst = from_trace(jobs, jobs=2, slots=4)
    assert inst.jobs[0].worker_demand[:3] == (0.25, 3.0, 7.0)
    assert inst.jobs[1].worker_demand[0] == 0.25
    assert inst.jobs[1].worker_demand[1] >= 4
    full = jobs.fillna({"cpu": 1.0, "memory_gb": 1.0})
    assert not [d for d in from_trace(full, jobs=2, slots=4).drawn if "worker_demand" in d]


def test_drawn_demands_fit_on_small_machines():
    small = MACHINES.assign(cpu=2.0, memory_gb=1.0)
    jobs = table((0, 60, 1), (9, 60, 1), cpu=[1.0, np.nan])
    inst = from_trace(jobs, small, jobs=2, slots=4)
    for job in inst.jobs:
        assert job.worker_demand[1] <= 2
        assert job.worker_demand[2] <= 1
        assert job.ps_demand[1] <= 2
        assert job.ps_demand[2] <= 1
    assert describe(inst)["jobs that can never finish"] == 0


def test_shapes_are_drawn_from_the_list_that_is_given():
    shapes = pd.DataFrame(
        [(1.0, 5.0, 9.0), (8.0, 7.0, 7.0), (0.0, 3.0, 4.0)], columns=["gpu", "cpu", "memory_gb"]
    )
    inst = from_trace(table((0, 60, 1), (9, 60, 4)), jobs=2, slots=4, shapes=shapes)
    assert {job.worker_demand[:3] for job in inst.jobs} == {(1.0, 5.0, 9.0)}
    assert {job.ps_demand[:3] for job in inst.jobs} == {(0.0, 3.0, 4.0)}


def test_what_was_drawn_is_named_and_the_seed_fixes_it(sample):
    jobs, machines = sample
    inst = from_trace(jobs, machines, seed=3)
    assert inst.drawn == DRAWN_FOR_PHILLY
    assert inst.source.startswith("Philly jobs: 100 jobs from line 2 on")
    again, other = from_trace(jobs, machines, seed=3), from_trace(jobs, machines, seed=4)
    assert inst.digest() == again.digest() != other.digest()
    assert inst.work == other.work
    assert OasisInstance.model_validate_json(inst.model_dump_json()) == inst


def test_more_jobs_leave_the_draws_of_the_first_ones_alone(sample):
    jobs, machines = sample
    few, many = from_trace(jobs, machines, jobs=20), from_trace(jobs, machines, jobs=60)
    for a, b in zip(few.jobs, many.jobs, strict=False):  # only the compressed time differs
        assert a.model_copy(update={"arrival": b.arrival}) == b


def test_every_job_that_can_finish_can_earn(sample):
    facts = describe(from_trace(*sample))
    assert facts["jobs that can earn"] == 100 - facts["jobs that can never finish"]
    assert facts["jobs with more than one worker"] > 0.5


@pytest.mark.parametrize(
    ("start", "first"),
    [(0, 0), ("#7", 7), (3600.0 * 24, None), ("1d", None), ("2024-06-04 04:48:51", None)],
)
def test_start(sample, start, first):
    jobs, machines = sample
    if first is None:  # one day after the first job, reported in three ways
        first = int((jobs["submit_seconds"] < 86400).sum())
    inst = from_trace(jobs, machines, start=start, jobs=5)
    assert f"from {jobs['name'][first]} on" in inst.source


def test_min_tasks(sample):
    jobs, machines = sample
    inst = from_trace(jobs, machines, min_tasks=4)
    assert min(job.chunks for job in inst.jobs) == 4
    assert inst.work == expected_work(jobs[jobs["tasks"] >= 4].iloc[:100], 3600.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"jobs": 401},
            "from start 0.0 on the trace has 400 jobs of at least 1 tasks, expected 401",
        ),
        ({"start": "#390"}, "the trace has 10 jobs of at least 1 tasks, expected 100"),
        (
            {"start": "soon"},
            "start is 'soon', expected seconds .*, a date such as 2017-10-09 07:00",
        ),
        ({"start": "#-4"}, "start is '#-4', expected seconds"),
        ({"start": "nan"}, "start is 'nan', expected seconds"),
        ({"load": 0}, "load is 0, expected a positive number"),
        (
            {"load": 1e-9},
            "load 1e-09 requests .* machines, expected at most 100000; raise the load",
        ),
        ({"slot_seconds": float("nan")}, "slot_seconds is nan, expected a positive number"),
        (
            {"slot_seconds": 1e-9},
            r"job line 2: needs \d+ worker-slots, expected at most \d+; choose",
        ),
        ({"slots": 0}, "slots is 0, expected a whole number of at least 1"),
        ({"seed": -1}, "seed is -1, expected a whole number of at least 0"),
    ],
)
def test_wrong_options(sample, options, message):
    with pytest.raises(InputError, match=message):
        from_trace(*sample, **options)


def test_list_without_times_is_no_trace():
    with pytest.raises(InputError, match="has no times of submission and running"):
        from_trace(table((np.nan, np.nan, 1)), jobs=1)


def test_philly_on_alibaba_machines():
    jobs = read_jobs(trace("philly-pollux/philly.csv.gz"))
    machines = read_machines(trace("alibaba-gpu-v2023/openb_node_list_all_node.csv"))
    pods = read_jobs(trace("alibaba-gpu-v2023/openb_pod_list_default.csv"))
    inst = from_trace(jobs, machines, start="2017-10-09", min_tasks=2, shapes=pods)
    dates = jobs.attrs["start"] + pd.to_timedelta(jobs["submit_seconds"], unit="s")
    window = jobs[(dates >= pd.Timestamp("2017-10-09")) & (jobs["tasks"] > 1)].iloc[:100]
    assert f"from {window['name'].iloc[0]} on" in inst.source
    assert inst.work == expected_work(window, 3600.0)
    assert all(job.chunks > 1 for job in inst.jobs)
    assert inst.jobs[0].arrival == 0
    assert inst.jobs[-1].arrival == 99
    assert max(offered_load(inst)["worker"].values()) == pytest.approx(2, rel=0.2)
    shapes = set(zip(pods["gpu"], pods["cpu"], pods["memory_gb"].round(3), strict=True))
    assert all(job.worker_demand[:3] in shapes for job in inst.jobs)


def test_swf_log_on_its_own_machines():
    jobs = read_jobs(trace("swf/hpc2n-head.swf.gz"))
    machines = read_machines(trace("swf/hpc2n-head.swf.machines"))
    inst = from_trace(jobs, machines)
    assert inst.work == expected_work(jobs.iloc[:100], 3600.0)
    assert all(job.worker_demand[:2] == (0.0, 1.0) for job in inst.jobs)
    assert max(offered_load(inst)["worker"].values()) == pytest.approx(2, rel=0.05)


def test_pods_bring_their_own_demands():
    pods = read_jobs(trace("alibaba-gpu-v2023/openb_pod_list_default.csv"))
    machines = read_machines(trace("alibaba-gpu-v2023/openb_node_list_all_node.csv"))
    inst = from_trace(pods, machines, start="120d", jobs=50)
    first = int((pods["submit_seconds"] < 120 * 86400).sum())
    demands = pods[["gpu", "cpu", "memory_gb"]].iloc[first : first + 50].round(3)
    assert [job.worker_demand[:3] for job in inst.jobs] == list(map(tuple, demands.to_numpy()))
    assert not [d for d in inst.drawn if "worker_demand" in d]
