"""Logarithms and powers of exact numbers, rounded to the safe side.

`decimal` rounds ln and exp correctly; what is returned is one relative step of 1e-35 further out
than 40 digits say, so that it is a bound and not an approximation.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

DIGITS = 40
STEP = Fraction(1, 10**35)


def ln(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of ln x, x > 0.

    >>> low, high = ln(Fraction(2))
    >>> low < Fraction("0.693147180559945309417232121458176568") < high
    True
    """
    low, high = (_decimal(x, up).ln(_context(up)) for up in (False, True))
    return _wider(Fraction(low), up=False), _wider(Fraction(high), up=True)


def exp(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of e^x."""
    low, high = (_decimal(x, up).exp(_context(up)) for up in (False, True))
    return _wider(Fraction(low), up=False), _wider(Fraction(high), up=True)


def power(x: Fraction, y: Fraction) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of x^y, x > 0.

    >>> power(Fraction(4), Fraction(2))
    (Fraction(16, 1), Fraction(16, 1))
    >>> low, high = power(Fraction(2), Fraction(1, 2))
    >>> low * low < 2 < high * high
    True
    """
    if y.denominator == 1 and abs(y) <= 4:
        return x ** int(y), x ** int(y)
    low, high = (y * end for end in ln(x))
    return exp(min(low, high))[0], exp(max(low, high))[1]


def _context(up: bool) -> Context:
    return Context(
        prec=DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR, Emax=10**9, Emin=-(10**9)
    )


def _decimal(x: Fraction, up: bool) -> Decimal:
    return _context(up).divide(Decimal(x.numerator), Decimal(x.denominator))


def _wider(x: Fraction, *, up: bool) -> Fraction:
    """Move ``x`` outwards."""
    shift = STEP * max(abs(x), STEP)
    return x + shift if up else x - shift
