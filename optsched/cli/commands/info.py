"""`optsched info`: versions, solvers, families."""

import json
from importlib.resources import files
from typing import Annotated, Any

import typer

from optsched.cli.commands.outcome import report
from optsched.cli.options import Json, with_verbosity
from optsched.problem import Family, family_names, get_family


@with_verbosity
def info(
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Print the JSON schema of a kind of file: instance, schedule, run, result.",
        ),
    ] = None,
    params: Annotated[
        bool, typer.Option("--params", help="Print the parameters of the methods.")
    ] = False,
    family: Annotated[
        str | None,
        typer.Option(
            help="Problem family of the schema, or of the parameters.",
            show_default="oasis; all for --params",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print versions, solvers, families, policies and methods.

    Example:  optsched info --schema instance

    Example:  optsched info --params --family oasis
    """
    if schema is not None:
        from optsched.results.schemas import schema as schema_of

        report(schema_of(schema, family or "oasis"), None, as_json=True)
        return
    if params:
        from optsched.engine.params import described

        kinds = {n: get_family(n).params for n in ([family] if family else family_names())}
        rows = {n: list(described(kind)) for n, kind in kinds.items() if kind is not None}
        if as_json:
            report(rows, None, as_json)
            return
        from optsched.cli.console import out, params_table

        for name, listed in rows.items():
            out().print(params_table(f"family {name}", listed))
        return
    from optsched.files.provenance import CITE, solver_versions, versions

    found, known = versions() | {"solvers": solver_versions()}, cards()
    if as_json:
        report({"versions": found, "families": known, "cite": CITE}, None, as_json)
        return
    from optsched.cli.console import facts_table, out

    console = out()
    console.print(facts_table("optsched", found))
    for name, facts in known.items():
        console.print(facts_table(f"family {name}: {facts.pop('title')}", facts))
    console.print(CITE, markup=False)


def card(family: Family) -> dict[str, Any]:
    """Return the options, policies and methods of a family."""
    return {
        "title": family.title,
        "paper": family.paper,
        "objective": "maximized" if family.sense == "max" else "minimized",
        "presets": [*family.presets],
        "policies": [*family.policies],
        "methods": [*family.methods],
    }


def cards() -> dict[str, dict[str, Any]]:
    """Return the card of every family that is installed, by name.

    Those of this package are stored in families/cards.json, as :func:`card` makes them, since
    loading all families takes seconds; a family from elsewhere is loaded.
    """
    stored = json.loads((files("optsched") / "families" / "cards.json").read_text("utf-8"))
    return {name: stored.get(name) or card(get_family(name)) for name in family_names()}
