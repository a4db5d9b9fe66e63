"""Directed rounding: prices on a grid of integers, and floats rounded to the safe side.

Any nonnegative prices give a valid bound, so rounding prices costs accuracy but never validity;
what is computed from them is rounded outward (Neumaier and Shcherbina, 2004). All checkers use it.

A grid of g bits counts in units of 2**-g. Charges are rounded down: that is a different price, or
a lower cost, both equally valid. Products of prices and demands are formed in 64 bits only where
the greatest of both, times the number of resources, guarantees that they fit (`charged`);
otherwise in Python's integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.overflow import Magnitude, TooLargeError
from optsched.proofs.limits import inside

LARGEST_PRICE = 2**62  # from here on, prices are Python's integers

Exact = NDArray[np.object_]  # of Python's integers


def to_grid(prices: Floats, grid_bits: int) -> Ints:
    """Round prices to the grid; negative ones become 0, those above 2**61 become that."""
    with np.errstate(over="ignore"):  # which is cut off
        scaled = np.clip(np.ldexp(prices, grid_bits), 0, 2.0**61)
    rounded: Ints = np.rint(scaled).astype(np.int64)
    return rounded


def sparse(prices: Ints | Exact) -> tuple[tuple[int, ...], ...]:
    """Return the entries [indices, price] that are not 0, in order of their places."""
    where = np.nonzero(prices)
    return tuple(zip(*(x.tolist() for x in where), prices[where].tolist(), strict=True))


def dense(
    place: str, entries: Sequence[tuple[int, ...]], names: Mapping[str, int], limit: int, most: int
) -> Ints:
    """Return the array that a sparse list means; of Python's integers, where 64 bits are few.

    Parameters
    ----------
    place : str
        For messages.
    entries : sequence
        [indices, price], each place at most once.
    names : mapping
        What the indices are, and how many: the shape.
    limit : int
        All prices are below it.
    most : int
        Places of the array, at most.

    Raises
    ------
    ValueError
        An entry is out of place, given twice, or has another price; or the array is too large.
    """
    shape = tuple(names.values())
    if math.prod(shape) > most:
        raise TooLargeError(
            f"{place}: there are {math.prod(shape)} prices by {', '.join(names)}, "
            f"expected at most {most}: another kind of prices"
        )
    large = any(entry[-1] >= LARGEST_PRICE for entry in entries) and limit > LARGEST_PRICE
    prices, seen = np.zeros(shape, object if large else np.int64), np.zeros(shape, np.bool_)
    for entry in entries:
        where, price = entry[:-1], entry[-1]
        for (name, size), index in zip(names.items(), where, strict=True):
            if not 0 <= index < size:
                inside(f"{place}, price {list(entry)}", name, index, 0, size - 1)
        if not 0 <= price < limit:
            raise ValueError(
                f"{place}, price {list(entry)}: is {price}, expected "
                f"0..2**{limit.bit_length() - 1} - 1"
            )
        if seen[where]:
            raise ValueError(f"{place}: the price of {list(where)} is given twice, expected once")
        prices[where], seen[where] = price, True
    return prices


def lowered(prices: Ints, shift: int, most: int) -> Ints:
    """Return prices with ``shift`` binary digits less, at most ``most``: other prices, as valid."""
    counted: Ints = np.minimum(prices >> min(shift, 63), most)  # 63: nothing is left
    return counted


def charged(prices: Ints, demand: Ints, shift: int, most: int) -> Ints:
    """Return ``prices @ demand``, rounded down by ``shift`` bits, at most ``most``.

    Parameters
    ----------
    prices : shape (..., R)
        Of a unit of each resource.
    demand : shape (R,)
        Units.
    """
    each = Magnitude.of("price", prices) * Magnitude.of("demand", demand)
    if prices.dtype != object and each.total(prices.shape[-1]).inside():
        return lowered(prices @ demand, shift, most)
    exact = (prices.astype(object) @ demand.astype(object)) >> shift
    counted: Ints = np.minimum(exact, most).astype(np.int64)
    return counted


def capacity_cost(prices: Ints, capacity: Ints, count: Ints) -> int:
    """Return the sum of price * capacity, in Python's integers.

    Parameters
    ----------
    prices : shape (T, C, R)
    capacity : shape (C, R)
        Units of one machine of each class.
    count : shape (C,)
        Machines of each class.
    """
    return sum(
        int(prices[t, c, r]) * int(capacity[c, r]) * int(count[c])
        for t, c, r in zip(*np.nonzero(prices), strict=True)
    )


def ceil_log2(x: Fraction) -> int:
    """Return the least e with x <= 2**e; 0 for x = 0.

    >>> [ceil_log2(Fraction(x)) for x in (0, 1, 5, 0.25)], ceil_log2(Fraction(1, 3))
    ([0, 0, 3, -2], -1)
    """
    if x <= 0:
        return 0
    e = x.numerator.bit_length() - x.denominator.bit_length() - 1
    while Fraction(2) ** e < x:
        e += 1
    return e


def nearest(x: Fraction) -> float:
    """Return the float that is nearest to ``x``; infinite, if it is beyond all of them."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def float_above(x: Fraction) -> float:
    """Return the smallest finite float that is not below ``x``.

    Raises
    ------
    ValueError
        There is none.
    """
    near = nearest(x)
    above = near if near >= x else math.nextafter(near, math.inf)
    if above == math.inf:
        raise ValueError("the bound is beyond the largest float, expected other prices")
    return above + 0.0  # -0.0 is written as 0.0


def float_below(x: Fraction) -> float:
    """Return the largest finite float that is not above ``x``.

    Raises
    ------
    ValueError
        There is none.
    """
    return 0.0 - float_above(-x)
