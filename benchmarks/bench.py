"""What the benchmarks share: rows that survive an interruption, targets, tables.

A benchmark is a campaign of calls: cells (settings of one measurement each) and a function that
measures one. Its file is written after every cell. Started again, an unfinished benchmark takes up
the cells that it finds there, if they were measured with the same code, versions and machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from render import markdown, number

import optsched
from optsched.experiments.map_cells import Row, call_all, stored_rows
from optsched.files.atomic_io import write_whole
from optsched.files.format import plain
from optsched.files.provenance import all_versions, machine
from optsched.problem import InputError
from optsched.process import interrupts

RESULTS = Path(__file__).parent / "results"

SIZES = ("jobs", "slots", "machines")


@dataclass(frozen=True)
class Target:
    """A figure that was requested: ``must`` is required, ``aim`` is wanted, None if not set.

    ``measured`` is None while nothing was measured, and then nothing is met.
    """

    what: str
    unit: str
    measured: float | None
    must: float | None = None
    aim: float | None = None
    at_least: bool = False  # the figure must be at least, not at most, as large

    def meets(self, goal: float | None) -> bool | None:
        """Whether the figure reaches ``goal``; None if there is no goal."""
        if goal is None:
            return None
        if self.measured is None or math.isnan(self.measured):
            return False
        return self.measured >= goal if self.at_least else self.measured <= goal

    def content(self) -> dict[str, Any]:
        """Return the target as it is stored."""
        return asdict(self) | {"met_must": self.meets(self.must), "met_aim": self.meets(self.aim)}


@dataclass(frozen=True)
class Summary:
    """What the rows state together."""

    columns: Sequence[str]
    lines: Sequence[Sequence[Any]]  # of the table
    targets: Sequence[Target] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)  # what the table does not show


@dataclass(frozen=True)
class Benchmark:
    """A question, how it is answered, and what the rows state.

    ``methods`` tells for every method of a comparison its model and options.
    """

    name: str
    title: str
    question: str
    methods: Mapping[str, str]
    summarize: Callable[[list[Row]], Summary]

    @interrupts.remembered()
    def run(
        self,
        cells: Sequence[Row],
        measure: Callable[[Row], Row],
        options: Namespace,
        keep: Callable[[Row], bool] = lambda _row: False,
        *,
        processes: int = 1,
    ) -> Row:
        """Measure the cells that are not stored yet; return what is stored at the end.

        Parameters
        ----------
        cells : sequence of dict
            Settings of one measurement each, as JSON has them.
        measure : callable
            Returns the figures of a cell.
        options : Namespace
            Of `parser`.
        keep : callable
            Stored rows that are not among the cells, and stay.
        processes : int
            How many cells are measured at a time; above 1, ``measure`` is a function of a module.
        """
        path = options.results / f"{self.name}.json"
        earlier = _read(path)
        kept = [row for row in earlier.get("rows", ()) if keep(row)]
        usable = _usable(earlier, resume=options.resume)

        rows = stored_rows(cells, usable)
        if any(rows):
            print(f"{path.name}: goes on after {sum(map(bool, rows))} of {len(cells)}", flush=True)

        def keep_row(k: int, row: Row) -> None:
            rows[k] = row | {"code": code(), "command": options.command}
            self._store(path, [*kept, *filter(None, rows)], len(kept) + len(cells))
            print(f"{k + 1} of {len(cells)}: {_brief(rows[k])}", flush=True)

        todo = {k: cells[k] for k, row in enumerate(rows) if row is None}
        call_all(measure, todo, keep=keep_row, workers=processes)
        done = [*kept, *filter(None, rows)]
        content = self._store(path, done, len(done))
        print(f"\n{markdown(content)}\n{path.name} is stored in {path.parent}", flush=True)
        return content

    def _store(self, path: Path, rows: Sequence[Row], cells: int) -> Row:
        summary = self.summarize(list(rows))
        content = {
            "benchmark": self.name,
            "title": self.title,
            "question": self.question,
            "instances": _instances(rows, halves=self.name.startswith("oasis_")),
            "methods": dict(self.methods),
            "commands": list(dict.fromkeys(row["command"] for row in rows)),
            "machine": machine(),
            "versions": all_versions(),
            "complete": len(rows) == cells,
            "targets": [t.content() for t in summary.targets],
            "figures": dict(summary.figures),
            "table": {"columns": list(summary.columns), "lines": [list(x) for x in summary.lines]},
            "rows": list(rows),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(plain(content), indent=1, allow_nan=False) + "\n")
        return content


def parser(description: str | None, *, seeds: int = 10, **limits: float) -> ArgumentParser:
    """Return a parser with the options that all benchmarks have; ``limits`` are defaults, s."""
    p = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument(
        "--seeds", type=int, default=seeds, help=f"instances per setting (default {seeds})"
    )
    for name, seconds in limits.items():
        option = "--" + name.replace("_", "-")
        p.add_argument(option, type=float, default=seconds, help=f"seconds (default {seconds:g})")
    p.add_argument(
        "--resume",
        action="store_true",
        help="take up all cells that are stored, also of a finished benchmark or of other code",
    )
    p.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    return p


def add_sizes(p: ArgumentParser, *, jobs: int, slots: int, machines: int) -> None:
    """Add the options for the sizes of the instances."""
    p.add_argument("--presets", nargs="+", default=["paper", "earnable"])
    p.add_argument("--jobs", type=int, default=jobs)
    p.add_argument("--slots", type=int, default=slots)
    p.add_argument("--machines", type=int, default=machines, help="half of them for PS")


def sizes(source: Namespace | Row) -> dict[str, Any]:
    """Return the sizes of the instances, of options or of a cell."""
    known = source if isinstance(source, dict) else vars(source)
    return {name: known[name] for name in SIZES}


def parse(p: ArgumentParser, script: str, argv: Sequence[str] | None) -> Namespace:
    """Parse ``argv`` (default: of the process); keep the command without --resume, --results.

    Of files it keeps the names alone: where they are means nothing to others.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    options = p.parse_args(given)
    named, words = False, []
    for word in given:
        if not named and word != "--resume" and not word.startswith("--results"):
            words.append(Path(word).name if Path(word).is_absolute() else word)
        named = word == "--results"
    options.command = " ".join(["python", f"benchmarks/{Path(script).name}", *words])
    return options


