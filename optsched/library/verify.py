"""Verify a library: schedules are checked, certificates re-evaluated; no solver is used."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from optsched.experiments.map_cells import call_all
from optsched.library.packs import Library, Pack
from optsched.library.table import FILE, Row, contradictions, derive, rows_of
from optsched.problem import InputError

AT_ONCE = {"small": 200}  # entries that a process takes; of others:
FEW = 4
MOST_PARTS = 25  # of a pack: each is read from its beginning


@dataclass
class LibraryReport:
    """Result of the verification."""

    rows: list[Row] = field(default_factory=list)  # of the tables, as derived
    damaged: dict[str, list[str]] = field(default_factory=dict)  # name -> what is wrong
    read: int = 0  # entries that were looked at
    seed: int | None = None  # that has drawn them; None: all were looked at

    @property
    def accepted(self) -> bool:
        """Whether there was something, and nothing is wrong with it."""
        return self.read > 0 and not self.damaged

    def by_status(self) -> dict[str, int]:
        """Return the numbers of entries; a damaged one has no status."""
        return dict(Counter(r["status"] for r in self.rows if r["name"] not in self.damaged))

    def summary(self) -> dict[str, Any]:
        """Return the content of ``--json``."""
        return {
            "accepted": self.accepted,
            "entries": self.read,
            "status": self.by_status(),
            "damaged": self.damaged,
        }

    def lines(self) -> list[str]:
        """Return the reader's report: every damaged entry, and the sum."""
        texts = [f"{name}: {what}" for name, wrong in self.damaged.items() for what in wrong]
        counts = ", ".join(f"{n} {status}" for status, n in sorted(self.by_status().items()))
        outcome = "accepted" if self.accepted else f"rejected, {len(self.damaged)} damaged"
        drawn = "" if self.seed is None else f"; drawn with --seed {self.seed}"
        return [*texts, f"{self.read} entries: {outcome}; {counts or 'none'}{drawn}"]

    def complain(self, name: str, *wrong: str) -> None:
        """Note what is wrong with an entry or a file."""
        if wrong:
            self.damaged.setdefault(name, []).extend(wrong)


def verify(
    library: Library,
    *,
    families: tuple[str, ...] | None = None,
    workers: int = 1,
    tables: bool = True,
    sample: int = 1,
    seed: int | None = None,
    callback: Callable[[str], None] = lambda _text: None,
) -> LibraryReport:
    """Check all entries, and compare the derived rows with the tables.

    Parameters
    ----------
    library : Library
    families : tuple of str, optional
        Of which; by default all.
    workers : int
        Processes.
    tables : bool
        Whether there are tables to compare with; a build makes them from the results here.
    sample : int
        Of this many consecutive entries, look at one that is drawn at random; 1: all.
    seed : int, optional
        Draws them; by default a fresh one, so that the omitted entries cannot be predicted.
    callback : callable
        Called now and then with the progress.

    Raises
    ------
    InputError
        There is no such family.
    KeyboardInterrupt
        An end was requested.
    """
    unknown = {*(families or ())} - {*library.families}
    if unknown:
        raise InputError(
            f"{library.folder}: has no family {min(unknown)}, expected one of: "
            f"{', '.join(library.families)}"
        )
    seed = secrets.randbits(32) if seed is None else seed
    found = LibraryReport(seed=seed if sample > 1 else None)
    packs = [p for p in library.packs if families is None or p.family in families]
    cells: dict[int, dict[str, Any]] = {}
    for pack in packs:
        callback(f"reading {pack.path.name}")
        try:
            there = sum(1 for _ in pack.lines())
        except InputError as err:
            found.complain(f"{pack.family}-{pack.kind}", str(err))
            continue
        at_once = AT_ONCE.get(pack.kind.split("-")[0], FEW)
        size = max(at_once, -(-there // (MOST_PARTS * sample))) * sample
        for first in range(1, there + 1, size):
            last = min(first + size - 1, there)
            cell = {"pack": str(pack.path), "first": first, "last": last}
            cell |= {"sample": sample, "seed": seed}
            cells[len(cells)] = cell
    total = sum(len(_numbers(cell)) for cell in cells.values())

    def keep(_k: int, answer: Mapping[str, Any]) -> None:
        found.read += len(_numbers(answer))
        found.rows += answer["rows"]
        for name, wrong in answer["wrong"].items():
            found.complain(name, *wrong)
        callback(f"{found.read} of {total} entries, {len(found.damaged)} damaged")

    def lost(k: int, why: str) -> None:
        cell = cells[k]
        found.complain(f"{Path(cell['pack']).name}, lines {cell['first']} to {cell['last']}", why)

    call_all(look, cells, keep=keep, workers=workers, lost=lost)
    names: dict[str, str] = {}
    for row in sorted(found.rows, key=lambda row: str(row["name"])):
        name = names.setdefault(row["sha256"], row["name"])
        if name != row["name"]:
            found.complain(row["name"], f"is the same instance as {name}, expected another")
    if tables:
        for family in dict.fromkeys(pack.family for pack in packs):
            _compare(library, family, found, whole=sample == 1)
    return found


def _numbers(cell: Mapping[str, Any]) -> list[int]:
    """Return the entries that a cell looks at: one of each ``sample`` consecutive ones."""
    first, last, sample = cell["first"], cell["last"], cell["sample"]
    if sample == 1:
        return [*range(first, last + 1)]
    rng = random.Random(f"{cell['seed']} {Path(cell['pack']).name} {first}")
    starts = range(first, last + 1, sample)
    return [start + rng.randrange(min(sample, last + 1 - start)) for start in starts]


def look(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Check some lines of a pack; a function of its own for other processes."""
    rows, wrong = [], {}
    given = {*_numbers(cell)}
    pack = Pack(Path(cell["pack"]))
    for k, (name, text) in enumerate(pack.lines(cell["first"], cell["last"]), cell["first"]):
        if k not in given:
            continue
        try:
            row, complaints = derive(name, text)
            rows.append(row)
        except InputError as err:
            complaints = [str(err).removeprefix(f"{name}: ")]
        wrong[name] = complaints
    return {"rows": rows, "wrong": wrong}


def _compare(library: Library, family: str, found: LibraryReport, *, whole: bool) -> None:
    """Compare the derived rows of a family with its table."""
    try:
        listed = {row["name"]: row for row in rows_of(library, family)}
    except InputError as err:
        found.complain(f"{family}/{FILE}", str(err))
        return
    mine = {row["name"]: row for row in found.rows if row["name"].startswith(f"{family}-")}
    for name, row in mine.items():
        if name not in found.damaged:  # else derived values mean nothing
            found.complain(name, *contradictions(row, listed.get(name)))
    if whole:
        for name in sorted({*listed} - {*mine} - {*found.damaged}):
            found.complain(name, f"{FILE} has a row of it, but no pack holds it")
