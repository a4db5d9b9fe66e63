"""Solution statuses, tolerances and interruption by Ctrl-C, common to all solvers.

The solvers are HiGHS (Huangfu and Hall, 2018), CP-SAT (Perron et al., 2023) and Clarabel
(Goulart and Chen, 2024).
"""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Literal, TypeAlias

from optsched.process import interrupts

Status: TypeAlias = Literal["optimal", "feasible", "infeasible", "unbounded", "unknown"]
"""``feasible``: stopped early with a solution; ``unknown``: stopped without one that is right."""

TOLERANCE = 1e-6  # of a constraint, relative above 1, and of an integer
POLL = 0.1  # seconds between two checks for a signal


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came while a solver ran; ``result`` is what it had by then."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


def interruptible(
    work: Callable[[Callable[[Any], None]], None],
    cancel: Callable[[], None],
    on_report: Callable[[Any], None] | None,
) -> None:
    """Run ``work`` in a thread and hand on what it reports.

    On Ctrl-C (or an error in ``on_report``) cancel it, wait for its end, and raise.
    """
    reports: SimpleQueue[tuple[str, Any]] = SimpleQueue()

    def body() -> None:
        try:
            work(lambda report: reports.put(("report", report)))
        except BaseException as err:
            reports.put(("failed", err))
        else:
            reports.put(("done", None))

    thread = Thread(target=body, daemon=False)  # see `process.background`
    thread.start()
    try:
        while True:
            interrupts.raise_if_interrupted()
            try:
                kind, content = reports.get(timeout=POLL)
            except Empty:
                continue
            if kind == "failed":
                raise content
            if kind == "done":
                break
            if on_report is not None:
                on_report(content)
    except BaseException:
        while thread.is_alive():  # stopped once, a solver that is just starting may miss it
            cancel()
            thread.join(POLL)
        raise
    thread.join()
