import math

import numpy as np
import pytest
from independent.bot import FILES, load, schedule, two_nodes

from optsched.families.bot.instance import Application, BotInstance, BotSchedule, Link
from optsched.families.bot.verify import verify
from optsched.numbers.resources import EPS, exact


@pytest.fixture
def inst():
    """Two nodes; application 0 at node 0 sends 3 and takes back 1, application 1 is at 1."""
    return BotInstance(
        speed=(4.0, 6.0, 0.0),
        links=(
            Link(a=0, b=1, forward=3.0, backward=5.0),
            Link(a=1, b=2, forward=1.0, backward=1.0),
        ),
        applications=(
            Application(master=0, flop=2.0, bytes=3.0, return_bytes=1.0),
            Application(master=1, flop=1.0, bytes=4.0, weight=2.0),
            Application(master=1, flop=1.0, bytes=4.0, allowed=(1,)),
        ),
    )


def judge(inst, *rates):
    return verify(inst, BotSchedule(rates=rates))


GOOD = ((0, 0, 1.0), (1, 0, 1.0), (0, 1, 1.0), (1, 1, 2.0), (1, 2, 2.0))


def test_value_by_hand(inst):
    # node 0: 2 + 1 <= 4; node 1: 2 + 2 + 2 <= 6; 0 -> 1: 3 <= 3; 1 -> 0: 1 back + 4 <= 5
    assert judge(inst, *GOOD).value == pytest.approx(math.log(2) + 2 * math.log(3) + math.log(2))


@pytest.mark.parametrize(
    ("alpha", "value"), [(0.0, 2 + 2 * 3 + 2), (2.0, -1 / 2 - 2 / 3 - 1 / 2), ("inf", 2.0)]
)
def test_other_utilities(inst, alpha, value):
    changed = BotInstance.model_validate(inst.model_dump() | {"alpha": alpha})
    assert judge(changed, *GOOD).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ((1, 2, 2.5), "(10b) broken by 0.5 at node 1"),
        ((1, 0, 1.2), "(10c) broken by 0.6 at link 0 -> 1"),
        ((0, 1, 1.1), "(10c) broken by 0.4 at link 1 -> 0"),
        ((0, 2, 0.5), "(10d) broken by 0.5 at node 0, application 2: the node is not allowed"),
        ((2, 1, 0.5), "(10d) broken by 0.5 at node 2, application 1: the node has speed 0"),
        ((5, 1, 0.5), "(10d) broken by 0.5 at node 5 of 3, application 1 of 3 does not exist"),
    ],
)
def test_one_damage_per_constraint(inst, damage, message):
    rates = [r for r in GOOD if r[:2] != damage[:2]]
    verdict = judge(inst, *rates, damage)
    assert verdict.value is None
    assert message in str(verdict)


def test_a_pair_given_twice_is_rejected(inst):
    assert "node 0, application 0 is given twice" in str(judge(inst, *GOOD, (0, 0, 0.1)))


def test_no_route_leads_through_a_closed_arc(inst):
    closed = inst.model_copy(
        update={"links": (Link(a=0, b=1, forward=0.0, backward=5.0), inst.links[1])}
    )
    assert "node 1, application 0: no route leads there" in str(judge(closed, (1, 0, 0.1)))


def test_a_negative_rate_is_no_schedule():
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        BotSchedule(rates=((0, 0, -1.0),))


def test_an_application_without_anything_is_worth_minus_infinity(inst):
    verdict = judge(inst, (0, 0, 1.0), (1, 1, 1.0))
    assert verdict.feasible
    assert verdict.value == -math.inf


def test_the_tolerance_is_exact(inst):
    # 1e-9 relative is the definition: a load just within fits, one just above does not
    alone = inst.model_copy(update={"links": inst.links, "applications": inst.applications[:1]})
    assert judge(alone, (0, 0, 2.0000000020)).feasible
    assert not judge(alone, (0, 0, 2.0000000021)).feasible


