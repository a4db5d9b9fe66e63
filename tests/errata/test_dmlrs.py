"""What Yu 2019 prints, evaluated where it fails: DMLRS-n of docs/errata.md."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from independent.dmlrs import simple_job

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, DmlrsSchedule, JobSchedule
from optsched.families.dmlrs.policies.prior import (
    PRINTED,
    SAFE,
    ln_bounds,
    proved,
    theorem_gain,
    theorem_ratio,
)
from optsched.families.dmlrs.verify import verify
from optsched.numbers.resources import MachineClass


def job(**changes) -> DmlrsJob:
    """A mini-batch of one slot next to the PS and of two slots apart from it."""
    data = {
        "batch_time": 0.5,
        "gradient_mb": 0.5,  # 0.008 slots at 0.5 Gbit/s
        "inner_bandwidth": 2,
        "outer_bandwidth": 2 / 3,
        "ps_bandwidth": 2,
        "ps_demand": (1,),
        "utility": {"kind": "inverse", "scale": 1},
    }
    return simple_job(**(data | changes))


def cluster(*jobs, machines=2, capacity=20, horizon=4, locality="job") -> DmlrsInstance:
    return DmlrsInstance(
        slot_seconds=0.008,
        horizon=horizon,
        resources=("gpu",),
        machines=(MachineClass(count=machines, capacity=(capacity,)),),
        locality=locality,
        jobs=jobs,
    )


def judge(inst, workers, ps) -> str:
    plan = JobSchedule(workers=tuple(workers), ps=tuple(ps))
    return str(verify(inst, DmlrsSchedule(jobs=(plan,))))


def gain(rows, delta, least) -> float:
    """G of Lemma 1: m, delta, W_a"""
    x = math.log(3 * rows / delta) / least
    return 1 + x + math.sqrt(x * x + 2 * x)


def two_jobs(second: float) -> tuple[DmlrsInstance, float, float]:
    """A job worth 1 that fills the only machine comes before one worth more.

    Return the ratio of PD-ORS, and U / L.
    """
    demand = (1, 1)  # of a worker and its PS, on a machine of 2
    low = 1 / sum(demand) / 2  # (3.14): the work and 1 / mu cancel
    high = second / sum(demand)  # (3.13)
    earned = used = 0.0
    for worth in (1.0, second):
        cost = sum(demand) * low * (high / low) ** (used / 2)
        if used + 2 <= 2 and worth > cost:
            earned, used = earned + worth, used + 2
    jobs = [job(utility={"kind": "constant", "value": x}) for x in (1, second)]
    return cluster(*jobs, machines=1, capacity=2, horizon=1), second / earned, high / low


def test_dmlrs_1_the_least_of_one_and_logarithms_is_at_most_one():
    inst, ratio, spread = two_jobs(100.0)
    printed = 6 * theorem_gain(1.0) * min(1, math.log(spread))
    assert printed < ratio == 100 < 6 * theorem_gain(1.0) * max(1, math.log(spread))
    assert theorem_ratio(inst, theorem_gain(1.0), 1.0) > ratio


def test_dmlrs_2_no_rounding_is_ever_feasible():
    # two machines of 3: one can hold the three workers that a slot's work needs, one the PS
    needed, servers = 3, 1
    g = gain(2, 1.0, min(needed, servers))
    assert g == theorem_gain(1.0)
    rounded = {math.floor(g * needed), math.ceil(g * needed)}  # (3.26): w' = G w
    assert min(rounded) == 16 > needed  # so Step 11 goes back to Step 10 for ever
    inst = cluster(job(chunks=3), machines=2, capacity=3, horizon=2)
    exact = judge(inst, [(t, 0, 3) for t in range(2)], [(t, 1, 1) for t in range(2)])
    assert exact.startswith("feasible")
    for here in range(min(rounded) + 1):  # however they are spread over both machines
        spread = [(0, h, n) for h, n in ((0, here), (1, min(rounded) - here)) if n]
        assert "(3.3) broken" in judge(inst, spread, [(0, 1, 5)])


def test_dmlrs_3_a_job_that_fills_a_machine_breaks_theorem_3():
    inst, ratio, spread = two_jobs(10_000.0)
    assert ratio > 6 * theorem_gain(1.0) * max(1, math.log(spread))  # with the maximum as well
    assert ratio > 2 * max(1, math.log(spread))  # and with an exact oracle
    assert proved(inst, theorem_ratio(inst)) is None


def test_dmlrs_4_fact_1_holds_in_neither_reading():
    inner, outer, g = 2.0, 2 / 3, 0.5

    def rates(h, servers):
        return [inner if p == h else outer for p in servers]

    # all PS on machine 0, workers on 0 and 1: by (3.1) the worker on 0 has the inner rate
    assert 2 * g / min(rates(0, [0])) == 2 * g / inner
    # a worker on 0, PS on 0 and 1: by the formula of Fact 1 it has the inner rate
    assert min(2 * g / b for b in rates(0, [0, 1])) == 2 * g / inner
    split = [(t, h, 1) for t in range(5) for h in (0, 1)], [(t, 0, 1) for t in range(5)]
    eight = job(chunks=4, batches_per_chunk=2, ps_bandwidth=4)
    per_job, per_link = (
        judge(cluster(eight, horizon=6, locality=x), *split) for x in ("job", "link")
    )
    assert "5 of 8 mini-batches" in per_job
    assert "7.5 of 8 mini-batches" in per_link


def test_dmlrs_5_the_slowest_link_became_the_fastest():
    tau, g, inner, outer = 0.5, 0.5, 2.0, 2 / 3
    links = [inner, outer]  # a worker on machine 0, PS on 0 and 1
    in_3_1 = tau + 2 * g / min(links)
    in_3_16 = tau + min(2 * g / b for b in links)
    assert (in_3_1, in_3_16) == (2, 1)
    one_batch = cluster(job(ps_bandwidth=4, chunks=2), locality="link")
    plan = [(0, 0, 2)], [(0, 0, 1), (0, 1, 1)]  # two workers for one slot
    assert "1 of 2 mini-batches" in judge(one_batch, *plan)  # at (3.16) it would be both


def test_dmlrs_6_a_floor_trains_too_little():
    slots = Fraction(3, 2)  # M (tau + 2 g / b_in)
    assert (math.floor(slots), math.ceil(slots)) == (1, 2)
    inst = cluster(job(batches_per_chunk=2, batch_time=0.25))
    assert "(3.1) broken" in judge(inst, [(0, 0, 1)], [(0, 0, 1)])
    assert judge(inst, [(t, 0, 1) for t in (0, 1)], [(t, 0, 1) for t in (0, 1)])[:8] == "feasible"
    assert math.floor(Fraction(3, 4)) == 0  # less than a slot of work needs no worker at all


def test_dmlrs_7_the_time_of_communication_is_missing():
    tau, batches = 0.5, 2
    printed = math.ceil(batches * tau)  # Step 8
    assert printed == 1
    inst = cluster(job(batches_per_chunk=batches))
    assert "0.5 of 2 mini-batches" in judge(inst, [(0, 0, printed)], [(0, 1, 1)])
    assert math.ceil(batches * (tau + 1.5)) == 4  # 2 g / b_ex is 1.5 slots
    four = [(t, 0, 1) for t in range(4)], [(t, 1, 1) for t in range(4)]
    assert judge(inst, *four).startswith("feasible")


def test_dmlrs_8_a_worker_can_afford_a_full_machine():
    inst = cluster(job(utility={"kind": "constant", "value": 10}))
    paid = {}
    for rule in (PRINTED, SAFE):
        (high,), low = ln_bounds(inst, rule)
        paid[rule] = math.exp(high) + math.exp(low)  # worker where all is taken, PS where nothing
    assert paid[PRINTED] < 10 < paid[SAFE]


def test_dmlrs_9_the_argument_is_a_duration_already():
    def u(d):
        return 1 / (1 + d)  # Sec. 4.1

    with pytest.raises(ZeroDivisionError):
        u(2 - 3)  # two slots of work that arrive in slot 3
    high, low = u(2 - 5) / 2, 1 / 40  # in slot 5: U is below 0,
    assert isinstance((high / low) ** 0.5, complex)  # and so the price (3.12) is no real number
    inst = cluster(job(arrival=2, epochs=2), horizon=10)
    (upper,), _ = ln_bounds(inst, PRINTED)
    assert math.exp(upper) == pytest.approx(u(2 - 1) / 2)


def test_dmlrs_10_problem_3_22_has_forgotten_two_constraints():
    workers, servers, most = 2, 1, 2  # m_w, m_p, K
    g = gain(2, 1.0, servers)
    rounded = math.floor(g * workers), math.floor(g * servers)
    assert rounded[0] >= workers  # (3.24)
    assert rounded[1] >= servers  # (3.25), and machines of 20 hold all of it: (3.23)
    assert rounded[0] > most
    inst = cluster(job(chunks=most))
    assert "(3.2) broken" in judge(inst, [(0, 0, rounded[0])], [(0, 1, rounded[1])])
    assert "(3.5) broken" in judge(inst, [(0, 0, 1)], [(0, 1, 2)])


def test_dmlrs_11_outer_placements_land_on_one_machine():
    fast = job(inner_bandwidth=2, ps_bandwidth=1)  # b_ex <= B < b_in
    assert math.ceil(1 * (2 / 3) / 1) == 1  # m_p for one worker
    inst = cluster(fast)
    assert "(3.4) broken" in judge(inst, [(0, 0, 1), (1, 0, 1)], [(0, 0, 1), (1, 0, 1)])
    apart = [(0, 0, 1), (1, 0, 1)], [(0, 1, 1), (1, 1, 1)]
    assert judge(inst, *apart).startswith("feasible")


@pytest.mark.parametrize("locality", ["job", "link"])
def test_dmlrs_12_a_job_without_any_ps_trains_for_free(locality):
    workers, servers = 1, []
    rate = min((1.0 for _ in servers), default=math.inf)
    assert workers / (0.5 + 2 * 0.5 / rate) >= 1  # (3.1): two mini-batches of one
    assert sum(1.0 for _ in servers) <= 0  # (3.4)
    assert len(servers) <= workers  # (3.5)
    inst = cluster(job(), locality=locality)
    assert not judge(inst, [(0, 0, 1)], []).startswith("feasible")


def test_dmlrs_13_the_probability_of_lemma_1():
    # min sum x, sum x >= 100, sum x <= 100, x >= 0 whole, 2000 variables: x_j = 1 / 20 is optimal
    n, a, delta = 2000, 100, 0.05
    g = gain(1, delta, a)
    p = g * a / n  # of 1 instead of 0

    def above(bound):
        terms = (
            math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
            + k * math.log(p) + (n - k) * math.log(1 - p)
            for k in range(math.floor(bound) + 1, n + 1)
        )  # fmt: skip
        return math.fsum(map(math.exp, terms))

    assert above(a * (1 + math.sqrt(3 / (g * a))) * g) > 2 * delta / 3  # 0.042, promised 0.017
    assert above(a * (1 + math.sqrt(3 / (g * a) * math.log(3 / delta))) * g) < delta / 3


def test_dmlrs_14_step_7_starts_again_at_machine_1():
    machines, looked_at, h = 3, [], 1
    while len(looked_at) < 10:
        looked_at.append(h)  # Steps 2 to 6
        h += 1  # Step 7
        if h > machines:
            break
        h = 1  # "go to Step 1", which states "Let h = 1"
    assert looked_at == [1] * 10


def test_dmlrs_16_the_ratio_of_bandwidths_leaves_no_inner_placement():
    random = np.random.default_rng(0)
    outer, ps = random.uniform(0.1, 4, 20_000), random.uniform(4, 20, 20_000)
    assert np.mean(40 * outer <= ps) < 0.06  # (3.4) and (3.5) on one machine: b_in <= B
    one = job(inner_bandwidth=4, outer_bandwidth=0.1, ps_bandwidth=3.9)
    assert "(3.4) broken" in judge(cluster(one), [(0, 0, 1)], [(0, 0, 1)])


def test_dmlrs_17_no_job_finishes_where_slots_are_seconds():
    epochs, batches, tau, megabytes, gigabits = 50, 20, 0.01, 50, 4  # the least of everything
    slots = epochs * batches * (tau + 2 * megabytes * 8 / 1000 / gigabits)
    assert slots == pytest.approx(210)
    assert slots > 100  # T


def test_dmlrs_18_the_gains_of_the_figures_are_not_those_of_the_theorem():
    least = gain(2, 1.0, 20)  # K <= 20, so W_1 <= 20; delta <= 1
    assert least > 1.5 > 1.01
    assert gain(2, 1.0, 100_000) > 1.006 > gain(2, 1.0, 101_000)


def test_dmlrs_19_the_recursion_has_no_end():
    def best(end, v_all):  # Algorithm 3; a slot costs what it trains
        return min(v + best(end - 1, v_all - v) for v in range(v_all + 1))

    with pytest.raises(RecursionError):
        best(2, 1)


def test_dmlrs_20_steps_of_whole_chunks_are_not_the_same_problem():
    chunk, chunks, most = Fraction(3, 64), 64, 1  # M (tau + 2 g / b_in), E K, K

    @cache
    def best(slots, v_all):  # (3.20) with v = 0, 1, ... as in Algorithm 3
        if slots == 0:
            return 0 if v_all == 0 else math.inf
        return min(
            (n if (n := math.ceil(v * chunk)) <= most else math.inf) + best(slots - 1, v_all - v)
            for v in range(v_all + 1)
        )

    assert (best(3, chunks), best(4, chunks)) == (math.inf, 4)
    small = job(epochs=64, batch_time=float(chunk), gradient_mb=0)
    three = [(t, 0, 1) for t in range(3)]
    assert judge(cluster(small, horizon=3), three, three).startswith("feasible")


def test_dmlrs_21_schedules_may_begin_before_the_job_has_arrived():
    workers, ps = [(0, 0, 1)], [(0, 0, 1)]  # (3.1), (3.2), (3.4), (3.5) hold
    assert judge(cluster(job()), workers, ps).startswith("feasible")
    assert "(3.7) broken" in judge(cluster(job(arrival=1)), workers, ps)


def test_dmlrs_22_demands_of_zero():
    with pytest.raises(ZeroDivisionError):
        1.0 / (0 + 0)  # (3.13): "0 to 4 GPU" for both roles
    none = cluster(job(worker_demand=(0,), ps_demand=(0,)))
    assert ln_bounds(none, PRINTED) == ([None], None)
