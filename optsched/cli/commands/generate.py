"""`optsched generate`: draw a random instance."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optsched.cli import options
from optsched.cli.commands.outcome import report
from optsched.files.atomic_io import is_stdout, writable
from optsched.problem import family_of, family_or_problem, problem_named
from optsched.process import messages

if TYPE_CHECKING:
    from optsched.problem import Instance


LOADS = "offered load over time"  # a fact that families describe


Target = Annotated[Path, typer.Option("-o", "--output", help="Instance file to write.")]


@options.with_verbosity
def generate(
    family: Annotated[str, typer.Argument(metavar="FAMILY", help=options.FAMILY_OR_PROBLEM)],
    output: Target,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Settings to draw with, as `optsched info` lists them (default: the first)."
        ),
    ] = None,
    jobs: Annotated[int | None, options.size("Number of jobs")] = None,
    slots: options.Slots = None,
    machines: options.Machines = None,
    ports: options.Ports = None,
    nodes: options.Nodes = None,
    applications: Annotated[int | None, options.size("Number of applications (bot)")] = None,
    load: Annotated[
        float | None,
        typer.Option(help="Offered load (demand over capacity); sets the number of machines."),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Draw a random instance.

    Example:  optsched generate oasis --preset small --seed 1 -o small.json

    Example:  optsched generate dmlrs --preset contended --jobs 1000 --load 1 -o large.json
    """
    family = problem_named(family)
    made = family_or_problem(family)
    sizes: dict[str, float | None] = {"jobs": jobs, "slots": slots, "machines": machines}
    sizes |= {"ports": ports, "nodes": nodes, "applications": applications, "load": load}
    given = options.sizes_given(family, sizes)
    from optsched.files.format import Validating

    target = writable(output)
    with Validating(f"generate {family}"), messages.long_step(f"drawing an instance of {family}"):
        instance = made.generate(preset or made.presets[0], seed=seed, **given)
    save_made(instance, target, as_json)


def save_made(instance: "Instance", target: Path, as_json: bool) -> None:
    """Write an instance, and print its facts."""
    from optsched.files.format import save_instance

    family = family_of(instance)
    with messages.long_step(f"writing {target}"):
        save_instance(instance, target)
        warnings, described = family.warnings(instance), family.describe(instance)
    if as_json:
        content = {"file": str(target), "family": family.name, "instance_sha256": instance.digest()}
        facts = {"facts": described, "warnings": warnings}
        report(content | facts, None, as_json)
        return
    emit = messages.remark if is_stdout(target) else messages.result
    emit(f"{target} written: {family.headline(instance)}")
    for name, loads in described.get(LOADS, {}).items():
        emit(f"{LOADS}: {name} {', '.join(f'{x:g}' for x in loads)}")
    for warning in warnings:
        emit(f"warning: {warning}")
