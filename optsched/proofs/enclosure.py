"""Interval arithmetic: logarithms, exponentials and roots of fractions, rounded to the safe side.

Rigorous enclosures after Moore (1966), for the bounds of `bot` and of declared problems. A fraction
becomes a decimal of 40 digits that is rounded outward; `decimal` rounds its ln and exp correctly,
with an error of less than a relative 1e-39 of the result. The returned value is a relative step of
1e-35 further out, so that it is a bound and not an approximation. The exponents of these decimals
go to 10^9, where a fraction would not fit into memory; no value comes near: `exp` returns values
within e^-1000 .. e^1000 only, beyond all floats; further out it returns the end of that range,
where that is on the safe side, or refuses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

DIGITS = 40
STEP = Fraction(1, 10**35)
FAR = 1000  # e to the power of this is no float any more


def ln(x: Fraction, *, up: bool) -> Fraction:
    """Return a bound of ln x, x > 0, on one side.

    >>> low, high = (ln(Fraction(2), up=up) for up in (False, True))
    >>> low < Fraction("0.693147180559945309417232121458176568") < high
    True
    """
    return _wider(Fraction(_decimal(x, up).ln(_context(up))), up=up)


def exp_below(x: Fraction) -> Fraction:
    """Return a lower bound of e^x: 0 far below, and no more than e^1000.

    >>> one = Fraction(1)
    >>> exp_below(one) < Fraction("2.71828182845904523536028747135266250") < exp_above(one)
    True
    """
    return Fraction(0) if x < -FAR else _exp(min(x, Fraction(FAR)), up=False)


def exp_above(x: Fraction) -> Fraction:
    """Return an upper bound of e^x, no less than e^-1000.

    Raises
    ------
    ValueError
        It is beyond e^1000.
    """
    if x > FAR:
        raise ValueError("the bound is beyond the largest float, expected other prices")
    return _exp(max(x, Fraction(-FAR)), up=True)


def root_above(x: Fraction) -> Fraction:
    """Return an upper bound of the square root of x >= 0, relative 2**-100 or less above it.

    >>> root_above(Fraction(4)), float(root_above(Fraction(1, 2)))
    (Fraction(2, 1), 0.7071067811865476)
    """
    if x == 0:
        return x
    shift = max(0, 200 + x.denominator.bit_length() - x.numerator.bit_length())
    shift += shift % 2
    whole = -((-x.numerator << shift) // x.denominator)  # rounded up
    root = math.isqrt(whole)
    return Fraction(root + (root * root < whole), 2 ** (shift // 2))


def log_sum(terms: Sequence[Fraction], alpha: Fraction, *, up: bool) -> Fraction:
    """Return a bound of alpha ln(sum over k of e^(terms_k / alpha)), alpha > 0, on one side.

    The largest term is taken out, so that no power overflows, however small alpha is.

    >>> low, high = (log_sum([Fraction(3)] * 2, Fraction(1, 10**7), up=up) for up in (False, True))
    >>> float(low), float(high), low < high
    (3.000000069314718, 3.000000069314718, True)
    """
    top = max(terms)
    power = exp_above if up else exp_below
    total = sum((power((x - top) / alpha) for x in terms), Fraction(0))
    return top + alpha * ln(total, up=up)


def _exp(x: Fraction, *, up: bool) -> Fraction:
    return _wider(Fraction(_decimal(x, up).exp(_context(up))), up=up)


def _context(up: bool) -> Context:
    return Context(
        prec=DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR, Emax=10**9, Emin=-(10**9)
    )


def _decimal(x: Fraction, up: bool) -> Decimal:
    return _context(up).divide(Decimal(x.numerator), Decimal(x.denominator))


def _wider(x: Fraction, *, up: bool) -> Fraction:
    """Move ``x`` outwards."""
    shift = STEP * abs(x)
    return x + shift if up else x - shift
