"""One definition of work: whoever counts, states what fractions state, also on the very edge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent.dmlrs import EPS, on_the_edge, optimum, tiny
from sweeps import sweep

from optsched.core import simulate, solve
from optsched.families.dmlrs.certificate.check import DmlrsCertificate, check
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, JobSchedule, batch_slots
from optsched.families.dmlrs.instance_work import Work, kernel_work, small_work
from optsched.families.dmlrs.verify import verify

ON_THE_EDGE = 250


@given(st.integers(1, 14), st.integers(0, 2**32 - 1))
def test_small_numbers_say_what_large_ones_say(most, seed):
    rng = np.random.default_rng(seed)
    outer = 1 + int(rng.integers(10 ** int(rng.integers(1, 18)))) * 10 ** int(rng.integers(9))
    inner = outer + int(rng.integers(10**6)) * outer // int(rng.choice([1, 10**5, 10**6]))
    total = int(rng.integers(0, most + 1)) * inner + int(rng.integers(0, most + 1)) * outer
    work = Work(max(1, total + int(rng.integers(-1, 2))), inner, outer)
    small, kernel = small_work(work, most), kernel_work(work)
    assert max(small.inner, small.outer) <= 2 * most
    assert small.total <= 2 * most * most + most
    assert kernel.total.bit_length() == 56
    for a in range(most + 1):
        for b in range(most + 1 - a):
            enough = a * inner + b * outer >= work.total
            for w in (small, kernel):
                assert (a * w.inner + b * w.outer >= w.total) == enough


def counts_like_fractions(inst):
    """Whether the integers of job 0 state of all numbers of worker-slots what fractions state."""
    job, needs = inst.jobs[0], inst.needs[0]
    speeds = [
        1 / batch_slots(job, b, inst.slot_seconds)
        for b in (job.inner_bandwidth, job.outer_bandwidth)
    ]
    enough = job.epochs * job.chunks * job.batches_per_chunk * (1 - EPS)
    slots = inst.horizon * job.chunks
    return all(
        (a * speeds[0] + b * speeds[1] >= enough)
        == (a * needs.inner + b * needs.outer >= needs.work)
        for a in range(slots + 1)
        for b in range(slots + 1 - a)
    )


@pytest.mark.parametrize("block", sweep(range(5), 1))
def test_judge_checker_and_policies_agree_on_the_edge(block):
    for seed in range(block, ON_THE_EDGE, 5):
        inst = on_the_edge(seed)
        assert counts_like_fractions(inst), seed
        best = optimum(inst)  # in fractions, by trying everything
        empty = DmlrsCertificate.root(inst, None, 40)
        assert check(inst, empty) >= best * (1 - 1e-12), seed
        for policy in ("colocate", "pd-ors"):
            run = simulate(inst, policy)
            assert run.value <= best * (1 + 1e-12), (seed, policy)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["branch-and-price", "cpsat", "compact"])
def test_methods_agree_on_the_edge(method):
    for seed in range(40):
        inst = on_the_edge(seed)
        found = solve(inst, method=method, time_limit=60)
        best = pytest.approx(optimum(inst), rel=1e-9, abs=1e-12)
        assert (found.value, found.bound) == (best, pytest.approx(found.value, rel=1e-6)), seed


def test_a_job_that_is_trained_by_60_slots_less_than_the_tolerance():
    """Mini-batches of 60.00000006 slots: 60 slots train 1 - 1e-9 of one, which counts as one."""
    data = tiny(0).model_dump()
    job = data["jobs"][0] | {
        "arrival": 0, "epochs": 1, "chunks": 1, "batches_per_chunk": 1,
        "batch_time": 60.00000006, "gradient_mb": 0.0, "ps_bandwidth": 10.0,
        "worker_demand": (1.0, 1.0), "ps_demand": (0.0, 0.0),
        "utility": {"kind": "constant", "value": 7.0},
    }  # fmt: skip
    inst = DmlrsInstance.model_validate(data | {"horizon": 60, "jobs": [job]})
    every = tuple((t, 0, 1) for t in range(60))
    plan = DmlrsSchedule(jobs=(JobSchedule(workers=every, ps=every),))
    assert verify(inst, plan).value == 7.0
    assert check(inst, DmlrsCertificate.root(inst, None, 40)) == 7.0
    assert solve(inst, time_limit=30).value == 7.0
    less = DmlrsSchedule(jobs=(JobSchedule(workers=every[1:], ps=every[1:]),))
    assert verify(inst, less).value is None
