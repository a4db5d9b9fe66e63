"""How long it takes to verify the whole library, on two cores and without a solver.

    python benchmarks/library.py        (about 5 minutes)
    python benchmarks/library.py --tables

`--tables` derives the tables of the library, and what docs/library.md states of it, from the packs
alone, before it is verified: after a new build.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from bench import Benchmark, Row, Summary, Target, parse, parser

from optsched.library.packs import Library
from optsched.library.page import update_page
from optsched.library.table import FILE, write_table
from optsched.library.verify import verify

FOLDER = Path(__file__).parent / "instances"
MEGABYTE = 1e6
MOST_SECONDS, WANTED_SECONDS, MOST_MEGABYTES = 900.0, 480.0, 30.0
LEAST_SMALL, LEAST_TRACES = 2000, 0.2


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=1)
    p.add_argument("--library", type=Path, default=FOLDER)
    p.add_argument("--tables", action="store_true", help="derive the tables from the packs")
    p.add_argument("--workers", type=int, default=2)
    options = parse(p, __file__, argv)
    if options.tables:
        derive_tables(Library(options.library), options.workers)
    return BENCHMARK.run(list(cells(options)), lambda cell: measure(cell, options), options)


def derive_tables(library: Library, workers: int) -> None:
    """Write all tables and the page."""
    found = verify(library, workers=workers, tables=False, callback=print)
    for name, wrong in found.damaged.items():
        print(f"{name}: {wrong[0]}")
    if found.damaged:
        raise SystemExit("some entries are damaged; no table is written")
    for family in library.families:
        mine = [row for row in found.rows if row["name"].startswith(f"{family}-")]
        write_table(library, family, mine)
    update_page(library)


def cells(options: Namespace) -> list[Row]:
    """Return a cell per family."""
    families = Library(options.library).families
    return [{"family": family, "workers": options.workers} for family in families]


def measure(cell: Row, options: Namespace) -> Row:
    """Verify the entries of a family."""
    library = Library(options.library)
    began = time.perf_counter()
    found = verify(library, families=(cell["family"],), workers=cell["workers"])
    seconds = time.perf_counter() - began
    sizes = {(row["size"], row["origin"]): 0 for row in found.rows}
    for row in found.rows:
        sizes[row["size"], row["origin"]] += 1
    files = [p.path for p in library.packs if p.family == cell["family"]]
    files.append(library.folder / cell["family"] / FILE)
    return {
        "seconds": seconds,
        "entries": found.read,
        "damaged": found.damaged,
        "status": found.by_status(),
        "small": sum(n for (size, _), n in sizes.items() if size == "small"),
        "closed": sum(r["size"] == "small" and r["status"] == "easy" for r in found.rows),
        "traces": sum(n for (_, origin), n in sizes.items() if origin == "traces"),
        "bytes": sum(path.stat().st_size for path in files),
    }


def summarize(rows: list[Row]) -> Summary:
    """Tell how long it takes, and what there is."""
    lines = [
        [
            row["family"],
            row["entries"],
            row["closed"],
            row["traces"],
            *(row["status"].get(status, 0) for status in ("easy", "hard", "open")),
            len(row["damaged"]),
            round(row["bytes"] / MEGABYTE, 2),
            round(row["seconds"], 1),
        ]
        for row in rows
    ]
    entries = sum(row["entries"] for row in rows)
    share = min((row["traces"] / row["entries"] for row in rows), default=None)
    seconds = sum(row["seconds"] for row in rows) if rows else None
    fewest = min((row["closed"] for row in rows), default=None)
    size = sum(row["bytes"] for row in rows) / MEGABYTE if rows else None
    damaged = sum(len(row["damaged"]) for row in rows) if rows else None
    targets = [
        Target(
            "verify all entries, 2 cores, no solver", "s", seconds, MOST_SECONDS, WANTED_SECONDS
        ),
        Target("entries that are damaged", "", damaged, 0),
        Target("small and closed, fewest of a family", "", fewest, LEAST_SMALL, at_least=True),
        Target("from real traces, least share", "%", share, LEAST_TRACES, at_least=True),
        Target("packs and tables, MB", "MB", size, MOST_MEGABYTES),
    ]
    columns = ["family", "entries", "small and closed", "from traces", "easy", "hard", "open"]
    columns += ["damaged", "MB", "s"]
    return Summary(columns, lines, targets, {"entries": entries})


BENCHMARK = Benchmark(
    name="library",
    title="The library",
    question="How long does it take to verify the whole library: to judge every schedule and to "
    "re-evaluate every certificate, on two cores and without a solver?",
    methods={"verify": "`optsched library verify`, two processes"},
    summarize=summarize,
)

if __name__ == "__main__":
    main()