@cache
def code() -> str:
    """Return a digest of the package and of the benchmarks, as they are now."""
    digest = hashlib.sha256()
    for folder in (Path(optsched.__file__).parent, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def watched(arguments: Sequence[str], folder: Path) -> Row:
    """Run `optsched` in a process of its own; return what it took, import included.

    What it states goes to ``folder``.

    Raises
    ------
    InputError
        It failed; the end of what it reported.
    """
    command = [sys.executable, "-m", "optsched", *arguments]
    with (folder / "output").open("w") as output:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise InputError(f"{' '.join(command)}: {(folder / 'output').read_text()[-500:]}")
    return {
        "cpu": usage.ru_utime + usage.ru_stime,
        "seconds": seconds,
        "megabytes": megabytes(usage),
    }


def megabytes(usage: resource.struct_rusage) -> float:
    """Return the most memory that a process has held."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes on macOS, KiB on Linux
    return usage.ru_maxrss * unit / 2**20


def _read(path: Path) -> Row:
    if not path.exists():
        return {}
    try:
        content: Row = json.loads(path.read_text())
    except ValueError as err:
        raise InputError(f"{path}: is no JSON: {err}; expected a result, or no file") from err
    return content


def _instances(rows: Sequence[Row], *, halves: bool) -> str:
    """Report how large the instances are; ``halves``: some machines host no workers."""
    listed = {name: sorted({row[name] for row in rows if name in row}) for name in SIZES}
    words = [f"{' / '.join(map(str, found))} {name}" for name, found in listed.items() if found]
    kinds = " (one half for workers, one for parameter servers)" if words and halves else ""
    return ", ".join(words) + kinds


def _usable(content: Row, *, resume: bool) -> list[Row]:
    """Return the stored rows that may be taken up."""
    if content.get("versions") != all_versions() or content.get("machine") != machine():
        return []
    rows: list[Row] = content["rows"]
    if resume:
        return rows
    return [] if content["complete"] else [row for row in rows if row["code"] == code()]


def _brief(row: Row | None) -> str:
    hidden = ("code", "command")
    shown = {k: v for k, v in (row or {}).items() if not isinstance(v, list) and k not in hidden}
    return ", ".join(f"{k} {number(v) if isinstance(v, float) else v}" for k, v in shown.items())


def par2(seconds: float | None, limit: float) -> float:
    """Return ``seconds``, or twice the limit if it was reached (or nothing was solved)."""
    return 2 * limit if seconds is None or seconds > limit else seconds


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean; nan of nothing."""
    return statistics.geometric_mean(values) if values else math.nan


def finite(gap: float | None) -> float | None:
    """Return a gap as it is stored: None where there is no value, no bound, or a value of 0."""
    return None if gap is None or math.isinf(gap) else gap


def median(values: Sequence[float]) -> float | None:
    """Return the median; None of nothing."""
    return statistics.median(values) if values else None
