"""The clock of limits and of decisions: it is stopped while kernels are compiled.

Compiling happens once on a machine; the time it takes is no property of a method or a policy.
So no time limit is spent on it, and no decision is slow because of it.
"""

from __future__ import annotations

import threading
import time

_lock = threading.Lock()  # for writers
_state = (0, 0.0, 0.0)  # replaced as a whole: readers take no lock, which would cost decisions
"""How many compilations have begun and not ended (one may need another), when the outermost of them
began, and the seconds that the clock has stood still before."""


def now() -> float:
    """Return seconds since some moment, those of compiling left out."""
    while True:
        depth, since, before = state = _state
        seen = since if depth else time.perf_counter()
        if state is _state:  # nothing was compiled between the two looks
            return seen - before


def stop() -> None:
    """Stop the clock until :func:`go_on` has been called as often as this."""
    global _state
    with _lock:
        depth, since, before = _state
        _state = (depth + 1, since if depth else time.perf_counter(), before)


def go_on() -> None:
    """End one :func:`stop`."""
    global _state
    with _lock:
        depth, since, before = _state
        ended = 0.0 if depth > 1 else time.perf_counter() - since
        _state = (depth - 1, since, before + ended)


def stopped() -> float:
    """Return the seconds for which the clock has stood still so far."""
    depth, since, before = _state
    return before + (time.perf_counter() - since if depth else 0.0)
