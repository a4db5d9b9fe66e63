"""The program over slots: it closes tiny instances, and proves what is true or nothing."""

import json
from itertools import product

import numpy as np
import pytest
from independent.dmlrs import fits, optimum, placements, tiny, usage
from sweeps import sweep

from optsched.core import solve
from optsched.engine.progress import Progress
from optsched.families.dmlrs import FAMILY
from optsched.families.dmlrs.certificate import joint, program
from optsched.families.dmlrs.certificate.check import (
    CapacityPrices,
    CompletionSplit,
    DmlrsCertificate,
    Leaf,
    PackingPrices,
    SlotProgramProof,
    check,
)
from optsched.families.dmlrs.certificate.forced import INNER_ONLY, refuted
from optsched.families.dmlrs.certificate.joint import Vectors, choices_of, greatest
from optsched.families.dmlrs.certificate.program import SlotProgram
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.optimum.dynamic_program import slot_program
from optsched.families.dmlrs.sources.presets import generate
from optsched.numbers.overflow import TooLargeError
from optsched.problem import Level, Status
from optsched.scheduling.units import in_units

SAME = 1 + 1e-9
CROWDED = 5  # a seed of `tiny` in which conflicts are needed


def closed(inst, draw=None):
    """Close an instance by the program alone, at no prices or random ones."""
    found = Progress(FAMILY, inst, gap=1e-6)

    def method(twin, progress, **_):
        shape = (twin.horizon, len(twin.arrays.classes), len(twin.resources))
        prices = np.zeros(shape) if draw is None else draw.random(shape) * draw.choice([1, 10])
        slot_program(twin, progress, prices)

    in_units(method)(inst, found, threads=1, seed=0)
    return found.value or 0.0, found.certificate()


def remade(certificate, **changes):
    """Return the certificate with another program; what has another format is refused there."""
    raw = json.loads(certificate.model_dump_json())
    return DmlrsCertificate.model_validate(raw | {"program": raw["program"] | changes})


@pytest.mark.parametrize("seed", sweep(range(1000, 1040), quick=10))
def test_it_finds_the_optimum_and_proves_no_more(seed):
    inst = tiny(seed)
    best = optimum(inst)
    value, proof = closed(inst, np.random.default_rng(seed) if seed % 3 else None)
    assert value == pytest.approx(best, rel=1e-12)
    assert best / SAME <= check(inst, proof) <= best * (1 + 1e-6)
    if best:
        with pytest.raises(ValueError, match="the program over slots ends at"):
            check(inst, remade(proof, value=proof.program.value - 1))
    assert check(inst, remade(proof, value=proof.program.value + 5)) >= best / SAME


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_whatever_runs_in_a_slot_is_in_some_vector(seed):
    inst = tiny(seed)
    choices = choices_of(inst)
    vectors = greatest(Vectors(inst, choices, lambda: None).every)
    done = [np.array([0, *(c.work for c in mine)])[vectors[:, i]] for i, mine in enumerate(choices)]
    ways = []
    for i, job in enumerate(inst.jobs):
        needs, mine = inst.needs[i], [(None, 0)]
        for (workers, ps), _ in placements(inst, job) if inst.earliest[i] is not None else ():
            alone = sum(w + s > 0 for w, s in zip(workers, ps, strict=True)) == 1
            rate = needs.inner if alone else needs.outer
            mine.append((usage(job, (workers, ps)), min(needs.work, sum(workers) * rate)))
        ways.append(mine)
    empty = tuple((0,) * len(inst.resources) for _ in inst.capacity)
    for together in product(*ways):
        total = empty
        for used, _ in together:
            if used is not None:
                total = [
                    [x + y for x, y in zip(a, b, strict=True)]
                    for a, b in zip(total, used, strict=True)
                ]
        if fits(inst, total):
            enough = [d >= x for d, (_, x) in zip(done, together, strict=True)]
            assert np.logical_and.reduce(enough).any()


@pytest.mark.parametrize("seed", range(3))
def test_inner_choices_are_placed_on_single_machines(seed):
    inst = generate("small", seed=seed, jobs=4, machines=3)
    choices = choices_of(inst)
    vectors = Vectors(inst, choices, lambda: None).every
    sits = [[True, *(c.mode == INNER_ONLY for c in mine)] for mine in choices]
    alone = [np.array(mine)[vectors[:, i]] for i, mine in enumerate(sits)]
    found = set(map(tuple, vectors[np.logical_and.reduce(alone)].tolist()))
    expected = set()
    loads = [[np.zeros(3, int), *(np.array(c.load) for c in mine)] for mine in choices]
    for place in product(range(3), repeat=4):
        left = {(): inst.arrays.capacity}
        for i, h in enumerate(place):
            grown = {}
            for vector, room in left.items():
                for k, more in enumerate(loads[i]):
                    after = room.copy()
                    after[h] -= more
                    if sits[i][k] and (after >= 0).all():
                        grown[*vector, k] = after
            left = grown
        expected |= left.keys()
    assert found == expected


