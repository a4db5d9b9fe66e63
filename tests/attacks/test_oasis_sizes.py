"""Family `oasis`: whatever is large, no certificate proves what is false."""

from __future__ import annotations

from itertools import product

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

from optsched.families.oasis.certificate.format import (
    CapacityPrices,
    CompletionSplit,
    Leaf,
    OasisCertificate,
    SlotPrices,
)
from optsched.families.oasis.instance import OasisInstance, OasisJob, OasisSchedule
from optsched.numbers.resources import MachineClass, exact, usable


def job(worth, worker, ps, **changes):
    fields = {
        "arrival": 0,
        "epochs": 1,
        "chunks": 1,
        "batches_per_chunk": 1,
        "batch_time": 1.0,
        "gradient_mb": 0.0,
        "worker_bandwidth": 1.0,
        "ps_bandwidth": 1.0,
        "worker_demand": worker,
        "ps_demand": ps,
        "utility": {"kind": "constant", "value": worth},
    }
    return OasisJob(**(fields | changes))


def build(jobs, capacity, ps_capacity=None, *, horizon=1, count=1):
    ps_capacity = capacity if ps_capacity is None else ps_capacity
    return OasisInstance(
        horizon=horizon,
        resources=tuple(f"r{k}" for k in range(len(capacity))),
        worker_machines=(MachineClass(count=count, capacity=capacity),),
        ps_machines=(MachineClass(count=count, capacity=ps_capacity),),
        jobs=tuple(jobs),
    )


def rivals(side, first, second, capacity, worths=(1.0, 7.0), **changes):
    """Return two jobs of which one machine of a side holds one: the better one is the optimum."""
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
        return OasisCertificate(
            instance_sha256=digest, grid_bits=grid, nodes=(Leaf(prices=prices),)
        )

    jobs, resources = len(inst.jobs), len(inst.resources)
    for grid in bits:
        yield root(None, grid)
        own = [int(w * 2**grid) for w in worths]
        for side in (0, 1):
            if all(0 < p < 2**62 for p in own):
                exact_worths = tuple((side, i, 0, p) for i, p in enumerate(own))
                yield root(SlotPrices(entries=exact_worths), grid)
            for price in price_levels(grid, worths):
                yield root(SlotPrices(entries=((side, jobs - 1, 0, price),)), grid)
                same = tuple((side, i, 0, price) for i in range(jobs))
                yield root(SlotPrices(entries=same), grid)
                for r in {0, resources - 1}:
                    yield root(CapacityPrices(entries=((side, 0, 0, r, price),)), grid)


@pytest.mark.parametrize("resources", [8191, 8192])
def test_many_resources(resources, tmp_path):
    zero = (0.0,) * (resources - 1)
    inst = build([job(7.0, (1.0, *zero), (0.0, *zero))], (1.0,) * resources)
    digest = inst.digest()
    proofs = [
        OasisCertificate(
            instance_sha256=digest,
            grid_bits=20,
            nodes=(Leaf(prices=SlotPrices(entries=((side, 0, 0, price << 20),))),),
        )
        for price in (8, 7)
        for side in (0, 1)
    ]
    nothing = forged(inst, OasisSchedule(jobs=(None,)), 0.0, proofs[0])
    refused_or_right(second_look(tmp_path, inst, nothing), "max", 7.0)
    assert proved_rightly(inst, proofs, 7.0)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("capacity", [1e-6, 1.0, 8797.0, 1_000_000.0])
def test_demands_of_many_units(side, capacity):
    """Nine decimals: up to 2**50 units of demand."""
    first, second = (round(capacity * share + 1e-9, 9) for share in (0.62, 0.71))
    inst = rivals(side, (first,), (second,), (capacity,))
    assert proved_rightly(inst, certificates(inst), 7.0)
    solved_rightly(inst, 7.0)


