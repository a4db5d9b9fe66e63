"""`optsched library list`, `get`, `verify` and `submit`."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from optsched.cli.commands.outcome import ending_well, report
from optsched.cli.options import Json, paragraphs, talks
from optsched.files.atomic_io import writable, write_whole
from optsched.process import messages

commands = typer.Typer(
    help="List, download, verify and submit certified instances.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Folder = Annotated[
    Path | None,
    typer.Option(
        "--library", metavar="FOLDER", help="Default: benchmarks/instances of the source tree."
    ),
]
Families = Annotated[
    list[str] | None, typer.Option("--family", help="Of this family alone; may be repeated.")
]


@talks
def list_(
    family: Families = None,
    size: Annotated[Literal["small", "medium", "large"] | None, typer.Option()] = None,
    status: Annotated[Literal["easy", "hard", "open"] | None, typer.Option()] = None,
    origin: Annotated[Literal["drawn", "traces"] | None, typer.Option()] = None,
    library: Folder = None,
    as_json: Json = False,
) -> None:
    """List entries: status, value, certified bound, gap, and with --json their features.

    The table of a family, benchmarks/instances/FAMILY/table.csv, holds the same; `library verify`
    checks it.

    Example:  optsched library list --family oasis --status open
    """
    from optsched.core import shown_gap
    from optsched.library.packs import open_library
    from optsched.library.table import FILE, rows_of

    found = open_library(library)
    filters = {"size": size, "status": status, "origin": origin}
    rows: list[dict[str, Any]] = []
    for name in found.families:
        if family is None or name in family:
            listed = rows_of(found, name)
            rows += [
                _listed(row, found.folder / name / FILE)
                for row in listed
                if all(wanted in (None, row[column]) for column, wanted in filters.items())
            ]
    _must_be_known(found.families, family)
    if as_json:
        report({"entries": rows}, None, as_json)
        return
    for row in rows:
        value, bound = (format(row[n], ".7g") if n in row else "-" for n in ("value", "bound"))
        gap = f", gap {shown_gap(row.get('gap'))}" if row["status"] != "easy" else ""
        messages.result(
            messages.printable(f"{row['name']}  {row['status']}  value {value}, bound {bound}{gap}")
        )
    messages.remark(f"{len(rows)} entries, as the tables state; `library verify` checks them")


def _listed(row: dict[str, str], path: Path) -> dict[str, Any]:
    """Return a row with numbers as numbers; what it has no value of is left out.

    Raises
    ------
    InputError
        Its status is none, or what must be a number is none.
    """
    from optsched.library.table import STATUSES
    from optsched.problem import InputError

    found = {name: _number(text) for name, text in row.items() if text != ""}
    if row["status"] not in STATUSES:
        raise InputError(
            f"{path}: {row['name']:.60}: status is {row['status']!r:.60}, "
            f"expected one of: {', '.join(STATUSES)}"
        )
    for name in ("value", "bound", "gap"):
        if isinstance(found.get(name), str):
            raise InputError(
                f"{path}: {row['name']:.60}: {name} is {row[name]!r:.60}, expected a number"
            )
    return found


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _must_be_known(known: tuple[str, ...], filters: list[str] | None) -> None:
    from optsched.problem import InputError

    for name in filters or ():
        if name not in known:
            raise InputError(
                f"the library has no family {name!r}, expected one of: {', '.join(known)}"
            )


@talks
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `library list` prints it.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Default: NAME.json here.")
    ] = None,
    library: Folder = None,
) -> None:
    """Write an entry as a result file: instance, schedule, certificate.

    It is an INPUT of all commands, and `verify`, `show`, `report` and `checker` take it.

    Example:  optsched library get oasis-small-drawn-0001 -o entry.json
    """
    from optsched.library.packs import open_library

    text = open_library(library).text(name)
    target = writable(output or Path(f"{name}.json"))
    write_whole(target, text)
    messages.remark(f"{target} written")


@talks
def verify(
    family: Families = None,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes.")] = 2,
    sample: Annotated[int, typer.Option(min=1, help="Look at one of N entries.")] = 1,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draws them; by default a fresh one, which is shown.")
    ] = None,
    library: Folder = None,
    as_json: Json = False,
) -> None:
    """Judge every schedule and re-evaluate every certificate, without a solver.

    What is derived is compared with the tables. Exit status 1: something is damaged; its name is
    printed.

    Example:  optsched library verify --workers 2
    """
    from optsched.cli.progress_display import Ticker
    from optsched.library.packs import open_library
    from optsched.library.verify import verify as look

    found = open_library(library)
    chosen = None if family is None else tuple(family)
    with ending_well(), Ticker("verifying the library") as ticker:
        how: dict[str, Any] = {"workers": workers, "sample": sample, "seed": seed}
        checked = look(found, families=chosen, **how, callback=ticker.show)
    if as_json:
        report(checked.summary(), None, as_json)
    else:
        for line in checked.lines():
            messages.result(messages.printable(line))
    raise typer.Exit(0 if checked.accepted else 1)


@talks
def submit(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A result of an instance of the library.")
    ],
    library: Folder = None,
    as_json: Json = False,
) -> None:
    """Take a better schedule or a better bound into the library.

    Both are judged as `verify` does. What is strictly better replaces what the entry has; table and
    page are written anew. Exit status 1: nothing in it is better.

    Example:  optsched library submit better.json
    """
    from optsched.cli.progress_display import Ticker
    from optsched.library.packs import open_library
    from optsched.library.submit import submit as take

    found = open_library(library)
    with ending_well(), Ticker(f"judging {file}"):
        taken = take(found, file)
    if as_json:
        report(taken.summary(), None, as_json)
    else:
        for line in taken.lines():
            messages.result(messages.printable(line))
    raise typer.Exit(0 if taken.better else 1)


for title, command in {"list": list_, "get": get, "verify": verify, "submit": submit}.items():
    commands.command(title, help=paragraphs(command))(command)
