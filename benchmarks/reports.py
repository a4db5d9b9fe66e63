"""What a page of a campaign costs: time, size, and how soon it answers in a browser.

    python benchmarks/reports.py                     (about five minutes, on an idle machine)
    python benchmarks/reports.py --only browser

The part `browser` needs the extra `browser` and a Chromium; without them it states it in its row.
"""

from __future__ import annotations

import hashlib
import json
import random
import resource
import shutil
import sqlite3
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench import Benchmark, Row, Summary, Target, parse, parser
from campaigning import bags, command_line, in_folder, in_parts, start

from optsched.experiments.store import Store

METHODS = {
    "cells": "bags of tasks, 4 policies, 5 replications; `optsched report`, start included",
    "grown": "the same cells a hundred times: other seeds, ratios up to a tenth nearer to 1",
    "browser": "the page of `cells` in headless Chromium, its processor four times slower: time "
    "until the script has run, and until a table of all policies is sorted after a click",
}
POLICIES = ("fifo", "local-share", "adaptive", "naive")
CELLS = 20  # per instance: policies x replications
TIMES = 100
SLOWER = 4
WIDTHS = (360, 768, 1280)
PATIENCE = 600_000  # ms; a row states how long it took, so nothing is cut off before


def real(instances: int, folder: Path) -> Path:
    """Run a campaign of cheap cells and return its store."""
    start(bags(instances, *POLICIES, replications=5), folder, workers=2).wait()
    return folder / "store"


def grow(path: Path, times: int) -> None:
    """Make a store ``times`` as large: every instance again, with other seeds and other ratios.

    The first ones stay as they are, and remain the worst.
    """
    db = sqlite3.connect(path)
    instances = db.execute("SELECT id, key, source, seed, digest FROM instance").fetchall()
    cells = db.execute("SELECT * FROM cell").fetchall()
    optima = {row[0]: row for row in db.execute("SELECT * FROM optimum")}
    seeds = 1 + max(row[3] for row in instances)
    numbers = 1 + max(row[0] for row in instances)
    plan = json.loads(db.execute("SELECT value FROM fact WHERE name = 'plan'").fetchone()[0])
    plan["instances"][0]["seeds"] = list(range(seeds * times))
    facts = {"plan": json.dumps(plan), "cells": str(len(cells) * times)}
    db.executemany("UPDATE fact SET value = ? WHERE name = ?", [(v, k) for k, v in facts.items()])
    for k in range(1, times):
        made = [
            (number + k * numbers, _other(key, k), source, seed + k * seeds, _longer(digest, k))
            for number, key, source, seed, digest in instances
        ]
        db.executemany("INSERT INTO instance VALUES (?, ?, ?, ?, ?)", made)
        again = [(_longer(digest, k), *row[1:]) for digest, row in optima.items()]
        db.executemany(f"INSERT INTO optimum VALUES ({','.join('?' * 14)})", again)
        rows = _nearer(cells, k, numbers)
        db.executemany(f"INSERT INTO cell VALUES ({','.join('?' * 16)})", rows)
    db.commit()
    db.close()


def _other(key: bytes, k: int) -> bytes:
    return hashlib.sha256(key + str(k).encode()).digest()[:16]


def _longer(digest: bytes, k: int) -> bytes:
    return hashlib.sha256(digest + str(k).encode()).digest()


def _nearer(cells: Sequence[Any], k: int, numbers: int) -> Iterator[tuple[Any, ...]]:
    """Yield the cells of a copy, with ratios that are nearer to 1 by a random share."""
    drawn = random.Random(k)
    for key, instance, *rest in cells:
        low, high = rest[7], rest[8]
        share = 1 - 0.1 * drawn.random()
        if low is not None and high is not None:
            rest[7], rest[8] = 1 + (low - 1) * share, 1 + (high - 1) * share
        yield (_other(key, k), instance + k * numbers, *rest)


