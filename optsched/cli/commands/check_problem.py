"""`optsched check-problem`: whether a declared problem reveals anything too early."""

from typing import Annotated

import typer

from optsched.cli.commands.outcome import leave, print_result
from optsched.cli.options import MOST, Json, Seed, with_verbosity
from optsched.problem import InputError, is_named_in_file, problem_named
from optsched.process import messages


@with_verbosity
def check_problem(
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="Declared problem, FILE.py:NAME.")
    ],
    preset: Annotated[
        str | None, typer.Option(help="Preset of the instances (default: the first).")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, max=MOST, help="Number of pairs of instances.")] = 20,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Check nonanticipativity of a declared problem.

    The events of a problem must not depend on the future: two instances whose random draws agree up
    to a time must have the same events up to that time. This is tested on random pairs. Exit status
    1: the test failed; the first variable or constraint that differs is printed.

    Example:  optsched check-problem adwords.py:adwords
    """
    from optsched.declared.leaks import check_problem as check
    from optsched.declared.problem import Problem
    from optsched.process.loading import load_from_file

    problem = problem_named(problem)
    what = f"problem {problem!r}"
    if not is_named_in_file(problem):
        raise InputError(
            f"{what}: a file of instances has no generator that draws pairs, expected FILE.py:NAME"
        )
    made = load_from_file(problem, what)
    if not isinstance(made, Problem):
        raise InputError(f"{what} is {made!r:.60}, expected an optsched.problem")
    with messages.long_step(f"comparing pairs of {made.name}"):
        found = check(made, preset, pairs=pairs, seed=seed)
    leak = None if found.leak is None else str(found.leak)
    content = {"problem": found.problem, "pairs": found.pairs, "leak": leak}
    print_result(content, as_json, found)
    leave(found=found.leak is None)
