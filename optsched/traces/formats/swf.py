"""Logs in the Standard Workload Format (SWF), version 2.2: 18 numbers a line, comments after ";".

One task is one processor. A negative time and a number of processors below 1 mean that it is not
known. Column 10 is memory per processor in KB; where a log adds columns of its own (more than 18)
it is known to mean something else, and is left out. Lines of status 2, 3 and 4 are parts of a job
that was interrupted; the line with its totals has status 0 or 1. A first line that holds no number
is a header. The comment "MaxProcs" states the processors of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from operator import methodcaller
from pathlib import Path

import numpy as np

from optsched.process import messages
from optsched.traces.columns import SECONDS, SUBMIT, TASKS, Columns, Number
from optsched.traces.formats.declared import Table
from optsched.traces.lines import TextLine, is_number, read_fields, read_lines

FIELDS = 18
READ = {
    **{1: "job", 2: "submit", 3: "wait", 4: "run time", 5: "used", 8: "requested"},
    **{9: "requested time", 10: "memory", 12: "user"},
    **{15: "queue", 16: "partition", 17: "preceding job"},
}
MACHINE = re.compile(r";\s*MaxProcs:\s*(\d{1,9})\s*", re.IGNORECASE)
STATUS = 11
PARTS = ("2", "3", "4")
ANY = Number("-1: unknown", low=-1e12, high=1e12)
TIME = Number("seconds; negative: unknown", low=-1e12, high=SECONDS)


def is_swf(path: Path) -> bool:
    """Whether ``path`` names a log in the Standard Workload Format."""
    return path.name.lower().removesuffix(".gz").endswith(".swf")


def read_swf(path: Path) -> Table:
    """Return the table of a log; parts of jobs and dependencies are reported.

    Raises
    ------
    InputError
        It is no such log; the message names line, field, value and what would be right.
    """
    extended, parts, in_parts = False, 0, set[str]()

    def rows() -> Iterator[TextLine]:
        nonlocal extended, parts
        expected = f"the {FIELDS} of the Standard Workload Format"
        split = methodcaller("split", maxsplit=FIELDS)
        for number, row in enumerate(read_fields(path, split, FIELDS, expected)):
            if number == 0 and not any(map(is_number, row.fields)):
                continue
            extended = extended or len(row.fields) > FIELDS
            if row.fields[STATUS - 1] in PARTS:
                parts += 1
                in_parts.add(row.fields[0])
                continue
            yield TextLine(row.line, [row.fields[k - 1] for k in READ])

    columns = Columns(path, list(READ.values()), rows())
    run, wait = columns.numbers("run time", TIME), columns.numbers("wait", TIME)
    submit = columns.numbers("submit", SUBMIT)
    used, requested = columns.numbers("used", ANY), columns.numbers("requested", ANY)
    memory, requested_time = columns.numbers("memory", ANY), columns.numbers("requested time", TIME)
    tasks = np.where(used >= 1, used, requested)
    columns.refuse("used", tasks != np.floor(tasks), "a whole number of processors, or -1")
    columns.refuse("used", tasks > TASKS.high, f"at most {TASKS.high:g} processors")
    if parts:
        lost = len(in_parts - {*columns.text("job")})
        without = f"; {lost} jobs have no line with their totals and are left out" if lost else ""
        messages.remark(
            f"{path}: {parts} lines are parts of interrupted jobs (status 2, 3 or 4); a job counts "
            f"once, with its totals{without}"
        )
    named = columns.numbers("preceding job", ANY)
    dependent = int(((named > 0) & (columns.numbers("job", ANY) != named)).sum())
    if dependent:
        messages.remark(
            f"{path}: {dependent} of {len(columns)} jobs name a preceding job (column 17); "
            "dependencies are not modelled"
        )
    comments = takewhile(lambda text: text.startswith(";"), (text for _, text in read_lines(path)))
    stated = [int(found[1]) for found in map(MACHINE.fullmatch, comments) if found]
    labels = zip(columns.text("partition"), columns.text("queue"), strict=True)
    return {
        "name": columns.text("job"),
        "submit_seconds": submit,
        "start_seconds": np.where(wait >= 0, submit + wait, np.nan),
        "run_seconds": np.where(run >= 0, run, np.nan),
        "request_seconds": np.where(requested_time > 0, requested_time, np.nan),
        "tasks": np.where(tasks >= 1, tasks, np.nan),
        "gpu": np.zeros(len(columns)),
        "cpu": np.ones(len(columns)),
        "memory_gb": np.where((memory > 0) & (not extended), memory / 1024**2, np.nan),
        "user": columns.text("user"),
        "processors": stated[0] if stated else None,
        "partition": [next((name for name in pair if name != "-1"), "") for pair in labels],
    }
