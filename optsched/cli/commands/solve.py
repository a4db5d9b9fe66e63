"""`optsched solve`: the offline optimum, or bounds on it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optsched.cli import options
from optsched.cli.commands.outcome import ending_well, leave, report
from optsched.engine.interval import CLOSED
from optsched.problem import Level, Status
from optsched.process import messages

if TYPE_CHECKING:
    from optsched.engine.warm_start import Known
    from optsched.problem import Instance


@options.takes_input
def solve(
    instance: "Instance",
    method: options.Method = "auto",
    time_limit: options.TimeLimit = None,
    work_limit: options.WorkLimit = None,
    gap: options.Gap = CLOSED,
    threads: options.Threads = 1,
    seed: options.SearchSeed = 0,
    params: options.Params = None,
    check: Annotated[
        Level,
        typer.Option(
            help="Level of verification to aim for; the result states the level of the bound. "
            "certified: optsched recomputes it from a certificate, rigorously; "
            "cross-checked: two implementations that share no code agree; claimed: a solver or a "
            "method reports it, and no certificate was checked."
        ),
    ] = Level.CERTIFIED,
    start_from: options.StartFrom = None,
    output: options.Output = None,
    as_json: options.Json = False,
) -> None:
    """Compute the offline optimum, or bounds on it.

    Ctrl-C or a limit ends the search with the best schedule found so far and a bound; after Ctrl-C
    or a time limit, its certificate may not have been checked (level claimed). With --work-limit
    the result is reproducible, unless --time-limit ends the search first. `--method relaxation`
    computes only the certified bound of the linear relaxation. Exit status 1: no schedule was
    found; with `--method relaxation`, no bound.

    Example:  optsched solve small.json --time-limit 30 -o result.json

    Example:  optsched solve small.json --work-limit 10000

    Example:  optsched solve small.json --start-from result.json -o better.json
    """
    from optsched.cli.console import out, show_optimum
    from optsched.cli.progress_display import Ticker
    from optsched.core import solve
    from optsched.results.journal import Journal
    from optsched.results.result import save_result

    start = start_of(start_from, instance)
    with ending_well(), Journal(instance, output, method, start) as journal:
        with Ticker("looking for the optimum", journal.watch) as ticker:
            found = solve(
                instance,
                method=method,
                time_limit=time_limit,
                work_limit=work_limit,
                gap=gap,
                threads=threads,
                seed=seed,
                check=check,
                start=start,
                params=params,
                watch=ticker.watch,
            )
        try:
            if output:
                with messages.long_step(f"writing {output}"):
                    save_result(output, instance, found)
        finally:  # a full disk is no reason not to state the results
            if as_json:
                content = {"family": found.family, "reference": found.summary(), "policies": []}
                report(content, None, as_json)
            else:
                show_optimum(out(), found)
    leave(found=found.schedule is not None or found.status is Status.BOUND_ONLY)


def start_of(path: Path | None, instance: "Instance") -> "Known":
    """Return the warm start, checked."""
    from optsched.cli.progress_display import Ticker
    from optsched.core.optimum import known
    from optsched.results.load import load_start

    if path is None:
        return known(instance, ())
    with Ticker(f"checking {path}"):
        return load_start(path, instance)
