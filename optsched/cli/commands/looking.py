"""`optsched show`, `verify`, `check-problem`, `info`: the commands that look at what there is."""

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.commands.ending import leave, report, report_pictures
from optsched.cli.options import MOST, Json, Output, Pictures, Seed, takes_input, talks
from optsched.files.disk import writable, writable_folder
from optsched.problem import (
    Family,
    InputError,
    Level,
    family_names,
    family_of,
    get_family,
    is_named_in_file,
)
from optsched.process import talk

if TYPE_CHECKING:
    from optsched.core import Optimum, RatioReport, Run
    from optsched.problem import Instance, Schedule


@takes_input
def show(
    source: Path,
    instance: "Instance",
    output: Output = None,
    as_json: Json = False,
    plot: Pictures = None,
) -> None:
    """Say what is in a file: sizes, offered load, warnings; of a result also what was found.

    The table of ratios is computed again, from the schedules and the certificate in the file.

    Example:  optsched show result.json --plot pictures
    """
    from optsched.cli.console import facts_table, out, show_ratios
    from optsched.core import is_instance
    from optsched.files.envelope import read_json

    family, console = family_of(instance), out()
    folder = plot and writable_folder(plot)
    is_file = is_instance(source)
    kind: Any = "problem" if is_named_in_file(str(source)) else "trace"
    if is_file:
        kind = read_json(source, "instance", "run", "result")["kind"]
    with talk.aloud(f"looking at {source}"):
        warnings = list(family.warnings(instance))
    compared, found = None, None
    try:
        compared, found = _checked(source, kind, instance)
    except InputError as err:
        warnings.append(f"not to be relied on: {err}")
    if getattr(found, "bound_level", None) is Level.CLAIMED:
        warnings.append("not checked: what is called claimed; only a certificate could prove it")
    with talk.aloud(f"looking at {source}"):
        facts = family.describe(instance)
    said = {"file": str(source), "kind": kind, "family": family.name, "facts": facts}
    said |= {"warnings": warnings, "found": None if found is None else found.summary()}
    said |= {"comparison": None if compared is None else compared.summary()}
    report(said, output, as_json)
    if not as_json:
        console.print(facts_table(f"{source}: {family.title}", facts))
        for warning in warnings:
            console.print(f"warning: {warning}", markup=False)
        if compared is not None:
            show_ratios(console, compared)
        elif found is not None:
            console.print(f"checked again: {found}", markup=False)
    if folder is not None:
        from optsched.cli import plots

        if compared is not None:
            made = plots.save_report(instance, compared, folder)
        else:
            made = plots.save_show(instance, _schedules(found), folder)
        if not made:
            talk.remark(f"family {family.name} draws no pictures")
        report_pictures(made)


def _checked(
    source: Path, kind: str, instance: "Instance"
) -> "tuple[RatioReport | None, Optimum | Run | None]":
    """Return the comparison and what was found, as derived again from what is in a file."""
    from optsched.cli.ticker import Ticker
    from optsched.results.reuse import load_optimum, load_report, load_run

    if kind not in ("run", "result"):
        return None, None
    with Ticker(f"checking {source}"):
        if kind == "run":
            return None, load_run(source)
        compared = load_report(source, instance)
        return compared, load_optimum(source) if compared is None else compared.optimum


def _schedules(found: "Optimum | Run | None") -> dict[str, "Schedule"]:
    """Return what there is to draw, by its name."""
    from optsched.drawing import HINDSIGHT

    if found is None or found.schedule is None:
        return {}
    return {getattr(found, "policy", HINDSIGHT): found.schedule}


