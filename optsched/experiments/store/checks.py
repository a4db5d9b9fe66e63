"""Validation of a result store before use: its tables and their content.

An untrusted file may hold views that never end, triggers, or texts instead of
numbers. All of it is refused in one line, before the first query that would run into it.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from optsched.experiments.cell_keys import CALLED, Reference, contender_of, source_of
from optsched.experiments.store.schema import APPLICATION, FORMAT, LINKS, RANGES, TABLES
from optsched.files.atomic_io import open_file
from optsched.files.format import must_be_printable, short
from optsched.policies.loader import no_name
from optsched.problem import OLD_METHODS, InputError, Level, get_family

STORE = "expected a store that optsched campaign run has written"
LARGEST = 1 << 27  # bytes of one value
DIGEST = 32  # bytes of the longest digest
PATIENCE = 5.0  # seconds of processor time that a query may take, and
PACE = 10e6  # bytes of the file on the disk for which it may take a second more,
LONGEST = 600.0  # seconds at most
SPARSE = 1 << 30  # bytes from which a file that is hardly there is refused
STEPS = 50_000  # of SQLite's machine between two looks at the clock
HEAD = b"SQLite format 3\0"
ROLLBACK = b"\1\1"  # bytes 18 and 19: no write-ahead log


class Patience:
    """Ends a query that takes longer than any query of a store of this size."""

    def __init__(self, path: Path) -> None:
        self._path, self._until = path, float("inf")

    def __call__(self) -> bool:
        """Whether the query that runs has had its time."""
        return time.thread_time() > self._until

    @contextmanager
    def limited(self, *others: Path) -> Iterator[None]:
        """Limit the queries inside, of this file and of others that are attached."""
        size = sum(map(_stored, (self._path, *others)))
        self._until = time.thread_time() + min(LONGEST, PATIENCE + size / PACE)
        try:
            yield
        finally:
            self._until = float("inf")


def _stored(path: Path) -> int:
    """Return how many bytes of a file are on the disk: holes do not count."""
    found = path.stat()
    return min(found.st_size, 512 * getattr(found, "st_blocks", found.st_size))


def begins_well(path: Path) -> None:
    """Refuse a file that is no database, or needs further files next to it.

    Raises
    ------
    InputError
        It is another file, has a write-ahead log, which no store has, or consists of holes.
    """
    with open_file(path) as f:
        head = f.read(20)
    if head and (head[:16] != HEAD or head[18:] != ROLLBACK):
        raise InputError(f"{path}: is no store of a campaign, {STORE}")
    size = path.stat().st_size
    if size > SPARSE and _stored(path) < size / 100:
        raise InputError(f"{path}: has {size} bytes, of which hardly any are there, {STORE}")


def check(path: Path, db: sqlite3.Connection) -> None:
    """Refuse a database that is no store, or in which something cannot be.

    Raises
    ------
    InputError
        The message states what is wrong, and in which table.
    sqlite3.Error
        The file is damaged.
    """
    found = tuple(
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if found != (APPLICATION, FORMAT):
        raise InputError(f"{path}: is no store of a campaign of format {FORMAT}, {STORE}")
    objects, columns = _expected()
    there = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchmany(1000)
    if {*there} != objects:
        names = {str(row[1]) for row in {*there} ^ objects}
        raise InputError(
            f"{path}: has other tables, views or triggers: {short(min(names))}; {STORE}"
        )
    if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):  # and double keys
        raise InputError(f"{path}: is damaged, {STORE}")
    for table, conditions in columns.items():
        sums = ", ".join(f"sum({wrong})" for wrong in conditions.values())
        counts = db.execute(f"SELECT {sums} FROM {table}").fetchone()
        for name, n in zip(conditions, counts, strict=True):
            if n:
                raise InputError(
                    f"{path}: table {table}, column {name}: {n} rows hold what "
                    f"cannot be there; {STORE}"
                )
    _words(path, db)


@cache
def _expected() -> tuple[set[Any], dict[str, dict[str, str]]]:
    """Return the tables as SQLite lists them, and of every column when it is wrong, in SQL."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(TABLES)
        objects = {*db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")}
        tables = [name for kind, name, *_ in objects if kind == "table"]
        columns = {
            table: {
                name: _wrong(table, name, kind, nullable=not (required or key))
                for _, name, kind, required, _, key in db.execute(f"PRAGMA table_info({table})")
            }
            for table in sorted(tables)
        }
    return objects, columns


def _wrong(table: str, name: str, kind: str, *, nullable: bool) -> str:
    wrong = f"typeof({name}) <> '{kind.lower()}'"
    if kind == "BLOB":
        wrong += f" OR length({name}) > {DIGEST}"
    if name in RANGES:
        wrong += f" OR {name} NOT BETWEEN {RANGES[name][0]} AND {RANGES[name][1]}"
    if name in LINKS and table != LINKS[name]:
        wrong += f" OR {name} NOT IN (SELECT id FROM {LINKS[name]})"
    return f"({name} IS NOT NULL AND ({wrong}))" if nullable else f"({wrong})"


def _words(path: Path, db: sqlite3.Connection) -> None:
    """Refuse texts that are not valid for their column."""
    methods = {*OLD_METHODS}  # and those of the families of the cells

    def source(text: str) -> None:
        methods.update(get_family(source_of(text)[0]).methods)

    def policy(text: str) -> None:
        if not (isinstance(json.loads(text)["policy"], str) and contender_of(text)):
            raise TypeError("a name is no text")

    def reference(text: str) -> None:
        _must_be_search(Reference(**json.loads(text)), methods)

    kinds: dict[str, Callable[[str], object]] = {
        "SELECT source FROM instance": source,
        "SELECT policy FROM cell": policy,
        "SELECT reference FROM cell UNION SELECT reference FROM optimum": reference,
        "SELECT versions FROM cell UNION SELECT versions FROM optimum": _versions,
    }
    for query, read in kinds.items():
        for (text,) in db.execute(f"SELECT text FROM word WHERE id IN ({query})"):
            try:
                must_be_printable(json.loads(text))
                read(text)
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as err:
                what = query.split()[1]
                raise InputError(f"{path}: {short(text)} is no {what} of a cell; {STORE}") from err
    named = (
        "SELECT DISTINCT s.text, m.text FROM cell c JOIN word m ON m.id = c.message "
        "JOIN instance i ON i.id = c.instance JOIN word s ON s.id = i.source WHERE c.status = 0"
    )  # of cells that are done
    for source_text, message in db.execute(named):
        _, calls, name = message.partition(CALLED)
        wrong = no_name(get_family(source_of(source_text)[0]), name, own=False) if calls else None
        if wrong is not None:
            raise InputError(f"{path}: the name of a policy {wrong}; {STORE}")
    cells = db.execute("SELECT value FROM fact WHERE name = 'cells'").fetchone()
    if cells is not None and not (cells[0].isascii() and cells[0].isdigit() and len(cells[0]) < 19):
        raise InputError(f"{path}: the number of cells is {short(cells[0])}; {STORE}")


def _must_be_search(reference: Reference, methods: Collection[str]) -> None:
    limits = [x for x in (reference.effort, reference.time_limit) if x is not None]
    if not limits or not all(map(_is_amount, (*limits, reference.gap, reference.seed))):
        raise TypeError("a limit is no number")
    if reference.method not in methods or reference.check not in [*Level]:
        raise ValueError("no such method or level")
    if not isinstance(reference.params, dict):
        raise TypeError("parameters are no table")


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


def _versions(text: str) -> None:
    if not all(isinstance(version, str) for version in dict(json.loads(text)).values()):
        raise TypeError("a version is no text")
