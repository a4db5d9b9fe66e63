"""`optsched export`: write the program for other solvers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optsched.cli.options import takes_input
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
        typer.Option("--to", help="File format (default: by the suffix of -o, else lp)."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File to write (default: INPUT with the new suffix)."),
    ] = None,
    relaxed: Annotated[
        bool, typer.Option("--relaxed", help="Write the linear relaxation.")
    ] = False,
    printed: Annotated[
        bool, typer.Option("--printed", help="Use the constants of the paper, not tighter ones.")
    ] = False,
) -> None:
    """Write the optimization model for other solvers.

    Constraints are named by the equation numbers of the paper.

    Example:  optsched export small.json -o small.mps
    """
    from optsched.results.export import format_of, write_program

    to = (to or Format.LP) if output is None else format_of(output, to)
    target = writable(output or Path(f"{source.name.partition('.')[0]}.{to}"))
    emit = messages.remark if is_stdout(target) else messages.result
    for line in write_program(instance, target, to, relaxed=relaxed, printed=printed):
        emit(messages.printable(line))
    emit(messages.printable(f"{target} written"))
