"""Family `dmlrs`: whatever is large, no certificate proves what is false."""

from __future__ import annotations

import pytest
from forging import (
    BITS,
    forged,
    price_levels,
    proved_rightly,
    refused_or_right,
    second_look,
    solved_rightly,
)
from numpy.random import default_rng
from sweeps import sweep

from optsched.families.dmlrs.certificate.format import (
    CapacityPrices,
    DmlrsCertificate,
    Leaf,
    PackingPrices,
    UnitPrices,
)
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, DmlrsSchedule, JobSchedule
from optsched.numbers.resources import MachineClass, exact, usable

ONE = JobSchedule(workers=((0, 0, 1),), ps=((0, 0, 1),))


def job(worth, worker, ps, **changes):
    fields = {
        "arrival": 0,
        "epochs": 1,
        "chunks": 1,
        "batches_per_chunk": 1,
        "batch_time": 1.0,
        "gradient_mb": 0.0,
        "inner_bandwidth": 1.0,
        "outer_bandwidth": 1.0,
        "ps_bandwidth": 1.0,
        "worker_demand": worker,
        "ps_demand": ps,
        "utility": {"kind": "constant", "value": worth},
    }
    return DmlrsJob(**(fields | changes))


def build(jobs, capacity, *, horizon=1, count=1):
    return DmlrsInstance(
        horizon=horizon,
        resources=tuple(f"r{k}" for k in range(len(capacity))),
        machines=(MachineClass(count=count, capacity=capacity),),
        jobs=tuple(jobs),
    )


def rivals(side, first, second, capacity, worths=(1.0, 7.0), **changes):
    """Return two jobs of which one machine holds one: the better one is the optimum."""
    zero = (0.0,) * len(capacity)
    jobs = [
        job(w, d if side == 0 else zero, zero if side == 0 else d)
        for w, d in zip(worths, (first, second), strict=True)
    ]
    return build(jobs, capacity, **changes)


def certificates(inst, worths=(1.0, 7.0), bits=BITS):
    """Yield certificates with prices at what jobs are worth, and at the ends of integers."""
    digest = inst.digest()

    def root(prices, grid):
        return DmlrsCertificate(
            instance_sha256=digest, grid_bits=grid, nodes=(Leaf(prices=prices),)
        )

    jobs, resources = len(inst.jobs), len(inst.resources)
    for grid in bits:
        yield root(None, grid)
        own = [int(w * 2**grid) for w in worths]
        if all(0 < p < 2**62 for p in own):
            for side in (0, 1):
                entries = tuple((side, i, 0, 0, p) for i, p in enumerate(own))
                yield root(UnitPrices(entries=entries), grid)
            together = tuple((i, 0, 0, p) for i, p in enumerate(own))
            yield root(PackingPrices(together=together, capacity=()), grid)
        for price in price_levels(grid, worths):
            for side in (0, 1):
                yield root(UnitPrices(entries=((side, jobs - 1, 0, 0, price),)), grid)
            both = tuple((side, i, 0, 0, price) for side in (0, 1) for i in range(jobs))
            yield root(UnitPrices(entries=both), grid)
            paid = ((0, 0, resources - 1, price),)
            yield root(CapacityPrices(entries=paid), grid)
            apart = ((jobs - 1, 0, 0, price),)
            yield root(PackingPrices(together=apart, capacity=()), grid)
            yield root(PackingPrices(together=apart, capacity=paid), grid)


@pytest.mark.slow
@pytest.mark.parametrize("resources", [8192])
def test_many_resources(resources):
    zero = (0.0,) * (resources - 1)
    inst = build([job(7.0, (1.0, *zero), (0.0, *zero))], (1.0,) * resources)
    digest = inst.digest()
    proofs = [
        DmlrsCertificate(instance_sha256=digest, grid_bits=20, nodes=(Leaf(prices=prices),))
        for price in (7 << 20, 8 << 20)
        for prices in (
            UnitPrices(entries=((0, 0, 0, 0, price),)),
            UnitPrices(entries=((1, 0, 0, 0, price),)),
            PackingPrices(together=((0, 0, 0, price),), capacity=()),
        )
    ]
    assert proved_rightly(inst, proofs, 7.0)


def wraps(demand, top):
    """Return the demand's units times 2**20 as 64 bits have them, against ``top`` 2**62."""
    there = (round(demand * 10**9) << 20) % 2**64
    there -= 2**64 * (there >= 2**63)
    return there > 2**62 if top else there < -(2**62)


@pytest.mark.parametrize("side", [0, 1])
def test_a_demand_that_wraps_when_it_is_shifted(side, tmp_path):
    first = next(d for k in range(900) if wraps(d := 510_000.0 + 500.0 * k, top=True))
    second = next(d for k in range(900) if wraps(d := 510_000.000000001 + 500.0 * k, top=False))
    inst = rivals(side, (first,), (second,), (1_000_000.0,))
    own = UnitPrices(entries=((side, 0, 0, 0, 1 << 8), (side, 1, 0, 0, 7 << 8)))
    proof = DmlrsCertificate(instance_sha256=inst.digest(), grid_bits=8, nodes=(Leaf(prices=own),))
    wrong = forged(inst, DmlrsSchedule(jobs=(ONE, None)), 1.0, proof)
    refused_or_right(second_look(tmp_path, inst, wrong), "max", 7.0)
    assert proved_rightly(inst, certificates(inst), 7.0)
    solved_rightly(inst, 7.0)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("capacity", [1e-6, 1.0, 8797.0, 1_000_000.0])
