"""The store: one SQLite file, written by one process, a row per cell that has been computed.

All its cells are done: no row marks a running cell, so a run that is killed leaves
nothing behind that is untrue. Rows are committed twice a second, and a commit is on the disk. There
is no write-ahead log: its two further files do not work on the shared disks of clusters.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from optsched.experiments.cell_keys import canonical
from optsched.experiments.store import checks
from optsched.experiments.store.schema import APPLICATION, FORMAT, MERGE, OPTIMUM, TABLES, VIEW
from optsched.problem import InputError, Level

WAIT = 20.0  # seconds that another program may hold the file
LEVELS = list(Level)


class CellState(IntEnum):
    """How a cell or an optimum ended."""

    DONE = 0
    LIMIT = 1  # an optimum that is open, because its limit was reached
    ERROR = 2


@dataclass(frozen=True, slots=True)
class StoredOptimum:
    """Value and bound of the optimum of an instance."""

    digest: bytes | None  # of the instance; None: it was never made
    status: CellState
    value: float | None = None
    bound: float | None = None
    level: Level | None = None
    certified: float | None = None
    effort: float | None = None
    seconds: float = 0.0
    wall: float = 0.0
    schedule: bytes | None = None  # digest
    certificate: bytes | None = None  # digest
    message: str | None = None

    @property
    def proved(self) -> float | None:
        """The bound that ratios rest on: the certified one if there is one."""
        return self.bound if self.certified is None else self.certified

    @property
    def nothing_exists(self) -> bool:
        """Whether the instance is infeasible."""
        return self.status is CellState.DONE and self.value is None and self.bound is None


@dataclass(frozen=True, slots=True)
class CellRow:
    """Outcome of a cell."""

    digest: bytes | None
    status: CellState
    value: float | None = None
    known: float | None = None  # as a schedule of the model; None: it is none
    low: float | None = None
    high: float | None = None
    seconds: float = 0.0  # for all decisions
    wall: float = 0.0
    schedule: bytes | None = None  # digest
    message: str | None = None


class Store:
    """A file of rows; made by :meth:`open` or :meth:`create`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._db = path, connection
        self._patience = checks.Patience(path)
        connection.set_progress_handler(self._patience, checks.STEPS)
        self._words: dict[str, int] = {}
        self._instances: dict[bytes, int] = {}
        self._digests: dict[bytes, bytes | None] = {}

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a store that is there, to read it.

        Raises
        ------
        InputError
            There is none, it is none, another version made it, or its content is impossible.
        """
        if not path.is_file():
            raise InputError(f"{path}: there is no such store, {checks.STORE}")
        checks.begins_well(path)
        with _explained(path):
            return cls(path, _connected(path, "rw"))._checked(reading=True)

    @classmethod
    def create(cls, path: Path) -> Self:
        """Open a store to add rows; make it where there is none.

        Raises
        ------
        InputError
            It cannot be written, is another file, or its content is impossible.
        """
        if path.is_file():
            checks.begins_well(path)
        with _explained(path):
            db = _connected(path, "rwc")
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                # one transaction: a process that is killed meanwhile leaves an empty file
                db.execute("BEGIN IMMEDIATE")
                for statement in TABLES.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION}")
                db.execute(f"PRAGMA user_version = {FORMAT}")
                db.execute("COMMIT")
            return cls(path, db)._checked(reading=False)

    def _checked(self, *, reading: bool) -> Self:
        try:
            with self._patience.limited():
                checks.check(self.path, self._db)
            if reading:
                self._db.execute("PRAGMA query_only = ON")
        except BaseException:
            self.close()
            raise
        return self

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Limit the time of a query, and turn an error of SQLite into one line."""
        with _explained(self.path), self._patience.limited():
            yield

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Write all rows that are added inside, or none.

        Raises
        ------
        InputError
            They cannot be written; earlier rows stay.
        """
        with _explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._words.clear()
                self._instances.clear()
                self._digests.clear()
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def facts(self) -> dict[str, str]:
        """Return the summary of the whole campaign."""
        with self._reading():
            return dict(self._db.execute("SELECT name, value FROM fact"))

    def state(self, **facts: str) -> None:
        """Record a fact about the campaign as a whole; inside :meth:`batch`."""
        self._db.executemany("INSERT OR REPLACE INTO fact VALUES (?, ?)", facts.items())

    def word(self, content: Any) -> int:
        """Return the number of a text (or of a content, as JSON); inside :meth:`batch`."""
        text = content if isinstance(content, str) else canonical(content)
        if text not in self._words:
            self._db.execute("INSERT OR IGNORE INTO word (text) VALUES (?)", (text,))
            found = self._db.execute("SELECT id FROM word WHERE text = ?", (text,)).fetchone()
            self._words[text] = found[0]
        return self._words[text]

    def instance(self, key: bytes, source: Any, seed: int, digest: bytes | None) -> int:
        """Return the number of an instance; inside :meth:`batch`.

        Raises
        ------
        InputError
            The same key made another instance before.
        """
        if key not in self._instances:
            self._db.execute(
                "INSERT OR IGNORE INTO instance (key, source, seed) VALUES (?, ?, ?)",
                (key, self.word(source), seed),
            )
            found = self._db.execute("SELECT id, digest FROM instance WHERE key = ?", (key,))
            self._instances[key], self._digests[key] = found.fetchone()
        before = self._digests[key]
        if digest is not None and before is None:
            number = self._instances[key]
            self._db.execute("UPDATE instance SET digest = ? WHERE id = ?", (digest, number))
            # known by its key alone: that its optimum failed
            self._db.execute(
                "UPDATE OR REPLACE optimum SET digest = ? WHERE digest = ?", (digest, key)
            )
            self._digests[key] = digest
        elif digest not in (None, before):
            raise InputError(
                f"{self.path}: seed {seed} of {canonical(source)} was another instance when its "
                "first cells were computed, expected the same; have versions changed?"
            )
        return self._instances[key]

    def add_best(self, key: bytes, best: StoredOptimum, *, reference: Any, versions: Any) -> None:
        """Add an optimum, once the instance is there; inside :meth:`batch`."""
        self._db.execute(
            "INSERT OR IGNORE INTO optimum VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(self._digests[key] or key, self.word(reference), int(best.status)),
                *(best.value, best.bound),
                None if best.level is None else LEVELS.index(best.level),
                *(best.certified, best.effort, _micros(best.seconds), _micros(best.wall)),
                *(best.schedule, best.certificate, self.word(versions)),
                None if best.message is None else self.word(best.message),
            ),
        )

    def add_row(
        self,
        key: bytes,
        row: CellRow,
        *,
        instance: int,
        reference: Any,
        policy: Any,
        replication: int,
        seed: int,
        versions: Any,
    ) -> None:
        """Add a cell; inside :meth:`batch`."""
        self._db.execute(
            "INSERT OR IGNORE INTO cell VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(key, instance, self.word(reference), self.word(policy), replication, seed),
                *(int(row.status), row.value, row.known, row.low, row.high),
                *(_micros(row.seconds), _micros(row.wall), row.schedule, self.word(versions)),
                None if row.message is None else self.word(row.message),
            ),
        )

    def forget_errors(self) -> int:
        """Drop the rows that state an error, so that they are tried again; return how many."""
        with self.batch():
            failed = "SELECT digest FROM optimum WHERE status = 2"
            gone = self._db.execute(
                "DELETE FROM cell WHERE status = 2 OR instance IN (SELECT id FROM instance "
                f"WHERE coalesce(digest, key) IN ({failed}))"
            ).rowcount
            self._db.execute("DELETE FROM optimum WHERE status = 2")
        return gone

    def cell_keys(self) -> set[bytes]:
        """Return the keys of all cells that are there."""
        return {key for (key,) in self.rows("SELECT key FROM cell")}

    def optima(self) -> Iterator[tuple[bytes, str, str, StoredOptimum]]:
        """Yield all optima: key of the instance, texts of its source and of the reference, optimum.

        Instances that are equal have the same optimum.
        """
        for key, source, reference, *row in self.rows(f"SELECT i.key, s.text, w.text, {OPTIMUM}"):
            yield key, source, reference, _best(StoredOptimum(*row))

    def counts(self) -> list[tuple[str, int, int]]:
        """Return how many cells there are, by source and status."""
        return self.rows(
            "SELECT w.text, status, sum(n) FROM (SELECT i.source AS source, max(c.status, "
            "coalesce(o.status, 1)) AS status, n FROM (SELECT instance, reference, status, "
            "count(*) AS n FROM cell GROUP BY 1, 2, 3) c JOIN instance i ON i.id = c.instance "
            "LEFT JOIN optimum o ON o.digest = coalesce(i.digest, i.key) AND o.reference = "
            "c.reference) JOIN word w ON w.id = source GROUP BY source, status"
        )

    def optimum(self, key: bytes, reference: str) -> tuple[StoredOptimum | None, str]:
        """Return the optimum of an instance, if there is one, and its versions."""
        where = "JOIN word v ON v.id = o.versions WHERE i.key = ? AND w.text = ?"
        for versions, *row in self.rows(f"SELECT v.text, {OPTIMUM} {where}", (key, reference)):
            return _best(StoredOptimum(*row)), versions
        return None, ""

    def view(self, keys: Sequence[bytes] | None = None) -> Iterator[dict[str, Any]]:
        """Return all cells (or some) with their optima, by key; each by its columns' names."""
        some = "" if keys is None else f" WHERE c.key IN ({', '.join('?' * len(keys))})"
        with self._reading():
            cursor = self._db.execute(f"{VIEW}{some} ORDER BY c.key", keys or ())
            rows = cursor.fetchall()
        names = [column[0] for column in cursor.description]
        return (dict(zip(names, row, strict=True)) for row in rows)

    def rows(self, query: str, given: Sequence[Any] = ()) -> list[Any]:
        """Return the result of a query."""
        with self._reading():
            return self._db.execute(query, given).fetchall()

    def take(self, other: Path) -> None:
        """Take over all rows of another store; where both have one, the better one (see `MERGE`).

        Raises
        ------
        InputError
            It cannot be read, or has another instance under the same key.
        """
        with _explained(self.path):
            self._db.execute("ATTACH ? AS part", (str(other.resolve()),))
            try:
                with self._patience.limited(other), self.batch():
                    for statement in MERGE.split(";"):
                        self._db.execute(statement)
                    apart = self._db.execute(
                        "SELECT count(*) FROM part.instance p JOIN main.instance i USING (key) "
                        "WHERE p.digest <> i.digest"
                    ).fetchone()[0]
                    if apart:
                        raise InputError(
                            f"{other}: {apart} of its instances have the keys of other instances, "
                            "expected the same; have versions changed?"
                        )
            finally:
                self._db.execute("DETACH part")


