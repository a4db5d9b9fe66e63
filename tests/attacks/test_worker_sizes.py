"""Families `oasis` and `dmlrs`: whatever is large, no certificate proves what is false."""

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
from independent import dmlrs, oasis
from numpy.random import default_rng
from sweeps import sweep

from optsched.families.dmlrs.certificate import check as dmlrs_format
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, JobSchedule
from optsched.families.oasis.certificate import check as oasis_format
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.numbers.resources import MachineClass, exact, usable

FAMILIES = ("oasis", "dmlrs")
ONE = JobSchedule(workers=((0, 0, 1),), ps=((0, 0, 1),))
both = pytest.mark.parametrize("family", FAMILIES)


def job(family, worth, worker, ps, **changes):
    make = oasis.simple_job if family == "oasis" else dmlrs.simple_job
    utility = {"kind": "constant", "value": worth}
    return make(utility=utility, worker_demand=worker, ps_demand=ps, **changes)


def build(family, jobs, capacity, *, horizon=1, count=1):
    machines = (MachineClass(count=count, capacity=capacity),)
    sides = ("worker_machines", "ps_machines") if family == "oasis" else ("machines",)
    return (OasisInstance if family == "oasis" else DmlrsInstance)(
        horizon=horizon,
        resources=tuple(f"r{k}" for k in range(len(capacity))),
        jobs=tuple(jobs),
        **dict.fromkeys(sides, machines),
    )


def rivals(family, side, first, second, capacity, worths=(1.0, 7.0), **changes):
    """Return two jobs of which one machine of a side holds one: the better one is the optimum."""
    zero = (0.0,) * len(capacity)
    jobs = [
        job(family, w, d if side == 0 else zero, zero if side == 0 else d)
        for w, d in zip(worths, (first, second), strict=True)
    ]
    return build(family, jobs, capacity, **changes)


def root(inst, prices, grid):
    """Return a certificate of one leaf."""
    part = oasis_format if inst.family == "oasis" else dmlrs_format
    kind = part.OasisCertificate if inst.family == "oasis" else part.DmlrsCertificate
    leaf = part.Leaf(prices=prices)
    return kind(instance_sha256=inst.digest(), grid_bits=grid, nodes=(leaf,))


def of_slots(inst, *entries):
    """Return prices (side, job, price) of workers and PS, or of workers together, in slot 0."""
    if inst.family == "oasis":
        return oasis_format.SlotPrices(entries=tuple((side, i, 0, p) for side, i, p in entries))
    together = {i: p for _, i, p in entries}
    return dmlrs_format.PackingPrices(
        together=tuple((i, 0, 0, p) for i, p in together.items()), capacity=()
    )


def prices(inst, grid, worths):
    """Yield prices at what jobs are worth, and at the ends of integers."""
    jobs, last = len(inst.jobs), len(inst.resources) - 1
    own = [int(w * 2**grid) for w in worths]
    yield None
    if all(0 < p < 2**62 for p in own):
        for side in (0, 1):
            yield of_slots(inst, *((side, i, p) for i, p in enumerate(own)))
    for price in price_levels(grid, worths):
        for side in (0, 1):
            yield of_slots(inst, (side, jobs - 1, price))
            if inst.family == "oasis":
                yield of_slots(inst, *((side, i, price) for i in range(jobs)))
                for r in {0, last}:
                    yield oasis_format.CapacityPrices(entries=((side, 0, 0, r, price),))
        if inst.family == "dmlrs":
            yield of_slots(inst, *((0, i, price) for i in range(jobs)))
            paid, apart = ((0, 0, last, price),), ((jobs - 1, 0, 0, price),)
            yield dmlrs_format.CapacityPrices(entries=paid)
            yield dmlrs_format.PackingPrices(together=apart, capacity=paid)


