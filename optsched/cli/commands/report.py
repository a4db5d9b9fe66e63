"""`optsched report`: a self-contained HTML report."""

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.commands.outcome import ending_well
from optsched.cli.options import several_policies, with_verbosity
from optsched.files.atomic_io import writable
from optsched.process import crash_state, messages


@with_verbosity
def report(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="STORE | RESULT",
            help="Result store of `campaign run`, or output file of `solve`, `ratio`, `minimax`, "
            "`foresight`, `advice` or `whatif`.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="HTML file to write.")] = Path(
        "report.html"
    ),
    policy: Annotated[
        list[str] | None,
        several_policies(
            "Draw the worst instance of this policy (its name in the table; for a "
            "user-supplied policy, its name in the plan), even if that is slow; may be repeated. "
            "Default: the worst instances of the best and the worst policy, if drawing them takes "
            "only a few seconds."
        ),
    ] = None,
) -> None:
    """Write an HTML report of a result or a campaign.

    The report is one self-contained HTML file with a summary, tables, figures, schedules and
    provenance. Results are verified first; those of foresight and advice are shown as
    stored. User-supplied policies (MODULE:CLASS, FILE.py:NAME, exec:) run only if --policy names
    them.

    Example:  optsched report load.sqlite -o load.html
    """
    from optsched.cli.progress_display import Ticker

    writable(output, source)  # refused early
    with ending_well():
        crash_state.listen_to_signals()
        with Ticker(f"reading {source}") as ticker:
            from optsched.pages.page import report as write

            write(source, output, policies=policy or (), callback=ticker.show)
    messages.remark(f"{output} written")
