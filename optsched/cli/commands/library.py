"""`optsched library list`, `get`, `verify` and `submit`."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from optsched.cli.commands.outcome import ending_well, print_result, report
from optsched.cli.options import ChoiceSeed, Json, add_command, command_group, with_verbosity
from optsched.files.atomic_io import writable, write_whole
from optsched.process import messages

commands = command_group(
    "List, download, verify and submit certified instances.\n\n"
    "Example:  optsched library list --family oasis"
)

Folder = Annotated[
    Path | None,
    typer.Option(
        "--library",
        metavar="FOLDER",
        help="Library (default: benchmarks/instances of the source tree).",
    ),
]
Workers = Annotated[int, typer.Option(min=1, max=256, help="Worker processes.")]
Families = Annotated[
    list[str] | None,
    typer.Option("--family", metavar="NAME", help="Only entries of this family; may be repeated."),
]


@with_verbosity
def list_(
    family: Families = None,
    size: Annotated[
        Literal["small", "medium", "large"] | None, typer.Option(help="Only entries of this size.")
    ] = None,
    status: Annotated[
        Literal["easy", "hard", "open"] | None,
        typer.Option(
            help="Only entries with this status. easy: gap at most 1e-6; hard: at most 1 %; open: "
            "more."
        ),
    ] = None,
    origin: Annotated[
        Literal["drawn", "traces"] | None,
        typer.Option(help="Only entries that were drawn at random, or made of traces."),
    ] = None,
    library: Folder = None,
    as_json: Json = False,
) -> None:
    """List entries: status, value, certified bound, gap; with --json also their features.

    The same data are in benchmarks/instances/FAMILY/table.csv, which `library verify` checks.

    Example:  optsched library list --family oasis --status open
    """
    from optsched.core import shown_gap
    from optsched.library.packs import open_library
    from optsched.library.table import FILE, rows_of
    from optsched.problem import InputError

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
    for name in family or ():
        if name not in found.families:
            known = ", ".join(found.families)
            raise InputError(f"the library has no family {name!r}, expected one of: {known}")
    if as_json:
        report({"entries": rows}, None, as_json)
        return
    for row in rows:
        value, bound = (format(row[n], ".7g") if n in row else "-" for n in ("value", "bound"))
        gap = f", gap {shown_gap(row.get('gap'))}" if row["status"] != "easy" else ""
        messages.result(
            messages.printable(f"{row['name']}  {row['status']}  value {value}, bound {bound}{gap}")
        )
    messages.remark(
        f"{len(rows)} entries, as the tables state; optsched library verify checks them"
    )


def _listed(row: dict[str, str], path: Path) -> dict[str, Any]:
    """Return a row with numbers as numbers; missing values are left out.

    Raises
    ------
    InputError
        It has no name, its status is none, or what must be a number is none.
    """
    from optsched.library.table import STATUSES
    from optsched.problem import InputError

    found = {name: _number(text) for name, text in row.items() if text != ""}
    if row["status"] not in STATUSES:
        raise InputError(
            f"{path}: {row['name']:.60}: status is {row['status']!r:.60}, "
            f"expected one of: {', '.join(STATUSES)}"
        )
    if not row["name"]:
        raise InputError(f"{path}: a row has no name, expected that of an entry")
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


@with_verbosity
def get(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the entry, as in `library list`.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write (default: NAME.json).")
    ] = None,
    library: Folder = None,
) -> None:
    """Write an entry as a result file: instance, schedule, certificate.

    The file is an INPUT of every command, and can be verified by `verify` and the HTML checker.

    Example:  optsched library get oasis-small-drawn-0001 -o entry.json
    """
    from optsched.library.packs import open_library

    text = open_library(library).text(name)
    target = writable(output or Path(f"{name}.json"))
    write_whole(target, text)
    messages.remark(f"{target} written")


@with_verbosity
def verify(
    family: Families = None,
    workers: Workers = 2,
    sample: Annotated[
        int, typer.Option(min=1, help="Verify 1 in N entries (at least one), chosen at random.")
    ] = 1,
    seed: ChoiceSeed = None,
    library: Folder = None,
    as_json: Json = False,
) -> None:
    """Verify every schedule and certificate of the library, without a solver.

    Values, bounds and features are recomputed and compared with the tables. Exit status 1: an entry
    is rejected; its name is printed.

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
    print_result(checked.summary(), as_json, *map(messages.printable, checked.lines()))
    raise typer.Exit(0 if checked.accepted else 1)


@with_verbosity
def submit(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Result file for an instance of the library.")
    ],
    workers: Workers = 2,
    library: Folder = None,
    as_json: Json = False,
) -> None:
    """Submit a better schedule or a better bound to the library.

    Both are verified as by `optsched verify`. A strictly better one replaces that of the entry, and
    table and page are updated, after the whole library was verified. Exit status 1: neither is
    better.

    Example:  optsched library submit better.json
    """
    from optsched.cli.progress_display import Ticker
    from optsched.library.packs import open_library
    from optsched.library.submit import submit as take

    found = open_library(library)
    with ending_well(), Ticker(f"checking {file}") as ticker:
        taken = take(found, file, workers=workers, callback=ticker.show)
    print_result(taken.summary(), as_json, *map(messages.printable, taken.lines()))
    raise typer.Exit(0 if taken.better else 1)


for title, command in {"list": list_, "get": get, "verify": verify, "submit": submit}.items():
    add_command(commands, command, title)
