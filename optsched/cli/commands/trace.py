"""`optsched trace`: convert a window of a job trace into an instance."""

from pathlib import Path
from typing import TYPE_CHECKING

from optsched.cli.commands.generate import Target, save_made
from optsched.cli.options import Json, takes_input
from optsched.files.atomic_io import is_stdout, writable
from optsched.problem import InputError, Window
from optsched.process import messages

if TYPE_CHECKING:
    from optsched.problem import Instance


@takes_input
def trace(
    source: Path, window: Window, instance: "Instance", output: Target, as_json: Json = False
) -> None:
    """Convert a window of a job trace into an instance.

    Arrivals are scaled to the horizon; the number of machines (bipartite: the size of the requests)
    is chosen to give the offered load. Family rigid scales nothing. Nor do oasis and dmlrs with
    `--machines` and no `--load`: they use exactly the listed machines, and jobs request only the
    resources that the trace records; `--no-scaling` requests this explicitly. If the trace has
    start times and is not scaled, the recorded schedule is written to a second file,
    NAME-recorded.json.

    Example:  optsched trace jobs.csv --machines machines.csv --jobs 100 --load 2 -o window.json

    Example:  optsched trace jobs.csv --machines nodes.csv --no-scaling --horizon 720 -o month.json
    """
    from optsched.core import is_instance, recorded

    if is_instance(source):
        raise InputError(f"{source}: is an instance file already, expected a job trace")
    from optsched.results.result import save_schedule

    save_made(instance, writable(output), as_json)
    for schedule in recorded(source, window, instance).values():
        if is_stdout(output):
            messages.remark("what your cluster did is not written, expected -o FILE for that")
            continue
        target = output.with_name(f"{output.name.partition('.')[0]}-recorded.json")
        save_schedule(writable(target), instance, schedule)
        messages.remark(f"{target} written: what your cluster did, for optsched ratio --schedule")
