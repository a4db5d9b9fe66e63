"""`optsched foresight`: the share of the optimum that a rolling horizon reaches, by its window."""

from pathlib import Path
from typing import Annotated, Any

import typer

from optsched.cli.commands.outcome import ending_well, leave, report, report_pictures
from optsched.cli.options import MOST, Json, Output, Pictures, Seed, Style, with_verbosity
from optsched.files.atomic_io import writable, writable_folder
from optsched.problem import InputError, is_named_in_file
from optsched.process import messages

PROGRAMS = {".mps", ".lp", ".gz"}


@with_verbosity
def foresight(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Problem (FILE.py:NAME), instance files, or an MPS or LP file with --times.",
        ),
    ],
    preset: Annotated[
        str | None, typer.Option(help="Preset of a declared problem (default: the first).")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST,
            help="Number of instances of a declared problem; for a given instance, of forecasts.",
            show_default="10 for a problem, else 1",
        ),
    ] = None,
    seed: Seed = 0,
    windows: Annotated[
        str,
        typer.Option(metavar="W,W,...", help="Lengths of the look-ahead window, in time units."),
    ] = "0,1,3,6,12,24",
    commit: Annotated[
        float,
        typer.Option(
            min=0,
            help="In each step, also fix decisions due within this many time units; 0: only those "
            "due now.",
        ),
    ] = 0.0,
    terminal: Annotated[
        str,
        typer.Option(
            help="Terminal value of the state at the end of the window: none, duals (dual values "
            "of the instance with the next seed), an instance file (its dual values), or a Python "
            "function (FILE.py:NAME)."
        ),
    ] = "none",
    forecast: Annotated[
        str,
        typer.Option(
            help="Forecast of future costs within the window: perfect, a relative standard error "
            "such as 0.2, or a Python function (FILE.py:NAME)."
        ),
    ] = "perfect",
    times: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="For an MPS or LP file: a CSV table with the columns name, revealed, decided.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Time limit per optimum (s).", show_default="60")
    ] = None,
    output: Output = None,
    as_json: Json = False,
    plot: Pictures = None,
    style: Style = "screen",
) -> None:
    """Measure the value of foresight by rolling horizons.

    For every window length W, a rolling-horizon policy optimizes over the data of the next W time
    units, fixes the decisions that are due, and moves on. The command prints the share of the
    certified optimum that this policy reaches. The knee is the shortest window whose mean share is
    within 1 % of that of the longest. `optsched report` turns the output file into a page.

    Example:  optsched foresight battery.py:battery --windows 0,6,24 -o curve.json
    """
    from optsched.cli.console import out, tables
    from optsched.cli.progress_display import Ticker
    from optsched.experiments.foresight import foresight as measure

    if output is not None:
        writable(output)
    folder = plot and writable_folder(plot)
    try:
        wanted = [float(w) for w in windows.split(",")]
    except ValueError as err:
        raise InputError(f"--windows {windows}: expected numbers, such as 0,6,24") from err
    options: dict[str, Any] = {"commit": commit, "time_limit": time_limit, "preset": preset}
    options["terminal"] = _valued(terminal)
    options["forecast"] = _believed(forecast)
    if seeds is not None or seed or is_named_in_file(source[0]):
        options["seeds"] = range(seed, seed + (seeds or (10 if is_named_in_file(source[0]) else 1)))
    with ending_well(), Ticker("reading") as ticker:
        found = measure(_read(source, times), wanted, callback=ticker.show, **options)
    if output is not None:
        found.save(output)
    if as_json:
        report(found.summary(), None, as_json)
    else:
        messages.result(f"{found.problem}: share of the certified optimum, {found.described}")
        rows = [
            {
                "window": f"{p.window:g}" + (" (knee)" if p.window == found.knee else ""),
                "share": p.share,
                "95 % interval": p.inside + (" *" if p.warning else ""),
                "mean value": f"{p.value:.6g}",
            }
            for p in found.points
        ]
        console = out()
        for table in tables(rows, console):
            console.print(table)
        doubts = "; ".join(dict.fromkeys(p.warning for p in found.points if p.warning))
        if doubts:
            messages.result(f"* 95 % interval missing, or perhaps not reliable: {doubts}")
    if folder is not None:
        from optsched.drawing import save, styled

        with styled(style):
            report_pictures([save(found.figure(), folder / "foresight.png")])
    leave(found=True)


def _read(source: list[str], times: Path | None) -> Any:
    """Return the named problem, instance or instances."""
    from optsched.declared.problem import Problem
    from optsched.declared.readers import online
    from optsched.files.format import load_instance
    from optsched.process.loading import load_from_file

    if len(source) > 1:
        return [load_instance(Path(path)) for path in source]
    (name,) = source
    if is_named_in_file(name):
        made = load_from_file(name, f"problem {name!r}")
        if not isinstance(made, Problem):
            raise InputError(f"problem {name!r} is {made!r:.60}, expected an optsched.problem")
        return made
    if times is not None:
        return online(name, times)
    if Path(name).suffix in PROGRAMS:
        raise InputError(f"{name}: has no times, expected --times TABLE")
    return load_instance(Path(name))


def _valued(terminal: str) -> Any:
    from optsched.files.format import load_instance
    from optsched.process.loading import load_from_file

    if terminal in ("none", "duals"):
        return terminal
    if is_named_in_file(terminal):
        return load_from_file(terminal, f"terminal value {terminal!r}")
    return load_instance(Path(terminal))


def _believed(forecast: str) -> Any:
    from optsched.process.loading import load_from_file

    if forecast == "perfect":
        return forecast
    if is_named_in_file(forecast):
        return load_from_file(forecast, f"forecast {forecast!r}")
    try:
        return float(forecast)
    except ValueError as err:
        raise InputError(
            f"--forecast {forecast}: expected perfect, a number, or FILE.py:NAME"
        ) from err
