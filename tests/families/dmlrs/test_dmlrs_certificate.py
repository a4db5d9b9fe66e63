"""Certificates: no schedule beats them, and whatever is damaged is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent.dmlrs import FILES, load, optimum, tiny
from pydantic import ValidationError

from optsched.core import solve
from optsched.families.dmlrs.certificate import check as format_of_certificates
from optsched.families.dmlrs.certificate.check import (
    CapacityPrices,
    CompletionSplit,
    DmlrsCertificate,
    Leaf,
    PackingPrices,
    WorkersSplit,
    check,
    leaf_bounds,
)
from optsched.families.dmlrs.certificate.forced import INNER_ONLY, refuted
from optsched.families.dmlrs.optimum.build_certificate import certify_capacity
from optsched.families.dmlrs.optimum.initial_bounds import opening
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation

LOCALITY = st.sampled_from(["job", "link"])


@given(st.integers(0, 60), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1.0, 5.0]), LOCALITY)
def test_any_prices_bound_the_optimum(seed, noise, level, locality):
    inst = tiny(seed, locality)
    rng = np.random.default_rng(noise)
    best = optimum(inst)
    shape = (inst.horizon, len(inst.arrays.classes), len(inst.resources))
    capacity = CapacityPrices.of(rng.integers(0, 2000, shape) * int(level))
    assert check(inst, DmlrsCertificate.root(inst, capacity, 10)) >= best * (1 - 1e-12)


@given(st.integers(0, 60), st.integers(0, 2**32 - 1), LOCALITY)
def test_any_tree_bounds_the_optimum(seed, noise, locality):
    inst = tiny(seed, locality)
    rng = np.random.default_rng(noise)
    nodes, leaves = [Leaf()], [0]
    for _ in range(6):
        k = leaves.pop(int(rng.integers(len(leaves))))
        job = int(rng.integers(len(inst.jobs)))
        slot = int(rng.integers(inst.jobs[job].arrival, inst.horizon))
        where = {"job": job, "slot": slot, "left": len(nodes), "right": len(nodes) + 1}
        at = int(rng.integers(inst.jobs[job].chunks))
        completes = CompletionSplit(**where)
        nodes[k] = completes if rng.integers(2) else WorkersSplit(at=at, **where)
        leaves += [len(nodes), len(nodes) + 1]
        nodes += [Leaf(), Leaf()]
    tree = DmlrsCertificate(instance_sha256=inst.digest(), grid_bits=40, nodes=tuple(nodes))
    assert check(inst, tree) >= optimum(inst) * (1 - 1e-12)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_known_bounds(file):
    inst, reference = load(file)
    problem = CapacityRelaxation(inst)
    for known in reference["oracle"]:
        by_class = np.array([[slot[m[0]] for m in inst.arrays.classes] for slot in known["p"]])
        if len(inst.arrays.classes) < len(inst.capacity):
            continue  # equal machines have one price here
        prices = (by_class.transpose(0, 2, 1) / inst.arrays.scale[None, :, None]).ravel()
        bound = check(inst, certify_capacity(problem, prices))
        assert bound == pytest.approx(known["bound"], rel=1e-6, abs=1e-6)


@pytest.fixture(scope="module")
def solved():
    """An instance whose tree has inner nodes, and its certificate."""
    inst, _ = load(next(f for f in FILES if f.stem == "033"))
    found = solve(inst, method="branch-and-price", time_limit=30)
    assert len(found.certificate.nodes) > 1
    return inst, found


def test_a_tree_is_re_evaluated(solved):
    inst, found = solved
    assert found.bound == pytest.approx(found.value, rel=1e-6)
    text = found.certificate.model_dump_json()
    assert check(inst, DmlrsCertificate.model_validate_json(text)) == found.bound
    assert max(b for b in leaf_bounds(inst, found.certificate) if b is not None) <= found.bound


def rebuilt(certificate, k, **changes):
    """Return the certificate with a changed node."""
    nodes = [n.model_dump() for n in certificate.nodes]
    nodes[k] |= changes
    return DmlrsCertificate.model_validate(certificate.model_dump() | {"nodes": nodes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"left": 0}, "child 0 does not exist"),
        ({"left": 2}, "is already a child of node 0"),
        ({"job": 99}, "node 0: job 99 does not exist"),
        ({"slot": 99}, "slot 99 does not exist"),
    ],
)
def test_broken_trees_are_refused(solved, changes, message):
    inst, found = solved
    with pytest.raises(ValueError, match=message):
        check(inst, rebuilt(found.certificate, 0, **changes))


def test_other_damage_is_refused(solved):
    inst, found = solved
    other, _ = load(FILES[0])
    with pytest.raises(ValueError, match="belongs to instance"):
        check(other, found.certificate)
    lost = found.certificate.model_copy(update={"nodes": (*found.certificate.nodes, Leaf())})
    with pytest.raises(ValueError, match="cannot be reached"):
        check(inst, lost)
    for entries, message in [
        (((0, 0, 0, -1),), r"price \[0, 0, 0, -1\]: is -1"),
        (((99, 0, 0, 1),), "slot 99 does not exist"),
        (((0, 0, 0, 1), (0, 0, 0, 2)), "is given twice"),
    ]:
        wrong = DmlrsCertificate.root(inst, CapacityPrices(entries=entries), 40)
        with pytest.raises(ValueError, match=message):
            check(inst, wrong)


def test_packings_have_no_meaning_link_by_link():
    linked = tiny(1, "link")
    prices = PackingPrices(together=((0, 2, 0, 5),), capacity=())
    with pytest.raises(ValueError, match="in the reading 'job' only"):
        check(linked, DmlrsCertificate.root(linked, prices, 40))


@pytest.mark.parametrize(
    "gone",
    [
        {"node": "mode", "job": 0, "slot": 2, "left": 1, "right": 2},
        {"node": "leaf", "unpackable": 0},
    ],
)
def test_what_only_earlier_versions_knew_is_refused(gone):
    inst = tiny(1)
    text = DmlrsCertificate.root(inst, None, 40).model_dump() | {
        "nodes": [gone, {"node": "leaf"}, {"node": "leaf"}]
    }
    with pytest.raises(ValidationError, match=gone["node"]):
        DmlrsCertificate.model_validate(text)
    plain = DmlrsCertificate.model_validate(
        text | {"nodes": [{"node": "leaf", "unpackable": None}]}
    )
    assert plain == DmlrsCertificate.root(inst, None, 40)


def test_packing_is_searched_through():
    inst, _ = load(FILES[0])
    assert refuted(inst, ()) is False
    fits = [refuted(inst, ((i, INNER_ONLY, 1),)) for i in range(len(inst.jobs))]
    assert False in fits  # somebody finds a place
    crowd = tuple((i, INNER_ONLY, 1) for i in range(len(inst.jobs)))
    assert refuted(inst, crowd) is True


@pytest.mark.parametrize("locality", ["job", "link"])
@pytest.mark.parametrize("seed", range(6))
def test_without_prices_in_a_blink_and_slot_by_slot(seed, locality, monkeypatch):
    inst = tiny(seed, locality)
    certificate = DmlrsCertificate.root(inst, None, 40)
    slots = check(inst, certificate)
    assert slots == check(inst, DmlrsCertificate.root(inst, CapacityPrices(entries=()), 40))
    monkeypatch.setattr(format_of_certificates, "BLINK", 0)
    blink = check(inst, certificate)
    assert blink >= slots >= optimum(inst) * (1 - 1e-9)
    assert blink == pytest.approx(opening(inst)[0], rel=1e-9)
