"""At the limits of the checker's whole numbers, and one above them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from independent.oasis import simple_job
from independent.oasis_certificate import Twin, tiny_instance
from pydantic import ValidationError
from sweeps import sweep

from optsched.families.oasis.certificate.bound import LARGEST_UNIT_PRICE, LeafBounds
from optsched.families.oasis.certificate.check import (
    CapacityPrices,
    Leaf,
    OasisCertificate,
    SlotPrices,
    check,
    leaf_bounds,
)
from optsched.families.oasis.certificate.kernels import NONE, slot_costs
from optsched.families.oasis.certificate.limits import GridRange
from optsched.families.oasis.instance import (
    LARGEST_UTILITY,
    MOST_CHUNKS,
    MOST_MACHINES,
    MOST_PLACES,
    OasisInstance,
)
from optsched.numbers.resources import MachineClass
from optsched.proofs.grid import LARGEST_PRICE

# -- many resources ------------------------------------------------------------


def one_of_many(resources: int, capacity: float = 1.0) -> OasisInstance:
    """Return a job worth 7 that requests one of many resources."""
    rest = (0.0,) * (resources - 1)
    job = simple_job(
        worker_demand=(1.0, *rest),
        ps_demand=(0.0, *rest),
        utility={"kind": "constant", "value": 7},
    )
    machine = (MachineClass(capacity=(capacity,) * resources),)
    return OasisInstance(
        horizon=1,
        resources=tuple(f"r{k}" for k in range(resources)),
        worker_machines=machine,
        ps_machines=machine,
        jobs=(job,),
    )


@pytest.mark.parametrize("resources", sweep([2048, 8193, 8191, 20_000, 2047, 2049, 8192], 2))
def test_sums_over_resources_do_not_wrap(resources):
    inst = one_of_many(resources)
    prices = SlotPrices(entries=((0, 0, 0, 8 << 20),))  # so the machine is worth 8, the job 0
    assert check(inst, OasisCertificate.root(inst, prices, 20)) == 8


# -- prices --------------------------------------------------------------------


@pytest.mark.parametrize("beyond", [-1, 0, 1, 10**6])
@pytest.mark.parametrize("seed", range(6))
def test_the_dearest_worker_and_a_dearer_one(seed, beyond):
    inst = tiny_instance(seed)
    richest = max(job.utility.upper(0) for job in inst.jobs)
    dearest = GridRange.of(inst, 20, richest).dearest
    entries = [
        (side, i, t, dearest + beyond)
        for side, (i, job), t in product((0, 1), enumerate(inst.jobs), range(inst.horizon))
    ]
    certificate = OasisCertificate.root(inst, SlotPrices(entries=entries), 20)
    counted = [(*e[:3], min(e[3], dearest)) for e in entries]
    other = OasisCertificate.root(inst, SlotPrices(entries=counted), 20)
    assert list(leaf_bounds(inst, certificate)) == Twin(inst, other).bounds()


def test_the_largest_price_of_a_worker_and_one_above():
    inst = tiny_instance(3)
    free = check(inst, OasisCertificate.root(inst, None, 20))
    where = (0, 0, inst.horizon - 1)
    most = SlotPrices(entries=((*where, LARGEST_PRICE - 1),))
    for bits in (0, 20, 62, 96, 1200):
        (bound,) = leaf_bounds(inst, OasisCertificate.root(inst, most, bits))
        (exact,) = Twin(inst, OasisCertificate.root(inst, None, bits)).bounds()
        assert bound >= exact - free
    above = SlotPrices(entries=((*where, LARGEST_PRICE),))
    with pytest.raises(ValueError, match=r"expected 0\.\.2\*\*62 - 1"):
        check(inst, OasisCertificate.root(inst, above, 20))


def test_the_largest_price_of_a_unit_and_one_above():
    inst = tiny_instance(3)
    most = CapacityPrices(entries=((0, inst.horizon - 1, 0, 0, LARGEST_UNIT_PRICE - 1),))
    for bits in (0, 96, 190, 1000):
        (found,) = leaf_bounds(inst, OasisCertificate.root(inst, most, bits))
        (exact,) = Twin(inst, OasisCertificate.root(inst, most, bits)).bounds()
        assert exact <= found <= exact + Fraction(1, 10**6)
    with pytest.raises(ValidationError, match="should be less than"):
        CapacityPrices(entries=((0, 0, 0, 0, LARGEST_UNIT_PRICE),))


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e9, 1e12])
@pytest.mark.parametrize("bits", [60, 90, 96, 120])
def test_costs_are_rounded_down_however_far_the_grid_is(scale, bits):
    # prices times demands just above 2**62, counted on a grid that is more than 62 bits coarser
    inst = tiny_instance(3)
    jobs = [j.model_dump() | {"utility": {"kind": "constant", "value": scale}} for j in inst.jobs]
    inst = OasisInstance.model_validate(inst.model_dump() | {"jobs": jobs})
    demands = np.concatenate([inst.arrays.worker_demand, inst.arrays.ps_demand])
    price = -(-(2**62) // int(demands.max()))
    shapes = (inst.horizon, len(inst.arrays.worker_classes), 2)
    entries = [(0, *where, price) for where in np.ndindex(*shapes)]
    certificate = OasisCertificate.root(inst, CapacityPrices(entries=entries), bits)
    (exact,), (found,) = Twin(inst, certificate).bounds(), leaf_bounds(inst, certificate)
    assert exact <= found <= exact * (1 + Fraction(1, 10**9))


def test_no_sum_of_the_kernels_leaves_its_range():
    # a job in every slot on the dearest machines, and what cannot be placed at all
    for slots, most in ((1, 1), (3, 5), (1000, 1000), (MOST_PLACES, MOST_CHUNKS)):
        dearest = NONE // 2 // (2 * slots * most)
        assert 2 * most * dearest * slots <= NONE // 2
    unit = np.full((1, 1), NONE // 4)
    none = slot_costs(unit, np.array([1]), unit, np.array([0]), np.array([0, 1]))
    assert none.tolist() == [[0, NONE]]


# -- memory --------------------------------------------------------------------


def test_prices_for_more_places_than_memory_are_refused(monkeypatch):
    inst = tiny_instance(3)
    places = inst.horizon * len(inst.jobs)
    certificate = OasisCertificate.root(inst, SlotPrices(entries=()), 20)
    monkeypatch.setattr("optsched.families.oasis.certificate.check.CELLS", places)
    LeafBounds(inst, 20)
    check(inst, certificate)
    monkeypatch.setattr("optsched.families.oasis.certificate.check.CELLS", places - 1)
    with pytest.raises(ValueError, match=f"there are {places} prices by job, slot"):
        check(inst, certificate)


def test_a_job_that_can_never_finish_needs_no_table():
    job = one_of_many(1).jobs[0].model_dump() | {"epochs": 10**9, "batches_per_chunk": 10**6}
    inst = OasisInstance.model_validate(one_of_many(1).model_dump() | {"jobs": [job]})
    assert inst.work[0] > 10**14
    assert check(inst, OasisCertificate.root(inst, None, 20)) == 0


# -- instances -----------------------------------------------------------------


def changed(**fields):
    inst = one_of_many(1)
    job = inst.jobs[0].model_dump()
    jobs = [job | {k: v for k, v in fields.items() if k in job}] * fields.pop("copies", 1)
    data = {k: v for k, v in fields.items() if k not in job}
    return OasisInstance.model_validate(inst.model_dump() | {"jobs": jobs} | data)


def value(x: float) -> dict:
    return {"kind": "constant", "value": x}


def machines(count: int) -> list:
    return [{"count": count, "capacity": [1]}]


@pytest.mark.parametrize(
    ("largest", "larger", "message"),
    [
        ({"chunks": MOST_CHUNKS}, {"chunks": MOST_CHUNKS + 1}, "the jobs have 4000001 chunks"),
        (
            {"chunks": MOST_CHUNKS // 2, "copies": 2},
            {"chunks": MOST_CHUNKS // 2 + 1, "copies": 2},
            "chunks",
        ),
        (
            {"epochs": 2**27, "batches_per_chunk": 2**26},
            {"epochs": 2**27, "batches_per_chunk": 2**26, "batch_time": 1.0001},
            r"job 0: needs about 2\*\*53 worker-slots",
        ),
        ({"epochs": 10**9}, {"epochs": 10**9 + 1}, "less than or equal to 1000000000"),
        ({"epochs": 10**9}, {"epochs": 10**400}, "less than or equal to 1000000000"),
        ({"copies": 0, "horizon": MOST_PLACES}, {"copies": 0, "horizon": MOST_PLACES + 1}, "slots"),
        ({"copies": 2}, {"copies": 2, "horizon": MOST_PLACES // 2 + 1}, "2 jobs and 5000001 slots"),
        ({}, {"ps_machines": machines(MOST_MACHINES + 1)}, "1000001 machines of 1 resources"),
        ({"utility": value(LARGEST_UTILITY)}, {"utility": value(1.1e305)}, "add up to more than"),
        ({"utility": value(4e304), "copies": 2}, {"utility": value(6e304), "copies": 2}, "add up"),
        ({}, {"worker_demand": (1e-9,), "worker_machines": [{"capacity": [2e6]}]}, r"2\*\*50"),
    ],
)
def test_the_largest_instances_and_larger_ones(largest, larger, message):
    changed(**largest)
    with pytest.raises(ValidationError, match=message):
        changed(**larger)


def test_a_bound_beyond_all_floats_is_refused():
    inst = one_of_many(1)
    prices = CapacityPrices(entries=((0, 0, 0, 0, 2**180),))
    certificate = OasisCertificate(
        instance_sha256=inst.digest(), grid_bits=-1000, nodes=(Leaf(prices=prices),)
    )
    with pytest.raises(ValueError, match="beyond the largest float"):
        check(inst, certificate)
