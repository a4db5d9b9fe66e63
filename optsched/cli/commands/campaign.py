"""`optsched campaign run`, `resume`, `status`, `merge` and `export`."""

import re
import shlex
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli import options
from optsched.cli.commands.outcome import ending_well, print_result, report, report_pictures
from optsched.files.atomic_io import writable, writable_folder
from optsched.problem import InputError, Window, is_named_in_file
from optsched.process import crash_state, interrupts, messages

if TYPE_CHECKING:
    from optsched.experiments.campaign import Campaign, CampaignStatus
    from optsched.experiments.plan import Plan

commands = options.command_group(
    "Run, resume and summarize experiments.\n\nExample:  optsched campaign run plan.toml"
)

StoreFile = Annotated[
    Path, typer.Argument(metavar="STORE", help="Result store, written by `campaign run`.")
]
Workers = Annotated[
    int | None, typer.Option(min=1, max=256, help="Worker processes (default: all cores).")
]
Dask = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run cells on this Dask cluster.")
]
Shard = Annotated[
    str | None,
    typer.Option(metavar="K/N", help="Run only part K of N (from 1); join with `campaign merge`."),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Run the code of this policy or declared problem, which the plan names; may be "
        "repeated.",
    ),
]
Trust = Annotated[bool, typer.Option("--trust", help="Run all code that the plan names.")]
STORES = ("", ".db", ".sqlite", ".sqlite3")  # suffixes
Again = Annotated[bool, typer.Option("--retry-errors", help="Run failed cells again.")]


@options.with_verbosity
def run(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan of the experiment (TOML).")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Result store to write (default: PLAN with suffix .sqlite)."
        ),
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    shard: Shard = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the number of cells and the estimated time; run nothing."
        ),
    ] = False,
    retry_errors: Again = False,
    allow: Allow = None,
    trust: Trust = False,
    as_json: options.Json = False,
) -> None:
    """Run the cells of a plan that are not yet in the result store.

    A cell is one run of a policy on an instance. A plan can be as short as this:

    [[instances]]

    family = "oasis"

    preset = "small"

    seeds = 40

    It runs the default policies of the family on 40 instances. Optima are computed under a work
    limit, so results are reproducible.

    Ctrl-C or SIGTERM lets running cells finish; a second one stops at once. Run the same command
    again to resume: stored cells are kept, even if the process is killed, and if you add seeds
    or policies to the plan, only the new cells run. Exit status 1: the store has failed cells.

    A plan can name code: policies (MODULE:CLASS, FILE.py:NAME, exec:COMMAND) and declared problems
    (FILE.py:NAME). This code runs only if --allow names it or --trust is given.

    Example:  optsched campaign run plan.toml
    """
    from optsched.experiments.campaign import forecast
    from optsched.experiments.plan import read_plan

    part = _part(shard)
    requested = read_plan(plan, trust or allow or False)
    ending = "" if part is None else f"-{part[0]}of{part[1]}"
    store = output or plan.with_name(f"{plan.stem}{ending}.sqlite")
    if dry_run:
        found = forecast(requested, store)
        print_result(vars(found), as_json, found)
        return
    requested.refuse_code(trust or allow or False, plan)
    how = {"workers": workers, "dask": dask, "shard": part, "retry_errors": retry_errors}
    _run(requested, store, how, as_json=as_json, allow=None if trust else allow)


@options.with_verbosity
def resume(
    store: StoreFile,
    workers: Workers = None,
    dask: Dask = None,
    shard: Shard = None,
    retry_errors: Again = False,
    allow: Allow = None,
    trust: Trust = False,
    as_json: options.Json = False,
) -> None:
    """Resume a campaign from its result store, which contains the plan.

    Code that the plan names requires --allow or --trust, as in `run`.

    Example:  optsched campaign resume plan.sqlite
    """
    current = _resolved(store, trust or allow or False)
    how = {"workers": workers, "dask": dask, "shard": _part(shard), "retry_errors": retry_errors}
    _run(current, store, how, as_json=as_json, allow=None if trust else allow)


def _resolved(store: Path, trust: bool | list[str]) -> "Plan":
    """Return the plan of a store with its names looked up here: a trace may have been changed."""
    from optsched.experiments.campaign import Campaign

    plan = Campaign(store).plan()
    plan.refuse_code(trust, store)
    return plan.settled(Path(plan.folder))


