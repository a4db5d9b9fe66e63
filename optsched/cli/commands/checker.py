"""`optsched checker`: the second checker as an HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.options import talks
from optsched.process import messages


@talks
def checker(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="HTML page, or .js for Node, to write.")
    ] = Path("checker.html"),
) -> None:
    """Write the standalone HTML checker, which verifies results.

    Plain JavaScript that shares no code with optsched verify. The page needs neither optsched nor a
    network; the same program runs in Node:  node checker.js result.json

    Example:  optsched checker -o checker.html
    """
    from optsched.pages.checker import save_checker

    save_checker(output)
    messages.remark(f"{output} written")
