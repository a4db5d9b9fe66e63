"""Commands as a user meets them: real processes, in a terminal of a given width or in a pipe."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from patience import LONG

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it has reported."""

    status: int
    out: str
    err: str


def refused(outcome: tuple[int, str, str], *words: str) -> None:
    """Assert that a call ended with one line that states all of ``words``."""
    status, out, err = outcome
    assert (status, out) == (2, ""), err
    assert err.startswith("optsched: ")
    assert err.count("\n") == 1, err
    assert all(word in err for word in words), err


def piped(*args: object, folder: Path | None = None, **more: str) -> Ended:
    """Run a command whose output goes into pipes; ``more`` is added to its environment."""
    done = subprocess.run(
        [sys.executable, "-m", "optsched", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
        cwd=folder,
        env=_environment(more),
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def shown(*args: object, columns: int = 80) -> tuple[int, str]:
    """Run a command in a terminal of its own; return its exit status and all that it showed."""
    import fcntl
    import pty
    import struct
    import termios

    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "optsched", *map(str, args)],
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
        env=_environment({"TERM": "xterm"}),
    )
    os.close(its)
    said = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    text = CONTROL.sub("", said.decode()).replace("\r\n", "\n")
    return process.wait(timeout=LONG), text


def _environment(more: dict[str, str]) -> dict[str, str]:
    known = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    return known | more
