"""Nothing leaves 64 bits: at each limit the checker is right, one above it states it."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent.dmlrs import optimum, tiny
from pydantic import ValidationError

from optsched.families.dmlrs.certificate import limits as certificate_limits
from optsched.families.dmlrs.certificate.check import (
    CapacityPrices,
    DmlrsCertificate,
    Leaf,
    PackingPrices,
    check,
)
from optsched.families.dmlrs.certificate.kernels import NONE, SURROGATE, holds, outer_costs, share
from optsched.families.dmlrs.certificate.limits import ValueGrid
from optsched.families.dmlrs.certificate.slot_packing import best_packing
from optsched.families.dmlrs.instance import (
    LARGEST_UNITS,
    MOST_CHUNKS,
    MOST_JOB_SLOTS,
    MOST_LINKED_CHUNKS,
    MOST_MACHINES,
    DmlrsInstance,
)
from optsched.families.dmlrs.instance_work import MOST_WORKER_SLOTS
from optsched.families.dmlrs.optimum.initial_bounds import opening
from optsched.numbers.overflow import INT64, TooLargeError
from optsched.proofs.grid import charged
from optsched.proofs.knapsack import best_load
from optsched.scheduling.platform import MOST_FREE

LARGEST_CAPACITY = LARGEST_UNITS - 1
AMOUNTS = st.sampled_from([2**41, 2**42 - 1, 2**42, 2**42 + 1, 2**43, 2**49, LARGEST_CAPACITY])


def wrapped(demand):
    """Return what 64 bits make of a demand in units of 1e-9 times 2**20."""
    return (round(demand * 10**9) * SURROGATE + 2**63) % 2**64 - 2**63


def huge():
    """Two jobs whose demands are 2**49 units, one of which seemed negative, on one machine."""
    first = next(d for d in range(510_000, 960_000, 500) if wrapped(d) > 2**62)
    second = (d + 1e-9 for d in range(510_000, 960_000, 500))
    demands = (float(first), next(d for d in second if wrapped(d) < -(2**62)))
    data = tiny(0).model_dump()
    job = data["jobs"][0] | {
        "arrival": 0, "epochs": 1, "chunks": 1, "batches_per_chunk": 1,
        "batch_time": 1.0, "gradient_mb": 0.0, "ps_bandwidth": 10.0, "ps_demand": (0.0,),
    }  # fmt: skip
    jobs = [
        job | {"worker_demand": (d,), "utility": {"kind": "constant", "value": v}}
        for d, v in zip(demands, (1.0, 7.0), strict=True)
    ]
    return DmlrsInstance.model_validate(
        data
        | {"horizon": 1, "resources": ("memory",), "machines": [{"capacity": (1e6,)}], "jobs": jobs}
    )


def test_large_demands_are_not_negative():
    inst = huge()
    prices = PackingPrices(together=((0, 0, 0, 1 << 8), (1, 0, 0, 7 << 8)), capacity=())
    found = DmlrsCertificate(
        instance_sha256=inst.digest(), grid_bits=8, nodes=(Leaf(prices=prices),)
    )
    assert check(inst, found) >= 7.0


@given(AMOUNTS, st.integers(0, 2**50))
def test_a_share_is_rounded_down_at_every_size(capacity, drawn):
    for demand in (drawn % (capacity + 1), capacity, capacity - 1):
        exact = Fraction(demand, capacity) * SURROGATE
        assert exact - 1 - Fraction(1, 2**20) <= share(demand, capacity) <= exact


@given(AMOUNTS, AMOUNTS, AMOUNTS, st.integers(0, MOST_CHUNKS), st.integers(0, MOST_CHUNKS))
def test_what_fits_at_every_size(free, alpha, beta, n, m):
    fits = n * alpha + m * beta <= free
    rows = [np.array([x], np.int64) for x in (free, alpha, beta)]
    assert holds(*rows, n, m) == fits


@given(AMOUNTS, st.integers(0, 2**32 - 1))
def test_best_loads_and_packings_at_every_size(capacity, seed):
    rng = np.random.default_rng(seed)
    demand = [int(x) for x in (capacity * rng.random(3) / rng.integers(1, 4, 3)).astype(np.int64)]
    value, most = rng.integers(1, 2**40, 3), np.array([2, 1, 2])
    loads = [n for n in product(*(range(m + 1) for m in most)) if np.dot(n, demand) <= capacity]
    best = max(int(np.dot(n, value)) for n in loads)
    room = np.array([capacity])
    rows = np.array(demand)[:, None]
    assert best_load(value, most, rows, room) == best
    worth = np.full((1, 3, 3), -NONE, np.int64)
    for j, n in product(range(3), range(3)):
        if n <= most[j] and n * demand[j] <= capacity:
            worth[0, j, n] = n * value[j]
    load = np.minimum(rows[:, None, :] * np.arange(3)[None, :, None], LARGEST_UNITS)
    found = best_packing(worth, load, room[None, :], np.ones(1, np.int64))
    assert best <= found <= best + 6 * SURROGATE


@pytest.mark.parametrize("factor", [INT64 // 3, INT64 // 3 + 1])
def test_sums_of_prices_are_exact_on_both_sides_of_64_bits(factor):
    prices, demand = np.array([[factor, 0, factor]]), np.array([1, 1, 1])
    for shift in (0, 1, 62, 63, 64, 2000):
        exact = 2 * factor >> shift
        assert charged(prices, demand, shift, INT64).tolist() == [exact]


def test_packings_at_the_limit_and_above_it():
    inst = tiny(1)
    scale = ValueGrid(inst, 40)
    jobs = len(inst.jobs)
    dearest = (NONE // 4 - 1) // jobs
    scale.packings(np.full((jobs, 1, 1), dearest))
    with pytest.raises(TooLargeError, match="workers that sit together"):
        scale.packings(np.full((jobs, 1, 1), dearest + 1))


def changed(job=None, **fields):
    data = tiny(1).model_dump()
    data["jobs"] = [data["jobs"][0] | (job or {})]
    return DmlrsInstance.model_validate(data | fields)


def test_sizes_of_instances_at_the_limit_and_above_it():
    assert changed({"chunks": MOST_CHUNKS}).jobs[0].chunks == MOST_CHUNKS
    with pytest.raises(ValidationError, match=f"job 0: {MOST_CHUNKS + 1} chunks"):
        changed({"chunks": MOST_CHUNKS + 1})
    slots = MOST_WORKER_SLOTS // MOST_CHUNKS
    inst = changed({"chunks": MOST_CHUNKS}, horizon=slots)
    assert ValueGrid(inst, 1000).dearest >= 2**31
    with pytest.raises(ValidationError, match="chunks in a horizon of"):
        changed({"chunks": MOST_CHUNKS}, horizon=slots + 1)
    slots = MOST_JOB_SLOTS // 8 + 1
    one = {"jobs": changed().jobs * 8, "machines": [{"capacity": (1.0, 1.0)}]}
    with pytest.raises(ValidationError, match=f"horizon of {slots} slots"):
        changed(horizon=slots, **one)
    slots = MOST_FREE // 2 + 1
    with pytest.raises(ValidationError, match=f"{slots} slots times 1 machines times 2 resources"):
        changed(horizon=slots, **one)
    most = {"chunks": MOST_LINKED_CHUNKS}
    assert changed(most, locality="link").jobs[0].chunks == MOST_LINKED_CHUNKS
    with pytest.raises(ValidationError, match=f"job 0: {MOST_LINKED_CHUNKS + 1} chunks in the re"):
        changed({"chunks": MOST_LINKED_CHUNKS + 1}, locality="link")
    with pytest.raises(ValidationError, match=f"{MOST_MACHINES + 1} machines"):
        changed(machines=[{"count": MOST_MACHINES + 1, "capacity": (1.0, 1.0)}])
    capacity = LARGEST_CAPACITY / 10**9 / (1 + 1e-9)  # the tolerance counts as well
    fine = {"worker_demand": (1e-9, 1.0)}
    most = changed(fine, machines=[{"capacity": (capacity - 1e-6, 1.0)}])
    assert LARGEST_UNITS - 10**4 < most.arrays.capacity.max() < LARGEST_UNITS
    with pytest.raises(ValidationError, match=r"exceeds 2\*\*50"):
        changed(fine, machines=[{"capacity": (capacity + 1e-6, 1.0)}])


def test_a_price_set_is_no_larger_than_memory(monkeypatch):
    inst = tiny(1)
    prices = CapacityPrices(entries=((0, 0, 0, 1),))
    size = inst.horizon * len(inst.arrays.classes) * len(inst.resources)
    monkeypatch.setattr("optsched.families.dmlrs.certificate.check.MOST_PRICES", size)
    check(inst, DmlrsCertificate.root(inst, prices, 40))
    monkeypatch.setattr("optsched.families.dmlrs.certificate.check.MOST_PRICES", size - 1)
    with pytest.raises(ValueError, match=f"there are {size} prices by slot, class, resource"):
        check(inst, DmlrsCertificate.root(inst, prices, 40))
    assert certificate_limits.MOST_PRICES * 9 < 10**9  # bytes


@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("locality", ["job", "link"])
def test_utilities_of_every_size(factor, locality):
    bounds = []
    for scale in (1.0, factor):
        inst = tiny(1, locality)
        jobs = [
            job.model_dump() | {"utility": {"kind": "constant", "value": scale * job.utility(0)}}
            for job in inst.jobs
        ]
        scaled = DmlrsInstance.model_validate(inst.model_dump() | {"jobs": jobs})
        bounds.append(check(scaled, DmlrsCertificate.root(scaled, None, 1100)))
    assert bounds[1] == pytest.approx(factor * bounds[0], rel=1e-9, abs=0)


def test_what_nobody_can_earn_does_not_blur_the_rest():
    """A job that can never finish, and a utility that has fallen before any job can complete."""
    job = tiny(1).jobs[0]
    late = {"kind": "table", "values": (1e250, 3.0, 2.0)}
    jobs = [
        job.model_dump() | {"arrival": 0, "chunks": 1, "epochs": 2, "batch_time": 0.4} | change
        for change in ({"utility": late}, {"batch_time": 1e9, "utility": late})
    ]
    inst = DmlrsInstance.model_validate(
        tiny(1).model_dump() | {"jobs": jobs, "machines": [{"capacity": (9.0, 9.0)}]}
    )
    assert inst.earliest[1] is None
    best = optimum(inst)
    assert 0 < best < 10
    for bits in (40, 1000):
        assert check(inst, DmlrsCertificate.root(inst, None, bits)) == pytest.approx(best)


def test_the_first_bound_of_the_most_chunks_link_by_link_has_a_certificate():
    inst = changed({"chunks": MOST_LINKED_CHUNKS}, locality="link")
    bound, certificate = opening(inst)
    assert check(inst, certificate()) <= bound


@pytest.mark.slow
@pytest.mark.parametrize(("abandoned", "most_steps"), [(1, np.inf), (0, 1e6)])
def test_a_kernel_over_many_machines_returns_once_nobody_waits(abandoned, most_steps):
    """In full it would take days: thousands of workers and PS on thousands of machines."""
    one = np.array([1], np.int64)
    most, room = 4000, np.array([[4000, 4000]], np.int64)
    demand = np.array([1, 1], np.int64)
    ended = np.array([abandoned], np.int64), np.array([0.0, most_steps])
    found = outer_costs(
        one, one, room, 4000 * one, demand, demand, np.arange(most + 1), most, *ended
    )
    assert found.shape == (most + 1,)
