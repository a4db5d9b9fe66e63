"""Problems that are declared: certificates, sizes, the gallery, models of the families.

    python benchmarks/declared.py        (about 40 minutes; needs Node)

Forged: results in which one thing was changed; both checkers must accept the same files. Size: an
AdWords model of about 40,000 variables and 80,000 nonzeros. Gallery: ten textbook problems, their
policies against the certified optimum, and how long a file takes to its ratio. Own model: programs
of the families in Pyomo and CVXPY, solved as if they had been declared.

`--kinds gallery` (forged, size, file, own) measures one part and leaves the others as they are;
`--pictures` draws those of docs/gallery anew.
"""

from __future__ import annotations

import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pyomo.environ as pyo
from bench import Benchmark, Row, Summary, Target, parse, parser, watched

import optsched
from optsched.core import compare, solve
from optsched.declared.arrays import arrays
from optsched.declared.certificate import check
from optsched.declared.leaks import check_problem
from optsched.problem import get_family
from optsched.process.loading import load_from_file
from optsched.results.result import save_result
from optsched.solvers import solve_mip

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "checker"))

import second_checker
from damages import damaged

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
PROBLEMS: dict[str, tuple[str, float | None, str]] = {  # policy, ratio that is known, and its words
    "parking": ("break_even", None, "O(number of durations)"),
    "trading": ("threat", 1.9731, "1.973 (HIGH / LOW = 8)"),
    "choices": ("threshold", 4.996, "2 + ln(HIGH / LOW) for small items"),
    "adwords": ("msvv", 1.582, "e / (e - 1) for small bids"),
    "matching": ("ranking", 1.582, "e / (e - 1) in expectation"),
    "cover": ("primal_dual", None, "O(log sets log elements) with rounding"),
    "facilities": ("meyerson", None, "O(log clients / log log clients)"),
    "intervals": ("classes", None, "O(log(HIGH / LOW)) for equal lengths"),
    "paging": ("lru", 4.0, "4, the size of the cache"),
    "battery": ("two_prices", None, "no constant; sqrt(HIGH / LOW) for sales alone"),
}
OWN = {"oasis": range(1, 11), "dmlrs": range(1, 6), "bipartite": range(1, 6)}
KINDS = ("forged", "size", "gallery", "file", "own")
MOST_LINES, WANTED_LINES = 30, 20


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=20, own_limit=600.0)
    p.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    p.add_argument("--files", type=int, default=20_000, help="forged files")
    p.add_argument("--pictures", action="store_true", help="write docs/images/gallery-*.svg")
    p.add_argument("--queries", type=int, default=5000, help="of the large model")
    p.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    p.add_argument("--families", nargs="+", default=list(OWN), choices=list(OWN))
    options = parse(p, __file__, argv)
    keep = options.kinds
    return BENCHMARK.run(
        list(cells(options)), measure, options, lambda row: row["kind"] not in keep
    )


