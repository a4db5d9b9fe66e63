"""The generated part of docs/library.md: numbers of entries, and the open ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from optsched.core import shown_gap
from optsched.files.atomic_io import read_limited, write_whole
from optsched.library.packs import Library
from optsched.library.table import STATUSES, load_table
from optsched.problem import InputError

BEGIN = (
    "<!-- Generated from the tables by `optsched library submit` and `benchmarks/library.py`. -->"
)
END = "<!-- End of the generated part. -->"
MOST_PAGE = 1 << 22  # bytes
SIZES = ("small", "medium", "large")


def generated(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return the tables of the page: entries by family and size, and those that are not closed."""
    lines = ["| family | size | entries | from traces | " + " | ".join(STATUSES) + " |"]
    lines.append("|---" * 2 + "|---:" * (2 + len(STATUSES)) + "|")
    for family, table in tables.items():
        for size in SIZES:
            some = table[table["size"] == size]
            if len(some):
                lines.append(f"| `{family}` | {size} | {_counts(some)} |")
    everything = pd.concat(tables.values())
    lines += [f"| all | | {_counts(everything)} |", ""]
    left = everything[everything["status"] != "easy"]
    lines += ["**Not closed**, and waiting for a better schedule or bound. Gaps above 1000 % are"]
    lines += ["those of large max-min problems (`bot`), whose search ended early:", ""]
    lines += ["| entry | status | value | certified bound | gap |", "|---|---|---:|---:|---:|"]
    for row in left.to_dict("records"):
        value, bound = (f"{float(row[name]):.7g}" for name in ("value", "bound"))
        gap = shown_gap(float(row["gap"]) if row["gap"] else None)
        lines.append(f"| `{row['name']}` | {row['status']} | {value} | {bound} | {gap} |")
    return "\n".join(lines)


def _counts(table: pd.DataFrame) -> str:
    traces = int((table["origin"] == "traces").sum())
    numbers = [len(table), traces, *(int((table["status"] == s).sum()) for s in STATUSES)]
    return " | ".join(f"{n:,}".replace(",", " ") for n in numbers)


def page_of(library: Library) -> Path:
    """Return the page that belongs to a library in a source tree."""
    return library.folder.resolve().parent.parent / "docs" / "library.md"


def update_page(library: Library) -> bool:
    """Write the generated part of the page anew; False: the library has no page."""
    text = page_text(library, {family: load_table(library, family) for family in library.families})
    if text is not None:
        write_whole(page_of(library), text)
    return text is not None


def page_text(library: Library, tables: Mapping[str, pd.DataFrame]) -> str | None:
    """Return the page with its part that is generated from tables; None: the library has no page.

    Raises
    ------
    InputError
        The page lacks the marks between which it is generated.
    """
    path = page_of(library)
    if not path.is_file():
        return None
    text = read_limited(path, MOST_PAGE).decode("utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise InputError(f"{path}: lacks the lines {BEGIN!r} and {END!r}, expected each once")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{generated(tables)}\n\n{END}{after}"
