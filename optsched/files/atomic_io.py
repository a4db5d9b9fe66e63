"""Bytes to and from the disk: written whole or not at all, read up to a size.

A target that is not a plain file (a device, a pipe, the output of this process) is written to,
but never replaced, and never read: it may not end. As a file to write, "-" is the output of this
process.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from optsched.base import InputError
from optsched.process import crash_state, messages

SKIP_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
AS_IT_IS = getattr(os, "O_BINARY", 0)
STDOUT = Path("-")
DESCRIPTOR = {Path("/dev/stdout"), Path("/dev/fd/1"), Path("/proc/self/fd/1")}


def write_whole(path: Path, text: str | bytes, *, like: Path | None = None) -> None:
    """Write a file so that it appears complete or not at all.

    Parameters
    ----------
    path : Path
        A link stays a link, and a file keeps its owner and permissions.
    text : str or bytes
    like : Path, optional
        The file whose permissions it gets; by default the one that it replaces.

    Raises
    ------
    InputError
        It cannot be written; nothing has been changed.
    """
    data = text.encode() if isinstance(text, str) else text
    with _writing(path):
        if is_stream(path):
            _write_through(path, data)
        else:
            real = Path(os.path.realpath(path))
            _replace(real, data, like or real)


def _replace(path: Path, data: bytes, like: Path) -> None:
    crash_state.publish(folder=str(path.parent))
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=crash_state.prefix(os.getpid()))
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        _take_permissions(name, like)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _take_permissions(name: str, like: Path) -> None:
    try:
        known = like.stat()
    except OSError:  # a new file: the mode that the umask allows
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        return
    if hasattr(os, "chown"):
        with suppress(OSError):  # a file may be written by others than its owner
            os.chown(name, known.st_uid, known.st_gid)
    os.chmod(name, stat.S_IMODE(known.st_mode))


def _write_through(path: Path, data: bytes) -> None:
    for own in (messages.stdout(), sys.stderr):
        if _is_own(path, own):
            own.flush()
            own.buffer.write(data)
            own.flush()
            return
    handle = os.open(path, os.O_WRONLY | SKIP_WAITING | AS_IT_IS)  # a pipe may have no reader
    if SKIP_WAITING:
        os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as f:
        f.write(data)


def is_stream(path: Path) -> bool:
    """Return whether ``path`` is written to, not replaced: a device, a pipe, the own output."""
    if any(_is_own(path, own) for own in (messages.stdout(), sys.stderr)):
        return True
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:  # it is not there yet
        return False


def is_stdout(path: Path) -> bool:
    """Return whether ``path`` is the standard output of this process, or "-", its abbreviation.

    Nothing else should be printed there.
    """
    return _is_own(path, messages.stdout())


def _is_own(path: Path, own: Any) -> bool:
    """Return whether ``path`` is the output of this process."""
    apart = messages.stdout() is not sys.stdout  # then descriptor 1 is that of stderr
    if path == STDOUT or (apart and path in DESCRIPTOR):
        return own is messages.stdout()
    try:
        return os.path.samestat(path.stat(), os.fstat(own.fileno()))
    except (OSError, ValueError, AttributeError):  # it is not there, or nothing of the system's
        return False


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn errors of writing into one line."""
    try:
        yield
    except OSError as err:
        raise InputError(f"{path}: cannot be written: {err.strerror or err}") from err


def writable(path: Path, *read: Path | None) -> Path:
    """Return ``path`` if a file can be written there; called before the work is done.

    Raises
    ------
    InputError
        It cannot, or it is one of the files that are ``read``; the message states why.
    """
    with _writing(path):
        for source in read:
            if source is not None and path.exists() and source.exists() and path.samefile(source):
                raise InputError(f"{path}: is an input as well, expected another file to write")
        if path == STDOUT:
            if not messages.has_output:
                raise OSError(errno.EBADF, "stdout is closed")
            return path
        if not path.parent.is_dir():
            raise InputError(f"{path}: cannot be written: there is no folder {path.parent}")
        if path.is_dir():
            raise InputError(f"{path}: cannot be written: it is a folder, expected a file's name")
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if not is_stream(path):
            _try(Path(os.path.realpath(path)).parent)
    return path


def writable_folder(path: Path) -> Path:
    """Return ``path``, made if it did not exist, if files can be written there.

    Raises
    ------
    InputError
        They cannot; the message states why.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise InputError(f"{path}: is no folder and cannot be made one: {err.strerror}") from err
    with _writing(path):
        _try(path)
    return path


def _try(folder: Path) -> None:
    """Raise OSError if no file can be made there, or nothing written into it."""
    crash_state.publish(folder=str(folder))
    name = crash_state.prefix(os.getpid())
    with tempfile.TemporaryFile(dir=folder, prefix=name, buffering=0) as probe:
        probe.write(b"\n")


def read_limited(path: Path, most: int) -> bytes:
    """Return the content of a file.

    Raises
    ------
    InputError
        It cannot be read, is no file (a device or a pipe may not end), or has more than ``most``
        bytes.
    """
    with open_file(path) as f:
        size = os.fstat(f.fileno()).st_size
        data = f.read(most + 1) if size <= most else b""
    if max(size, len(data)) > most:
        raise InputError(f"{path}: {max(size, len(data))} bytes, expected at most {most}")
    return data


@contextmanager
def open_file(path: Path) -> Iterator[BufferedReader]:
    """Open a plain file to read it.

    Raises
    ------
    InputError
        It cannot be read, or is something else: a device or a pipe may not end.
    """
    try:
        handle = os.open(path, os.O_RDONLY | SKIP_WAITING | AS_IT_IS)
        with os.fdopen(handle, "rb") as f:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise InputError(f"{path}: is {_kind(mode)}, expected a file")
            yield f
    except OSError as err:
        raise InputError(f"{path}: cannot be read: {err.strerror or err}") from err


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "a device"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Lock ``path`` for writing, on this machine or on a shared disk.

    Next to it, or to its link target, lies NAME.lock meanwhile. The lock of a killed
    process has no effect.

    Raises
    ------
    InputError
        Another process writes it, or the folder cannot be written.
    """
    from filelock import FileLock, Timeout  # here, as few commands need it

    real = Path(os.path.realpath(path))  # one lock, however the file is named
    place = real.with_name(real.name + ".lock")
    lock = FileLock(place, timeout=0.1, fallback_to_soft=False)  # its holder may be ending now
    if not place.parent.is_dir():  # it would be made
        raise InputError(f"{path}: cannot be written: there is no folder {place.parent}")
    try:
        lock.acquire()
    except Timeout as err:
        owner = ""
        with suppress(OSError):  # it has ended just now
            owner = place.read_text(errors="replace")
        raise InputError(
            f"{path}: another run writes it ({owner or 'just begun'}), expected one at a time"
        ) from err
    except OSError as err:
        raise InputError(f"{path}: cannot be written: {place}: {err.strerror}") from err
    try:
        with _writing(path):
            place.write_text(f"process {os.getpid()} on {socket.gethostname()}")
        yield
    finally:
        place.unlink(missing_ok=True)  # while held: others that have it open try again
        lock.release()
