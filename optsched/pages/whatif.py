"""Page of a file of `optsched whatif`, for decision makers: one plot, one table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from optsched.experiments.cell_keys import digest_of
from optsched.experiments.whatif import SIDES, WhatIf
from optsched.pages.blocks import (
    Block,
    ColumnHeader,
    Curve,
    FactList,
    Page,
    Plot,
    Section,
    SortableTable,
    TableCell,
    Words,
)
from optsched.pages.curves import steps_path
from optsched.pages.repeat import of_page
from optsched.pages.scales import AxisScale

METHOD = (
    "Means are over jobs, weighted as jobs are. The optimum is an interval: no schedule has a "
    "smaller mean waiting time than its lower end, which a certificate proves, and "
    "a schedule reaches the upper end. So its change lies between lower end after minus upper end "
    "before, and upper end after minus lower end before; more machines never make it worse, fewer "
    "never better. What policies do is exact for this log.",
    "A shadow price belongs to a unit and an hour of the day: with one more unit during that hour "
    "of every day, the certified bound on the waiting time of all jobs together falls by that "
    "much, at the prices that prove the bound. So the optimum falls by at most the shadow price "
    "and the gap between its two ends; smaller prices than this gap are left out. "
    "Resources that jobs request together, such as a GPU and its "
    "cores, are scarce together: how a price is divided among them is arbitrary, and only that of "
    "a bundle, such as a node, is not.",
)


def page_of_whatif(path: Path, callback: Callable[[str], None]) -> Page:
    """Return the page of what `whatif -o` has written.

    Raises
    ------
    InputError
        It is no such file.
    """
    callback("checking schedules and bounds")
    found = WhatIf.load(path)
    rows = found.table()
    table = SortableTable(
        "whatif",
        "Mean waiting time per job",
        [ColumnHeader(name) for name in rows[0]],
        [[_cell(text, name) for name, text in row.items()] for row in rows],
    )
    sizes = [side[0].size for side in (found.before, found.after)]
    facts = [
        ("log", found.source),
        *((f"{name} the change", size) for name, size in zip(SIDES, sizes, strict=True)),
        ("windows", str(len(found.before))),
        ("file", f"{path.name}, SHA-256 {digest_of(path)}"),
    ]
    return Page(
        title=", ".join(found.changes),
        subtitle="What if: waiting times before and after",
        answer=found.answer,
        remarks=[
            f"Checked again for this page: {_checked(found)}, from which all numbers are computed.",
            *found.remarks,
        ],
        sections=[
            Section("Before and after", [table, _plot(found)]),
            Section("Method", [Words(METHOD), FactList("provenance", facts), of_page(path)]),
        ],
    )


def _checked(found: WhatIf) -> str:
    """Return how many schedules and certificates were checked."""
    reports = [report for one in found.sides for report in one.reports]
    best = [report.optimum for report in reports]
    schedules = sum(len(r.schedules()) for r in reports) + sum(o.schedule is not None for o in best)
    proofs = sum(o.certificate is not None for o in best)
    return f"{schedules} schedules and {proofs} certificates of bounds"


def _cell(text: str, column: str) -> TableCell:
    words = column in ("policy", "run times known") or text == "-"
    return TableCell(text, () if words else (float(text.split()[0]),))


def _plot(found: WhatIf) -> Block:
    """Return the shadow prices by hour of the day."""
    prices = {
        f"{unit}, {side}": row
        for after, side in enumerate(SIDES)
        for unit, row in found.telling(after=bool(after)).items()
    }
    if not prices:
        return Words(["No shadow price is larger than the gap that the search left open."])
    hour = np.arange(24.0)
    x = AxisScale(0.0, 24.0)
    y = AxisScale(0.0, 1.05 * max(max(row) for row in prices.values()) or 1.0)
    curves = [
        Curve(
            name,
            k,
            [steps_path(hour, np.array(row), x, y)],
            "",
            {"seconds": hour.tolist(), "value": row},
        )
        for k, (name, row) in enumerate(prices.items())
    ]
    label = "shadow price: waiting time of all jobs per added unit (h)"
    return Plot("When one more unit would help", f"hour of {found.day} (h)", label, x, y, curves)
