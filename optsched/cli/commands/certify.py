"""`optsched certify`: a proved bound for any linear or integer program."""

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli import options
from optsched.cli.commands.outcome import ending_well, leave, report
from optsched.engine.interval import CLOSED
from optsched.files.atomic_io import writable
from optsched.problem import InputError
from optsched.process import crash_state, messages


@options.with_verbosity
def certify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="MPS or LP file, also .gz.")],
    solution: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also check this solution: a HiGHS solution file, or lines of NAME VALUE.",
        ),
    ] = None,
    time_limit: options.TimeLimit = None,
    work_limit: options.WorkLimit = None,
    gap: options.Gap = CLOSED,
    threads: options.Threads = 1,
    seed: options.Seed = 0,
    params: options.Params = None,
    output: options.Output = None,
    vipr: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the proof to this file (VIPR 1.0).")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Certify the optimum of a linear or integer program.

    HiGHS solves the model. optsched computes a bound with a certificate (a branching tree with
    LP duals), verifies it in exact arithmetic, checks the best solution against every constraint in
    exact arithmetic, and reports every claim of HiGHS that the bound or the check of the solution
    contradicts. Exit status 1: no bound is certified, a claim is contradicted, or the solution
    given by --solution is infeasible.

    Example:  optsched certify model.mps -o result.json

    Example:  optsched certify model.lp --solution model.sol --vipr model.vipr
    """
    from optsched.cli.console import out
    from optsched.cli.progress_display import Ticker
    from optsched.results.certify import certify

    for target, other in ((output, vipr), (vipr, output)):
        if target is not None:
            writable(target, model, solution, params)  # refused early
            if target == other:
                raise InputError(f"{target}: result and proof, expected two files")
    with ending_well(), Ticker("looking for a proof") as ticker:
        crash_state.listen_to_signals()
        found = certify(
            model,
            solution=solution,
            time_limit=time_limit,
            work_limit=work_limit,
            gap=gap,
            threads=threads,
            seed=seed,
            params=params,
            watch=ticker.watch,
        )
    if output is not None:
        with messages.long_step(f"writing {output}"):
            found.save(output)
    if vipr is not None:
        with messages.long_step(f"writing {vipr}"):
            found.vipr(vipr)
    if as_json:
        report(found.summary(), None, as_json)
    else:
        out().print(str(found), markup=False)
    fails = found.given is not None and not found.given.feasible
    leave(found=found.certified and not found.contradictions and not fails)
