"""The checker in JavaScript next to that in Python: what each states of the same files."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from altered import LINK, SCARCE, drawn
from damages import said

from optsched.core import solve
from optsched.pages.checker import save_checker
from optsched.problem import agree
from optsched.results.result import SAME, Recheck, save_result

NODE = shutil.which("node")
ROUNDED = {"bipartite"}  # families whose bounds are floats that are rounded outwards

Solved = tuple[str, int, str, int, dict[str, Any]]
RESULTS: dict[str, Sequence[Solved]] = {  # preset, seed, method, effort, options of the generator
    "oasis": (
        ("small", 1, "branch-and-price", 300, {}),
        ("paper", 2, "auto", 100, {"jobs": 10, "slots": 10, "machines": 8}),  # on capacity
        ("small", 5, "branch-and-price", 300, {}),
        ("small", 6, "relaxation", 300, {}),
        ("small", 2, "relaxation", 300, SCARCE),
    ),
    "dmlrs": (
        ("small", 3, "branch-and-price", 1000, {"jobs": 10, "slots": 10}),  # together
        ("small", 2, "branch-and-price", 300, {"jobs": 8, "machines": 2, "ratio": 2.0}),
        ("small", 1, "colgen", 300, {"jobs": 10, "machines": 2}),
        ("small", 2, "colgen", 300, {"jobs": 10, "machines": 2, **LINK}),
        ("small", 0, "auto", 5000, {}),  # a program over slots
        ("small", 4, "relaxation", 5000, {}),
        ("small", 4, "relaxation", 5000, LINK),
    ),
    "bot": (
        ("small", 1, "interior", 300, {}),
        ("small", 2, "simplex", 300, {"alpha": "inf"}),
        ("small", 3, "conic", 300, {"alpha": 0.5, "applications": 4}),
        ("small", 4, "simplex", 300, {"alpha": 0.0}),
        ("small", 5, "interior", 300, {"alpha": 2.5}),
    ),
    "bipartite": (
        ("small", 1, "auto", 500, {"slots": 12}),
        ("counts", 2, "auto", 500, {"slots": 8}),
        ("small", 3, "stationary", 500, {"slots": 12}),
        ("sum", 4, "auto", 500, {"slots": 12}),
        ("sum", 5, "stationary", 500, {"slots": 12}),
    ),
    "completion": (
        ("small", 1, "colgen", 200, {}),
        ("small", 2, "auto", 300, {"architecture": "ring"}),
        ("mid", 3, "colgen", 300, {"jobs": 4, "machines": 2}),
        ("mid", 1, "auto", 4000, {"jobs": 6, "machines": 2}),  # a program over time
        ("small", 3, "relaxation", 300, {}),
        ("small", 4, "relaxation", 300, {"architecture": "ring"}),
        ("small", 1, "relaxation", 300, SCARCE),
        ("mid", 1, "relaxation", 300, {"jobs": 3, "machines": 2, **SCARCE}),
    ),
    "rigid": (
        ("small", 1, "auto", 3000, {}),  # a tree over start times
        ("small", 2, "auto", 3000, {"objective": "slowdown"}),
        ("small", 3, "auto", 3000, {"objective": "makespan", "load": 2.0}),
        ("small", 4, "auto", 300, {"objective": "wait", "packed": True, "machines": 2}),
        ("lublin", 5, "auto", 300, {"jobs": 20}),
        ("lublin", 1, "auto", 1000, {"jobs": 20, "load": 0.9}),  # surcharges
        ("small", 6, "relaxation", 3000, {}),
    ),
}

ENDLESS = 300  # seconds; files take a hundredth of it


def solved(family: str, folder: Path, which: Sequence[int] | None = None) -> list[Path]:
    """Write results of a family (all of them), most of them open."""
    made = []
    for k in range(len(RESULTS[family])) if which is None else which:
        preset, seed, method, effort, options = RESULTS[family][k]
        instance = drawn(family, preset, seed, options)
        made.append(folder / f"{family}-{k}.json")
        save_result(made[-1], instance, solve(instance, method=method, work_limit=effort))
    return made


def answers(files: Sequence[Path], folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what the second checker states of files, all in one process."""
    assert NODE is not None
    program = save_checker(folder / "checker.js")
    found: dict[str, list[dict[str, Any]]] = {str(f): [] for f in files}
    for first in range(0, len(files), 500):
        ended = subprocess.run(
            [NODE, program, *files[first : first + 500]],
            capture_output=True,
            text=True,
            check=False,
            timeout=ENDLESS,
        )
        assert not ended.stderr, ended.stderr
        for line in ended.stdout.splitlines():
            part = json.loads(line)
            found[part["file"]].append(part)
    return found


def differences(files: Sequence[Path], other: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """Return in words where the two checkers disagree: nothing, if all is well."""
    found = []
    for path in files:
        mine, theirs = said(path), other[str(path)]
        assert theirs, f"{path}: no answer"
        found += [f"{path}: {part['what']}" for part in theirs if "failure" in part["what"]]
        if mine is None or len(mine) != len(theirs):  # one of them could not read the file
            if any(part["accepted"] for part in theirs) or any(
                part.accepted for part in mine or ()
            ):
                found.append(f"{path}: one of them accepts what the other cannot read")
            continue
        for one, part in zip(mine, theirs, strict=True):
            if not _same(one, part):
                found.append(f"{path}: {one!r} is not {part}")
    return found


def _same(one: Recheck, other: Mapping[str, Any]) -> bool:
    value, bound = (None if other[k] is None else float(other[k]) for k in ("value", "bound"))
    if one.accepted != other["accepted"]:
        return False
    exact = one.family not in ROUNDED
    return _near(one.value, value) and (one.bound == bound if exact else _near(one.bound, bound))


def _near(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else agree(one, other, SAME)
