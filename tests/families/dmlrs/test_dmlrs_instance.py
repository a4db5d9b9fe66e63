"""The data: what is refused, and the integers that everybody counts in."""

import math
from fractions import Fraction

import pytest
from independent.dmlrs import FILES, load, mixed, placements
from pydantic import ValidationError

from optsched.families.dmlrs.instance import (
    IMPOSSIBLE,
    DmlrsInstance,
    batch_slots,
    fastest_pace,
    worker_slots,
)
from optsched.families.dmlrs.sources.presets import generate


@pytest.fixture(scope="module")
def small():
    return generate("small", seed=1)


def changed(inst, job=None, **fields):
    """Return the instance's data with changes."""
    data = inst.model_dump()
    data["jobs"] = list(data["jobs"])
    data["jobs"][0] |= job or {}
    return DmlrsInstance.model_validate(data | fields)


@pytest.mark.parametrize(
    ("job", "fields", "message"),
    [
        ({"arrival": 9}, {}, r"job 0: arrival 9 is outside the horizon 0\.\.5"),
        ({"worker_demand": (1.0,)}, {}, "job 0: worker_demand has 1 entries, expected one per"),
        ({"outer_bandwidth": 99.0}, {}, "job 0: inner_bandwidth .* is below outer_bandwidth 99"),
        ({"batch_time": 0.0, "gradient_mb": 0.0}, {}, "job 0: batch_time and gradient_mb are both"),
        ({"worker_demand": (-1.0, 0.0, 0.0)}, {}, "greater than or equal to 0"),
        ({}, {"resources": ("gpu", "gpu", "storage")}, "a name is used twice"),
        ({}, {"locality": "rack"}, "'job' or 'link'"),
        ({}, {"machines": ()}, "at least 1 item"),
    ],
)
def test_bad_data_is_refused_with_its_place(small, job, fields, message):
    with pytest.raises(ValidationError, match=message):
        changed(small, job, **fields)


def test_other_machines(small):
    first, *others = small.machines
    machines = (first.model_copy(update={"count": 3}), *others)
    made = small.on(machines)
    checked = DmlrsInstance.model_validate(small.model_dump() | {"machines": machines})
    assert made == checked
    assert made.digest() == checked.digest()
    assert (made.needs, made.paces, made.total_demand) == (
        checked.needs,
        checked.paces,
        checked.total_demand,
    )
    with pytest.raises(ValidationError, match="1048577 machines, expected at most"):
        small.on((first.model_copy(update={"count": 2**20 + 1}),))
    with pytest.raises(ValueError, match="a capacity divided by the finest decimal of a demand"):
        changed(small, {"worker_demand": (1e-9, 1.0, 1.0)}).on(
            (first.model_copy(update={"capacity": (9e8, 1.0, 1.0)}),)
        )


def test_json_round_trip(small):
    assert DmlrsInstance.model_validate_json(small.model_dump_json()) == small


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_integers_say_what_fractions_say(file):
    inst, _ = load(file)
    for job, needs in zip(inst.jobs, inst.needs, strict=True):
        inner, outer = (
            batch_slots(job, b, inst.slot_seconds)
            for b in (job.inner_bandwidth, job.outer_bandwidth)
        )
        batches = job.epochs * job.chunks * job.batches_per_chunk
        n = worker_slots(job, job.inner_bandwidth, inst.slot_seconds)
        assert n * needs.inner >= needs.work > (n - 1) * needs.inner
        for a in range(n):
            missing = batches * (1 - Fraction(1, 10**9)) - a / inner
            b = max(0, math.ceil(missing * outer))  # the fewest outer workers next to a inner ones
            assert a * needs.inner + b * needs.outer >= needs.work
            assert b == 0 or a * needs.inner + (b - 1) * needs.outer < needs.work


def test_tables_of_servers(small):
    inst = changed(
        small, {"inner_bandwidth": 3.0, "outer_bandwidth": 1.0, "ps_bandwidth": 2.0, "chunks": 4}
    )
    assert inst.needs[0].ps_outer == (0, 1, 1, 2, 2)
    assert inst.needs[0].ps_inner == (0, IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE)


def test_jobs_of_one_shape_have_paces_of_their_own():
    """Their crews are worked out once; what these do in a slot depends on each job's rates."""
    first = generate("small", seed=2)
    slower = [
        job.model_copy(
            update={"batch_time": 3 * job.batch_time, "gradient_mb": job.gradient_mb / 7}
        )
        for job in first.jobs
    ]
    inst = first.model_copy(update={"jobs": (*first.jobs, *slower)})
    paces = [fastest_pace(inst, job, n) for job, n in zip(inst.jobs, inst.needs, strict=True)]
    assert list(inst.paces) == paces
    assert len({pace.work for pace in paces}) > len(first.jobs) / 2


@pytest.mark.parametrize("locality", ["job", "link"])
def test_no_job_completes_before_its_earliest_slot(locality):
    """By trying every placement, in mixed units; exact where one machine alone holds something."""
    checked = 0
    for seed in range(60):
        inst = mixed(seed, locality)
        for job, end in zip(inst.jobs, inst.earliest, strict=True):
            ways = placements(inst, job)
            batches = job.epochs * job.chunks * job.batches_per_chunk
            enough = batches - max(1, batches) * Fraction(1, 10**9)
            slots = math.ceil(enough / max(done for _, done in ways)) if ways else math.inf
            true = job.arrival + slots - 1 if job.arrival + slots <= inst.horizon else None
            assert end is None or true is None or end <= true
            assert end is not None or true is None
            used = {h for way, _ in ways for side in way for h, n in enumerate(side) if n}
            holds = {h for h, c in enumerate(inst.capacity) if holds_one(c, job)}
            assert used <= holds
            if len(holds) < 2:
                checked += 1
                assert end == true
    assert checked > 20


def holds_one(capacity, job):
    """Whether a worker or a PS of a job fits on an empty machine."""
    sides = job.worker_demand, job.ps_demand
    return any(all(d <= c for c, d in zip(capacity, side, strict=True)) for side in sides)
