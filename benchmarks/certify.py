"""Certified bounds for models from files: time and size, next to HiGHS.

    python benchmarks/certify.py        (about 15 minutes)

Twenty generated integer programs of six classes, the exported programs of the families, and a
linear program of about 40,000 variables (AdWords, relaxed). Each is read from its file and
certified; HiGHS reads the same file and solves it with its default options.

`--kinds integer` (family, linear) measures one part and leaves the others as they are.
"""

from __future__ import annotations

import math
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench import Benchmark, Row, Summary, Target, finite, parse, parser
from numpy.random import Generator

import optsched
from optsched.problem import get_family
from optsched.results.export import Format, write_program

LIMIT, EASY = 60.0, 10.0  # seconds to certify; seconds in which HiGHS closes what counts
CLOSED = 1e-6
FAMILIES = ("oasis", "dmlrs", "completion", "rigid")
KINDS = ("integer", "family", "linear")


class Program:
    """An LP file in the making."""

    def __init__(self, sense: str) -> None:
        self.sense, self.rows = sense, list[str]()
        self.cost, self.bounds, self.whole = dict[str, float](), list[str](), list[str]()

    def add(self, name: str, cost: float = 0, upper: float = 1, *, whole: bool = True) -> str:
        """Add a variable from 0 to an upper bound; return its name."""
        self.cost[name] = cost
        if math.isfinite(upper):
            self.bounds.append(f"{name} <= {upper:g}")
        if whole:
            self.whole.append(name)
        return name

    def row(self, terms: dict[str, float], relation: str, side: float) -> None:
        """Add a constraint."""
        self.rows.append(f"r{len(self.rows)}: {_sum(terms)} {relation} {side:g}")

    def text(self) -> str:
        """Return the file."""
        lines = [self.sense, f"obj: {_sum(self.cost)}", "st", *self.rows, "bounds", *self.bounds]
        return "\n".join([*lines, "general", *self.whole, "end", ""])


def _sum(terms: dict[str, float]) -> str:
    return "\n ".join(f"{a:+g} {name}" for name, a in terms.items())


