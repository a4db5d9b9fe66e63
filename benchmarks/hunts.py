"""How much worse instances a hunt finds than other searches do.

Every search may try as many instances of the same space, and is reported the same of each: the
certified low end of the ratio, or that the instance does not count. `random` draws them. `climb`
changes one thing and keeps what is no better for the policy. `annealing` does the same and also
accepts better ones, less and less often: PISA's recipe, where a ratio that falls to a part q of
what it was is accepted with probability exp(-(1 - q) / temperature). Planted policies have a known
worst ratio K.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from bench import Benchmark, Row, Summary, Target, parse, parser
from numpy.random import Generator
from planted import WORST
from pydantic import ValidationError

from optsched.adversarial.evaluation import Evaluation, Evaluator, Terms
from optsched.adversarial.moves import PLAIN, MoveContext
from optsched.adversarial.search import EvolutionarySearch
from optsched.numbers.parameter_space import Data, ParameterSpace, copied
from optsched.problem import Family, Instance, get_family

NONE = Evaluation(low=1, share=0, earned=0)
POLICIES: dict[str, dict[str, int]] = {
    "oasis oasis": {"jobs": 4},
    "oasis fifo": {"jobs": 4},
    "dmlrs pd-ors": {"jobs": 4},
    "completion a_online": {"jobs": 4},
    "bipartite ogasched": {"slots": 8},
    "bot local-share": {},
}
PLANTED: dict[str, dict[str, int]] = {
    "completion planted:Sleepy": {"jobs": 1},
    "bot planted:Grudging": {},
}
METHODS = {
    "random": "every instance is drawn by the preset's generator",
    "climb": "plain moves (redraw or change a field of a job or machine, add or drop a job), "
    "kept if the ratio does not fall",
    "annealing": "the same moves; a ratio that falls to a part q is kept with probability "
    "exp(-(1 - q) / temperature), and the temperature falls from 0.5 to 0.02",
    "hunt": "`optsched worst-case`, before it shrinks anything",
}
MUST = 1.3  # times the best of the other searches
HOT, COLD = 0.5, 0.02
TRIES = 100  # of a move that leaves the space


def instances(
    family: Family, space: ParameterSpace, rng: Generator, data: Data | None
) -> tuple[Data, Instance]:
    """Return an instance that is drawn, or one that a plain move makes of ``data``."""
    hand = MoveContext(space, rng)
    for _ in range(TRIES):
        moved: Data | None = hand.drawn()
        if data is not None:
            moved = hand.one(PLAIN)(hand, copied(data), NONE)
        settled = None if moved is None else space.settle(moved)
        try:
            if settled is not None:
                return settled, family.instance.model_validate(settled)
        except ValidationError:
            continue
    raise RuntimeError(f"{TRIES} moves have left the space")


def ratio_of(found: Evaluation, terms: Terms) -> float:
    """Return the ratio; of what does not count less than 1, by how far it is off."""
    return found.low if found.admitted(terms) else math.exp(max(found.fitness(terms), -50.0))


def baseline(method: str, terms: Terms, seed: int, number: int) -> Iterator[float]:
    """Yield the ratio of every instance that a baseline tries; below 1: it does not count."""
    family = get_family(terms.family)
    assert family.parameter_space is not None  # all families here declare one
    space, judge = family.parameter_space(terms.preset, **terms.sizes), Evaluator(family, terms)
    rng = np.random.default_rng([seed, 0xBA5E])
    at: Data | None = None
    fitness = 0.0
    for k in range(number):
        start = at is None or method == "random"
        data, instance = instances(family, space, rng, None if start else at)
        ratio = ratio_of(judge(instance), terms)
        yield ratio
        falls = 1 - ratio / fitness if fitness > 0 else 0.0
        heat = HOT * (COLD / HOT) ** (k / number)
        if falls <= 0 or (method == "annealing" and rng.random() < math.exp(-falls / heat)):
            at, fitness = data, ratio


def hunted(terms: Terms, seed: int, number: int) -> Iterator[float]:
    """Yield the ratio of every instance that the hunt tries; below 1: it does not count."""
    family = get_family(terms.family)
    assert family.parameter_space is not None  # all families here declare one
    judge, space = Evaluator(family, terms), family.parameter_space(terms.preset, **terms.sizes)
    search = EvolutionarySearch(family, space, terms, seed, lambda instance, _data: judge(instance))
    for _, known in zip(range(number), search.steps(), strict=False):
        yield ratio_of(known.found, terms)


def measure(cell: Row) -> Row:
    """Make one search."""
    family, policy = cell["policy"].split()
    sizes = (POLICIES | PLANTED)[cell["policy"]]
    terms = Terms(family=family, policy=policy, preset="small", sizes=sizes)
    began = time.process_time()
    if cell["method"] == "hunt":
        steps = hunted(terms, cell["seed"], cell["evaluations"])
    else:
        steps = baseline(cell["method"], terms, cell["seed"], cell["evaluations"])
    ratios = list(steps)
    best = max(ratios)
    return {
        "best": max(best, 1.0),
        "when": ratios.index(best) + 1,
        "counting": sum(ratio >= 1 for ratio in ratios),
        "processor_seconds": round(time.process_time() - began, 2),
    }


def summarize(rows: list[Row]) -> Summary:
    """Compare the medians over the seeds."""
    lines: list[list[Any]] = []
    times: dict[str, float] = {}
    found: list[float] = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        medians = {m: _median(rows, policy, m) for m in METHODS}
        known = [m for name, m in medians.items() if name != "hunt" and m is not None]
        ours, quotient = medians["hunt"], None
        if policy in PLANTED and ours is not None:
            found.append(ours / WORST)
        elif ours is not None and len(known) == len(METHODS) - 1:
            quotient = ours / max(known)
            times[policy] = quotient
        lines.append([policy, *medians.values(), quotient])
    ahead = [policy for policy, quotient in times.items() if quotient >= MUST]
    families = {policy.split()[0] for policy in ahead}
    return Summary(
        columns=["policy", *METHODS, "hunt / best other"],
        lines=lines,
        targets=[
            Target(
                "hunt against the best of the others, median over policies of the median ratio",
                "times",
                statistics.median(times.values()) if times else None,
                must=MUST,
                aim=2.0,
                at_least=True,
            ),
            Target(
                f"policies for which the hunt finds {MUST} times as much",
                "",
                len(ahead),
                must=5,
                at_least=True,
            ),
            Target("families of these policies", "", len(families), must=4, at_least=True),
            Target(
                "planted policies: median ratio found, of the worst one",
                "times",
                min(found, default=None),
                must=0.9,
                aim=1.0,
                at_least=True,
            ),
        ],
    )


def _median(rows: Sequence[Row], policy: str, method: str) -> float | None:
    mine = [r["best"] for r in rows if (r["policy"], r["method"]) == (policy, method)]
    return statistics.median(mine) if mine else None


BENCHMARK = Benchmark(
    name="hunts",
    title="Hunts for bad instances",
    question="How much worse are the instances that a hunt finds than those of other searches?",
    methods=METHODS,
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    p = parser(__doc__)
    p.add_argument("--policies", nargs="+", default=[*POLICIES, *PLANTED], metavar="POLICY")
    p.add_argument("--methods", nargs="+", default=[*METHODS], choices=[*METHODS])
    p.add_argument("--evaluations", type=int, default=300)
    p.add_argument("--processes", type=int, default=1)
    options = parse(p, __file__, argv)
    cells = [
        {"policy": policy, "method": method, "seed": seed, "evaluations": options.evaluations}
        for seed in range(options.seeds)
        for policy in options.policies
        for method in (options.methods if policy in POLICIES else ["hunt"])
    ]

    def keep(row: Row) -> bool:
        return row["policy"] not in options.policies or row["method"] not in options.methods

    BENCHMARK.run(cells, measure, options, keep, processes=options.processes)


if __name__ == "__main__":
    main()
