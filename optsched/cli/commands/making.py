"""`optsched generate`, `trace` and `export`: the commands that write instances and programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optsched.cli.commands.ending import report
from optsched.cli.options import (
    FAMILY_HELP,
    MOST,
    MOST_SLOTS,
    Json,
    Seed,
    sizes_given,
    takes_input,
    talks,
)
from optsched.files.disk import is_stdout, writable
from optsched.problem import InputError, Window, family_of, family_or_problem
from optsched.process import talk
from optsched.results.export import Format

if TYPE_CHECKING:
    from optsched.problem import Instance

LOADS = "offered load over time"  # a fact that families describe
Target = Annotated[Path, typer.Option("-o", "--output", help="Instance file to write.")]


@talks
def generate(
    family: Annotated[str, typer.Argument(metavar="FAMILY", help=FAMILY_HELP)],
    output: Target,
    preset: Annotated[
        str | None, typer.Option(help="Which settings; by default the family's first.")
    ] = None,
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
    load: Annotated[
        float | None,
        typer.Option(help="Work asked for / work that fits; sets the number of machines."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw an instance.

    Example:  optsched generate oasis --preset small --seed 1 -o small.json

    Example:  optsched generate dmlrs --preset contended --jobs 1000 --load 1 -o large.json
    """
    made = family_or_problem(family)
    sizes: dict[str, float | None] = {"jobs": jobs, "slots": slots, "machines": machines}
    sizes |= {"ports": ports, "nodes": nodes, "applications": applications, "load": load}
    given = sizes_given(family, sizes)
    from optsched.files.envelope import valid

    target = writable(output)
    with valid(f"generate {family}"), talk.aloud(f"drawing an instance of {family}"):
        instance = made.generate(preset or made.presets[0], seed=seed, **given)
    _save_made(instance, target, as_json)


@takes_input
def trace(
    source: Path, window: Window, instance: "Instance", output: Target, as_json: Json = False
) -> None:
    """Make an instance of a window of a job trace.

    The arrivals are scaled so that they span the slots; there are as many machines as give the
    offered load. With `--as-is` nothing is scaled: real times, exactly the machines of the list,
    and nothing asked for but what the trace names. If the trace has recorded starts, the schedule
    that was really run is written beside it.

    Example:  optsched trace jobs.csv --machines machines.csv --jobs 100 --load 2 -o window.json

    Example:  optsched trace jobs.csv --machines machines.csv --as-is --slots 720 -o month.json
    """
    from optsched.core import is_instance, recorded

    if is_instance(source):
        raise InputError(f"{source}: is an instance file already, expected a job trace")
    from optsched.results.result import save_schedule

    _save_made(instance, writable(output), as_json)
    for schedule in recorded(source, window, instance).values():
        if is_stdout(output):
            talk.remark("what your cluster did is not written, expected -o FILE for that")
            continue
        beside = output.with_name(f"{output.name.partition('.')[0]}-recorded.json")
        save_schedule(writable(beside), instance, schedule)
        talk.remark(f"{beside} written: what your cluster did, for `ratio --schedule`")


@takes_input
def export(
    source: Path,
    instance: "Instance",
    to: Annotated[Format, typer.Option("--to", help="Format of the file.")] = Format.LP,
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
    """Write the program, with the paper's equation numbers, for other solvers.

    Example:  optsched export small.json --to mps -o small.mps
    """
    from optsched.results.export import write_program

    target = writable(output or Path(f"{source.name.partition('.')[0]}.{to}"))
    tell = talk.remark if is_stdout(target) else talk.result
    for line in write_program(instance, target, to, relaxed=relaxed, printed=printed):
        tell(line)
    tell(f"{target} written")


def _save_made(instance: "Instance", target: Path, as_json: bool) -> None:
    from optsched.files.envelope import save_instance

    family = family_of(instance)
    with talk.aloud(f"writing {target}"):
        save_instance(instance, target)
        warnings, described = family.warnings(instance), family.describe(instance)
    if as_json:
        said = {"file": str(target), "family": family.name, "instance_sha256": instance.digest()}
        facts = {"facts": described, "warnings": warnings}
        report(said | facts, None, as_json)
        return
    tell = talk.remark if is_stdout(target) else talk.result
    tell(f"{target} written: {family.headline(instance)}")
    for name, loads in described.get(LOADS, {}).items():
        tell(f"{LOADS}: {name} {', '.join(f'{x:g}' for x in loads)}")
    for warning in warnings:
        tell(f"warning: {warning}")
