"""The `optsched` command: a supervisor that knows next to nothing, and the worker that it watches.

The supervisor imports nothing that takes long, so that it hears signals from the start, and is
always free to answer them. A signal that requests an end is passed on to the worker, which ends
well by itself if it can: it stops, writes its file, prints the best so far. Where it cannot (in a
compiled kernel, a solver, an import), it is killed with all its processes, and the supervisor puts
the worker's last snapshot instead of the file. It does so too where another process kills the
worker. This module must stay quick to import; rarely used modules are imported on demand.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from optsched.process.crash_state import CrashState, prefix, publish, remove, watch_over_me

TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NoReturn

GRACE = 1.2  # seconds in which a worker may end by itself
LAST = 10.0  # seconds for the functions that code has registered for the end, unless a signal comes


def main() -> None:
    """Run the command line in a worker, and watch over it; in this process where it cannot fork."""
    if hasattr(os, "fork"):
        _divide()
    from optsched.cli.app import main as work
    from optsched.process import messages

    messages.for_good = True

    status: Any = None
    try:
        work()
    except SystemExit as end:
        status = end.code
    finally:
        publish(over=True)
    _leave(status or 0)


def _leave(status: int) -> NoReturn:
    """End this process, and wait for no thread: neither a solver's, nor one that a policy began."""
    import atexit
    from threading import Thread

    from optsched.process import messages

    ending = Thread(target=atexit._run_exitfuncs, daemon=True)
    ending.start()
    ending.join(LAST)
    for stream in (messages.stdout(), sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _divide() -> None:
    """Return in the worker; the supervisor ends here."""
    numbers = _pending()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    board, parent = CrashState(), os.getpid()
    worker = os.fork()
    if worker:
        with suppress(OSError):  # both do it, since either may come first
            os.setpgid(worker, worker)
        watch = _Watch(worker, board)
        for number in numbers:
            signal.signal(number, watch.suspend if number == signal.SIGTSTP else watch.end)
        signal.signal(signal.SIGALRM, watch.kill)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        status = watch.status()
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)  # Python's end would die of one
        sys.exit(status)
    os.setpgid(0, 0)
    watch_over_me(board)
    from optsched.process.interrupts import die_with, remember_all

    die_with(parent)
    remember_all()
    for number in (signal.SIGTTIN, signal.SIGTTOU):  # it is no foreground process to a terminal
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _pending() -> list[signal.Signals]:
    """Return the signals that the supervisor takes; not SIGHUP where `nohup` has it ignored."""
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGTSTP]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


class _Watch:
    """The supervisor's side."""

    def __init__(self, worker: int, board: CrashState) -> None:
        self.worker = worker
        self.board = board
        self.signal: int | None = None  # the first that requested an end

    def end(self, number: int, _frame: FrameType | None) -> None:
        """Stop the worker, or kill it: where it does not listen, or at a second signal."""
        first, self.signal = self.signal is None, self.signal or number  # the next may come within
        if first and self.board.listens:
            if not self.board.patient:
                signal.setitimer(signal.ITIMER_REAL, GRACE)
            self._send(os.kill, number)
        else:
            self.kill()

    def kill(self, *_: object) -> None:
        """Kill the worker and all that it has started."""
        self._send(os.killpg, signal.SIGKILL)

    def suspend(self, _number: int, _frame: FrameType | None) -> None:
        """Stop with the worker, on Ctrl-Z, and go on with it."""
        self._send(os.killpg, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._send(os.killpg, signal.SIGCONT)

    def _send(self, how: Any, number: int) -> None:
        with suppress(ProcessLookupError):  # it has just ended
            how(self.worker, number)

    def _sweep(self, folder: str | None) -> None:
        """Remove the worker's unfinished files."""
        with suppress(OSError):
            for entry in os.scandir(folder) if folder else ():
                if entry.name.startswith(prefix(self.worker)):
                    os.unlink(entry.path)

    def status(self) -> int:
        """Wait for the worker's end, clear up, and return the exit status."""
        _, ended = os.waitpid(self.worker, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        code = os.waitstatus_to_exitcode(ended)
        word = self.board.get()
        self.kill()  # processes that it may have left running
        if code >= 0 and self.signal is None and "over" in word:
            return code
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K\x1b[?25h")  # a live line may have hidden the cursor
        kept = _kept(word)
        for place in (word.get("folder"), os.path.dirname(word.get("target", ""))):
            self._sweep(place)
        _end_sealed(word)
        if self.signal is not None:
            if not word.get("reported"):
                _print(f"interrupted{kept}")
            return 128 + self.signal
        if code >= 0:
            _print(f"the computing process ended itself, with status {code}{kept}")
            return 1
        hint = " (out of memory?)" if -code == signal.SIGKILL else ""
        _print(f"the computing process ended by a signal: {signal.strsignal(-code)}{hint}{kept}")
        return 1


def _kept(word: dict[str, Any]) -> str:
    """Move the worker's snapshot to its target; report its content."""
    best = word.get("best")
    if "snapshot" in word:
        try:
            with suppress(FileNotFoundError):  # the worker came so far itself
                os.replace(word["snapshot"], word["target"])
        except OSError as err:
            return f"; {word['target']} cannot be written: {err.strerror}"
        return f"; {word['target']} holds the best so far: {best}"
    return f"; the best so far: {best}" if best else ""


def _end_sealed(word: dict[str, Any]) -> None:
    """End a sandbox, which is not in the worker's process group, and remove its folder."""
    if "sealed" in word:
        with suppress(ProcessLookupError):
            # on Linux this is its supervisor, which ends all that it has started
            linux = sys.platform.startswith("linux")
            os.killpg(word["sealed"], signal.SIGTERM if linux else signal.SIGKILL)
        remove(word["home"])


def _print(text: str) -> None:
    with suppress(OSError):  # nothing listens any more
        sys.stderr.write(f"optsched: {text}\n")
        sys.stderr.flush()
