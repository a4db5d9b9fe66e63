"""Status line of a long operation."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from optsched.engine.budget import Budget
from optsched.engine.interval import shown_gap
from optsched.engine.progress import Progress
from optsched.process import messages
from optsched.process.messages import printable

PATIENCE = 2.0  # seconds of silence before progress is shown
PERIOD = 10.0  # seconds between two lines where stderr is no terminal
BLINK = 0.2  # seconds between two looks at a live line


class Ticker:
    """Shows that work goes on: a live line on a terminal, else a line every ten seconds.

    Work that ends within two seconds shows nothing. A thread of its own keeps the clock running
    while a solver computes. Compilation is also shown.

    Parameters
    ----------
    doing : str
        Current step, in words.
    also : callable, optional
        Further observers of a solver's results.
    """

    def __init__(self, doing: str, also: Callable[[Progress], None] | None = None) -> None:
        from rich.console import Console

        self.doing = doing
        self._also = also
        self._state = ""
        self._budget: Budget | None = None  # of the search that goes on
        self._warned = False
        self._began = self._since = time.perf_counter()
        self._over = threading.Event()
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        if not messages.quiet:
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if not messages.quiet:
            self._over.set()
            self._thread.join()
            self._warn()

    def watch(self, progress: Progress) -> None:
        """Show incumbent, bound and gap of a solver, and its time (see :func:`optsched.solve`)."""
        self._state = (
            f"incumbent {_number(progress.value)}, bound {_number(progress.bound)}, "
            f"gap {shown_gap(progress.gap())}"
        )
        self._budget = progress.budget
        if self._also is not None:
            self._also(progress)

    def show(self, state: str) -> None:
        """Show ``state`` next to the current step."""
        self._state = state

    def begin(self, doing: str) -> None:
        """Show the step that begins now."""
        self.doing, self._state, self._budget = doing, "", None
        self._since = time.perf_counter()

    def print(self, line: str) -> None:
        """Print a line that stays, above the live one."""
        if not messages.quiet:
            self._print(printable(line))

    def complain(self, text: str) -> None:
        """Print an error, in one line or more, however quiet."""
        self._print(f"optsched: {printable(text, shown=chr(10))}")

    def _print(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the output is closed: no reason to stop
            if self._console.is_terminal:
                self._console.print(text)
            else:
                print(text, file=sys.stderr, flush=True)

    def line(self) -> str:
        """Return the status line: current step, interval, pending results and times.

        Of work in several steps, the time of this one comes first, and then that of all.
        The rest of a limit is counted here: the search may be busy for long.
        """
        compiling = _of_kernels("compiling")
        left = "" if self._budget is None else _left(self._budget)
        if compiling and left:
            compiling += " (no limit runs meanwhile)"
        known = ", ".join(part for part in (self._state, left) if part)
        state = "; ".join(part for part in (known, compiling) if part)
        now = time.perf_counter()
        passed = f"{now - self._since:.0f} s"
        if self._since > self._began:
            passed += f"; {now - self._began:.0f} s in all"
        passed = f"({passed})"
        return f"{self.doing}: {state} {passed}" if state else f"{self.doing} {passed}"

    def _warn(self) -> None:
        """Report once that compiled code cannot be stored."""
        why = _of_kernels("unstored")
        if why and not self._warned:
            self._warned = True
            self.print(why)

    def _run(self) -> None:
        if self._over.wait(PATIENCE):
            return
        if self._console.is_terminal:
            from rich.status import Status
            from rich.text import Text

            with Status(Text(self.line()), console=self._console) as spinner:
                while not self._over.wait(BLINK):
                    self._warn()
                    spinner.update(Text(self.line()))
            return
        while True:
            self._warn()
            self.print(self.line())
            if self._over.wait(PERIOD):
                return


def _of_kernels(what: str) -> str:
    """Return what `kernels` states; "" before anything has imported it, since that takes long."""
    show = getattr(sys.modules.get("optsched.numbers.kernels"), what, None)
    return show() if show is not None else ""


def _left(budget: Budget) -> str:
    """Report the rest of the limit, or the step after it."""
    if budget.left() <= 0:
        return "the limit is reached, checking the bound"
    if budget.units is None:
        return f"at most {budget.left():.0f} s left"
    return f"at most {budget.units - budget.spent():.0f} work units left"


def _number(x: float | None) -> str:
    return "none yet" if x is None else f"{x:.6g}"
