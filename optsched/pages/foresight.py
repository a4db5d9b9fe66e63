"""Page of a file of `optsched foresight`: the curve, its knee, the numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from optsched.core.intervals import UNSURE
from optsched.experiments.foresight import Foresight, WindowShare
from optsched.pages.blocks import (
    ColumnHeader,
    Page,
    Section,
    SortableTable,
    TableCell,
    ends,
    number,
)
from optsched.pages.repeat import closing
from optsched.pages.schedules import picture


def page_of_foresight(path: Path, callback: Callable[[str], None]) -> Page:
    """Return the page of a curve that `foresight -o` has written.

    Raises
    ------
    InputError
        It is no such file.
    """
    callback("drawing the curve")
    found = Foresight.load(path)
    knee = next(p for p in found.points if p.window == found.knee)
    last = found.points[-1]
    words = f"Share of the optimum by window: {'; '.join(str(found).splitlines()[1:])}"
    facts = [
        ("seeds", ", ".join(map(str, found.seeds))),
        ("forecast", found.forecast),
        ("commitment", f"{found.commit:g}"),
        ("terminal value", found.terminal),
        ("derived for this page", "shares, intervals and the knee"),
    ]
    doubts = dict.fromkeys(p.warning for p in found.points if p.warning)
    return Page(
        title=path.name,
        subtitle=f"{found.problem}: {found.described}",
        answer=[
            f"With a window of {knee.window:g}, a rolling horizon reaches {_reached(knee)} of the "
            f"optimum; with {last.window:g}, {_reached(last)}.",
            f"{knee.window:g} is the smallest of the windows whose mean share is within 1 % of "
            "that of the largest.",
        ],
        remarks=[
            "Not checked: the values and bounds, which the file states. It holds no instances.",
            *(f"{UNSURE}: {doubt}" for doubt in doubts),
        ],
        sections=[
            Section(
                "The curve",
                [
                    picture("Share of the optimum by window", found.figure(), words),
                    _table(found),
                ],
            ),
            *closing(path, facts),
        ],
    )


def _reached(point: WindowShare) -> str:
    at_least = math.isfinite(point.low)  # else the bound is too weak for a least share
    return f"{point.low:.2%}" if at_least else f"at most {point.high:.2%}"


def _table(found: Foresight) -> SortableTable:
    columns = [
        ColumnHeader("window", "time units that are known ahead"),
        ColumnHeader("share", "mean share of the bound, and of the best solution known"),
        ColumnHeader("95 % interval", "of the mean share"),
        ColumnHeader("mean value"),
    ]
    rows = [
        [
            number(p.window),
            ends(p.share, p.low, p.high),
            TableCell("-") if p.interval is None else ends(p.inside, *p.interval),
            number(p.value, ".6g"),
        ]
        for p in found.points
    ]
    return SortableTable("foresight", "Each window", columns, rows)
