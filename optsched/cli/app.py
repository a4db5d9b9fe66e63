"""The command line: `optsched` and its commands.

Exit status: 0 done; 1 nothing found, infeasible, rejected, or a policy failed; 2 wrong input; 128 +
the number of the signal that requested an end, such as 130 after Ctrl-C (the best so far is printed
and stored).

A command imports its modules when it runs: `optsched --help` is quick.
"""

import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from optsched.cli.commands import campaign, library
from optsched.cli.commands.advice import advice
from optsched.cli.commands.certify import certify
from optsched.cli.commands.check_problem import check_problem
from optsched.cli.commands.checker import checker
from optsched.cli.commands.export import export
from optsched.cli.commands.foresight import foresight
from optsched.cli.commands.generate import generate
from optsched.cli.commands.info import info
from optsched.cli.commands.minimax import minimax
from optsched.cli.commands.ratio import ratio
from optsched.cli.commands.report import report
from optsched.cli.commands.reproduce import reproduce
from optsched.cli.commands.run import run
from optsched.cli.commands.show import show
from optsched.cli.commands.solve import solve
from optsched.cli.commands.trace import trace
from optsched.cli.commands.verify import verify
from optsched.cli.commands.whatif import whatif
from optsched.cli.commands.worst_case import worst_case
from optsched.cli.options import add_command, command_group
from optsched.cli.renamed import renamed
from optsched.problem import InputError, PolicyError
from optsched.process import messages
from optsched.process.errors import explain
from optsched.process.messages import notify

FULL_OR_CLOSED = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.EBADF}
REFUSALS = FULL_OR_CLOSED | {errno.EROFS}

app = command_group(
    "Measure the gap between online schedulers and the offline optimum.\n\n"
    "INPUT is an instance or a result (.json), a job trace (CSV, SWF, sacct, ...; also .gz), "
    "`sample` (the trace that comes with the package), or a problem declared in Python "
    "(FILE.py:NAME).\n\n"
    "Start with:  optsched ratio sample",
    name="optsched",
    add_completion=False,
    pretty_exceptions_enable=False,  # `main` states what went wrong
    rich_markup_mode="rich",
)
for command in (
    *(generate, trace, show, solve, certify, run, ratio, verify),
    *(check_problem, checker, export, report, worst_case, minimax, foresight, advice, whatif),
    *(reproduce, info),
):
    add_command(app, command)
app.add_typer(campaign.commands, name="campaign")
app.add_typer(library.commands, name="library")


def _print_version(requested: bool) -> None:
    if requested:
        import optsched

        print(f"optsched {optsched.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Read the options before the name of a command."""


@cache
def _whole() -> Callable[..., object]:
    """Return the command that `app` declares, which typer makes anew whenever it is requested."""
    return get_command(app)


def main(args: Sequence[str] | None = None) -> None:
    """Run a command; errors take one line; with -v, a defect has its traceback as well."""
    if sys.stdout is None:  # the command was started with its output closed
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        messages.has_output = False
    if sys.stderr is None:  # else its output would be printed on stdout
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        try:
            _whole()(renamed(sys.argv[1:] if args is None else args), prog_name="optsched")
        finally:
            messages.stdout().flush()
    except PolicyError as err:
        _trace(err)
        notify(str(err), shown="\n")  # with the policy's own lines
        sys.exit(1)
    except InputError as err:
        system = err.__cause__.errno if isinstance(err.__cause__, OSError) else None
        if system == errno.EPIPE:
            _print_no_more()
        else:
            notify(str(err))
        sys.exit(1 if system in FULL_OR_CLOSED else 2)
    except MemoryError:
        notify("there is not enough memory for this")
        sys.exit(1)
    except OSError as err:
        if err.errno not in REFUSALS:
            _end_by_defect(err)
        _print_no_more()
        if err.errno != errno.EPIPE:  # a closed pipe needs no message
            notify(f"{err.filename or 'output'}: cannot be written: {err.strerror}")
        sys.exit(1)
    except Exception as err:
        _end_by_defect(err)


def _trace(err: Exception) -> None:
    if messages.verbose:
        traceback.print_exception(err)


def _end_by_defect(err: Exception) -> NoReturn:
    """Report a defect of this package, or in a family from outside, and end."""
    _trace(err)
    hint = "" if messages.verbose else "\n  a defect of optsched or of a plug-in: -v shows where"
    notify(explain(err) + hint, shown="\n")
    sys.exit(1)


def _print_no_more() -> None:
    """Let pending output vanish."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), messages.stdout().fileno())
