"""Columns of text turned into numbers; the first wrong field is reported with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd

from optsched.numbers.arrays import Flags, Floats
from optsched.problem import InputError
from optsched.process import messages
from optsched.traces.lines import MOST_ROWS, TextLine, is_number, read_csv, separator

SECONDS = 1e11  # above any date in Unix time
AMOUNT = 1e9


@dataclass(frozen=True)
class Number:
    """Values of a column: numbers of ``low``..``high``, in words ``what``."""

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
RUN = Number("seconds", may_be_empty=True)
SUBMIT = Number("seconds", high=SECONDS)
DEMAND = Number("of one task", may_be_empty=True)
BEGIN = Number("seconds", high=SECONDS, may_be_empty=True)
UNKNOWN = ("", "None", "Unknown")  # of a date
ZONE = r"[^:]*:.*(Z|[+-]\d\d(:?\d\d)?)"  # a date with a time zone
CLOCK = pd.Timestamp("1900", tz="UTC"), pd.Timestamp("2200", tz="UTC")
DATE = r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d|$)"  # how a date in ISO 8601 begins


class Columns:
    """The columns of a file by name, as text, with the line that every row comes from.

    It notes which columns are read, so that the others can be reported.
    """

    def __init__(
        self, path: Path, names: Sequence[str], rows: Iterable[TextLine], *, comma: bool = False
    ) -> None:
        self.path = path
        self.comma = comma  # decimal commas are allowed
        self.read: set[str] = set()
        self.with_commas: list[str] = []
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

    def keep(self, rows: Sequence[int]) -> None:
        """Leave out all rows but these."""
        self.line = [self.line[k] for k in rows]
        self.cells = {name: [cells[k] for k in rows] for name, cells in self.cells.items()}

    def text(self, name: str) -> list[str]:
        """Return a column as it is written; nothing in any row where there is none."""
        self.read.add(name)
        return self.cells.get(name) or [""] * len(self)

    def names(self, column: str = "") -> list[str]:
        """Return a column of names; where there is none, the line of every row."""
        self.read.add(column)
        return self.cells.get(column) or [f"line {line}" for line in self.line]

    def numbers(self, name: str, rule: Number) -> Floats:
        """Return a column as numbers, NaN where it is empty and may be.

        Raises
        ------
        InputError
            A field is no number, or outside the rule; the first such row is named.
        """
        self.read.add(name)
        cells = pd.Series(self.cells[name], dtype=object)
        written = cells
        if self.comma and (with_comma := cells.str.contains(",", regex=False)).any():
            self._refuse_points(name, cells, with_comma)
            self.with_commas.append(name)
            written = cells.where(~with_comma, cells.str.replace(",", ".", n=1, regex=False))
        numbers = pd.to_numeric(written, errors="coerce").to_numpy(dtype=np.float64)
        bad = rule.wrong(numbers)
        if rule.may_be_empty:
            bad &= (cells != "").to_numpy(dtype=np.bool_)
        self.refuse(name, bad, str(rule))
        return numbers

    def _refuse_points(self, name: str, cells: pd.Series[str], with_comma: pd.Series[bool]) -> None:
        """Refuse points or further commas next to decimal commas: they may separate thousands."""
        k = int(np.argmax(with_comma))
        other = cells.str.contains(".", regex=False) | (cells.str.count(",") > 1)
        self.refuse(
            name,
            other.to_numpy(dtype=np.bool_),
            "one decimal mark in the whole column, and no mark between thousands (line "
            f"{self.line[k]} has a comma: {shown(cells.iloc[k])})",
        )

    def times(
        self, *names: str, rules: Sequence[Number] = (SUBMIT,)
    ) -> tuple[pd.Timestamp | None, list[Floats]]:
        """Return columns of times, in seconds of one clock, and the date at which it is 0.

        Parameters
        ----------
        *names : str
            Columns of numbers, or of dates in ISO 8601, with or without fractions and time zones;
            which, the first field of the first column states.
        rules : sequence of Number
            Of each column; where it may be empty, a date may be unknown.

        Returns
        -------
        Timestamp or None
            In the time zone of the first row; None if the columns hold numbers.
        list of arrays
        """
        first = next((text for text in self.cells[names[0]] if text not in UNKNOWN), "0")
        if is_number(first.replace(",", ".", 1) if self.comma else first):
            for name, rule in zip(names, rules, strict=True):
                if rule.may_be_empty:
                    cells = self.cells[name]
                    self.cells[name] = ["" if text in UNKNOWN else text for text in cells]
            return None, [self.numbers(n, rule) for n, rule in zip(names, rules, strict=True)]
        zoned = re.fullmatch(ZONE, first) is not None
        dates = [self._dates(name, rule, zoned) for name, rule in zip(names, rules, strict=True)]
        origin = dates[0].min()
        zone = pd.Timestamp(first).tzinfo
        return origin.tz_convert(zone) if zone else origin.tz_localize(None), [
            np.asarray((d - origin).dt.total_seconds(), dtype=np.float64) for d in dates
        ]

    def _dates(self, name: str, rule: Number, zoned: bool) -> pd.Series[pd.Timestamp]:
        self.read.add(name)
        cells = pd.Series(self.cells[name], dtype=object)
        known = cells.mask(~cells.str.match(DATE))
        dates = pd.to_datetime(known, format="ISO8601", utc=True, errors="coerce")
        dates = dates.where(dates.between(*CLOCK))  # beyond it, differences overflow
        bad = dates.isna()
        if rule.may_be_empty:
            bad &= ~cells.isin(UNKNOWN)
        self.refuse(name, bad.to_numpy(), "seconds, or a date such as 2017-10-09 07:01:55")
        other = dates.notna() & (cells.str.fullmatch(ZONE) != zoned)
        zone = f"a date {'with' if zoned else 'without'} a time zone, like the first one"
        self.refuse(name, other.to_numpy(dtype=np.bool_), zone)
        return dates

    def warn_unread(
        self, kind: str, known: Sequence[str] = (), optional: Iterable[str] = ()
    ) -> None:
        """Report columns that were not read, but for ``known``, which contain nothing new.

        A column may be meant as an ``optional`` one that is missing: it is named. Decimal commas
        are reported too: 1,200 might be meant as 1200.
        """
        absent = [name for name in optional if name not in self.cells]
        unread = []
        for name in self.cells:
            if name and name not in {*self.read, *known}:
                near = get_close_matches(name, absent, n=1, cutoff=0.8)
                unread.append(f"{name} (is it {near[0]}?)" if near else name)
        if unread:
            messages.remark(f"{self.path} ({kind}): columns that are not used: {', '.join(unread)}")
        if self.with_commas:
            messages.remark(f"{self.path}: decimal commas are in {', '.join(self.with_commas)}")

    def refuse(self, name: str, bad: Flags, expected: str) -> None:
        """Report the first row where ``bad`` holds, if any."""
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(
                f"{self.path}, line {self.line[k]}, {name}: is {shown(self.cells[name][k])}, "
                f"expected {expected}"
            )


def read_columns(
    path: Path,
    names: Sequence[str],
    *,
    headless: bool = False,
    skip: tuple[str, str] | None = None,
) -> Columns:
    """Read a table in text whose columns are known; between semicolons, commas may be decimal.

    Rows that repeat the header are left out; with ``skip`` (a column, a text), also rows whose
    column holds the text.

    Raises
    ------
    InputError
        As `read_csv`; also where two columns have one name.
    """
    must_differ(path, names)
    rows = read_csv(path)
    if not headless:
        next(rows)
    if skip is not None:
        k, text = [*names].index(skip[0]), skip[1]
        rows = (row for row in rows if text not in row.fields[k])
    columns = Columns(path, names, rows, comma=separator(path) == ";")
    again = {
        k for k in range(len(columns)) if all(x[k] == name for name, x in columns.cells.items())
    }
    if again:
        first = columns.line[min(again)]
        columns.keep([k for k in range(len(columns)) if k not in again])
        messages.remark(
            f"{path}: line {first} repeats the header"
            + f", {len(again)} lines do" * (len(again) > 1)
            + ": left out"
        )
    return columns


def shown(text: str) -> str:
    """Return ``text`` quoted, cut if it is long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def must_differ(path: Path, names: Sequence[str]) -> None:
    """Refuse a header in which two columns have one name."""
    for k, name in enumerate(names):
        if name in names[:k]:
            raise InputError(
                f"{path}, line 1: two columns are called {name!r}, expected different names"
            )


