"""Lists of jobs in many formats -> one table.

The table has one row per job, in the order of submission (equal times: the order of the file):

    name             str
    submit_seconds   s from the first submission; NaN if the list has no times
    start_seconds    when it was started, s from the first submission; NaN: not in the list
    run_seconds      s, with all tasks at once; NaN if the list has none
    tasks            workers, GPUs or processors that the job uses at once, whole, >= 1
    gpu              GPUs of one task, 0.25 is a shared one; NaN: not in the list
    cpu              cores of one task; NaN: not in the list
    memory_gb        memory of one task, GB of 2^30 bytes; NaN: not in the list
    user             tenant, or ""
    model            what the job trains, or ""
    steps            mini-batches of all tasks together, whole, >= 1; NaN: not in the list
    request_seconds  requested time, s; NaN: not in the list
    partition        queue to which it was submitted, or ""
    weight           relative importance, > 0; NaN: not in the list
    nodes            machines that the job uses at once, whole, >= 1; NaN: not in the list
    hosts            their names, as a host list of Slurm, or ""
    gpu_type         type of GPU that the job requested, or ""

``attrs["format"]`` names the format, ``attrs["dropped"]`` counts rows that name no running time
(or no processors), ``attrs["why"]`` states their number by reason, ``attrs["start"]`` is the
date of the first submission, or None, ``attrs["processors"]`` those of the machine, or None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from optsched.numbers.arrays import Flags
from optsched.problem import InputError
from optsched.process import messages
from optsched.traces.columns import (
    BEGIN,
    DEMAND,
    RUN,
    SUBMIT,
    TASKS,
    Columns,
    Number,
    read_columns,
)
from optsched.traces.formats import batsim, inventories, philly, slurm, swf, training
from optsched.traces.formats.declared import Table, TraceFormat, recognized
from optsched.traces.frames import as_file
from optsched.traces.lines import begins, first_row
from optsched.traces.windows import HOUR

COLUMNS = (
    *("name", "submit_seconds", "start_seconds", "run_seconds", "tasks"),
    *("gpu", "cpu", "memory_gb", "user", "model", "steps", "request_seconds"),
    *("partition", "weight", "nodes", "hosts", "gpu_type"),
)
MISSING = {"user": "", "model": "", "partition": "", "hosts": "", "gpu_type": ""}

TIMES = {"submit_seconds": SUBMIT} | dict.fromkeys(
    ("eligible_seconds", "start_seconds", "end_seconds"), BEGIN
)
RULES = {
    "run_seconds": RUN,
    "request_seconds": RUN,
    "tasks": TASKS,
    "gpu": DEMAND,
    "cpu": DEMAND,
    "memory_gb": DEMAND,
    "steps": Number("mini-batches", low=1, high=1e15, whole=True),
    "weight": Number("relative importance", above_low=True, may_be_empty=True),
    "nodes": Number("nodes", low=1, high=TASKS.high, whole=True, may_be_empty=True),
}
OWN = TraceFormat(
    "own jobs",
    needed=("submit_seconds", "run_seconds", "tasks"),
    columns={name: name for name in COLUMNS},
)
FORMATS = (*training.FORMATS, slurm.FORMAT, OWN)
NAMED = (OWN.name, slurm.FORMAT.name, "SWF")  # formats in which a name stands for one job
MACHINE_HEADS = (
    {"sn", "cpu_milli"},
    {"cpu", "gpu", "count"},
    *({*form.needed} for form in inventories.FORMATS),
)


def read_jobs(source: Path | str | pd.DataFrame) -> pd.DataFrame:
    """Read a list of jobs; the format is known by its name (SWF), its columns, or as JSON.

    A file may hold several lists, each with a clock of its own; then the first is read, and
    reported.

    Parameters
    ----------
    source : path or DataFrame
        ``*.swf``; JSON as of Philly's ``cluster_job_log`` or Batsim's workloads; or a table in text
        with the columns of one of `FORMATS`. Plain or gzip. A DataFrame has the columns of such a
        table; durations and dates may be those of pandas.

    Returns
    -------
    DataFrame
        The columns above.

    Raises
    ------
    InputError
        The list is malformed or empty; the message names file, line, field, value and what would
        be right.
    """
    with as_file(source) as path:
        return _read_jobs(path)


def _read_jobs(path: Path) -> pd.DataFrame:
    if swf.is_swf(path):
        return _finished(path, "SWF", swf.read_swf(path), None)
    if philly.is_log(path):
        return _finished(path, "Philly log", *philly.log(path))
    if batsim.is_workload(path):
        return _finished(path, "Batsim workload", batsim.read_workload(path), None)
    form, names = _format(path)
    headless = form.fits_row(first_row(path).fields)
    columns = read_columns(path, names, headless=headless, skip=form.skip)
    if form is slurm.FORMAT:
        slurm.leave_out_repeated(columns)
    table, start = _listed(form, columns)
    columns.warn_unread(form.name, form.implied, form.columns.values())
    return _finished(path, form.name, table, start)


def is_scheduler_log(path: Path) -> bool:
    """Whether ``path`` is a log of a batch scheduler: SWF, Batsim, Slurm, or requested times.

    Raises
    ------
    InputError
        It is of no format; the message names the columns that it lacks.
    """
    if swf.is_swf(path) or batsim.is_workload(path):
        return True
    if philly.is_log(path):
        return False
    form, names = _format(path)
    return form is slurm.FORMAT or (form is OWN and "request_seconds" in names)


def recommended_family(jobs: pd.DataFrame) -> tuple[str, str]:
    """Return the family that takes a list of jobs as it is, and why in a few words."""
    if jobs["run_seconds"].notna().any():
        return "rigid", "every job runs once, at constant size: waiting and flow times"
    if jobs["steps"].notna().any():
        return "completion", "training jobs with models and steps; add --profile for their speeds"
    return "bipartite", "arrivals without run times"


def has_columns(path: Path) -> bool:
    """Whether ``path`` is a table in text with a header: neither SWF nor JSON."""
    return not swf.is_swf(path) and begins(path) not in (b"[", b"{")


def _format(path: Path) -> tuple[TraceFormat, Sequence[str]]:
    """Return the format of a table, and its columns."""
    first = first_row(path).fields
    for form in FORMATS:
        if form.fits_row(first):
            return form, [*form.headless]
    try:
        return recognized(path, FORMATS)
    except InputError as error:
        if any(heads <= {*first} for heads in MACHINE_HEADS):
            raise InputError(f"{path}: is a list of machines, expected a list of jobs") from None
        if "JobID" in first[0].split() and len(first) == 1:
            raise InputError(
                f"{path}: is a table of sacct in columns, which cuts long fields, expected that of "
                f"--parsable2: {slurm.COMMAND}"
            ) from None
        if "JobID" in first:
            raise InputError(f"{error}; all columns are written by {slurm.COMMAND}") from None
        raise


def _listed(form: TraceFormat, columns: Columns) -> tuple[Table, pd.Timestamp | None]:
    """Return the table of a list, and the date at which its clock is 0, if it has dates."""
    start, table = None, form.table(columns, RULES)
    known = {to: form.columns[to] for to in TIMES if form.columns.get(to) in columns.cells}
    if known:
        rules = [form.rules.get(to, TIMES[to]) for to in known]
        start, times = columns.times(*known.values(), rules=rules)
        table |= dict(zip(known, times, strict=True))
    begin = known.get("start_seconds")
    if begin is not None:
        early = table["start_seconds"] < table["submit_seconds"]
        columns.refuse(begin, early, f"at least the {known['submit_seconds']} of the same line")
        if "end_seconds" in known:
            run = table["run_seconds"] = table["end_seconds"] - table["start_seconds"]
            columns.refuse(known["end_seconds"], run < 0, f"at least the {begin} of the same line")
    if "eligible_seconds" in known:
        _wait_from(table, columns)
    table.setdefault("name", columns.names())
    rows = training.first_list(columns, *form.lists)
    return {name: x if np.ndim(x) == 0 else np.asarray(x)[rows] for name, x in table.items()}, start


def _wait_from(table: Table, columns: Columns) -> None:
    """Let jobs arrive when the scheduler may start them: a dependency or --begin holds them."""
    submitted = table["submit_seconds"]
    started = np.nan_to_num(table.get("start_seconds", np.nan), nan=np.inf)
    eligible = np.minimum(table["eligible_seconds"], started)  # NaN: not known
    table["submit_seconds"] = np.fmax(submitted, eligible)
    held = table["submit_seconds"] - submitted
    if "start_seconds" in table:
        held = held[np.isfinite(started)]
    hours = held[held > 0].sum() / HOUR
    if number := int((held > 0).sum()):
        messages.remark(
            f"{columns.path}: {number} jobs were eligible later than submitted (dependency, begin "
            f"time or limit): they arrive when they are eligible, {hours:.3g} "
            "h in all, which are not waiting times"
        )


def _finished(path: Path, kind: str, table: Table, start: pd.Timestamp | None) -> pd.DataFrame:
    """Drop what has no running time, put in order, start the clock at the first submission."""
    jobs = pd.DataFrame({name: table.get(name, MISSING.get(name, np.nan)) for name in COLUMNS})
    if jobs.empty:
        raise InputError(f"{path}: names no job, expected at least one")
    begin = jobs["start_seconds"].fillna(jobs["submit_seconds"])
    last = (begin + jobs["run_seconds"].fillna(0.0)).max()  # time of the list
    running = np.asarray(table.get("state", [""] * len(jobs))) == slurm.RUNNING
    far = (last - jobs["start_seconds"]).where(running)
    jobs["run_seconds"] = jobs["run_seconds"].fillna(far)
    known = jobs["tasks"].notna()
    if "submit_seconds" in table:
        known &= jobs["submit_seconds"].notna()
        known &= jobs["run_seconds"].notna() | ("run_seconds" not in table)
    copies = np.asarray(table.get("array", [1] * len(known)))
    dropped = int(copies[~known].sum())
    why = _reasons(jobs, table, ~known.to_numpy(), last)
    jobs = jobs[known].sort_values("submit_seconds", kind="stable", ignore_index=True)
    if kind in NAMED and (twice := int(jobs["name"].duplicated(keep=False).sum())):
        again = int(jobs["name"].duplicated().sum())
        messages.remark(
            f"{path}: {again} {'job was' if again == 1 else 'jobs were'} requeued: each attempt "
            "counts as a job that arrives at its recorded time"
            if kind == slurm.FORMAT.name
            else f"{path}: {twice} jobs share their name with another one"
        )
    if jobs.empty:
        raise InputError(
            f"{path}: none of {dropped} jobs has a known running time and number of tasks "
            f"({why}), expected at least one"
        )
    if dropped:
        waits = "; the means do not include their waiting times" if "before start" in why else ""
        if slurm.PENDING in why:
            waits += (
                ", and policies do not have to run them: over all jobs of the log, the distance to "
                "your cluster may be larger or smaller"
            )
        messages.remark(
            f"{path}: {dropped} of {copies.sum()} jobs of the log are left out: {why}{waits}"
        )
    if number := (running & known).sum():
        one = number == 1
        messages.remark(
            f"{path}: {number} {'job' if one else 'jobs'} of the log still ran when it was taken: "
            f"the rest of {'its run time' if one else 'their run times'} is missing, so with "
            f"{'it' if one else 'them'} the load is understated, and policies and the optimum may "
            "wait too little"
            + "; recorded waiting times are right"
            * bool(jobs["start_seconds"].notna().all())
        )
    first = jobs["submit_seconds"].iloc[0]
    if start is not None:
        start += pd.Timedelta(seconds=float(first))
    jobs[["submit_seconds", "start_seconds"]] -= first
    jobs = jobs.astype({"tasks": np.int64})
    jobs.attrs = {"format": kind, "dropped": dropped, "why": why, "start": start}
    jobs.attrs["processors"] = table.get("processors")
    return jobs


def _reasons(jobs: pd.DataFrame, table: Table, rows: Flags, last: float) -> str:
    """Return why rows are left out, by their state as far as the list names it, the most first.

    Of jobs that are still pending, also how long they have waited until ``last``.
    """
    dropped = jobs[rows]
    starts, runs = dropped["start_seconds"].isna(), dropped["run_seconds"].isna()
    states = np.asarray(table.get("state", [""] * len(rows)))[rows]
    copies = np.asarray(table.get("array", [1] * len(rows)))[rows]  # pending tasks of an array
    whole = "submit_seconds" in table
    counts: Counter[str] = Counter()
    for state, number, waits, endless, early in zip(
        states, copies, starts, runs, dropped["submit_seconds"].isna() & whole, strict=True
    ):
        if early:
            counts["without a time of submission"] += number
        elif state and (waits or (endless and state == slurm.CANCELLED)):
            counts[f"{state} before start"] += number
        elif endless and whole:
            counts[f"{state} without a run time".lstrip()] += number
        else:
            counts["without a number of tasks"] += number
    pending = starts.to_numpy() & (states == slurm.PENDING)
    queued = (last - dropped["submit_seconds"][pending]) * copies[pending]
    waited = f" ({queued.sum() / HOUR:.3g} h of waiting until the log ends)"
    told = {f"{slurm.PENDING} before start": waited}
    return ", ".join(f"{n} {why}{told.get(why, '')}" for why, n in counts.most_common())
