"""`optsched report`: a self-contained HTML report."""

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.commands.outcome import ending_well
from optsched.cli.options import talks
from optsched.files.atomic_io import writable
from optsched.process import crash_state, messages


@talks
def report(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="STORE | RESULT",
            help="Of `campaign run`, or of `solve -o`, `ratio -o` or `minimax -o`.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="HTML file to write.")] = Path(
        "report.html"
    ),
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            help="Draw its worst instance, however long that takes; as the table calls it. May be "
            "repeated. Default: the best and the worst policy, if it takes some seconds.",
        ),
    ] = None,
) -> None:
    """Write an HTML report of a result or a campaign.

    It has the answer, tables, figures, schedules and provenance. One HTML file that needs no
    network and no other file. What a result states is checked again first. Policies from outside
    run only if --policy names them.

    Example:  optsched report load.sqlite -o load.html
    """
    from optsched.cli.progress_display import Ticker

    writable(output)  # or else nobody need begin
    with ending_well():
        crash_state.listen_to_signals()
        with Ticker(f"reading {source}") as ticker:
            from optsched.pages.page import report as write

            write(source, output, policies=policy or (), tell=ticker.say)
    messages.remark(f"{output} written")
