"""Ctrl-C and its kin: a signal sets a flag, and loops poll it.

A handler that raises does so wherever it happens to run: in the middle of a compiled kernel's call,
or of a solver's. So handlers here only remember that they were called; loops call :func:`received`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNBROKEN = ("_frozen_importlib", "importlib.", "numba.")  # modules in which no handler raises
ENDING = ("SIGINT", "SIGTERM", "SIGHUP")  # as far as the system has them

_received: int | None = None  # the number of the signal that came
_depth = 0  # number of callers that need it to be remembered
_for_good = False  # the process is a command's: the handlers stay


class _Thread(threading.local):
    def __init__(self) -> None:
        self.abandoned = array("q", [0])  # 1 when this thread is abandoned


_thread = _Thread()


def ending() -> tuple[int, ...]:
    """Return the numbers of the signals that stop a command.

    SIGHUP does not where it is ignored: `nohup` means that the command goes on.
    """
    found = [signal.Signals[name] for name in ENDING if hasattr(signal, name)]
    return tuple(n for n in found if n.name != "SIGHUP" or signal.getsignal(n) != signal.SIG_IGN)


def received() -> int | None:
    """Return the number of the signal that has requested an end, if one has.

    A thread that is no longer awaited is stopped as well (see `background`).
    """
    return _received if _received is not None or not _is_abandoned() else signal.SIGINT


def name() -> str:
    """Return what has requested an end, in words: Ctrl-C, or the name of another signal."""
    number = received()
    return "Ctrl-C" if number in (None, signal.SIGINT) else signal.Signals(number).name


def end_when(abandoned: array[int]) -> None:
    """Let this thread see a signal once ``abandoned``, of one number, is 1."""
    _thread.abandoned = abandoned


def abandoned() -> NDArray[np.int64]:
    """Return the array of :func:`end_when`, for kernels that may run for seconds.

    Once it is 1, such a kernel returns at once, and what it returns means nothing: its caller calls
    :func:`leave_if_abandoned`.
    """
    import numpy as np  # only here is it needed, and the supervisor waits for this module

    return np.frombuffer(_thread.abandoned, np.int64)


def leave_if_abandoned() -> None:
    """Raise KeyboardInterrupt if this thread is no longer awaited.

    For loops over jobs, slots and the like that no signal and no limit ends: feasibility checks and
    checkers.
    """
    if _is_abandoned():
        raise KeyboardInterrupt


def _is_abandoned() -> bool:
    return bool(_thread.abandoned[0])


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt if an end was requested: where nothing half done is of any use."""
    if received() is not None:
        raise KeyboardInterrupt


def remember_all() -> None:
    """From now on all signals that request an end are remembered: this process is a command's."""
    global _for_good
    _for_good = True
    for number in ending():
        signal.signal(number, _remember)
        signal.siginterrupt(number, False)


@contextmanager
def remembered() -> Iterator[None]:
    """Remember Ctrl-C inside, instead of raising; a second one raises KeyboardInterrupt.

    Does nothing in a thread, which gets no signals, and where Ctrl-C is ignored. When the outermost
    caller is done, all is as before.
    """
    global _received, _depth
    main = threading.current_thread() is threading.main_thread()
    if not main or _for_good or (_depth == 0 and not callable(signal.getsignal(signal.SIGINT))):
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if _depth == 0:
        signal.signal(signal.SIGINT, _remember_once)
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _depth == 0:
            signal.signal(signal.SIGINT, before)
            _received = None


def _remember(number: int, _frame: FrameType | None) -> None:
    global _received
    _received = number


def _remember_once(number: int, frame: FrameType | None) -> None:
    if _received is not None and may_raise(frame):
        raise KeyboardInterrupt
    _remember(number, None)


def may_raise(frame: FrameType | None) -> bool:
    """Return whether a handler may raise where it was called.

    Not in an import, nor where numba compiles a kernel or reads one: what is half done there breaks
    what comes later.
    """
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if type(name) is str and name.startswith(UNBROKEN):
            return False
        frame = frame.f_back
    return True


def die_with(parent: int) -> None:
    """Have this process killed when its parent dies, where the system can."""
    if sys.platform == "linux":
        import ctypes  # only here is it needed

        set_pdeathsig = 1
        ctypes.CDLL(None).prctl(set_pdeathsig, signal.SIGKILL)
        if os.getppid() != parent:  # too late
            os.kill(os.getpid(), signal.SIGKILL)
