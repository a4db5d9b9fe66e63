import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent.bot import FILES, load, two_nodes, utility

from optsched.families.bot.certificate.bound import log_mean, utility_of
from optsched.families.bot.certificate.check import BotCertificate, Prices, check, level_bounds
from optsched.families.bot.instance import Application, BotInstance, Link
from optsched.families.bot.loads import equal_shares
from optsched.proofs.enclosure import exp_above, exp_below, ln, log_sum


def certificate(inst, nodes, arcs, floors=None, first=None):
    levels = [Prices.of(np.array(nodes, float), np.array(arcs, float), floors)]
    return BotCertificate(
        instance_sha256=inst.digest(), levels=tuple(([first] if first else []) + levels)
    )


@pytest.fixture
def inst():
    """One node of speed 12 and one of 6 behind a link of 10; both applications at node 0."""
    return two_nodes((12.0, 6.0), 10.0, (2.0, 1.0), (4.0, 1.0))


def test_bounds_by_hand(inst):
    # prices 1 per flop, 0.5 per byte there: pay = 12 + 6 + 5; a task costs 2, 4 at node 0
    for alpha, bound in (
        (1.0, math.log(23 / 4) + math.log(23 / 8)),
        (0.0, 23 / 2),
        ("inf", 23 / 6),
        (2.0, -((math.sqrt(2) + 2) ** 2) / 23),
    ):
        changed = inst.model_copy(update={"alpha": alpha})
        found = check(changed, certificate(changed, [1, 1], [0.5, 0]))
        assert bound <= found + 1e-15
        assert found == pytest.approx(bound, rel=1e-14)


def test_the_cheapest_node_and_the_way_there_count(inst):
    # node 1 is free, the way there costs 1 per byte: tasks cost 1 each
    assert check(inst, certificate(inst, [1, 0], [1, 0])) == pytest.approx(2 * math.log(22 / 2))


def test_weights_enter(inst):
    apps = (inst.applications[0].model_copy(update={"weight": 3.0}), inst.applications[1])
    changed = inst.model_copy(update={"applications": apps})
    bound = 3 * math.log(3 * 18 / (4 * 2)) + math.log(18 / (4 * 4))
    assert check(changed, certificate(changed, [1, 1], [0, 0])) == pytest.approx(bound)


def test_a_further_level_of_max_min(inst):
    changed = inst.model_copy(update={"alpha": "inf"})
    first = Prices.of(np.ones(2), np.zeros(2))
    found = level_bounds(changed, certificate(changed, [1, 1], [0, 0], [2.0, None], first))
    assert found == [pytest.approx(3.0), pytest.approx((18 - 2 * 2) / 4)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda i: certificate(i, [0, 0], [0, 0]), "application 0: its tasks are free"),
        (lambda i: certificate(i, [1, 0], [0, 0]), "application 0: its tasks are free"),
        (lambda i: certificate(i, [1, 1], [0, 0], [None, None]), "level 0: has  floors, expected"),
        (
            lambda i: certificate(i, [1, 1], [0, 0]).model_copy(update={"instance_sha256": "x"}),
            "belongs to instance x",
        ),
        (
            lambda i: certificate(i, [1, 1], [0, 0], [1, None], Prices.of(np.ones(2), np.ones(2))),
            "2 levels, expected at most 1",
        ),
    ],
)
def test_what_proves_nothing_is_refused(inst, make, message):
    with pytest.raises(ValueError, match=message):
        check(inst, make(inst))


@pytest.mark.parametrize("entries", [((2, 5),), ((1, 5), (0, 5)), ((0, 1), (0, 1))])
def test_misplaced_prices_are_refused(inst, entries):
    prices = Prices(nodes=entries, arcs=())
    with pytest.raises(ValueError, match=r"does not exist|expected rising numbers"):
        check(inst, BotCertificate(instance_sha256=inst.digest(), levels=(prices,)))


