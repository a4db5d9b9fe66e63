"""Columns of text turned into numbers; the first wrong field is reported with its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from optsched.numbers.arrays import Flags, Floats
from optsched.problem import InputError
from optsched.traces.lines import MOST_ROWS, Row, read_csv

SECONDS = 1e11  # above any date in Unix time
AMOUNT = 1e9


@dataclass(frozen=True)
class Number:
    """What a column may hold: numbers of ``low``..``high``, in words ``what``."""

    what: str
    low: float = 0.0
    high: float = AMOUNT
    whole: bool = False
    above_low: bool = False
    may_be_empty: bool = False

    def wrong(self, x: Floats) -> Flags:
        """Return where ``x`` (NaN: no number) is not allowed."""
        bad = (
            ~np.isfinite(x)
            | (x > self.high)
            | ((x <= self.low) if self.above_low else (x < self.low))
        )
        if self.whole:
            bad |= ~(x == np.floor(x))
        return np.asarray(bad, dtype=np.bool_)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        low = "above" if self.above_low else "at least"
        empty = ", or nothing where it is not known" if self.may_be_empty else ""
        return f"{kind} {low} {self.low:g} and at most {self.high:g} ({self.what}){empty}"


TASKS = Number("tasks at once", low=1, high=1e6, whole=True)
RUN = Number("seconds")
SUBMIT = Number("seconds", high=SECONDS)
DEMAND = Number("of one task", may_be_empty=True)
BEGIN = Number("seconds", high=SECONDS, may_be_empty=True)


class Columns:
    """The columns of a file by name, as text, with the line that every row comes from."""

    def __init__(self, path: Path, names: Sequence[str], rows: Iterable[Row]) -> None:
        self.path = path
        self.line: list[int] = []
        self.cells: dict[str, list[str]] = {name: [] for name in names}
        columns = list(self.cells.values())
        for row in rows:
            self.line.append(row.line)
            for column, text in zip(columns, row.fields, strict=True):
                column.append(text)
            if len(self.line) > MOST_ROWS:
                raise InputError(
                    f"{path}, line {row.line}: more than {MOST_ROWS} rows, expected at most that; "
                    "cut the file"
                )

    def __len__(self) -> int:
        return len(self.line)

    def __contains__(self, name: str) -> bool:
        return name in self.cells

    def text(self, name: str) -> list[str]:
        """Return a column as it is written; nothing in any row where there is none."""
        return self.cells.get(name) or [""] * len(self)

    def names(self, column: str = "") -> list[str]:
        """Return a column of names; where there is none, the line of every row."""
        return self.cells.get(column) or [f"line {line}" for line in self.line]

    def numbers(self, name: str, rule: Number) -> Floats:
        """Return a column as numbers, NaN where it is empty and may be.

        Raises
        ------
        InputError
            A field is no number, or outside the rule; the first such row is named.
        """
        cells = pd.Series(self.cells[name], dtype=object)
        numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
        bad = rule.wrong(numbers)
        if rule.may_be_empty:
            bad &= (cells != "").to_numpy(dtype=np.bool_)
        self.refuse(name, bad, str(rule))
        return numbers

    def times(self, name: str) -> tuple[pd.Series[pd.Timestamp], Floats]:
        """Return a column of dates, and the seconds since the first of them."""
        stamps = pd.to_datetime(
            pd.Series(self.cells[name], dtype=object), format="%Y-%m-%d %H:%M:%S", errors="coerce"
        )
        self.refuse(name, stamps.isna().to_numpy(), "a date such as 2017-10-09 07:01:55")
        return stamps, np.asarray((stamps - stamps.min()).dt.total_seconds(), dtype=np.float64)

    def refuse(self, name: str, bad: Flags, expected: str) -> None:
        """Report the first row where ``bad`` holds, if any."""
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(
                f"{self.path}, line {self.line[k]}, {name}: is {shown(self.cells[name][k])}, "
                f"expected {expected}"
            )


def read_columns(path: Path, names: Sequence[str]) -> Columns:
    """Read a comma-separated file whose header is known."""
    rows = read_csv(path)
    next(rows)
    return Columns(path, names, rows)


def must_be_known(columns: Columns, needed: Sequence[str], optional: Sequence[str]) -> None:
    """Refuse a column that nobody reads."""
    unknown = [n for n in columns.cells if n not in (*needed, *optional)]
    if unknown:
        raise InputError(
            f"{columns.path}, line 1: unknown column {unknown[0]!r}, expected {', '.join(needed)} "
            f"and if you like {', '.join(optional)}"
        )


def shown(text: str) -> str:
    """Return ``text`` quoted, cut if it is long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def missing_columns(
    path: Path, names: Sequence[str], formats: Mapping[str, Sequence[str]]
) -> InputError:
    """Return the message for a header that fits no format: what the nearest one needs."""
    kind, needed = max(formats.items(), key=lambda f: len({*f[1]} & {*names}) / len(f[1]))
    lacking = [n for n in needed if n not in names]
    if len(lacking) == len(needed):
        known = "; ".join(f"{k}: {', '.join(v)}" for k, v in formats.items())
        return InputError(
            f"{path}, line 1: has the columns {shown(', '.join(names))}, expected those of one "
            f"format ({known})"
        )
    return InputError(
        f"{path}, line 1: lacks {'column' if len(lacking) == 1 else 'columns'} "
        f"{', '.join(lacking)}, "
        f"expected as {kind}: {', '.join(needed)}"
    )