def test_no_possible_vector_pays_more_than_the_greatest():
    for seed in range(20):
        inst, draw = tiny(seed), np.random.default_rng(seed)
        shape = (inst.horizon, len(inst.arrays.classes), len(inst.resources))
        counted = SlotProgram(inst, 20, draw.integers(0, 2**20, shape))
        for t in range(inst.horizon):
            every = counted.vectors.every
            pays = sum(job.pays[t][every[:, i]] for i, job in enumerate(counted.jobs))
            assert pays.max() == counted.paid[t] - counted.paid[t + 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20, 21, 31])
def test_what_trees_leave_open_is_closed(seed):
    inst = generate("small", seed=seed)
    found = solve(inst, time_limit=600)
    assert (found.status, found.bound_level) == (Status.OPTIMAL, Level.CERTIFIED)
    assert found.certificate.program.conflicts
    assert len(found.certificate.model_dump_json()) < 2000
    assert check(inst, found.certificate) == found.bound
    assert not found.shadow_prices
    with pytest.raises(ValueError, match="the program over slots ends at"):
        check(inst, remade(found.certificate, conflicts=()))
    for conflict in found.certificate.program.conflicts:
        assert refuted(inst, conflict)


def test_what_is_too_large_is_left_to_the_tree(monkeypatch):
    inst = generate("small", seed=16)
    monkeypatch.setattr(joint, "MOST_COMBINED", 100)
    found = solve(inst, time_limit=600)
    assert found.status is Status.OPTIMAL
    assert found.certificate.program is None


@pytest.fixture(scope="module")
def crowded():
    """Return an instance, its optimum and a certificate with prices and conflicts."""
    inst = generate("small", seed=20, jobs=5)
    shape = (inst.horizon, len(inst.arrays.classes), len(inst.resources))
    found = Progress(FAMILY, inst, gap=1e-6)
    slot_program(inst, found, np.full(shape, 0.002))
    proof = found.certificate()
    assert proof.program.conflicts
    assert proof.nodes[0].prices.entries
    return inst, found.value, proof


def whole(inst, i=0):
    """Return a conflict of one job that is none: it runs one worker on one machine."""
    return [next([i, c.mode, c.workers] for c in choices_of(inst)[i] if c.mode == INNER_ONLY)]


def damages(inst, old):
    """Return changes of a program with conflicts ``old``, none of which may pass."""

    def each(change):
        return {"conflicts": [[change(*entry) for entry in conflict] for conflict in old]}

    def beside(*more):
        return {"conflicts": [*old, list(more)]}

    fits = whole(inst)
    return {
        "what fits": beside(*fits),
        "no entry": beside(),
        "no such job": beside([99, 1, 1], *fits),
        "job below 0": beside([-1, 1, 1], *fits),
        "mode 0": each(lambda job, _, n: [job, 0, n]),
        "mode 3": each(lambda job, _, n: [job, 3, n]),
        "no workers": each(lambda job, mode, _: [job, mode, 0]),
        "more workers than chunks": beside([0, 1, 10**6]),
        "beyond 64 bits": beside([0, 1, 2**64]),
        "a job twice": beside(*old[0], *old[0]),
        "fewer workers": each(lambda job, mode, n: [job, mode, max(1, n - 1)]),
        "a job less": {"conflicts": [conflict[1:] for conflict in old]},
        "too many": {"conflicts": [old[0]] * (program.MOST_CONFLICTS + 1)},
        "value below 0": {"value": -1},
        "value 0": {"value": 0},
    }


def test_damaged_programs_are_refused(crowded):
    inst, _, proof = crowded
    old = json.loads(proof.model_dump_json())["program"]["conflicts"]
    for kind, changes in damages(inst, old).items():
        with pytest.raises(ValueError, match=r"."):
            pytest.fail(f"{kind}: {check(inst, remade(proof, **changes))}")


