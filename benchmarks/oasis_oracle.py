"""How long one call of the oracle takes, versus a plain compiled dynamic program.

    python benchmarks/oasis_oracle.py        (about two minutes)

The 100 jobs of an instance (T = 100) request their best schedule on 50 + 50 empty machines, each
with prices of its own: the duals of the compact linear program, times 1 or 0.3, times a random
factor of 0.8 to 1.2 per machine. Compiled code is warm. A time is the least of some passes over all
jobs, so that another process on the same core does not count.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import product

import numpy as np
from bench import Benchmark, Row, Summary, Target, add_sizes, parse, parser, sizes
from numba import njit
from render import number

from optsched.engine.budget import Budget
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.relaxation import compact_prices
from optsched.families.oasis.sources.traces import generate
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.scheduling.board import over_slots
from optsched.scheduling.oracle.schedule import Best, Oracle, PricedMachines, Request
from optsched.scheduling.oracle.workload import EQUAL

FACTORS = (1.0, 0.3)  # multiples of the duals: the schedules of an optimum, and of a busy search
SPREAD = 0.2  # of the prices of equal machines
FLOOR = 1e-6  # of the mean price, added so that no two machines are equal, even where a dual is 0
METHODS = {
    "optsched": "`Oracle.best`: hull bound, then a banded dynamic program up to the last open slot",
    "plain": "numba: per slot all machines sorted by price, then for every amount of work done and "
    "every number of workers; all slots from the arrival",
}


@njit(cache=True)
def _cheapest(price: Floats, free: Floats, demand: Floats, most: int) -> Floats:
    """Return the cost of 0, 1, ... workers on one slot's machines, (R, H) each."""
    resources, machines = price.shape
    cost, unit = np.empty(most + 1), np.empty(machines)
    order = np.empty(machines, np.int64)
    for h in range(machines):
        unit[h] = 0.0
        for r in range(resources):
            unit[h] += demand[r] * price[r, h]
        k = h  # sorted by insertion: the library's sort takes seconds to compile
        while k > 0 and unit[order[k - 1]] > unit[h]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = h
    cost[0] = 0.0
    placed = 0
    for h in order:
        max_units = float(most - placed)
        for r in range(resources):
            if demand[r] > 0.0:
                max_units = min(max_units, np.floor(free[r, h] / demand[r]))
        for _ in range(int(max_units)):
            placed += 1
            cost[placed] = cost[placed - 1] + unit[h]
    for n in range(placed + 1, most + 1):
        cost[n] = np.inf
    return cost


@njit(cache=True)
def plain_payoff(job: Request, workers: PricedMachines, ps: PricedMachines) -> float:
    """Return the greatest payoff, or 0 if none is greater: the textbook's dynamic program."""
    work, ps_needed, utility = job.work, job.ps_needed, job.utility
    most = ps_needed.size - 1
    old, new = np.empty(work + 1), np.empty(work + 1)
    for s in range(work + 1):
        old[s] = 0.0 if s == 0 else np.inf
    best = 0.0
    for t in range(job.arrival, utility.size):
        cost = _cheapest(workers.price[t], workers.free[t], job.worker_demand, most)
        servers = _cheapest(ps.price[t], ps.free[t], job.ps_demand, ps_needed[most])
        for n in range(most + 1):
            cost[n] += servers[ps_needed[n]]
        for s in range(work + 1):
            new[s] = np.inf
            for n in range(min(s, most) + 1):
                x = old[s - n] + cost[n]
                if x < new[s]:
                    new[s] = x
        best = max(best, utility[t] - new[work])
        old, new = new, old
    return best


def _plain(job: Request, workers: PricedMachines, ps: PricedMachines) -> float:
    return float(plain_payoff(job, workers, ps))


def distinct(side: Floats, free: Floats, factor: float, rng: np.random.Generator) -> PricedMachines:
    """Return machines whose prices (T, R, H) are near ``side`` and all different."""
    own = rng.uniform(1 - SPREAD, 1 + SPREAD, size=side.shape[2])
    price = (side + FLOOR * side.mean(axis=(0, 2), keepdims=True)) * factor * own
    return PricedMachines(np.ascontiguousarray(price), free, np.ones(side.shape[2], np.int64))


def tolerance(best: Best | None) -> float:
    """Return how far a payoff may be from the greatest one: what the oracle calls equal.

    It takes the earliest completion among payoffs within 1e-9 of the greatest, and the least work
    in every slot among costs within 1e-9 of the least.
    """
    if best is None:
        return EQUAL
    costs = max(1.0, best.cost) * np.count_nonzero(best.amount)
    return EQUAL * float(costs + abs(best.payoff))


