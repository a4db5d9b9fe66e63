"""What Zhou et al. 2023 print, evaluated where it fails: COMPLETION-n of docs/errata.md."""

import math
from itertools import product

import numpy as np
import pytest
from independent.completion import simple_job

from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionSchedule,
    Piece,
    PsType,
    WorkerType,
)
from optsched.families.completion.policies.paper import blocks
from optsched.families.completion.verify import verify
from optsched.numbers.resources import MachineClass


def instance(*, ring=False, servers=((3, 0),), gradient_mb=0, **job) -> CompletionInstance:
    """One job whose mini-batches take a slot, and as much again for gradients of one MB."""
    return CompletionInstance(
        architecture="ring" if ring else "ps",
        slot_seconds=0.016,
        horizon=20,
        resources=("gpu", "cpu"),
        servers=tuple(MachineClass(capacity=c) for c in servers),
        worker_types=(WorkerType(demand=(1, 0), bandwidth=1),),
        ps_types=() if ring else (PsType(demand=(0, 1), bandwidth=1),),
        jobs=(simple_job(**({"chunks": 2, "gradient_mb": gradient_mb} | job)),),
    )


def judge(inst, duration, workers, ps=()) -> str:
    entries = [tuple((h, n) for h, n in enumerate(row) if n) for row in (workers, ps)]
    piece = Piece(
        start=0,
        duration=duration,
        worker_type=0,
        ps_type=None if inst.ring else 0,
        workers=entries[0],
        ps=entries[1],
    )
    return str(verify(inst, CompletionSchedule(jobs=((piece,),))))


def price_base(horizon, servers=150, resources=4, f=1.0) -> float:
    """lambda of (11)"""
    return 2 * horizon * servers * resources * f + 1


def algorithm_4(capacity, order, needed):
    """Lines 8 to 29 for one type of worker (a GPU, b = 1) and of PS (a CPU, B = 1), and one start.

    ``capacity`` has GPUs and CPUs of every server, ``order`` the servers by their price. N is what
    is still to be placed, anew for every n. Return workers and PS of every feasible n.
    """
    found = []
    for n in order:
        workers, ps, left = [0] * len(order), [0] * len(order), needed
        for k in order:
            most = min(capacity[k][0], left)
            workers[k] = most
            if k == n:
                for g in range(most + 1):
                    servers = capacity[n][1]
                    if servers >= needed - g:  # line 17: bandwidths are 1
                        workers[n], ps[n] = g, min(servers, needed - g)
            left -= workers[k]
        if left <= 0 and ps[n] >= 1:
            found.append((workers, ps))
    return found


def test_completion_1_algorithm_4_misses_a_placement():
    capacity, order, needed = ((2, 0), (1, 1)), (0, 1), 2  # server 0 is the cheaper one
    assert algorithm_4(capacity, order, needed) == []
    inst = instance(servers=capacity)
    good = [
        (workers, ps)
        for workers, ps in product(product(range(3), repeat=2), repeat=2)
        if sum(workers) == needed and sum(ps) and judge(inst, 1, workers, ps)[:8] == "feasible"
    ]
    assert good == [((1, 1), (0, 1))]
    assert algorithm_4(capacity, (1, 0), needed) == [([1, 1], [0, 1])]  # the other way round


def test_completion_2_alpha_is_not_close_to_4():
    lam = price_base(150)
    assert blocks([1, 1], lam) == 24  # two jobs of one weight
    assert blocks([1] * 100, lam) == 159
    assert blocks([200] + [2600] * 99, lam) == 247
    assert blocks([1], lam) == 1  # a single job


def test_completion_3_the_assumptions_do_not_hold_in_the_settings():
    largest_share = 1 / math.log2(price_base(100))  # of a server, for all workers of a job there
    assert largest_share < 1 / 16  # a GPU of a p2.16xlarge, the largest server of P2, P3, G3
    random, jobs = np.random.default_rng(0), 20_000
    epochs, chunks = random.integers(50, 101, jobs), random.integers(5, 51, jobs)
    batches, v = random.integers(10, 51, jobs), random.uniform(0.001, 0.05, jobs)
    weight = random.uniform(200, 5000, jobs)
    least = epochs * chunks * batches * v * (1 + 1 + 0.1)  # one GPU, one vCPU, 0.1 Gbit/s
    assert np.mean(weight / least < 1) > 0.45  # where 1 <= w / consumption is assumed


