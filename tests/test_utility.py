import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from optsched.numbers.resources import exact
from optsched.numbers.utility import (
    Constant,
    Inverse,
    Sigmoid,
    Table,
    Utility,
    compare,
    log_of,
    richest,
)

POSITIVE = st.floats(1e-3, 1e4)
SIGMOIDS = st.builds(Sigmoid, scale=POSITIVE, decay=st.floats(0, 6), target=st.floats(-20, 300))
UTILITIES = st.one_of(
    SIGMOIDS,
    st.builds(Inverse, scale=POSITIVE),
    st.builds(Constant, value=st.floats(0, 1e4)),
    st.lists(st.floats(0, 1e4), min_size=1).map(lambda v: Table(values=sorted(v, reverse=True))),
)
DELAYS = st.integers(0, 300)


@given(SIGMOIDS, DELAYS)
def test_upper_end_of_a_sigmoid_is_above_and_close(f, delay):
    wide = Context(prec=120, Emax=10**9, Emin=-(10**9))
    z = exact(f.decay) * (delay - exact(f.target))
    quotient = wide.divide(Decimal(z.numerator), Decimal(z.denominator))
    truth = exact(f.scale) / (1 + Fraction(quotient.exp(wide)))  # good to 1e-110
    assert truth * (1 - Fraction(1, 10**100)) <= f.upper(delay) <= truth * (1 + Fraction(1, 10**44))


@given(UTILITIES, DELAYS)
def test_upper_end_is_the_value_within_rounding(f, delay):
    assert float(f.upper(delay)) == pytest.approx(f(delay), rel=1e-9, abs=1e-300)


@given(UTILITIES, DELAYS)
def test_never_increases(f, delay):
    assert f.upper(delay + 1) <= f.upper(delay)
    assert 0 <= f(delay + 1) <= f(delay) * (1 + 1e-12)


@given(UTILITIES, DELAYS)
def test_logarithm_is_that_of_the_value(f, delay):
    value = f(delay)
    if value > 1e-300:
        assert f.log(delay) == pytest.approx(math.log(value), abs=1e-9)
    elif value == 0 and not isinstance(f, Sigmoid):
        assert f.log(delay) == -math.inf


def test_logarithm_does_not_underflow():
    critical = Sigmoid(scale=100, decay=6, target=1)
    assert critical(1000) == 0
    assert critical.log(1000) == pytest.approx(math.log(100) - 6 * 999)
    assert critical.upper(1000) > 0


def test_values_by_hand():
    assert Sigmoid(scale=10, decay=2, target=3)(3) == pytest.approx(5)
    assert Sigmoid(scale=10, decay=0, target=3)(99) == pytest.approx(5)
    assert Inverse(scale=6)(2) == 2
    assert Inverse(scale=0.3).upper(2) == Fraction(1, 10)
    assert Constant(value=0.1).upper(7) == Fraction(1, 10)
    table = Table(values=(3, 2, 2))
    assert [table(d) for d in range(5)] == [3, 2, 2, 0, 0]
    assert table.upper(3) == 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"kind": "table", "values": [3, 1, 2]},
            "utility increases from 1.0 at delay 1 to 2.0 at delay 2, expected it never to",
        ),
        ({"kind": "table", "values": []}, "at least 1 item"),
        ({"kind": "table", "values": [-1]}, "greater than or equal to 0"),
        ({"kind": "constant", "value": -1}, "greater than or equal to 0"),
        ({"kind": "inverse", "scale": 0}, "greater than 0"),
        ({"kind": "sigmoid", "scale": 1, "decay": -1, "target": 0}, "greater than or equal to 0"),
        ({"kind": "sigmoid", "scale": 1, "decay": math.nan, "target": 0}, "finite number"),
        ({"kind": "sigmoid", "scale": 1, "decay": 1}, "Field required"),
        ({"kind": "cubic"}, "'sigmoid', 'inverse', 'constant', 'table'"),
        ({"kind": "constant", "value": 1, "slope": 2}, "Extra inputs are not permitted"),
    ],
)
def test_what_is_no_utility_is_rejected(data, message):
    with pytest.raises(ValidationError, match=message):
        TypeAdapter(Utility).validate_python(data)


@given(UTILITIES)
def test_round_trip(f):
    assert TypeAdapter(Utility).validate_json(f.model_dump_json()) == f


@pytest.mark.parametrize(
    ("scale", "decay", "target"),
    [(50.0, 0.0, 3.0), (1e300, 6.0, 2.5), (1e-300, 0.013, 400.0), (7.1, 900.0, 5.0), (3.0, 5, -9)],
)
def test_many_delays_at_once(scale, decay, target):
    utility = Sigmoid(scale=scale, decay=decay, target=target)
    try:
        expected = [utility(delay) for delay in range(600)]
    except OverflowError:
        expected = None
    assert expected is None or utility.of_first(600) == expected


@given(UTILITIES, st.integers(0, 30))
def test_as_many_delays_as_are_asked_for(utility, slots):
    assert utility.of_first(slots) == [utility(delay) for delay in range(slots)]


STEEP = st.builds(
    Sigmoid,
    scale=st.floats(1e-300, 1e300),
    decay=st.floats(0, 1e15),
    target=st.one_of(st.floats(-20, 300), st.floats(1 - 1e-12, 1 + 1e-12), st.floats(-1e9, 1e9)),
)


@given(st.one_of(UTILITIES, STEEP), DELAYS, st.one_of(UTILITIES, STEEP), DELAYS)
def test_what_logarithms_say_of_utilities_is_so(f, delay, other, at):
    """Also where a difference of two large numbers is all that a logarithm is made of."""
    least = other.upper(at)
    if least == 0:
        return
    said = compare(f, delay, log_of(least))
    assert said <= 0 or f.upper(delay) > least
    assert said >= 0 or f.upper(delay) < least
    assert compare(f, delay, log_of(least * 2**40)) != 1 or f.upper(delay) > least * 2**40


@given(st.lists(st.one_of(UTILITIES, STEEP), max_size=6))
def test_the_richest_is_the_greatest_of_all(utilities):
    earned = [(f, k % 3) for k, f in enumerate(utilities)]
    assert richest(earned) == max((f.upper(d) for f, d in earned), default=0)


def test_logarithms_of_ordinary_utilities_are_enough():
    f = Sigmoid(scale=50.0, decay=0.3, target=20.0)
    for delay in range(200):
        assert compare(f, delay, f.log(delay) + 1e-6) == -1
        assert compare(f, delay, f.log(delay) - 1e-6) == 1
        assert compare(f, delay, f.log(delay)) == 0
