"""`optsched reproduce`: figures of the papers."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.commands.outcome import ending_well, leave, print_result
from optsched.cli.options import MOST, Json, Style, with_verbosity
from optsched.files.atomic_io import writable_folder
from optsched.process import crash_state


@with_verbosity
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Name of a figure, such as oasis-fig3 (an unknown name lists all)."
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Directory for the results.")
    ] = Path("results"),
    seeds: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Number of instances per point.")
    ] = None,
    first_seed: Annotated[
        int | None, typer.Option(min=0, max=MOST, help="Seed of the first instance.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Time limit per optimum (s).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Number of processes (default: all cores).")
    ] = None,
    ignore_code_version: Annotated[
        bool,
        typer.Option("--ignore-code-version", help="Reuse stored results of other code versions."),
    ] = False,
    style: Style = "screen",
    as_json: Json = False,
) -> None:
    """Reproduce a figure of a paper and compare the results.

    Writes NAME.json (numbers, settings, machine, versions, command) and NAME.png. Results stored in
    NAME.json by the same code version are reused, so you can interrupt and rerun. --first-seed N
    draws new instances with the same settings and stores them in NAME-from-N.json.

    Example:  optsched reproduce completion-fig9 --first-seed 1000 -o results
    """
    from optsched.cli.progress_display import Ticker
    from optsched.drawing import styled
    from optsched.files.provenance import portable
    from optsched.papers.reproduce import experiment
    from optsched.papers.reproduce import reproduce as repeat

    chosen = experiment(name)
    folder = writable_folder(output)
    command = " ".join(["optsched", *map(portable, sys.argv[1:])])
    with ending_well(), styled(style):
        crash_state.listen_to_signals()
        with Ticker(f"reproducing {name}") as ticker:
            result = repeat(
                chosen,
                folder,
                seeds=seeds,
                first_seed=first_seed,
                time_limit=time_limit,
                workers=workers,
                keep_rows=ignore_code_version,
                command=command,
                callback=ticker.show,
            )
    print_result(result.summary(), as_json, result)
    leave(found=True)