@given(
    st.lists(st.floats(0, 1e3), min_size=2, max_size=2),
    st.lists(st.floats(0, 1e3), min_size=2, max_size=2),
    st.sampled_from([0.0, 0.3, 0.999, 1.0, 1.7, 5.0, "inf"]),
)
def test_no_prices_bound_below_what_is_feasible(nodes, arcs, alpha):
    apps = (
        Application(master=0, flop=2.0, bytes=1.0, weight=2.0),
        Application(master=1, flop=4.0, bytes=1.0, return_bytes=0.5),
    )
    made = BotInstance(
        speed=(12.0, 6.0),
        links=(Link(a=0, b=1, forward=10.0, backward=3.0),),
        applications=apps,
        alpha=alpha,
    )
    try:
        bound = check(made, certificate(made, nodes, arcs))
    except ValueError:
        return  # free tasks
    value = utility(alpha, made.weights, equal_shares(made).sum(axis=1))
    assert bound >= value - 1e-9 * abs(value)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_reference_prices(path):
    for alpha, key in ((1.0, None), (0.5, "0.5"), (2.0, "2.0")):
        inst, reference = load(path, alpha)
        known = reference["log"] if key is None else reference["alpha"][key]
        arcs = np.zeros(2 * len(inst.links))
        for u, v, price in known["mu"]:
            arcs[[inst.arc_name(a) for a in range(len(arcs))].index(f"link {u} -> {v}")] = price
        found = check(inst, certificate(inst, known["lambda"], arcs))
        assert found == pytest.approx(known["bound"], rel=1e-12)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_enclosures_hold(x):
    low, high = (ln(x, up=up) for up in (False, True))
    assert low < high or x == 1
    assert high - low <= Fraction(1, 10**30) * (1 + abs(high))
    assert exp_below(low) <= x <= exp_above(high)
    root = log_sum([low], Fraction(1, 3), up=False), log_sum([high], Fraction(1, 3), up=True)
    assert root[0] <= low <= high <= root[1]  # one term: the power is undone
    twice = [log_sum([end] * 2, Fraction(1, 2), up=up) for end, up in ((low, False), (high, True))]
    assert exp_below(twice[0]) ** 2 <= 2 * x**2 <= exp_above(twice[1]) ** 2


@pytest.mark.parametrize("x", [Fraction(1, 2**1074), Fraction(2) ** 1024, Fraction(10) ** 300])
def test_enclosures_hold_at_the_ends_of_floats(x):
    low, high = (ln(x, up=up) for up in (False, True))
    assert exp_below(low) <= x <= exp_above(high)
    assert exp_above(high) - exp_below(low) < x / 10**30


def test_beyond_all_floats_the_safe_end_is_returned():
    far = Fraction(10**12)
    assert exp_below(-far) == 0 < exp_above(-far) < Fraction(1, 10**400)
    assert exp_below(far) > 10**400
    with pytest.raises(ValueError, match="beyond the largest float"):
        exp_above(far)


@pytest.mark.parametrize("alpha", [1e-300, 1e-7, 0.999999, 1.000001, 100.0])
def test_one_application_has_a_bound_in_closed_form_at_every_alpha(alpha):
    # one node of speed 3: M is 3, whatever alpha is, and so is the bound of any price
    inst = BotInstance(
        speed=(3.0,), alpha=alpha, applications=(Application(master=0, flop=1.0, bytes=0.0),)
    )
    bound = log_mean(inst, Fraction(3), [Fraction(1)])
    assert 0 <= bound - ln(Fraction(3), up=False) < Fraction(1, 10**25)
    exact = (3.0 ** (1 - alpha)) / (1 - alpha)
    assert utility_of(inst, bound) == pytest.approx(exact, rel=1e-9)


def test_bounds_are_rounded_upwards_on_either_side_of_1(inst):
    # by exact squares: M = (sqrt A)^2 pay / 4 and 2 pay / (sqrt 2 + sqrt 3)^2
    half = inst.model_copy(update={"alpha": 0.5})
    bound = log_mean(half, Fraction(7), [Fraction(2), Fraction(3)])
    mean = Fraction(5, 6) * 7 / 4
    assert 0 <= exp_above(bound) - mean < Fraction(1, 10**20)
    twice = inst.model_copy(update={"alpha": 2.0})
    bound = exp_above(log_mean(twice, Fraction(7), [Fraction(2), Fraction(3)]))
    cross = (14 / bound - 5) / 2  # at most sqrt 6, so that the bound is not too low
    assert 0 <= 6 - cross**2 < Fraction(1, 10**20)
