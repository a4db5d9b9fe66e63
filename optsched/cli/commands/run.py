"""`optsched run`: one online policy on an instance."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli import options
from optsched.cli.commands.outcome import ending_well, leave, report
from optsched.process import crash_state

if TYPE_CHECKING:
    from optsched.problem import Instance


@options.takes_input
def run(
    instance: "Instance",
    policy: Annotated[str, typer.Option("--policy", "-p", help=options.POLICY_HELP)],
    seed: options.Seed = 0,
    sandbox: options.Sandboxed = False,
    decision_limit: options.DecisionLimit = None,
    statistics: options.Statistics = None,
    output: options.Output = None,
    as_json: options.Json = False,
) -> None:
    """Run an online policy.

    Example:  optsched run small.json --policy oasis -o run.json
    """
    from optsched.cli.console import out
    from optsched.cli.progress_display import Ticker
    from optsched.core import simulate
    from optsched.results.result import save_run

    options.load_statistics(statistics)
    with ending_well():
        crash_state.listen_to_signals()
        with Ticker(f"running {policy}") as ticker:

            def progress(events: int) -> None:
                ticker.show(f"{events} events")

            how: dict[str, Any] = {"sandbox": sandbox, "decision_limit": decision_limit}
            found = simulate(instance, policy, seed=seed, progress=progress, **how)
        if output:
            save_run(output, instance, found)
    if as_json:
        report(found.summary(), None, as_json)
    else:
        out().print(str(found), markup=False)
    leave(found=True)