@talks
def verify(
    files: Annotated[
        list[Path], typer.Argument(metavar="INSTANCE SCHEDULE | RESULT...", help="What to check.")
    ],
    unfinished: Annotated[
        bool,
        typer.Option("--unfinished", help="A job may be left unfinished; it then earns nothing."),
    ] = False,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Judge a schedule, or check value and bound of results again. Exit status 1: rejected.

    The judge knows no solver; a bound is recomputed from its certificate in exact arithmetic.

    Example:  optsched verify result.json

    Example:  optsched verify small.json schedule.json
    """
    from optsched.cli.ticker import Ticker
    from optsched.files.envelope import load_instance, read_json
    from optsched.minimax.files import recheck as recheck_game
    from optsched.results.result import recheck
    from optsched.results.reuse import load_schedule

    if output is not None:
        writable(output)  # or else nobody need begin
    known = "instance", "schedule", "run", "result", "minimax"
    kinds = [read_json(f, *known)["kind"] for f in files]
    if kinds == ["instance", "schedule"]:
        instance = load_instance(files[0])
        schedule = load_schedule(files[1], instance)
        with Ticker(f"judging {files[1]}"):
            verdict = family_of(instance).verify(instance, schedule, unfinished=unfinished)
        if not as_json:
            talk.result(verdict)
        said = {"accepted": verdict.feasible, **verdict.model_dump(mode="json")}
        report(said, output, as_json)
        raise typer.Exit(0 if verdict.feasible else 1)
    if not {*kinds} <= {"run", "result", "minimax"}:
        raise InputError(
            f"verify was given {' and '.join(kinds)}, "
            "expected an instance and a schedule, or results"
        )
    accepted, checks = True, []
    for path, kind in zip(files, kinds, strict=True):
        with Ticker(f"checking {path}"):
            derived = recheck_game(path) if kind == "minimax" else recheck(path)
        for found in derived:
            if not as_json:
                talk.result(f"{path}: {found}")
            accepted &= found.accepted
            verdict_on = {"file": str(path), "accepted": found.accepted}
            checks.append(verdict_on | found.model_dump(mode="json"))
    report({"accepted": accepted, "checks": checks}, output, as_json)
    raise typer.Exit(0 if accepted else 1)


@talks
def info(
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Print the JSON schema of instance, schedule, run or result files."
        ),
    ] = None,
    family: Annotated[str, typer.Option(help="Family of the schema.")] = "oasis",
    as_json: Json = False,
) -> None:
    """Print versions, solvers found, families with their policies and methods, and how to cite.

    Example:  optsched info --schema instance
    """
    if schema is not None:
        from optsched.results.schemas import schema as schema_of

        report(schema_of(schema, family), None, as_json=True)
        return
    from optsched.files.provenance import CITE, solver_versions, versions

    found, known = versions() | {"solvers": solver_versions()}, cards()
    if as_json:
        report({"versions": found, "families": known, "cite": CITE}, None, as_json)
        return
    from optsched.cli.console import facts_table, out

    console = out()
    console.print(facts_table("optsched", found))
    for name, facts in known.items():
        console.print(facts_table(f"family {name}: {facts.pop('title')}", facts))
    console.print(CITE, markup=False)


@talks
def check_problem(
    problem: Annotated[str, typer.Argument(metavar="PROBLEM", help="FILE.py:NAME")],
    preset: Annotated[
        str | None, typer.Option(help="Which instances; by default the first preset.")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, max=MOST, help="Pairs of instances.")] = 20,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Look for what a declared problem reveals before its time.

    Pairs of instances are drawn that are alike up to a time; up to it their events must be the
    same. Exit status 1: they are not; the first variable or constraint that differs is named.

    Example:  optsched check-problem adwords.py:adwords
    """
    from optsched.declared.leaks import check_problem as check
    from optsched.declared.problem import Problem
    from optsched.process.loading import load_from_file

    what = f"problem {problem!r}"
    if not is_named_in_file(problem):
        raise InputError(f"{what}: expected FILE.py:NAME")
    made = load_from_file(problem, what)
    if not isinstance(made, Problem):
        raise InputError(f"{what} is {made!r:.60}, expected an optsched.problem")
    with talk.aloud(f"comparing pairs of {made.name}"):
        found = check(made, preset, pairs=pairs, seed=seed)
    leak = None if found.leak is None else str(found.leak)
    said = {"problem": found.problem, "pairs": found.pairs, "leak": leak}
    report(said, None, as_json)
    if not as_json:
        talk.result(found)
    leave(found=found.leak is None)


def card(family: Family) -> dict[str, Any]:
    """Return what there is to say of a family."""
    return {
        "title": family.title,
        "paper": family.paper,
        "objective": "maximized" if family.sense == "max" else "minimized",
        "presets": [*family.presets],
        "policies": [*family.policies],
        "methods": [*family.methods],
    }


def cards() -> dict[str, dict[str, Any]]:
    """Return the card of every family that is installed, by name.

    Those of this package are stored in families/cards.json, as :func:`card` makes them, since
    loading all families takes seconds; a family from elsewhere is loaded.
    """
    stored = json.loads((files("optsched") / "families" / "cards.json").read_text("utf-8"))
    return {name: stored.get(name) or card(get_family(name)) for name in family_names()}
