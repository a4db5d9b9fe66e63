"""`optsched verify`: check schedules, values and bounds."""

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.commands.outcome import report
from optsched.cli.options import Json, with_verbosity
from optsched.files.atomic_io import writable
from optsched.problem import InputError, family_of
from optsched.process import messages

MODEL = "is a model, expected an instance or a result; optsched certify proves its optimum"
NOT_VERIFIED = {
    ".vipr": "is a VIPR proof, which other checkers read (viprchk); expected the result file that "
    "optsched certify MODEL -o result.json writes",
    **dict.fromkeys((".mps", ".lp"), MODEL),
}


@with_verbosity
def verify(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="INSTANCE SCHEDULE | RESULT",
            help="An instance and a schedule (from another tool), or results of solve, run, ratio "
            "and other commands (they contain their instance).",
        ),
    ],
    unfinished: Annotated[
        bool,
        typer.Option(
            "--unfinished",
            help="oasis, dmlrs: Accept jobs that do not complete; they earn nothing.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the outcome of the checks here (JSON)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Verify a schedule, or a result's value and certified bound.

    No solver is used: feasibility and value are recomputed from the definition of the problem, a
    bound from its certificate in exact or interval arithmetic. Exit status 1: rejected.

    Example:  optsched verify result.json

    Example:  optsched verify small.json schedule.json
    """
    from optsched.cli.progress_display import Ticker
    from optsched.experiments.whatif import recheck_content as recheck_whatif
    from optsched.files.format import load_instance, read_json
    from optsched.minimax.files import recheck_content as recheck_game
    from optsched.process.garbage import no_garbage
    from optsched.results.load import load_schedule
    from optsched.results.result import recheck_content

    if output is not None:
        writable(output)  # refused early
    for path in files:
        if (hint := NOT_VERIFIED.get(path.suffix)) is not None:
            raise InputError(f"{path}: {hint}")
    known = "instance", "schedule", "run", "result", "minimax", "whatif"
    with no_garbage():
        contents = [read_json(f, *known) for f in files]
    kinds = [content["kind"] for content in contents]
    if kinds == ["instance", "schedule"]:
        instance = load_instance(files[0])
        schedule = load_schedule(files[1], instance)
        with Ticker(f"checking {files[1]}"):
            verdict = family_of(instance).verify(instance, schedule, unfinished=unfinished)
        if not as_json:
            messages.result(verdict)
        content = {"accepted": verdict.feasible, **verdict.model_dump(mode="json")}
        report(content, output, as_json)
        raise typer.Exit(0 if verdict.feasible else 1)
    again = {"minimax": recheck_game, "whatif": recheck_whatif}
    if not {*kinds} <= {"run", "result", *again}:
        whole = [str(f) for f, kind in zip(files, kinds, strict=True) if kind in ("run", "result")]
        alone = f"; {whole[0]} has its instance: optsched verify {whole[0]}" if whole else ""
        raise InputError(
            f"verify was given {' and '.join(kinds)}, "
            f"expected an instance and a schedule, or results{alone}"
        )
    accepted, checks = True, []
    for path, kind, content in zip(files, kinds, contents, strict=True):
        with Ticker(f"checking {path}"):
            derived = again.get(kind, recheck_content)(content, path)
        for found in derived:
            if not as_json:
                messages.result(f"{path}: {found}")
            accepted &= found.accepted
            verdict_on = {"file": str(path), "accepted": found.accepted}
            checks.append(verdict_on | found.model_dump(mode="json"))
    if accepted and len(checks) > 1 and not as_json:
        messages.result(f"all {len(checks)} values and bounds verified")
    report({"accepted": accepted, "checks": checks}, output, as_json)
    raise typer.Exit(0 if accepted else 1)
