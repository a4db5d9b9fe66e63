"""What the library holds: a declared grid per family, and windows of real traces.

Every pack goes through the cells of its grid in turn. Entry k takes cell k modulo their number and
the seed 100 k; where that gives no instance, or one that must close and does not, the seeds that
follow are tried in order.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any

from optsched.families.bipartite.sources.traces import from_trace
from optsched.problem import Instance, Window, get_family
from optsched.process import messages
from optsched.traces.pods import read_arrivals

SEEDS = 100  # per entry
ROWS = 3000  # of a list of jobs that are used

Cell = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """One pack: its entries go through ``cells`` in turn."""

    family: str
    size: str  # "small", "medium", "large"
    origin: str  # "drawn", "traces"
    entries: int
    effort: float  # units of search
    seconds: float  # of the clock, if that comes first
    cells: tuple[Cell, ...] = field(repr=False)

    @property
    def name(self) -> str:
        """Of the pack."""
        return f"{self.family}/{self.size}-{self.origin}"

    def instance(self, entry: int, attempt: int, traces: Path) -> Instance:
        """Return an instance of an entry, or raise InputError; ``traces`` holds their files."""
        cell, seed = dict(self.cells[entry % len(self.cells)]), SEEDS * entry + attempt
        if self.origin == "drawn":
            return get_family(self.family).generate(cell.pop("preset"), seed=seed, **cell)
        with messages.silenced():
            return WINDOWS[self.family](traces, entry + 7 * attempt, seed, cell)


def _grid(**levels: tuple[Any, ...]) -> tuple[Cell, ...]:
    """Return all combinations; a level that is a mapping brings several settings at once."""
    cells = []
    for chosen in product(*levels.values()):
        cell: Cell = {}
        for name, level in zip(levels, chosen, strict=True):
            cell |= level if isinstance(level, dict) else {name: level}
        cells.append(cell)
    return tuple(cells)


def _sizes(names: str, *sizes: tuple[int, ...]) -> tuple[Cell, ...]:
    return tuple(dict(zip(names.split(), size, strict=True)) for size in sizes)


ALIKE, MIXED, SPREAD = (
    {"priority": (50.0, 50.0), "mix": (0.0, 1.0, 0.0)},
    {"priority": (1.0, 100.0)},
    {"priority": (1.0, 1000.0), "mix": (0.3, 0.3, 0.4)},
)  # how different the jobs' utilities are

SMALL: dict[str, tuple[Cell, ...]] = {
    "oasis": _grid(
        preset=("small",),
        size=_sizes("jobs slots", (3, 4), (4, 5), (5, 4), (5, 6)),
        machines=(2, 4),
        utilities=(ALIKE, MIXED, SPREAD),
    ),
    "dmlrs": _grid(
        preset=("small",),
        size=_sizes("jobs slots", (3, 4), (4, 4), (4, 6)),
        machines=(2, 3),
        ratio=(2.0, 10.0, 40.0),
    ),
    "completion": _grid(
        preset=("small",),
        size=_sizes("jobs slots", (2, 8), (3, 8), (4, 8), (4, 12)),
        machines=(1, 2),
        architecture=("ps", "ring"),
        speeds=("scaled", "independent"),
    ),
    "bipartite": _grid(
        preset=("small", "counts"),
        size=_sizes("ports machines slots", (2, 2, 5), (3, 3, 8), (4, 3, 10), (3, 5, 12)),
        contention=(1.0, 2.0, 4.0),
        utilities=(("linear",), ("linear", "log", "poly", "reciprocal")),
        density=(1.0, 2.0),
    ),
    "bot": _grid(
        preset=("heterogeneous", "homogeneous"),
        size=_sizes("nodes applications", (4, 2), (6, 3), (8, 2), (8, 4), (12, 3)),
        degree=(3, 5),
        units=("sec6.5", "sec6.2"),
        alpha=(0.0, 0.5, 1.0, 2.0, "inf"),
    ),
}
MEDIUM: dict[str, tuple[Cell, ...]] = {
    "oasis": _grid(
        preset=("small",),
        size=_sizes("jobs slots machines", (10, 8, 4), (14, 10, 4), (18, 12, 6)),
        utilities=(ALIKE, MIXED, SPREAD),
    ),
    "dmlrs": _grid(
        preset=("small",),
        size=_sizes("jobs slots machines", (7, 8, 3), (9, 8, 3), (10, 10, 4)),
        ratio=(2.0, 10.0, 40.0),
    ),
    "completion": _grid(
        preset=("mid",),
        size=_sizes("jobs slots machines", (5, 20, 2), (6, 20, 3), (7, 24, 3)),
        architecture=("ps", "ring"),
        speeds=("scaled", "independent"),
    ),
    "bipartite": _grid(
        preset=("small", "counts"),
        size=_sizes("ports machines slots", (5, 8, 30), (6, 12, 40)),
        contention=(1.0, 3.0),
        density=(2.0, 4.0),
    ),
    "bot": _grid(
        preset=("heterogeneous", "homogeneous"),
        size=_sizes("nodes applications", (30, 5), (60, 8)),
        degree=(3, 8),
        alpha=(0.5, 1.0, "inf"),
    ),
}
LARGE: dict[str, tuple[Cell, ...]] = {
    "oasis": _grid(
        preset=("small",),
        size=_sizes("jobs slots machines", (40, 20, 8), (60, 30, 8)),
        utilities=(MIXED, SPREAD),
    ),
    "dmlrs": _grid(
        preset=("small",),
        size=_sizes("jobs slots machines", (20, 16, 6), (30, 20, 6)),
        ratio=(2.0, 40.0),
    ),
    "completion": _grid(
        preset=("mid",),
        size=_sizes("jobs slots machines", (15, 40, 5), (25, 60, 8)),
        architecture=("ps", "ring"),
    ),
    "bipartite": _grid(
        preset=("large",),
        size=_sizes("ports machines slots", (20, 60, 30)),
        contention=(3.0, 5.0),
    ),
    "bot": _grid(
        preset=("heterogeneous",),
        size=_sizes("nodes applications", (1500, 80), (2000, 100)),
        alpha=("inf",),
    ),
}


def _lists(traces: Path, name: str) -> Path:
    """Return the first rows of a list of jobs, which is written for that."""
    return _head(traces / name, _folder())


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="optsched-lists-"))


@cache
def _head(path: Path, folder: Path) -> Path:
    written = folder / path.name.removesuffix(".gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        written.write_text("".join(islice(lines, ROWS)), "utf-8")
    return written


NASA, LCG = "swf/NASA-iPSC-1993-3.1-cln.swf.gz", "swf/LCG.swf.gz"
GAVEL, SPEEDS = "gavel/msr_seed0_traces.tsv.gz", "gavel/simulation_throughputs.json.gz"
MACHINES = "alibaba-gpu-v2020/pai_machine_spec.csv"
PLATFORMS = ("simgrid-platforms/g5k_tree.csv", "simgrid-platforms/gridpp_grid_2004.conf")
BAGS = ("wfinstances/*.json.gz", LCG)
FROM = {
    "oasis": (NASA, MACHINES),
    "dmlrs": (NASA, MACHINES),
    "completion": (GAVEL, SPEEDS),
    "bipartite": (GAVEL, LCG),
    "bot": (*PLATFORMS, *BAGS),
}
"""The files that the windows of a family are taken from."""


def _training(family: str) -> Callable[..., Instance]:
    def window(traces: Path, entry: int, seed: int, cell: Cell) -> Instance:
        first = (17 * entry) % 900
        options: Cell = {"start": f"#{first}", "draw_seed": seed, "machines": traces / MACHINES}
        options["load"] = 2.0  # without one, nothing would be scaled
        made = get_family(family).open_trace
        assert made is not None
        return made(_lists(traces, NASA), Window(**options, **cell))

    return window


def _completion(traces: Path, entry: int, seed: int, cell: Cell) -> Instance:
    options = {"start": f"#{(7 * entry) % 1100}", "draw_seed": seed, "load": cell["load"]}
    options |= {"jobs": cell["jobs"], "slots": cell["slots"], "slot": cell["slot"]}
    made = get_family("completion").open_trace
    assert made is not None
    window = Window(profiles=(traces / SPEEDS,), **options)
    return made(_lists(traces, GAVEL), window)


@cache
def _pods(path: Path) -> Any:
    return read_arrivals(path)


def _bipartite(traces: Path, entry: int, seed: int, cell: Cell) -> Instance:
    cell = dict(cell)
    pods = _pods(_lists(traces, cell.pop("list")))
    last = len(pods) - cell["jobs"]
    return from_trace(pods, start=f"#{(23 * entry) % last}", seed=seed, **cell)


def _bot(traces: Path, entry: int, seed: int, cell: Cell) -> Instance:
    bags = sorted(traces.glob(BAGS[0]))
    chosen = [bags[(entry + k * (1 + entry // len(bags))) % len(bags)] for k in range(cell["jobs"])]
    if cell["users"]:
        chosen[-1] = _lists(traces, LCG)
    made = get_family("bot").open_trace
    assert made is not None
    options = {"profiles": tuple(chosen), "jobs": cell["jobs"], "draw_seed": seed}
    found = made(traces / cell["platform"], Window(**options))
    return type(found).model_validate(found.model_dump() | {"alpha": cell["alpha"]})


WINDOWS: dict[str, Callable[..., Instance]] = {
    "oasis": _training("oasis"),
    "dmlrs": _training("dmlrs"),
    "completion": _completion,
    "bipartite": _bipartite,
    "bot": _bot,
}
TRACES: dict[str, dict[str, tuple[Cell, ...]]] = {
    "oasis": {
        "small": _grid(jobs=(4, 5, 6), slots=(4, 5), slot=("5min", "15min"), min_tasks=(1, 8, 32)),
        "medium": _grid(jobs=(10, 14), slots=(8, 12), slot=("5min",), min_tasks=(8, 32)),
        "large": _grid(jobs=(50,), slots=(30,), slot=("5min",), min_tasks=(8, 32)),
    },
    "dmlrs": {
        "small": _grid(jobs=(4, 5), slots=(3, 4), slot=("5min", "15min"), min_tasks=(8, 32)),
        "medium": _grid(jobs=(7, 9), slots=(8,), slot=("5min",), min_tasks=(8, 32)),
        "large": _grid(jobs=(25,), slots=(16,), slot=("5min",), min_tasks=(8, 32)),
    },
    "completion": {
        "small": _grid(jobs=(2, 3, 4), slots=(8, 12), slot=("15min", "1h"), load=(None,)),
        "medium": _grid(jobs=(6, 9), slots=(24,), slot=("15min",), load=(None,)),
        "large": _grid(jobs=(25,), slots=(50,), slot=("15min",), load=(None,)),
    },
    "bipartite": {
        "small": _grid(
            list=(GAVEL, LCG),
            jobs=(20, 40),
            slots=(6, 10),
            load=(1.0, 3.0),
            ports=(2, 3),
            machines=(3,),
        ),
        "medium": _grid(
            list=(GAVEL, LCG), jobs=(100,), slots=(30,), load=(1.0, 3.0), ports=(5,), machines=(8,)
        ),
        "large": _grid(
            list=(GAVEL,), jobs=(900,), slots=(30,), load=(3.0,), ports=(20,), machines=(60,)
        ),
    },
    "bot": {
        "small": _grid(
            platform=PLATFORMS[1:], jobs=(2, 3), users=(False, True), alpha=(0.0, 1.0, 2.0, "inf")
        ),
        "medium": _grid(platform=PLATFORMS, jobs=(5, 8), users=(False,), alpha=(1.0, "inf")),
        "large": (),
    },
}
ENTRIES = {"small": (1600, 450), "medium": (38, 12), "large": (8, 2)}  # drawn, from traces
EFFORT = {"small": 1000.0, "medium": 1500.0, "large": 3000.0}
SECONDS = {"small": 30.0, "medium": 15.0, "large": 40.0}  # of the clock, at most


def plans() -> Iterator[Plan]:
    """Yield the packs of the library."""
    for size, (drawn, windows) in ENTRIES.items():
        for family, cells in {"small": SMALL, "medium": MEDIUM, "large": LARGE}[size].items():
            found = TRACES[family][size]
            both = drawn if found else drawn + windows
            yield Plan(family, size, "drawn", both, EFFORT[size], SECONDS[size], cells)
            if found:
                yield Plan(family, size, "traces", windows, EFFORT[size], SECONDS[size], found)
