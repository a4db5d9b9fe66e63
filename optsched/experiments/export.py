"""Export of a result store: a row per cell, a table for a paper, the worst instances."""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from optsched.experiments.campaign import AS_STORED, Campaign
from optsched.experiments.cell_keys import canonical
from optsched.experiments.ratios_by_policy import COLUMNS, cells, rated
from optsched.experiments.statistics import MARK, Statistics, Summary, ecdf
from optsched.experiments.store import Store
from optsched.families.rigid.facts import OBJECTIVES
from optsched.files.atomic_io import write_whole
from optsched.files.format import save_instance
from optsched.problem import InputError

BOUND, BEST = "certified bound", "best schedule found"  # rows of means
HOURS, FAR = "mean, h", r"above 2, \%"
COLUMNS_OF_TABLE = (
    *("$n$", "open", HOURS, "mean ratio", r"95\,\%", "median", r"95\,\%2", FAR, "worst"),
)
LEAST = {
    FAR: "95 % interval of the share of ratios above 2",
    r"95\,\%2": "95 % interval of the median",
    "worst": "worst",
    "median": "median",
    HOURS: "mean value in hours",
}
COLUMN, GAP = 242.0, 2  # points: of a column of a paper, and on both sides of one of the table
SHORTEST = 160.0  # points of a line of text across a table
Row = Mapping[str, str]  # of the table: texts by column
WIDTHS = 2.6, 4.25, 6.8  # points of letters, narrow to wide


def save_csv(path: Path, target: Path) -> None:
    """Write a row per cell; infinite ratios are "inf"."""
    _write_csv(target, COLUMNS, cells(path))


def save_parquet(path: Path, target: Path) -> None:
    """Write a row per cell.

    Raises
    ------
    InputError
        pyarrow is not installed.
    """
    table = Campaign(path).table()
    try:
        data = table.to_parquet(None, engine="pyarrow", index=False)
    except ImportError as err:
        raise InputError(
            "Parquet needs pyarrow, expected: pip install 'optsched[parquet]'"
        ) from err
    write_whole(target, data)


def save_ecdf(path: Path, target: Path) -> None:
    """Write the distribution of the ratios of every policy as a table of its steps."""
    rows = [
        [sample.group, sample.policy, *map(float, step)]
        for sample in Campaign(path).samples()
        for step in zip(*ecdf(sample).values(), strict=True)
    ]
    _write_csv(target, ["source", "policy", "ratio", "share_at_least", "share_at_most"], rows)


