"""The commands of `optsched`.

Exit status: 0 done; 1 nothing found, infeasible or rejected; 2 wrong input; 128 + the number of the
signal that asked for an end, such as 130 after Ctrl-C (the best so far is printed and stored).

What a command needs is imported when it runs: `optsched --help` is quick.
"""

import errno
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched import interrupts, lastwords
from optsched.disk import writable, writable_folder
from optsched.export import Format
from optsched.options import (
    FAMILY_HELP,
    MOST,
    MOST_SLOTS,
    POLICY_HELP,
    Gap,
    Json,
    Method,
    Output,
    Pictures,
    Sealed,
    Seed,
    Statistics,
    Threads,
    TimeLimit,
    load_statistics,
    takes_input,
)
from optsched.problem import InputError, Level, PolicyError, families, family_of, get_family
from optsched.progress import CLOSED

if TYPE_CHECKING:
    from optsched.optimum import Optimum
    from optsched.problem import Instance
    from optsched.simulation import Run

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
    pretty_exceptions_enable=False,  # wrong input is one line; a bug keeps its plain traceback
    rich_markup_mode="rich",
)


@app.command()
def generate(
    family: Annotated[str, typer.Argument(metavar="FAMILY", help=FAMILY_HELP)],
    output: Annotated[Path, typer.Option("-o", "--output", help="Instance file to write.")],
    preset: Annotated[str, typer.Option(help="Which settings.")] = "paper",
    jobs: Annotated[int | None, typer.Option(min=1, max=MOST, help="Number of jobs.")] = None,
    slots: Annotated[
        int | None, typer.Option(min=1, max=MOST_SLOTS, help="Number of slots.")
    ] = None,
    machines: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Number of machines.")
    ] = None,
    ports: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Number of ports (bipartite).")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Number of nodes (bot).")
    ] = None,
    applications: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Number of applications (bot).")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Draw an instance.

    Example:  optsched generate oasis --preset small --seed 1 -o small.json
    """
    made = get_family(family)
    sizes = {"jobs": jobs, "slots": slots, "machines": machines}
    sizes |= {"ports": ports, "nodes": nodes, "applications": applications}
    given = {name: n for name, n in sizes.items() if n is not None}
    for name in given:
        if name not in made.sizes:
            known = ", ".join(f"--{size}" for size in made.sizes)
            raise InputError(f"--{name} means nothing for family {family}, expected {known}")
    from optsched.files import valid

    target = writable(output)
    with valid(f"generate {family}"):
        instance = made.generate(preset, seed=seed, **given)
    _save_made(instance, target)


@app.command()
@takes_input
def trace(
    source: Path,
    instance: "Instance",
    output: Annotated[Path, typer.Option("-o", "--output", help="Instance file to write.")],
) -> None:
    """Make an instance of a window of a job trace.

    The arrivals are compressed so that they span the slots; there are as many machines as give
    the offered load.

    Example:  optsched trace jobs.csv --machines machines.csv --jobs 100 --load 2 -o window.json
    """
    if source.suffix == ".json":
        raise InputError(f"{source}: is an instance file already, expected a job trace")
    _save_made(instance, writable(output))


@app.command()
@takes_input
def show(source: Path, instance: "Instance", plot: Pictures = None) -> None:
    """Say what is in a file: sizes, offered load, warnings; of a result also what was found.

    Example:  optsched show result.json --plot pictures
    """
    from optsched.console import facts_table, out
    from optsched.files import read_json
    from optsched.results import load_optimum, load_run

    family, console = family_of(instance), out()
    folder = plot and writable_folder(plot)
    is_file = source.suffix == ".json"
    kind = read_json(source, "instance", "run", "result")["kind"] if is_file else "trace"
    optimum = load_optimum(source) if kind == "result" else None
    run = load_run(source) if kind == "run" else None
    facts, warnings = family.describe(instance), family.warnings(instance)
    console.print(facts_table(f"{source}: {family.title}", facts))
    for warning in warnings:
        console.print(f"warning: {warning}", markup=False)
    for found in (optimum, run):
        if found is not None:
            console.print(f"the file says: {found}", markup=False)
    if folder is not None:
        from optsched import plots
        from optsched.drawing import HINDSIGHT

        shown = {HINDSIGHT: optimum.schedule} if optimum is not None else {}
        if run is not None:
            shown[run.policy] = run.schedule
        made = {name: found for name, found in shown.items() if found is not None}
        _report_pictures(plots.save_show(instance, made, folder))


@app.command(name="solve")
@takes_input
def solve_command(
    instance: "Instance",
    method: Method = "auto",
    time_limit: TimeLimit = 60.0,
    gap: Gap = CLOSED,
    threads: Threads = 1,
    seed: Seed = 0,
    check: Annotated[Level, typer.Option(help="How far to check the bound.")] = Level.CERTIFIED,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Find the best schedule with hindsight, or how good it can be at most.

    Ctrl-C and the time limit leave the best schedule so far and a valid bound. Exit status 1: no
    schedule was found.

    Example:  optsched solve small.json --time-limit 30 -o result.json
    """
    from optsched.console import Ticker, out, show_optimum
    from optsched.journal import Journal
    from optsched.optimum import solve
    from optsched.ratios import reference
    from optsched.results import save_result

    with _ending_well(), Journal(instance, output, method) as journal:
        with Ticker("looking for the optimum", journal.watch) as ticker:
            optimum = solve(
                instance,
                method=method,
                time_limit=time_limit,
                gap=gap,
                threads=threads,
                seed=seed,
                check=check,
                watch=ticker.watch,
            )
        try:
            if output:
                save_result(output, instance, optimum)
        finally:  # a full disk is no reason not to say what was found
            if as_json:
                found = {"reference": reference(optimum), "policies": []}
                _print_json({"family": optimum.family} | found)
            else:
                show_optimum(out(), optimum)
    _leave(found=optimum.schedule is not None)


