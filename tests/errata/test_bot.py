"""What Bertin et al. 2013 print, evaluated where it fails: BOT-n of docs/errata.md."""

import math

import numpy as np
import pytest
from independent.bot import two_nodes

from optsched.families.bot.instance import Application, BotSchedule
from optsched.families.bot.policies.convergence import convergence
from optsched.families.bot.sources.presets import generate
from optsched.families.bot.verify import verify


def test_bot_1_sorting_a_million_numbers_takes_megaflop():
    flop = 1e6 * math.log(1e6)
    assert flop == pytest.approx(13.81e6, rel=1e-3)  # Sec. 6.2, not the 13.81 GFLOP of Sec. 6.5
    for units, factor in (("sec6.2", 1), ("sec6.5", 1000)):  # as slower nodes: all it can mean
        inst = generate("homogeneous", seed=1, nodes=5, units=units)
        assert inst.applications[0].flop == pytest.approx(13.81e6)
        assert 2e9 <= max(inst.speed) * factor <= 10e9


def test_bot_2_a_link_carries_what_flows_in_its_direction():
    b, rates = (3.0, 5.0), {(0, 1): 1.0, (1, 0): 2.0}  # (application, node): tasks per second
    master = (0, 1)
    load = sum(b[k] * x for (k, n), x in rates.items() if (master[k], n) == (0, 1))
    assert load == 3  # (10c) for the arc from 0 to 1

    def sigma(k, node):  # (13): nodes whose path from the master passes ``node``
        return sum(x for (kk, n), x in rates.items() if kk == k and node in (master[k], n))

    assert sum(b[k] * sigma(k, 1) for k in (0, 1)) == 13  # (18)
    assert b[0] * sigma(0, 1) + b[1] * sigma(1, 0) == 13  # (18) with its note
    both = (Application(master=m, flop=1, bytes=x) for m, x in zip(master, b, strict=True))
    inst = two_nodes((10, 10), 3, *both, back=10)
    plan = BotSchedule(rates=tuple((n, k, x) for (k, n), x in rates.items()))
    assert verify(inst, plan).feasible  # 3 byte/s are enough from 0 to 1


def test_bot_3_the_proximal_term_is_missing():
    c, weight, price, smoothed = 1.0, 2.0, 0.3, 0.9  # one node, one application

    def lagrangian(rho):  # of (7), (10)
        return math.log(rho) - c / 2 * (rho - smoothed) ** 2 - weight * price * rho

    rho, h = 0.5, 1e-6
    slope = (lagrangian(rho + h) - lagrangian(rho - h)) / (2 * h)
    printed = 1 / rho - weight * price  # (12)
    assert abs(printed - slope) > 0.3
    assert printed - c * (rho - smoothed) == pytest.approx(slope, rel=1e-6)


def test_bot_4_the_waves_carry_new_rates_and_the_equations_old_ones():
    speed, work, g_rho, g_lam, rho, price = 1.0, 1.0, 0.05, 0.7, 2.0, 0.1
    new = rho + g_rho * (1 - rho * work * price) * rho  # (20)
    by_21, by_waves = (price + g_lam * (work * x - speed) / (work * rho) ** 2 for x in (rho, new))
    assert by_21 == pytest.approx(0.275)
    assert by_waves == pytest.approx(0.289)  # Sec. 5.2: leaves send their new values


def test_bot_5_a_rate_never_gets_zero():
    rho, halvings = 1e-2, 0
    while rho > 0:
        rho, halvings = max(rho / 2, rho - 1), halvings + 1  # the projection of Sec. 7.4
        if halvings == 1000:
            assert rho > 0  # so the pair still counts in (21) and (22)
    assert 1060 < halvings < 1080  # and then only since a double ends there


def test_bot_6_nothing_grows_from_zero():
    rho = smoothed = price = 0.0  # "initialized with random non-negative values"
    for _ in range(100):
        total = rho
        step = 0.05 * (1 - total * price) * total
        rho, smoothed = (
            max(rho / 2, 0.95 * rho + 0.05 * smoothed + step),
            max(smoothed / 2, 0.95 * smoothed + 0.05 * rho),
        )
    assert rho == 0  # worth -inf
    rho, total = 1e-2, 1e-2  # any positive number moves
    assert max(rho / 2, rho + 0.05 * (1 - total * price) * total) > rho


def test_bot_7_the_update_of_section_7_4_is_the_one_that_is_announced():
    loads, speed, present = [], 5.0, []
    with pytest.raises(ZeroDivisionError):
        (sum(loads) - speed) / sum(present)  # (21), and the equations at the end of Sec. 7.3
    with np.errstate(divide="ignore"):
        step = np.float64(sum(loads) - speed) / sum(present)  # the numerator is not 0
    price = 0.3
    assert step == -math.inf
    assert max(price / 2, price + step) == price / 2  # Sec. 7.4: it decreases geometrically


def test_bot_8_the_naive_algorithm_is_not_exactly_11():
    total, price = 0.5, 0.2
    by_11 = 1 / total - price  # with (12)
    by_19 = 1 - total * price  # "already implemented in the naive algorithm"
    assert by_19 == pytest.approx(total * by_11)
    assert by_19 != pytest.approx(by_11)


def test_bot_9_a_node_without_a_path_computes_for_free():
    inst = two_nodes((10, 10), 1, Application(master=0, flop=1, bytes=1, allowed=(0,)), back=10)
    rate = 5.0  # of node 1, which the application cannot access
    path = ()  # "then (P_m(k) ~> P_n) is empty"
    assert rate * 1 <= inst.speed[1]  # (10b)
    assert all(rate * 1 <= inst.links[0].forward for arc in path if arc == (0, 1))  # (10c)
    verdict = verify(inst, BotSchedule(rates=((1, 0, rate),)))
    assert "(10d)" in str(verdict)


def test_bot_10_the_variation_of_a_logarithm_depends_on_the_unit():
    random = np.random.default_rng(0)
    per_second = random.normal(-12.0, 0.1, 200)  # objectives of three applications
    per_hour = per_second + 3 * math.log(3600)
    variation = [convergence(x, float(x[-1])).variation for x in (per_second, per_hour)]
    assert variation[0] < 0 < variation[1]
    per_minute = per_second + 3 * math.log(60)
    assert convergence(per_minute, 0.0).variation > 5 * variation[1]