def missing_columns(
    path: Path, names: Sequence[str], formats: Mapping[str, Sequence[str]]
) -> InputError:
    """Return the message for a header that fits no format: what the nearest and the last need.

    Names of columns are no numbers, and differ; if these do not, that is the message.
    """
    numbers = [name for name in names if is_number(name)]
    if numbers:
        return InputError(
            f"{path}, line 1: has no header, since it holds the number {numbers[0]}; expected the "
            "names of the columns"
        )
    must_differ(path, names)
    kind, needed = max(formats.items(), key=lambda f: len({*f[1]} & {*names}) / len(f[1]))
    *others, own = formats
    if 2 * len({*needed} & {*names}) < len(needed):  # not near to any
        kind, needed = own, formats[own]
    lacking = [n for n in needed if n not in names]
    if len(lacking) == len(needed):
        known = f"{own}: {', '.join(formats[own])}" + (
            f"; or {', '.join(others)}" if others else ""
        )
        return InputError(
            f"{path}, line 1: has the columns {shown(', '.join(names))}, expected those of one "
            f"format ({known}); rename yours to these"
        )
    near = [shown(x) for n in lacking for x in get_close_matches(n, names, n=1, cutoff=0.8)]
    has = f" (has {', '.join(near)})" if near else ""
    return InputError(
        f"{path}, line 1: lacks {'column' if len(lacking) == 1 else 'columns'} "
        f"{', '.join(lacking)}{has}, "
        f"expected as {kind}: {', '.join(needed)}"
        + (f"; or as {own}: {', '.join(formats[own])}" if kind != own else "")
    )
