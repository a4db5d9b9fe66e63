"""Readers of bags of tasks: what one task of an application computes and moves.

WfCommons  JSON of an executed workflow (*.json, *.json.gz): the bag is the most frequent program
list       comma-separated: name,flop,bytes and, if there are, return_bytes,weight
SWF        a log of jobs: the bags of the users that submitted most
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optsched.problem import InputError
from optsched.traces.columns import Number, missing_columns, read_columns
from optsched.traces.jobs import is_swf, read_jobs
from optsched.traces.lines import header, read_bytes

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
    names = header(path)
    if not set(LIST) <= set(names):
        raise missing_columns(path, names, {"list of applications": LIST})
    table = read_columns(path, names)
    flop = table.numbers("flop", Number("flop per task", high=1e18, above_low=True))
    sent = table.numbers("bytes", AMOUNT)
    zero, one = [0.0] * len(table), [1.0] * len(table)
    back = table.numbers("return_bytes", AMOUNT) if "return_bytes" in table else zero
    rule = Number("weight", above_low=True)
    weight = table.numbers("weight", rule) if "weight" in table else one
    return [
        Bag(name, float(flop[i]), None, float(sent[i]), float(back[i]), float(weight[i]), None)
        for i, name in enumerate(table.text("name"))
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


def _workflow(path: Path) -> Bag:
    content = _json(path)
    try:
        parts = content["workflow"]
        sizes = {f["id"]: float(f["sizeInBytes"]) for f in parts["specification"]["files"]}
        tasks = {t["id"]: t for t in parts["specification"]["tasks"]}
        done = {
            t["id"]: (
                str(t.get("command", {}).get("program") or t["id"].split("_ID")[0]),
                float(t["runtimeInSeconds"]),
            )
            for t in parts["execution"]["tasks"]
        }
        readers = Counter(f for t in tasks.values() for f in t.get("inputFiles", ()))
        program, count = Counter(p for p, _ in done.values()).most_common(1)[0]
        mine = [i for i, (p, _) in done.items() if p == program]
        seconds = statistics.median(done[i][1] for i in mine)
        sent = statistics.median(
            sum(sizes[f] for f in tasks[i].get("inputFiles", ()) if readers[f] == 1) for i in mine
        )
        back = statistics.median(
            sum(sizes[f] for f in tasks[i].get("outputFiles", ())) for i in mine
        )
    except (KeyError, TypeError, IndexError, ValueError) as err:
        raise InputError(
            f"{path}: is no WfCommons workflow of schema 1.5 ({type(err).__name__}: {err}), "
            "expected "
            "workflow.specification and workflow.execution with tasks and files"
        ) from err
    if seconds <= 0:
        raise InputError(f"{path}: tasks of {program} take no time, expected running times above 0")
    return Bag(Path(path.name).stem.split(".")[0], None, seconds, sent, back, 1.0, count)


def _json(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(read_bytes(path))
    except InputError:
        raise
    except (ValueError, RecursionError) as err:
        raise InputError(f"{path}: is no JSON: {err}") from err
    if not isinstance(content, dict):
        raise InputError(f"{path}: is no JSON object, expected a WfCommons workflow")
    return content
