import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from independent.oasis import FILES, load
from independent.oasis_certificate import Twin, tiny_instance

from optsched.families.oasis.certificate.check import (
    CapacityPrices,
    CompletionSplit,
    Leaf,
    OasisCertificate,
    SlotPrices,
    WorkersSplit,
    check,
    leaf_bounds,
)
from optsched.proofs.grid import to_grid

SEEDS = st.integers(0, 2**32 - 1)
BITS = 20


def capacity_prices(inst, draw, bits=BITS, scale=1.0, density=0.7):
    """Draw prices per demand unit."""
    a = inst.arrays

    def side(classes, units):
        shape = (inst.horizon, len(classes), len(inst.resources))
        natural = draw.random(shape) * (draw.random(shape) < density) * scale
        return to_grid(natural / units, bits)

    return CapacityPrices.of(side(a.worker_classes, a.worker_scale), side(a.ps_classes, a.ps_scale))


def slot_prices(inst, draw, bits=BITS, scale=4.0, density=0.7):
    shape = (2, len(inst.jobs), inst.horizon)
    natural = draw.random(shape) * (draw.random(shape) < density) * scale
    return SlotPrices.of(*to_grid(natural, bits))


def random_tree(inst, draw, splits, prices):
    """Split random leaves ``splits`` times; ``prices()`` draws the prices of a leaf."""
    nodes = [None]
    open_leaves = [0]
    for _ in range(splits):
        k = open_leaves.pop(draw.integers(len(open_leaves)))
        i = int(draw.integers(len(inst.jobs)))
        job = inst.jobs[i]
        where = {
            "job": i,
            "slot": int(draw.integers(job.arrival, inst.horizon)),
            "left": len(nodes),
            "right": len(nodes) + 1,
            "prices": prices() if draw.random() < 0.2 else None,
        }
        at = int(draw.integers(job.chunks))
        completes = CompletionSplit(**where)
        nodes[k] = completes if draw.integers(2) else WorkersSplit(**where, at=at)
        open_leaves += [len(nodes), len(nodes) + 1]
        nodes += [None, None]
    for k in open_leaves:
        nodes[k] = Leaf(prices=prices() if draw.random() < 0.8 else None)
    return OasisCertificate(instance_sha256=inst.digest(), grid_bits=BITS, nodes=tuple(nodes))


def rounded_up(x: Fraction) -> float:
    near = float(x)
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)


# -- against the definition ----------------------------------------------------


@pytest.mark.slow
@settings(max_examples=60)
@given(SEEDS, st.sampled_from(["capacity", "slots", "both"]), st.integers(0, 6))
def test_bound_is_that_of_the_definition(seed, kind, splits):
    inst, draw = tiny_instance(seed), np.random.default_rng([seed, 1])

    def prices():
        if kind == "capacity" or (kind == "both" and draw.random() < 0.5):
            return capacity_prices(inst, draw)
        return slot_prices(inst, draw)

    certificate = random_tree(inst, draw, splits, prices)
    expected = Twin(inst, certificate).bounds()
    assert list(leaf_bounds(inst, certificate)) == expected
    assert check(inst, certificate) == rounded_up(max(b for b in expected if b is not None))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_bound_of_the_reference_prices(path):
    inst, reference = load(path)
    a = inst.arrays
    for known in reference["oracle"]:
        p, q = np.array(known["p"]), np.array(known["q"])
        equal = all(
            np.ptp(x[:, group], axis=1).max() == 0
            for x, groups in ((p, a.worker_classes), (q, a.ps_classes))
            for group in groups
        )
        # equal machines are better priced equally: averaging never increases the bound
        workers = np.stack([p[:, group].mean(axis=1) for group in a.worker_classes], axis=1)
        ps = np.stack([q[:, group].mean(axis=1) for group in a.ps_classes], axis=1)
        prices = CapacityPrices.of(
            to_grid(workers / a.worker_scale, 40), to_grid(ps / a.ps_scale, 40)
        )
        bound = check(inst, OasisCertificate.root(inst, prices, 40))
        # capacity that no sum of demands can use is not paid for
        unused = np.sum(p * (np.array(inst.worker_capacity) - a.worker_capacity / a.worker_scale))
        unused += np.sum(q * (np.array(inst.ps_capacity) - a.ps_capacity / a.ps_scale))
        if equal:
            assert bound == pytest.approx(known["bound"] - unused, rel=1e-8)
        assert reference["optimum"] <= bound <= (known["bound"] - unused) * (1 + 1e-8)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_no_tree_bounds_below_the_optimum(path):
    inst, reference = load(path)
    draw = np.random.default_rng(int(path.stem))
    richest = max(job.utility(0) for job in inst.jobs)
    for trial in range(16):
        scale = richest * 0.02 * 2.0 ** draw.integers(-3, 4)
        kind = slot_prices if trial % 2 else capacity_prices

        def prices(kind=kind, scale=scale):
            return kind(inst, draw, scale=scale)

        tree = random_tree(inst, draw, trial, prices)
        assert check(inst, tree) >= reference["optimum"] * (1 - 1e-12)