@app.command()
@takes_input
def run(
    instance: "Instance",
    policy: Annotated[str, typer.Option("--policy", "-p", help=POLICY_HELP)],
    seed: Seed = 0,
    sealed: Sealed = False,
    statistics: Statistics = None,
    output: Output = None,
) -> None:
    """Run an online policy, which never sees the future.

    Example:  optsched run small.json --policy oasis -o run.json
    """
    from optsched.console import Ticker, out
    from optsched.results import save_run
    from optsched.simulation import simulate

    load_statistics(statistics)
    with _ending_well():
        lastwords.listen_to_signals()
        with Ticker(f"running {policy}") as ticker:

            def progress(events: int) -> None:
                ticker.say(f"{events} events")

            found = simulate(instance, policy, seed=seed, sealed=sealed, progress=progress)
        if output:
            save_run(output, instance, found)
    out().print(str(found), markup=False)
    _leave(found=True)


@app.command()
@takes_input
def ratio(
    instance: "Instance",
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help=f"{POLICY_HELP} May be repeated. Default: all."),
    ] = None,
    schedule: Annotated[
        Path | None, typer.Option(help="Judge this schedule, made elsewhere, beside them.")
    ] = None,
    method: Method = "auto",
    time_limit: TimeLimit = 60.0,
    gap: Gap = CLOSED,
    threads: Threads = 1,
    seed: Seed = 0,
    sealed: Sealed = False,
    statistics: Statistics = None,
    output: Output = None,
    as_json: Json = False,
    plot: Pictures = None,
) -> None:
    """Compare policies with the best with hindsight: the main job.

    Every ratio is an interval: a schedule proves its low end, a certified bound its high end.

    Example:  optsched ratio jobs.csv --machines machines.csv --time-limit 120 --plot pictures
    """
    from optsched.console import Ticker, out, show_ratios
    from optsched.journal import Journal
    from optsched.ratios import compare
    from optsched.results import load_schedule, save_result

    outside = load_schedule(schedule, instance) if schedule is not None else None
    folder = plot and writable_folder(plot)
    load_statistics(statistics)
    with _ending_well(), Journal(instance, output, method) as journal:
        with Ticker("running the policies", journal.watch) as ticker:

            def tell(found: "Run | Optimum") -> None:
                ticker.say(str(found))
                journal.tell(found)

            report = compare(
                instance,
                policy or None,
                schedule=outside,
                method=method,
                time_limit=time_limit,
                gap=gap,
                seed=seed,
                threads=threads,
                sealed=sealed,
                watch=ticker.watch,
                tell=tell,
            )
        try:
            if output:
                save_result(output, instance, report.optimum, report.runs, report.references)
        finally:
            if as_json:
                _print_json(report.summary())
            else:
                show_ratios(out(), report)
    if folder is not None and interrupts.asked() is None:
        from optsched import plots

        _report_pictures(plots.save_report(instance, report, folder))
    _leave(found=report.optimum.value is not None)


