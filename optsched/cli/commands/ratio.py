"""`optsched ratio`: policies compared with the offline optimum."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli import options
from optsched.cli.commands.outcome import ending_well, leave, report, report_pictures
from optsched.cli.commands.solve import start_of
from optsched.core import Against
from optsched.engine.interval import CLOSED
from optsched.files.atomic_io import writable_folder
from optsched.problem import RELAXATION, InputError, Window, family_of, is_named_in_file
from optsched.process import interrupts, messages

if TYPE_CHECKING:
    from optsched.core import Failed, Run
    from optsched.core import Optimum as Best
    from optsched.problem import Instance


@options.takes_input
def ratio(
    instance: "Instance",
    remarks: list[str],
    source: Path,
    window: Window,
    preset: str | None,
    policy: Annotated[
        list[str] | None,
        options.several_policies(
            f"{options.POLICY_HELP} May be repeated. Default: all of the family (`re-solve` only "
            "for declared problems)."
        ),
    ] = None,
    schedule: Annotated[
        Path | None, typer.Option(help="Also evaluate the schedule in this file.")
    ] = None,
    optimum: Annotated[
        Path | None,
        typer.Option(
            metavar="RESULT",
            help="Take value and bound from this result, which is verified, instead of solving.",
        ),
    ] = None,
    start_from: options.StartFrom = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Solve again even if the optimum is cached.")
    ] = False,
    reference: Annotated[
        Against,
        typer.Option(
            help="Compare policies with the optimum, with the certified bound of the linear "
            "relaxation, or with both."
        ),
    ] = Against.OPTIMUM,
    method: options.Method = "auto",
    time_limit: options.TimeLimit = None,
    work_limit: options.WorkLimit = None,
    gap: options.Gap = CLOSED,
    threads: options.Threads = 1,
    seed: options.SearchSeed = 0,
    params: options.Params = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=options.MOST,
            help="Number of random instances; for a trace, the number of times its missing "
            "attributes are drawn. Prints means and confidence intervals.",
        ),
    ] = None,
    windows: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=options.MOST,
            help="Number of disjoint windows of the trace, of --jobs jobs each. Prints means and "
            "confidence intervals.",
        ),
    ] = None,
    sandbox: options.Sandboxed = False,
    decision_limit: options.DecisionLimit = None,
    statistics: options.Statistics = None,
    output: options.Output = None,
    as_json: options.Json = False,
    plot: options.Pictures = None,
    style: options.Style = "screen",
) -> None:
    """Compare policies with the offline optimum.

    If the optimum is only bounded, a ratio is an interval: the best schedule found proves its lower
    end, a dual bound its upper end ("claimed": without a checked certificate). `--reference both`
    also prints the ratio of each policy to the bound of the linear relaxation, and the integrality
    gap. Rows with provisional ratios appear as policies finish; the table at the end is final. Exit
    status 1: no schedule was found, or a user-supplied policy failed.

    `--seeds 20` draws 20 instances of a declared problem; for a trace, it draws the missing
    attributes 20 times, so confidence intervals reflect only that randomness. For generated
    instances, use a campaign. `--windows 20` takes `--jobs` jobs from each of 20 parts of the
    trace, so intervals reflect how the workload varies.
    With either, `-o FILE.sqlite` stores all results, as a campaign does.

    Example:  optsched ratio jobs.csv --machines machines.csv --time-limit 120 --plot pictures
    """
    if seeds is not None or windows is not None:
        from optsched.cli.commands.campaign import drawn, ratio_over_seeds

        if seeds is not None and windows is not None:
            raise InputError("--seeds and --windows are given, expected one of them")
        if windows is not None:
            messages.remark(f"remarks are about the first of {windows} windows")
        alone = {"schedule": schedule, "optimum": optimum, "start-from": start_from, "plot": plot}
        for option, given in alone.items():
            if given is not None:
                drawn_of_all = (
                    "; pictures of all are made of a store: -o FILE.sqlite, then optsched "
                    "campaign export FILE.sqlite --plot DIR, or optsched report FILE.sqlite"
                )
                raise InputError(
                    f"--{option} is about one instance, expected it without --seeds or --windows"
                    + drawn_of_all * (option == "plot")
                )
        search = {"method": method, "gap": gap, "seed": seed}
        search |= {"time_limit": time_limit, "work_limit": work_limit, "params": params or {}}
        requested = policy or family_of(instance).compared
        how = {"sandbox": sandbox, "decision_limit": decision_limit}
        policies = [{"name": name, **how} for name in requested]
        block = {"family": instance.family, **drawn(source, window, seeds, windows)}
        if seeds is not None and "trace" in block and not getattr(instance, "drawn", True):
            raise InputError(
                f"{source}: family {instance.family} draws nothing of it, so that all {seeds} "
                f"instances would be the same; expected --windows {seeds}"
            )
        if seeds is not None and is_named_in_file(str(source)):
            block |= {"family": str(source), "seeds": [*range(seed, seed + seeds)]}
            block |= {} if preset is None else {"preset": preset}
        blocks = [] if reference is Against.RELAXATION else [block]
        if reference is not Against.OPTIMUM:
            blocks.append(block | {"reference": search | {"method": RELAXATION}})
        plan = {"instances": blocks, "policies": policies, "reference": search}
        ratio_over_seeds(plan, output, as_json)
    from optsched.cli.console import out, show_ratios
    from optsched.cli.progress_display import RowPrinter, Ticker
    from optsched.core import compare, recorded, turns
    from optsched.policies.loader import name_of
    from optsched.results import optimum_cache
    from optsched.results.journal import Journal
    from optsched.results.load import load_known, load_schedule
    from optsched.results.result import save_result

    if optimum is not None and start_from is not None:
        raise InputError("--start-from is about the search, expected it without --optimum")
    start = start_of(start_from, instance)
    outside = {} if schedule is None else {"schedule": load_schedule(schedule, instance)}
    with messages.collected_remarks() as of_record:
        outside |= recorded(source, window, instance)
    folder = plot and writable_folder(plot)
    options.load_statistics(statistics)
    names = [name_of(p) for _, p in turns(family_of(instance), policy or None)]
    limits: dict[str, Any] = {"method": method, "time_limit": time_limit, "work_limit": work_limit}
    limits |= {"gap": gap, "threads": threads, "seed": seed, "params": params or {}}
    relaxed = reference is Against.RELAXATION
    searched = not no_cache and start_from is None and not relaxed
    with ending_well(), Journal(instance, output, method, start) as journal:
        with Ticker("checking cached results", journal.watch) as ticker:
            known, others = None, None
            if optimum is not None:
                ticker.begin(f"checking {optimum}")
                known, others = load_known(optimum, instance)
                ticker.print(f"the optimum is that of {optimum}, checked again")
            elif not searched:
                pass
            elif recalled := optimum_cache.lookup(instance, limits):
                known, others = recalled
                ticker.print("cached optimum, checked again (--no-cache: solve again)")
            if known is not None:
                journal.record(known)
            rows = RowPrinter(instance, names, ticker)
            rows.begin()

            def callback(found: "Run | Failed | Best") -> None:
                rows.show(found)
                journal.record(found)

            made = compare(
                instance,
                policy or None,
                optimum=known,
                references=others,
                schedule=outside,
                reference=reference,
                start=start,
                sandbox=sandbox,
                decision_limit=decision_limit,
                watch=ticker.watch,
                callback=callback,
                **limits,
            )
        if known is None and start_from is None and not relaxed and interrupts.received() is None:
            optimum_cache.store(instance, limits, made.optimum, made.references)
        try:
            if output:
                parts = (made.runs, made.references, made.outside)
                with messages.long_step(f"writing {output}"):
                    listed = [*dict.fromkeys([*remarks, *of_record])]
                    save_result(output, instance, made.optimum, *parts, listed=listed)
        finally:
            if as_json:
                report(made.summary(), None, as_json)
            else:
                show_ratios(out(), made)
    if folder is not None and interrupts.received() is None:
        from optsched.cli import plots
        from optsched.drawing import styled

        with styled(style), messages.long_step("drawing the pictures"):
            pictures = plots.save_report(instance, made, folder)
        report_pictures(pictures)
    leave(found=made.optimum.value is not None and not made.failed)
