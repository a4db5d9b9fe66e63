"""Family `completion`: whatever is large, no certificate proves what is false."""

from fractions import Fraction
from itertools import product

import pytest
from forging import forged, made, proved_rightly, refused_or_right, second_look, solved_rightly
from independent.completion import simple_job
from numpy.random import default_rng
from sweeps import sweep

from optsched.families.completion.certificate.check import CompletionCertificate, Leaf
from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionSchedule,
    Piece,
    PsType,
    WorkerType,
)
from optsched.numbers.resources import MachineClass

PRICES = (1, 2**20, 2**40, 2**52, 2**59, 2**61, 2**62 - 1, 2**62, 2**63 - 1)


def job(weight, worker_slots, chunks=1, **changes):
    each = (worker_slots / chunks,)
    return simple_job(weight=weight, chunks=chunks, batch_time=each, **changes)


def build(jobs, *, demand=1.0, capacity=1.0, ps=None, horizon=10, count=1, resources=1):
    """Return jobs on servers of one class; ``ps`` is the demand of a parameter server."""
    zero = (0.0,) * (resources - 1)
    return CompletionInstance(
        architecture="ring" if ps is None else "ps",
        slot_seconds=10.0,
        horizon=horizon,
        resources=tuple(f"r{k}" for k in range(resources)),
        servers=(MachineClass(count=count, capacity=(capacity, *(1.0 for _ in zero))),),
        worker_types=(WorkerType(demand=(demand, *zero), bandwidth=10.0),),
        ps_types=() if ps is None else (PsType(demand=(ps, *zero), bandwidth=10.0),),
        jobs=tuple(jobs),
    )


def one_after_another(jobs):
    """Return the least cost of jobs (weight, slots) on a machine that holds one: Smith's rule."""
    cost, now = Fraction(0), 0
    for weight, slots in sorted(jobs, key=lambda j: Fraction(j[1]) / Fraction(str(j[0]))):
        now += slots
        cost += Fraction(str(weight)) * now
    return float(cost)


def certificates(inst, slots, bits, prices=PRICES):
    """Yield certificates with a price in all slots; those refused when made are left out."""
    last = len(inst.resources) - 1
    for grid, price in product(bits, prices):
        dear = tuple((t, 0, r, price) for t in range(slots) for r in {0, last})
        proof = made(
            lambda grid=grid, dear=dear: CompletionCertificate(
                instance_sha256=inst.digest(),
                grid_bits=grid,
                prices=(dear,),
                nodes=(Leaf(prices=0),),
            )
        )
        if proof is not None:
            yield proof


def own_prices(jobs, bits):
    """Return prices about those that a slot is worth on these grids."""
    return [int(w * 2**b / d) or 1 for w, d in jobs for b in bits]


@pytest.mark.slow
def test_weights_times_completions_that_wrap(tmp_path):
    """One worker alone takes millions of slots, and its cost leaves 64 bits."""
    workers = 4096
    inst = build(
        [job(9.0, 6_000_000, workers), job(10.0, 3_000_000, workers)],
        capacity=float(workers),
        horizon=5000,
    )
    first, second = (inst.duration(j, 0, 0, True, workers) for j in inst.jobs)
    truth = one_after_another([(9.0, first), (10.0, second)])

    def piece(start, duration):
        return Piece(
            start=start,
            duration=duration,
            worker_type=0,
            ps_type=None,
            workers=((0, workers),),
            ps=(),
        )

    wrong = CompletionSchedule(jobs=((piece(0, first),), (piece(first, second),)))
    value = 9.0 * first + 10.0 * (first + second)
    assert value > truth
    bits = 38
    dear = tuple((t, 0, 0, int(Fraction(1, 200) * 2**bits)) for t in range(first))
    proof = CompletionCertificate(
        instance_sha256=inst.digest(),
        grid_bits=bits,
        prices=(dear,),
        nodes=(Leaf(prices=0),),
    )
    refused_or_right(second_look(tmp_path, inst, forged(inst, wrong, value, proof)), "min", truth)
    assert proved_rightly(
        inst,
        certificates(inst, first, (0, 20, 38, 48, 60), (2**20, 2**31, 2**40)),
        truth,
    )


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1e-100, 1e-12, 1.0, 1e6, 1e12, 1e15, 1e18, 1e22, 1e99, 1e300])
def test_weights_of_any_size(weight):
    inst = made(lambda: build([job(weight, 3.0), job(weight * 2, 2.0)]))
    if inst is None:
        assert weight > 1e100
        return
    truth = one_after_another([(weight, 3), (weight * 2, 2)])
    prices = [*PRICES, *own_prices([(min(weight, 1e18), 3)], (0, 20, 40))]
    assert proved_rightly(inst, certificates(inst, 5, (0, 20, 40, 60), prices), truth)
    best = solved_rightly(inst, truth)
    assert best.status == "optimal"


@pytest.mark.parametrize("slots", [10**6, 10**9, 2**40, 10**13, 10**17, 10**20])
def test_jobs_of_any_length(slots):
    """What is the longest job: the horizon is not kept, so it may end as late as need be."""
    inst = made(lambda: build([job(3.0, float(slots)), job(5.0, 2.0)]))
    if inst is None:
        assert slots > 2**40
        return
    durations = [inst.duration(j, 0, 0, True, 1) for j in inst.jobs]
    truth = one_after_another(zip((3.0, 5.0), durations, strict=True))
    proved_rightly(inst, certificates(inst, 4, (0, 30, 60), PRICES[:5]), truth)


