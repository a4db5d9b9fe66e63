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
            help="Output of `campaign run`, or of `solve`, `ratio`, `minimax`, `foresight`, "
            "`advice` or `whatif` with -o.",
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
            help="Policy (name as in the table) whose worst instance is drawn, even if slow; may "
            "be repeated. Default: the best and the worst, if drawing takes only a few seconds.",
        ),
    ] = None,
) -> None:
    """Write an HTML report of a result or a campaign.

    The report is a single self-contained HTML file, with the answer, tables, figures, schedules
    and provenance. Results are re-verified first; those of foresight, advice and whatif are shown
    as the file states them. External policies run only if --policy names them.

    Example:  optsched report load.sqlite -o load.html
    """
    from optsched.cli.progress_display import Ticker

    writable(output)  # or else nobody need begin
    with ending_well():
        crash_state.listen_to_signals()
        with Ticker(f"reading {source}") as ticker:
            from optsched.pages.page import report as write

            write(source, output, policies=policy or (), callback=ticker.show)
    messages.remark(f"{output} written")
