"""Posted prices: L on an empty machine, U on a full one, exponential between."""

import math

import numpy as np
import pytest

from optsched.scheduling.online.ledger import Ledger
from optsched.scheduling.online.posted_prices import PostedPrices, ln_or_none


def test_prices_rise_from_l_to_u():
    # U = 8, L = 1/32: every quarter of the machine multiplies the price by 4
    ledger = Ledger([(4,), (8,)], horizon=2)
    prices = PostedPrices(ledger, [math.log(8)], math.log(1 / 32))
    assert prices.price == pytest.approx(np.full((2, 1, 2), 1 / 32))
    for used, price in ((1, 1 / 8), (2, 1 / 2), (3, 2), (4, 8)):
        ledger.take(1, 0, ledger.units((1,)))
        assert prices.price[1, 0, 0] < price  # nothing changes before the refresh
        prices.refresh([1])
        assert prices.price[1, 0, 0] == pytest.approx(price), used
    assert prices.price[0] == pytest.approx(1 / 32)
    assert prices.price[1, 0, 1] == pytest.approx(1 / 32)


def test_prices_follow_the_units_of_the_ledger():
    ledger = Ledger([(4, 4)], horizon=1)
    prices = PostedPrices(ledger, [math.log(8)] * 2, math.log(1 / 2))
    assert prices.per_unit() == pytest.approx(np.full((1, 2, 1), 0.5))
    ledger.take(0, 0, 2 * ledger.units((1, 0.25)))
    prices.refresh([0])
    natural = [[0.5 * 16 ** (2 / 4)], [0.5 * 16 ** (0.5 / 4)]]
    assert prices.price[0] == pytest.approx(np.array(natural))
    assert prices.per_unit()[0] == pytest.approx(np.array(natural) / [[1], [100]])


def test_what_nobody_demands_is_free_and_what_is_not_there_is_dear():
    ledger = Ledger([(4, 4, 0)], horizon=1)
    prices = PostedPrices(ledger, [math.log(8), None, math.log(2)], math.log(1 / 2))
    assert prices.price[0, :, 0] == pytest.approx([0.5, 0, 2])
    unused = PostedPrices(ledger, [None] * 3, None)
    unused.refresh([0])
    assert unused.price.tolist() == np.zeros((1, 3, 1)).tolist()


def test_a_price_too_small_for_a_float_is_no_error():
    ledger = Ledger([(1,)], horizon=1)
    prices = PostedPrices(ledger, [0.0], -2000.0)
    assert prices.price[0, 0, 0] == 0
    ledger.take(0, 0, ledger.units((0.5,)))
    prices.refresh([0])
    assert prices.price[0, 0, 0] == 0  # exp(-1000)
    ledger.take(0, 0, ledger.units((0.5,)))
    prices.refresh([0])
    assert prices.price[0, 0, 0] == 1


def test_minus_infinity_becomes_none():
    assert [ln_or_none(-math.inf), ln_or_none(0.5)] == [None, 0.5]
