"""Page of a result file, whose content is recomputed first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from optsched.core import EvaluatedPolicy, Optimum, RatioReport, meaning, shown_gap
from optsched.drawing import HINDSIGHT
from optsched.files.format import load_instance
from optsched.files.provenance import all_versions
from optsched.pages import curves, words
from optsched.pages.blocks import (
    Block,
    ColumnHeader,
    FactList,
    Page,
    Section,
    SortableTable,
    TableCell,
    count,
    ends,
    number,
    sandbox,
)
from optsched.pages.repeat import closing, of_result
from optsched.pages.schedules import pictures_of
from optsched.problem import (
    LP_ROW,
    REAL,
    RELAXATION,
    InputError,
    Instance,
    Status,
    family_of,
    get_family,
)
from optsched.process import interrupts, messages
from optsched.results.load import load_known, load_report

SAME = ("preempts", "information", "sandbox", "decision limit, s", "keeps to the model")
LONG = 400  # characters of a fact
TIMES = "as the run states; not checked"


def page_of_result(path: Path, policies: Sequence[str], callback: Callable[[str], None]) -> Page:
    """Return the page of what `solve -o` or `ratio -o` has written.

    Raises
    ------
    InputError
        It is none, or states what cannot be true.
    """
    instance = load_instance(path)
    callback("checking the result")
    report = load_report(path, instance)
    optimum = load_known(path, instance)[0] if report is None else report.optimum
    interrupts.raise_if_interrupted()
    family = family_of(instance)
    sections = []
    if report is not None:
        label = f"ratio, {meaning(family, optimum.value)}"
        bars = curves.ratio_bars(
            report.policies, label, curves.colours(row.name for row in report.policies)
        )
        sections.append(Section("Ratios", [bars, _policies(report)]))
    callback("drawing schedules")
    about = [
        (name.replace("_", " "), messages.text_of(value, ", ")[:LONG])
        for name, value in family.describe(instance).items()
    ]
    runs = [] if report is None else list(report.runs)
    seeds = sorted({run.seed for run in runs})
    facts = {
        "instance, SHA-256": instance.digest(),
        "source": getattr(instance, "source", "") or "not stated",
        "seeds of policies": ", ".join(map(str, seeds)) or "no policy was run",
        "method": f"{optimum.method}, {optimum.seconds:.1f} s",
        "checked": "for this page: schedules were checked, and certificates evaluated again",
        "not checked": "that policies, and other schedulers, decided as the file states",
        "versions of the check": ", ".join(f"{n} {v}" for n, v in all_versions().items()),
        "machine": "the file does not name it",
    }.items()
    sections += [
        Section("Schedules", _pictures(instance, optimum, report, policies)),
        Section("The optimum", _optimum(optimum, report)),
        Section("The instance", [FactList("instance", about)]),
        *closing(path, facts, *of_result(path, optimum.method, seeds[0] if seeds else None, runs)),
    ]
    listed = () if report is None else report.listed
    remarks = list(family.warnings(instance))
    remarks += [f"stated by the file, not checked: {line}" for line in listed]
    if report is not None and report.facts.caution:
        remarks.append(f"{report.facts.caution}.")
    answer = [words.of_optimum(optimum)] if report is None else words.of_ratios(report, family)
    return Page(
        title=path.name,
        subtitle=f"{family.title}: {family.headline(instance)}",
        answer=answer,
        remarks=remarks,
        sections=[s for s in sections if s.blocks],
    )


def _policies(report: RatioReport) -> SortableTable:
    regrets = sorted({name for row in report.policies for name in row.regret})
    relaxed = report.references.get(RELAXATION)
    jobs = report.facts.jobs is not None
    own = [*dict.fromkeys(name for row in report.policies for name in row.columns)]
    columns = [
        *(ColumnHeader("policy"), ColumnHeader("value")),
        *([ColumnHeader("completed", f"of {report.facts.jobs}")] if jobs else []),
        *map(ColumnHeader, own),
        ColumnHeader("ratio", "at least: a schedule proves it; at most: the bound does"),
        *([] if relaxed is None else [ColumnHeader("ratio to LP", "to the relaxation")]),
        *(ColumnHeader(f"regret to {name}") for name in regrets),
        *(
            ColumnHeader("total decision time, s", TIMES),
            ColumnHeader("max decision time, ms", TIMES),
        ),
        ColumnHeader("information", "known when it decided, as the run states; not checked"),
        ColumnHeader("sandbox", "whether it ran in one, as the run states; not checked"),
        ColumnHeader("decision limit, s", "seconds that each decision was allowed"),
        ColumnHeader("keeps to the model", "else its ratio may be below 1"),
    ]
    rows = [_row(row, own, regrets, jobs=jobs, to_lp=relaxed is not None) for row in report.ranked]
    if get_family(report.optimum.family).reactive:
        columns, rows = _telling(columns, rows)
    if relaxed is not None and relaxed.status is Status.BOUND_ONLY:
        before = (4 if jobs else 3) + len(own)  # columns up to the ratio
        cells = [TableCell(LP_ROW), number(relaxed.bound, ".6g")]
        cells += [TableCell("-")] * (before - 2) + [number(1.0)]
        rows.append(cells + [TableCell("-")] * (len(columns) - len(cells)))
    return SortableTable("policies", "Every policy", columns, rows)


def _telling(
    columns: Sequence[ColumnHeader], rows: Sequence[list[TableCell]]
) -> tuple[list[ColumnHeader], list[list[TableCell]]]:
    """Return the columns without those that are the same for all policies."""
    policies = [row for row in rows if row[0].text not in (REAL, LP_ROW)]
    kept = [
        k
        for k, column in enumerate(columns)
        if column.name not in SAME or len({row[k].text for row in policies}) > 1
    ]
    return [columns[k] for k in kept], [[row[k] for k in kept] for row in rows]


def _row(
    row: EvaluatedPolicy, own: Sequence[str], regrets: Sequence[str], *, jobs: bool, to_lp: bool
) -> list[TableCell]:
    done = [TableCell("-") if row.completed is None else count(row.completed)] if jobs else []
    for name in own:
        x = row.columns.get(name, "-")
        done.append(TableCell(x) if isinstance(x, str) else number(x))
    regret = [row.regret.get(name) for name in regrets]
    return [
        *(TableCell(row.name), number(row.value, ".6g"), *done),
        ends(row.ratio.ends, row.ratio.low, row.ratio.high),
        *([number(row.to_relaxation)] if to_lp else []),
        *(TableCell("-") if r is None else ends(str(r), r.low, r.high) for r in regret),
        number(row.seconds, ".3f"),
        number(None if row.slowest is None else 1000 * row.slowest, ".1f"),
        TableCell(", ".join([row.information, *row.own])),
        sandbox(row.seal),
        number(row.decision_limit, "g"),
        TableCell("yes" if row.obeys else "no"),
    ]


def _pictures(
    instance: Instance, optimum: Optimum, report: RatioReport | None, requested: Sequence[str]
) -> list[Block]:
    runs = {} if report is None else report.schedules()
    for name in requested:
        if name not in runs:
            known = ", ".join(runs) or "none: there are no runs in it"
            raise InputError(f"no policy {name!r} in the result, expected {known}")
    chosen = list(requested)
    if not requested and report is not None:
        worst = max(report.policies, key=lambda row: row.ratio.low).name
        chosen = [REAL if REAL in runs else worst]
    best = {} if optimum.schedule is None else {HINDSIGHT: optimum.schedule}
    if not chosen:
        return [*pictures_of(instance, best, "The best schedule known")]
    found: list[Block] = []
    for name in chosen:
        label = f"policy {name}" if name == HINDSIGHT else name
        title = f"The best schedule known next to that of {name}"
        found += pictures_of(instance, best | {label: runs[name]}, title)
    return found


def _optimum(optimum: Optimum, report: RatioReport | None) -> list[Block]:
    known = {"all schedules": optimum, **({} if report is None else report.references)}
    columns = [
        *(
            ColumnHeader("best of"),
            ColumnHeader("status"),
            ColumnHeader("value", "of the best schedule known"),
        ),
        ColumnHeader("bound", "no schedule is better"),
        *(ColumnHeader("level", "how far the bound was checked"), ColumnHeader("gap, %")),
        *(ColumnHeader("certified bound", "what the certificate proves"), ColumnHeader("method")),
        *(ColumnHeader("seconds"), ColumnHeader("effort", "units of work")),
    ]
    rows = [
        [
            *(
                TableCell(name),
                TableCell(str(o.status)),
                number(o.value, ".6g"),
                number(o.bound, ".6g"),
            ),
            TableCell("-" if o.bound_level is None else str(o.bound_level)),
            TableCell("-")
            if o.gap is None
            else TableCell(shown_gap(o.gap).rstrip("%"), (100 * o.gap,)),
            *(number(o.certified_bound, ".6g"), TableCell(o.method), number(o.seconds, ".3g")),
            number(o.effort, ".6g"),
        ]
        for name, o in known.items()
    ]
    blocks: list[Block] = [SortableTable("optimum", "Value and bound", columns, rows)]
    if report is not None and report.integrality_gap is not None:
        blocks.append(FactList("integrality", [("integrality gap", report.gap_in_words)]))
    plot = curves.convergence(optimum)
    return blocks if plot is None else [*blocks, plot]
