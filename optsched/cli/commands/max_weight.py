"""`optsched max-weight`: the most weight that ends by a deadline, the paper's second problem."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.commands.outcome import ending_well, leave, report
from optsched.cli.options import Json, takes_input
from optsched.problem import InputError

if TYPE_CHECKING:
    from optsched.papers.completion.weight_bound import MostWeight
    from optsched.problem import Instance


@takes_input
def max_weight(
    instance: "Instance",
    deadline: Annotated[
        int, typer.Option(min=1, metavar="SLOT", help="Jobs that complete before this slot count.")
    ],
    weight_bound: Annotated[
        float | None,
        typer.Option(
            "--weight-bound",
            min=1,
            help="F of the paper: an upper bound on the weight of a job over its resource "
            "consumption (default: the least one for this instance).",
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(min=0, help="Time limit (s) of the pricing bound, and of CP-SAT.")
    ] = 5.0,
    as_json: Json = False,
) -> None:
    """Maximize the weight of jobs completed by a deadline.

    For instances of family completion; all jobs are available from the start. Compares A_maxweight,
    its variant ordered by density, and the greedy algorithm of Jain et al. with the best schedule
    found and an upper bound. The bound is not certified: it is computed in floating point, or
    claimed by CP-SAT.

    Example:  optsched max-weight jobs.json --deadline 64
    """
    from optsched.families.completion.instance import CompletionInstance

    if not isinstance(instance, CompletionInstance):
        raise InputError(
            f"an instance of family {instance.family} has no weights by a deadline, expected one "
            "of family completion"
        )
    from optsched.cli.progress_display import Ticker
    from optsched.families.completion.policies import paper
    from optsched.papers.completion.weight_bound import most_weight

    with ending_well(), Ticker(f"scheduling the most weight by slot {deadline}"):
        f = paper.weight_bound(instance) if weight_bound is None else weight_bound
        lam = paper.price_base(instance, f)
        found = most_weight(instance, deadline, lam, seconds=time_limit, exact=time_limit)
    found_by = {"by": deadline, "weight_bound": f, **_summary(found)}
    report(found_by, None, as_json)
    if not as_json:
        _show(found, len(instance.jobs))
    leave(found=True)


def _summary(found: "MostWeight") -> dict[str, Any]:
    """Return the stored bound and values."""
    return {
        "weight": found.value,
        "bound": found.bound,
        "bound_by": found.bound_by,
        "optimal": found.optimal,
        "methods": {
            name: {"weight": x, "ratio": [found.value / x if x else None, found.ratio(name)]}
            for name, x in found.by_method.items()
        },
        "schedule": {job: piece.model_dump() for job, piece in sorted(found.schedule.items())},
    }


def _show(found: "MostWeight", jobs: int) -> None:
    from rich.table import Table

    from optsched.cli.console import out

    origin = "CP-SAT's claim" if found.bound_by == "cpsat" else "by prices"
    word = "is the most (claimed)" if found.optimal else f"found; at most {found.bound:.6g}"
    out().print(f"weight {found.value:.6g} {word}, {origin}; {len(found.schedule)} of {jobs} jobs")
    table = Table("method", "weight", "ratio")
    for name, x in found.by_method.items():
        ends = f"{found.value / x:.4g} .. {found.ratio(name):.4g}" if x else "inf"
        table.add_row(name, f"{x:.6g}", ends)
    out().print(table)