def _write_csv(target: Path, head: list[str], rows: list[list[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_plain(x) if isinstance(x, str) else x for x in row] for row in rows)
    write_whole(target, text.getvalue())


def _plain(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def save_latex(path: Path, target: Path) -> None:
    """Write the table of the means, to be used with the package booktabs."""
    found = Campaign(path)
    claimed = found.status().claimed
    text = f"% {claimed} optima are only claimed: no certificate proves them\n" if claimed else ""
    write_whole(target, f"{latex(found.statistics(), mean_hours(path))}{text}% {AS_STORED}\n")


def mean_hours(path: Path) -> dict[str, dict[tuple[str, str], float]]:
    """Return mean values in hours by what they are, group and policy, where values are times.

    `BOUND` and `BEST` are rows of each group too: means over its instances.
    """
    values: dict[tuple[str, str, str], list[float]] = {}
    ends: dict[tuple[str, str, str], dict[str, float]] = {}  # by instance
    with Store.open(path) as store:
        for cell in rated(store):
            goal, group = _time(cell["source"]), cell["group"]
            if not goal:
                continue
            if cell["value"] is not None:
                key = goal, group, cell["policy_name"]
                values.setdefault(key, []).append(cell["value"])
            for name, end, better in (
                (BOUND, cell["certified_bound"], max),
                (BEST, cell["best"], min),
            ):
                if end is not None:
                    known = ends.setdefault((goal, group, name), {})
                    inst = cell["instance_sha256"]
                    known[inst] = better(end, known.get(inst, end))
    found: dict[str, dict[tuple[str, str], float]] = {}
    rows = values | {key: [*known.values()] for key, known in ends.items()}
    for (goal, group, name), each in rows.items():
        found.setdefault(goal, {})[group, name] = sum(each) / len(each) / 3600
    return found


@cache
def _time(source: str) -> str:
    """Return what the values of a source, as it is stored, are if they are times, else ""."""
    data = json.loads(source)
    if data["family"] != "rigid" or "instances" in data:  # files may have any objective
        return ""
    objective = str(data.get("window", {}).get("objective", "flow"))
    goal, unit = OBJECTIVES.get(objective, "").partition(", ")[::2]
    return goal if unit else ""


def latex(
    found: Statistics, means: Mapping[str, Mapping[tuple[str, str], float]] | None = None
) -> str:
    """Return the means as a LaTeX table, with notes on its marks.

    Instances are named above their policies. A comment states which columns are left out, such as
    those that would not fit into one column of a paper. ``means`` are mean values in hours, by what
    they are, group and policy.
    """
    hours = {key: value for each in (means or {}).values() for key, value in each.items()}
    counts = [{(s.instances, s.open) for s in inside} for inside in found.groups.values()]
    counted = any(len(each) > 1 for each in counts)  # policies differ: in columns of their own
    shown = {"$n$": counted, "open": counted, HOURS: bool(hours)}
    kept = [name for name in COLUMNS_OF_TABLE if shown.get(name, True)]
    rows = [(s, _cells(s, hours)) for s in found.summaries]
    names, width = list(kept), _width(rows, kept)
    for name in LEAST:
        if width > COLUMN and name in kept:
            kept.remove(name)
            width = _width(rows, kept)
    fits = width <= COLUMN
    kept = kept if fits else names
    lines = [
        rf"% needs \usepackage{{booktabs}}, \footnotesize and \setlength{{\tabcolsep}}{{{GAP}pt}}"
    ]
    lines += [] if fits else ["% wider than one column of a paper: use table*"]
    left_out = [LEAST[name] for name in names if name not in kept]
    fitted = f"; to fit into one column: {', '.join(left_out)}" if left_out else ""
    lines.append(f"% left out: 90 % quantile, seed of the worst ratio{fitted}")
    lines += [
        rf"\begin{{tabular}}{{@{{}}l{'r' * len(kept)}@{{}}}}",
        r"\toprule",
        rf"{' & '.join(['policy', *(name.rstrip('2') for name in kept)])} \\",
    ]

    def across(text: str) -> list[str]:
        parts = textwrap.wrap(text, int(max(width, SHORTEST) / WIDTHS[1]))
        return [rf"\multicolumn{{{len(kept) + 1}}}{{@{{}}l@{{}}}}{{{_tex(x)}}} \\" for x in parts]

    for group in found.groups:
        inside = [(s, row) for s, row in rows if s.group == group]
        inside.sort(key=lambda each: hours.get((each[0].group, each[0].policy), 0.0))
        number, open_ = inside[0][0].instances, inside[0][0].open
        sized = f": {number} instances" + f", {open_} open" * bool(open_)
        lines += [r"\midrule", *across(group + sized * (not counted))]
        for s, row in inside:
            lines.append(rf"{' & '.join([_tex(s.named), *(row[name] for name in kept)])} \\")
    lines.append(r"\bottomrule")
    for note in _notes(rows, kept, means or {}):
        lines += across(note)
    lines.append(r"\end{tabular}")
    lines += [f"% {flag}" for flag in found.flags()]
    lines += [
        f"% {s.group}, {s.policy}: {s.errors} cells have no ratio"
        for s in found.summaries
        if s.errors
    ]
    return "\n".join(lines) + "\n"


def _cells(s: Summary, hours: Mapping[tuple[str, str], float]) -> Row:
    """Return the numbers of a row, by `COLUMNS_OF_TABLE`."""
    mean = hours.get((s.group, s.policy))
    cells = [str(s.instances), str(s.open), "" if mean is None else _tex_number(mean)]
    cells.append(_tex_ends(s.low, s.high))
    cells += [_tex_interval(s.interval) + MARK * bool(s.warning and s.interval)]
    cells += [_tex_ends(s.median, s.median_high), _tex_interval(s.median_interval)]
    cells += ["{:.0f}--{:.0f}".format(*(100 * x for x in s.far))]
    cells += [_tex_ends(s.worst, s.worst_high)]
    return dict(zip(COLUMNS_OF_TABLE, cells, strict=True))


def _width(rows: Sequence[tuple[Summary, Row]], kept: Sequence[str]) -> float:
    """Estimate the width of a table in points."""
    inside = [[s.named, *(row[name] for name in kept)] for s, row in rows]
    table = [["policy", *kept], *inside]
    return sum(max(map(_points, column)) + 2 * GAP for column in zip(*table, strict=True)) - 2 * GAP


def _points(text: str) -> float:
    """Estimate the width of a text in points, in Computer Modern of 8 points."""
    shown = re.sub(r"[\\${}]|infty|,(?=%)", "", text.replace("--", "-").replace(r"\cdot", " 7"))
    wide, narrow = "mw%&#=@+", " .,:;'!|()[]ijlft"
    return sum(WIDTHS[2 if c in wide or c.isupper() else c not in narrow] for c in shown)


def _notes(
    rows: Sequence[tuple[Summary, Row]], kept: Sequence[str], goals: Iterable[str]
) -> list[str]:
    """Return what the columns and the marks of the table mean."""
    between = ("mean ratio", "median", "worst")
    notes = [f"{HOURS}: {' or '.join(goals)} in hours"] * (HOURS in kept)
    if any("--" in row[name] for _, row in rows for name in between if name in kept):
        notes.append("a--b: the value lies between a and b, since not all optima are known")
    if any(s.interval for s, _ in rows):
        notes.append("95 %: confidence interval of the column before")
    if FAR in kept:
        notes.append("above 2: 95 % interval of the share of ratios above 2")
    if any(s.warning and s.interval for s, _ in rows):
        notes.append(f"{MARK}: perhaps not reliable")
    if any(row[name] == "--" for _, row in rows for name in kept):
        notes.append("--: no interval, with too few instances or equal ratios")
    return ["; ".join(notes)] if notes else []


def _tex_ends(low: float, high: float) -> str:
    return "--".join(dict.fromkeys((_tex_number(low), _tex_number(high))))


def _tex_interval(ends: tuple[float, float] | None) -> str:
    return "--" if ends is None else "{}--{}".format(*map(_tex_number, ends))


def _tex_number(value: float) -> str:
    """Return four digits, zeros included, so that numbers align."""
    number, _, power = f"{value:#.4g}".partition("e")
    if number == "inf":
        return r"$\infty$"
    number = (number.rstrip("0") if power else number).rstrip(".")
    return rf"${number}\cdot10^{{{int(power)}}}$" if power else number


def _tex(text: str) -> str:
    special = {c: f"\\{c}" for c in "&%$#_{}"} | {c: f"{{{c}}}" for c in "[]"}
    special |= {"<": r"\textless{}", ">": r"\textgreater{}"}
    special |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, c) for c in text)


