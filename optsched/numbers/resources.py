"""Exact amounts, the common tolerance, and classes of equal machines.

Every ceiling, floor and capacity test of the package goes through this file, on the decimals as
they are written (``Fraction(str(x))``), so that feasibility checks, models, oracles and
certificates use the same integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from optsched.base import Frozen
from optsched.numbers.arrays import Ints

EPS = Fraction(1, 10**9)
WHOLE = 2**53  # below it, a whole float is written with all its digits
DECIMALS = 9  # the resolution of data is the tolerance of the definition
MOST_ROUNDED = 10**6  # rounding changes an amount by at most one part in as many


def _nine_decimals(x: float) -> float:
    return x if x.is_integer() else _rounded(x)


@lru_cache(maxsize=2**14, typed=True)  # slow, and most amounts come again and again
def _rounded(x: float) -> float:
    rounded = round(x, DECIMALS)
    was, now = Fraction(x), Fraction(round(Fraction(x) * 10**DECIMALS), 10**DECIMALS)
    if abs(now - was) * MOST_ROUNDED > was:
        raise ValueError(
            f"{x!r} would be rounded to {rounded!r}, since amounts have nine decimals, expected 0 "
            "or a multiple of 1e-9: choose a smaller unit of this resource"
        )
    return rounded


Amount = Annotated[float, Field(ge=0, lt=1e9), AfterValidator(_nine_decimals)]
"""A quantity of a resource, read to nine decimals.