def certificates(inst, worths=(1.0, 7.0), bits=BITS):
    return (root(inst, p, grid) for grid in bits for p in prices(inst, grid, worths))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "resources"),
    [
        ("oasis", 8191),
        ("oasis", 8192),
        pytest.param("dmlrs", 8192, marks=pytest.mark.slow),
    ],
)
def test_many_resources(family, resources, tmp_path):
    zero = (0.0,) * (resources - 1)
    inst = build(family, [job(family, 7.0, (1.0, *zero), (0.0, *zero))], (1.0,) * resources)
    asked = [of_slots(inst, (side, 0, price << 20)) for price in (8, 7) for side in (0, 1)]
    proofs = [root(inst, p, 20) for p in asked]
    kind = OasisSchedule if family == "oasis" else DmlrsSchedule
    nothing = forged(inst, kind(jobs=(None,)), 0.0, proofs[0])
    refused_or_right(second_look(tmp_path, inst, nothing), "max", 7.0)
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
    inst = rivals("dmlrs", side, (first,), (second,), (1_000_000.0,))
    proof = root(inst, of_slots(inst, (side, 0, 1 << 8), (side, 1, 7 << 8)), 8)
    wrong = forged(inst, DmlrsSchedule(jobs=(ONE, None)), 1.0, proof)
    refused_or_right(second_look(tmp_path, inst, wrong), "max", 7.0)
    assert proved_rightly(inst, certificates(inst), 7.0)
    solved_rightly(inst, 7.0)


@both
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("capacity", [1e-6, 1.0, 8797.0, 1_000_000.0])
def test_demands_of_many_units(family, side, capacity):
    """Nine decimals: up to 2**50 units of demand."""
    first, second = (round(capacity * share + 1e-9, 9) for share in (0.62, 0.71))
    inst = rivals(family, side, (first,), (second,), (capacity,))
    assert proved_rightly(inst, certificates(inst), 7.0)
    solved_rightly(inst, 7.0)


def test_the_largest_capacity_that_is_read():
    units = 2**50 - 2**22  # what is usable is larger by the tolerance
    capacity = units / 10**9
    demands = ((round(capacity * share, 9),) for share in (0.6, 0.7))
    inst = rivals("oasis", 0, *demands, (capacity,))
    assert proved_rightly(inst, certificates(inst), 7.0)
    with pytest.raises(ValueError, match="fewer decimals or a larger unit"):
        rivals("oasis", 0, (0.000000001,), (0.7,), (2**50 / 10**9 + 1,))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["oasis", pytest.param("dmlrs", marks=pytest.mark.slow)])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("worth", [1e-300, 7e-12, 7e9, 7e18, 1e300])
def test_utilities_of_any_size(family, side, worth):
    inst = rivals(family, side, (2.0,), (2.0,), (3.0,), worths=(worth / 7, worth))
    worths = (worth / 7, worth) if worth < 1e30 else (1.0, 7.0)
    assert proved_rightly(inst, certificates(inst, worths, bits=(*BITS, 96)), worth)
    assert solved_rightly(inst, worth).status == "optimal"


@both
def test_utilities_far_apart(family):
    inst = rivals(family, 0, (2.0,), (2.0,), (3.0,), worths=(7e-12, 7e12))
    assert proved_rightly(inst, certificates(inst, (7e-12, 7e12)), 7e12)
    solved_rightly(inst, 7e12)


@pytest.mark.parametrize(("family", "horizon"), [("oasis", 400), ("dmlrs", 60)])
def test_a_long_horizon(family, horizon):
    inst = rivals(family, 0, (2.0,), (2.0,), (3.0,), horizon=horizon)
    assert proved_rightly(inst, certificates(inst, bits=(20, 60)), 8.0)


@pytest.mark.parametrize(("family", "count"), [("oasis", 1000), ("dmlrs", 300)])
def test_a_class_of_many_machines(family, count):
    inst = rivals(family, 1, (2.0,), (2.0,), (3.0,), count=count)
    assert proved_rightly(inst, certificates(inst, bits=(0, 20, 60)), 8.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "chunks"), [("oasis", 100), ("oasis", 5000), ("dmlrs", 8), ("dmlrs", 40)]
)
def test_jobs_of_many_workers(family, chunks):
    """All workers in one slot, with parameter servers that need nothing."""
    many = job(family, 7.0, (1.0,), (0.0,), chunks=chunks)
    inst = build(family, [job(family, 1.0, (1.0,), (0.0,)), many], (float(chunks),))
    assert family != "oasis" or inst.work[1] == chunks
    assert proved_rightly(inst, certificates(inst, bits=(0, 20, 60)), 7.0)