def test_fine_units_and_fine_grids_keep_the_bound():
    # nine decimals: a demand unit is 1e-9, products of prices and demands exceed 64 bits
    inst = tiny_instance(3)
    job = inst.jobs[0].model_copy(update={"worker_demand": (1.123456789, 0.5)})
    fine = inst.model_validate(inst.model_dump() | {"jobs": [job.model_dump()] * 2})
    bounds = []
    for bits in (40, 50, 60):
        prices = capacity_prices(fine, np.random.default_rng(0), bits=bits)
        bounds.append(assert_just_above_the_definition(fine, prices, bits))
    assert bounds == pytest.approx([bounds[0]] * 3, rel=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_grids_finer_than_sums_can_be(seed):
    inst = tiny_instance(seed)
    prices = capacity_prices(inst, np.random.default_rng(seed), bits=59)
    assert_just_above_the_definition(inst, prices, 59)
    prices = slot_prices(inst, np.random.default_rng(seed), bits=59)  # used rounded, as they may be
    certificate = OasisCertificate.root(inst, prices, 59)
    exact = float(Twin(inst, certificate).bounds()[0])
    assert check(inst, certificate) == pytest.approx(exact, rel=1e-12)


def assert_just_above_the_definition(inst, prices, bits):
    certificate = OasisCertificate.root(inst, prices, bits)
    (exact,), (found,) = Twin(inst, certificate).bounds(), leaf_bounds(inst, certificate)
    bound = check(inst, certificate)
    assert exact <= found <= Fraction(bound)
    assert bound <= exact * (1 + Fraction(1, 10**9))
    return bound


def test_huge_utilities_do_not_overflow():
    inst = tiny_instance(5)
    rich = {"kind": "constant", "value": 1e300}
    jobs = [job.model_dump() | {"utility": rich} for job in inst.jobs]
    huge = inst.model_validate(inst.model_dump() | {"jobs": jobs})
    certificate = OasisCertificate.root(huge, None, BITS)
    exact = float(Twin(huge, certificate).bounds()[0])
    assert exact <= check(huge, certificate) <= exact * (1 + 1e-9)


# -- tampering -----------------------------------------------------------------


@pytest.fixture
def inst():
    """Job 0 arrives in slot 0 or 1; two worker machines are equal."""
    return tiny_instance(7)


def tree(inst, *nodes):
    return OasisCertificate(instance_sha256=inst.digest(), grid_bits=BITS, nodes=nodes)


def split(left, right, job=0, slot=None, **more):
    return {"node": "completion", "job": job, "slot": slot, "left": left, "right": right} | more


LEAF = {"node": "leaf"}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([split(1, 2), LEAF], r"node 0: child 2 does not exist, expected 1\.\.1"),
        ([split(0, 1), LEAF], r"node 0: child 0 does not exist"),
        ([split(1, 1), LEAF], "node 0: child 1 is already a child of node 0"),
        ([LEAF, LEAF], "node 1: cannot be reached from the root"),
        ([LEAF, split(2, 3), split(1, 4), LEAF, LEAF], "node 1: cannot be reached from the root"),
        ([split(1, 2, job=9), LEAF, LEAF], r"node 0: job 9 does not exist, expected 0\.\."),
        ([split(1, 2, slot=9), LEAF, LEAF], "node 0, job 0: slot 9 does not exist"),
        ([split(1, 2, node="workers", at=9), LEAF, LEAF], "node 0, job 0: at 9 does not exist"),
    ],
)
def test_what_is_no_tree_is_rejected(inst, nodes, message):
    last = inst.horizon - 1
    nodes = [n | {"slot": last} if n.get("slot", 0) is None else n for n in nodes]
    with pytest.raises(ValueError, match=message):
        check(inst, tree(inst, *nodes))


@pytest.mark.parametrize(
    ("kind", "entry", "message"),
    [
        ("capacity", [2, 0, 0, 0, 1], r"side 2 does not exist, expected 0\.\.1"),
        ("capacity", [0, 9, 0, 0, 1], "slot 9 does not exist"),
        ("capacity", [0, 0, 9, 0, 1], "class 9 does not exist"),
        ("capacity", [0, 0, 0, -1, 1], "resource -1 does not exist"),
        ("capacity", [0, 0, 0, 0, -1], "is -1, expected 0"),
        ("slots", [0, 9, 0, 1], "job 9 does not exist"),
        ("slots", [1, 0, -1, 1], "slot -1 does not exist"),
        ("slots", [0, 0, 0, -5], "is -5, expected 0"),
        ("slots", [0, 0, 0, 2**62], "expected 0"),
    ],
)
def test_wrong_prices_are_rejected(inst, kind, entry, message):
    leaf = {"node": "leaf", "prices": {"kind": kind, "entries": [entry]}}
    with pytest.raises(ValueError, match=message):
        check(inst, tree(inst, leaf))


