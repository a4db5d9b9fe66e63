"""`optsched whatif`: waiting times before and after a change of machines, load or jobs."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from optsched.cli.commands.outcome import ending_well, leave, report
from optsched.cli.options import (
    MOST,
    POLICY_HELP,
    Gap,
    Json,
    Output,
    Params,
    Seed,
    Threads,
    TimeLimit,
    WorkLimit,
    takes_input,
)
from optsched.engine.interval import CLOSED
from optsched.problem import InputError, Window
from optsched.process import crash_state, messages


def _factor(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no number, expected one such as 1.2") from error


@takes_input
def whatif(
    source: Path,
    family: str,
    window: Window,
    add: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NxTYPE",
            help="Add N nodes of a type of the machine list (2xTYPE), or N units of a resource. "
            "With a machine list, units are added as whole nodes, rounded up; name a type if "
            "several types have the resource. May be repeated; all changes are made together.",
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NxTYPE",
            help="Remove N nodes or units, or a node by its name in the machine list (node07); may "
            "be repeated.",
        ),
    ] = None,
    scale_load: Annotated[
        float | None,
        typer.Option(
            parser=_factor,
            metavar="FACTOR",
            help="Multiply the load by FACTOR: divide all times between submissions by it.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=NAME",
            help="Remove the jobs of a user (user=NAME) or a partition (partition=NAME); may be "
            "repeated.",
        ),
    ] = None,
    skip_unfit: Annotated[
        bool,
        typer.Option(
            "--skip-unfit",
            help="In both scenarios, leave out every job that does not fit before or does not fit "
            "after the change: no node can hold it or, where nodes form a pool, the pool cannot.",
        ),
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", "-p", metavar="POLICY", help=f"{POLICY_HELP} May be repeated. Default: all."
        ),
    ] = None,
    windows: Annotated[
        int | None,
        typer.Option(
            min=2, max=MOST, help="Number of disjoint windows of the trace, of --jobs jobs each."
        ),
    ] = None,
    time_limit: TimeLimit = None,
    work_limit: WorkLimit = None,
    gap: Gap = CLOSED,
    threads: Threads = 1,
    seed: Seed = 0,
    params: Params = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Compare waiting times before and after a change.

    The change concerns machines, load or jobs; without one, only the current cluster is analyzed.
    Each policy, and the optimum, is compared before and after the change; the recorded schedule is
    shown before the change only. With a list of nodes, jobs are placed on them; all nodes count as
    one pool if at least one job fits on no node (unless --skip-unfit leaves such jobs out), or if
    every task is one unit of one resource (then nodes make no difference). If a gap remains, the
    change of the optimum is an interval. Shadow prices show when capacity is scarce. Limits apply
    separately to the optimum before and after the change. `optsched report` turns the output file
    into a page.

    Example:  optsched whatif log.swf --machines nodes.csv --add 2xgpu-node -o whatif.json
    """
    from optsched.cli.console import out, show_whatif
    from optsched.cli.progress_display import Ticker
    from optsched.engine.interval import shown_gap
    from optsched.engine.progress import Progress
    from optsched.experiments.whatif import HOUR, WhatIf
    from optsched.experiments.whatif import whatif as measure
    from optsched.files.provenance import portable

    options: dict[str, Any] = {n: x for n, x in vars(window).items() if x is not None}
    if windows is not None:
        del options["start"]
    options |= {"time_limit": time_limit, "work_limit": work_limit, "gap": gap, "seed": seed}
    options["params"] = params
    if family != "rigid":
        raise InputError(f"--family {family}: expected rigid, whose waiting times are compared")
    with ending_well(), Ticker("reading") as ticker:
        said: list[str] = []

        def show(first: WhatIf) -> None:
            for line in first.early:
                if line not in said:
                    ticker.print(line)
            said.extend(first.early)
            if first.changes or not any((add, remove, scale_load, without)):
                ticker.print("searching for the least possible waiting time ...")

        def watch(progress: Progress) -> None:
            ends = ("incumbent", progress.value), ("bound", progress.bound)
            known = ", ".join(f"{n} {x / HOUR:.3g} h" for n, x in ends if x is not None)
            ticker.watch(progress)
            ticker.show(f"{known}, gap {shown_gap(progress.gap())}")

        def begin(part: str) -> None:
            crash_state.finish_what_is_begun()  # nothing is lost by an end before
            ticker.begin(part)

        found = measure(
            source,
            add=add or (),
            remove=remove or (),
            scale_load=scale_load,
            without=without or (),
            skip_unfit=skip_unfit,
            policies=policy or None,
            windows=windows,
            callback=begin,
            shown=show,
            watch=watch,
            threads=threads,
            **options,
        )
    command = shlex.join(["optsched", *map(portable, sys.argv[1:])])
    found = found.model_copy(update={"command": command})
    if output is not None:
        found.save(output)
        messages.remark(f"{output} written")
    if as_json:
        report(found.summary(), None, as_json)
    else:
        show_whatif(out(), found, output)
    leave(found=True)