@app.command()
def verify(
    files: Annotated[
        list[Path], typer.Argument(metavar="INSTANCE SCHEDULE | RESULT...", help="What to check.")
    ],
    unfinished: Annotated[
        bool,
        typer.Option("--unfinished", help="A job may be left unfinished; it then earns nothing."),
    ] = False,
) -> None:
    """Judge a schedule, or check value and bound of results again. Exit status 1: rejected.

    The judge knows no solver; a bound is recomputed from its certificate in exact arithmetic.

    Example:  optsched verify result.json

    Example:  optsched verify small.json schedule.json
    """
    from optsched.files import load_instance, read_json
    from optsched.results import load_schedule, recheck

    kinds = [read_json(f, "instance", "schedule", "run", "result")["kind"] for f in files]
    if kinds == ["instance", "schedule"]:
        instance = load_instance(files[0])
        verdict = family_of(instance).verify(
            instance, load_schedule(files[1], instance), unfinished=unfinished
        )
        print(verdict)
        raise typer.Exit(0 if verdict.feasible else 1)
    if not {*kinds} <= {"run", "result"}:
        raise InputError(
            f"verify was given {' and '.join(kinds)}, "
            "expected an instance and a schedule, or results"
        )
    accepted = True
    for path in files:
        for found in recheck(path):
            print(f"{path}: {found}")
            accepted &= found.accepted
    raise typer.Exit(0 if accepted else 1)


@app.command()
@takes_input
def export(
    source: Path,
    instance: "Instance",
    to: Annotated[Format, typer.Option("--to", help="Format of the file.")] = Format.LP,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File to write; by default INPUT with the new ending."),
    ] = None,
) -> None:
    """Write the program, with the paper's equation numbers, for other solvers.

    Example:  optsched export small.json --to mps -o small.mps
    """
    from optsched.export import write_program

    target = writable(output or Path(f"{source.name.partition('.')[0]}.{to}"))
    for line in write_program(instance, target, to):
        print(line)
    print(f"{target} written")


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A figure: oasis-fig3, ...")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the results.")] = Path(
        "results"
    ),
    seeds: Annotated[int | None, typer.Option(min=1, max=MOST, help="Instances per point.")] = None,
    time_limit: Annotated[float | None, typer.Option(min=0, help="Seconds per optimum.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Processes; default: all cores.")
    ] = None,
) -> None:
    """Repeat a figure of a paper, and say whether the numbers agree with it.

    Writes NAME.json (every number, machine, versions, command) and NAME.png. What is already in
    NAME.json is not computed again, so Ctrl-C loses nothing.

    Example:  optsched reproduce oasis-fig5 -o results
    """
    from optsched.console import Ticker
    from optsched.provenance import portable
    from optsched.reproduce import experiment
    from optsched.reproduce import reproduce as repeat

    chosen = experiment(name)
    folder = writable_folder(output)
    command = " ".join(["optsched", *map(portable, sys.argv[1:])])
    with _ending_well():
        lastwords.listen_to_signals()
        with Ticker(f"reproducing {name}") as ticker:
            result = repeat(
                chosen,
                folder,
                seeds=seeds,
                time_limit=time_limit,
                workers=workers,
                command=command,
                tell=ticker.say,
            )
    print(result)
    _leave(found=True)


