"""`optsched show`: summary of a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.cli.commands.outcome import report, report_pictures
from optsched.cli.options import Json, Output, Pictures, Style, takes_input
from optsched.files.atomic_io import writable_folder
from optsched.problem import InputError, Level, family_of, is_named_in_file
from optsched.process import messages

if TYPE_CHECKING:
    from optsched.core import Optimum, RatioReport, Run
    from optsched.problem import Instance


@takes_input
def show(
    source: Path,
    instance: "Instance",
    output: Output = None,
    as_json: Json = False,
    plot: Pictures = None,
    style: Style = "screen",
) -> None:
    """Summarize an instance or a result.

    Prints sizes, offered load and warnings of an instance, and value, bound and runs of a result.
    The table of ratios is recomputed from the schedules and the certificate in the file.

    Example:  optsched show result.json --plot pictures
    """
    from optsched.cli.console import facts_table, out, show_ratios, show_whatif
    from optsched.core import is_instance
    from optsched.experiments.whatif import NOT_CHECKED, WhatIf
    from optsched.files.format import read_json

    family, console = family_of(instance), out()
    folder = plot and writable_folder(plot)
    is_file = is_instance(source)
    kind: Any = "problem" if is_named_in_file(str(source)) else "trace"
    if is_file:
        kind = read_json(source, "instance", "run", "result", "whatif")["kind"]
    with messages.long_step(f"looking at {source}"):
        warnings = list(family.warnings(instance))
    compared, found = None, None
    try:
        compared, found = _checked(source, kind, instance)
    except InputError as err:
        warnings.append(f"not to be relied on: {err}")
    changed = WhatIf.load(source) if kind == "whatif" else None
    warnings += [NOT_CHECKED] * (changed is not None)
    if kind == "run" or compared is not None:
        warnings.append(
            "not checked: that policies decided so, what they knew, and their sandbox and times"
        )
    if kind == "result" and found is not None:
        warnings.append("not checked: method, time and effort of the search")
    others = () if compared is None else compared.references.values()
    if any(getattr(part, "bound_level", None) is Level.CLAIMED for part in (found, *others)):
        warnings.append("not checked: claimed numbers; only a certificate could prove them")
    with messages.long_step(f"looking at {source}"):
        facts = family.describe(instance)
    content = {"file": str(source), "kind": kind, "family": family.name, "facts": facts}
    content |= {"warnings": warnings, "found": None if found is None else found.summary()}
    content |= {"comparison": None if compared is None else compared.summary()}
    content |= {} if changed is None else {"whatif": changed.summary()}
    report(content, output, as_json)
    if not as_json:
        console.print(facts_table(messages.printable(f"{source}: {family.title}"), facts))
        for warning in warnings:
            console.print(f"warning: {warning}", markup=False)
        if compared is not None:
            show_ratios(console, compared, read=True)
        elif changed is not None:
            show_whatif(console, changed, source)
        elif found is not None:
            console.print(f"checked again: {found}", markup=False)
    if kind == "trace":
        _recommend(source, family.name)
    if folder is not None:
        from optsched.cli import plots
        from optsched.drawing import HINDSIGHT, styled

        with styled(style):
            if compared is not None:
                made = plots.save_report(instance, compared, folder)
            else:
                schedule = getattr(found, "schedule", None)
                drawn = {} if schedule is None else {getattr(found, "policy", HINDSIGHT): schedule}
                made = plots.save_show(instance, drawn, folder)
        if not made:
            messages.remark(f"family {family.name} draws no pictures")
        report_pictures(made)


def _recommend(source: Path, chosen: str) -> None:
    """Name the family that needs the fewest assumptions about a list of jobs."""
    from optsched.core.inputs import SAMPLE
    from optsched.traces import read_jobs
    from optsched.traces.jobs import recommended_family

    if str(source) == SAMPLE or chosen == "bot":  # a bot's list is of workflows or platforms
        return
    with messages.silenced():
        name, why = recommended_family(read_jobs(source))
    if name != chosen:
        messages.remark(f"what is recorded fits family {name} (--family {name}): {why}")


def _checked(
    source: Path, kind: str, instance: "Instance"
) -> "tuple[RatioReport | None, Optimum | Run | None]":
    """Return the comparison and the optimum, recomputed from a file."""
    from optsched.cli.progress_display import Ticker
    from optsched.results.load import load_optimum, load_report, load_run

    if kind not in ("run", "result"):
        return None, None
    with Ticker(f"checking {source}"):
        if kind == "run":
            return None, load_run(source)
        compared = load_report(source, instance)
        return compared, load_optimum(source) if compared is None else compared.optimum
