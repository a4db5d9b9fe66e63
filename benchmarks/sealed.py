"""What a seal costs: events of a policy in a process of its own, versus the same in this one.

python benchmarks/sealed.py        (about a minute, on an idle machine)
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from itertools import pairwise

from bench import Benchmark, Row, Summary, Target, parse, parser

from optsched import get_family, simulate

POLICIES = (
    ("oasis", "fifo"),
    ("dmlrs", "fifo"),
    ("dmlrs", "drf"),
    ("completion", "fifo"),
    ("bipartite", "drf"),
)
REPEATS = 7


def measure(cell: Row) -> Row:
    """Play a policy open and sealed, in turns; take the median of each event, then of all."""
    family = get_family(cell["family"])
    instance = family.generate(cell["preset"], seed=cell["seed"])
    times: dict[bool, list[list[float]]] = {False: [], True: []}
    for sealed in (False, True) * (REPEATS + 1):
        at: list[float] = []
        simulate(
            instance,
            cell["policy"],
            sandbox=sealed,
            progress=lambda _done, at=at: at.append(time.perf_counter()),
        )
        times[sealed].append([b - a for a, b in pairwise(at)])
    events = {
        sealed: [statistics.median(each) for each in zip(*runs[1:], strict=True)]
        for sealed, runs in times.items()
    }
    extra = [s - o for s, o in zip(events[True], events[False], strict=True)]
    return {
        "events": len(extra) + 1,
        "open_ms": 1e3 * statistics.median(events[False]),
        "sealed_ms": 1e3 * statistics.median(events[True]),
        "extra_ms": 1e3 * statistics.median(extra),
        "mean_extra_ms": 1e3 * statistics.fmean(extra),
    }


def summarize(rows: list[Row]) -> Summary:
    """Return a line per policy; the figure is the dearest."""
    names = ("open_ms", "sealed_ms", "extra_ms", "mean_extra_ms")
    lines = [
        [r["family"], r["policy"], r["preset"], r["events"], *(f"{r[n]:.2f}" for n in names)]
        for r in rows
    ]
    dearest = max(r["extra_ms"] for r in rows)
    target = Target("a sealed event over an open one, median", "ms", dearest, must=0.5)
    columns = ("family", "policy", "preset", "events", "open, ms", "sealed, ms", "more", "mean")
    return Summary(columns, lines, (target,))


BENCHMARK = Benchmark(
    name="sealed",
    title="Policies in a sandbox",
    question="What does it cost to keep a policy in a process of its own?",
    methods={
        "open": "`simulate(instance, policy)`: from event to event, the median of seven runs",
        "sealed": "the same with `sandbox=True`, in turns with the open runs",
        "more": "the difference: its median, and its mean over all events but the first; the mean "
        "holds the loading of kernels in the policy's process",
    },
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    options = parse(parser(__doc__), __file__, argv)
    cells = [
        {"family": f, "policy": p, "preset": get_family(f).presets[0], "seed": 0}
        for f, p in POLICIES
    ]
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
