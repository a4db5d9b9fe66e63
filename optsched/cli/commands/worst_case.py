"""`optsched worst-case`: the worst instance for a policy."""

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.commands.outcome import ending_well, leave, report, report_pictures
from optsched.cli.options import (
    FAMILY_HELP,
    MOST,
    MOST_SLOTS,
    POLICY_HELP,
    DecisionLimit,
    Json,
    Pictures,
    Sandboxed,
    Seed,
    Statistics,
    load_statistics,
    sizes_given,
    talks,
)
from optsched.files.atomic_io import writable, writable_folder
from optsched.problem import family_or_problem
from optsched.process import crash_state, messages


@talks
def worst_case(
    policy: Annotated[str, typer.Option("--policy", "-p", help=POLICY_HELP)],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Output file; a checkpoint is written next to it."),
    ],
    family: Annotated[str, typer.Option(help=FAMILY_HELP)] = "oasis",
    preset: Annotated[
        str | None, typer.Option(help="Preset whose ranges count; by default the family's first.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, max=MOST, help="Most jobs.")] = None,
    slots: Annotated[
        int | None, typer.Option("--horizon", min=1, max=MOST_SLOTS, help="Slots.")
    ] = None,
    machines: Annotated[int | None, typer.Option(min=1, max=MOST, help="Machines.")] = None,
    ports: Annotated[int | None, typer.Option(min=1, max=MOST, help="Ports (bipartite).")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, max=MOST, help="Nodes (bot).")] = None,
    applications: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Most applications (bot).")
    ] = None,
    evaluations: Annotated[
        int, typer.Option(min=1, help="Instances that each search may try.")
    ] = 300,
    searches: Annotated[int, typer.Option(min=1, max=MOST, help="Searches, a seed each.")] = 1,
    share: Annotated[
        float,
        typer.Option(
            "--min-opt-fraction",
            min=0,
            max=1,
            help="Share of all utility that the optimum reaches at least.",
        ),
    ] = 0.2,
    earns: Annotated[
        float,
        typer.Option(
            "--min-alg-fraction",
            min=0,
            max=1,
            help="Share of all utility that the policy reaches at least, and not 0.",
        ),
    ] = 0.001,
    work_limit: Annotated[
        float, typer.Option(min=0, help="Units of search for a good schedule, per instance.")
    ] = 5.0,
    time_limit: Annotated[
        float, typer.Option(min=0, help="Seconds for the optimum of the worst instance.")
    ] = 60.0,
    seed: Seed = 0,
    sandbox: Sandboxed = False,
    decision_limit: DecisionLimit = None,
    statistics: Statistics = None,
    as_json: Json = False,
    plot: Pictures = None,
) -> None:
    """Search for the worst instance for a policy.

    The search tries what the preset could draw, with fewer jobs too. All utility is what the jobs
    would bring if each were alone. A schedule proves the low end of every ratio. The worst instance
    is shrunk until no job can be left out without losing 1 %, its optimum is closed, and it is
    written with its schedules and its proof, for `verify`, `show` and `report`. Of a problem in a
    file (FILE.py:NAME), the random numbers of each time are searched.

    Ctrl-C writes the best so far. The same command goes on, and one with more evaluations too.
    Exit status 1: no instance counts.

    Example:  optsched worst-case --family oasis --policy oasis --preset small -o worst.json
    """
    from optsched.adversarial.evaluation import Terms
    from optsched.adversarial.worst_case import find_worst_case as look
    from optsched.cli.progress_display import Ticker
    from optsched.files.format import valid

    sizes = {"jobs": jobs, "slots": slots, "machines": machines, "ports": ports}
    sizes |= {"nodes": nodes, "applications": applications}
    with valid("hunt"):
        terms = Terms(
            family=family,
            policy=policy,
            preset=preset or family_or_problem(family).presets[0],
            sizes=sizes_given(family, sizes),
            sealed=sandbox,
            decision_limit=decision_limit,
            share=share,
            earns=earns,
            effort=work_limit,
        )
    target = writable(output)
    folder = plot and writable_folder(plot)
    load_statistics(statistics)
    with ending_well():
        crash_state.finish_what_is_begun()
        with Ticker(f"hunting {policy}") as ticker:
            found = look(
                terms,
                evaluations=evaluations,
                searches=searches,
                seed=seed,
                time_limit=time_limit,
                path=target,
                tell=ticker.say,
            )
    if as_json:
        report(found.summary(), None, as_json)
    else:
        for line in found.lines():
            messages.result(messages.printable(line))
    if found.worst is not None:
        messages.remark(f"{target} written")
    if folder is not None and found.worst is not None and found.report is not None:
        from optsched.cli import plots

        report_pictures(plots.save_report(found.worst.instance, found.report, folder))
    leave(found=found.worst is not None)
