"""Output of the command line on stdout: sentences and tables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from optsched.problem import LP_ROW, REAL, RELAXATION, Status, get_family
from optsched.process import messages

if TYPE_CHECKING:
    from optsched.core import (
        EvaluatedPolicy,
        Optimum,
        RatioReport,
    )  # statistics take a second to import
    from optsched.experiments.whatif import WhatIf

LEFT = ("policy", "information", "sandbox")  # columns of words
SAME = (
    "guarantee",
    "information",
    "preempts",
    "sandbox",
    "decision limit",
)  # a sentence if all are the same
SANDBOX = {"sandbox": "yes", "no sandbox": "no"}
UNKNOWN = "unknown"  # information of a schedule from outside
LONGEST = 40  # cells of a policy's name in one line
TO_LP = "ratio to LP"
PRICES = 3  # shadow prices that are shown


def out() -> Console:
    """Return the console on stdout; in a pipe, only tables are fitted to COLUMNS (200)."""
    file, columns = messages.stdout(), os.environ.get("COLUMNS", "")
    wide = None if file.isatty() else int(columns if columns.isdigit() else 0) or 200
    return Console(file=file, width=wide, highlight=False, emoji=False, soft_wrap=wide is not None)


def facts_table(title: str, facts: Mapping[str, Any]) -> Table:
    """Return a table of two columns, name and value."""
    table = Table(title=escape(title), title_justify="left", show_header=False)
    table.add_column(style="bold", overflow="fold")
    table.add_column(overflow="fold", max_width=90)
    for name, value in facts.items():
        table.add_row(escape(name.replace("_", " ")), escape(messages.text_of(value)))
    return table


def params_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return parameters as a table, their defaults as in TOML."""
    table = Table(*rows[0], title=escape(title), title_justify="left")
    for row in rows:
        cells = {**row, "default": json.dumps(row["default"])}
        table.add_row(*map(escape, cells.values()))
    return table


def show_optimum(console: Console, optimum: Optimum) -> None:
    """Print the optimum in a sentence, and shadow prices: of seconds, only with --verbose."""
    console.print(str(optimum), markup=False)
    brief = 0 if get_family(optimum.family).reactive else PRICES
    for price in islice(optimum.shadow_prices, None if messages.verbose else brief):
        console.print(f"  shadow price: {messages.text_of(price)}", markup=False)


def show_ratios(console: Console, report: RatioReport, *, read: bool = False) -> None:
    """Print a comparison: the optimum, the facts, and a row per policy.

    Of one that was ``read`` from a file, guarantees are not known.
    """
    show_optimum(console, report.optimum)
    for line in report.in_words:
        console.print(line, markup=False)
    if report.improved_by is not None:
        console.print(f"the best schedule known is that of {report.improved_by}", markup=False)
    if report.hindsight:
        measures = ", ".join(f"{name} {x:.4g}" for name, x in report.hindsight.items())
        console.print(f"best schedule known: {measures}", markup=False)
    console.print(f"instance: {report.facts}", markup=False)
    for name, found in report.references.items():
        console.print(f"{name} reference: {found}", markup=False)
    if report.integrality_gap is not None:
        console.print(f"integrality gap: {report.gap_in_words}", markup=False)
    rows = [_cells(row, report) for row in report.ranked]
    if read:
        rows = [{n: c for n, c in row.items() if n != "guarantee"} for row in rows]
    relaxed = report.references.get(RELAXATION)
    if rows and relaxed is not None and relaxed.status is Status.BOUND_ONLY:
        cells = {"policy": LP_ROW, "value": f"{relaxed.bound:.6g}", TO_LP: "1"}
        rows.append(dict.fromkeys(rows[0], "-") | cells)
    same = {} if messages.verbose else _same(rows)
    for table in tables([{n: c for n, c in row.items() if n not in same} for row in rows], console):
        console.print(table)
    if get_family(report.optimum.family).reactive:
        same.pop("information", None)  # it is about slots, of which there are none
    if same.get("guarantee") == "none":
        del same["guarantee"]
        console.print("No policy has a proven guarantee on this instance.")
    if same:
        shared = "; ".join(f"{name} {cell}" for name, cell in same.items())
        console.print(f"all policies: {shared}", markup=False)
    if report.rule:
        console.print(report.rule, markup=False)
    for failed in report.failed:
        why = failed.why.splitlines()[0]
        console.print(messages.printable(f"{failed.name} has no row: {why}"), markup=False)
    console.print(_legend(report), style="dim")
    if caution := report.nil_optimum or report.facts.caution:
        console.print(caution, style="bold")


