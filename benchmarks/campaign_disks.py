"""Places where a store cannot be written: what makes them, and what must be reported."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

from campaigning import RUN, bags, calm, command_line, starting, until
from poison import begun

SAID = {  # what is wrong, and what must be reported
    "full": "cannot be written: the disk is full; what was stored before is kept",
    "file of limited size": "cannot be written: the disk refuses; what was stored before is kept",
    "read-only file": "cannot be written: it may only be read",
    "locked file": "cannot be written: another program holds it",
    "two runs": "another run writes it (process ",
}
Ended = subprocess.CompletedProcess[str]


def _full(folder: Path) -> Ended:
    """Have a small disk, and save from it what it holds."""
    (folder / "disk").mkdir()
    script = 'mount -t tmpfs -o size=96k tmpfs disk && "$@"; code=$?; cp disk/store* .; exit $code'
    return _apart(script, folder, "disk/store")


def _limited(folder: Path) -> Ended:
    return _apart('ulimit -f 128; "$@"', folder)


def _read_only(folder: Path) -> Ended:
    _begin(folder)
    script = 'mount --bind store store && mount -o remount,bind,ro store && "$@"'
    return _apart(script, folder)


def _apart(script: str, folder: Path, store: str = "store") -> Ended:
    """Run in a namespace of your own, in which disks can be mounted."""
    words = [store if word == "store" else word for word in RUN]
    return command_line(*words, folder=folder, within=["unshare", "-rm", "sh", "-c", script, "sh"])


def _begin(folder: Path) -> None:
    """Make a store of some cells."""
    early = bags(20, "fifo", "local-share")
    calm(early, folder / "store")


def _locked(folder: Path) -> Ended:
    _begin(folder)
    db = sqlite3.connect(folder / "store", isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    try:
        return command_line(*RUN, folder=folder)
    finally:
        db.close()


def _two(folder: Path) -> Ended:
    first = subprocess.Popen(**starting(*RUN, folder=folder))
    until(lambda: len(begun("counts", folder)) > 3)
    second = command_line(*RUN, folder=folder)
    first.wait()
    return second


TROUBLES: dict[str, Callable[[Path], Ended]] = {
    "full": _full,
    "file of limited size": _limited,
    "read-only file": _read_only,
    "locked file": _locked,
    "two runs": _two,
}
