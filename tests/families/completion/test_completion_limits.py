"""The largest numbers: what is at a limit is answered right, what is beyond it is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from independent.completion import exclusive, in_order, least, optimum, tiny
from pydantic import ValidationError

from optsched.families.completion.certificate.bound import MOST_CELLS, BoundEvaluator
from optsched.families.completion.certificate.check import (
    CompletionCertificate,
    Leaf,
    check,
    price_bound,
)
from optsched.families.completion.instance import CompletionInstance, CompletionJob, PsType
from optsched.families.completion.verify import verify
from optsched.numbers.resources import MachineClass, exact


def certificate(inst, prices=((),), bits=20):
    return CompletionCertificate(
        instance_sha256=inst.digest(), grid_bits=bits, prices=tuple(prices), nodes=(Leaf(prices=0),)
    )


def two_long_jobs():
    """Two jobs of 6 and 3 million worker-slots on 4096 workers; their delays cost 9 and 10."""
    job = {"arrival": 0, "epochs": 1, "chunks": 4096, "batches_per_chunk": 1, "gradient_mb": 0.0}
    inst = exclusive([(0, 9.0, 1), (0, 10.0, 1)], workers=4096, horizon=5000)
    jobs = tuple(
        CompletionJob(**job, weight=w, batch_time=(slots / 4096,), update_time=(0.0,))
        for w, slots in ((9.0, 6_000_000), (10.0, 3_000_000))
    )
    return inst.model_copy(update={"jobs": jobs})


@pytest.mark.parametrize("bits", [0, 20, 37, 38, 39, 48, 60, 200])
def test_no_grid_proves_too_much(bits):
    """In 64 bits weight * completion would wrap at 38, and the optimum be cut off."""
    inst = two_long_jobs()
    long = inst.duration(inst.jobs[0], 0, 0, True, 4096)
    price = min(2**bits // 200, 2**62 - 1)
    prices = tuple((t, 0, 0, price) for t in range(long)) if price else ()
    assert verify(inst, in_order(inst, [1, 0])).value == 27112 == least(inst)
    assert verify(inst, in_order(inst, [0, 1])).value == 35165
    for entries in (prices, ()):
        assert check(inst, certificate(inst, [entries], bits)) <= 27112


@pytest.mark.parametrize("bits", range(-60, 400, 23))
def test_the_bound_is_the_same_on_every_grid(bits):
    """The checker's own grid is as fine as 64 bits allow, so no digit of these is lost."""
    inst = exclusive([(0, 3.0, 4), (1, 5.0, 2)])
    unit = Fraction(2) ** (bits - 1)  # half a unit of cost
    prices = [(t, 0, 0, int(unit)) for t in range(3)] if 1 <= unit < 2**62 else []
    bound = price_bound(inst, certificate(inst, [tuple(prices)], bits))
    price = Fraction(1, 2) if prices else 0
    first = min(3 * (t + 4) + price * max(0, 3 - t) for t in range(4))
    second = min(5 * (t + 2) + price * max(0, min(2, 3 - t)) for t in range(1, 4))
    assert bound == first + second - 3 * price


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1.0, 1e30, 1e99])
def test_weights_of_any_size_have_a_bound_as_good(scale):
    inst = exclusive([(0, 7.0 * scale, 4), (0, scale, 40)])
    assert check(inst, certificate(inst)) == pytest.approx(68 * scale, rel=1e-12)


