"""The distance between schedules and bounds: free of units, and for max-min of all levels."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from independent.bot import FILES, best, load, one_node, scaled, two_nodes, wild
from sweeps import sweep

import optsched
from optsched.families.bot.certificate.check import BotCertificate, Prices, check, level_bounds
from optsched.families.bot.fairness import log_mean_rate, measure
from optsched.families.bot.gaps import distance
from optsched.families.bot.instance import Application, BotSchedule, Link
from optsched.families.bot.optimum.initial_bounds import modest, opening
from optsched.families.bot.sources.presets import generate
from optsched.families.bot.verify import totals, verify
from optsched.results.result import recheck, save_result


@pytest.fixture
def apart():
    """Two nodes, each the only one that its application may use."""
    own = (Application(master=n, flop=1.0, bytes=1.0, allowed=(n,)) for n in (0, 1))
    return two_nodes((1.0, 100.0), 1e-3, *own, alpha="inf")


def proof(inst, *levels):
    return BotCertificate(
        instance_sha256=inst.digest(),
        levels=tuple(Prices.of(np.array(n, float), np.array(a, float), f) for n, a, f in levels),
    )


def test_max_min_is_not_the_smallest_rate_alone(apart, tmp_path):
    good = optsched.solve(apart)
    assert (good.status, good.gap) == ("optimal", pytest.approx(0, abs=1e-8))
    bad = BotSchedule(rates=((0, 0, 1.0), (1, 1, 1.0)))
    assert verify(apart, bad).value == good.value == 1
    assert distance(apart, bad, 1.0, good.certificate, 1.0) == pytest.approx(99)
    save_result(tmp_path / "bad.json", apart, good.model_copy(update={"schedule": bad}))
    (found,) = recheck(tmp_path / "bad.json")
    assert not found.accepted
    assert "the gap is 99" in str(found)


def test_floors_that_nobody_can_have_prove_nothing(apart):
    # with a floor of 50 for application 0 the second level states that 51 are left of 101
    bad = BotSchedule(rates=((0, 0, 1.0), (1, 1, 51.0)))
    forged = proof(apart, ([1, 0], [0, 0], None), ([1, 1], [0, 0], [50.0, None]))
    assert level_bounds(apart, forged) == [1, 51]
    assert distance(apart, bad, 1.0, forged, 1.0) == pytest.approx(100 / 51 - 1)


def test_levels_must_settle_somebody_new(apart):
    for levels in (
        (([1, 0], [0, 0], None), ([1, 1], [0, 0], [None, None])),
        (([1, 0], [0, 0], None), ([1, 1], [0, 0], [1.0, 1.0])),
    ):
        with pytest.raises(ValueError, match=r"settles no new|all others are free"):
            check(apart, proof(apart, *levels))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_loss_on_any_level_is_seen(path):
    inst, _ = load(path, "inf")
    found = optsched.solve(inst)
    assert found.status == "optimal"
    rates = totals(inst, found.schedule)
    for k in range(len(rates)):
        worse = BotSchedule(
            rates=tuple((n, j, r * (0.998 if j == k else 1)) for n, j, r in found.schedule.rates)
        )
        value = verify(inst, worse).value
        gap = distance(inst, worse, value, found.certificate, found.bound)
        assert gap > 0.0019  # more where others could have more for it


def test_one_level_of_two_is_not_closed():
    # node 0 is shared, node 1 is for application 1 alone: 2 and 5 at best
    bound = Application(master=0, flop=2.0, bytes=0.0, allowed=(0,))
    inst = two_nodes((4.0, 3.0), 9.0, bound, (1.0, 0.0), alpha="inf")
    known = BotSchedule(rates=((0, 0, 7 / 6), (0, 1, 5 / 3), (1, 1, 3.0)))
    # application 0 can have 2 at most, whatever the prices state
    first = proof(inst, ([1, 1], [0, 0], None))
    assert check(inst, first) == pytest.approx(7 / 3)
    assert distance(inst, known, 7 / 6, first, 7 / 3) == pytest.approx(5 / 7, rel=1e-8)
    found = optsched.solve(inst)
    assert sorted(map(float, totals(inst, found.schedule))) == pytest.approx([2, 3])
    assert len(found.certificate.levels) == 2
    only = found.certificate.model_copy(update={"levels": found.certificate.levels[:1]})
    assert found.gap < 1e-8
    assert distance(inst, found.schedule, found.value, only, found.bound) == pytest.approx(4 / 3)


def test_a_higher_smallest_rate_by_rounding_does_not_win(apart):
    # the start has the best smallest rate, up to 1e-12; nothing is left for the other level
    start = BotSchedule(rates=((0, 0, 1 + 1e-12), (1, 1, 1 + 1e-12)))
    found = optsched.solve(apart, start=[start])
    assert found.status == "optimal"
    assert sorted(map(float, totals(apart, found.schedule))) == pytest.approx([1, 100])


@pytest.mark.parametrize("alpha", [0.0, 1e-7, 0.5, 1.0, 2.0, 20.0])
def test_the_distance_is_that_of_mean_rates(alpha):
    inst = one_node(alpha, 6.0, (1.0, 2.0))
    log_mean, rates = best(inst)
    optimum = optsched.solve(inst)
    assert optimum.status == "optimal"
    share = 0.7
    schedule = BotSchedule(rates=tuple((0, k, r * share) for k, r in enumerate(rates)))
    value = verify(inst, schedule).value
    gap = distance(inst, schedule, value, optimum.certificate, optimum.bound)
    assert gap == pytest.approx(1 / share - 1, rel=1e-6)
    # two numbers alone agree, up to their own rounding
    assert distance(inst, None, value, None, optimum.bound) == pytest.approx(gap, rel=1e-6)
    assert measure(inst, value, optimum.value) == pytest.approx(1 / share, rel=1e-6)
    assert log_mean_rate(alpha, inst.weights, optimum.value) == pytest.approx(log_mean, abs=1e-6)


def test_nothing_for_somebody_is_infinitely_far():
    inst = one_node(1.0, 6.0, (1.0, 2.0))
    bound, certificate = opening(inst)
    nothing = BotSchedule(rates=())
    assert verify(inst, nothing).value == -math.inf
    assert distance(inst, nothing, -math.inf, certificate(), bound) == math.inf
    assert distance(inst, None, -math.inf, None, bound) == math.inf


FACTORS = [1e-12, 1e-5, 1e12]
TOGETHER = [("speed", "bandwidth"), ("flop", "bytes"), ("speed", "flop"), ("bytes", "bandwidth"),
            ("weight",)]  # fmt: skip


@pytest.mark.parametrize("method", ["auto", "conic"])
@pytest.mark.parametrize("alpha", sweep([0.5, 1.0, "inf", 0.0, 2.0, 5.0], 3))
def test_units_change_neither_status_nor_gap(method, alpha):
    if alpha == "inf" and method == "conic":
        method = "simplex"
    inst = generate("small", seed=2, alpha=alpha)
    before = optsched.solve(inst, method=method)
    for names in TOGETHER:
        for factor in FACTORS:
            changed = scaled(inst, **dict.fromkeys(names, factor))
            after = optsched.solve(changed, method=method)
            assert after.status == before.status, (names, factor)
            assert after.gap == pytest.approx(before.gap, abs=1e-7), (names, factor)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0, 5.0, "inf"])
def test_auto_closes_what_is_ill_conditioned(alpha):
    for seed in range(12):
        assert optsched.solve(wild(seed, alpha)).status == "optimal", seed


def test_a_link_of_one_byte_and_total_throughput():
    rng = np.random.default_rng(5)
    inst = generate("heterogeneous", seed=5, nodes=8)
    links = list(inst.links)
    links[2] = links[2].model_copy(update={"forward": 1.0, "backward": 1.0})
    for alpha in (0.0, 1.0, "inf"):
        narrow = inst.model_copy(update={"links": tuple(links), "alpha": alpha})
        assert optsched.solve(narrow).status == "optimal"
    two = inst.model_copy(
        update={
            "speed": tuple(rng.uniform(1e6, 1e7, 2).tolist()),
            "links": (Link(a=0, b=1, forward=7e6, backward=1.0),),
            "applications": tuple(
                app.model_copy(update={"master": k % 2}) for k, app in enumerate(inst.applications)
            ),
            "alpha": 0.0,
        }
    )
    assert optsched.solve(two).status == "optimal"


@pytest.mark.parametrize(("method", "alpha"), [("interior", 1), ("conic", 1), ("simplex", 0)])
def test_no_time_at_all_leaves_a_bound_and_a_schedule(method, alpha):
    inst = generate("heterogeneous", seed=4, nodes=30, alpha=alpha)
    found = optsched.solve(inst, method=method, time_limit=0)
    assert found.bound_level == found.value_level == "certified"
    assert found.value <= found.bound
    assert found.value >= verify(inst, modest(inst)).value


def test_the_other_methods_agree_with_the_conic_one():
    for alpha in (0.5, 1.0, 2.0):
        inst = generate("heterogeneous", seed=6, nodes=15, alpha=alpha)
        one, other = (optsched.solve(inst, method=m) for m in ("conic", "interior"))
        assert one.status == other.status == "optimal"
        assert distance(inst, None, one.value, None, other.bound) <= 1e-6


def test_verify_takes_what_ratio_writes(call, tmp_path):
    # `naive` gives somebody nothing: its value is -inf
    path, result = tmp_path / "x.json", tmp_path / "result.json"
    assert call("generate", "bot", "--preset", "small", "--seed", 1, "-o", path)[0] == 0
    assert call("ratio", path, "-o", result)[0] == 0
    values = [run["value"] for run in json.loads(result.read_text())["runs"]]
    assert "-inf" in values
    status, said, _ = call("verify", result)
    assert status == 0
    assert "value -inf" in said


def test_the_distance_of_max_min_holds_for_every_better_schedule():
    # whoever has at least the rates of x below position i has at most T_i = x_i (1 + gap) there
    seen = 0
    for seed in range(40):
        inst = wild(seed, "inf")
        found = optsched.solve(inst)
        assert found.status == "optimal", seed
        best = sorted(totals(inst, found.schedule))
        rng = np.random.default_rng([seed, 5])
        for _ in range(5):
            shares = tuple(
                (n, k, r * float(f))
                for (n, k, r), f in zip(
                    found.schedule.rates,
                    1 - 10.0 ** rng.uniform(-9, -0.1, len(found.schedule.rates)),
                    strict=True,
                )
            )
            schedule = BotSchedule(rates=shares)
            x = sorted(totals(inst, schedule))
            for levels in range(len(found.certificate.levels) + 1):
                known = found.certificate.model_copy(
                    update={"levels": found.certificate.levels[:levels]}
                )
                gap = distance(
                    inst, schedule, float(x[0]), known if levels else None, found.bound * (1 + 1e-9)
                )
                for i, rate in enumerate(x):
                    if all(best[j] >= x[j] for j in range(i)):
                        seen += 1
                        assert best[i] <= rate * (1 + Fraction(gap) + Fraction(1, 10**8)), seed
    assert seen > 100


def test_alpha_near_0_and_a_heavy_weight_heed_the_time():
    inst = generate("heterogeneous", seed=1, nodes=20, alpha=1e-7)
    heavy = inst.applications[0].model_copy(update={"weight": 10.0})
    inst = inst.model_copy(update={"applications": (heavy, *inst.applications[1:])})
    found = optsched.solve(inst, time_limit=20)
    assert found.status == "optimal"  # its bound has powers with exponents of 1e7
    assert found.seconds < 20
