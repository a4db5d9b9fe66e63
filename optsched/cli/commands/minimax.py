"""`optsched minimax`: the best possible online algorithm on a set of instances."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from optsched.cli import options
from optsched.cli.commands.outcome import ending_well, leave, report
from optsched.files.atomic_io import writable
from optsched.process import messages

LINES = 40  # of the tree that are shown


@options.with_verbosity
def minimax(
    plan: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Set of instances: FILE.py:NAME, which is either declared with @optsched.menu "
            "(all sequences of given items) or a list of instances; or instance files.",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        options.several_policies(
            f"Compare this policy with the optimal one. {options.POLICY_HELP} May be repeated."
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            min=1, max=options.MOST, help="Number of runs of each policy on every instance."
        ),
    ] = 1,
    seed: options.Seed = 0,
    sandbox: options.Sandboxed = False,
    save_policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.py", help="Write the optimal policy as Python code, FILE.py:policy."
        ),
    ] = None,
    output: options.Output = None,
    as_json: options.Json = False,
) -> None:
    """Compute an optimal online algorithm for given instances.

    Prints the optimal competitive ratios (randomized and deterministic) on these instances, and a
    tree of histories: revealed items, probability under the worst-case distribution, and
    probabilities of the optimal algorithm's decisions. `optsched verify` checks the output file.

    Example:  optsched minimax ski.py:skiing --policy re-solve -o game.json
    """
    from optsched.cli.progress_display import Ticker
    from optsched.minimax.game import minimax as play
    from optsched.minimax.game import planned
    from optsched.problem import InputError

    for target in (output, save_policy):
        if target is not None:
            writable(target)
    policies = policy or []
    with ending_well():
        for name in policies:
            if policies.count(name) > 1:
                raise InputError(f"policy {name!r} is named twice, expected once")
        with Ticker("looking for the best online algorithm"):
            game = play(planned(plan))
        with messages.long_step("running policies"):
            found = [
                game.standing(name, runs=runs, seed=seed, sandbox=sandbox) for name in policies
            ]
        if output is not None:
            game.save(output, found)
        if save_policy is not None:
            game.policy.save(save_policy)
    if as_json:
        standings = [standing.summary() for standing in found]
        report(game.summary() | {"policies": standings}, None, as_json)
    else:
        messages.result(f"{plan[0]}: {game}")
        for standing in found:
            messages.result(f"  {standing}")
        lines = game.lines()
        for depth, text in islice(lines, None if messages.verbose else LINES):
            messages.result("  " * (depth + 1) + messages.printable(text))
        if next(lines, None) is not None:
            messages.result(f"  only {LINES} histories are shown, -v shows all")
    leave(found=True)