@pytest.mark.parametrize("horizon", [100, 150, 300])
def test_completion_4_jobs_start_after_the_horizon(horizon):
    alpha = blocks([1] * 100, price_base(horizon))  # other weights make it larger
    tau_2 = 2  # jobs that arrive after slot 1 are in round 2 or later
    assert alpha * tau_2 > horizon


def test_completion_5_windows_of_an_alpha_per_round_overlap():
    lam = price_base(150)
    first, second = blocks([1, 1], lam), blocks([1], lam)  # rounds 1 and 2
    tau = (1, 2)
    begin, end = first * tau[0], second * tau[1]
    assert (first, begin, end) == (24, 24, 2)  # round 1 would end before it begins,
    assert end - begin < first * tau[0]  # and needs 24 slots


def test_completion_6_the_formula_is_for_logarithms_of_base_2():
    lam, spread = price_base(150), 1300  # w(J) / w_min

    def theorem_5(log):
        return math.floor(log(spread) / (1 + log(log(lam)) - log(2 * log(lam) - 1))) + 1

    def least(log):  # (6) with gamma = 2 log lambda
        gamma = 2 * log(lam)
        return math.floor(log(spread) / (log(gamma) - log(gamma - 1))) + 1

    assert theorem_5(math.log2) == least(math.log2) == blocks([1, 1299], lam) == 247
    assert theorem_5(math.log) == 21
    assert least(math.log) == 170
    gamma = 2 * math.log(lam)
    assert (1 - 1 / gamma) ** 21 * spread > 1  # weight is left: Lemma 2 needs it below w_min


def test_completion_7_algorithm_7_places_as_many_workers_as_there_are_slots():
    wanted, duration = 3, 2  # Phi', d^
    left, workers = duration, []  # line 5: N^ = d^
    for room in (2, 2):  # lines 9 to 13
        workers.append(min(room, left))
        left -= workers[-1]
    assert left == 0  # line 14 is content
    assert sum(workers) == 2 != wanted
    inst = instance(ring=True, servers=((2, 0), (2, 0)), chunks=3, epochs=2)
    assert "(2f) broken" in judge(inst, duration, workers)
    assert judge(inst, duration, (2, 1)).startswith("feasible")


def test_completion_8_without_ps_the_work_need_not_be_done():
    ps_of_each_type, workers, duration, batches = [0, 0], 0, 1, 2
    done = [duration * workers >= batches for number in ps_of_each_type if number > 0]
    assert all(done)  # (2f) as printed, for a ring
    inst = instance(ring=True)
    assert "(2f) broken" in judge(inst, duration, (1,))
    assert judge(inst, duration, (2,)).startswith("feasible")


def test_completion_10_algorithm_7_puts_all_workers_on_one_server():
    servers, wanted = ((3, 0), (3, 0)), 3
    left, workers = wanted, []  # with N^ = Phi'
    for room, _ in servers:  # the cheapest server first
        workers.append(min(room, left))
        left -= workers[-1]
    assert workers == [3, 0]  # q = 0 was set, but (15a) states q = 1
    inst = instance(ring=True, servers=servers, chunks=3, epochs=3, gradient_mb=1.5)
    inside, outside = (inst.duration(inst.jobs[0], 0, 0, q, wanted) for q in (True, False))
    assert (inside, outside) == (3, 6)  # twice as long as the placement takes
    assert judge(inst, inside, workers).startswith("feasible")


def test_completion_13_the_price_of_a_full_server():
    lam = price_base(150)
    assert lam ** (4 / 4) - 1 == lam - 1 == 2 * 150 * 150 * 4


def test_completion_16_one_round_more_than_lemma_2():
    def alpha(total, gamma):  # (6), weights in units of the least
        return math.floor(math.log(total) / (math.log(gamma) - math.log(gamma - 1))) + 1

    first, second, gamma = 1.5, 1.2, 1.25  # each needs all servers until tau
    assert alpha((first + second) / second, gamma) == 1
    assert first / gamma <= second < first  # the second is good enough for the only round
    for gamma in (5.0, 2 * math.log2(price_base(150))):
        for best in np.geomspace(1, 1e4, 300).tolist():  # of which another job takes the place
            missing, rounds = best, 0
            while missing > 0:
                missing -= max(missing / gamma, 1.0)
                rounds += 1
            assert rounds <= alpha(best + 1, gamma)
