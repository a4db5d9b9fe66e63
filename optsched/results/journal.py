"""The best so far on disk, for the supervisor to put in place should this process be killed."""

from __future__ import annotations

import json
import math
import os
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Self

from optsched.core import Failed, Optimum, Run
from optsched.core.optimum import settle
from optsched.engine.interval import CLOSED
from optsched.engine.progress import Progress
from optsched.engine.warm_start import Known, begin
from optsched.files.atomic_io import is_stream, write_whole
from optsched.files.format import envelope, plain
from optsched.problem import InputError, Instance, family_of
from optsched.process import crash_state
from optsched.results.result import with_instance

SHARE = 0.05  # of the time may be spent on it
LONGEST = 1000  # characters of the sentence


class Journal:
    """Keeps a complete result file next to its target, while the target is being worked for.

    It is written anew when a better schedule or bound is known, and at once when a signal has come.
    What it states of a bound is that of :meth:`optsched.engine.progress.Progress.so_far`. Without a
    target, or where it would not be resumed, only the sentence is left that states what is best.
    """

    def __init__(self, instance: Instance, target: Path | None, method: str, start: Known) -> None:
        self._instance, self._start = instance, start
        self._family = family_of(instance)
        self._method = method
        self._target = None if target is None or is_stream(target) else os.path.realpath(target)
        self._first = Progress(self._family, instance, time_limit=0.0, gap=CLOSED)
        self._known: tuple[Any, ...] | None = None
        self._next = 0.0  # when to write again
        self._optimum: Optimum | None = None  # once it is known
        self._runs: list[str] = []
        self._writing = Lock()  # a method that was abandoned may still be at it
        self._closed = False

    def __enter__(self) -> Self:
        if crash_state.is_watched():
            begin(self._first, self._start, self._method)
            self._write(settle(*self._first.so_far(), self._method))
        crash_state.listen_to_signals()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            return  # the supervisor takes it up
        with self._writing:
            self._closed = True
            if self._target is not None:
                self._snapshot.unlink(missing_ok=True)
            crash_state.publish(snapshot=None, target=None, best=None)

    def watch(self, progress: Progress) -> None:
        """Store the best result of a method if it is better and there is time."""
        if self._optimum is not None or not crash_state.is_watched():
            return  # this looks for a reference, or nothing reads it
        first, sign = self._first, progress.sign
        if (first.bound is not None and progress.bound is None) or (
            first.value is not None
            and (progress.value is None or sign * (progress.value - first.value) < 0)
        ):
            return  # it has not received the known results yet
        known = progress.value, progress.bound, len(progress.claimed), progress.interrupted
        if known != self._known and (progress.interrupted or time.perf_counter() >= self._next):
            self._known = known
            self._keep(progress)

    def record(self, found: Run | Failed | Optimum) -> None:
        """Take down a policy's run, or the optimum; other optima after it are references."""
        if not crash_state.is_watched() or isinstance(found, Failed):
            return
        if isinstance(found, Optimum):
            if self._optimum is None:
                self._optimum = found
                with suppress(InputError):
                    self._write(found)
            return
        self._runs.append(_text(found))
        if found.obeys:
            kept, verdict = self._family.strictly(self._instance, found.schedule)
            if verdict.value is not None and math.isfinite(verdict.value):
                self._first.incumbent(verdict.value, kept)
        if time.perf_counter() >= self._next:
            self._keep(self._first)

    def _keep(self, progress: Progress) -> None:
        began = time.perf_counter()
        with suppress(InputError):  # what cannot be kept is no reason to stop
            self._write(self._optimum or settle(*progress.so_far(), self._method))
        now = time.perf_counter()
        self._next = now + (now - began) / SHARE

    def _write(self, optimum: Optimum) -> None:
        words = {"best": str(optimum)[:LONGEST]}
        with self._writing:
            if self._closed:
                return
            if self._target is not None:
                runs = f', "runs": [{", ".join(self._runs)}]' if self._runs else ""
                text = f'{self._head}, "optimum": {_text(optimum)}{runs}}}\n'
                write_whole(self._snapshot, text, like=Path(self._target))
                words |= {"snapshot": str(self._snapshot), "target": self._target}
            crash_state.publish(**words)

    @property
    def _snapshot(self) -> Path:
        assert self._target is not None  # requested only then
        return Path(self._target).with_name(f"{crash_state.prefix(os.getpid())}best")

    @cached_property
    def _head(self) -> str:
        """The text of the file up to the instance, which does not change."""
        content = with_instance(self._instance, {})
        return envelope("result", self._instance.family, content).removesuffix("}\n")


def _text(found: Run | Optimum) -> str:
    return json.dumps(plain(found.model_dump(mode="json")), allow_nan=False)
