"""What OASiS and PD-ORS guarantee holds, on instances whose optimum is known without any solver."""

import math
from itertools import pairwise

import numpy as np
import pytest
from independent import dmlrs, oasis
from independent.oasis import optimum, random_instance
from sweeps import sweep

from optsched.core import simulate
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.policies.paper import PdOrs, PdOrsRandomized
from optsched.families.dmlrs.policies.prior import theorem_gain
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.policies.paper import Oasis, guarantee
from optsched.numbers.resources import MachineClass
from optsched.scheduling.online.competitive import PostedPrice, proved_ratio

POLICY = {"oasis": "oasis", "dmlrs": "pd-ors"}
LEAST = {"oasis": 1 / 8, "dmlrs": 1 / 4}  # value per resource of the two jobs below
both = pytest.mark.parametrize("family", POLICY)


def job(family, value, demand, slots=1):
    """Return a job of one worker in all of its slots; its PS requests nothing."""
    simple_job = {"oasis": oasis.simple_job, "dmlrs": dmlrs.simple_job}[family]
    utility = {"kind": "constant", "value": value}
    return simple_job(epochs=slots, worker_demand=(demand,), ps_demand=(0,), utility=utility)


def one_machine(family, capacity, *jobs, horizon=1):
    machine = (MachineClass(capacity=(capacity,)),)
    common = {"horizon": horizon, "resources": ("gpu",), "jobs": jobs}
    if family == "oasis":
        return OasisInstance(**common, worker_machines=machine, ps_machines=machine)
    return DmlrsInstance(**common, machines=machine)


def knapsack(inst, capacity):
    """Return the optimum of one slot and one machine: the most valuable jobs that fit."""
    best = np.zeros(capacity + 1)
    for one in inst.jobs:
        d = int(one.worker_demand[0])
        best[d:] = np.maximum(best[d:], best[: best.size - d] + one.utility(0))
    return float(best[-1])


def ratio(best, earned):
    return 1.0 if best == 0 else math.inf if earned == 0 else best / earned


@both
def test_a_job_that_fills_a_machine_breaks_the_theorem_and_nothing_is_promised(family):
    # the first job pays L for all of the machine, in both slots; the other one is shut out
    jobs = job(family, 1, 1, slots=2), job(family, 100, 1, slots=2)
    run = simulate(one_machine(family, 1, *jobs, horizon=2), POLICY[family])
    assert run.value == 1  # of 100
    assert ratio(100, run.value) > 2 * math.log(100 / LEAST[family])  # 2 alpha
    if family == "oasis":
        assert run.prior["alpha"] == pytest.approx(math.log(100 / LEAST[family]))
    assert run.guarantee is None


@pytest.mark.slow
def test_it_holds_where_everything_was_tried():
    for seed in range(60):
        inst = random_instance(seed)
        run = simulate(inst, "oasis")
        best = optimum(inst)
        if run.guarantee is not None:
            assert ratio(best, run.value) <= run.guarantee, seed


def contended(family, seed, most=150):
    """Draw many jobs for a slot of one machine, the worst first: what posted prices fear."""
    draw = np.random.default_rng(seed)
    capacity, spread = int(draw.integers(50, 2000)), draw.uniform(0.5, 5)
    largest = max(1, int(capacity * 10 ** draw.uniform(-3, -0.3)))
    jobs = []
    while sum(j.worker_demand[0] for j in jobs) < 3 * capacity and len(jobs) < most:
        d = int(draw.integers(1, largest + 1))
        jobs.append(job(family, d * float(np.exp(draw.uniform(0, spread))), d))
    if draw.random() < 0.7:
        jobs.sort(key=lambda j: j.utility(0) / j.worker_demand[0])
    return one_machine(family, capacity, *jobs), capacity


@pytest.mark.slow
@pytest.mark.parametrize("first", sweep(range(0, 80, 40), 1))
def test_it_holds_where_demands_are_small_and_where_they_are_not(first):
    kinds = {"theorem": 0, "more": 0}
    for seed in range(first, first + 40):
        inst, capacity = contended("oasis", seed)
        run = simulate(inst, "oasis")
        theorem = 2 * run.prior["alpha"]
        assert run.guarantee is not None
        assert ratio(knapsack(inst, capacity), run.value) <= run.guarantee, seed
        assert run.guarantee >= theorem
        kinds["theorem" if run.guarantee == theorem else "more"] += 1
    assert min(kinds.values()) >= 4, kinds


@pytest.mark.slow
def test_that_of_pd_ors_holds_where_demands_are_small_and_where_they_are_not():
    promised = []
    for seed in range(100):
        inst, capacity = contended("dmlrs", seed, most=100)
        run = simulate(inst, "pd-ors")
        assert run.guarantee is not None
        assert ratio(knapsack(inst, capacity), run.value) <= run.guarantee, seed
        promised.append(run.guarantee)
    assert min(promised) < 15
    assert max(promised) > 30


@pytest.mark.parametrize(
    ("family", "policy"),
    [
        ("oasis", Oasis(granularity="chunk")),
        ("oasis", Oasis(L_factor=2.0)),
        ("dmlrs", PdOrsRandomized(gain=theorem_gain(1.0))),
        ("dmlrs", PdOrs(L_scale=2.0)),
        ("dmlrs", PdOrs(U="printed")),
    ],
)
def test_whole_chunks_rounding_and_wrong_prices_are_promised_nothing(family, policy):
    inst, _ = contended(family, 0)
    assert simulate(inst, policy).guarantee is None


def test_another_policy_is_promised_nothing():
    inst, _ = contended("oasis", 0)
    assert guarantee(inst, "fifo", simulate(inst, "fifo").prior) is None


def test_the_promise_becomes_that_of_the_theorem_as_demands_vanish():
    def at(share: float) -> float | None:
        price = PostedPrice(math.log(50.0), math.log(0.001), share, capacity=10.0)
        return proved_ratio(0.0, [price], least=10.0, lost=0.0)

    found = [at(share) for share in (0.3, 0.1, 0.01, 1e-6, 0.0)]
    assert all(a > b for a, b in pairwise(found))
    assert found[-1] == pytest.approx(math.log(50_000) / (1 - 0.001), rel=1e-5)
    assert at(1.0) is None  # at the start, capacity is worth more than the optimum
