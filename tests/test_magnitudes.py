"""Whole numbers of kernels: what fits, and what is refused, at each limit and one above it."""

import numpy as np
import pytest

from optsched.numbers.overflow import INT64, Magnitude, TooLargeError, int64s, shown


def test_a_sum_fits_up_to_the_limit_and_not_one_above():
    most = Magnitude("a", INT64 - 5)
    assert (most + Magnitude("b", 5)).fits() == np.iinfo(np.int64).max == INT64
    with pytest.raises(TooLargeError, match=r"^a \+ b can reach 9223372036854775808, expected at"):
        (most + Magnitude("b", 6)).fits()


def test_a_product_fits_up_to_the_limit_and_not_one_above():
    third, rest = Magnitude("weight", INT64 // 7), Magnitude("slots", 7)
    assert INT64 % 7 == 0
    assert (third * rest).fits() == INT64
    assert not (third * Magnitude("slots", 8)).inside()
    with pytest.raises(TooLargeError, match="weight \\* slots can reach"):
        (Magnitude("weight", INT64 // 7 + 1) * rest).fits()


def test_a_product_of_sums_is_the_product_of_all():
    both = (Magnitude("a", 2) + Magnitude("b", 3)) * Magnitude("c", 7)
    assert both == Magnitude("(a + b) * c", 35)


def test_a_total_fits_up_to_the_limit_and_not_one_above():
    part = Magnitude("price", INT64 // 49)
    assert INT64 % 49 == 0
    assert part.total(49).fits() == INT64
    with pytest.raises(TooLargeError, match="a sum of price"):
        part.total(50).fits()
    assert part.total(0).most == 0


def test_nothing_wraps_however_large():
    huge = Magnitude("a", 2**400) * Magnitude("b", 2**4000)
    assert huge.most == 2**4400
    with pytest.raises(TooLargeError, match=r"^huge can reach about 2\*\*4400, expected at most"):
        huge.named("huge").fits()


def test_other_limits():
    assert Magnitude("a", 2**53).fits(2**53) == 2**53
    with pytest.raises(TooLargeError, match="expected at most 9007199254740992"):
        Magnitude("a", 2**53 + 1).fits(2**53)


def test_the_largest_of_values():
    assert Magnitude.of("a", [3, -8, 5]) == Magnitude("a", 8)
    assert Magnitude.of("a", []) == Magnitude("a", 0)
    assert Magnitude.of("a", np.zeros((0, 3), np.int64)).most == 0
    least = np.array([[np.iinfo(np.int64).min, 0]])
    assert Magnitude.of("a", least).most == 2**63  # its absolute value is no int64


@pytest.mark.parametrize("most", [-1, 2.0, True, np.int64(3)])
def test_a_magnitude_is_an_int(most):
    with pytest.raises(TypeError, match="expected an int >= 0"):
        Magnitude("a", most)


def test_arrays_of_python_integers():
    assert int64s("price", [1, -(2**63 - 1)]).tolist() == [1, -INT64]
    assert int64s("price", []).dtype == np.int64
    with pytest.raises(TooLargeError, match=r"^price can reach 9223372036854775808"):
        int64s("price", [1, 2**63])
    with pytest.raises(TooLargeError, match="expected at most 1000"):
        int64s("price", [1001], 1000)


def test_a_refusal_is_one_short_line():
    with pytest.raises(TooLargeError, match=r"^a can reach about") as refused:
        Magnitude("a", 10 ** (10**5)).fits()
    assert len(str(refused.value)) < 100
    assert "\n" not in str(refused.value)
    assert shown(-5) == "-5"
