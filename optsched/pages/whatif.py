"""Page of a file of `optsched whatif`: waiting times, and when capacity is scarce."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from optsched.experiments.cell_keys import digest_of
from optsched.experiments.whatif import BEST, NOT_CHECKED, SIDES, TOO_WIDE, WhatIf, hours
from optsched.pages.blocks import (
    Bar,
    Bars,
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
from optsched.pages.repeat import of_page, of_whatif
from optsched.pages.scales import AxisScale
from optsched.problem import REAL

METHOD = (
    "Means are over jobs, by their weights if the log has some. The optimum is an interval: no "
    "schedule has a smaller mean waiting time than its lower end, which a certificate proves, and "
    "a schedule reaches the upper end. So its change lies between lower end after minus upper end "
    "before, and upper end after minus lower end before; more machines never make it worse, fewer "
    "never better. Policies are simulated without search error, under the assumptions listed "
    "above. A job takes the first nodes with space, and added nodes come right after equal ones: "
    "the numbers of a policy in a single week depend on such details.",
    "A shadow price belongs to a unit and an hour of the day: with one more unit during that hour "
    "of every day, the certified bound on the waiting time of all jobs together falls by that "
    "much, at the prices that prove the bound. So the optimum falls by at most the shadow price "
    "and the gap between its two ends. Resources that jobs request together, such as a GPU and its "
    "cores, are scarce together. Only the price of a whole node is meaningful.",
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
    rows, prices = found.table(), _prices(found)
    method = METHOD if isinstance(prices, Plot) else METHOD[:1]
    table = SortableTable(
        "whatif",
        "Mean waiting time per job",
        [ColumnHeader(name) for name in rows[0]],
        [[_cell(text, name) for name, text in row.items()] for row in rows],
    )
    window = ", window 1" * (len(found.before) > 1)
    sizes = [side[0].size for side in (found.before, found.after)]
    heads = [f"{side} the change{window}" for side in SIDES] if found.changes else ["jobs"]
    facts = [
        ("log", found.source),
        *zip(heads, sizes, strict=False),
        ("windows", str(len(found.before))),
        ("file", f"{path.name}, SHA-256 {digest_of(path)}"),
    ]
    return Page(
        title=", ".join(found.changes) or "Waiting times on the present machines",
        subtitle="What if: waiting times before and after" if found.changes else found.source,
        answer=found.answer,
        remarks=[
            f"Checked again for this page: {_checked(found)}, from which all numbers are computed. "
            f"{NOT_CHECKED}.",
            *found.remarks,
        ],
        sections=[
            Section(
                "Before and after" if found.changes else "Waiting times",
                [_bars(found), table, prices],
            ),
            Section(
                "Method",
                [
                    Words(method),
                    FactList("provenance", facts),
                    *of_whatif(found.command or ""),
                    of_page(path),
                ],
            ),
        ],
    )


def _checked(found: WhatIf) -> str:
    """Return how many schedules and certificates were checked."""
    sides = len(SIDES) if found.changes else 1  # else both are the same
    reports = [report for one in found.sides for report in one.reports[:sides]]
    best = [report.optimum for report in reports]
    schedules = sum(len(r.schedules()) for r in reports) + sum(o.schedule is not None for o in best)
    proofs = sum(o.certificate is not None for o in best)
    ends = ["s" * (n != 1) for n in (schedules, proofs)]
    return f"{schedules} schedule{ends[0]} and {proofs} certificate{ends[1]} of lower bounds"


def _cell(text: str, column: str) -> TableCell:
    words = column in ("policy", "run times known") or text == "-"
    return TableCell(text, () if words else (float(text.split()[0]),))


def _bars(found: WhatIf) -> Bars:
    """Return the mean waiting time of every row, before and after; first what was recorded.

    All bars are of the same jobs, so some rows have none.
    """
    sides = SIDES if found.changes else ("",)
    waits = [
        (f"{row.name}, {side}".removesuffix(", "), k, ends)
        for row in sorted(found.rows.values(), key=lambda row: row.name != REAL)
        for k, (side, ends) in enumerate(zip(sides, (row.base, row.after), strict=False))
        if ends is not None
        and (row.name != REAL or found.alike)
        and not (row.name == BEST and found.gone and side == SIDES[0])
    ]
    scale = AxisScale(0.0, 1.05 * max(high for *_, (_, high) in waits) or 1.0)
    return Bars(
        title="Mean waiting time"
        + " before and after" * bool(found.changes)
        + f" of {found.who}" * bool(found.gone),
        label="mean waiting time (h)",
        bars=[
            Bar(
                name=name,
                colour=k,
                text=hours((low, high)),
                tip=f"{name}: {hours((low, high))}",
                low=100 * scale.at(low),
                high=100 * scale.at(high),
                open=low < high,
            )
            for name, k, (low, high) in waits
        ],
        scale=scale,
        note="Hatched: where the optimum may lie, between a certified bound and the best schedule.",
        origin=0.0,
    )


def _prices(found: WhatIf) -> Block:
    """Return the shadow prices by hour of the day."""
    prices = {
        f"{unit}, {side}".removesuffix(", "): row
        for after, side in enumerate(SIDES if found.changes else ("",))
        for unit, row in found.telling(after=bool(after)).items()
    }
    if not prices:
        known = any(found.prices(after=after) for after in (False, True))
        some = any(side.prices for side in (*found.before, *found.after))
        if len(found.before) > 1 and some and not known:
            return Words(["Some windows have no shadow prices, so none are shown."])
        return Words([TOO_WIDE if known else "The bound has no shadow prices."])
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