def measure(cell: Row) -> Row:
    """Time all jobs of one instance at one factor."""
    inst = generate(cell["preset"], seed=cell["seed"], **sizes(cell))
    blocks = CapacityRelaxation(inst)
    spread = blocks.by_machine(compact_prices(blocks, span=Budget(cell["lp_limit"]).span()))
    capacity = inst.arrays.worker_capacity, inst.arrays.ps_capacity
    streams = Streams(cell["seed"])
    workers, ps = (
        distinct(p, over_slots(c.astype(float), inst.horizon), cell["factor"], streams(name, 0))
        for p, c, name in zip(spread, capacity, ("worker prices", "ps prices"), strict=True)
    )
    oracle = Oracle(
        inst.horizon,
        max(len(c) for c in capacity),
        max(job.chunks for job in inst.jobs),
        max(inst.work),
    )
    jobs = blocks.requests
    found = [oracle.best(job, workers, ps) for job in jobs]  # also compiles
    expected = [_plain(job, workers, ps) for job in jobs]
    payoff = np.array([0.0 if best is None else best.payoff for best in found])
    off = np.abs(payoff - expected)
    allowed = np.array([tolerance(best) for best in found])
    passes = cell["passes"]
    taken = np.full((2, passes, len(jobs)), np.inf)
    for k, i in product(range(passes), range(len(jobs))):
        began = time.perf_counter()
        oracle.best(jobs[i], workers, ps)
        middle = time.perf_counter()
        _plain(jobs[i], workers, ps)
        taken[:, k, i] = middle - began, time.perf_counter() - middle
    ours, plain = 1e3 * taken.min(axis=1)
    return {
        "different": int((off > allowed).sum()),
        "largest_difference": float(off.max()),
        "accepted": sum(best is not None for best in found),
        "work": list(inst.work),
        "chunks": [job.chunks for job in inst.jobs],
        "pays": [best is not None for best in found],
        "ms": ours.round(4).tolist(),
        "plain_ms": plain.round(4).tolist(),
    }


def summarize(rows: list[Row]) -> Summary:
    """Return quantiles over all calls."""
    if not rows:
        return Summary((), ())

    def calls(name: str) -> np.ndarray:
        return np.array([x for row in rows for x in row[name]])

    ours, plain, pays = calls("ms"), calls("plain_ms"), calls("pays").astype(bool)
    groups = {"all": np.ones(ours.size, bool), "a schedule pays": pays, "none pays": ~pays}
    lines = [
        [what, name, int(chosen.sum()), *(number(float(x)) for x in _quantiles(times[chosen]))]
        for what, chosen in groups.items()
        if chosen.any()
        for name, times in (("optsched", ours), ("plain", plain))
    ]
    middle, high, most = _quantiles(ours)
    different = sum(row["different"] for row in rows)
    return Summary(
        ("calls", "method", "number", "median ms", "p99 ms", "max ms"),
        lines,
        (
            Target("oracle, median of a call", "ms", middle, must=0.5, aim=0.3),
            Target("oracle, p99", "ms", high, must=6.0, aim=4.0),
            Target("payoffs that differ from the plain program's", "", different, must=0),
        ),
        {
            "calls": ours.size,
            "max_ms": most,
            "largest_difference": max(row["largest_difference"] for row in rows),
            "largest_work": int(calls("work").max()),
            "median_work": float(np.median(calls("work"))),
            "largest_chunks": int(calls("chunks").max()),
            "ratio_of_medians": float(np.median(plain) / middle),
        },
    )


def _quantiles(times: Floats) -> tuple[float, float, float]:
    return float(np.median(times)), float(np.quantile(times, 0.99)), float(times.max())


BENCHMARK = Benchmark(
    "oasis_oracle",
    "Oracle: the best schedule of one job",
    "How long does one exact call take, when every machine has prices of its own?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=3, lp_limit=120.0)
    add_sizes(p, jobs=100, slots=100, machines=100)
    p.add_argument("--passes", type=int, default=3, help="the least time of this many counts")
    options = parse(p, __file__, argv)
    cells = [
        {
            "preset": preset,
            "seed": seed,
            "factor": factor,
            **sizes(options),
            "passes": options.passes,
            "lp_limit": options.lp_limit,
        }
        for seed, preset, factor in product(range(options.seeds), options.presets, FACTORS)
    ]
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
