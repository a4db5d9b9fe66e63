"""How large whole numbers can become: where all checkers get their integers from.

A compiled kernel adds and multiplies in 64 bits, and a sum that leaves them comes back with another
sign and gives a wrong result. So a checker states how large each quantity is at most, forms from
these the largest of every sum and product that its kernel forms, and checks whether it fits, before
the kernel runs. All that is done in Python's integers, which have no limit. What does not fit is
refused, or put on a coarser grid in the safe direction, or counted in Python's integers.

>>> price, load, slots = Magnitude("price", 2**40), Magnitude("load", 2**10), 500
>>> rent = (price * load).total(slots).named("cost of all slots")
>>> rent.fits()
562949953421312000
>>> (rent * Magnitude("workers", 2**20)).fits()
Traceback (most recent call last):
    ...
optsched.numbers.overflow.TooLargeError: cost of all slots * workers can reach \
590295810358705651712000, expected at most 9223372036854775807
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from optsched.numbers.arrays import Ints

INT64 = 2**63 - 1  # the largest whole number of a kernel


class TooLargeError(ValueError):
    """A quantity is beyond what can be counted; the message names it, its size and the limit."""


@dataclass(frozen=True)
class Magnitude:
    """A quantity whose absolute value is at most ``most``.

    Sums and products bound those of the quantities, whatever their signs.

    Parameters
    ----------
    name : str
        What it is, for messages.
    most : int
        A whole number of Python's own, so it has no limit itself.
    """

    name: str
    most: int

    def __post_init__(self) -> None:
        if type(self.most) is not int or self.most < 0:
            raise TypeError(f"{self.name}: {self.most!r}, expected an int >= 0")

    @classmethod
    def of(cls, name: str, values: Iterable[int] | Ints) -> Self:
        """Return the magnitude of the largest of ``values``, 0 if there is none."""
        if isinstance(values, np.ndarray):
            if not values.size:
                return cls(name, 0)
            values = (values.min(), values.max())
        return cls(name, max((abs(int(x)) for x in values), default=0))

    def __add__(self, other: Magnitude) -> Magnitude:
        return Magnitude(f"{self.name} + {other.name}", self.most + other.most)

    def __mul__(self, other: Magnitude) -> Magnitude:
        names = (f"({m.name})" if " + " in m.name else m.name for m in (self, other))
        return Magnitude(" * ".join(names), self.most * other.most)

    def total(self, count: int) -> Magnitude:
        """Return the magnitude of a sum of ``count`` such quantities, and of each of its parts."""
        return Magnitude(f"a sum of {self.name}", self.most * max(0, int(count)))

    def named(self, name: str) -> Magnitude:
        """Return the same under another name."""
        return replace(self, name=name)

    def inside(self, limit: int = INT64) -> bool:
        """Whether it is at most ``limit``: where not, count in Python's integers."""
        return self.most <= limit

    def fits(self, limit: int = INT64) -> int:
        """Return ``most``.

        Raises
        ------
        TooLargeError
            It exceeds ``limit``.
        """
        if self.most > limit:
            raise TooLargeError(
                f"{self.name} can reach {shown(self.most)}, expected at most {limit}"
            )
        return self.most


def shown(number: int) -> str:
    """Write a number; one of more than 40 digits by its size only.

    >>> shown(1234), shown(10**400)
    ('1234', 'about 2**1328')
    """
    return str(number) if abs(number) < 10**40 else f"about 2**{abs(number).bit_length() - 1}"


def int64s(name: str, values: Iterable[int], limit: int = INT64) -> Ints:
    """Return Python's integers as an array of 64 bits.

    Raises
    ------
    TooLargeError
        One of them is beyond ``limit``.
    """
    known = [int(x) for x in values]
    Magnitude.of(name, known).fits(limit)
    return np.array(known, np.int64)