def cells(options: Namespace) -> Iterator[Row]:
    """Yield what is measured."""
    if "forged" in options.kinds:
        for part in range(-(-options.files // 2000)):
            yield {"kind": "forged", "part": part, "files": min(2000, options.files)}
    if "size" in options.kinds:
        yield {"kind": "size", "queries": options.queries}
    for kind in ("gallery", "file"):
        for name in options.problems if kind in options.kinds else ():
            row = {"kind": kind, "problem": name, "seeds": options.seeds}
            yield row | ({"pictures": options.pictures} if kind == "gallery" else {})
    for family in options.families if "own" in options.kinds else ():
        for seed in OWN[family]:
            yield {"kind": "own", "family": family, "seed": seed, "limit": options.own_limit}


def measure(cell: Row) -> Row:
    """Measure one thing."""
    return globals()[cell["kind"]](cell)  # type: ignore[no-any-return]


def forged(cell: Row) -> Row:
    """Damage results of every kind, and ask both checkers."""
    import test_declared as known

    with tempfile.TemporaryDirectory() as name:
        folder, results = Path(name), []
        made = [known.convex(1), known.market(1), known.thirds(1)]
        made += [known.draw(seed) for seed in (1, 2, 4, 5, 7)]
        for k, inst in enumerate(made):
            results.append(folder / f"{k}.json")
            save_result(results[-1], inst, solve(inst, work_limit=1000))
        each = -(-cell["files"] // len(results))
        files = [
            file for path in results for file, _ in damaged(path, folder, each, 5000 + cell["part"])
        ]
        theirs = second_checker.answers(files, folder)
        differences = second_checker.differences(files, theirs)
    return {"asked": len(files), "differences": differences}


def size(cell: Row) -> Row:
    """Build, read, solve and certify a large model; HiGHS alone is the measure."""
    began = time.perf_counter()
    inst = large(cell["queries"])
    built = time.perf_counter()
    found = solve(inst, time_limit=600)
    solved = time.perf_counter()
    seconds = min(_timed(lambda: check(inst, found.certificate)) for _ in range(3))
    a = arrays(inst)
    alone = _timed(lambda: solve_mip(*a))
    return {
        "columns": len(inst.columns),
        "nonzeros": sum(len(row.entries) for row in inst.rows),
        "status": str(found.status),
        "build": built - began,
        "solve": solved - built,
        "check": seconds,
        "HiGHS": alone,
    }


def large(queries: int, ads: int = 20) -> Any:
    """Build AdWords in Pyomo, with a variable for each bid above 0, and declare it."""
    bid = np.random.default_rng(1).integers(-14, 10, (queries, ads)).tolist()
    m = pyo.ConcreteModel()
    pairs = [(q, a) for q in range(queries) for a in range(ads) if bid[q][a] > 0]
    m.x = pyo.Var(pairs, domain=pyo.Binary)
    m.revenue = pyo.Objective(
        expr=pyo.quicksum(bid[q][a] * m.x[q, a] for q, a in pairs), sense=pyo.maximize
    )
    rows: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for q, a in pairs:
        rows.setdefault(("query", q), []).append((q, a))
        rows.setdefault(("ad", a), []).append((q, a))

    def limit(m: Any, side: str, k: int) -> Any:
        if side == "query":
            return pyo.quicksum(m.x[i] for i in rows[side, k]) <= 1
        return pyo.quicksum(bid[q][a] * m.x[q, a] for q, a in rows[side, k]) <= queries // 10

    m.limit = pyo.Constraint(list(rows), rule=limit)
    return optsched.online(m, {m.x: lambda q, _a: q})


def _timed(do: Any) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def gallery(cell: Row) -> Row:
    """Compare the policy of a problem with the optimum, and look for leaks."""
    name = cell["problem"]
    file = GALLERY / f"{name}.py"
    problem = load_from_file(f"{file}:{name}", "problem")
    ratios: dict[str, list[float]] = {"greedy": [], PROBLEMS[name][0]: []}
    certified = True
    for seed in range(cell["seeds"]):
        report = compare(problem(seed=seed), ["greedy", problem.policies[PROBLEMS[name][0]]])
        certified &= (
            report.optimum.certified_gap is not None and report.optimum.certified_gap < 1e-6
        )
        for row in report.policies:
            ratios[row.name].append(min(row.ratio.high, 1e9))
    if cell["pictures"]:
        picture(name, ratios)
    lines = [line for line in file.read_text().splitlines() if line.strip()]
    leak = check_problem(problem).leak
    return {"lines": len(lines), "ratios": ratios, "certified": certified, "leak": str(leak or "")}


def picture(name: str, ratios: dict[str, list[float]]) -> None:
    """Draw the ratios of all instances by policy, and the ratio that is known."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 2.4), layout="constrained")
    shown = {policy: [r for r in found if r < 1e9] for policy, found in ratios.items()}
    for place, (policy, found) in enumerate(shown.items()):
        axes.plot(found, [place] * len(found), "o", alpha=0.4)
        label = f"{policy}: mean {mean(found):.2f}" if found else f"{policy}: infinite"
        left = axes.get_yaxis_transform()
        axes.annotate(
            label, (0.01, place), (0, 12), xycoords=left, textcoords="offset points",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip
    known = PROBLEMS[name][1]
    if known is not None:
        axes.axvline(known, linestyle="--", color="grey")
        near = known < sum(axes.get_xlim()) / 2
        axes.annotate(
            "known ratio", (known, -0.42), (4 if near else -4, 0), color="grey",
            textcoords="offset points", ha="left" if near else "right",
        )  # fmt: skip
    axes.set(ylim=(-0.5, len(shown) - 0.3), yticks=[], xlabel="ratio to the optimum with hindsight")
    folder = ROOT / "docs" / "images"
    figure.savefig(folder / f"gallery-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def file(cell: Row) -> Row:
    """Return how long a file takes to its ratio, in a process of its own that is warm."""
    place = f"{GALLERY / cell['problem']}.py:{cell['problem']}"
    words = ["ratio", place, "-q"]
    words += ["-p", f"{place.rpartition(':')[0]}:{PROBLEMS[cell['problem']][0]}"]
    with tempfile.TemporaryDirectory() as folder:
        runs = [watched(words, Path(folder)) for _ in range(4)][1:]  # the first one warms
    return {name: min(run[name] for run in runs) for name in ("seconds", "cpu")}


def own(cell: Row) -> Row:
    """Solve the program of a family as if it had been declared."""
    family = get_family(cell["family"])
    assert family.program is not None
    instance = family.generate("small", seed=cell["seed"])
    program = family.program(instance)
    times: dict[str, float] = {"y": 0}
    if cell["family"] != "bipartite":
        times = {v.name: 0 for v in program.component_objects(pyo.Var)}
    inst = optsched.online(program, times)
    del program
    began = time.perf_counter()
    found = solve(inst, time_limit=cell["limit"])
    tree = found.certificate
    return {
        "status": str(found.status),
        "seconds": time.perf_counter() - began,
        "certified gap": found.certified_gap,
        "nodes": len(tree.nodes) if tree is not None else None,  # type: ignore[attr-defined]
        "cuts": len(tree.cuts) if tree is not None else None,  # type: ignore[attr-defined]
    }


def summarize(rows: list[Row]) -> Summary:
    """Tell what was measured, by kind."""
    by = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    lines: list[list[Any]] = []
    for row in by["gallery"]:
        policy, _, known = PROBLEMS[row["problem"]]
        found = row["ratios"][policy]
        figures = [f"{mean(found):.3f}", f"{max(found):.3f}"]
        lines.append([row["problem"], row["lines"], policy, known, *figures])
    for family in OWN:
        mine = [row for row in by["own"] if row["family"] == family]
        closed = [row for row in mine if (row["certified gap"] or 0 if row["nodes"] else 1) <= 1e-5]
        if mine:
            slowest = max(row["seconds"] for row in mine)
            lines.append(
                [f"{family} small, own model", "", f"{len(closed)} of {len(mine)} certified"]
            )
            lines[-1] += [f"slowest {slowest:.1f} s", "", ""]
    for row in by["size"]:
        figures = [f"{key} {row[key]:.2f} s" for key in ("build", "solve", "check", "HiGHS")]
        lines.append([f"{row['columns']} variables", "", *figures[:2], ", ".join(figures[2:]), ""])

    def worst(kind: str, figure: Any) -> float | None:
        return max((float(figure(row)) for row in by[kind]), default=None)

    def gap(family: str) -> float | None:
        mine = [row for row in by["own"] if row["family"] == family]
        found = (row["certified gap"] for row in mine)
        return max((1.0 if g is None else g for g in found), default=None)

    whole = "build, solve and certify, but for 4 s, in times of HiGHS"
    oasis = [row for row in by["own"] if row["family"] == "oasis"]
    targets = [
        Target("lines of a gallery problem", "", worst("gallery", lambda r: r["lines"]), 30, 20),
        Target("leaks in the gallery", "", worst("gallery", lambda r: bool(r["leak"])), 0),
        Target(
            "forged files on which the checkers differ",
            "",
            worst("forged", lambda r: len(r["differences"])),
            0,
        ),
        Target("check of a large certificate", "s", worst("size", lambda r: r["check"]), 1, 0.4),
        Target(
            whole,
            "",
            worst("size", lambda r: (r["build"] + r["solve"] + r["check"] - 4) / r["HiGHS"]),
            3,
            2,
        ),
        Target("a file to its ratio", "s", worst("file", lambda r: r["seconds"]), 3, 1.5),
        Target("processor time of that", "s", worst("file", lambda r: r["cpu"]), 3, 1.5),
        Target(
            "oasis small through its own model",
            "s",
            max((r["seconds"] for r in oasis), default=None),
            60,
            10,
        ),
        Target("dmlrs small through its own model: gap", "", gap("dmlrs"), 1e-6),
        Target("bipartite through its own model: gap", "", gap("bipartite"), 1e-5, 1e-6),
    ]
    columns = ["what", "lines", "policy", "known", "mean ratio", "worst ratio"]
    return Summary(columns, lines, targets)


BENCHMARK = Benchmark(
    name="declared",
    title="Declared problems",
    question="How far do a model and the times of its variables lead: ten textbook problems, a "
    "large model, the families' own programs, and forged certificates?",
    methods={
        "declared": "`optsched.online`: HiGHS or Clarabel, and a tree that is checked exactly"
    },
    summarize=summarize,
)

if __name__ == "__main__":
    main()