def test_the_finest_grid_fits_and_the_next_does_not():
    """The greatest number that the kernel can form is below 2**63, and at least 2**62."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        longest = int(rng.integers(2, 10**6))
        inst = exclusive([(0, float(rng.uniform(1e-3, 1e3)), longest)], horizon=10**6)
        bits = int(rng.integers(0, 60))
        entries = [(t, 0, 0, int(rng.integers(2 ** int(rng.integers(1, 62))))) for t in range(30)]
        evaluation = BoundEvaluator(inst)
        priced = evaluation.priced(entries, bits, "prices")
        start = max(evaluation.first.most, 30)
        price = max(price for *_, price in entries)
        rent = sum(price for *_, price in entries)
        weight = exact(inst.jobs[0].weight) * 2**bits
        most = weight * (start + longest) + rent + price
        most *= Fraction(2) ** (priced.grid - bits)
        assert 2**62 <= most < 2**63
        # what is really formed
        formed = int(priced.weights[0]) * (start + longest) + int(priced.costs.worker[0, -1, 0])
        assert formed < 2**63


@pytest.mark.parametrize(
    ("field", "good", "bad", "words"),
    [
        ("weight", 1e100, 1.1e100, "out of range, expected 1e-100 to 1e\\+100"),
        ("weight", 1e-100, 9e-101, "out of range"),
        ("gradient_mb", 1e-100, 1e-101, "out of range"),
        ("epochs", 2**39, 2**40 + 1, "less than or equal to 1099511627776"),
        ("batches_per_chunk", 2**40, 2**40 + 1, "less than or equal to 1099511627776"),
        (
            "batch_time",
            (2.0**40,),
            (2.0**40 + 1,),
            "one worker takes up to 10995116[0-9]* slots, expected at most",
        ),
        ("chunks", 10_000, 10_001, "less than or equal to 10000"),
    ],
)
def test_limits_of_a_job(field, good, bad, words):
    fine = exclusive([(0, 1.0, 1)]).model_dump(mode="json")
    fine["jobs"][0] |= {"batch_time": (1e-30,), field: good}
    CompletionInstance.model_validate(fine)
    fine["jobs"][0][field] = bad
    with pytest.raises(ValidationError, match=words):
        CompletionInstance.model_validate(fine)


@pytest.mark.parametrize(
    ("field", "good", "bad", "words"),
    [
        ("horizon", 2**40, 2**40 + 1, "less than or equal to 1099511627776"),
        ("slot_seconds", 1e100, 1e101, "out of range"),
        (
            "servers",
            [{"count": 2**20, "capacity": [1.0]}],
            [{"count": 2**19, "capacity": [1.0]}, {"count": 2**19 + 1, "capacity": [1.0]}],
            "servers: 1048577 of them, expected at most 1048576",
        ),
    ],
)
def test_limits_of_a_platform(field, good, bad, words):
    fine = exclusive([(0, 1.0, 1)]).model_dump()
    CompletionInstance.model_validate(fine | {field: good})
    with pytest.raises(ValidationError, match=words):
        CompletionInstance.model_validate(fine | {field: bad})


def test_limits_of_what_a_job_asks_of_its_types():
    fine = tiny(0).model_dump(mode="json")
    fine["ps_types"] = [PsType(demand=(0, 0.1), bandwidth=1.0).model_dump()]
    for worker in fine["worker_types"]:
        worker["bandwidth"] = 2.0**20
    for job in fine["jobs"]:
        job["chunks"] = 1
    CompletionInstance.model_validate(fine)
    fine["jobs"][1]["chunks"] = 2
    with pytest.raises(ValidationError, match=r"job 1: 2 workers at .* need more than 1048576 PS"):
        CompletionInstance.model_validate(fine)
    many = exclusive([(0, 1.0, 1)]).model_dump(mode="json")
    many["jobs"][0] |= {"chunks": 10_000, "batch_time": [1.0] * 104}
    many["worker_types"] = many["worker_types"] * 104
    CompletionInstance.model_validate(many)
    many["jobs"][0]["batch_time"] += [1.0]
    many["worker_types"] = many["worker_types"][:1] * 105
    with pytest.raises(ValidationError, match="can be combined in 2100000 ways"):
        CompletionInstance.model_validate(many)


def test_a_demand_that_fits_nowhere_is_counted_no_larger_than_need_be():
    inst = exclusive([(0, 1.0, 1)]).model_copy(update={"servers": (MachineClass(capacity=(2.0,)),)})
    workers = inst.worker_types[0].model_copy(update={"demand": (9e8,)})
    assert inst.arrays.worker_demand.tolist() == [[1]]
    huge = inst.model_copy(update={"worker_types": (workers,)})
    huge = CompletionInstance.model_validate(huge.model_dump())
    assert huge.arrays.worker_demand.tolist() == [[3]]
    assert check(huge, certificate(huge)) == math.inf


def test_limits_of_a_certificate():
    inst = exclusive([(0, 1.0, 4), (1, 1.0, 3)], horizon=20)
    slots = BoundEvaluator(inst).slots
    assert slots == 2 * (20 + 7) + 16
    assert check(inst, certificate(inst, [((slots - 1, 0, 0, 2**62 - 1),)])) == 0
    with pytest.raises(
        ValueError, match=f"slot {slots} is beyond .* expected slots 0..{slots - 1}"
    ):
        check(inst, certificate(inst, [((slots, 0, 0, 1),)]))
    for entry, words in (
        ((0, 0, 0, 2**62), "less than 4611686018427387904"),
        ((2**40 + 1, 0, 0, 1), "less than or equal to 1099511627776"),
        ((0, 0, 0, -1), "greater than or equal to 0"),
    ):
        with pytest.raises(ValidationError, match=words):
            certificate(inst, [(entry,)])
    for bits in (-400, 400):
        assert check(inst, certificate(inst, bits=bits)) == 8
    for bits in (-401, 401):
        with pytest.raises(ValidationError, match="than or equal to"):
            certificate(inst, bits=bits)


def test_long_jobs_have_no_more_priced_slots_than_fit_into_memory():
    inst = exclusive([(0, 1.0, 2**39)], horizon=2**40)
    assert BoundEvaluator(inst).slots == MOST_CELLS
    with pytest.raises(ValueError, match="slot 33554432 is beyond what the instance needs"):
        check(inst, certificate(inst, [((MOST_CELLS, 0, 0, 1),)]))


def test_an_instance_with_a_deadline_that_is_too_early_is_proved_to_have_no_schedule():
    inst = exclusive([(0, 1.0, 10), (1, 10.0, 2)], horizon=11, deadline=True)
    assert least(inst) is None
    assert check(inst, certificate(inst)) == 1 * 10 + 10 * 3
    # 12 slots of work in 11: at such prices, all of them cost more than any schedule
    dear = tuple((t, 0, 0, 1000 << 20) for t in range(11))
    assert check(inst, certificate(inst, [dear])) == math.inf
    there_is = exclusive([(0, 1.0, 10), (1, 10.0, 2)], horizon=12, deadline=True)
    assert least(there_is) is not None
    dear = tuple((t, 0, 0, 1000 << 20) for t in range(12))
    assert check(there_is, certificate(there_is, [dear])) <= least(there_is)


def test_nothing_is_called_impossible_that_is_not():
    for seed in range(60):
        inst = tiny(seed)
        bound = check(inst, certificate(inst))
        assert optimum(inst) is None or bound <= optimum(inst)


def test_as_many_batches_as_may_be_take_no_time_if_each_takes_none():
    raw = exclusive([(0, 1.0, 1)]).model_dump(mode="json")
    raw["jobs"][0] |= {"epochs": 2**40, "batches_per_chunk": 2**40, "batch_time": [2.0**-75]}
    inst = CompletionInstance.model_validate(raw)
    assert inst.durations(inst.jobs[0]).tolist() == [[[[32], [32]]]]
