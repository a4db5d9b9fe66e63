"""A limit on the time of a decision of a policy that runs in this process."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from optsched.base import InputError
from optsched.process import interrupts, timing

AGAIN = 0.1  # seconds after which a policy that goes on is stopped again
LONGEST = 1e6  # seconds


class LateError(BaseException):
    """A decision takes too long; no `Exception`, so that a policy does not catch it by mistake."""


def checked_limit(seconds: float | None, *, sandbox: bool) -> None:
    """Refuse a limit on decisions that cannot be kept.

    Raises
    ------
    InputError
        It is no positive number, or decisions cannot be interrupted here.
    """
    if seconds is None:
        return
    if not (math.isfinite(seconds) and 0 < seconds <= LONGEST):
        raise InputError(
            f"decision limit {seconds:g}: expected seconds above 0, at most {LONGEST:g}"
        )
    main = threading.current_thread() is threading.main_thread()
    if not sandbox and not (main and hasattr(signal, "setitimer")):
        raise InputError(
            "a decision limit needs a sandbox here: only the main thread of a process "
            "can be interrupted"
        )


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise `LateError` in what takes longer, compiling of kernels left out."""
    if seconds is None:
        yield
        return
    until = timing.now() + seconds

    def stop(_number: int, frame: FrameType | None) -> None:
        if timing.now() > until and interrupts.may_raise(frame):
            raise LateError

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if timing.now() > until:
            raise LateError
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
