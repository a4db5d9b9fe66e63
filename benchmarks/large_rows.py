"""What `large.py` measures, and what is requested."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import traces
from bench import Row

from optsched.problem import get_family

SEED = 1  # of what is drawn once
OASIS = {"jobs": 10_000, "slots": 500, "machines": 1000}
LOADED = {"jobs": 1000, "slots": 500, "load": 1.0}


@dataclass(frozen=True)
class Goals:
    """What must be reached for a row, and what is wanted."""

    must: float | None
    aim: float | None


RUNS: Mapping[str, tuple[Row, Goals]] = {
    "OASiS": ({"family": "oasis", "preset": "paper", "policy": "oasis"} | OASIS, Goals(60, 20)),
    "PD-ORS": (
        {"family": "dmlrs", "preset": "contended", "policy": "pd-ors"} | OASIS,
        Goals(180, 60),
    ),
    "A_online": (
        {"family": "completion", "preset": "paper", "policy": "a_online"}
        | {"jobs": 5000, "machines": 500},
        Goals(180, 60),
    ),
}
GAPS: Mapping[str, tuple[Row, Goals]] = {
    "oasis, paper": ({"family": "oasis", "preset": "paper"} | OASIS, Goals(0.08, 0.04)),
    "oasis, earnable": ({"family": "oasis", "preset": "earnable"} | OASIS, Goals(0.15, 0.08)),
    "dmlrs, contended": ({"family": "dmlrs", "preset": "contended"} | OASIS, Goals(0.05, 0.02)),
    "completion, 500 jobs": (
        {"family": "completion", "preset": "paper", "jobs": 500, "machines": 50},
        Goals(0.25, 0.15),
    ),
    "completion, 5000 jobs": (
        {"family": "completion", "preset": "paper", "jobs": 5000, "machines": 500},
        Goals(0.36, 0.2),
    ),
    "oasis at load 1": ({"family": "oasis", "preset": "earnable"} | LOADED, Goals(None, None)),
    "dmlrs at load 1": ({"family": "dmlrs", "preset": "contended"} | LOADED, Goals(None, None)),
    "completion at load 1": (
        {"family": "completion", "preset": "paper", "jobs": 500, "load": 1.0},
        Goals(None, None),
    ),
}
SIZES: Mapping[str, Sequence[Row]] = {
    "oasis": ({"preset": "small"}, {"preset": "paper"}, {"preset": "paper"} | OASIS),
    "dmlrs": ({"preset": "small"}, {"preset": "contended"}, {"preset": "contended"} | OASIS),
    "completion": (
        {"preset": "small"},
        {"preset": "paper"},
        {"preset": "paper", "jobs": 500, "machines": 50},
        {"preset": "paper", "jobs": 5000, "machines": 500},
    ),
    "bipartite": ({"preset": "small"}, {"preset": "large"}),
    "bot": ({"preset": "small"}, {"preset": "heterogeneous"}),
}
MINUTES: Mapping[str, tuple[Row, Mapping[str, Goals]]] = {
    **{
        f"completion, 100 jobs on 50 servers, {kind} speeds": (
            {"family": "completion", "preset": "paper", "jobs": 100, "machines": 50}
            | {"speeds": kind, "threads": 2},
            {"mean": Goals(0.08, 0.06)},
        )
        for kind in ("independent", "scaled")
    },
    "oasis, earnable, 100 jobs": (
        {"family": "oasis", "preset": "earnable", "jobs": 100, "threads": 2},
        {"median": Goals(0.085, 0.06), "worst": Goals(0.11, 0.07)},
    ),
    "dmlrs, paper, 200 jobs on 50 machines": (
        {"family": "dmlrs", "preset": "paper", "jobs": 200, "machines": 50},
        {"median": Goals(0.04, 0.02)},
    ),
}
LADDER = (100, 300, 1000, 3000, 10_000)
GROWTH: Mapping[str, tuple[Row, float]] = {  # ten jobs a machine: so the load is held
    "oasis": ({"preset": "earnable", "slots": 500}, 0.2),
    "dmlrs": ({"preset": "contended", "slots": 500}, 0.2),
    "completion": ({"preset": "paper"}, 0.4),
}


def cells(options: Namespace) -> Iterator[Row]:
    """Yield all measurements of the parts that were chosen."""
    limits = {"time_limit": options.time_limit}
    if "make" in options.part:
        whole = Namespace(jobs=10_000, machines=1000, listed=100_000, seeds=1)
        yield from ({"part": "make"} | cell for cell in traces.cells(whole))
    if "online" in options.part:
        for name, (cell, _) in RUNS.items():
            yield {"part": "online", "name": name, "seed": SEED} | cell
    if "gap" in options.part:
        for name, (cell, _) in GAPS.items():
            yield {"part": "gap", "name": name, "seed": SEED} | cell | limits
    if "month" in options.part:
        if options.trace is None:
            print("month: is left out, since --trace names no file", flush=True)
        else:
            month = {"jobs": 10_000, "slot": "1h", "slots": options.month, "start": options.start}
            yield {"part": "month", "name": options.trace.name, "family": "oasis"} | month | limits
    if "limit" in options.part:
        for family, size in ((f, size) for f, sizes in SIZES.items() for size in sizes):
            for method in get_family(family).methods:
                cell = {"part": "limit", "family": family, "method": method, "seed": SEED}
                yield cell | size | {"time_limit": options.short}
    if "minute" in options.part:
        for name, (cell, _) in MINUTES.items():
            for seed in range(options.seeds):
                yield {"part": "minute", "name": name, "seed": seed} | cell | {"time_limit": 60.0}
    if "growth" in options.part:
        for family, (size, gap) in GROWTH.items():
            for jobs in LADDER:
                cell = {"part": "growth", "family": family, "seed": SEED, "gap_limit": gap}
                yield cell | size | {"jobs": jobs, "machines": jobs // 10} | limits
