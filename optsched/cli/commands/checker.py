"""`optsched checker`: the second checker as an HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.options import with_verbosity
from optsched.process import messages


@with_verbosity
def checker(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File to write: an HTML page, or .js for Node.")
    ] = Path("checker.html"),
) -> None:
    """Write the standalone checker of results, an HTML page.

    It is a second, independent implementation of `optsched verify` in JavaScript. The page works
    offline and without optsched. The same program runs in Node:  node checker.js result.json

    Example:  optsched checker -o checker.html
    """
    from optsched.pages.checker import save_checker

    save_checker(output)
    messages.remark(f"{output} written")