It is refused where that would change it by more than one part in a million.
"""


@lru_cache(maxsize=2**16, typed=True)  # typed: 2**60 and float(2**60) are written differently
def exact(x: float) -> Fraction:
    """Return the decimal that is written for ``x`` as a fraction.

    >>> exact(0.1)
    Fraction(1, 10)
    """
    if -WHOLE < x < WHOLE and x == int(x):
        return Fraction(int(x))  # the same, and text is slow
    return Fraction(str(x))


def slack(x: Fraction) -> Fraction:
    """Return the tolerance at ``x``: 1e-9, relative above 1."""
    return EPS * max(Fraction(1), abs(x))


def ceil_tol(x: Fraction) -> int:
    """Round up, forgiving an excess within the tolerance.

    >>> ceil_tol(Fraction(3) + Fraction(1, 10**10)), ceil_tol(Fraction(31, 10))
    (3, 4)
    """
    return math.ceil(x - slack(x))


def ceil_ratio(a: int, b: int) -> int:
    """Return `ceil_tol` of a / b, for a >= 0 and b > 0, without a fraction.

    >>> ceil_ratio(3 * 10**10 + 1, 10**10), ceil_ratio(31, 10)
    (3, 4)
    """
    one = EPS.denominator
    return -((max(a, b) - a * one) // (b * one))


def ceil_multiples(x: Fraction, most: int, start: Fraction = Fraction(0)) -> list[int]:
    """Return `ceil_tol` of s, s + x, ..., s + ``most`` times x, for x, s >= 0: many at once.

    >>> ceil_multiples(Fraction(2, 5), 5)
    [0, 1, 1, 2, 2, 2]
    """
    b, one = math.lcm(x.denominator, start.denominator), EPS.denominator
    a, s = int(x * b), int(start * b)
    sums = range(s, s + most * a + 1, a) if a else [s] * (most + 1)
    return [-((max(b, n) - n * one) // (b * one)) for n in sums]


def floor_tol(x: Fraction) -> int:
    """Round down, forgiving a lack within the tolerance.

    >>> floor_tol(Fraction(3) - Fraction(1, 10**10)), floor_tol(Fraction(39, 10))
    (3, 3)
    """
    return math.floor(x + slack(x))


@lru_cache(maxsize=2**16, typed=True)
def usable(capacity: float) -> Fraction:
    """Return the capacity with its tolerance: a load fits if and only if it is at most this."""
    c = exact(capacity)
    return c + slack(c)


def units_that_fit(capacity: Sequence[float], demand: Sequence[float], most: int) -> int:
    """Return how many workers (or PS) of one ``demand`` an empty machine holds, at most ``most``.

    >>> units_that_fit((2.9, 3.7), (1.2, 0.9), 10)
    2
    """
    for c, d in zip(capacity, demand, strict=True):
        if d > 0 and (fits := _fits(c, d)) < most:
            most = fits
    return most


room = units_that_fit  # its earlier name


@lru_cache(maxsize=2**17, typed=True)  # a few capacities, and demands that come again and again
def _fits(capacity: float, demand: float) -> int:
    """Return usable(capacity) / exact(demand), rounded down."""
    have, each = usable(capacity), exact(demand)
    return have.numerator * each.denominator // (have.denominator * each.numerator)


class MachineClass(Frozen):
    """Machines that are equal in every resource."""

    name: str = Field(default="", description="name of these machines in tables")
    count: int = Field(default=1, ge=1, description="how many there are")
    capacity: tuple[Amount, ...] = Field(description="c^r: amount of each resource, shape (R,)")


class Units:
    """Integer units of one list of resources: the finest decimal that any demand has.

    A load is a sum of demands, so in these units it is an integer, and it fits on a machine if and
    only if it is at most the integer ``capacity``. Kernels compare ``int64`` and never round.

    Parameters
    ----------
    demands : sequence of shape (n, R)
        Every demand vector that may be added up.
    resources : int
        R, needed where there is no demand.
    """

    def __init__(self, demands: Sequence[Sequence[float]], resources: int) -> None:
        self.scale = [1] * resources
        for r in range(resources):
            for digits in {exact(x).denominator for x in {demand[r] for demand in demands}}:
                while self.scale[r] % digits:
                    self.scale[r] *= 10

    def demands(self, rows: Sequence[Sequence[float]]) -> Ints:
        """Return demands in units, shape (n, R)."""
        out = np.zeros((len(rows), len(self.scale)), dtype=np.int64)
        for r, column in enumerate(zip(*rows, strict=True)):
            known = {x: int(exact(x) * self.scale[r]) for x in set(column)}
            out[:, r] = [known[x] for x in column]
        return out

    def capacities(self, rows: Sequence[Sequence[float]]) -> Ints:
        """Return usable capacities in units, rounded down, shape (n, R)."""
        known: dict[tuple[float, ...], list[int]] = {}
        out = []
        for row in rows:
            key = tuple(row)
            if key not in known:
                known[key] = [
                    math.floor(usable(x) * s) for x, s in zip(row, self.scale, strict=True)
                ]
            out.append(known[key])
        return np.array(out, dtype=np.int64).reshape(len(rows), len(self.scale))


def spread_evenly(number: int, classes: Sequence[Any]) -> list[tuple[int, Any, int]]:
    """Return place, class and number of machines where there are some; the first get one more.

    >>> spread_evenly(3, ["large", "small"])
    [(0, 'large', 2), (1, 'small', 1)]
    """
    each, more = divmod(number, len(classes))
    return [(c, of, each + (c < more)) for c, of in enumerate(classes) if each + (c < more)]


def expand(classes: Sequence[MachineClass]) -> tuple[tuple[float, ...], ...]:
    """Return the capacity of every single machine, in the order of the classes."""
    return tuple(c.capacity for c in classes for _ in range(c.count))


def equal_machines(capacities: Sequence[Sequence[float]]) -> list[list[int]]:
    """Return the indices of equal machines, in order of first appearance.

    >>> equal_machines([(1.0,), (2.0,), (1.0,)])
    [[0, 2], [1]]
    """
    groups: dict[tuple[float, ...], list[int]] = {}
    for h, row in enumerate(capacities):
        groups.setdefault(tuple(row), []).append(h)
    return list(groups.values())


def close(*arrays: NDArray[Any]) -> None:
    """Make shared arrays read-only; code that modifies one takes a copy."""
    for array in arrays:
        array.setflags(write=False)


class Closed:
    """A record whose arrays are read-only from the beginning."""

    def __post_init__(self) -> None:
        close(*(value for value in vars(self).values() if isinstance(value, np.ndarray)))
