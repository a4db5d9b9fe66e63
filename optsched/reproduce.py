"""Repeats a figure of a paper: cells in parallel, one JSON file, a picture, a verdict.

The file is written after every cell; a later call takes up what it finds there, if the versions and
the time limit are the same.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optsched.drawing import save
from optsched.files.envelope import plain, read_json, write_json
from optsched.files.provenance import machine, versions
from optsched.papers import PAPERS, Experiment, experiments
from optsched.papers.experiment import Cell, Outcome, Row
from optsched.problem import InputError
from optsched.process import interrupts

LOOK = 0.2  # seconds between two looks at what a signal has left


@dataclass(frozen=True)
class Reproduction:
    """What came out, and where it is stored."""

    experiment: Experiment
    done: int
    cells: int
    outcome: Outcome | None  # None: not finished
    results: Path
    picture: Path | None

    def __str__(self) -> str:
        stored = f"numbers: {self.results}"
        if self.outcome is None:
            return (
                f"{self.experiment.title}\n  {self.done} of {self.cells} cells done; the same "
                f"command goes on from here\n  {stored}"
            )
        agrees = "agrees with the paper" if self.outcome.agrees else "does not agree with the paper"
        why = "\n    ".join(self.outcome.words.split("; "))
        return (
            f"{self.experiment.title}\n  the paper: {self.experiment.claim}\n  {agrees}:\n"
            f"    {why}\n  {stored}, picture: {self.picture}"
        )

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "name": self.experiment.name,
            "title": self.experiment.title,
            "done": self.done,
            "cells": self.cells,
            "agrees": None if self.outcome is None else self.outcome.agrees,
            "verdict": None if self.outcome is None else self.outcome.words,
            "results": str(self.results),
            "picture": None if self.picture is None else str(self.picture),
        }


def experiment(name: str) -> Experiment:
    """Return the experiment called ``name``.

    Raises
    ------
    InputError
        There is none.
    """
    paper = name.partition("-")[0]
    for found in experiments(paper) if paper in PAPERS else ():
        if found.name == name:
            return found
    known = ", ".join(e.name for paper in PAPERS for e in experiments(paper))
    raise InputError(f"unknown experiment {name!r}, expected one of: {known}")


@interrupts.remembered()
def reproduce(
    chosen: Experiment,
    folder: Path,
    *,
    seeds: int | None = None,
    time_limit: float | None = None,
    workers: int | None = None,
    command: str = "",
    tell: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run the cells that ``folder`` does not hold yet; store numbers, picture and verdict.

    Parameters
    ----------
    chosen : Experiment
    folder : Path
        Gets NAME.json and NAME.png.
    seeds : int, optional
        Instances per point, by default the experiment's.
    time_limit : float, optional
        Seconds per optimum, by default the experiment's.
    workers : int, optional
        Processes, by default one per core. Their number changes no result.
    command : str
        Stored beside the numbers.
    tell : callable, optional
        Called with a sentence after every cell.

    Returns
    -------
    Reproduction
        After Ctrl-C, without a verdict; what is done is stored.
    """
    limit = chosen.time_limit if time_limit is None else time_limit
    cells = list(chosen.cells(chosen.seeds if seeds is None else seeds))
    path = folder / f"{chosen.name}.json"
    rows: list[Row | None] = _stored(path, cells, limit)
    head = {
        "name": chosen.name,
        "title": chosen.title,
        "claim": chosen.claim,
        "command": command,
        "machine": machine(),
        "versions": versions(),
        "time_limit": limit,
    }

    def store(**more: Any) -> list[Row]:
        done = [row for row in rows if row is not None]
        content = head | {"cells": len(cells), "rows": done} | more
        write_json(path, "reproduction", chosen.family, content)
        return done

    missing = [k for k, row in enumerate(rows) if row is None]
    try:
        for k, numbers in _run(chosen, cells, missing, limit, workers or os.cpu_count() or 1):
            rows[k] = cells[k] | numbers
            done = store()
            if tell is not None:
                tell(f"{len(done)} of {len(cells)} cells")
    except KeyboardInterrupt:
        return Reproduction(chosen, len(store()), len(cells), None, path, None)
    summary = chosen.summarize(store())
    outcome = chosen.judge(summary)
    picture = save(chosen.draw(summary), folder / f"{chosen.name}.png")
    store(summary=summary, agrees=outcome.agrees, verdict=outcome.words)
    return Reproduction(chosen, len(cells), len(cells), outcome, path, picture)


def _stored(path: Path, cells: Sequence[Cell], limit: float) -> list[Row | None]:
    """Return the rows that an earlier call has stored, by cell; None where there is none."""
    if not path.exists():
        return [None] * len(cells)
    content = read_json(path, "reproduction")
    if content.get("versions") != versions() or content.get("time_limit") != limit:
        return [None] * len(cells)
    rows = content.get("rows", [])
    names = list(cells[0]) if cells else []
    known = {_key({n: row.get(n) for n in names}): row for row in rows}
    return [known.get(_key(cell)) for cell in cells]


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True)


def _run(
    chosen: Experiment, cells: Sequence[Cell], missing: Sequence[int], limit: float, workers: int
) -> Iterator[tuple[int, Row]]:
    """Run the missing cells; yield each with its numbers, as JSON would hand them back."""
    if workers == 1:
        for k in missing:
            interrupts.raise_if_asked()
            numbers = chosen.run(cells[k], limit)
            interrupts.raise_if_asked()  # what was cut short is no result
            yield k, _plain(numbers)
        return
    with _pool(min(workers, max(1, len(missing)))) as pool:
        futures = {pool.submit(chosen.run, cells[k], limit): k for k in missing}
        while futures:
            done, _ = wait(futures, LOOK, return_when=FIRST_COMPLETED)
            for future in done:
                yield futures.pop(future), _plain(future.result())
            interrupts.raise_if_asked()


def _plain(row: Row) -> Row:
    content: Row = json.loads(json.dumps(plain(row), allow_nan=False))
    return content


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Hold a pool of fresh processes; whatever goes wrong, none of them outlives it."""
    earlier = {p.pid for p in multiprocessing.active_children()}
    context = multiprocessing.get_context("spawn")  # solvers run threads, which do not survive fork
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=interrupts.leave_to, initargs=(os.getpid(),)
    )
    try:
        yield pool
    except BaseException:
        for process in multiprocessing.active_children():
            if process.pid not in earlier:
                process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
