"""Loads, fastest runs and warnings, worked by hand."""

import pytest
from independent.oasis import simple_job

from optsched.families.oasis.facts import (
    describe,
    fastest,
    offered_load,
    warnings,
)
from optsched.families.oasis.instance import OasisInstance, most_workers
from optsched.families.oasis.sources.presets import generate


def job(**changed):
    """Return a job of 8 worker-slots, at most 4 workers, one PS for two workers."""
    data = {
        "epochs": 2,
        "chunks": 4,
        "ps_bandwidth": 2,
        "worker_demand": (1, 2),
        "ps_demand": (0, 3),
        "utility": {"kind": "sigmoid", "scale": 10, "decay": 5, "target": 3},
    }
    return simple_job(**(data | changed))


def instance(*jobs):
    """Return 5 slots, two machines of 2 GPU and 8 GB for workers, one of 6 GB for PS."""
    return OasisInstance(
        horizon=5,
        resources=("gpu", "memory"),
        units=("GPU", "GB"),
        worker_machines=({"count": 2, "capacity": (2, 8), "name": "node"},),
        ps_machines=({"capacity": (0, 6)},),
        jobs=jobs,
    )


def test_most_workers_counts_rooms_on_both_sides():
    inst = instance(job(), job(worker_demand=(1, 5)), job(ps_bandwidth=1), job(ps_demand=(0, 7)))
    # 2 per machine by GPU; 1 by memory; 2 PS serve 2 workers; no PS fits
    assert [most_workers(inst, j) for j in inst.jobs] == [4, 2, 2, 0]
    assert fastest(inst) == (2, 4, 4, None)


@pytest.mark.parametrize("seed", range(4))
def test_most_workers_of_all_jobs_at_once(seed):
    inst = generate(seed=seed, jobs=60, machines=(12, 2), completable=False)
    assert inst.most == tuple(most_workers(inst, j) for j in inst.jobs)
    assert any(n < j.chunks for n, j in zip(inst.most, inst.jobs, strict=True))
    assert instance().most == ()


def test_offered_load_by_hand():
    inst = instance(job(), job(arrival=3, epochs=3))  # 8 worker-slots; 12 in 2 slots x 4: never
    loads = offered_load(inst)
    assert loads["worker"] == pytest.approx({"gpu": 8 * 1 / (5 * 4), "memory": 8 * 2 / (5 * 16)})
    # 4 workers need 2 PS, in 2 slots
    assert loads["ps"] == pytest.approx({"gpu": 0, "memory": 2 * 2 * 3 / (5 * 6)})


def test_load_without_capacity_is_infinite():
    assert offered_load(instance(job(ps_demand=(1, 1))))["ps"]["gpu"] == float("inf")


def test_warnings_name_what_cannot_be_admitted():
    inst = instance(job(), job(arrival=4), job(worker_demand=(3, 1)), job(ps_demand=(0, 7)))
    assert warnings(inst) == [
        "job 1 can never finish: needs 8 worker-slots, at most 4 are possible "
        "(slots left: 1, workers in each: 4)",
        "job 2: a worker fits on no machine, it requests 3 gpu, 1 memory",
        "job 3: a parameter server fits on no machine, it requests 7 memory",
    ]


def test_warning_of_a_light_load():
    assert warnings(instance(job(epochs=1))) == [
        "the offered load is 0.2: capacity is ample, and policies may look alike"
    ]


def test_describe():
    late = job(utility={"kind": "sigmoid", "scale": 10, "decay": 5, "target": -1})
    facts = describe(instance(job(), job(arrival=4), job(chunks=1, epochs=1), late))
    assert facts["jobs"] == 4
    assert facts["slots"] == 5
    assert facts["resources"] == {"gpu": "GPU", "memory": "GB"}
    assert facts["worker machines"] == 2
    assert facts["worker machine classes"] == [
        {"name": "node", "count": 2, "gpu": 2.0, "memory": 8.0}
    ]
    assert facts["worker-slots"] == {"min": 1, "median": 8, "max": 8}
    assert facts["jobs with more than one worker"] == 0.75
    assert facts["jobs that can never finish"] == 1
    assert facts["jobs that can earn"] == 2  # not the one that never ends, nor the one too late


def test_many_jobs_that_never_finish_are_counted():
    told = warnings(instance(*(job(arrival=4) for _ in range(9)), job()))
    assert [text.split(" can")[0] for text in told[:4]] == [
        "job 0",
        "job 1",
        "job 2",
        "9 of 10 jobs",
    ]
    assert "--slot-length" in told[3]
