"""Repeats a figure of a paper: a campaign of calls, one JSON file, a picture, a verdict.

The file is written after every cell; a later call takes up what it finds there, if code, versions
and time limit are the same. Every row states which code made it. Rows that are taken up are not
run again, and so are not verified: the output states how many there are.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import optsched
from optsched.drawing import save
from optsched.experiments.map_cells import call_all, stored_rows
from optsched.files.format import read_json, short, write_json
from optsched.files.provenance import machine, versions
from optsched.papers import PAPERS, Experiment, experiments
from optsched.papers.experiment import Row
from optsched.papers.verdict import Outcome
from optsched.problem import InputError
from optsched.process import interrupts

ROOT = Path(optsched.__file__).parent
FOLDERS = ("core", "engine", "numbers", "policies", "proofs", "scheduling", "solvers", "problem.py")
PICTURES = {"pictures", "pictures.py"}  # of a family: they change no number
BORROWED = re.compile(r"optsched\.families\.(\w+)")
LENGTH = 12  # hexadecimal digits that are stored


@dataclass(frozen=True)
class Reproduction:
    """Result, and where it is stored."""

    experiment: Experiment
    done: int
    cells: int
    outcome: Outcome | None  # None: not finished
    results: Path
    picture: Path | None
    foreign: int = 0  # rows that other code has made
    kept: int = 0  # rows that were stored before

    def __str__(self) -> str:
        stored = f"numbers: {self.results}"
        if self.outcome is None:
            return (
                f"{self.experiment.title}\n  {self.done} of {self.cells} cells done; the same "
                f"command goes on from here\n  {stored}"
            )
        kept = (
            f"  from {self.results}, not run again: {self.kept} of {self.cells} cells\n"
            if self.kept
            else ""
        )
        kept += (
            f"  {self.foreign} of {self.cells} rows were made by other code than this\n"
            if self.foreign
            else ""
        )
        why = "\n    ".join([*map(str, self.outcome.findings), *self.outcome.notes])
        return (
            f"{self.experiment.title}\n  the paper: {self.experiment.claim}\n"
            f"  {self.outcome.score}:\n"
            f"    {why}\n{kept}  {stored}, picture: {self.picture}"
        )

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "name": self.experiment.name,
            "title": self.experiment.title,
            "done": self.done,
            "cells": self.cells,
            "not_run_again": self.kept,
            "rows_of_other_code": self.foreign,
            **facts_of(self.outcome),
            "results": str(self.results),
            "picture": None if self.picture is None else str(self.picture),
        }


def facts_of(outcome: Outcome | None) -> dict[str, Any]:
    """Return the score and the statements it rests on, as they are stored."""
    if outcome is None:
        return {"score": None, "findings": None, "notes": None}
    return {
        "score": outcome.score,
        "findings": [f.summary() for f in outcome.findings],
        "notes": list(outcome.notes),
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
    first_seed: int | None = None,
    time_limit: float | None = None,
    workers: int | None = None,
    keep_rows: bool = False,
    command: str = "",
    callback: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run the cells that ``folder`` does not hold yet; store numbers, picture and verdict.

    Parameters
    ----------
    chosen : Experiment
    folder : Path
        Gets NAME.json and NAME.png; with ``first_seed`` N, NAME-from-N.json and NAME-from-N.png.
    seeds : int, optional
        Instances per point, by default the experiment's.
    first_seed : int, optional
        Seed of the first instance, by default the experiment's: other instances of the same
        settings.
    time_limit : float, optional
        Seconds per optimum, by default the experiment's.
    workers : int, optional
        Processes, by default one per core. Their number changes no result.
    keep_rows : bool
        Whether rows that other code, or other versions of libraries, have made are taken up too,
        as far as their cells are the same. They keep the digest of the code that made them.
    command : str
        Stored next to the numbers.
    callback : callable, optional
        Called with a sentence after every cell.

    Returns
    -------
    Reproduction
        After Ctrl-C, without a verdict; what is done is stored.
    """
    limit = chosen.time_limit if time_limit is None else time_limit
    cells, name = list(chosen.cells(chosen.seeds if seeds is None else seeds)), chosen.name
    if first_seed is not None:
        shift = first_seed - min(cell["seed"] for cell in cells)
        cells = [cell | {"seed": cell["seed"] + shift} for cell in cells]
        name = f"{chosen.name}-from-{first_seed}"
    path = folder / f"{name}.json"
    code = code_digest(chosen.run, chosen.family)
    rows = stored_rows(cells, _stored(path, limit, None if keep_rows else code))
    kept = sum(row is not None for row in rows)
    head = {
        "name": chosen.name,
        "title": chosen.title,
        "claim": chosen.claim,
        "settings": [setting._asdict() for setting in chosen.settings],
        "few": chosen.few,
        "command": command,
        "machine": machine(),
        "versions": versions(),
        "code": code,
        "first_seed": first_seed,
        "time_limit": limit,
    }

    def store(**more: Any) -> list[Row]:
        done = [row for row in rows if row is not None]
        content = head | {"cells": len(cells)} | more | {"rows": done}
        write_json(path, "reproduction", chosen.family, content)
        return done

    def keep(k: int, row: Row) -> None:
        rows[k] = row | {"code": code}
        done = len(store())
        if callback is not None:
            callback(f"{done} of {len(cells)} cells")

    missing = {k: cells[k] for k, row in enumerate(rows) if row is None}
    try:
        call_all(chosen.run, missing, limit, keep=keep, workers=workers or os.cpu_count() or 1)
    except KeyboardInterrupt:
        return Reproduction(chosen, len(store()), len(cells), None, path, None)
    done = store()
    try:
        outcome = chosen.judge(done)
        below = outcome.caption(chosen.claim)
        figure = chosen.picture(done)
    except (TypeError, ValueError, LookupError, ArithmeticError, AssertionError) as err:
        if not kept:
            raise
        raise InputError(  # malformed rows come from the file
            f"{path}: no verdict follows from its rows ({type(err).__name__}: {err}), expected "
            "rows as optsched wrote them; without the file all cells run again"
        ) from err
    picture = save(figure, folder / f"{name}.png", below=below)
    foreign = sum(row.get("code") != code for row in done)
    store(**facts_of(outcome), rows_of_other_code=foreign)
    return Reproduction(chosen, len(cells), len(cells), outcome, path, picture, foreign, kept)


