"""Page of a file of `optsched advice`, and the figure of its curves."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from optsched.adversarial.advice import Advice, between
from optsched.drawing import CURVES, DPI, finish, headline, legend, new_figure, rendered, shorts
from optsched.files.format import checked, read_json
from optsched.pages.blocks import (
    ColumnHeader,
    Page,
    Picture,
    Section,
    SortableTable,
    TableCell,
    count,
    number,
)
from optsched.pages.repeat import closing
from optsched.pages.scales import AxisScale

WIDE, HIGH = 9.0, 3.8  # inches


def figure(found: Advice) -> Figure:
    """Draw mean ratios against the size of errors, with their intervals of confidence."""
    kinds = list(dict.fromkeys(p.errors for p in found.points))
    drawn = new_figure(WIDE, HIGH)
    panels = drawn.subplots(1, len(kinds), squeeze=False, sharey=True)[0]
    names = shorts({p.policy: None for p in found.points})
    known = [p.ratio for p in found.points if p.ratio is not None]
    scale = AxisScale.of_ratios(
        [r.low for r in known], [r.interval[1] for r in known if r.interval]
    )
    for axis, kind in zip(panels, kinds, strict=True):
        cautions = sorted({p.caution for p in found.points})
        apart = 0.01 * max(p.error for p in found.points)  # so that intervals stay legible
        for k, caution in enumerate(cautions):
            points = [(p, p.ratio) for p in found.curve(kind, caution) if p.ratio is not None]
            ends = [r.interval or (r.low, r.low) for _, r in points]
            axis.errorbar(
                [p.error + (k - (len(cautions) - 1) / 2) * apart for p, _ in points],
                [r.low for _, r in points],
                [
                    [max(0.0, r.low - e[0]) for (_, r), e in zip(points, ends, strict=True)],
                    [max(0.0, e[1] - r.low) for (_, r), e in zip(points, ends, strict=True)],
                ],
                color=CURVES[k % len(CURVES)],
                marker="o",
                ms=3,
                lw=1.4,
                elinewidth=0.8,
                capsize=2,
                label=names[points[0][0].policy] if points else "",
            )
        axis.set_ylim(scale.low, scale.high)
        if scale.log:
            axis.set_yscale("log")
        axis.set_yticks(scale.steps(), [f"{x:g}" for x in scale.steps()])
        axis.minorticks_off()
        axis.set_title(f"{kind} errors", fontsize=9)
        finish(axis, f"error of {found.noise}", "mean ratio" if axis is panels[0] else "")
    legend(drawn, panels[0])
    headline(drawn, f"{found.problem}: ratio against prediction error")
    return drawn


def page_of_advice(path: Path, callback: Callable[[str], None]) -> Page:
    """Return the page of policies with predictions, which `advice -o` has written.

    Raises
    ------
    InputError
        It is no such file.
    """
    callback("drawing curves")
    found = checked(Advice, read_json(path, "advice").get("advice"), f"{path}: advice")
    columns = [
        ColumnHeader("errors"),
        ColumnHeader("error", "its size"),
        ColumnHeader("policy"),
        ColumnHeader("mean ratio", "in brackets its 95 % interval"),
        ColumnHeader("worst", "of all instances"),
        ColumnHeader("failed", "instances on which the policy failed"),
    ]
    rows = [
        [
            TableCell(p.errors),
            number(p.error),
            TableCell(p.policy),
            TableCell("-") if r is None else TableCell(between(r), (r.low,)),
            TableCell("-") if r is None else TableCell(r.worst.ends, (r.worst.low,)),
            count(p.failed),
        ]
        for p in found.points
        for r in [p.ratio]
    ]
    words = f"mean ratios of {len({p.policy for p in found.points})} policies; the table has them"
    source = f"data:image/png;base64,{b64encode(rendered(figure(found), format='png')).decode()}"
    facts = [
        ("instances", f"{len(found.seeds)}"),
        ("adversarial errors", f"searches of {found.work_limit:g} units of work each"),
    ]
    return Page(
        title=path.name,
        subtitle=f"{found.problem}: policies with predictions, baseline {found.baseline}",
        answer=_answer(found),
        remarks=[
            "Not checked: the ratios, which the file states, and that the optima of "
            f"{found.certified} instances are certified. It does not hold the runs."
        ],
        sections=[
            Section(
                "Ratio against prediction error",
                [
                    Picture("Curves", source, round(WIDE * DPI), words),
                    SortableTable("advice", "All points", columns, rows),
                ],
            ),
            *closing(path, facts),
        ],
    )


def _answer(found: Advice) -> list[str]:
    """Return the best and the worst of each policy."""
    lines = []
    for caution in sorted({p.caution for p in found.points}):
        points = [p for p in found.points if p.caution == caution and p.ratio is not None]
        if points:
            means = [p.ratio.low for p in points if p.ratio is not None]
            lines.append(
                f"{points[0].policy}: mean ratio {min(means):.4g} at best, {max(means):.4g} "
                "at worst."
            )
    return lines
