"""A campaign of calls: one function on many cells, whose rows are in a separate file.

Figures of papers and benchmarks are such campaigns. A cell is a mapping of plain JSON, its row has
the same names and more; so stored rows show by themselves which cells are done.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from optsched.experiments.pool import LOOK, ProcessPool, TaskCompleted
from optsched.files.format import plain
from optsched.process import blas, interrupts

Row = dict[str, Any]
Function = Callable[..., Mapping[str, Any]]


@dataclass(frozen=True)
class _Call:
    """One cell; ``function`` may be the name of one in a module."""

    mark: int
    function: Function | tuple[str, str]
    cell: Row
    more: tuple[Any, ...]

    def compute(self) -> Row:
        function = self.function
        if isinstance(function, tuple):
            function = getattr(import_module(function[0]), function[1])
        with blas.one_thread():  # as many as there are processes are at work
            return self.cell | json_of(function(self.cell, *self.more))


def json_of(row: Mapping[str, Any]) -> Row:
    """Return a row as JSON would hand it back."""
    content: Row = json.loads(json.dumps(plain(dict(row)), allow_nan=False))
    return content


def stored_rows(cells: Sequence[Mapping[str, Any]], known: Sequence[Row]) -> list[Row | None]:
    """Return by cell the first of the known rows that is its own; None: there is none."""
    requested = map(json_of, cells)
    return [next((r for r in known if cell.items() <= r.items()), None) for cell in requested]


def call_all(
    function: Function,
    cells: Mapping[int, Mapping[str, Any]],
    *more: Any,
    keep: Callable[[int, Row], None],
    workers: int = 1,
    failed: Callable[[int, str], None] | None = None,
) -> None:
    """Call a function on cells, and keep every row as soon as it is there.

    Parameters
    ----------
    function : callable
        (cell, *more) -> the result, the part of the row next to the cell. With several workers,
        it is a function of a module, or of a script.
    cells : mapping
        Number -> plain JSON.
    *more : object
        Further arguments, the same for all.
    keep : callable
        Called with the number of a cell and its row.
    workers : int
        Processes; 1: this one.
    failed : callable, optional
        Called with the number of a cell whose process ended without a row, and the reason.

    Raises
    ------
    KeyboardInterrupt
        An end was requested; running cells do not count.
    RuntimeError
        A call in another process has failed, and there is no ``failed``.
    """
    if workers == 1:
        for k, cell in cells.items():
            row = _Call(k, function, json_of(cell), more).compute()
            interrupts.raise_if_interrupted()  # an interrupted cell has no result
            keep(k, row)
        return
    found: Function | tuple[str, str] = function
    if function.__module__ == "__main__":  # a script: another process imports it by its name
        found = Path(str(sys.modules["__main__"].__file__)).stem, function.__qualname__
    calls = deque(_Call(k, found, json_of(cell), more) for k, cell in cells.items())
    pool = ProcessPool(min(workers, max(1, len(calls))))
    try:
        while calls or pool.busy():
            while calls and pool.has_capacity():
                pool.submit([calls.popleft()])
            for event in pool.poll(LOOK):
                if isinstance(event, TaskCompleted):
                    keep(event.task.mark, event.found)
                    continue
                for task in event.suspects:
                    if failed is None:
                        raise RuntimeError(f"{task.cell}: {event.reason}")
                    failed(task.mark, event.reason)
                calls.extend(event.rest)
            interrupts.raise_if_interrupted()
    finally:
        pool.close()