def _run(
    plan: "Plan",
    store: Path,
    how: dict[str, Any],
    *,
    as_json: bool,
    allow: list[str] | None = None,
    kept: bool = True,
) -> None:
    """Run a campaign and show the result; ``kept``: the store stays.

    ``allow`` is the code that the command names, unless it trusts all.
    """
    from optsched.cli.progress_display import Ticker
    from optsched.experiments.campaign import campaign
    from optsched.experiments.run import CampaignProgress
    from optsched.experiments.store import CellState

    with ending_well():
        crash_state.finish_what_is_begun()
        title = "campaign" if plan.name == "campaign" else f"campaign {plan.name}"
        with Ticker(title) as ticker:

            def callback(progress: CampaignProgress) -> None:
                ticker.show(str(progress))

            made = campaign(plan, store, callback=callback, **how)
    number = interrupts.received()
    if number is not None:
        named = "".join(f" --allow {shlex.quote(name)}" for name in allow or ())
        trusted = named or (" --trust" if plan.code() else "")
        further = f"; optsched campaign resume {store}{trusted} goes on" if kept else ""
        messages.notify(f"ended: {made.progress}{further}")
        crash_state.publish(reported=True)
        raise typer.Exit(128 + number)
    state = _show(made, as_json)
    if kept:
        messages.remark(f"the cells are in {store}")
    raise typer.Exit(1 if state.count(CellState.ERROR) else 0)


@options.with_verbosity
def status(store: StoreFile, as_json: options.Json = False) -> None:
    """Report the progress and the errors of a campaign, also while it runs.

    Example:  optsched campaign status plan.sqlite
    """
    from optsched.experiments.campaign import AS_STORED
    from optsched.experiments.campaign import status as look

    found = look(store)
    counts = [
        f"  {name}: {', '.join(f'{n} {state.name.lower()}' for state, n in by.items())}"
        for name, by in found.by_source.items()
    ]
    lines = [found.head, *counts, *found.remarks(), AS_STORED]
    print_result(found.summary(), as_json, *map(messages.printable, lines))


@options.with_verbosity
def verify(
    store: StoreFile,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Worker processes.")] = 1,
    sample: Annotated[
        int, typer.Option(min=1, help="Verify 1 in N instances (at least one), chosen at random.")
    ] = 1,
    seed: options.ChoiceSeed = None,
    allow: Allow = None,
    trust: Trust = False,
    as_json: options.Json = False,
) -> None:
    """Rerun the cells of a result store and compare with the stored values.

    A store holds numbers, and only digests of schedules and certificates. So instances are
    solved again, the new certificates checked, and policies run again; all results must equal the
    stored ones. If versions differ, or a time limit ended the search, a row is rejected only if it
    contradicts the new results. Exit status 1: a row is rejected.

    Code that the plan names requires --allow or --trust, as in `run`.

    Example:  optsched campaign verify plan.sqlite --sample 10
    """
    from optsched.cli.progress_display import Ticker
    from optsched.experiments.verify import verify as look

    plan = _resolved(store, trust or allow or False)
    with ending_well(), Ticker(f"verifying {store}") as ticker:
        found = look(store, plan, sample=sample, seed=seed, workers=workers, callback=ticker.show)
    print_result(found.summary(), as_json, *map(messages.printable, found.lines()))
    raise typer.Exit(0 if found.accepted else 1)


@options.with_verbosity
def merge(
    output: Annotated[Path, typer.Argument(metavar="STORE", help="Result store to write.")],
    parts: Annotated[
        list[Path], typer.Argument(metavar="PART", help="Result stores of the same plan.")
    ],
    as_json: options.Json = False,
) -> None:
    """Merge result stores of the same plan, such as those of `run --shard`.

    Example:  optsched campaign merge all.sqlite plan-1of2.sqlite plan-2of2.sqlite
    """
    from optsched.experiments.campaign import merge as together

    found = together(output, parts).status()
    print_result(found.summary(), as_json, found.head)


@options.with_verbosity
def export(
    store: StoreFile,
    csv: Annotated[Path | None, typer.Option(help="Write one row per cell (CSV).")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write one row per cell (Parquet).")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write the table of means (LaTeX).")] = None,
    ecdf: Annotated[
        Path | None,
        typer.Option(help="Write the empirical distribution functions of the ratios (CSV)."),
    ] = None,
    worst: Annotated[
        Path | None,
        typer.Option(help="Write the worst instance of each policy to this directory."),
    ] = None,
    plot: options.Pictures = None,
    style: options.Style = "screen",
    allow: Allow = None,
    trust: Trust = False,
    as_json: options.Json = False,
) -> None:
    """Print mean ratios with confidence intervals; write them to files.

    --worst generates instances again, so declared problems require --allow or --trust.

    Example:  optsched campaign export plan.sqlite --csv cells.csv --latex table.tex

    Example:  optsched campaign export plan.sqlite --plot figures --style paper
    """
    from optsched.experiments import export as files
    from optsched.experiments.campaign import AS_STORED, Campaign

    if worst is not None:  # first: it may be refused, and then nothing is written
        allowed = trust or allow or False
        for path in files.save_worst(store, writable_folder(worst), trust=allowed):
            messages.remark(f"{path} written")
    for target, save in (
        (csv, files.save_csv),
        (parquet, files.save_parquet),
        (latex, files.save_latex),
        (ecdf, files.save_ecdf),
    ):
        if target is not None:
            save(store, writable(target))
            messages.remark(f"{target} written")
    if plot is not None:
        from optsched.cli.plots import save_means
        from optsched.drawing import styled

        with styled(style):
            report_pictures(save_means(Campaign(store), writable_folder(plot)))
    _show(Campaign(store), as_json)
    messages.remark(AS_STORED)