def test_a_price_given_twice_is_rejected(inst):
    prices = SlotPrices(entries=((0, 0, 1, 5), (0, 0, 1, 7)))
    with pytest.raises(ValueError, match=r"node 0, worker side: the price of \[0, 1\] is given"):
        check(inst, OasisCertificate.root(inst, prices, BITS))


def test_another_instance_is_rejected(inst):
    certificate = OasisCertificate.root(tiny_instance(8), None, BITS)
    with pytest.raises(ValueError, match="the certificate belongs to instance"):
        check(inst, certificate)


def test_a_split_that_only_earlier_versions_knew_is_rejected(inst):
    root = split(1, 2, slot=inst.horizon - 1, node="machine", side=0, machine=0, at=0)
    with pytest.raises(ValueError, match="'machine' found using 'node'"):
        tree(inst, root, LEAF, LEAF)


def test_a_certificate_that_is_too_long_is_rejected(inst, monkeypatch):
    monkeypatch.setattr("optsched.proofs.limits.LARGEST", 50)
    with pytest.raises(ValueError, match="characters, expected at most 50"):
        check(inst, OasisCertificate.root(inst, None, BITS))


@settings(max_examples=40)
@given(SEEDS)
def test_tampered_prices_never_go_below_the_optimum(seed):
    # whatever is done to prices and places: either rejected, or a bound that holds
    inst, reference = load(FILES[seed % len(FILES)])
    draw = np.random.default_rng(seed)
    raw = random_tree(inst, draw, 4, lambda: slot_prices(inst, draw)).model_dump()
    for node in raw["nodes"]:
        for key in node.keys() - {"node", "prices"}:
            if draw.random() < 0.1:
                node[key] = int(draw.integers(0, 9))
        entries = [list(e) for e in (node["prices"] or {"entries": []})["entries"]]
        for entry in entries:
            if draw.random() < 0.1:
                entry[draw.integers(4)] += int(draw.integers(-3, 2**BITS))
        if node["prices"]:
            node["prices"]["entries"] = entries
    try:
        bound = check(inst, OasisCertificate.model_validate(raw))
    except ValueError:
        return
    assert bound >= reference["optimum"] * (1 - 1e-12)


# -- the format ----------------------------------------------------------------


def test_round_trip(inst):
    draw = np.random.default_rng(0)
    certificate = random_tree(inst, draw, 5, lambda: slot_prices(inst, draw))
    again = OasisCertificate.model_validate_json(certificate.model_dump_json())
    assert again == certificate
    assert check(inst, again) == check(inst, certificate)


def test_trees_may_be_deep(inst):
    depth, slot = 2000, inst.horizon - 1
    nodes = []
    for k in range(depth):
        nodes += [WorkersSplit(job=0, slot=slot, at=0, left=2 * k + 1, right=2 * k + 2), Leaf()]
    nodes.append(Leaf())
    assert check(inst, tree(inst, *nodes)) == check(inst, tree(inst, Leaf()))


def test_completion_split_by_hand():
    # One job of work 1, worth 10 in slot 0 and 5 in slot 1, at 4 per worker in slot 0.
    inst = tiny_instance(0)
    job = inst.jobs[0].model_dump() | {
        "arrival": 0,
        "chunks": 1,
        "batch_time": 1,
        "worker_demand": (1, 0),
        "ps_demand": (1, 0),
        "utility": {"kind": "table", "values": [10, 5]},
    }
    inst = inst.model_validate(inst.model_dump() | {"jobs": [job], "horizon": 2})
    machines = len(inst.worker_capacity)
    prices = SlotPrices(entries=((0, 0, 0, 4 << BITS),))
    assert check(inst, OasisCertificate.root(inst, prices, BITS)) == 10 - 4 + 4 * machines
    later = tree(
        inst,
        split(1, 2, slot=0),
        Leaf(prices=SlotPrices(entries=())),  # 10
        Leaf(prices=prices),  # completes in slot 1: 5, without a worker in slot 0
    )
    assert check(inst, later) == max(10, 5 + 4 * machines)


@pytest.mark.parametrize("seed", range(6))
def test_without_prices_in_a_blink_and_slot_by_slot(seed):
    inst = tiny_instance(seed)
    blink, slots = (
        check(inst, OasisCertificate.root(inst, prices, 40))
        for prices in (None, CapacityPrices(entries=()))
    )
    assert blink == slots
