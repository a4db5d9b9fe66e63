"""One writer at a time: a lock that the system takes away from a process that dies."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
    place = path.with_name(path.name + ".lock")
    handle = _taken(path, place)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        place.unlink(missing_ok=True)  # while it is held: nobody else can have it open as theirs
        os.close(handle)


def _taken(path: Path, place: Path) -> int:
    while True:
        try:
            handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as err:
            raise InputError(f"{path}: cannot be written: {place}: {err.strerror}") from err
        try:
            _lock(handle)
            if os.path.samestat(os.fstat(handle), place.stat()):
                return handle
        except FileNotFoundError:  # its holder has ended just now
            pass
        except OSError as err:
            who = os.pread(handle, 200, 0).decode(errors="replace")
            os.close(handle)
            raise InputError(
                f"{path}: another run writes it ({who or 'it has just begun'}), "
                "expected one at a time"
            ) from err
        os.close(handle)


def _lock(handle: int) -> None:
    """Take the lock or raise OSError."""
    if sys.platform == "win32":
        import msvcrt

        system: Any = msvcrt
        os.lseek(handle, 1 << 30, os.SEEK_SET)  # far behind what is written there
        system.locking(handle, system.LK_NBLCK, 1)
        return
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