def knapsack(rng: Generator, items: int, rows: int) -> Program:
    """Capacities of one half of all weights; values follow the weights."""
    p = Program("max")
    weight = rng.integers(10, 100, (rows, items))
    value = weight.mean(axis=0).round() + rng.integers(0, 40, items)
    x = [p.add(f"x{j}", float(value[j])) for j in range(items)]
    for w in weight:
        p.row(dict(zip(x, w.tolist(), strict=True)), "<=", int(w.sum()) // 2)
    return p


def cover(rng: Generator, elements: int, sets: int) -> Program:
    """Each set holds an element with probability 0.08."""
    p = Program("min")
    x = [p.add(f"x{j}", int(rng.integers(1, 100))) for j in range(sets)]
    holds = rng.random((elements, sets)) < 0.08
    holds[np.arange(elements), rng.integers(0, sets, elements)] = True
    for row in holds:
        p.row({x[j]: 1 for j in np.flatnonzero(row).tolist()}, ">=", 1)
    return p


def facilities(rng: Generator, places: int, clients: int, capacity: float) -> Program:
    """Points of the unit square; capacity relative to the demand per place."""
    p = Program("min")
    here, there = rng.random((places, 2)), rng.random((clients, 2))
    demand = rng.integers(5, 36, clients)
    far = np.linalg.norm(here[:, None] - there[None], axis=2)
    y = [p.add(f"y{i}", int(rng.integers(100, 200))) for i in range(places)]
    room = math.ceil(min(capacity, places) * demand.sum() / places)
    served: list[dict[str, float]] = [{} for _ in range(clients)]
    for i in range(places):
        load: dict[str, float] = {y[i]: -room}
        for k in range(clients):
            x = p.add(f"x{i}_{k}", round(10 * far[i, k] * demand[k], 2), whole=False)
            p.row({x: 1, y[i]: -1}, "<=", 0)
            served[k][x] = 1
            load[x] = int(demand[k])
        if capacity < math.inf:
            p.row(load, "<=", 0)
    for terms in served:
        p.row(terms, "=", 1)
    return p


def lots(rng: Generator, products: int, periods: int) -> Program:
    """Several products share a capacity; setups cost money and time."""
    p = Program("min")
    demand = rng.integers(0, 60, (products, periods))
    most = (demand.sum(axis=0).cumsum() / np.arange(1, periods + 1)).max()
    room = math.ceil(1.1 * most) + 10 * products
    use: list[dict[str, float]] = [{} for _ in range(periods)]
    for i in range(products):
        setup, hold = int(rng.integers(100, 400)), int(rng.integers(1, 4))
        stock = None
        for t in range(periods):
            x = p.add(f"x{i}_{t}", 0, math.inf, whole=False)
            s = p.add(f"s{i}_{t}", hold, math.inf, whole=False)
            y = p.add(f"y{i}_{t}", setup)
            p.row({x: 1, y: -min(room, int(demand[i, t:].sum()))}, "<=", 0)
            p.row({x: 1, s: -1} | ({stock: 1} if stock else {}), "=", int(demand[i, t]))
            use[t] |= {x: 1, y: 10}
            stock = s
    for terms in use:
        p.row(terms, "<=", room)
    return p


def assignment(rng: Generator, agents: int, tasks: int) -> Program:
    """Generalized assignment, type C."""
    p = Program("min")
    weight, cost = rng.integers(5, 26, (agents, tasks)), rng.integers(10, 51, (agents, tasks))
    x = [[p.add(f"x{i}_{j}", int(cost[i, j])) for j in range(tasks)] for i in range(agents)]
    for j in range(tasks):
        p.row({x[i][j]: 1 for i in range(agents)}, "=", 1)
    for i in range(agents):
        terms = {x[i][j]: int(weight[i, j]) for j in range(tasks)}
        p.row(terms, "<=", int(0.8 * weight[i].sum() / agents))
    return p


def timed(rng: Generator, jobs: int, slots: int) -> Program:
    """One machine, release times and weights, a binary variable for each start."""
    p = Program("min")
    length, weight = rng.integers(1, 6, jobs), rng.integers(1, 10, jobs)
    release = rng.integers(0, slots // 3, jobs)
    busy: list[dict[str, float]] = [{} for _ in range(slots)]
    for j in range(jobs):
        starts = range(int(release[j]), slots - int(length[j]) + 1)
        x = {t: p.add(f"x{j}_{t}", int(weight[j] * (t + length[j]))) for t in starts}
        p.row(dict.fromkeys(x.values(), 1), "=", 1)
        for t, name in x.items():
            for u in range(t, t + int(length[j])):
                busy[u][name] = 1
    for terms in filter(None, busy):
        p.row(terms, "<=", 1)
    return p


def sequence(rng: Generator, jobs: int) -> Program:
    """One machine, release times and weights; the order by large constants."""
    p = Program("min")
    length, weight = rng.integers(1, 10, jobs), rng.integers(1, 10, jobs)
    release = rng.integers(0, 2 * jobs, jobs)
    most = int(release.max() + length.sum())
    end = [p.add(f"c{j}", int(weight[j]), most, whole=False) for j in range(jobs)]
    for j in range(jobs):
        p.row({end[j]: 1}, ">=", int(release[j] + length[j]))
        for k in range(j):
            y = p.add(f"y{k}_{j}")  # 1: k precedes j
            p.row({end[j]: 1, end[k]: -1, y: -most}, ">=", int(length[j]) - most)
            p.row({end[k]: 1, end[j]: -1, y: most}, ">=", int(length[k]))
    return p


MODELS: dict[str, Sequence[Callable[[Generator], Program]]] = {
    "knapsack": (
        lambda rng: knapsack(rng, 50, 1),
        lambda rng: knapsack(rng, 100, 2),
        lambda rng: knapsack(rng, 30, 5),
        lambda rng: knapsack(rng, 40, 5),
    ),
    "set cover": (
        lambda rng: cover(rng, 40, 80),
        lambda rng: cover(rng, 60, 150),
        lambda rng: cover(rng, 100, 300),
    ),
    "facility location": (
        lambda rng: facilities(rng, 10, 30, math.inf),
        lambda rng: facilities(rng, 20, 60, math.inf),
        lambda rng: facilities(rng, 8, 20, 3.0),
        lambda rng: facilities(rng, 10, 30, 4.0),
    ),
    "lot sizing": (
        lambda rng: lots(rng, 2, 8),
        lambda rng: lots(rng, 3, 10),
        lambda rng: lots(rng, 4, 10),
    ),
    "assignment": (
        lambda rng: assignment(rng, 5, 15),
        lambda rng: assignment(rng, 5, 20),
        lambda rng: assignment(rng, 8, 24),
    ),
    "scheduling": (
        lambda rng: timed(rng, 10, 40),
        lambda rng: timed(rng, 20, 80),
        lambda rng: sequence(rng, 6),
    ),
}


def adwords(queries: int, ads: int = 20) -> Program:
    """AdWords, relaxed: bids above 0, budgets of a tenth of the queries."""
    p = Program("max")
    bid = np.random.default_rng(1).integers(-14, 10, (queries, ads))
    asked: list[dict[str, float]] = [{} for _ in range(queries)]
    spent: list[dict[str, float]] = [{} for _ in range(ads)]
    for q, a in np.argwhere(bid > 0).tolist():
        x = p.add(f"x{q}_{a}", int(bid[q, a]), whole=False)
        asked[q][x] = 1
        spent[a][x] = int(bid[q, a])
    for terms in filter(None, asked):
        p.row(terms, "<=", 1)
    for terms in spent:
        p.row(terms, "<=", queries // 10)
    return p


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=2, limit=LIMIT)
    p.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    p.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    p.add_argument("--queries", type=int, default=5000, help="of the linear program")
    options = parse(p, __file__, argv)
    keep = options.kinds
    return BENCHMARK.run(
        list(cells(options)), measure, options, lambda row: row["kind"] not in keep
    )


def cells(options: Namespace) -> Iterator[Row]:
    """Yield what is measured."""
    if "linear" in options.kinds:
        yield {"kind": "linear", "model": "AdWords", "number": options.queries, "limit": 600.0}
    for model in options.models if "integer" in options.kinds else ():
        for number in range(len(MODELS[model])):
            yield {"kind": "integer", "model": model, "number": number, "limit": options.limit}
    for family in FAMILIES if "family" in options.kinds else ():
        for seed in range(1, options.seeds + 1):
            yield {"kind": "family", "model": family, "number": seed, "limit": options.limit}


def measure(cell: Row) -> Row:
    """Write a model, let HiGHS read and solve it, and certify it."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.lp"
        number = cell["number"]
        if cell["kind"] == "linear":
            path.write_text(adwords(number).text())
        elif cell["kind"] == "integer":
            make = MODELS[cell["model"]][number]
            path.write_text(make(np.random.default_rng(number + 1)).text())
        else:
            instance = get_family(cell["model"]).generate("small", seed=number)
            write_program(instance, path, Format.LP)
        alone = highs(path, cell["limit"])
        began = time.perf_counter()
        found = optsched.certify(path, time_limit=cell["limit"])
        seconds = time.perf_counter() - began
        tree: Any = found.optimum.certificate
        result, proof = Path(name) / "result.json", Path(name) / "proof.vipr"
        found.save(result)
        if tree is not None:
            found.vipr(proof)
        return alone | {
            "columns": len(found.instance.columns),
            "nonzeros": sum(len(row.entries) for row in found.instance.rows),
            "seconds": seconds,
            "status": str(found.optimum.status),
            "certified gap": finite(found.gap),
            "closed": found.gap is not None and found.gap <= CLOSED,
            "contradicted": list(found.contradictions),
            "nodes": None if tree is None else len(tree.nodes),
            "cuts": None if tree is None else len(tree.cuts),
            "kB": result.stat().st_size / 1000,
            "VIPR kB": proof.stat().st_size / 1000 if tree is not None else None,
        }


def highs(path: Path, limit: float) -> Row:
    """Return how long HiGHS takes to read and solve a file with its default options."""
    import highspy

    h = highspy.Highs()
    h.silent()
    h.setOptionValue("threads", 1)
    h.setOptionValue("time_limit", limit)
    began = time.perf_counter()
    h.readModel(str(path))
    h.run()
    seconds = time.perf_counter() - began
    return {"HiGHS": seconds, "HiGHS status": h.modelStatusToString(h.getModelStatus())}


def summarize(rows: list[Row]) -> Summary:
    """Tell time and size of every certificate next to HiGHS's time."""
    lines = [
        [
            f"{row['model']} {row['number']}",
            row["columns"],
            round(row["HiGHS"], 2),
            round(row["seconds"], 2),
            None if row["certified gap"] is None else float(f"{row['certified gap']:.0e}"),
            row["nodes"],
            row["cuts"],
            round(row["kB"]),
            None if row["VIPR kB"] is None else round(row["VIPR kB"]),
        ]
        for row in rows
    ]
    easy = [
        row
        for row in rows
        if row["kind"] == "integer" and row["HiGHS"] <= EASY and row["HiGHS status"] == "Optimal"
    ]
    closed = [row["closed"] and row["seconds"] <= LIMIT for row in easy]
    linear = [(row["seconds"] - 3) / row["HiGHS"] for row in rows if row["kind"] == "linear"]
    contradicted = sum(bool(row["contradicted"]) for row in rows)
    what = "generated integer programs that HiGHS closes in 10 s: certified within 60 s"
    targets = [
        Target(what, "%", sum(closed) / len(easy) if easy else None, 0.7, 0.9, at_least=True),
        Target(
            "linear programs: (seconds of certify - 3) / seconds of HiGHS, the largest",
            "",
            max(linear, default=None),
            2,
            1.5,
        ),
    ]
    columns = [
        "model",
        "columns",
        "HiGHS (s)",
        "certify (s)",
        "gap",
        "nodes",
        "cuts",
        "kB",
        "VIPR kB",
    ]
    return Summary(columns, lines, targets, {"claims of HiGHS that are contradicted": contradicted})


BENCHMARK = Benchmark(
    name="certify",
    title="Certified bounds for models from files",
    question="How long does it take to prove the optimum of a model from a file, and how large is "
    "the proof, next to the time of HiGHS?",
    methods={"certify": "`optsched.certify`: HiGHS, and a tree that is checked exactly"},
    summarize=summarize,
)

if __name__ == "__main__":
    main()
