"""Reproduction of a page: plans as text, and commands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from optsched.core import Run
from optsched.experiments.cell_keys import digest_of
from optsched.experiments.plan import Plan
from optsched.files.provenance import PACKAGES, SOLVERS
from optsched.pages.blocks import Code, FactList, Section
from optsched.problem import get_family, problem_in

LONGEST = 20_000  # characters of a plan that a page shows
COUNTED = {*PACKAGES, *SOLVERS}
VERSION = re.compile(r"\d[\w.+!-]*", re.ASCII)
RAW = re.compile(r"[A-Za-z0-9_-]+")


def plan_text(plan: Plan) -> str:
    """Return a plan file that is equivalent.

    >>> from optsched.experiments.plan import make_plan
    >>> plan = {"instances": [{"family": "bot", "seeds": [3, 4, 5]}], "reference": {"effort": 9.0}}
    >>> print(plan_text(make_plan(plan, Path())))
    reference = {effort = 9.0}
    <BLANKLINE>
    [[instances]]
    family = "bot"
    seeds = "3..5"
    """
    content = plan.model_dump(mode="json", exclude_defaults=True, exclude={"folder", "digests"})
    tables = {name: content.pop(name) for name in ("instances", "policies") if name in content}
    for block in tables["instances"]:
        block["family"] = problem_in(block["family"]) or block["family"]
        if "seeds" in block:
            block["seeds"] = _seeds(block["seeds"])
    for block in tables.get("policies", ()):
        if block.get("family"):
            block["family"] = problem_in(block["family"]) or block["family"]
    parts = ["\n".join(_lines(content))] if content else []
    for name, blocks in tables.items():
        parts += ["\n".join([f"[[{name}]]", *_lines(block)]) for block in blocks]
    return "\n\n".join(parts)


def _seeds(seeds: list[int]) -> Any:
    if seeds == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]}..{seeds[-1]}"
    return seeds


def _lines(content: Mapping[str, Any]) -> list[str]:
    known = [(k, v) for k, v in content.items() if v is not None]
    return [f"{k if RAW.fullmatch(k) else _value(k)} = {_value(v)}" for k, v in known]


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(_lines(value))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")


def of_page(path: Path) -> Code:
    """Return what to type to make the page of a file again."""
    return Code("This page:", f"optsched report {shlex.quote(path.name)} -o report.html")


def closing(path: Path, facts: Iterable[tuple[str, str]], *more: Code) -> list[Section]:
    """Return the last sections of the page of a file: facts about it, and how to repeat it."""
    known = [("file", f"{path.name}, SHA-256 {digest_of(path)}"), *facts]
    return [
        Section("Provenance", [FactList("provenance", known)]),
        Section("How to repeat it", [*more, of_page(path)]),
    ]


def of_whatif(command: str) -> list[Code]:
    """Return the command that a what-if states, quoted anew; none if it runs anything else."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    if words[:2] != ["optsched", "whatif"] or any("exec:" in word for word in words):
        return []
    return [Code("It was made by, as the file states; not checked:", shlex.join(words))]


def of_campaign(store: Path, plan: Plan, versions: Mapping[str, str]) -> list[Code]:
    """Return what to type to compute a campaign again, to go on with it, and to look closer."""
    name, text = shlex.quote(store.name), plan_text(plan)
    toml = shlex.quote(f"{store.stem}.toml")
    trusted = " --trust" if plan.code() else ""
    made = " --trust" if plan.code(policies=False) else ""
    found = [Code("With the same versions:", install(versions))]
    if len(text) <= LONGEST:
        found.append(Code(f"and this plan in the file {store.stem}.toml:", text))
        found.append(Code("compute all cells again:", f"optsched campaign run {toml}{trusted}"))
    return [
        *found,
        Code(
            "Go on with the store, or see that nothing is missing:",
            f"optsched campaign resume {name}{trusted}",
        ),
        Code(
            "All cells, and the instance on which each policy is worst:",
            f"optsched campaign export {name} --csv cells.csv --worst worst{made}",
        ),
        of_page(store),
    ]


def install(versions: Mapping[str, str]) -> str:
    """Return the command that installs versions of the packages that count."""
    known = {n: v for n, v in versions.items() if n in COUNTED and VERSION.fullmatch(v)}
    packages = [f"{n}=={v}" for n, v in known.items()]
    return " ".join(["python -m pip install", *map(shlex.quote, packages)])


def of_result(file: Path, method: str, seed: int | None, runs: list[Run]) -> list[Code]:
    """Return what to type to check a result, and to compute it again."""
    name = file.name
    check = shlex.join(["optsched", "verify", name])
    found = [Code("Check value and bound again, in exact arithmetic:", check)]
    if runs:
        outside = [r.policy for r in runs if r.policy not in get_family(r.family).policies]
        named = [f"FILE.py:{r.policy}" if r.policy in outside else r.policy for r in runs]
        words = ["optsched", "ratio", name]
        words += [word for policy in named for word in ("--policy", policy)]
        how = ["--seed", str(seed), *["--sandbox"] * all(run.sealed for run in runs)]
        where = f" (FILE.py: the file of {', '.join(outside)}; or MODULE:CLASS, exec:COMMAND)"
        again = f"Run the policies again{where * bool(outside)}, next to the optimum of the file:"
        found.append(Code(again, shlex.join([*words, "--optimum", name, *how])))
        anew = shlex.join([*words, "--method", method, *how, "--no-cache"])
        found.append(Code("Look for the optimum anew as well:", anew))
    else:
        anew = shlex.join(["optsched", "solve", name, "--method", method])
        found.append(Code("Look for the optimum anew:", anew))
    return found