def save_worst(path: Path, folder: Path, *, trust: bool | Collection[str] = False) -> list[Path]:
    """Write the instance on which each policy is worst, to be replayed; return the files.

    Parameters
    ----------
    path : Path
        The store.
    folder : Path
    trust : bool, or sequence of str
        Which problems in files may be run, to make their instances; True: all.

    Raises
    ------
    InputError
        It cannot be made again: a file of its trace, or a version, has changed; or a problem in a
        file is not trusted.
    """
    with Store.open(path) as store:
        by_digest = dict(
            store.rows(
                "SELECT lower(hex(digest)), text FROM instance JOIN word ON word.id = source "
                "WHERE digest IS NOT NULL AND instance.id IN (SELECT instance FROM cell)"
            )
        )
    found = Campaign(path)
    plan = found.plan()
    plan.refuse_code(trust, path, policies=False)
    sources = {canonical(case.source.content): case.source for case in plan.cases()}
    made = []
    for k, s in enumerate(found.statistics().summaries):
        source = sources.get(by_digest.get(s.worst_sha256, ""))
        if source is None:
            raise InputError(f"{path}: the plan has no source of the instance {s.worst_sha256!r}")
        instance = source.make(s.worst_seed, code=True)
        if instance.digest() != s.worst_sha256:
            raise InputError(
                f"{source.drawn_by(s.worst_seed)} of {source.label} makes another instance than "
                "when it was computed; have versions changed?"
            )
        file = Path(source.file(s.worst_seed) or "").stem
        text = f"{s.group} {s.policy} {file}".rstrip()
        name = "".join(c if c.isalnum() else "-" for c in text)[:80]
        made.append(folder / f"{k:02}-{name}.json")
        save_instance(instance, made[-1])
    return made
