"""`optsched solve`, `run`, `ratio` and `reproduce`: the commands that compute."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.commands.ending import ending_well, leave, report, report_pictures
from optsched.cli.options import (
    MOST,
    POLICY_HELP,
    DecisionLimit,
    Effort,
    Gap,
    Json,
    Method,
    Output,
    Pictures,
    Sealed,
    Seed,
    StartFrom,
    Statistics,
    Threads,
    TimeLimit,
    load_statistics,
    takes_input,
    talks,
)
from optsched.core import Against
from optsched.engine.interval import CLOSED
from optsched.files.disk import writable_folder
from optsched.problem import (
    RELAXATION,
    InputError,
    Level,
    Status,
    Window,
    family_of,
    is_named_in_file,
)
from optsched.process import interrupts, lastwords, talk

if TYPE_CHECKING:
    from optsched.core import Failed, Run
    from optsched.core import Optimum as Best
    from optsched.engine.known import Known
    from optsched.problem import Instance


@takes_input
def solve(
    instance: "Instance",
    method: Method = "auto",
    time_limit: TimeLimit = None,
    effort: Effort = None,
    gap: Gap = CLOSED,
    threads: Threads = 1,
    seed: Seed = 0,
    check: Annotated[Level, typer.Option(help="How far to check the bound.")] = Level.CERTIFIED,
    start_from: StartFrom = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Find the best schedule with hindsight, or how good it can be at most.

    Ctrl-C and the limits leave the best schedule so far and a valid bound. Beside an effort, which
    counts work, the clock is not asked: the result is the same on any machine and under any load,
    unless a time limit ends it first. `--method relaxation` gives the value of the linear
    relaxation, certified, and no schedule. Exit status 1: no schedule was found.

    Example:  optsched solve small.json --time-limit 30 -o result.json

    Example:  optsched solve small.json --effort 10000

    Example:  optsched solve small.json --start-from result.json -o better.json
    """
    from optsched.cli.console import out, show_optimum
    from optsched.cli.ticker import Ticker
    from optsched.core import solve
    from optsched.results.journal import Journal
    from optsched.results.result import save_result

    start = _start(start_from, instance)
    with ending_well(), Journal(instance, output, method, start) as journal:
        with Ticker("looking for the optimum", journal.watch) as ticker:
            found = solve(
                instance,
                method=method,
                time_limit=time_limit,
                effort=effort,
                gap=gap,
                threads=threads,
                seed=seed,
                check=check,
                start=start,
                watch=ticker.watch,
            )
        try:
            if output:
                with talk.aloud(f"writing {output}"):
                    save_result(output, instance, found)
        finally:  # a full disk is no reason not to say what was found
            if as_json:
                said = {"family": found.family, "reference": found.summary(), "policies": []}
                report(said, None, as_json)
            else:
                show_optimum(out(), found)
    leave(found=found.schedule is not None or found.status is Status.BOUND_ONLY)


def _start(path: Path | None, instance: "Instance") -> "Known":
    """Return what a search is to start from, judged."""
    from optsched.cli.ticker import Ticker
    from optsched.core.optimum import known
    from optsched.results.reuse import load_start

    if path is None:
        return known(instance, ())
    with Ticker(f"checking {path}"):
        return load_start(path, instance)


