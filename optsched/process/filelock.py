"""One writer at a time: a lock that the system takes away from a process that dies."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from optsched.problem import InputError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Be the only one who writes ``path``, on this machine or on a shared disk.

    Beside it lies NAME.lock meanwhile. What a killed process has left of it counts for nothing.

    Raises
    ------
    InputError
        Another process writes it, or the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    place = path.with_name(path.name + ".lock")
    lock = FileLock(place, timeout=0.1, fallback_to_soft=False)  # its holder may be ending now
    if not place.parent.is_dir():  # it would be made
        raise InputError(f"{path}: cannot be written: there is no folder {place.parent}")
    try:
        lock.acquire()
    except Timeout as err:
        who = ""
        with suppress(OSError):  # it has ended just now
            who = place.read_text(errors="replace")
        raise InputError(
            f"{path}: another run writes it ({who or 'it has just begun'}), expected one at a time"
        ) from err
    except OSError as err:
        raise InputError(f"{path}: cannot be written: {place}: {err.strerror}") from err
    try:
        place.write_text(f"process {os.getpid()} on {socket.gethostname()}")
        yield
    finally:
        place.unlink(missing_ok=True)  # while it is held: who has it open then tries again
        lock.release()
