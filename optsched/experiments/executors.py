"""Executors of others: any of `concurrent.futures`, and a running Dask cluster.

They report a chunk only when all of it is over. So when one comes to nothing, its tasks are tried
again one by one.
"""

from __future__ import annotations

import logging
import os
import platform
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from optsched.experiments.pool import Event, Task, TaskCompleted, TaskFailed
from optsched.files.provenance import all_versions
from optsched.problem import InputError

PATIENCE = 10.0  # seconds for a scheduler to answer
LOGS = ("distributed", "distributed.client", "distributed.utils", "concurrent.futures")


def compute_all(tasks: Sequence[Task], versions: dict[str, str]) -> list[Any]:
    """Return the results of several tasks.

    Raises
    ------
    InputError
        This process has other versions than those that the results are to be of: it may have joined
        a cluster after the command had looked at its workers.
    """
    must_be_alike(f"process {os.getpid()} on {platform.node()}", all_versions(), versions)
    return [task.compute() for task in tasks]


class Futures:
    """An executor of `concurrent.futures`.

    Parameters
    ----------
    executor : Executor
        It stays open: its creator closes it.
    size : int
        How many chunks are handed in at a time.
    failure : callable, optional
        Returns why nothing more will come, None as long as something may.
    """

    def __init__(
        self, executor: Executor, size: int, failure: Callable[[], str | None] = lambda: None
    ) -> None:
        self.size = size
        self._executor, self._failure = executor, failure
        self._running: dict[Future[Any], Sequence[Task]] = {}
        self._over: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._finishing = False
        self._compute = partial(compute_all, versions=all_versions())
        self._refused: InputError | None = None  # a worker

    def has_capacity(self) -> bool:
        """Whether fewer chunks are handed in than there should be."""
        return not self._finishing and len(self._running) < self.size

    def busy(self) -> bool:
        """Whether a chunk has not come back."""
        return bool(self._running)

    def running(self) -> list[Task]:
        """Return the first task of every chunk that has not come back."""
        return [tasks[0] for tasks in self._running.values()]

    def submit(self, tasks: Sequence[Task]) -> None:
        """Hand in a chunk.

        Raises
        ------
        InputError
            The executor takes no more.
        """
        try:
            future = self._executor.submit(self._compute, list(tasks))
        except RuntimeError as err:  # it is broken, or was shut down
            raise InputError(f"the executor takes no more work: {err}") from err
        self._running[future] = tasks
        future.add_done_callback(self._over.put)

    def poll(self, seconds: float) -> list[Event]:
        """Return the new events; wait at most this long.

        Raises
        ------
        InputError
            Nothing more will come, or a worker has other versions.
        """
        if self._refused is not None:
            raise self._refused
        gone = self._failure()
        if gone is not None:
            self._running.clear()  # they could not be withdrawn
            raise InputError(gone)
        found: list[Event] = []
        with suppress(queue.Empty):
            found += self._handle(self._over.get(timeout=seconds))
            while True:
                found += self._handle(self._over.get_nowait())
        return found

    def finish(self) -> None:
        """Take back the tasks that have not begun."""
        self._finishing = True
        for future in list(self._running):
            future.cancel()

    def close(self) -> None:
        """Wait for nothing more."""
        self.finish()

    def _handle(self, future: Future[Any]) -> list[Event]:
        tasks = self._running.pop(future)
        if future.cancelled():
            return [TaskFailed((), tasks, "")]
        err = future.exception()
        if isinstance(err, InputError):  # not of a cell, which is a result
            self._refused = err
            return [TaskFailed((), tasks, "")]
        if err is not None:
            message = " ".join(f"{type(err).__name__}: {err}".split())
            return [TaskFailed(tasks, (), message[:600])]
        return [
            TaskCompleted(task, found) for task, found in zip(tasks, future.result(), strict=True)
        ]


@contextmanager
def dask(address: str) -> Iterator[Futures]:
    """Connect to a Dask cluster whose workers have the same versions as this process.

    Parameters
    ----------
    address : str
        Of the scheduler: tcp://HOST:PORT.

    Raises
    ------
    InputError
        Dask is not installed, no scheduler answers, there is no worker, or one has other versions.
    """
    try:
        from distributed import Client
    except ImportError as err:
        raise InputError("Dask is not installed, expected: pip install 'optsched[dask]'") from err
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as err:
        raise InputError(f"{address}: no Dask scheduler answers: {err}") from err
    with _silent(*LOGS), client:
        found = client.run(all_versions)
        if not found:
            raise InputError(f"{address}: the Dask cluster has no workers, expected at least one")
        for worker, there in found.items():
            must_be_alike(worker, there, all_versions())
        threads = sum(client.nthreads().values())

        def failure() -> str | None:
            if client.status == "running":
                return None
            return (
                f"{address}: the Dask scheduler is gone, expected it to stay; what was done is "
                "stored, and the same command goes on from there"
            )

        yield Futures(client.get_executor(pure=False, retries=0), 2 * threads, failure)


@contextmanager
def _silent(*names: str) -> Iterator[None]:
    """Silence the logs of libraries: important events have our own line."""
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def must_be_alike(worker: str, there: dict[str, str], here: dict[str, str]) -> None:
    """Refuse a worker that computes with other versions than the command.

    Raises
    ------
    InputError
        Names the worker and the first package that differs.
    """
    for name in sorted({*here, *there}):
        if here.get(name) != there.get(name):
            raise InputError(
                f"worker {worker} has {name} {there.get(name, 'not at all')}, "
                f"expected {here.get(name, 'none')} as where the command runs"
            )