@pytest.mark.parametrize("seed", range(20))
def test_floats_decide_nothing_that_is_near_the_limit(seed):
    """Loads of many parts, a hair below or above what is admitted, and what fractions state."""
    rng = np.random.default_rng(seed)
    nodes, back = 40, float(rng.choice([0.0, 0.3]))
    before = [int(rng.integers(n)) for n in range(1, nodes)]
    whole = rng.uniform(0.1, 1.0, nodes).round(12)
    below = [exact(float(x)) for x in whole]
    for n in range(nodes - 1, 0, -1):
        below[before[n - 1]] += below[n]

    def width(load):
        """Return a capacity at which the load is next to what is admitted."""
        near = float(load / (1 + EPS))
        return near * (1 + int(rng.integers(-3, 4)) * 2.0**-52)

    sent, turned = exact(0.7), exact(back)
    links = tuple(
        Link(a=p, b=n, forward=width(sent * below[n]), backward=width(turned * below[n]))
        for n, p in enumerate(before, 1)
    )
    made = BotInstance(
        speed=tuple(width(exact(1.3) * exact(float(x))) for x in whole),
        links=links,
        applications=(Application(master=0, flop=1.3, bytes=0.7, return_bytes=back),),
        alpha=0.0,
    )
    pairs = [
        (f"node {n}", exact(1.3) * exact(float(x)), made.speed[n]) for n, x in enumerate(whole)
    ]
    for n, (p, link) in enumerate(zip(before, links, strict=True), 1):
        pairs.append((f"link {p} -> {n}", sent * below[n], link.forward))
        pairs.append((f"link {n} -> {p}", turned * below[n], link.backward))
    broken = {place for place, load, limit in pairs if load > exact(limit) * (1 + EPS)}
    verdict = judge(made, *((n, 0, float(x)) for n, x in enumerate(whole)))
    assert {v.place for v in verdict.violations} == broken
    assert 0 < len(broken) < len(pairs)


def test_the_smallest_and_the_largest_numbers_are_judged_exactly():
    # loads far below and above all sums of floats
    def made(bandwidth, size):
        app = Application(master=0, flop=1.0, bytes=size, allowed=(1,))
        return two_nodes((1.0, 1e30), bandwidth, app, back=1.0, alpha=0.0)

    for bandwidth, size in ((1e-30, 1e-30), (1e30, 1e30)):
        inst = made(bandwidth, size)
        assert judge(inst, (1, 0, 1.0)).value == 1
        assert judge(inst, (1, 0, 1.0000000009)).feasible
        assert not judge(inst, (1, 0, 1.0000000011)).feasible
    assert judge(made(1e-30, 1e-30), (1, 0, 5e-324)).value == 5e-324  # its load is no float
    (violation,) = judge(made(1e-30, 1e30), (1, 0, 1.7e308)).violations[-1:]
    assert math.isfinite(violation.amount)


def test_bandwidth_0_lets_nothing_through():
    inst = two_nodes((1.0, 1.0), 1e-30, (1.0, 1.0), back=0.0)
    assert judge(inst, (1, 0, 1e-30)).feasible
    assert "(10c)" in str(judge(inst, (1, 0, 1.5e-30)))


@pytest.mark.parametrize(
    ("alpha", "rate"), [(50.0, 1e-5), (100.0, 1e-2), (100.0, 1e2), (3.0, 1e-30), (0.5, 1e20)]
)
def test_utilities_of_any_size(alpha, rate):
    inst = BotInstance(
        speed=(rate,), alpha=alpha, applications=(Application(master=0, flop=1.0, bytes=0.0),)
    )
    value = judge(inst, (0, 0, rate)).value
    exponent = (1 - alpha) * math.log10(rate)
    assert math.log10(abs(value * (1 - alpha))) == pytest.approx(exponent, abs=1e-9)
    assert judge(inst, (0, 0, rate / 2)).value < value


def test_a_utility_below_all_floats_is_minus_infinity():
    inst = BotInstance(
        speed=(1.0,), alpha=50.0, applications=(Application(master=0, flop=1.0, bytes=0.0),)
    )
    assert judge(inst, (0, 0, 1e-10)).value == -math.inf
    assert judge(inst, (0, 0, 1e-6)).value == pytest.approx(-1e294 / 49, rel=1e-12)


def test_the_value_is_that_of_exact_sums():
    # 1e-20 is lost next to 1 in floats; a value is rounded once, in the end
    heavy = Application(master=0, flop=1.0, bytes=1.0, weight=1e20)
    inst = two_nodes((1.0, 1.0), 1.0, heavy, (1.0, 1.0), heavy, alpha=0.0)
    assert judge(inst, (0, 0, 0.25), (0, 1, 0.5), (1, 2, 0.125)).value == 0.375e20
    one = inst.model_copy(update={"alpha": 1.0, "applications": inst.applications[:1]})
    assert judge(one, (0, 0, 0.5), (1, 0, 1e-17)).value == 1e20 * math.log(0.5)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_reference_schedules(path):
    for alpha, key in ((1.0, None), (0.5, "0.5"), (2.0, "2.0")):
        inst, reference = load(path, alpha)
        known = reference["log"] if key is None else reference["alpha"][key]
        assert verify(inst, schedule(known["rho"])).value == pytest.approx(known["value"], rel=1e-6)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_reference_pairs_and_routes(path):
    inst, reference = load(path)
    found = [np.flatnonzero(row).tolist() for row in inst.present]
    assert found == reference["workers"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_reference_iterates_that_overload_are_rejected(path):
    inst, reference = load(path)
    seen = 0
    for run in reference["runs"]:
        for snapshot in run["snapshots"].values():
            if snapshot["overload"] > 1 + 1e-8:
                seen += 1
                assert not verify(inst, schedule(snapshot["rho"])).feasible
    assert seen