@app.command()
def info(
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Print the JSON schema of instance, schedule, run or result files."
        ),
    ] = None,
    family: Annotated[str, typer.Option(help="Family of the schema.")] = "oasis",
) -> None:
    """Print versions, solvers found, families with their policies and methods, and how to cite.

    Example:  optsched info --schema instance
    """
    from optsched import schemas
    from optsched.console import facts_table, out
    from optsched.provenance import CITE, versions
    from optsched.solvers import solver_versions

    if schema is not None:
        _print_json(schemas.schema(schema, family))
        return
    console = out()
    console.print(facts_table("optsched", versions() | {"solvers": solver_versions()}))
    for made in families().values():
        facts = {
            "paper": made.paper,
            "objective": "maximized" if made.sense == "max" else "minimized",
            "presets": made.presets,
            "policies": tuple(made.policies),
            "methods": tuple(made.methods),
        }
        console.print(facts_table(f"family {made.name}: {made.title}", facts))
    console.print(CITE, markup=False)


def _save_made(instance: "Instance", target: Path) -> None:
    from optsched.files import save_instance

    save_instance(instance, target)
    family = family_of(instance)
    print(f"{target} written: {family.headline(instance)}")
    for warning in family.warnings(instance):
        print(f"warning: {warning}")


def _report_pictures(made: Sequence[Path]) -> None:
    for path in made:
        print(f"{path} drawn", file=sys.stderr)


def _print_json(content: Mapping[str, Any]) -> None:
    from optsched.files import plain

    print(json.dumps(plain(content), allow_nan=False, indent=2))


@contextmanager
def _ending_well() -> Iterator[None]:
    """Have signals remembered; where nothing came of the work, end with their exit status."""
    with interrupts.remembered():
        try:
            yield
        except KeyboardInterrupt:
            if not lastwords.is_watched():
                _say("interrupted")
            raise typer.Exit(_status(interrupts.asked())) from None


def _leave(*, found: bool) -> None:
    """End with the exit status that says how it went."""
    number = interrupts.asked()
    if number is not None:
        _say("interrupted; this is the best so far")
        lastwords.leave_word(said=True)
        raise typer.Exit(_status(number))
    raise typer.Exit(0 if found else 1)


def _status(number: int | None) -> int:
    return 128 + (number or signal.SIGINT)


def _say(text: str, shown: str = "") -> None:
    """Print one line on stderr; nothing in it can command a terminal, but for what is ``shown``."""
    sys.stdout.flush()
    line = "".join(c if c.isprintable() or c in shown else repr(c)[1:-1] for c in text)
    print(f"optsched: {line}", file=sys.stderr, flush=True)


def main(args: Sequence[str] | None = None) -> None:
    """Run a command: wrong input, and what the system refuses, is one line; a bug a traceback."""
    if sys.stdout is None:  # the command was started with its output closed
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        try:
            app(None if args is None else [*args], prog_name="optsched")
        finally:
            sys.stdout.flush()
    except InputError as err:
        _say(str(err), "\n" if isinstance(err, PolicyError) else "")  # with the policy's own lines
        sys.exit(2)
    except MemoryError:
        _say("there is not enough memory for this")
        sys.exit(1)
    except OSError as err:
        if err.errno not in REFUSALS:
            raise
        _print_no_more()
        if err.errno != errno.EPIPE:  # who closes a pipe wants no more words
            _say(f"{err.filename or 'output'}: cannot be written: {err.strerror}")
        sys.exit(1)


def _print_no_more() -> None:
    """Let what is still to be printed vanish."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
