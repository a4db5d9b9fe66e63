"""What PD-ORS guarantees holds, on instances whose optimum is known without any solver."""

from __future__ import annotations

import math

import numpy as np

from optsched.core import simulate
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob
from optsched.families.dmlrs.policies.paper import PdOrs, PdOrsRandomized
from optsched.families.dmlrs.policies.prior import theorem_gain
from optsched.numbers.resources import MachineClass


def job(value: float, demand: float, slots: int = 1) -> DmlrsJob:
    """Return a job of one worker in all of its slots; its PS asks for nothing."""
    return DmlrsJob(
        arrival=0,
        epochs=slots,
        chunks=1,
        batches_per_chunk=1,
        batch_time=1,
        gradient_mb=0,
        inner_bandwidth=1,
        outer_bandwidth=1,
        ps_bandwidth=1,
        worker_demand=(demand,),
        ps_demand=(0,),
        utility={"kind": "constant", "value": value},
    )


def one_machine(capacity: float, *jobs: DmlrsJob, horizon: int = 1) -> DmlrsInstance:
    return DmlrsInstance(
        horizon=horizon,
        resources=("gpu",),
        machines=(MachineClass(capacity=(capacity,)),),
        jobs=jobs,
    )


def knapsack(inst: DmlrsInstance) -> float:
    """Return the optimum of one slot and one machine: the most valuable jobs that fit."""
    best = np.zeros(int(inst.machines[0].capacity[0]) + 1)
    for one in inst.jobs:
        d = int(one.worker_demand[0])
        best[d:] = np.maximum(best[d:], best[: best.size - d] + one.utility(0))
    return float(best[-1])


def ratio(best: float, earned: float) -> float:
    return 1.0 if best == 0 else math.inf if earned == 0 else best / earned


def test_a_job_that_fills_a_machine_breaks_the_theorem_and_nothing_is_promised():
    # the first job pays L for all of the machine, in both slots; the other one is shut out
    inst = one_machine(1, job(1, 1, slots=2), job(100, 1, slots=2), horizon=2)
    run = simulate(inst, "pd-ors")
    assert run.value == 1  # of 100
    assert ratio(100, run.value) > 2 * math.log(100 / (1 / 4))  # 2 alpha = 12
    assert run.guarantee is None


def contended(seed: int) -> DmlrsInstance:
    """Draw many jobs for a slot of one machine, the worst first: what posted prices fear."""
    draw = np.random.default_rng(seed)
    capacity, spread = int(draw.integers(50, 2000)), draw.uniform(0.5, 5)
    largest = max(1, int(capacity * 10 ** draw.uniform(-3, -0.3)))
    jobs: list[DmlrsJob] = []
    while sum(j.worker_demand[0] for j in jobs) < 3 * capacity and len(jobs) < 100:
        d = int(draw.integers(1, largest + 1))
        jobs.append(job(d * float(np.exp(draw.uniform(0, spread))), d))
    if draw.random() < 0.7:
        jobs.sort(key=lambda j: j.utility(0) / j.worker_demand[0])
    return one_machine(capacity, *jobs)


def test_it_holds_where_demands_are_small_and_where_they_are_not():
    promised = []
    for seed in range(100):
        inst = contended(seed)
        run = simulate(inst, "pd-ors")
        assert run.guarantee is not None
        assert ratio(knapsack(inst), run.value) <= run.guarantee, seed
        promised.append(run.guarantee)
    assert min(promised) < 15
    assert max(promised) > 30


def test_rounding_and_wrong_prices_are_promised_nothing():
    inst = contended(0)
    policies = [PdOrsRandomized(gain=theorem_gain(1.0)), PdOrs(L_scale=2.0), PdOrs(U="printed")]
    assert [simulate(inst, policy).guarantee for policy in policies] == [None, None, None]
