"""The command line: `optsched` and its commands.

Exit status: 0 done; 1 nothing found, infeasible, rejected, or a policy failed; 2 wrong input; 128 +
the number of the signal that asked for an end, such as 130 after Ctrl-C (the best so far is printed
and stored).

What a command needs is imported when it runs: `optsched --help` is quick.
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

from optsched.cli.commands import (
    campaign,
    computing,
    hunting,
    library,
    looking,
    making,
    playing,
    reporting,
    weighing,
)
from optsched.cli.options import paragraphs
from optsched.problem import InputError, PolicyError
from optsched.process import talk
from optsched.process.talk import say
from optsched.process.trouble import explain

REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EPIPE}

app = typer.Typer(
    name="optsched",
    help="How much worse is an online scheduler than the best that anyone could have done "
    "with hindsight?\n\n"
    "INPUT is an instance file (.json), a job trace (.csv, .swf, also .gz), or `sample`, the "
    "trace that comes with the package.\n\n"
    "Start with:  optsched ratio sample",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # `main` says what went wrong
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    *(making.generate, making.trace, looking.show),
    *(computing.solve, computing.run, computing.ratio, weighing.weight),
    *(looking.verify, looking.check_problem, reporting.checker, making.export, reporting.report),
    *(hunting.hunt, playing.minimax, computing.reproduce, looking.info),
):
    app.command(help=paragraphs(command))(command)
app.add_typer(campaign.commands, name="campaign")
app.add_typer(library.commands, name="library")


def _print_version(asked: bool) -> None:
    if asked:
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
    """Take what stands before the name of a command."""


@cache
def _whole() -> Callable[..., object]:
    """Return the command that `app` declares, which typer makes anew whenever it is asked for."""
    return get_command(app)


def main(args: Sequence[str] | None = None) -> None:
    """Run a command: what goes wrong is one line; with -v, a defect has its traceback, too."""
    if sys.stdout is None:  # the command was started with its output closed
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:  # else what is meant for it would be printed on stdout
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        try:
            _whole()(None if args is None else [*args], prog_name="optsched")
        finally:
            talk.stdout().flush()
    except PolicyError as err:
        _trace(err)
        say(str(err), shown="\n")  # with the policy's own lines
        sys.exit(1)
    except InputError as err:
        say(str(err))
        sys.exit(2)
    except MemoryError:
        say("there is not enough memory for this")
        sys.exit(1)
    except OSError as err:
        if err.errno not in REFUSALS:
            _end_by_defect(err)
        _print_no_more()
        if err.errno != errno.EPIPE:  # who closes a pipe wants no more words
            say(f"{err.filename or 'output'}: cannot be written: {err.strerror}")
        sys.exit(1)
    except Exception as err:
        _end_by_defect(err)


def _trace(err: Exception) -> None:
    if talk.verbose:
        traceback.print_exception(err)


def _end_by_defect(err: Exception) -> NoReturn:
    """Say what went wrong in this package, or in a family from outside, and end."""
    _trace(err)
    hint = "" if talk.verbose else "\n  a defect of optsched or of a plug-in: -v shows where"
    say(explain(err) + hint, shown="\n")
    sys.exit(1)


def _print_no_more() -> None:
    """Let what is still to be printed vanish."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), talk.stdout().fileno())
