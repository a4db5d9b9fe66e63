"""Blocks of a page: text, tables, figures, pictures, code. Each names its template."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from optsched.pages.scales import AxisScale

MOST_ROWS = 300  # of a table; more is counted


@dataclass(frozen=True)
class TableCell:
    """The text of a table cell, and its number, to the last bit."""

    text: str
    numbers: tuple[float, ...] = ()  # the first one sorts
    code: bool = False

    @property
    def exact(self) -> str:
        """The numbers, as Python and JavaScript read them."""
        return " ".join(repr(x) if isinstance(x, int) else repr(float(x)) for x in self.numbers)


def number(x: float | None, form: str = ".4g") -> TableCell:
    """Return a cell with a number; a dash where there is none."""
    return TableCell("-") if x is None else TableCell(format(x, form), (x,))


def count(n: int) -> TableCell:
    """Return a cell with a whole number."""
    return TableCell(str(n), (n,))


def sandbox(seal: str) -> TableCell:
    """Return whether a policy ran in a sandbox."""
    return TableCell({"sandbox": "yes", "no sandbox": "no"}.get(seal, seal))


def ends(text: str, low: float, high: float | None) -> TableCell:
    """Return a cell with an interval that is written ``text``."""
    return TableCell(text, (low, math.inf if high is None else high))


@dataclass(frozen=True)
class ColumnHeader:
    """The head of a column; ``help`` states what it means where the name alone does not."""

    name: str
    help: str = ""


@dataclass(frozen=True)
class SortableTable:
    """A table that can be sorted; of very many rows the first ones."""

    kind: ClassVar[str] = "table"
    name: str  # by which tests and scripts find it
    title: str
    columns: Sequence[ColumnHeader]
    rows: Sequence[Sequence[TableCell]]
    note: str = ""
    total: int | None = None  # how many rows there are, where not all are here
    where: str = ""  # where all of them are

    @property
    def numeric(self) -> list[bool]:
        """Whether a column has numbers, which are right-aligned."""
        return [any(row[k].numbers for row in self.rows) for k in range(len(self.columns))]

    @property
    def shown(self) -> Sequence[Sequence[TableCell]]:
        """The rows that are shown on the page."""
        return self.rows[:MOST_ROWS]

    @property
    def cut(self) -> str:
        """Note on rows that are left out."""
        total = len(self.rows) if self.total is None else self.total
        if total <= len(self.shown):
            return ""
        return f"The first {len(self.shown)} of {total}. {self.where}".strip()


@dataclass(frozen=True)
class Bar:
    """One number, or an interval: places are percent of the axis."""

    name: str
    colour: int
    text: str  # the numbers, in words
    tip: str
    low: float
    high: float
    inside: tuple[float, float] | None = None  # ends of the 95 % interval
    open: bool = False  # low and high differ
    beyond: bool = False  # the high end is beyond the axis


@dataclass(frozen=True)
class Bars:
    """Numbers, one below the other, on one axis."""

    kind: ClassVar[str] = "bars"
    title: str
    label: str  # of the axis
    bars: Sequence[Bar]
    scale: AxisScale
    note: str = ""
    origin: float = 1.0  # where bars begin: the ratio of the best with hindsight

    @property
    def marks(self) -> list[tuple[float, str]]:
        """Marks of the axis, in percent."""
        return [(100 * x, text) for x, text in self.scale.marks()]

    @property
    def one(self) -> float:
        """Position of where bars begin, in percent."""
        return 100 * self.scale.at(self.origin)


@dataclass(frozen=True)
class Curve:
    """A curve of steps: drawn, and as numbers on hover."""

    name: str
    colour: int
    lines: Sequence[str]  # paths in a box of 1000 x 500; the second is dashed
    band: str = ""  # path of the area between them
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Plot:
    """Curves in a box with two axes."""

    kind: ClassVar[str] = "plot"
    title: str
    x_label: str
    y_label: str
    x: AxisScale
    y: AxisScale
    curves: Sequence[Curve]
    note: str = ""

    @property
    def x_marks(self) -> list[tuple[float, str]]:
        """Marks of the horizontal axis, in percent."""
        return [(100 * x, text) for x, text in self.x.marks()]

    @property
    def y_marks(self) -> list[tuple[float, str]]:
        """Marks of the vertical axis, in percent from the top."""
        return [(100 * (1 - y), text) for y, text in self.y.marks()]

    @property
    def data(self) -> dict[str, Any]:
        """Data of the script for the pointer."""
        return {
            "axis": [self.x.low, self.x.high, int(self.x.log)],
            "across": self.x_label,
            "curves": [{"name": c.name, "colour": c.colour, **c.numbers} for c in self.curves],
        }


@dataclass(frozen=True)
class Picture:
    """A picture of schedules, drawn by their family."""

    kind: ClassVar[str] = "picture"
    title: str
    source: str  # a data URI
    width: int  # in pixels, on a wide screen
    words: str  # text alternative of the figure


@dataclass(frozen=True)
class Words:
    """Sentences; a list if there are several."""

    kind: ClassVar[str] = "words"
    lines: Sequence[str]


@dataclass(frozen=True)
class FactList:
    """Names and what is reported of them."""

    kind: ClassVar[str] = "facts"
    name: str
    facts: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Code:
    """A command, or the text of a file."""

    kind: ClassVar[str] = "code"
    caption: str
    text: str


Block = SortableTable | Bars | Plot | Picture | Words | FactList | Code


@dataclass(frozen=True)
class Section:
    """A part of a page."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """The content of the file."""

    title: str
    subtitle: str
    answer: Sequence[str]  # sentences, the most important one first
    remarks: Sequence[str]  # what must be reported with them
    sections: Sequence[Section]
