"""Two checkers, one in Python and one in JavaScript: how often they agree.

    python benchmarks/checkers.py        (about 30 minutes; needs Node, and Chromium for its row)

Damaged: results of all families that both know, in which one thing was changed (schedules,
certificates, values and bounds, digests, instances that get their new digest). Both must accept the
same files and prove the same bounds. Library: the same question of all its entries; where the first
checker gives up a knapsack and proves less, it is requested again without that limit. 100 jobs:
what the second checker takes for a certificate of that size.

`--kinds library` (damaged, Node, Chromium) measures one part and leaves the others as they are.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench import Benchmark, Row, Summary, Target, parse, parser

from optsched.core import solve
from optsched.library.packs import Library
from optsched.pages.checker import save_checker
from optsched.problem import get_family
from optsched.proofs import knapsack
from optsched.results.result import save_result

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "helpers"))

import second_checker
from damages import damaged

EFFORT = 3000
LARGE: dict[str, tuple[str, str, dict[str, Any]]] = {  # preset, method, options
    "oasis": ("paper", "auto", {"jobs": 100}),
    "dmlrs": ("paper", "colgen", {"jobs": 100}),
    "completion": ("paper", "colgen", {"jobs": 100}),
    "bipartite": ("paper", "auto", {"slots": 100}),
    "bot": ("heterogeneous", "interior", {"nodes": 100, "applications": 10}),
}
FAMILIES = list(second_checker.RESULTS)
ENDLESS = 1 << 40  # nodes of a knapsack
LIBRARY = Library(Path(__file__).parent / "instances")
BROWSERS = ("chromium", "chromium-browser")
COMPARED = {
    "damaged": "whole and damaged files of which both agree",
    "library": "entries of the library of which both agree",
}
MOST_SECONDS, WANTED_SECONDS = 20.0, 8.0


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=1)
    p.add_argument("--families", nargs="+", default=FAMILIES, choices=FAMILIES)
    p.add_argument("--files", type=int, default=2000, help="damaged files over all families")
    p.add_argument("--kinds", nargs="+", default=list(MEASURES), choices=list(MEASURES))
    options = parse(p, __file__, argv)
    return BENCHMARK.run(
        list(cells(options)), measure, options, lambda row: row["kind"] not in options.kinds
    )


def cells(options: Namespace) -> Iterator[Row]:
    """Yield every result that is damaged, and every large one."""
    for family in options.families:
        results = len(second_checker.RESULTS[family])
        each = -(-options.files // (len(options.families) * results))
        for seed in range(options.seeds if "damaged" in options.kinds else 0):
            for k in range(results):
                row = {"family": family, "kind": "damaged", "result": k, "seed": seed}
                yield row | {"files": each}
        for pack in LIBRARY.packs if "library" in options.kinds else ():
            if pack.family == family:
                yield {"family": family, "kind": "library", "pack": pack.kind}
        for kind in ("Node", "Chromium"):
            if kind in options.kinds and (kind == "Node" or _browser() is not None):
                yield {"family": family, "kind": kind}


def measure(cell: Row) -> Row:
    """Have both checkers look at damaged files, or time the second one."""
    with tempfile.TemporaryDirectory() as name:
        return MEASURES[cell["kind"]](cell, Path(name))


def agreement(cell: Row, folder: Path) -> Row:
    """Damage one result again and again, and ask both checkers."""
    (path,) = second_checker.solved(cell["family"], folder, [cell["result"]])
    made = damaged(path, folder, cell["files"], 1000 + cell["seed"])
    files = [path, *(file for file, _ in made)]
    theirs = second_checker.answers(files, folder)
    found = second_checker.differences(files, theirs)
    accepted = sum(all(part["accepted"] for part in theirs[str(file)]) for file in files)
    return {"asked": len(files), "accepted": accepted, "differences": found}


def library(cell: Row, folder: Path) -> Row:
    """Ask both checkers about all entries of a pack."""
    pack = next(p for p in LIBRARY.packs if (p.family, p.kind) == (cell["family"], cell["pack"]))
    files = []
    for name, text in pack.lines():
        files.append(folder / f"{name}.json")
        files[-1].write_bytes(text)
    theirs = second_checker.answers(files, folder)
    found = second_checker.differences(files, theirs)
    accepted = sum(all(part["accepted"] for part in theirs[str(file)]) for file in files)
    row = {"asked": len(files), "accepted": accepted, "differences": found}
    if found:  # the first gives up a knapsack after this many nodes, and proves a little less
        doubtful = [f for f in files if any(text.startswith(f"{f}: ") for text in found)]
        left = _with_patience(doubtful, theirs)
        row |= {"differences": left, "given_up": len(found) - len(left)}
    return row


def _with_patience(files: Sequence[Path], theirs: Any) -> list[str]:
    """Return where they differ if the first gives up no knapsack."""
    nodes, knapsack.NODES = knapsack.NODES, ENDLESS
    try:
        return second_checker.differences(files, theirs)
    finally:
        knapsack.NODES = nodes


def _large(cell: Row, folder: Path) -> Path:
    preset, method, options = LARGE[cell["family"]]
    instance = get_family(cell["family"]).generate(preset, seed=1, **options)
    save_result(folder / "large.json", instance, solve(instance, method=method, work_limit=EFFORT))
    return folder / "large.json"


def in_node(cell: Row, folder: Path) -> Row:
    """Return the processor time of Node for a large result."""
    path = _large(cell, folder)
    before = os.times()
    (part,) = second_checker.answers([path], folder)[str(path)]
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    return {"seconds": spent, "accepted": part["accepted"], "bytes": path.stat().st_size}


def in_browser(cell: Row, folder: Path) -> Row:
    """Return how long the page takes on the clock, from the file to what it states."""
    from playwright.sync_api import sync_playwright  # an extra

    path = _large(cell, folder)
    with sync_playwright() as made:
        browser = made.chromium.launch(executable_path=_browser(), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(save_checker(folder / "checker.html").as_uri())
        began = time.perf_counter()
        page.set_input_files("#files", path)
        page.locator("html[data-checked]").wait_for(timeout=600_000)
        seconds = time.perf_counter() - began
        verdicts = page.locator(".verdict").all_inner_texts()
        browser.close()
    accepted = all(text.endswith("accepted") for text in verdicts)
    return {"seconds": seconds, "accepted": accepted, "bytes": path.stat().st_size}


def _browser() -> str | None:
    try:
        import playwright  # noqa: F401
    except ImportError:
        return None
    return next(filter(None, map(shutil.which, BROWSERS)), None)


MEASURES = {"damaged": agreement, "library": library, "Node": in_node, "Chromium": in_browser}


def summarize(rows: list[Row]) -> Summary:
    """Tell how often the checkers agree, and how long the second one takes."""
    lines: list[list[Any]] = []
    seconds: dict[str, list[float]] = {"Node": [], "Chromium": []}
    checked = dict.fromkeys(COMPARED, 0)
    wrong, refused, weaker = dict(checked), 0, 0
    for family in dict.fromkeys(row["family"] for row in rows):
        mine = [row for row in rows if row["family"] == family]
        line: list[Any] = [family]
        for kind in COMPARED:
            looked = [row for row in mine if row["kind"] == kind]
            files, differ = (
                sum(row["asked"] for row in looked),
                sum(len(row["differences"]) for row in looked),
            )
            accepted = sum(row["accepted"] for row in looked)
            checked[kind], wrong[kind] = checked[kind] + files, wrong[kind] + differ
            line += [files, accepted, differ]
            weaker += sum(row.get("given_up", 0) for row in looked)
        for kind, known in seconds.items():
            large = [row for row in mine if row["kind"] == kind]
            known += [row["seconds"] for row in large]
            refused += sum(not row["accepted"] for row in large)
            line.append(max((row["seconds"] for row in large), default=None))
        lines.append(line)
    targets = [
        Target(what, "%", 1 - wrong[k] / checked[k] if checked[k] else None, 1.0, at_least=True)
        for k, what in COMPARED.items()
    ]
    for kind, found in seconds.items():
        slowest = max(found, default=None)
        what = f"a certificate of 100 jobs (or 100 nodes, or slots), {kind}, slowest family"
        targets.append(Target(what, "s", slowest, MOST_SECONDS, WANTED_SECONDS))
    columns = ["family", "files", "accepted", "differences"]
    columns += ["of the library", "accepted", "differences", "Node, s", "Chromium, s"]
    figures = {
        "large results that are refused": refused,
        "entries of the library where the first gives up a knapsack, and proves less": weaker,
    }
    return Summary(columns, lines, targets, figures)


BENCHMARK = Benchmark(
    name="checkers",
    title="Two checkers",
    question="Do two checkers in two languages, which share no code, accept the same files and "
    "prove the same bounds? The second was written from the documentation: `oasis` and the "
    "program over time of `completion` before the first was read, the rest with it at hand, or "
    "(`dmlrs`) from a page whose author had it at hand.",
    methods={
        "Python": "`optsched verify`",
        "JavaScript": "`optsched checker`, in Node and in Chromium",
    },
    summarize=summarize,
)

if __name__ == "__main__":
    main()
