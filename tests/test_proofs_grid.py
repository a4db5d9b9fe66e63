"""Prices on a grid, sparse lists, directed rounding: exact, whatever the magnitude."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.numbers.overflow import INT64, TooLargeError
from optsched.proofs.grid import (
    LARGEST_PRICE,
    capacity_cost,
    ceil_log2,
    charged,
    dense,
    float_above,
    float_below,
    lowered,
    sparse,
    to_grid,
)

NUMBERS = st.fractions(min_value=0, max_value=10**30, max_denominator=10**12)
PRICES = st.integers(0, LARGEST_PRICE - 1) | st.integers(0, 9)
NAMES = {"slot": 2, "class": 3}
MOST = 6


@given(NUMBERS)
def test_floats_on_either_side(x):
    low, high = float_below(x), float_above(x)
    assert Fraction(low) <= x <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))


def test_no_float_above_the_largest():
    assert float_above(Fraction(2**1023)) == 2.0**1023
    largest = Fraction(sys.float_info.max)
    for more in (0, Fraction(1, 3), 2**969, 2**970, 2**1025):  # from 2**970 on, the nearest is inf
        assert float_above(-largest - more) == -sys.float_info.max
        assert float_below(largest + more) == sys.float_info.max
        for rounded, x in ((float_above, largest + more), (float_below, -largest - more)):
            if more:
                with pytest.raises(ValueError, match="beyond the largest float"):
                    rounded(x)
            else:
                assert rounded(x) == float(x)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_least_power_of_two(x):
    e = ceil_log2(x)
    assert Fraction(2) ** (e - 1) < x <= Fraction(2) ** e


@given(st.lists(PRICES, min_size=6, max_size=6))
def test_sparse_lists_mean_their_array(numbers):
    array = np.array(numbers).reshape(2, 3)
    entries = sparse(array)
    assert all(price > 0 for *_, price in entries)
    back = dense("here", entries, NAMES, LARGEST_PRICE, MOST)
    assert back.dtype == np.int64
    assert (back == array).all()


def test_prices_above_62_bits_are_python_s_integers():
    entries = ((0, 1, 2**100), (1, 2, 3))
    array = dense("here", entries, NAMES, 2**190, MOST)
    assert array.dtype == object
    assert sparse(array) == entries


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([(2, 0, 1)], r"here, price \[2, 0, 1\]: slot 2 does not exist, expected 0\.\.1"),
        ([(0, -1, 1)], "class -1 does not exist"),
        ([(0, 10**30, 1)], "class 10{30} does not exist"),
        ([(0, 0, -1)], r"is -1, expected 0\.\.2\*\*62 - 1"),
        ([(0, 0, LARGEST_PRICE)], "expected 0"),
        ([(0, 1, 4), (0, 1, 4)], r"here: the price of \[0, 1\] is given twice, expected once"),
        ([(0, 1, 0), (0, 1, 4)], "given twice"),
    ],
)
def test_entries_out_of_place_are_refused(entries, message):
    with pytest.raises(ValueError, match=message):
        dense("here", entries, NAMES, LARGEST_PRICE, MOST)


def test_arrays_larger_than_memory_are_refused():
    with pytest.raises(TooLargeError, match="here: there are 6 prices by slot, class"):
        dense("here", (), NAMES, LARGEST_PRICE, MOST - 1)


@given(st.floats(-1e18, 1e18), st.integers(-1200, 1200))
def test_the_grid_is_the_nearest_number_or_an_end(price, bits):
    exact = min(max(Fraction(price) * Fraction(2) ** bits, Fraction(0)), Fraction(2**61))
    assert abs(int(to_grid(np.array([price]), bits)[0]) - exact) <= Fraction(1, 2)


@given(
    st.lists(st.integers(0, INT64), min_size=3, max_size=3),
    st.lists(st.integers(0, 2**50), min_size=3, max_size=3),
    st.sampled_from([0, 1, 20, 62, 63, 64, 200]),
    st.sampled_from([5, 2**40, INT64]),
)
def test_costs_are_exact_on_both_sides_of_64_bits(prices, demand, shift, most):
    exact = sum(p * d for p, d in zip(prices, demand, strict=True)) >> shift
    found = charged(np.array([prices]), np.array(demand), shift, most)
    assert found.tolist() == [min(exact, most)]
    single = lowered(np.array(prices), shift, most)
    assert single.tolist() == [min(p >> shift, most) for p in prices]


@given(st.lists(PRICES, min_size=4, max_size=4), st.integers(1, 10**6))
def test_the_worth_of_all_capacity_is_exact(prices, count):
    capacity = np.array([[2**49, 3]])
    found = capacity_cost(np.array(prices).reshape(2, 1, 2), capacity, np.array([count]))
    assert found == count * sum(p * (2**49, 3)[k % 2] for k, p in enumerate(prices))
