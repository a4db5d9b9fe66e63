import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from optsched.numbers.resources import (
    EPS,
    MachineClass,
    Units,
    ceil_multiples,
    ceil_tol,
    equal_machines,
    exact,
    expand,
    floor_tol,
    slack,
    usable,
)

FRACTIONS = st.fractions(-(10**6), 10**6, max_denominator=10**4)
AMOUNTS = st.decimals(0, 10**4, places=3).map(float)


@given(FRACTIONS)
def test_rounding_forgives_the_tolerance_and_no_more(x):
    # multiples of 1/10000 are further from an integer than the tolerance, or are one
    assert ceil_tol(x) == math.ceil(x - EPS * max(1, abs(x)))
    assert floor_tol(x) == -ceil_tol(-x)
    assert abs(ceil_tol(x) - x) < 1 + slack(x)


@given(st.fractions(0, 50, max_denominator=40), st.integers(-3, 3))
def test_multiples_are_rounded_like_single_numbers(x, off):
    x = max(x + off * EPS / 2, Fraction(0))
    assert ceil_multiples(x, 30) == [ceil_tol(k * x) for k in range(31)]
    assert ceil_multiples(x, 3, x / 7) == [ceil_tol(k * x + x / 7) for k in range(4)]


@given(st.integers(-(10**6), 10**6))
def test_rounding_next_to_an_integer(n):
    off = EPS * max(1, abs(n)) * Fraction(9, 10)
    far = EPS * max(1, abs(n)) * Fraction(11, 10)
    assert ceil_tol(n + off) == floor_tol(n - off) == n
    assert ceil_tol(n + far) == n + 1
    assert floor_tol(n - far) == n - 1


@pytest.mark.parametrize(
    "x", [0.0, -0.0, 7.0, -3.0, 2.0**53 - 1, 2.0**53, 2.0**60, 1e16, 1e23, 0.1, 1e-300, 5, 2**70]
)
def test_numbers_are_what_is_written(x):
    assert exact(x) == Fraction(str(x))


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_no_fraction(x):
    with pytest.raises(ValueError, match="Invalid literal"):
        exact(x)


@pytest.mark.parametrize("x", [4e-10, 1.5e-9, 1e-12, 5e-324, 1.000002e-6])
def test_an_amount_that_nine_decimals_change_much_is_refused(x):
    with pytest.raises(ValidationError, match=r"would be rounded to .*: choose a smaller unit"):
        MachineClass(capacity=(x,))


@pytest.mark.parametrize(
    ("x", "read"), [(0.1 + 0.2, 0.3), (1e-9, 1e-9), (1 / 3, 0.333333333), (0.0, 0.0)]
)
def test_an_amount_has_nine_decimals(x, read):
    assert MachineClass(capacity=(x,)).capacity == (read,)


def test_decimals_are_read_as_written():
    assert exact(0.1) * 3 == exact(0.3)
    assert ceil_tol(exact(3) * exact(0.1) / exact(0.3)) == 1
    assert floor_tol(exact(3) / exact(0.1)) == 30
    assert usable(2) == 2 + 2 * EPS
    assert usable(0.5) == Fraction(1, 2) + EPS


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=4), AMOUNTS, AMOUNTS, st.data())
def test_a_load_fits_in_units_if_and_only_if_it_fits(demands, gpu, memory, data):
    units = Units(demands, 2)
    numbers = data.draw(st.lists(st.integers(0, 9), min_size=len(demands), max_size=len(demands)))
    load = np.array(numbers) @ units.demands(demands)
    capacity = units.capacities([(gpu, memory)])[0]
    for r, c in enumerate((gpu, memory)):
        used = sum(n * exact(d[r]) for n, d in zip(numbers, demands, strict=True))
        assert (load[r] <= capacity[r]) == (used <= usable(c))


def test_units_are_the_finest_decimal_of_each_resource():
    units = Units([(1, 0.25), (2, 0.5)], 2)
    assert units.scale == [1, 100]
    assert units.demands([(1, 0.25)]).tolist() == [[1, 25]]
    assert units.capacities([(2.7, 0.999)]).tolist() == [[2, 99]]
    assert units.demands([]).shape == (0, 2)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_equal_machines_are_a_partition_into_equal_rows(rows):
    groups = equal_machines(rows)
    assert sorted(h for g in groups for h in g) == list(range(len(rows)))
    assert all(rows[h] == rows[g[0]] for g in groups for h in g)
    assert len({rows[g[0]] for g in groups}) == len(groups)
    assert [g[0] for g in groups] == sorted(g[0] for g in groups)


def test_classes_expand_in_their_order():
    classes = [MachineClass(count=2, capacity=(1,)), MachineClass(capacity=(3,))]
    assert expand(classes) == ((1,), (1,), (3,))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"capacity": [-1]}, "greater than or equal to 0"),
        ({"capacity": [math.inf]}, "finite number"),
        ({"capacity": [1e9]}, "less than 1000000000"),
        ({"capacity": ["much"]}, "valid number"),
        ({"capacity": [1], "count": 0}, "greater than or equal to 1"),
    ],
)
def test_what_is_no_machine_is_rejected(data, message):
    with pytest.raises(ValidationError, match=message):
        MachineClass.model_validate(data)
