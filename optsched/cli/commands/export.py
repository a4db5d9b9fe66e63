"""`optsched export`: write the program for other solvers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optsched.cli.options import (
    takes_input,
)
from optsched.files.atomic_io import is_stdout, writable
from optsched.process import messages
from optsched.results.export import Format

if TYPE_CHECKING:
    from optsched.problem import Instance


@takes_input
def export(
    source: Path,
    instance: "Instance",
    to: Annotated[
        Format | None,
        typer.Option("--to", help="Format of the file; by default its ending, else lp."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File to write; by default INPUT with the new ending."),
    ] = None,
    relaxed: Annotated[
        bool, typer.Option("--relaxed", help="The linear relaxation: variables may be fractions.")
    ] = False,
    printed: Annotated[
        bool, typer.Option("--printed", help="The paper's own numbers, not tighter ones.")
    ] = False,
) -> None:
    """Write the optimization model for other solvers.

    Its constraints carry the paper's equation numbers.

    Example:  optsched export small.json -o small.mps
    """
    from optsched.results.export import format_of, write_program

    to = (to or Format.LP) if output is None else format_of(output, to)
    target = writable(output or Path(f"{source.name.partition('.')[0]}.{to}"))
    tell = messages.remark if is_stdout(target) else messages.result
    for line in write_program(instance, target, to, relaxed=relaxed, printed=printed):
        tell(messages.printable(line))
    tell(messages.printable(f"{target} written"))
