"""What Bao, Peng, Wu, Li 2018 print, evaluated where it fails: OASIS-n of docs/errata.md."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from independent.oasis import simple_job

from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisJob, OasisSchedule
from optsched.families.oasis.policies.paper import guarantee, ratio_parameter
from optsched.families.oasis.verify import verify
from optsched.numbers.resources import MachineClass
from optsched.scheduling.online.separated import Prospect, ln_bounds


def job(utility, demand=(1,), **changes) -> OasisJob:
    """A job of one worker-slot, with a PS as large as its worker."""
    data = {"worker_demand": demand, "ps_demand": demand, "utility": utility}
    return simple_job(**(data | changes))


def constant(value):
    return {"kind": "constant", "value": value}


def cluster(*jobs, capacity=(1,), horizon=1) -> OasisInstance:
    """One machine for workers, and one of the same size for PS."""
    machine = (MachineClass(capacity=capacity),)
    return OasisInstance(
        horizon=horizon,
        resources=tuple("abc"[: len(capacity)]),
        worker_machines=machine,
        ps_machines=machine,
        jobs=jobs,
    )


def run_in(*slots) -> JobSchedule:
    one = tuple((t, 0, 1) for t in slots)
    return JobSchedule(workers=one, ps=one)


def price(low, high, share):
    """(22)"""
    return low * (high / low) ** share


def test_oasis_1_a_job_that_fills_a_machine_breaks_theorem_4():
    worth = (1.0, 100.0)
    low, high = min(worth) / 4, max(worth)  # (25) with eta = 1, and (23): all demands are 1
    printed = 2 * max(1, math.log(high / low))
    earned = used = 0.0
    for f in worth:  # Algorithm 1; both sides of the cluster have the same price
        if used + 1 <= 1 and f - 2 * price(low, high, used) > 0:
            earned, used = earned + f, used + 1
    inst = cluster(*(job(constant(f)) for f in worth))
    optimum = verify(inst, OasisSchedule(jobs=(None, run_in(0)))).value
    assert (earned, optimum) == (1, 100)
    assert optimum / earned > printed  # 100 against 11.98
    assert 2 * ratio_parameter(inst) == pytest.approx(printed)
    assert guarantee(inst, "oasis", {"alpha": ratio_parameter(inst)}) is None


def test_oasis_2_the_dual_is_infeasible_where_a_worker_does_not_fit():
    # one slot, capacity 3 on both sides; workers and PS need 2 each
    first, second, demand, capacity = 1.0, 100.0, 2, 3
    low = Fraction(1, 4) * Fraction(demand, capacity) * Fraction(1, demand)  # 1 / eta is 2 / 3
    after = price(float(low), second / demand, demand / capacity)
    mu = [first - 2 * demand * float(low), 0.0]  # job 2 has no schedule that still fits
    assert second - 2 * demand * after > mu[1]  # so (20) is broken
    dual = sum(mu) + 2 * after * capacity
    inst = cluster(*(job(constant(f), (demand,)) for f in (first, second)), capacity=(capacity,))
    optimum = verify(inst, OasisSchedule(jobs=(None, run_in(0)))).value
    assert dual < optimum  # 36 < 100: weak duality means nothing
    on_empty_machines = [max(0.0, f - 2 * demand * after) for f in (first, second)]
    assert sum(on_empty_machines) + 2 * after * capacity >= optimum


def test_oasis_3_the_smallest_utility_vanishes():
    f = {"kind": "sigmoid", "scale": 100, "decay": 6, "target": 1}  # time-critical, Sec. V-A
    inst = cluster(job(f), horizon=300)
    low = 100 * float(np.exp(-6.0 * (300 - 1 - 1))) / 4  # (25): f(T - a) in slots from 1
    assert low == 0.0
    with pytest.raises(ZeroDivisionError):
        price(low, 100.0, 0.5)
    assert 1700 < ratio_parameter(inst) < 1900  # from logarithms: Theorem 4 promises 1 / 3600
    ends = {"kind": "table", "values": (3, 2, 0)}  # any f >= 0 is allowed: here f(T - a) = 0
    assert 0 < ratio_parameter(cluster(job(ends), horizon=4)) < math.inf


def test_oasis_4_whole_chunks_are_not_optimal():
    chunk, chunks, most = Fraction(3, 64), 64, 1  # M (tau + 2 e / b), E N, N

    @cache
    def dp_cost(slots, d):  # Algorithm 2 at prices of 1, with the base case of App. B
        if slots == 0:
            return 0 if d == 0 else math.inf
        workers = [math.ceil(k * chunk) for k in range(d + 1)]
        return min(
            (n if n <= most else math.inf) + dp_cost(slots - 1, d - k)
            for k, n in enumerate(workers)
        )

    assert dp_cost(3, chunks) == math.inf
    assert dp_cost(4, chunks) == 4
    inst = cluster(job(constant(1), epochs=64, batch_time=float(chunk)), horizon=3)
    assert verify(inst, OasisSchedule(jobs=(run_in(0, 1, 2),))).value == 1  # (2) holds: 3 >= 3


def test_oasis_5_the_argument_is_a_duration_already():
    shortest, horizon = 2, 10

    def f(d):
        return 1 / (1 + d)

    for arrival, printed in ((2, f(0)), (5, f(-3))):  # slots from 1
        best = max(f(t - arrival) for t in range(arrival + shortest - 1, horizon + 1))
        assert best == f(shortest - 1)
        assert f(shortest - arrival) == printed != best
    assert f(shortest - 5) < 0
    with pytest.raises(ZeroDivisionError):
        f(shortest - 3)
    prospect = Prospect((1,), 2, shortest, 4, lambda d: math.log(f(d)))
    upper, _ = ln_bounds([prospect], [(1,)], horizon)
    assert upper[0] == pytest.approx(math.log(f(shortest - 1)))


def drawn(jobs=20_000):
    """E, M, tau of Sec. V-A."""
    random = np.random.default_rng(0)
    epochs, batches = random.integers(50, 201, jobs), random.integers(10, 101, jobs)
    return epochs, batches, random.uniform(0.001, 0.1, jobs)


def test_oasis_6_most_jobs_of_the_settings_cannot_finish():
    epochs, batches, tau = drawn()
    shortest = np.ceil(epochs * batches * tau)  # with all N workers, and gradients for free
    assert np.median(shortest) > 200
    assert np.mean(shortest <= 10) < 0.03  # T of Fig. 5
    assert np.mean(shortest - 1 <= 15) < 0.04  # the latest target
    assert np.mean(shortest <= 100) < 0.3  # T of Fig. 4
    assert np.mean(shortest <= 300) > 0.5  # T of Figs. 3 and 6


def test_oasis_7_a_chunk_takes_slots_not_a_fraction_of_one():
    _, batches, tau = drawn()
    chunk = batches * tau
    assert np.mean(chunk) > 2.5
    assert np.mean(chunk > 1) > 0.6
    assert np.mean(chunk < 0.1) < 0.03  # much smaller than a slot


def test_oasis_8_demands_of_zero():
    worker, ps = (0, 2), (0, 4)  # GPU, memory: 0 to 4 GPUs per worker, none per PS
    for demand in (worker, ps):
        with pytest.raises(ZeroDivisionError):
            [1.0 / d for d in demand]  # (23), (24); likewise (30), (31)
    inst = cluster(job(constant(1), worker, ps_demand=ps), capacity=(0, 8))
    assert 1 <= ratio_parameter(inst) < math.inf


def test_oasis_10_the_recursion_has_no_end():
    def dp_cost(end, workload):  # lines 12 to 22; a slot costs what it trains
        return min(d + dp_cost(end - 1, workload - d) for d in range(workload + 1))

    with pytest.raises(RecursionError):
        dp_cost(2, 1)


def test_oasis_11_alpha_depends_on_the_units():
    def alpha(*demand):
        low = 1 / 4 / sum(demand)  # one job that fills the cluster: eta = 1
        return max(1, *(math.log(1 / d / low) for d in demand))

    gigabytes, megabytes = alpha(1, 4), alpha(1, 4000)
    assert gigabytes == pytest.approx(math.log(20))
    assert megabytes == pytest.approx(math.log(16_004))
    for demand, expected in (((1, 4), gigabytes), ((1, 4000), megabytes)):
        inst = cluster(job(constant(1), demand), capacity=demand)
        assert ratio_parameter(inst) == pytest.approx(expected)


def test_oasis_14_the_arg_max_of_a_truth_value_is_any_slot_with_workers():
    workers = [0, 2, 1, 0]
    truth = [y > 0 for y in workers]
    printed = {t for t, value in enumerate(truth) if value == max(truth)}
    assert printed == {1, 2}
    inst = cluster(job({"kind": "inverse", "scale": 1}, chunks=2, epochs=2, batch_time=0.75),
                   capacity=(2,), horizon=4)  # fmt: skip
    plan = JobSchedule(workers=((1, 0, 2), (2, 0, 1)), ps=((1, 0, 2), (2, 0, 1)))
    assert verify(inst, OasisSchedule(jobs=(plan,))).completion == (max(printed),)