def build(store: Path, page: Path) -> Row:
    """Write the page of a store by the command line; return what that took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = command_line("report", store.name, "-o", page.name, "-q", folder=store.parent)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(done.stderr)
    with Store.open(store) as opened:
        ((cells,),) = opened.rows("SELECT count(*) FROM cell")
    return {
        "cells": cells,
        "seconds": seconds,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "megabytes": page.stat().st_size / 1e6,
        "memory_gb": after.ru_maxrss / 1e6,
    }


def cells_part(cell: Row, folder: Path) -> Row:
    """Write the page of a campaign."""
    return build(real(cell["instances"], folder), folder / "page.html")


def grown(cell: Row, folder: Path) -> Row:
    """Write the page of a campaign that is a hundred times as large."""
    store = real(cell["instances"], folder)
    grow(store, TIMES)
    return build(store, folder / "page.html")


def browser(cell: Row, folder: Path) -> Row:
    """Open the page in a slow browser; note requests, complaints, and what is too wide."""
    page = folder / "page.html"
    found = build(real(cell["instances"], folder), page)
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {"cells": found["cells"], "missing": "playwright"}
    if program is None:
        return {"cells": found["cells"], "missing": "chromium"}
    noted: list[str] = []
    wide: list[int] = []
    with sync_playwright() as made:
        opened = made.chromium.launch(
            executable_path=program, args=["--no-sandbox"], timeout=PATIENCE
        )
        times = []
        for _ in range(3):
            tab = opened.new_page()
            tab.set_default_timeout(PATIENCE)
            tab.on("request", lambda r: noted.append(r.url) if _leaves(r.url) else None)
            tab.on("console", lambda m: noted.append(m.text))
            tab.on("pageerror", lambda e: noted.append(str(e)))
            slow = tab.context.new_cdp_session(tab)
            slow.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
            began = time.perf_counter()
            tab.goto(page.as_uri())
            tab.locator("html[data-ready]").wait_for()
            ready = time.perf_counter() - began
            tab.locator("table[data-name=means] th button").first.click()
            tab.locator("table[data-name=means] th[aria-sort]").wait_for()
            times.append((ready, time.perf_counter() - began))
            for width in WIDTHS:
                tab.set_viewport_size({"width": width, "height": 800})
                if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    wide.append(width)
            tab.close()
        version = opened.version
        opened.close()
    ready, sorted_ = sorted(times)[1]
    return {
        "cells": found["cells"],
        "ready": ready,
        "sorted": sorted_,
        "noted": noted,
        "wide": wide,
        "browser": version,
    }


def _leaves(url: str) -> bool:
    return not url.startswith(("file:", "data:"))


PARTS: dict[str, Callable[[Row, Path], Row]] = {
    "cells": cells_part,
    "grown": grown,
    "browser": browser,
}


def cells(options: Namespace) -> list[Row]:
    """Return the cells of the parts that are requested."""
    one = [{"instances": options.seeds}]
    return in_parts(dict.fromkeys(PARTS, one), options.only)


def summarize(rows: list[Row]) -> Summary:
    """Return a line per row, and what was requested."""
    by = {part: [row for row in rows if row["part"] == part] for part in PARTS}
    targets = []
    for row in by["cells"]:
        targets.append(Target(f"{row['cells']} cells: built", "s", row["seconds"], 15, 5))
        targets.append(Target(f"{row['cells']} cells: page", "MB", row["megabytes"], 5, 3))
    for row in by["grown"]:
        targets.append(Target(f"{row['cells']} cells: built", "s", row["seconds"], 60))
        for small in by["cells"]:
            larger = row["megabytes"] / small["megabytes"]
            targets.append(Target("page of a hundred times the cells", "times", larger, 1.1))
    for row in by["browser"]:
        if "missing" not in row:
            targets.append(Target("answers, processor 4 times slower", "s", row["sorted"], 3))
            flaws = len(row["noted"]) + len(row["wide"])
            targets.append(Target("requests, complaints, widths that scroll", "", flaws, 0))
    lines = [[part, row["cells"], _times(row)] for part, mine in by.items() for row in mine]
    return Summary(("part", "cells", "found"), lines, targets)


def _times(row: Row) -> str:
    """Return what was found, in a phrase."""
    if "missing" in row:
        return f"not measured: there is no {row['missing']}"
    if row["part"] == "browser":
        text = f"ready after {row['ready']:.2f} s, sorted after {row['sorted']:.2f} s"
        return f"{text}, Chromium {row['browser']}"
    return (
        f"{row['seconds']:.1f} s, {row['cpu']:.1f} s of CPU, {row['megabytes']:.2f} MB, "
        f"{row['memory_gb']:.2f} GB of memory"
    )


BENCHMARK = Benchmark(
    name="reports",
    title="What a page costs",
    question="How long does it take to write the page of a campaign, and how soon does it answer?",
    methods=METHODS,
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=500)
    p.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    options = parse(p, __file__, argv)
    measure = partial(in_folder, PARTS)
    return BENCHMARK.run(
        cells(options), measure, options, lambda row: row["part"] not in options.only
    )


if __name__ == "__main__":
    main()
