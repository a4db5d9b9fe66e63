"""Declarations of published job lists: the columns that identify a format, and their meaning.

A file is of the format whose needed columns it has. Where it has those of several, it is of the
one that needs the columns of all the others too; if there is none, it is refused. Columns that are
neither used nor known to contain nothing new are reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from optsched.problem import InputError
from optsched.traces.columns import Columns, Number, missing_columns
from optsched.traces.lines import first_row

Table = dict[str, Any]
TEXTS = ("name", "user", "model", "partition", "hosts", "gpu_type")  # columns without numbers


@dataclass(frozen=True)
class TraceFormat:
    """A list that is known by its columns.

    Attributes
    ----------
    needed : tuple of str
        The columns by which it is known.
    columns : mapping
        Columns of the table -> columns of the file, as far as it has them.
    per : mapping
        Column of the table -> by which the numbers of the file are divided.
    rules : mapping
        Column of the table -> what its numbers may be, where that is not the usual.
    constant : mapping
        Column of the table -> what it is in every row.
    implied : tuple of str
        Columns of the file that follow from others, or are labels: nothing is lost without them.
    lists : tuple of str
        Columns of the file that distinguish several lists, each with a clock of its own.
    headless : mapping
        The columns of files without a header, if such are published -> what the first row has
        there, as regular expressions.
    skip : (str, str), optional
        Rows whose column of this name holds this text are left out: parts of others.
    more : callable, optional
        What is not one number or text of the file -> more columns of the table.
    """

    name: str
    needed: tuple[str, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    per: Mapping[str, float] = field(default_factory=dict)
    rules: Mapping[str, Number] = field(default_factory=dict)
    constant: Mapping[str, Any] = field(default_factory=dict)
    implied: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    headless: Mapping[str, str] = field(default_factory=dict)
    skip: tuple[str, str] | None = None
    more: Callable[[Columns], Table] | None = None

    def fits(self, names: Sequence[str]) -> bool:
        """Whether a file with these columns may be of this format."""
        return {*self.needed} <= {*names}

    def fits_row(self, fields: Sequence[str]) -> bool:
        """Whether a file without a header that begins with this row is of this format."""
        return len(fields) == len(self.headless) and all(
            re.fullmatch(like, text)
            for like, text in zip(self.headless.values(), fields, strict=True)
        )

    def table(self, columns: Columns, rules: Mapping[str, Number]) -> Table:
        """Return what the columns state; of numbers, those that have a rule."""
        found: Table = dict(self.constant)
        for to, name in self.columns.items():
            if name in columns and to in TEXTS:
                found[to] = columns.text(name)
            elif name in columns and to in rules:
                rule = self.rules.get(to, rules[to])
                found[to] = columns.numbers(name, rule) / self.per.get(to, 1)
        return found | (self.more(columns) if self.more else {})


def recognized(path: Path, formats: Sequence[TraceFormat]) -> tuple[TraceFormat, tuple[str, ...]]:
    """Return the format of a file, and its columns.

    Raises
    ------
    InputError
        It is of no format, or it may be of several.
    """
    names = tuple(first_row(path).fields)
    fitting = [f for f in formats if f.fits(names)]
    if not fitting:
        raise missing_columns(path, names, {f.name: f.needed for f in formats})
    best = max(fitting, key=lambda f: len(f.needed))
    rivals = [f for f in fitting if not {*f.needed} <= {*best.needed}]
    if rivals:
        needed = "; ".join(f"{f.name}: {', '.join(f.needed)}" for f in (best, *rivals))
        raise InputError(
            f"{path}, line 1: may be of several formats ({needed}), expected the columns of one"
        )
    return best, names