def test_what_is_not_needed_may_be_left_out_or_said_twice(crowded):
    inst, best, proof = crowded
    conflicts = proof.program.conflicts
    for changed in (conflicts[::-1], (*conflicts, *conflicts)):
        assert check(inst, remade(proof, conflicts=changed)) == check(inst, proof) >= best / SAME


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ((Leaf(prices=PackingPrices(together=(), capacity=())),), "expected prices of capacity"),
        ((CompletionSplit(job=0, slot=3, left=1, right=2), Leaf(), Leaf()), "is no leaf"),
        ((Leaf(), Leaf()), "cannot be reached"),
        ((Leaf(prices=CapacityPrices(entries=((99, 0, 0, 1),))),), "slot 99 does not exist"),
        ((Leaf(prices=CapacityPrices(entries=((0, 0, 0, -1),))),), "is -1"),
        ((Leaf(prices=CapacityPrices(entries=((0, 0, 0, 1),) * 2)),), "given twice"),
    ],
)
def test_it_stands_alone_with_prices_of_capacity(nodes, message, crowded):
    inst, _, proof = crowded
    with pytest.raises(ValueError, match=message):
        check(inst, proof.model_copy(update={"nodes": nodes}))


def test_any_prices_prove_what_is_true(crowded):
    """Prices only state how much has to be looked at."""
    inst, best, proof = crowded
    draw = np.random.default_rng(0)
    shape = (inst.horizon, len(inst.arrays.classes), len(inst.resources))
    for size in (1, 2**20, 2**33, 2**61):
        prices = CapacityPrices.of(draw.integers(0, size, shape) * draw.integers(0, 2, shape))
        changed = proof.model_copy(update={"nodes": (Leaf(prices=prices),)})
        assert check(inst, changed) == check(inst, proof) >= best / SAME
        with pytest.raises(ValueError, match="the program over slots ends at"):
            check(inst, remade(changed, value=proof.program.value - 1))


def test_link_by_link_there_is_none():
    inst = tiny(0, "link")
    nothing = DmlrsCertificate(
        instance_sha256=inst.digest(),
        grid_bits=20,
        nodes=(Leaf(),),
        program=SlotProgramProof(value=2**60, conflicts=()),
    )
    with pytest.raises(ValueError, match="a meaning in the reading 'job' only"):
        check(inst, nothing)


def test_the_grid_is_as_fine_as_64_bits_allow():
    inst = tiny(CROWDED)
    best = optimum(inst)
    proof = closed(inst)[1]

    def at(bits):
        shift = bits - proof.grid_bits
        value = proof.program.value << shift if shift > 0 else -(-proof.program.value >> -shift)
        changed = remade(proof, value=value + len(inst.jobs))
        nodes = (Leaf(),)
        return check(inst, changed.model_copy(update={"grid_bits": bits, "nodes": nodes}))

    finest = next(bits for bits in range(proof.grid_bits, 80) if not counted(inst, bits + 1))
    assert at(finest) >= best / SAME
    assert at(0) >= best / SAME
    assert at(-10) >= best / SAME
    with pytest.raises(TooLargeError, match="utilities"):
        at(finest + 1)


def counted(inst, bits):
    """Return whether the program can count on a grid."""
    shape = (inst.horizon, len(inst.arrays.classes), len(inst.resources))
    try:
        SlotProgram(inst, bits, np.zeros(shape, np.int64))
    except TooLargeError:
        return False
    return True


LIMITS = {
    (joint, "MOST_MACHINES"): "number of machines",
    (joint, "MOST_COMBINED"): "vectors of choices",
    (joint, "MOST_PLACED"): "inner placements",
    (joint, "MOST_VECTORS"): "vectors that are possible",
    (program, "MOST_RESTS"): "amounts of work",
    (program, "MOST_TRIED"): "states times vectors",
    (program, "MOST_STATES"): "states of a slot",
}


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit[1])
def test_what_is_too_much_is_refused(limit, crowded, monkeypatch):
    inst, _, proof = crowded
    monkeypatch.setattr(*limit, 1)
    with pytest.raises(TooLargeError, match=LIMITS[limit]):
        check(inst, proof)


def test_utilities_far_apart_and_amounts_of_any_size():
    data = json.loads(tiny(CROWDED).model_dump_json())
    for k, job in enumerate(data["jobs"]):
        job["utility"] = {"kind": "inverse", "scale": 10.0 ** (9 * k)}
        for name in ("worker_demand", "ps_demand"):
            job[name] = [x * 65536.123456789 for x in job[name]]
    for machines in data["machines"]:
        machines["capacity"] = [x * 65536.123456789 for x in machines["capacity"]]
    inst = DmlrsInstance.model_validate(data)
    best = optimum(inst)
    value, proof = closed(inst)
    assert value == pytest.approx(best, rel=1e-12)
    assert best / SAME <= check(inst, proof) <= best * (1 + 1e-6)