def show_whatif(console: Console, found: WhatIf, output: Path | None) -> None:
    """Print the summary of a what-if, its table and remarks, and where shadow prices are."""
    from optsched.experiments.whatif import TOO_WIDE

    file = "FILE (of -o FILE)" if output is None else str(output)
    how = "with -o FILE: optsched verify FILE" if output is None else f"optsched verify {output}"
    certified = found.certified.replace(". ", f" ({how}). ", 1)
    for line in (*found.answer, certified):
        messages.result(messages.printable(line))
    for table in tables(found.table(), console):
        console.print(table)
    for line in found.remarks:
        messages.result(messages.printable(line))
    sides = False, True
    if any(found.telling(after=after) for after in sides):
        messages.result(
            "Shadow prices, in hours of waiting time per unit and hour of the day, are on the page "
            f"of optsched report {file}, and printed by --json."
        )
    elif any(found.prices(after=after) for after in sides):
        messages.result(f"{TOO_WIDE} --json prints them.")


def _same(rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the cells that need no column, since they are the same in every row."""
    policies = [row for row in rows if row["policy"] != LP_ROW]
    policies = [row for row in policies if row["information"] != UNKNOWN] or policies
    first = policies[0] if policies else {}
    return {n: first[n] for n in SAME if n in first and all(r[n] == first[n] for r in policies)}


def tables(rows: Sequence[Mapping[str, str]], console: Console) -> list[Table]:
    """Return the rows as a table, or where the console is too narrow as several.

    Each begins with the columns up to the policy's name, or the first one. Names and numbers are
    never cut: a long name is folded, and so are headings that do not fit.
    """
    if not rows:
        return []
    names = [*rows[0]]
    number = names.index("policy") + 1 if "policy" in names else 1
    head, others = names[:number], names[number:]
    wide = {n: max(map(cell_len, [n, *(row[n] for row in rows)])) for n in rows[0]}
    if sum(wide.values()) + 3 * len(wide) + 1 > console.width:
        wide = {n: max(map(cell_len, [*n.split(), *(row[n] for row in rows)])) for n in wide}
    wide |= {n: min(wide[n], LONGEST) for n in head}
    groups: list[list[str]] = []
    free = 0
    for name in others:
        needed = wide[name] + 3  # with its border and blanks
        if not groups or needed > free:
            groups.append([])
            free = console.width - sum(wide[n] + 3 for n in head) - 1
        groups[-1].append(name)
        free -= needed
    return [_table(rows, [*head, *group], wide) for group in groups]


def _table(
    rows: Sequence[Mapping[str, str]], names: Sequence[str], wide: Mapping[str, int]
) -> Table:
    table = Table()
    for name in names:
        table.add_column(
            name,
            justify="left" if name in LEFT else "right",
            overflow="fold",
            width=wide[name],
        )
    for row in rows:
        style = "bold" if row.get("policy") == REAL else None
        table.add_row(*(escape(row[name]) for name in names), style=style)
    return table


def _legend(report: RatioReport) -> str:
    from optsched.core import meaning

    family = get_family(report.optimum.family)
    parts = [f"ratio: {meaning(family, report.optimum.value)}; 1 is the best in hindsight."]
    if RELAXATION in report.references:
        parts.append(
            "ratio to LP: ratio to the linear relaxation. integrality gap: the optimum's ratio to "
            "LP."
        )
    if any(name != RELAXATION for name in report.references):
        parts.append("regret: how much more a reference reaches.")
    if not family.reactive:
        parts.append(
            "information: whether a policy decides before or after it sees the arrivals of a slot."
        )
    if any(row.own for row in report.policies):
        parts.append("own:...: it also knew a statistic from outside.")
    parts.append("sandbox: run in an isolated process that does not have the instance.")
    if any(row.ratio.claimed for row in report.policies):
        parts.append("(claimed): no certificate proves the bound of the optimum.")
    if not all(row.obeys for row in report.policies):
        parts.append("*: leaves the model, so its ratio may be below 1.")
    return " ".join(parts)


def _cells(row: EvaluatedPolicy, report: RatioReport) -> dict[str, str]:
    """Return the cells of a row by the name of their column."""
    promised = row.ratio.guarantee
    cells = {"policy": row.name + ("" if row.obeys else " *")}
    cells |= {n: x if isinstance(x, str) else f"{x:.4g}" for n, x in row.columns.items()}
    cells["value"] = f"{row.value:.6g}"
    if report.facts.jobs is not None:
        done = "-" if row.completed is None else f"{row.completed} of {report.facts.jobs}"
        cells["completed"] = done
    cells["ratio"] = row.ratio.ends
    if RELAXATION in report.references:
        to = row.to_relaxation
        cells[TO_LP] = "-" if to is None else f"{to:.4g}"
    cells |= {f"regret to {name}": str(found) for name, found in row.regret.items()}
    limited = any(other.decision_limit for other in report.policies)
    limit = "none" if row.decision_limit is None else f"{row.decision_limit:g} s"
    cells |= {
        "guarantee": "none" if promised is None else f"{promised:.4g}",
        "total decision time": "-" if row.seconds is None else f"{row.seconds:.3f} s",
        "max decision time": "-" if row.slowest is None else f"{row.slowest * 1000:.1f} ms",
        "information": ", ".join([row.information, *row.own]),
        "sandbox": SANDBOX.get(row.seal, row.seal.removeprefix("sandbox: ")),
    }
    return cells | ({"decision limit": limit} if limited else {})
