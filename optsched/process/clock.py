"""The clock of limits and of decisions: it stands still while kernels are compiled.

Compiling happens once on a machine; what it takes says nothing of a method or of a policy. So no
time limit is spent on it, and no decision is slow because of it.
"""

from __future__ import annotations

import threading
import time

_lock = threading.Lock()
_depth = 0  # compilations that have begun and not ended: one may need another
_since = 0.0  # when the outermost of them began
_stopped = 0.0  # seconds that the clock has stood still so far


def now() -> float:
    """Return seconds since some moment, those of compiling left out."""
    with _lock:
        return (_since if _depth else time.perf_counter()) - _stopped


def stop() -> None:
    """Let the clock stand still until :func:`go_on` has been called as often as this."""
    global _depth, _since
    with _lock:
        if _depth == 0:
            _since = time.perf_counter()
        _depth += 1


def go_on() -> None:
    """End one :func:`stop`."""
    global _depth, _stopped
    with _lock:
        _depth -= 1
        if _depth == 0:
            _stopped += time.perf_counter() - _since


def stopped() -> float:
    """Return the seconds for which the clock has stood still so far."""
    with _lock:
        return _stopped + (time.perf_counter() - _since if _depth else 0.0)