for command in (run, resume, status, verify, merge, export):
    options.add_command(commands, command)


def drawn(source: Path, window: Window, seeds: int | None, windows: int | None) -> dict[str, Any]:
    """Return the instances of a trace that seeds draw, or its windows, as a plan does.

    Raises
    ------
    InputError
        An instance file: nothing of it is drawn.
    """
    from optsched.core import is_instance

    if is_named_in_file(str(source)):
        return {}
    if is_instance(source):
        raise InputError(
            f"{source}: is one instance, of which nothing is drawn; expected a trace, or a plan "
            "for optsched campaign run"
        )
    content = {field.name: getattr(window, field.name) for field in fields(window)}
    first = content.pop("draw_seed") or 0
    if seeds is None:
        del content["start"]
        which: dict[str, Any] = {"windows": windows}
    else:
        which = {"seeds": list(range(first, first + seeds))}
    return which | {
        "trace": str(source),
        "parameters": {name: _plain(value) for name, value in content.items() if value is not None},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [*map(str, value)]
    return str(value) if isinstance(value, Path) else value


def ratio_over_seeds(plan: dict[str, Any], output: Path | None, as_json: bool) -> None:
    """Run a campaign that has no file: its store is ``output``, or gone when it is shown."""
    from optsched.experiments.plan import make_plan

    if output is not None and output.suffix not in STORES:
        store = output.with_suffix(".sqlite")
        table = f", and then optsched campaign export {store} --csv {output} for a table"
        raise InputError(
            f"{output}: results of several instances are a store (SQLite), expected a name such as "
            f"{store}" + (table if output.suffix == ".csv" else ", or --json for the statistics")
        )
    with tempfile.TemporaryDirectory(prefix="optsched-") as folder:
        store = output or Path(folder) / "ratio.sqlite"
        made = make_plan(plan, Path.cwd())
        _run(made, store, {}, as_json=as_json, kept=output is not None)


def _part(shard: str | None) -> tuple[int, int] | None:
    if shard is None:
        return None
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", shard)
    if found is None:
        raise InputError(f"--shard is {shard!r}, expected K/N, such as 3/64")
    return int(found[1]), int(found[2])


def _show(made: "Campaign", as_json: bool) -> "CampaignStatus":
    """Print a row per policy, and the remarks of the table; means of times in hours."""
    from optsched.cli.console import out, tables
    from optsched.experiments.export import BEST, BOUND, mean_hours

    found, state = made.statistics(), made.status()
    means = mean_hours(made.path)  # by goal, group and policy
    hours = {row: x for each in means.values() for row, x in each.items()}
    groups = [*found.groups]
    if as_json:
        content = state.summary() | {"statistics": found.model_dump(mode="json")}
        for goal, each in means.items() if len(groups) == 1 else ():
            content[f"{goal}, h"] = {name: x for (_, name), x in each.items()}
        report(content, None, as_json)
        return state
    console = out()
    console.print(state.head, markup=False)
    rows = [
        {
            "instances": s.group,
            "policy": s.named,
            **(
                {f"{' or '.join(means)}, h": _number(hours.get((s.group, s.policy)))}
                if means
                else {}
            ),
            "n": str(s.instances),
            "open": str(s.open),
            "errors": str(s.errors),
            "inf": str(s.infinite),
            "mean ratio": s.mean,
            "95 % interval": s.inside,
            "median": s.half,
            "its 95 %": s.middle,
            "above 2, 95 %": s.beyond,
            "worst": s.greatest,
        }
        for s in sorted(
            found.summaries,
            key=lambda s: (groups.index(s.group), hours.get((s.group, s.policy), 0.0)),
        )
    ]
    if not messages.verbose:
        empty = [n for n in ("open", "errors", "inf") if all(row[n] == "0" for row in rows)]
        rows = [{n: cell for n, cell in row.items() if n not in empty} for row in rows]
    for table in tables(rows, console):
        console.print(table)
    for goal, each in means.items():
        for group in dict.fromkeys(group for group, _ in each):
            low, high = (each.get((group, end)) for end in (BOUND, BEST))
            of = f"{group}: " * (len(groups) > 1)
            console.print(
                f"{of}Optimum: {goal} {_number(low)} to {_number(high)} h ({BOUND} to {BEST}); "
                "hours are means over instances.",
                markup=False,
            )
    for line in [*found.flags(), *state.remarks()]:
        console.print(messages.printable(line), markup=False)
    if messages.verbose:
        for pair in found.pairs:
            console.print(str(pair), markup=False)
    return state


def _number(x: float | None) -> str:
    return "-" if x is None else f"{x:.4g}"
