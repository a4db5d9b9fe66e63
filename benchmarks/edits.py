"""Edited stores, results and packs: whether all commands that read them answer in time.

    python benchmarks/edits.py                       (2000 edits, about an hour)
    python benchmarks/edits.py --edits 300 --kinds store

Rows, types, tables, views, triggers, texts and bytes of stores of campaigns; values, words, names
and bytes of results; entries, tables and the compression of packs. Every edited file is read by all
commands that take one, each in a process of its own. What is counted: tracebacks, more than a line
next to exit status 2, and answers that take more than ten seconds. Needs a system with `fork`.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from bench import Benchmark, Row, Summary, Target, parse, parser

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "helpers"))

from edits_of_files import KINDS, attack, good_files

AT_ONCE = 25  # edits of a row


def cells(options: Namespace) -> list[Row]:
    """Return the edits, some of one kind in a row."""
    each = -(-options.edits // len(options.kinds))
    return [
        {"kind": kind, "first": first, "edits": min(AT_ONCE, each - first)}
        for kind in options.kinds
        for first in range(0, each, AT_ONCE)
    ]


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="optsched-edits-")


@cache
def _good() -> dict[str, Path]:
    return good_files(Path(_folder().name) / "good")


def measure(cell: Row) -> Row:
    """Make some edits, and read what came of them."""
    place = Path(_folder().name) / "edited"
    seeds = range(cell["first"], cell["first"] + cell["edits"])
    return {"wrong": [text for k in seeds for text in attack(cell["kind"], _good(), place, k)]}


def summarize(rows: list[Row]) -> Summary:
    """Count edits and what went wrong, by kind."""
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        mine = [row for row in rows if row["kind"] == kind]
        edits, wrong = (sum(row["edits"] for row in mine), sum(len(row["wrong"]) for row in mine))
        lines.append([kind, edits, wrong])
    bad = sum(line[2] for line in lines)
    what = "edits of stores, results, packs: tracebacks, or more than 10 s"
    made = Target("edits", "", sum(line[1] for line in lines), must=2000, at_least=True)
    return Summary(("kind", "edits", "wrong"), lines, [Target(what, "", bad, must=0), made])


BENCHMARK = Benchmark(
    name="edits",
    title="Edited files",
    question="A store, a result or a pack has been edited: does every command that reads it answer "
    "in a line, within ten seconds?",
    methods={
        "store": "`campaign status`, `export`, `verify`, `merge`, `resume`; `report`",
        "result": "`verify`, `show`, `report`, `ratio --optimum`",
        "pack": "`library list`, `get`, `verify`, `submit`",
    },
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=1)
    p.add_argument("--edits", type=int, default=2000)
    p.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options = parse(p, __file__, argv)
    return BENCHMARK.run(
        cells(options), measure, options, lambda row: row["kind"] not in options.kinds
    )


if __name__ == "__main__":
    main()
