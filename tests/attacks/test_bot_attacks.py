"""Family `bot`: levels of max-min, sums at the ends of floats, powers that overflow."""

import math

import pytest
from forging import forged, made, second_look
from independent.bot import two_nodes
from pydantic import ValidationError

from optsched import solve
from optsched.families.bot.certificate.check import BotCertificate, Prices, check
from optsched.families.bot.instance import Application, BotInstance, BotSchedule, Link
from optsched.families.bot.verify import verify


def separate(*speeds, alpha="inf", weights=None):
    """Return nodes that each work for themselves alone: the best is to use all of each."""
    weights = weights or (1.0,) * len(speeds)
    return BotInstance(
        speed=speeds,
        links=tuple(
            Link(a=n, b=n + 1, forward=1e-3, backward=1e-3) for n in range(len(speeds) - 1)
        ),
        alpha=alpha,
        applications=tuple(
            Application(master=n, flop=1.0, bytes=1.0, weight=g, allowed=(n,))
            for n, g in enumerate(weights)
        ),
    )


def rates(*amounts):
    return BotSchedule(rates=tuple((n, n, x) for n, x in enumerate(amounts)))


def totals(schedule):
    return sorted(x for _, _, x in schedule.rates)


def taken_as_optimum(found):
    """Return whether a second look states that value and bound are the same."""
    return found is not None and found.accepted and found.gap is not None and found.gap <= 1e-6


