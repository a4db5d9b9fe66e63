"""Readers of bags of tasks: computation and data per task of an application.

WfCommons  JSON of an executed workflow (*.json, *.json.gz): the bag is the most frequent kind of
           task
list       comma-separated: name,flop,bytes and, if there are, return_bytes,weight
SWF        a log of jobs: the bags of the users that submitted most
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from optsched.files.format import first_error
from optsched.problem import InputError
from optsched.process import messages
from optsched.traces.columns import RUN, Number, missing_columns, read_columns, shown
from optsched.traces.formats.swf import is_swf
from optsched.traces.jobs import read_jobs
from optsched.traces.lines import first_row, read_bytes

LIST = ("name", "flop", "bytes")
AMOUNT = Number("per task", high=1e18)


@dataclass(frozen=True)
class Bag:
    """One application, as far as it was recorded; None: it was not."""

    name: str
    flop: float | None  # per task
    seconds: float | None  # running time of a task, where flop is not known
    bytes: float | None  # sent to the worker
    return_bytes: float | None
    weight: float
    tasks: int | None


def read_bags(path: Path, most: int) -> list[Bag]:
    """Read at most ``most`` bags.

    Raises
    ------
    InputError
        The file cannot be read, is of no known format, or holds no task that runs.
    """
    if is_swf(path):
        return _users(path, most)
    name = path.name.lower().removesuffix(".gz")
    return [_workflow(path)] if name.endswith(".json") else _list(path)[:most]


def _list(path: Path) -> list[Bag]:
    names = first_row(path).fields
    if not set(LIST) <= set(names):
        raise missing_columns(path, names, {"list of applications": LIST})
    table = read_columns(path, names)
    flop = table.numbers("flop", Number("flop per task", high=1e18, above_low=True))
    sent = table.numbers("bytes", AMOUNT)
    zero, one = [0.0] * len(table), [1.0] * len(table)
    back = table.numbers("return_bytes", AMOUNT) if "return_bytes" in table else zero
    rule = Number("weight", above_low=True)
    weight = table.numbers("weight", rule) if "weight" in table else one
    labels = table.text("name")
    table.warn_unread("list of applications")
    return [
        Bag(name, float(flop[i]), None, float(sent[i]), float(back[i]), float(weight[i]), None)
        for i, name in enumerate(labels)
    ]


def _users(path: Path, most: int) -> list[Bag]:
    jobs = read_jobs(path)
    jobs = jobs[jobs["run_seconds"] > 0]
    found = []
    for user, count in sorted(Counter(jobs["user"]).items(), key=lambda x: (-x[1], str(x[0]))):
        mine = jobs[jobs["user"] == user]["run_seconds"]
        found.append(Bag(f"user {user}", None, float(mine.median()), None, None, 1.0, count))
        if len(found) == most:
            break
    return found


class _File(BaseModel):
    id: str
    size: float = Field(alias="sizeInBytes", ge=0.0, le=AMOUNT.high)


class _Task(BaseModel):
    id: str
    name: str = ""
    inputs: list[str] = Field(default=[], alias="inputFiles")
    outputs: list[str] = Field(default=[], alias="outputFiles")


class _Command(BaseModel):
    program: str | None = None


class _Execution(BaseModel):
    id: str
    seconds: float = Field(alias="runtimeInSeconds", ge=0.0, le=RUN.high)
    command: _Command = _Command()


class _Specification(BaseModel):
    tasks: list[_Task] = Field(min_length=1)
    files: list[_File] = []


class _Executions(BaseModel):
    tasks: list[_Execution] = Field(min_length=1)


class _Workflow(BaseModel):
    specification: _Specification
    execution: _Executions


class _WfCommons(BaseModel):
    workflow: _Workflow


IDENTIFIED = re.compile(r"(.+)_ID\d+")  # names of single tasks: KIND_ID7, KIND__SAMPLE__ID7,
LABELED = re.compile(r"(.+?)__.*")
NUMBERED = re.compile(r"(.+)_\d+")  # KIND_7,
NOTED = re.compile(r"(.+?) \(.*")  # KIND (SAMPLE)


def _workflow(path: Path) -> Bag:
    """Return the bag of the most frequent kind of task."""
    try:
        flow = _WfCommons.model_validate_json(read_bytes(path)).workflow
    except ValidationError as err:
        raise InputError(
            f"{path}: {first_error(err)}; expected a WfCommons workflow of schema 1.5, with "
            "workflow.specification and workflow.execution"
        ) from err
    tasks = {t.id: t for t in flow.specification.tasks}
    sizes = {f.id: f.size for f in flow.specification.files}
    unknown = [t.id for t in flow.execution.tasks if t.id not in tasks]
    unknown += [f for t in tasks.values() for f in (*t.inputs, *t.outputs) if f not in sizes]
    if unknown:
        raise InputError(
            f"{path}: {shown(unknown[0])} is not specified, expected it among the tasks or files "
            "of workflow.specification"
        )
    kinds = _kinds(tasks, flow.execution.tasks)
    readers = Counter(f for t in tasks.values() for f in t.inputs)
    kind, count = Counter(kinds).most_common(1)[0]
    mine = [t for t, name in zip(flow.execution.tasks, kinds, strict=True) if name == kind]
    seconds = statistics.median(t.seconds for t in mine)
    sent = statistics.median(
        sum(sizes[f] for f in tasks[t.id].inputs if readers[f] == 1) for t in mine
    )
    back = statistics.median(sum(sizes[f] for f in tasks[t.id].outputs) for t in mine)
    if seconds <= 0:
        raise InputError(f"{path}: tasks of {kind} take no time, expected running times above 0")
    messages.remark(f"{path}: the bag is {kind}, {count} of {len(kinds)} tasks")
    return Bag(Path(path.name).stem.split(".")[0], None, seconds, sent, back, 1.0, count)


def _kinds(tasks: Mapping[str, _Task], executed: Sequence[_Execution]) -> list[str]:
    """Return the kind of each task that was executed.

    That is its name, if tasks share it. If it names a single task, it is what precedes its number,
    or the program, if that is one word (some systems record a whole script).
    """
    names = [tasks[t.id].name or t.id for t in executed]
    shared = Counter(names)
    single = max(shared.values()) == 1
    found = []
    for name, task in zip(names, executed, strict=True):
        program = task.command.program or ""
        if shared[name] > 1 or (name != task.id and not single):
            found.append(name)
        elif stem := IDENTIFIED.fullmatch(name):
            label = LABELED.fullmatch(stem[1][:-1]) if stem[1].endswith("_") else None
            found.append((label or stem)[1])
        elif len(program.split()) == 1:
            found.append(program)
        else:
            pattern = NOTED if name.endswith(")") else NUMBERED
            found.append(stem[1] if (stem := pattern.fullmatch(name)) else name)
    return found