@pytest.mark.slow
@pytest.mark.parametrize("slots", [10**6, 10**9])
def test_long_jobs_are_solved(slots):
    inst = build([job(3.0, float(slots)), job(5.0, 2.0)])
    solved_rightly(inst, one_after_another([(3.0, slots), (5.0, 2)]), seconds=3.0)


@pytest.mark.parametrize("horizon", [1000, 10**6])
def test_a_long_horizon(horizon):
    inst = build([job(3.0, 2.0), job(5.0, 2.0, arrival=horizon - 1)], horizon=horizon)
    truth = 3.0 * 2 + 5.0 * (horizon + 1)
    assert proved_rightly(inst, certificates(inst, 4, (0, 30, 60), PRICES[:5]), truth)


@pytest.mark.parametrize("side", ["worker", "ps"])
@pytest.mark.parametrize("units", [101, 10**6 + 1, 2**39 + 1])
def test_demands_of_many_units(side, units):
    """Nine decimals, and up to 2**40 units of demand on either side."""
    amount = units / 10**9
    demand, ps = (amount, 0.0) if side == "worker" else (0.0, amount)
    inst = build(
        [job(3.0, 2.0), job(5.0, 2.0)], demand=demand, ps=ps, capacity=(units + units // 2) / 10**9
    )
    assert inst.arrays.capacity.max() >= units  # one of them fits, and not two
    truth = one_after_another([(3.0, 2), (5.0, 2)])
    assert proved_rightly(
        inst, certificates(inst, 4, (0, 30, 60), [*PRICES, 2**60 // units]), truth
    )
    solved_rightly(inst, truth)


@pytest.mark.parametrize("resources", [300])
def test_many_resources(resources):
    inst = build([job(3.0, 2.0), job(5.0, 2.0)], resources=resources)
    truth = one_after_another([(3.0, 2), (5.0, 2)])
    assert proved_rightly(inst, certificates(inst, 4, (0, 60)), truth)


@pytest.mark.parametrize("count", [1000, 20_000])
def test_a_class_of_many_servers(count):
    inst = build([job(3.0, 2.0), job(5.0, 2.0)], count=count)
    assert proved_rightly(inst, certificates(inst, 4, (0, 60)), 16.0)


@pytest.mark.slow
@pytest.mark.parametrize("ring", [True, False])
@pytest.mark.parametrize("chunks", [64, 1000])
def test_jobs_of_many_workers(ring, chunks):
    """The more workers the sooner: all of them on one server, for one slot each."""
    inst = build(
        [job(3.0, chunks, chunks), job(5.0, 2 * chunks, chunks)],
        capacity=float(chunks),
        ps=None if ring else 0.0,
    )
    truth = one_after_another([(3.0, 1), (5.0, 2)])
    assert proved_rightly(inst, certificates(inst, 3, (0, 30, 60), PRICES[:6]), truth)


@pytest.mark.parametrize("slot", [10**9, 2**40, 10**13, 2**63, 10**30])
def test_a_price_in_a_slot_that_nobody_can_use(slot):
    """Memory does not grow with the number of a slot."""
    inst = build([job(3.0, 2.0), job(5.0, 2.0)])
    proof = made(
        lambda: CompletionCertificate(
            instance_sha256=inst.digest(),
            grid_bits=10,
            prices=(((slot, 0, 0, 1),),),
            nodes=(Leaf(prices=0),),
        )
    )
    if proof is None:
        assert slot > 2**40
        return
    proved_rightly(inst, [proof], one_after_another([(3.0, 2), (5.0, 2)]))


@pytest.mark.parametrize("price", [2**63, 2**64, 2**70, 10**400])
def test_prices_that_no_integer_of_the_kernels_holds(price):
    inst = build([job(3.0, 2.0), job(5.0, 2.0)])
    truth = one_after_another([(3.0, 2), (5.0, 2)])
    proved_rightly(inst, certificates(inst, 4, (0, 60), (price,)), truth)


@pytest.mark.parametrize("seed", sweep(range(30), 1))
def test_random_jobs_one_after_another(seed):
    """Weights, lengths, units, grids and prices between the ends of integers."""
    rng = default_rng([seed, 4013])
    jobs = [
        (
            10.0 ** int(rng.integers(-6, 12)) * int(rng.integers(1, 9)),
            int(10 ** rng.uniform(0, 2.5)),
        )
        for _ in range(int(rng.integers(2, 4)))
    ]
    workers = int(2 ** rng.integers(0, 9))  # all of them, or the job takes as much longer
    inst = build(
        [job(w, float(d) * workers, workers) for w, d in jobs],
        demand=2.0,
        capacity=2.0 * workers,
        horizon=100,
    )
    slots = [inst.duration(j, 0, 0, True, workers) for j in inst.jobs]
    truth = one_after_another(zip([w for w, _ in jobs], slots, strict=True))
    bits = sorted(int(b) for b in rng.integers(0, 61, size=3))
    prices = {int(w * 2**b * rng.uniform(0.1, 2) / workers) + 1 for w, _ in jobs for b in bits}
    proofs = certificates(inst, sum(slots), bits, sorted(p for p in prices if p < 2**64))
    proved_rightly(inst, proofs, truth)
