"""What was computed of the last few instances, schedules and certificates, which never change."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import is_
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
KEPT = 4  # a search compares the best it knows with what comes


def latest(compute: Callable[P, R]) -> Callable[P, R]:
    """Remember the last few answers of a function of such objects.

    A search asks again and again, whether a gap is closed, of the same schedule and certificate.
    Objects are the same if they are one: an equal one, made anew, is looked at anew.
    """
    known: list[tuple[tuple[Any, ...], R]] = []

    @wraps(compute)
    def remembered(*given: P.args, **named: P.kwargs) -> R:
        if named:
            return compute(*given, **named)
        for others, found in known.copy():
            if len(given) == len(others) and all(map(is_, given, others)):
                return found
        found = compute(*given, **named)
        known[:] = [(given, found), *known[: KEPT - 1]]
        return found

    return remembered
