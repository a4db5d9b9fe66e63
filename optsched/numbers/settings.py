"""Settings from outside: invalid numbers and unknown words are rejected."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from optsched.base import InputError


def one_of(name: str, value: Any, known: Iterable[str]) -> None:
    """Refuse a word that is unknown."""
    words = list(known)
    if value not in words:
        raise InputError(f"unknown {name} {value!r}, expected one of: {', '.join(words)}")


def whole(least: int = 1, **numbers: int) -> None:
    """Refuse numbers below ``least``."""
    for name, number in numbers.items():
        if number < least:
            raise InputError(f"{name} is {number}, expected a whole number of at least {least}")


def positive(**numbers: float) -> None:
    """Refuse numbers that are not above 0, or no numbers."""
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise InputError(f"{name} is {number}, expected a positive number")