@both
@pytest.mark.parametrize("work", [10**6, 10**9, 10**15])
def test_work_that_is_never_done(family, work):
    """The memory and time of the checker do not grow with what no horizon can hold."""
    try:
        long = job(family, 1.0, (2.0,), (0.0,), epochs=work)
    except ValueError:  # refused
        return
    inst = build(family, [long, job(family, 7.0, (2.0,), (0.0,))], (3.0,))
    assert proved_rightly(inst, certificates(inst, bits=(0, 20)), 7.0)


@pytest.mark.parametrize("batch_time", [1e-300, 1e-12, 1e12, 1e300])
def test_batches_of_any_length(batch_time):
    """Work is counted in whole units: the quickest and the slowest batches."""
    first = job("dmlrs", 1.0, (2.0,), (0.0,), batch_time=batch_time)
    inst = build("dmlrs", [first, job("dmlrs", 7.0, (2.0,), (0.0,))], (3.0,))
    assert proved_rightly(inst, certificates(inst, bits=(0, 20, 60)), 7.0)
    solved_rightly(inst, 7.0)


@pytest.mark.slow
@both
def test_many_jobs(family):
    inst = build(family, [job(family, 1.0, (2.0,), (1.0,)) for _ in range(60)], (3.0,))
    assert proved_rightly(inst, certificates(inst, (1.0,) * 60, bits=(0, 60)), 1.0)


def test_a_grid_that_is_too_fine_or_too_coarse():
    inst = rivals("oasis", 0, (2.0,), (2.0,), (3.0,), worths=(0.125, 0.875))
    assert proved_rightly(inst, certificates(inst, (0.125, 0.875), bits=range(0, 97, 12)), 0.875)


def test_a_split_above_large_prices():
    inst = rivals("oasis", 0, (2.0,), (2.0,), (3.0,))

    def proofs():
        for bits, p, q in product((0, 20, 58), (1, 2**58, 2**61, 2**62 - 1), (1, 2**61)):
            yield oasis_format.OasisCertificate(
                instance_sha256=inst.digest(),
                grid_bits=bits,
                nodes=(
                    oasis_format.CompletionSplit(job=1, slot=0, left=1, right=2),
                    *(oasis_format.Leaf(prices=of_slots(inst, (0, 1, x))) for x in (p, q)),
                ),
            )

    assert proved_rightly(inst, proofs(), 7.0)


@both
@pytest.mark.parametrize("seed", sweep(range(8), 1))
def test_random_loads_of_one_machine(family, seed):
    """Three to six jobs in one slot; the best set of them is found by trying all."""
    own, low, high = {"oasis": (4011, 0.1, 0.8), "dmlrs": (4012, 0.05, 0.4)}[family]
    rng = default_rng([seed, own])
    resources, number = int(rng.integers(1, 4)), int(rng.integers(3, 7))
    decimals = [int(rng.integers(0, 10)) for _ in range(resources)]
    top = [10.0 ** float(rng.uniform(-d, min(8.9, 15 - d))) for d in decimals]
    capacity = tuple(round(c, d) for c, d in zip(top, decimals, strict=True))

    def demand():
        return tuple(
            round(c * float(rng.uniform(low, high)), d)
            for c, d in zip(capacity, decimals, strict=True)
        )

    worths = [float(2.0 ** rng.integers(-40, 40)) * int(rng.integers(1, 8)) for _ in range(number)]
    demands = [(demand(), demand()) for _ in range(number)]
    jobs = [job(family, w, *d) for w, d in zip(worths, demands, strict=True)]
    inst = build(family, jobs, capacity)
    apart = [(0,), (1,)] if family == "oasis" else [(0, 1)]  # sides with machines of their own

    def fits(chosen):
        return all(
            sum(exact(demands[i][side][r]) for i in chosen for side in sides) <= usable(capacity[r])
            for sides in apart
            for r in range(resources)
        )

    sets = [[i for i in range(number) if mask >> i & 1] for mask in range(2**number)]
    truth = max(sum(worths[i] for i in s) for s in sets if fits(s))
    assert proved_rightly(inst, certificates(inst, worths, bits=(0, 30, 60)), truth)
