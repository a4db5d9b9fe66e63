"""Page of a result file, whose content is recomputed first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    Level,
    Status,
    family_of,
    get_family,
)
from optsched.process import interrupts, messages
from optsched.results.load import load_known, load_report

SAME = ("preempts", "information", "sandbox", "decision limit, s", "keeps to the model")
TIMES = "as the run states; not checked"
OF_POLICIES = {  # what columns mean whose names alone do not state it
    "ratio": "at least: a schedule proves it; at most: the bound does",
    "ratio to LP": "to the relaxation",
    **dict.fromkeys(("total decision time, s", "max decision time, ms"), TIMES),
    "information": "known when it decided, as the run states; not checked",
    "sandbox": "whether it ran in one, as the run states; not checked",
    "decision limit, s": "for each decision, as the run states; not checked",
    "keeps to the model": "else its ratio may be below 1",
}
OF_OPTIMA = {
    "value": "of the best schedule known",
    "bound": "no schedule is better",
    "level": "how far the bound was checked",
    "certified bound": "what the certificate proves",
    "method": "of the search, as the file states; not checked",
    "seconds": "of the search, as the file states; not checked",
    "effort": "units of work, as the file states; not checked",
}
LONG = 400  # characters of a fact


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
    optima = [optimum, *([] if report is None else report.references.values())]
    seeds = sorted({run.seed for run in runs})
    facts = {
        "instance, SHA-256": instance.digest(),
        "source": getattr(instance, "source", "") or "not stated",
        "seeds of policies": ", ".join(map(str, seeds)) or "no policy was run",
        "checked": "for this page: schedules were checked, and certificates evaluated again",
        "not checked": "that policies, and other schedulers, decided as the file states, and that "
        f"the optimum was found by method {optimum.method} in {optimum.seconds:.1f} s"
        + "; claimed numbers"
        * any(o.bound_level is Level.CLAIMED for o in optima),
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
    rows = [_row(row, report) for row in report.ranked]
    names = [*rows[0]]
    if get_family(report.optimum.family).reactive:  # without what is the same for all policies
        policies = [row for row in rows if row["policy"].text != REAL]
        names = [n for n in names if n not in SAME or len({row[n].text for row in policies}) > 1]
    relaxed = report.references.get(RELAXATION)
    if relaxed is not None and relaxed.status is Status.BOUND_ONLY:
        cells = {"policy": TableCell(LP_ROW), "value": number(relaxed.bound, ".6g")}
        cells |= {"ratio to LP": number(1.0)}
        rows.append(dict.fromkeys(names, TableCell("-")) | cells)
    help_of = OF_POLICIES | {"completed": f"of {report.facts.jobs}"}
    return _table("policies", "Every policy", names, rows, help_of)


def _table(
    name: str,
    title: str,
    names: Sequence[str],
    rows: Sequence[Mapping[str, TableCell]],
    help_of: Mapping[str, str],
) -> SortableTable:
    columns = [ColumnHeader(column, help_of.get(column, "")) for column in names]
    return SortableTable(name, title, columns, [[row[column] for column in names] for row in rows])


def _row(row: EvaluatedPolicy, report: RatioReport) -> dict[str, TableCell]:
    """Return the cells of a policy by the names of their columns."""
    cells = {"policy": TableCell(row.name), "value": number(row.value, ".6g")}
    if report.facts.jobs is not None:
        cells["completed"] = TableCell("-") if row.completed is None else count(row.completed)
    for name in dict.fromkeys(name for other in report.policies for name in other.columns):
        x = row.columns.get(name, "-")
        cells[name] = TableCell(x) if isinstance(x, str) else number(x)
    cells["ratio"] = ends(row.ratio.ends, row.ratio.low, row.ratio.high)
    if RELAXATION in report.references:
        cells["ratio to LP"] = number(row.to_relaxation)
    for name in sorted({name for other in report.policies for name in other.regret}):
        r = row.regret.get(name)
        cells[f"regret to {name}"] = TableCell("-") if r is None else ends(str(r), r.low, r.high)
    slowest = None if row.slowest is None else 1000 * row.slowest
    return cells | {
        "total decision time, s": number(row.seconds, ".3f"),
        "max decision time, ms": number(slowest, ".1f"),
        "information": TableCell(", ".join([row.information, *row.own])),
        "sandbox": sandbox(row.seal),
        "decision limit, s": number(row.decision_limit, "g"),
        "keeps to the model": TableCell("yes" if row.obeys else "no"),
    }


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
    rows = [
        {
            "best of": TableCell(name),
            "status": TableCell(str(o.status)),
            "value": number(o.value, ".6g"),
            "bound": number(o.bound, ".6g"),
            "level": TableCell(str(o.bound_level or "-")),
            "gap, %": TableCell("-")
            if o.gap is None
            else TableCell(shown_gap(o.gap).rstrip("%"), (100 * o.gap,)),
            "certified bound": number(o.certified_bound, ".6g"),
            "method": TableCell(o.method),
            "seconds": number(o.seconds, ".3g"),
            "effort": number(o.effort, ".6g"),
        }
        for name, o in known.items()
    ]
    table = _table("optimum", "Value and bound", [*rows[0]], rows, OF_OPTIMA)
    blocks: list[Block] = [table]
    if report is not None and report.integrality_gap is not None:
        blocks.append(FactList("integrality", [("integrality gap", report.gap_in_words)]))
    plot = curves.convergence(optimum)
    return blocks if plot is None else [*blocks, plot]
