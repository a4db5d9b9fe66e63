"""INPUT: an instance file, a problem in a file, or a trace with the options of `optsched trace`."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.files.atomic_io import read_limited
from optsched.files.format import LARGEST, load_instance
from optsched.problem import (
    REAL,
    Family,
    InputError,
    Instance,
    Schedule,
    Window,
    family_of,
    family_or_problem,
    get_family,
    is_named_in_file,
)
from optsched.process import messages

if TYPE_CHECKING:
    from pandas import DataFrame

OBJECT = re.compile(rb"(\xef\xbb\xbf)?\s*\{")
LIST_OF_JOBS = re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*\{")
SAMPLE = "sample"  # this word, instead of a file, is the trace that comes with the package


def open_input(
    source: Path, family: str, window: Window, preset: str | None = None, seed: int = 0
) -> Instance:
    """Return the instance in the file ``source``, or made of the trace ``source``.

    Of a problem, ``FILE.py:NAME``, the instance is drawn from a preset and a seed.

    Raises
    ------
    InputError
        The file is malformed; one line states where, what is there and what would be right.
    """
    if is_named_in_file(str(source)):
        if window != Window():
            raise InputError(f"{source}: is a problem, expected no options of a trace")
        drawn = family_or_problem(str(source))
        return drawn.generate(preset or drawn.presets[0], seed=seed)
    if preset is not None:
        raise InputError(f"{source}: --preset is about a problem, FILE.py:NAME")
    if is_instance(source):
        if window != Window():
            raise InputError(f"{source}: is an instance file, expected no options of a trace")
        return load_instance(source)
    made = get_family(family)
    if made.open_trace is None:
        raise InputError(
            f"{source}: family {family} reads no traces, expected an instance file, NAME.json"
        )
    from optsched.traces import reading  # here, since it takes a while to import

    source, window = meant(source, made, window)
    with reading(source):
        return made.open_trace(source, window)


def usual_family(source: Path) -> tuple[str, str]:
    """Return the family of a log's instance where none is requested, and a remark that states it.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    if str(source) == SAMPLE and not source.exists():
        return "oasis", ""
    from optsched.traces import reading
    from optsched.traces.jobs import is_scheduler_log

    with reading(source):
        recorded_by_scheduler = is_scheduler_log(source)
    if recorded_by_scheduler:
        return "rigid", (
            "family rigid, the default for logs of Slurm, SWF and Batsim, and lists with "
            "request_seconds: jobs as recorded, in seconds (--family oasis: training jobs, in "
            "slots, with drawn utilities)"
        )
    return "oasis", (
        "family oasis, the default: training jobs, in slots, with drawn utilities (--family rigid: "
        "jobs as recorded, in seconds)"
    )


def load_trace(
    log: Path | str | DataFrame,
    *,
    family: str = "rigid",
    machines: Path | str | DataFrame | None = None,
    **window: Any,
) -> Instance:
    """Make an instance of a list of jobs.

    Parameters
    ----------
    log : path or DataFrame
        A file in one of the formats of `optsched.traces.read_jobs`, or a table with their columns.
    family : str
        Family of the instance.
    machines : path or DataFrame, optional
        The list of machines.
    **window
        Fields of `optsched.problem.Window`: ``jobs``, ``start``, ``load``, ``slots``, ...

    Returns
    -------
    Instance

    Raises
    ------
    InputError
        The list is malformed, or an option does not fit; the message names line and field.

    Examples
    --------
    >>> import pandas as pd
    >>> jobs = pd.DataFrame({"submit_seconds": [0, 5], "run_seconds": [60, 30], "tasks": [2, 1]})
    >>> nodes = pd.DataFrame({"gpu": [0], "cpu": [2], "memory_gb": [8]})
    >>> [job.run for job in load_trace(jobs, machines=nodes).jobs]
    [60, 30]
    """
    from optsched.traces.frames import as_file  # pandas takes a while to import

    known = [f.name for f in fields(Window)]
    for name in window:
        if name not in known:
            raise InputError(f"unknown option {name!r}, expected one of: {', '.join(known)}")
    with as_file(log) as source, as_file("" if machines is None else machines) as listed:
        opened = Window(machines=None if machines is None else listed, **window)
        return open_input(source, family, opened)


def is_instance(source: Path) -> bool:
    """Return whether a file is an instance or a result, not a trace; of JSON, by its content.

    Raises
    ------
    InputError
        It cannot be read, or is a model.
    """
    if Path(source.name.removesuffix(".gz")).suffix in (".mps", ".lp"):
        raise InputError(
            f"{source}: is a model, which needs a table of times (columns name, revealed), "
            f"expected an instance, such as optsched.online({str(source)!r}, 'times.csv') makes"
        )
    if not source.name.endswith(".json"):
        return False
    text = read_limited(source, LARGEST)
    if LIST_OF_JOBS.match(text):
        return False
    return not OBJECT.match(text) or b'"kind"' in text


def recorded(source: Path, window: Window, instance: Instance) -> dict[str, Schedule]:
    """Return the schedule that was really run, by its name, as far as a trace records one.

    Parts that do not fit the model are left out, and reported; so is a trace without starts.
    """
    family = family_of(instance)
    if family.recorded is None or is_instance(source):
        return {}
    with messages.silenced():  # remarks on the list were printed when it became an instance
        found = family.recorded(*meant(source, family, window), instance)
    if found is None:
        if window.unscaled or family.reactive:
            messages.remark(f"{source}: has no recorded starts: {REAL} is not known")
        return {}
    schedule, lines = found
    for line in lines:
        messages.remark(line)
    return {} if schedule is None else {REAL: schedule}


def meant(source: Path, family: Family, window: Window) -> tuple[Path, Window]:
    """Return the trace that ``source`` names, and its window: `sample` is replaced by its files."""
    if str(source) != SAMPLE or source.exists():
        return source, window
    if not family.samples:
        raise InputError(f"{SAMPLE}: family {family.name} has none, expected a file")
    paths: dict[str, Any] = {name: _sample(file) for name, file in family.samples.items()}
    source = paths.pop("source")
    scaled = None if window.machines else False  # a sample is small: its machines are proportions
    paths |= {"as_is": scaled}
    return source, replace(window, **{n: p for n, p in paths.items() if getattr(window, n) is None})


def _sample(file: str | tuple[str, ...]) -> Path | tuple[Path, ...]:
    """Return the path of a sample, or of several."""
    folder, found = Path(str(files("optsched") / "samples")), []
    for name in (file,) if isinstance(file, str) else file:
        there = sorted(folder.glob(f"{name}*"))
        if not there:
            raise InputError(f"{folder}: the sample {name} is missing, expected it in the package")
        found.append(there[0])
    return found[0] if isinstance(file, str) else tuple(found)