@takes_input
def run(
    instance: "Instance",
    policy: Annotated[str, typer.Option("--policy", "-p", help=POLICY_HELP)],
    seed: Seed = 0,
    sealed: Sealed = False,
    decision_limit: DecisionLimit = None,
    statistics: Statistics = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Run an online policy, which never sees the future.

    Example:  optsched run small.json --policy oasis -o run.json
    """
    from optsched.cli.console import out
    from optsched.cli.ticker import Ticker
    from optsched.core import simulate
    from optsched.results.result import save_run

    load_statistics(statistics)
    with ending_well():
        lastwords.listen_to_signals()
        with Ticker(f"running {policy}") as ticker:

            def progress(events: int) -> None:
                ticker.say(f"{events} events")

            how: dict[str, Any] = {"sealed": sealed, "decision_limit": decision_limit}
            found = simulate(instance, policy, seed=seed, progress=progress, **how)
        if output:
            save_run(output, instance, found)
    if as_json:
        report(found.summary(), None, as_json)
    else:
        out().print(str(found), markup=False)
    leave(found=True)


@takes_input
def ratio(
    instance: "Instance",
    source: Path,
    window: Window,
    preset: str | None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help=f"{POLICY_HELP} May be repeated. Default: all."),
    ] = None,
    schedule: Annotated[
        Path | None, typer.Option(help="Judge this schedule, made elsewhere, beside them.")
    ] = None,
    optimum: Annotated[
        Path | None,
        typer.Option(
            metavar="RESULT", help="Take the optimum from this result; it is checked, not solved."
        ),
    ] = None,
    start_from: StartFrom = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Look for the optimum though it is known already.")
    ] = False,
    reference: Annotated[
        Against, typer.Option(help="What policies are compared with.")
    ] = Against.OPTIMUM,
    method: Method = "auto",
    time_limit: TimeLimit = None,
    effort: Effort = None,
    gap: Gap = CLOSED,
    threads: Threads = 1,
    seed: Seed = 0,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=2, max=MOST, help="Draw what a trace does not say so many times: means, intervals."
        ),
    ] = None,
    sealed: Sealed = False,
    decision_limit: DecisionLimit = None,
    statistics: Statistics = None,
    output: Output = None,
    as_json: Json = False,
    plot: Pictures = None,
) -> None:
    """Compare policies with the best with hindsight: the main job.

    Every ratio is an interval: a schedule proves its low end, a certified bound its high end.
    `--reference both` adds the LP relaxation, certified, and the integrality gap.
    A policy's row appears as soon as it has run; the table at the end has the final ratios. Exit
    status 1: no schedule was found, or a policy of your own failed.

    With `--seeds 20`, a campaign of 20 instances; `-o` keeps its store. Of a trace, the seeds draw
    only what it does not record, and the intervals cover these draws only.

    Example:  optsched ratio jobs.csv --machines machines.csv --time-limit 120 --plot pictures
    """
    if seeds is not None:
        from optsched.cli.commands.campaign import drawn, ratio_over_seeds

        alone = {"schedule": schedule, "optimum": optimum, "start-from": start_from, "plot": plot}
        for option, given in alone.items():
            if given is not None:
                raise InputError(f"--{option} is about one instance, expected it without --seeds")
        search = {"method": method, "gap": gap, "seed": seed}
        search |= {"time_limit": time_limit, "effort": effort}
        asked = policy or family_of(instance).compared
        how = {"sealed": sealed, "decision_limit": decision_limit}
        policies = [{"name": name, **how} for name in asked]
        block = {"family": instance.family, **drawn(source, window, seeds)}
        if is_named_in_file(str(source)):
            block |= {"family": str(source), "seeds": [*range(seed, seed + seeds)]}
            block |= {} if preset is None else {"preset": preset}
        blocks = [] if reference is Against.RELAXATION else [block]
        if reference is not Against.OPTIMUM:
            blocks.append(block | {"reference": search | {"method": RELAXATION}})
        plan = {"instances": blocks, "policies": policies, "reference": search}
        ratio_over_seeds(plan, output, as_json)
    from optsched.cli.console import out, show_ratios
    from optsched.cli.ticker import Rows, Ticker
    from optsched.core import compare, recorded, turns
    from optsched.policies.plugins import name_of
    from optsched.results import kept
    from optsched.results.journal import Journal
    from optsched.results.result import save_result
    from optsched.results.reuse import load_known, load_schedule

    if optimum is not None and start_from is not None:
        raise InputError("--start-from is about the search, expected it without --optimum")
    start = _start(start_from, instance)
    outside = {} if schedule is None else {"schedule": load_schedule(schedule, instance)}
    outside |= recorded(source, window, instance)
    folder = plot and writable_folder(plot)
    load_statistics(statistics)
    names = [name_of(p) for _, p in turns(family_of(instance), policy or None)]
    limits: dict[str, Any] = {"method": method, "time_limit": time_limit, "effort": effort}
    limits |= {"gap": gap, "threads": threads, "seed": seed}
    relaxed = reference is Against.RELAXATION
    searched = not fresh and start_from is None and not relaxed
    with ending_well(), Journal(instance, output, method, start) as journal:
        with Ticker("looking at what is known", journal.watch) as ticker:
            known, others = None, None
            if optimum is not None:
                ticker.begin(f"checking {optimum}")
                known, others = load_known(optimum, instance)
                ticker.print(f"the optimum is that of {optimum}, checked again")
            elif not searched:
                pass
            elif recalled := kept.recall(instance, limits):
                known, others = recalled
                ticker.print("the optimum is known from before, checked again (--fresh: look anew)")
            rows = Rows(instance, names, ticker)
            rows.begin()

            def tell(found: "Run | Failed | Best") -> None:
                rows.tell(found)
                journal.tell(found)

            made = compare(
                instance,
                policy or None,
                optimum=known,
                references=others,
                schedule=outside,
                reference=reference,
                start=start,
                sealed=sealed,
                decision_limit=decision_limit,
                watch=ticker.watch,
                tell=tell,
                **limits,
            )
        if known is None and start_from is None and not relaxed and interrupts.asked() is None:
            kept.keep(instance, limits, made.optimum, made.references)
        try:
            if output:
                parts = (made.runs, made.references, made.outside)
                with talk.aloud(f"writing {output}"):
                    save_result(output, instance, made.optimum, *parts)
        finally:
            if as_json:
                report(made.summary(), None, as_json)
            else:
                show_ratios(out(), made)
    if folder is not None and interrupts.asked() is None:
        from optsched.cli import plots

        with talk.aloud("drawing the pictures"):
            pictures = plots.save_report(instance, made, folder)
        report_pictures(pictures)
    leave(found=made.optimum.value is not None and not made.failed)


@talks
def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A figure: oasis-fig3, ...")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the results.")] = Path(
        "results"
    ),
    seeds: Annotated[int | None, typer.Option(min=1, max=MOST, help="Instances per point.")] = None,
    first_seed: Annotated[
        int | None, typer.Option(min=0, max=MOST, help="Seed of the first instance.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(min=0, help="Seconds per optimum.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Processes; default: all cores.")
    ] = None,
    keep_rows: Annotated[
        bool, typer.Option("--keep-rows", help="Take up rows that other code has made, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Repeat a figure of a paper, and say how far the numbers agree with it.

    Writes NAME.json (every number, settings, machine, versions, command) and NAME.png. What the
    same code has stored in NAME.json is not computed again, so Ctrl-C loses nothing. With
    --first-seed N, other instances of the same settings, stored in NAME-from-N.json.

    Example:  optsched reproduce completion-fig9 --first-seed 1000 -o results
    """
    from optsched.cli.ticker import Ticker
    from optsched.files.provenance import portable
    from optsched.papers.reproduce import experiment
    from optsched.papers.reproduce import reproduce as repeat

    chosen = experiment(name)
    folder = writable_folder(output)
    command = " ".join(["optsched", *map(portable, sys.argv[1:])])
    with ending_well():
        lastwords.listen_to_signals()
        with Ticker(f"reproducing {name}") as ticker:
            result = repeat(
                chosen,
                folder,
                seeds=seeds,
                first_seed=first_seed,
                time_limit=time_limit,
                workers=workers,
                keep_rows=keep_rows,
                command=command,
                tell=ticker.say,
            )
    if as_json:
        report(result.summary(), None, as_json)
    else:
        talk.result(result)
    leave(found=True)