WRONG = {
    "the second level": ((1.0, 100.0), (1.0, 1.0)),
    "the second level, a little": ((1.0, 100.0), (1.0, 99.99)),
    "the second level, nothing": ((1.0, 2.0), (1.0, 1.0)),
    "the third level": ((1.0, 10.0, 100.0), (1.0, 10.0, 10.0)),
    "the third level, a little": ((1.0, 10.0, 100.0), (1.0, 10.0, 99.9)),
    "the second of three": ((1.0, 10.0, 100.0), (1.0, 9.0, 100.0)),
    "a level of two": ((1.0, 10.0, 10.0, 100.0), (1.0, 10.0, 9.0, 100.0)),
    "far apart": ((1e-12, 1e12), (1e-12, 1e-12)),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("weights", ["equal", "unequal"])
def test_every_level_of_max_min_counts(what, weights, tmp_path):
    speeds, given = WRONG[what]
    own = tuple(2.0**n for n in range(len(speeds))) if weights == "unequal" else None
    inst = separate(*speeds, weights=own)
    best = solve(inst, time_limit=60)
    assert best.status == "optimal"
    assert totals(best.schedule) == pytest.approx(sorted(speeds), rel=1e-6)
    worse = rates(*given)
    value = verify(inst, worse).value
    assert value == min(speeds)
    found = second_look(
        tmp_path, inst, forged(inst, worse, value, best.certificate, best.certified_bound)
    )
    assert not taken_as_optimum(found)


@pytest.mark.parametrize("kept", [1, 2])
def test_levels_that_are_left_out_prove_nothing_above(kept, tmp_path):
    inst = separate(1.0, 10.0, 100.0)
    best = solve(inst, time_limit=60)
    cut = best.certificate.model_copy(update={"levels": best.certificate.levels[:kept]})
    worse = rates(1.0, 10.0, 10.0) if kept == 2 else rates(1.0, 1.0, 1.0)
    found = second_look(tmp_path, inst, forged(inst, worse, 1.0, cut))
    assert not taken_as_optimum(found)


def test_floors_that_nobody_reaches_prove_nothing(tmp_path):
    """A level states what is left to others when some have their floor: 50 of 100 is no bound."""
    inst = separate(1.0, 100.0)
    best = solve(inst, time_limit=60)
    first, second = best.certificate.levels
    for floor in (0.5, 2.0, 50.0):
        floors = tuple(None if f is None else floor for f in second.floors)
        level = second.model_copy(update={"floors": floors})
        proof = best.certificate.model_copy(update={"levels": (first, level)})
        found = second_look(tmp_path, inst, forged(inst, rates(1.0, 1.0), 1.0, proof))
        assert not taken_as_optimum(found)


@pytest.mark.slow
@pytest.mark.parametrize("width", [5e-324, 1e-310, 2.3e-308, 1e-30, 1e30])
@pytest.mark.parametrize("share", [1.4, 1.001, 1.0000001])
def test_no_arc_carries_more_than_it_can(width, share):
    """Widths and bytes below what floats hold rightly are refused, or added up rightly."""
    try:
        app = Application(master=0, flop=1.0, bytes=width, allowed=(1,))
        inst = two_nodes((1.0, 1e30), width, app, alpha=0.0)
    except ValueError:
        return
    assert not verify(inst, BotSchedule(rates=((1, 0, share),))).feasible
    assert verify(inst, BotSchedule(rates=((1, 0, 1.0),))).feasible
    best = solve(inst, time_limit=60)
    assert best.value <= 1 + 1e-8
    assert best.bound is None or best.bound >= 1 - 1e-9


@pytest.mark.parametrize("speed", [1e-30, 1e-5, 1.0, 1e30])
@pytest.mark.parametrize("share", [1.4, 1.001, 1.0000001])
def test_no_node_does_more_than_it_can(speed, share):
    inst = separate(speed, alpha=0.0)
    assert not verify(inst, rates(speed * share)).feasible
    assert verify(inst, rates(speed)).feasible


@pytest.mark.parametrize("alpha", [0.0, 1e-7, 0.5, 0.999999, 1.0, 1.000001, 2.0, 3.0, 50.0, 100.0])
@pytest.mark.parametrize("speed", [1e-30, 1e-10, 1e-5, 1.0, 1e5, 1e30])
def test_powers_of_rates(alpha, speed):
    """The judge has a number for every rate, and the optimum is the whole speed, or all fail."""
    inst = made(lambda: separate(speed, alpha=alpha, weights=(2.0,)))
    if inst is None:  # its utilities are no floats
        assert abs((1 - alpha) * math.log(speed)) > 600
        return
    try:
        value = verify(inst, rates(speed)).value
        best = solve(inst, time_limit=60)
    except ValueError:  # a clear one: it is beyond floats
        return
    assert value is not None
    assert not math.isnan(value)
    assert verify(inst, rates(speed / 2)).value < value or math.isinf(value)
    if best.status == "optimal":
        assert totals(best.schedule) == pytest.approx([speed], rel=1e-6)


@pytest.mark.parametrize("alpha", [1e6, "inf", 100.0])
def test_very_fair(alpha):
    """So large an alpha is refused, or means what it states: nearly max-min."""
    try:
        inst = separate(1.0, 100.0, alpha=alpha)
    except ValueError:
        return
    best, truth = solve(inst, time_limit=60), verify(inst, rates(1.0, 100.0)).value
    assert best.certified_bound >= truth - 1e-9 * abs(truth)
    if best.status == "optimal":  # what the faster one adds to such a sum is below any tolerance
        assert best.value == pytest.approx(truth, rel=1e-6, abs=0)
        assert totals(best.schedule)[0] == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("weights", [(1e-30, 1e30), (1e-12, 1.0), (1.0, 1e9)])
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_weights_far_apart(weights, alpha):
    """Each has its own node: the best is all of both, whatever they weigh."""
    inst = separate(3.0, 5.0, alpha=alpha, weights=weights)
    best = solve(inst, time_limit=60)
    truth = verify(inst, rates(3.0, 5.0)).value
    assert best.value <= truth + 1e-9 * abs(truth)
    assert best.bound is None or best.bound >= truth - 1e-9 * abs(truth)
    assert best.certified_bound is None or best.certified_bound >= truth - 1e-9 * abs(truth)


def afar():
    """Return a node whose tasks may only be done by another: 2 per second, and links carry 3."""
    app = Application(master=0, flop=1.0, bytes=1.0, return_bytes=1.0, allowed=(1,))
    return two_nodes((1.0, 2.0), 3.0, app)


ALPHAS = (0.0, 0.5, 1.0, 2.0, 50.0, "inf")
SIZES = (0.0, 5e-324, 1e-300, 1e-30, 1.0, 1e30, 1e300)


@pytest.mark.parametrize("first", SIZES)
@pytest.mark.parametrize("second", SIZES)
def test_prices_of_any_size_prove_nothing_false(first, second):
    for alpha in ALPHAS:
        alone = separate(2.0, 2.0, alpha=alpha), rates(2.0, 2.0)
        sent = afar().model_copy(update={"alpha": alpha}), BotSchedule(rates=((1, 0, 2.0),))
        for inst, best in (alone, sent):
            truth = verify(inst, best).value
            assert truth is not None
            for arcs in ((), ((0, first), (1, second)), ((0, second), (1, first))):
                level = Prices(nodes=((0, first), (1, second)), arcs=arcs)
                proof = BotCertificate(instance_sha256=inst.digest(), levels=(level,))
                try:
                    bound = check(inst, proof)
                except ValueError:  # somebody's tasks are free, or the bound is no float
                    continue
                assert bound >= truth - 1e-9 * abs(truth), alpha


@pytest.mark.parametrize("price", SIZES[1:])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_only_what_prices_are_to_each_other_counts(price, alpha):
    inst = separate(2.0, 2.0, alpha=alpha)
    level = Prices(nodes=((0, price), (1, price)), arcs=())
    bound = check(inst, BotCertificate(instance_sha256=inst.digest(), levels=(level,)))
    assert bound == pytest.approx(verify(inst, rates(2.0, 2.0)).value, rel=1e-9)


@pytest.mark.parametrize("place", ["nodes", "arcs"])
@pytest.mark.parametrize(
    "price", [-1e300, -5e-324, 1.0001e300, 1.7e308, math.inf, math.nan, 2**1100, 10**3000]
)
def test_prices_beyond_what_is_allowed_are_refused(place, price):
    with pytest.raises(ValidationError, match=rf"{place}\.0\.1\n"):
        Prices(**({"nodes": (), "arcs": ()} | {place: ((0, price),)}))


@pytest.mark.parametrize("price", ["1e301", "1e400", "1" + "0" * 400, "-1", "NaN", "Infinity"])
def test_prices_beyond_what_is_allowed_are_refused_where_they_are_read(price):
    with pytest.raises(ValidationError, match=r"nodes\.0\.1\n"):
        Prices.model_validate_json(f'{{"nodes": [[0, {price}]], "arcs": []}}')