def _stored(path: Path, limit: float, code: str | None) -> list[Row]:
    """Return the rows that an earlier call has stored with the same limit.

    With a digest of code, those that this code has made with the same versions.
    """
    if not path.exists():
        return []
    content = read_json(path, "reproduction")
    if content.get("time_limit") != limit:
        return []
    rows: list[Row] = content.get("rows", [])
    if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
        raise InputError(f'{path}: "rows" is {short(rows)}, expected a list of objects')
    if code is not None:
        same = content.get("versions") == versions()
        rows = [row for row in rows if same and row.get("code") == code]
    return rows


def code_digest(run: Callable[..., Any], family: str) -> str:
    """Return the digest of the code that makes a row of an experiment: what can change its numbers.

    That is the module of the experiment's `run`, its family, those it borrows from, and all common
    packages where numbers are made.
    """
    own = inspect.getsource(inspect.getmodule(run) or run)
    return hashlib.sha256(f"{_digest_of_folders(family)}\n{own}".encode()).hexdigest()[:LENGTH]


@cache
def _digest_of_folders(family: str) -> str:
    """Return a digest of all source files that count, whatever the experiment."""
    families, found = [family], hashlib.sha256()
    for path in (path for folder in FOLDERS for path in _sources(ROOT / folder)):
        found.update(path.read_bytes())
    for name in families:  # grows
        for path in _sources(ROOT / "families" / name):
            text = path.read_text(encoding="utf-8")
            found.update(text.encode())
            families += [f for f in BORROWED.findall(text) if f not in families]
    return found.hexdigest()


def _sources(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    for path in sorted(place.rglob("*.py")):
        if not {*path.relative_to(place).parts} & PICTURES:
            yield path
