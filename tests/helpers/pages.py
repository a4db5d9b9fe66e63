"""What stands in a page: its tables, with the numbers behind them, and all its text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path


@dataclass
class Table:
    """The head, and of each row the texts and the numbers."""

    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    numbers: list[list[list[float]]] = field(default_factory=list)

    def texts(self) -> list[dict[str, str]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def exact(self) -> list[dict[str, list[float]]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.numbers]


class Page(HTMLParser):
    """A page that was read: tables by name, facts, tags with their attributes, words."""

    def __init__(self, path: Path):
        super().__init__()
        self.tables: dict[str, Table] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self._table: Table | None = None
        self._cell: str | None = None
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "table":
            self._table = self.tables.setdefault(given["data-name"], Table())
        elif tag == "tr" and self._table is not None and self._table.columns:
            self._table.rows.append([])
            self._table.numbers.append([])
        elif tag in ("td", "th"):
            self._cell = ""
            if tag == "td":
                said = (given.get("data-v") or "").split()
                self._table.numbers[-1].append([float(x) for x in said])

    def handle_data(self, data):
        self.words += data
        if self._cell is not None:
            self._cell += data

    def handle_endtag(self, tag):
        if tag == "td":
            self._table.rows[-1].append(self._cell)
        elif tag == "th":
            self._table.columns.append(self._cell)
        elif tag == "table":
            self._table = None
        if tag in ("td", "th"):
            self._cell = None

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]