def test_the_largest_capacity_that_is_read():
    units = 2**50 - 2**22  # what is usable is larger by the tolerance
    capacity = units / 10**9
    inst = rivals(0, (round(capacity * 0.6, 9),), (round(capacity * 0.7, 9),), (capacity,))
    assert proved_rightly(inst, certificates(inst), 7.0)
    with pytest.raises(ValueError, match="fewer decimals or a larger unit"):
        rivals(0, (0.000000001,), (0.7,), (2**50 / 10**9 + 1,))


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


@pytest.mark.parametrize("horizon", [400])
def test_a_long_horizon(horizon):
    inst = rivals(0, (2.0,), (2.0,), (3.0,), horizon=horizon)
    assert proved_rightly(inst, certificates(inst, bits=(20, 60)), 8.0)


@pytest.mark.parametrize("count", [1000])
def test_a_class_of_many_machines(count):
    inst = rivals(1, (2.0,), (2.0,), (3.0,), count=count)
    assert proved_rightly(inst, certificates(inst, bits=(0, 20, 60)), 8.0)


@pytest.mark.parametrize("chunks", [100, 5000])
def test_jobs_of_many_workers(chunks):
    """All workers in one slot: as many as the job needs, and there is room."""
    worker = job(7.0, (1.0,), (0.0,), chunks=chunks)
    inst = build([job(1.0, (1.0,), (0.0,)), worker], (float(chunks),))
    assert inst.work[1] == chunks
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


def test_many_jobs():
    inst = build([job(1.0, (2.0,), (1.0,)) for _ in range(60)], (3.0,))
    assert proved_rightly(inst, certificates(inst, (1.0,) * 60, bits=(0, 60)), 1.0)


def test_a_grid_that_is_too_fine_or_too_coarse():
    inst = rivals(0, (2.0,), (2.0,), (3.0,), worths=(0.125, 0.875))
    assert proved_rightly(inst, certificates(inst, (0.125, 0.875), bits=range(0, 97, 12)), 0.875)


def test_a_split_above_large_prices():
    inst = rivals(0, (2.0,), (2.0,), (3.0,))

    def proofs():
        for bits, p, q in product((0, 20, 58), (1, 2**58, 2**61, 2**62 - 1), (1, 2**61)):
            prices = [SlotPrices(entries=((0, 1, 0, x),)) for x in (p, q)]
            yield OasisCertificate(
                instance_sha256=inst.digest(),
                grid_bits=bits,
                nodes=(
                    CompletionSplit(job=1, slot=0, left=1, right=2),
                    *(Leaf(prices=x) for x in prices),
                ),
            )

    assert proved_rightly(inst, proofs(), 7.0)


@pytest.mark.parametrize("seed", sweep(range(30), 4))
def test_random_loads_of_one_machine(seed):
    """Three to six jobs in one slot; the best set of them is found by trying all."""
    rng = default_rng([seed, 4011])
    resources, number = int(rng.integers(1, 4)), int(rng.integers(3, 7))
    decimals = [int(rng.integers(0, 10)) for _ in range(resources)]
    top = [10.0 ** float(rng.uniform(-d, min(8.9, 15 - d))) for d in decimals]
    capacity = tuple(round(c, d) for c, d in zip(top, decimals, strict=True))

    def demand():
        return tuple(
            round(c * float(rng.uniform(0.1, 0.8)), d)
            for c, d in zip(capacity, decimals, strict=True)
        )

    worths = [float(2.0 ** rng.integers(-40, 40)) * int(rng.integers(1, 8)) for _ in range(number)]
    demands = [(demand(), demand()) for _ in range(number)]
    inst = build([job(w, *d) for w, d in zip(worths, demands, strict=True)], capacity)

    def fits(chosen, side):
        return all(
            sum(exact(demands[i][side][r]) for i in chosen) <= usable(capacity[r])
            for r in range(resources)
        )

    sets = [[i for i in range(number) if mask >> i & 1] for mask in range(2**number)]
    truth = max(sum(worths[i] for i in s) for s in sets if fits(s, 0) and fits(s, 1))
    assert proved_rightly(inst, certificates(inst, worths, bits=(0, 30, 60)), truth)