def test_demands_of_many_units(side, capacity):
    """Nine decimals: up to 2**50 units of demand."""
    first, second = (round(capacity * share + 1e-9, 9) for share in (0.62, 0.71))
    inst = rivals(side, (first,), (second,), (capacity,))
    assert proved_rightly(inst, certificates(inst), 7.0)
    solved_rightly(inst, 7.0)


@pytest.mark.slow
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("worth", [1e-300, 7e-12, 7e9, 7e18, 1e300])
def test_utilities_of_any_size(side, worth):
    inst = rivals(side, (2.0,), (2.0,), (3.0,), worths=(worth / 7, worth))
    worths = (worth / 7, worth) if worth < 1e30 else (1.0, 7.0)
    assert proved_rightly(inst, certificates(inst, worths, bits=(*BITS, 96)), worth)
    best = solved_rightly(inst, worth)
    assert best.status == "optimal"


def test_utilities_far_apart():
    inst = rivals(0, (2.0,), (2.0,), (3.0,), worths=(7e-12, 7e12))
    assert proved_rightly(inst, certificates(inst, (7e-12, 7e12)), 7e12)
    solved_rightly(inst, 7e12)


def test_a_long_horizon():
    inst = rivals(0, (2.0,), (2.0,), (3.0,), horizon=60)
    assert proved_rightly(inst, certificates(inst, bits=(20, 60)), 8.0)


def test_a_class_of_many_machines():
    inst = rivals(1, (2.0,), (2.0,), (3.0,), count=300)
    assert proved_rightly(inst, certificates(inst, bits=(0, 20, 60)), 8.0)


@pytest.mark.parametrize("chunks", [8, 40])
def test_jobs_of_many_workers(chunks):
    """All workers in one slot, each with a parameter server that needs nothing."""
    many = job(7.0, (1.0,), (0.0,), chunks=chunks)
    inst = build([job(1.0, (1.0,), (0.0,)), many], (float(chunks),))
    assert proved_rightly(inst, certificates(inst, bits=(0, 20, 60)), 7.0)


@pytest.mark.parametrize("work", [10**6, 10**9, 10**15])
def test_work_that_is_never_done(work):
    """The memory and time of the checker do not grow with what no horizon can hold."""
    try:
        long = job(1.0, (2.0,), (0.0,), epochs=work)
    except ValueError:  # refused
        return
    inst = build([long, job(7.0, (2.0,), (0.0,))], (3.0,))
    assert proved_rightly(inst, certificates(inst, bits=(0, 20)), 7.0)


@pytest.mark.parametrize("batch_time", [1e-300, 1e-12, 1e12, 1e300])
def test_batches_of_any_length(batch_time):
    """Work is counted in whole units: the quickest and the slowest batches."""
    inst = build(
        [job(1.0, (2.0,), (0.0,), batch_time=batch_time), job(7.0, (2.0,), (0.0,))], (3.0,)
    )
    assert proved_rightly(inst, certificates(inst, bits=(0, 20, 60)), 7.0)
    solved_rightly(inst, 7.0)


def test_many_jobs():
    inst = build([job(1.0, (2.0,), (1.0,)) for _ in range(60)], (3.0,))
    assert proved_rightly(inst, certificates(inst, (1.0,) * 60, bits=(0, 60)), 1.0)


@pytest.mark.parametrize("seed", sweep(range(30), 4))
def test_random_loads_of_one_machine(seed):
    """Three to six jobs in one slot; the best set of them is found by trying all."""
    rng = default_rng([seed, 4012])
    resources, number = int(rng.integers(1, 4)), int(rng.integers(3, 7))
    decimals = [int(rng.integers(0, 10)) for _ in range(resources)]
    top = [10.0 ** float(rng.uniform(-d, min(8.9, 15 - d))) for d in decimals]
    capacity = tuple(round(c, d) for c, d in zip(top, decimals, strict=True))

    def demand():
        return tuple(
            round(c * float(rng.uniform(0.05, 0.4)), d)
            for c, d in zip(capacity, decimals, strict=True)
        )

    worths = [float(2.0 ** rng.integers(-40, 40)) * int(rng.integers(1, 8)) for _ in range(number)]
    demands = [(demand(), demand()) for _ in range(number)]
    inst = build([job(w, *d) for w, d in zip(worths, demands, strict=True)], capacity)

    def fits(chosen):
        return all(
            sum(exact(demands[i][side][r]) for i in chosen for side in (0, 1))
            <= usable(capacity[r])
            for r in range(resources)
        )

    sets = [[i for i in range(number) if mask >> i & 1] for mask in range(2**number)]
    truth = max(sum(worths[i] for i in s) for s in sets if fits(s))
    assert proved_rightly(inst, certificates(inst, worths, bits=(0, 30, 60)), truth)
