"""`optsched worst-case`: the worst instance for a policy."""

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli import options
from optsched.cli.commands.outcome import ending_well, leave, print_result, report_pictures
from optsched.files.atomic_io import writable, writable_folder
from optsched.problem import family_or_problem, problem_named
from optsched.process import crash_state, messages


@options.with_verbosity
def worst_case(
    policy: Annotated[str, typer.Option("--policy", "-p", help=options.POLICY_HELP)],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="Output file, a result; a checkpoint is written next to it."
        ),
    ],
    family: Annotated[str, typer.Option(help=options.FAMILY_OR_PROBLEM)] = "oasis",
    preset: Annotated[
        str | None,
        typer.Option(help="Preset whose parameter ranges are searched (default: the first)."),
    ] = None,
    jobs: Annotated[int | None, options.size("Maximum number of jobs")] = None,
    slots: options.Slots = None,
    machines: options.Machines = None,
    ports: options.Ports = None,
    nodes: options.Nodes = None,
    applications: Annotated[
        int | None, options.size("Maximum number of applications (bot)")
    ] = None,
    evaluations: Annotated[
        int, typer.Option(min=1, help="Number of instances that each search evaluates.")
    ] = 300,
    searches: Annotated[
        int,
        typer.Option(
            min=1, max=options.MOST, help="Number of independent searches, each with its own seed."
        ),
    ] = 1,
    share: Annotated[
        float,
        typer.Option(
            "--min-opt-fraction",
            min=0,
            max=1,
            help="Skip instances on which even the best schedule found earns less than this "
            "fraction of the total utility: the sum of what each job would earn alone on the "
            "cluster (bot: with free transfers). For costs, the fraction is the sum of the costs "
            "of the jobs, each alone on the cluster, divided by the cost of the schedule.",
        ),
    ] = 0.2,
    earns: Annotated[
        float,
        typer.Option(
            "--min-alg-fraction",
            min=0,
            max=1,
            help="Skip instances on which the policy earns nothing, or less than this fraction of "
            "the total utility: their ratios are infinite or huge, without meaning.",
        ),
    ] = 0.001,
    work_limit: Annotated[
        float,
        typer.Option(
            min=0,
            help=f"Limit of the search for a good schedule of each instance, {options.WORK_LIMIT}.",
        ),
    ] = 5.0,
    time_limit: Annotated[
        float, typer.Option(min=0, help="Time limit (s) for the optimum of the worst instance.")
    ] = 60.0,
    seed: options.Seed = 0,
    sandbox: options.Sandboxed = False,
    decision_limit: options.DecisionLimit = None,
    statistics: options.Statistics = None,
    as_json: options.Json = False,
    plot: options.Pictures = None,
    style: options.Style = "screen",
) -> None:
    """Search for instances on which a policy performs poorly.

    An evolutionary search over the parameter ranges of the preset, with up to --jobs jobs,
    maximizes the ratio of the best schedule found to the policy (for costs, of the policy to the
    best schedule). For a declared problem (FILE.py:NAME) it varies the random draws of each time
    step; in the families, the worst instance is reduced until removing any job lowers the ratio by
    more than 1 %. The worst instance is solved to optimality (up to --time-limit), and saved as a
    result with its certificate, for `verify`, `show` and `report`.

    Ctrl-C writes the worst instance so far. Run the same command again to resume, with more
    --evaluations if you like. Exit status 1: all instances were skipped,
    or a ratio exceeds what a theorem allows.

    Example:  optsched worst-case --family oasis --policy oasis --preset small -o worst.json
    """
    from optsched.adversarial.evaluation import Terms
    from optsched.adversarial.worst_case import find_worst_case as look
    from optsched.cli.progress_display import Ticker
    from optsched.files.format import Validating

    family = problem_named(family)
    sizes = {"jobs": jobs, "slots": slots, "machines": machines, "ports": ports}
    sizes |= {"nodes": nodes, "applications": applications}
    with Validating("hunt"):
        terms = Terms(
            family=family,
            policy=policy,
            preset=preset or family_or_problem(family).presets[0],
            sizes=options.sizes_given(family, sizes),
            sealed=sandbox,
            decision_limit=decision_limit,
            share=share,
            earns=earns,
            effort=work_limit,
        )
    target = writable(output)
    folder = plot and writable_folder(plot)
    options.load_statistics(statistics)
    with ending_well():
        crash_state.finish_what_is_begun()
        with Ticker(f"worst case of {policy}") as ticker:
            found = look(
                terms,
                evaluations=evaluations,
                searches=searches,
                seed=seed,
                time_limit=time_limit,
                path=target,
                callback=ticker.show,
            )
    print_result(found.summary(), as_json, *map(messages.printable, found.lines()))
    if found.worst is not None:
        messages.remark(f"{target} written")
    if folder is not None and found.worst is not None and found.report is not None:
        from optsched.cli import plots
        from optsched.drawing import styled

        with styled(style):
            pictures = plots.save_report(found.worst.instance, found.report, folder)
        report_pictures(pictures)
    leave(found=found.worst is not None)