def _best(stored: Any) -> StoredOptimum:
    """Return an optimum of which status, level and times are as in a row of the table."""
    best: StoredOptimum = replace(
        stored,
        status=CellState(stored.status),
        level=None if stored.level is None else LEVELS[stored.level],
        seconds=stored.seconds / 1e6,
        wall=stored.wall / 1e6,
    )
    return best


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    """Open a file. The first reader rolls back a half-committed transaction."""
    db = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=WAIT, isolation_level=None
    )
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, checks.LARGEST)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA trusted_schema = OFF")
    return db


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into one line."""
    try:
        yield
    except sqlite3.Error as err:
        raise InputError(f"{path}: {_reason(str(err))}") from err


@lru_cache
def _reason(text: str) -> str:
    for word, reason in (
        ("readonly", "cannot be written: it may only be read, expected a file of your own"),
        ("locked", "cannot be written: another program holds it, expected it to be free"),
        ("full", "cannot be written: the disk is full; what was stored before is kept"),
        ("disk I/O", "cannot be written: the disk refuses; what was stored before is kept"),
        ("interrupted", f"takes too long to be read, and is damaged, {checks.STORE}"),
        ("not a database", f"is no store of a campaign, {checks.STORE}"),
        ("malformed", f"is damaged, {checks.STORE}"),
        ("unable to open", "cannot be opened, expected a file in a folder that can be written"),
    ):
        if word in text:
            return reason
    return f"cannot be used: {text}"
