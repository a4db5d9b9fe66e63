"""How long the distributed algorithm of family `bot` takes: waves, single messages, both tables.

python benchmarks/bot_waves.py        (about a minute; --tables also times Tables 1 and 2)
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import Benchmark, Row, Summary, Target, median, parse, parser
from render import number

from optsched.families.bot.policies.negotiation import Negotiation, Steps
from optsched.families.bot.sources.presets import generate
from optsched.papers.reproduce import experiment, reproduce

ITERATIONS = 1500
STEPS = Steps(algorithm="adaptive", rho=0.002, tilde=0.05, lam=0.7, mu=0.7)
GOALS = {"waves": (0.05, 0.025), "messages": (30.0, 10.0), "tables": (240.0, 60.0)}
METHODS = {
    "waves": f"`Negotiation.run({ITERATIONS})`: two compiled waves per iteration",
    "messages": f"the same with `messages=True`, {ITERATIONS} rounds, nothing late or lost",
    "rough": "the same with loss 0.05 and delays of up to 3 rounds",
    "tables": "`optsched reproduce bot-tab1` and `bot-tab2`, 30 platforms, both units, 2 workers",
}


def measure(cell: Row) -> Row:
    """Time one way on one platform."""
    if cell["what"] == "tables":
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            for table in ("bot-tab1", "bot-tab2"):
                reproduce(experiment(table), Path(folder), workers=2)
            return {"seconds": time.perf_counter() - began}
    inst = generate("heterogeneous", seed=cell["seed"], nodes=cell["nodes"])
    options = {"waves": {}, "messages": {"messages": True}}.get(
        cell["what"], {"messages": True, "loss": 0.05, "delay": 3}
    )
    times = []
    for _ in range(cell["repeats"]):
        negotiation = Negotiation(inst, STEPS, **options)
        began = time.perf_counter()
        negotiation.run(ITERATIONS)
        times.append(time.perf_counter() - began)
    return {"seconds": min(times), "messages": negotiation.sent}


def summarize(rows: list[Row]) -> Summary:
    """Return medians and the worst."""
    lines, targets = [], []
    for what in dict.fromkeys(row["what"] for row in rows):
        seconds = [row["seconds"] for row in rows if row["what"] == what]
        lines.append([what, len(seconds), number(median(seconds)), number(max(seconds))])
        if what in GOALS:
            must, aim = GOALS[what]
            targets.append(Target(f"{what}, the slowest", "s", max(seconds), must, aim))
    return Summary(("what", "runs", "median s", "worst s"), lines, targets)


BENCHMARK = Benchmark(
    "bot_waves",
    "Distributed negotiation",
    "How long do 1500 iterations on 500 nodes take?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=5)
    p.add_argument("--nodes", type=int, default=500)
    p.add_argument("--repeats", type=int, default=3, help="the least time of this many counts")
    p.add_argument("--tables", action="store_true", help="time Tables 1 and 2 as well")
    options = parse(p, __file__, argv)
    cells = [
        {"what": what, "nodes": options.nodes, "seed": seed, "repeats": options.repeats}
        for what in ("waves", "messages", "rough")
        for seed in range(options.seeds)
    ]
    if options.tables:
        cells.append({"what": "tables", "nodes": 500, "seed": 0, "repeats": 1})
    small = generate("small", seed=0)
    for messages in (False, True):
        Negotiation(small, STEPS, messages=messages).run(2)
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
