"""A pool of processes, watched over: one that dies, hangs or takes all memory costs one cell.

A pool reports the outcome of every task. So when a process is gone, the task that it was at is
known, and only that one is tried again or given up; what it had not begun goes back. The pool of
`concurrent.futures` (ProcessPoolExecutor) knows none of this: with one process all of it is gone.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from optsched.problem import InputError
from optsched.process import crash_state, interrupts
from optsched.process.errors import explain

STARTS = 3  # processes in a row that may die before they have begun to listen
LOOK = 0.2  # seconds between two checks for a signal
LAST = 2000  # bytes read from the output of a dead process
READY, OUT_OF_MEMORY = "ready", "memory"  # report of a process on itself
BEGINNING = 300.0  # seconds that a process has for that
START = (  # modules are found where the parent finds them, whatever lies in the folder
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from optsched.experiments.pool import work; work()"
)


class Task(Protocol):
    """A piece of work that can be sent to another process."""

    def compute(self) -> Any:
        """Do it; MemoryError states that this process is of no further use."""


@dataclass(frozen=True)
class TaskCompleted:
    """A task and its result."""

    task: Any
    found: Any


@dataclass(frozen=True)
class TaskFailed:
    """A process is gone, or a chunk came to nothing."""

    suspects: Sequence[Any]  # one of these tasks did it
    rest: Sequence[Any]  # not begun
    reason: str
    again: bool = True  # whether trying again may help


Event = TaskCompleted | TaskFailed


@dataclass(frozen=True)
class _Failed:
    """Error of a task, as its process reports it."""

    reason: str


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    printed: IO[bytes]  # its output
    folder: str  # of its temporary files, which go with it even where it is killed
    tasks: list[Task] = field(default_factory=list)  # begun or not, and not reported
    since: float = 0.0  # when it began the first of them
    hung: float | None = None  # the limit that it has broken
    out_of_memory: bool = False
    ready: bool = False  # it has read its task


class ProcessPool:
    """Processes of this machine.

    Parameters
    ----------
    size : int
        How many.
    memory : float, optional
        GB that the tasks of each may take.
    patience : callable, optional
        Task -> seconds after which it counts as hung.
    """

    def __init__(
        self,
        size: int,
        *,
        memory: float | None = None,
        patience: Callable[[Any], float] = lambda _task: math.inf,
    ) -> None:
        self.size = size
        self._memory, self._patience = memory, patience
        self._workers: list[_Worker] = []
        self._answers: queue.SimpleQueue[tuple[_Worker, Any]] = queue.SimpleQueue()
        self._finishing = False
        self._failed_starts = 0  # in a row

    def has_capacity(self) -> bool:
        """Whether a process is idle, or may be started."""
        return not self._finishing and (
            len(self._workers) < self.size or any(not w.tasks for w in self._workers)
        )

    def busy(self) -> bool:
        """Whether a process has something to report."""
        return any(w.tasks for w in self._workers)

    def running(self) -> list[Task]:
        """Return the tasks that processes are at."""
        return [w.tasks[0] for w in self._workers if w.tasks]

    def submit(self, tasks: Sequence[Task]) -> None:
        """Give a chunk to a process that is idle."""
        idle = next((w for w in self._workers if not w.tasks), None) or self._start()
        idle.tasks, idle.since = list(tasks), time.monotonic()
        with suppress(OSError):  # it has died: its end is reported
            pickle.dump(idle.tasks, _stdin(idle), pickle.HIGHEST_PROTOCOL)
            _stdin(idle).flush()

    def poll(self, seconds: float) -> list[Event]:
        """Return the new events; wait at most this long."""
        found: list[Event] = []
        with suppress(queue.Empty):
            found += self._handle(*self._answers.get(timeout=seconds))
            while True:
                found += self._handle(*self._answers.get_nowait())
        self._kill_the_hung()
        return found

    def compute(self, task: Task) -> Event:
        """Wait for the result of a single task; no other may be running.

        Raises
        ------
        KeyboardInterrupt
            An end was requested.
        """
        self.submit([task])
        while True:
            for event in self.poll(LOOK):
                if isinstance(event, TaskCompleted) or event.suspects:
                    return event
                self.submit([task])  # it was not begun
            interrupts.raise_if_interrupted()

    def finish(self) -> None:
        """Have every process end after the task that it is at."""
        self._finishing = True
        for w in self._workers:
            with suppress(OSError):
                _stdin(w).close()

    def close(self) -> None:
        """Kill all processes."""
        for w in self._workers:
            w.process.kill()
        for w in self._workers:
            w.process.wait()
            crash_state.remove(w.folder)
            with suppress(OSError):
                _stdin(w).close()
        self._workers = []

    def _start(self) -> _Worker:
        printed = tempfile.TemporaryFile()  # noqa: SIM115
        folder = tempfile.mkdtemp(prefix="optsched-")
        os.chmod(folder, 0o711)  # a sandboxed policy may be another user
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
            env=os.environ | {"TMPDIR": folder},
        )
        made = _Worker(process, printed, folder, since=time.monotonic())
        with suppress(OSError):
            pickle.dump((os.getpid(), self._memory), _stdin(made))
        threading.Thread(target=self._listen, args=(made,), daemon=True).start()
        self._workers.append(made)
        return made

    def _listen(self, w: _Worker) -> None:
        """Forward a process's messages, in a separate thread; None is its end."""
        assert w.process.stdout is not None  # it is a pipe
        with suppress(Exception), w.process.stdout as answers:  # its end, or nothing to be read
            while True:
                self._answers.put((w, pickle.load(answers)))
        w.process.kill()
        w.process.wait()
        self._answers.put((w, None))

    def _handle(self, w: _Worker, answer: Any) -> list[Event]:
        if answer is None:
            return self._bury(w)
        if answer == READY:
            w.ready, w.since, self._failed_starts = True, time.monotonic(), 0
        elif answer == OUT_OF_MEMORY:
            w.out_of_memory = True
        else:
            w.since, task = time.monotonic(), w.tasks.pop(0)
            failed = isinstance(answer, _Failed)
            return [
                TaskFailed((task,), (), answer.reason, False)
                if failed
                else TaskCompleted(task, answer)
            ]
        return []

    def _bury(self, w: _Worker) -> list[Event]:
        """Find out why a process is gone."""
        if w in self._workers:
            self._workers.remove(w)
        crash_state.remove(w.folder)
        if not w.tasks:
            return []
        if not w.ready and not self._finishing:
            self._failed_starts += 1
            if self._failed_starts == STARTS:
                raise InputError(f"a worker cannot begin: {self._reason(w)}")
            return [TaskFailed((), w.tasks, "")]
        if self._finishing and w.process.returncode == 0 and not w.out_of_memory:
            return [TaskFailed((), w.tasks, "")]
        again = w.hung is None and not w.out_of_memory
        return [TaskFailed(w.tasks[:1], w.tasks[1:], self._reason(w), again)]

    def _reason(self, w: _Worker) -> str:
        code = w.process.returncode
        if w.hung is not None:
            return f"it came to no end within {w.hung:g} s"
        if w.out_of_memory:
            return f"it needs more than {self._memory:.3g} GB of memory"
        if code < 0:
            name = signal.Signals(-code).name
            hint = ", out of memory?" if name == "SIGKILL" else ""
            return f"its process was ended by {name}{hint}{_last_line(w.printed)}"
        return f"its process ended itself with status {code}{_last_line(w.printed)}"

    def _kill_the_hung(self) -> None:
        now = time.monotonic()
        for w in self._workers:
            if w.tasks and w.hung is None:
                limit = self._patience(w.tasks[0]) if w.ready else BEGINNING
                if now - w.since > limit:
                    w.hung = limit
                    w.process.kill()


