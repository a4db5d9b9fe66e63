"""Figures and stored benchmarks as Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

DASH = "-"  # where there is no figure
LONG = 9  # characters of a figure that was not rounded


def number(x: float | None, form: str = ".3g") -> str:
    """Return a figure for a table; a dash if there is none."""
    return DASH if x is None or math.isnan(x) else format(x, form)


def percent(x: float | None) -> str:
    """Return a share for a table; what is far beyond the whole is only called that."""
    return "above 1000%" if x is not None and x > 10 else number(x, ".2%")


def sensible(cell: Any) -> str:
    """Return a cell that was stored: figures rounded, and a share as `percent` tells it."""
    if cell is None or (isinstance(cell, float) and len(str(cell)) > LONG):
        return number(cell, ".4g")
    share = re.fullmatch(r"(\d{4,}(?:\.\d+)?)%", str(cell))
    return percent(float(share[1]) / 100) if share else str(cell)


def markdown(content: Mapping[str, Any]) -> str:
    """Return a stored benchmark as Markdown."""
    table = content["table"]
    sizes = f" {content['instances']}." if content["instances"] else ""
    out = [f"## {content['title']}", "", f"{content['question']}{sizes}", ""]
    if not content["complete"]:
        out += [f"**Not finished**: {len(content['rows'])} cells so far.", ""]
    out += _grid(table["columns"], table["lines"])
    if content["targets"]:
        names = ("target", "measured", "must", "met", "aim", "met")
        out += ["", *_grid(names, [_target_line(t) for t in content["targets"]])]
    out += ["", *(f"- *{name}*: {text}" for name, text in content["methods"].items())]
    where, with_ = content["machine"], content["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in with_.items())
    commands = ", ".join(f"`{command}`" for command in content["commands"])
    out += ["", f"{commands}; {where['processor']}, {where['cores']} cores; {packages}"]
    return "\n".join(out) + "\n"


def _grid(columns: Sequence[str], lines: Sequence[Sequence[Any]]) -> list[str]:
    cells = [[sensible(cell) for cell in line] for line in lines]
    rule = "|".join("---:" if _figures(column) else "---" for column in zip(*cells, strict=True))
    return [f"| {' | '.join(columns)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in cells)]


def _figures(column: Sequence[str]) -> bool:
    """Return whether a column has figures, which are aligned to the right, rather than words."""
    return 2 * sum(bool(re.match(r"([-+≤≥] ?)?\d|-?$", cell)) for cell in column) > len(column)


def _target_line(t: Mapping[str, Any]) -> list[str]:
    sign = "≥" if t["at_least"] else "≤"

    def shown(x: float | None) -> str:
        if x is None:
            return DASH
        return percent(x) if t["unit"] == "%" else f"{number(x, '.4g')} {t['unit']}".strip()

    def goal(name: str) -> list[str]:
        if t[name] is None:
            return [DASH, DASH]
        return [f"{sign} {shown(t[name])}", "yes" if t[f"met_{name}"] else "**no**"]

    return [t["what"], shown(t["measured"]), *goal("must"), *goal("aim")]