def _stdin(w: _Worker) -> IO[bytes]:
    assert w.process.stdin is not None  # it is a pipe
    return w.process.stdin


def _last_line(printed: IO[bytes]) -> str:
    """Return the last line that a process has printed, as the end of a sentence."""
    size = printed.seek(0, os.SEEK_END)
    printed.seek(max(0, size - LAST))
    lines = printed.read().decode(errors="replace").strip().splitlines()
    return f"; output: {''.join(c for c in lines[-1] if c.isprintable())[:200]}" if lines else ""


def share_of_memory(size: int) -> float | None:
    """Return the memory of the machine divided by the number of processes, GB."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1.0, 0.9 * whole / (1 << 30) / size)


def work() -> None:
    """Work as one of the processes: tasks come on standard input, answers go to standard output.

    When standard input ends, the task in hand is finished. Whatever a policy prints goes into a
    file that is not read, unless the process dies: its last line may state why.
    """
    inbox = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # standard error is a file: see `_start`
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it
    parent, memory = pickle.load(inbox)
    interrupts.die_with(parent)
    chunks: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
    over = threading.Event()
    threading.Thread(target=_listen, args=(inbox, chunks, over), daemon=True).start()
    ready = False
    while (tasks := chunks.get()) is not None:
        if not ready:
            ready = True
            _limit(memory)
            _answer(answers, READY)
        for task in tasks:
            if over.is_set():
                break
            try:
                _answer(answers, task.compute())
            except MemoryError:
                _answer(answers, OUT_OF_MEMORY)
                os._exit(0)
            except Exception as err:  # whatever it is: the process goes on
                _answer(answers, _Failed(" ".join(explain(err).split())))
        sys.stdout.flush()
        os.ftruncate(2, 0)  # the file of the output must not grow for ever
    answers.close()
    os._exit(0)  # threads that a policy has left behind do not matter


def _listen(inbox: IO[bytes], chunks: queue.SimpleQueue[Any], over: threading.Event) -> None:
    try:
        while True:
            chunks.put(pickle.load(inbox))
    except (EOFError, OSError):
        over.set()
        chunks.put(None)
    except BaseException:  # it cannot be read: nothing else would report it
        traceback.print_exc()
        os._exit(1)


def _answer(answers: IO[bytes], found: Any) -> None:
    pickle.dump(found, answers, pickle.HIGHEST_PROTOCOL)
    answers.flush()


def _limit(gigabytes: float | None) -> None:
    """Have memory run out for this process alone, beyond its present size."""
    if gigabytes is None or not sys.platform.startswith("linux"):
        return
    import resource  # which not every system has

    # loaded beyond the limit, its OpenBLAS would retry an allocation for ever
    import scipy.linalg  # noqa: F401

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + int(gigabytes * (1 << 30))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
