"""How long one call of the oracle takes, versus plain enumeration; how often Algorithm 4 misses.

    python benchmarks/completion_oracle.py        (some minutes)

The jobs of an instance (T = 150, 150 servers, 8 worker types, 10 PS types) request their cheapest
schedule by weighted completion and cost, once on the six classes of servers at the duals of column
generation, once on single servers whose prices differ by a random factor of 0.8 to 1.2; and, as
A_online requires, for the cheapest schedule regardless of its completion, on these servers with a
random part of each taken. Compiled code is warm. A time is the least of some passes over all jobs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import product

import numpy as np
from bench import Benchmark, Row, Summary, Target, parse, parser
from numba import njit
from render import number, percent

from optsched.engine.colgen import Master, generate_columns
from optsched.families.completion.optimum.relaxations.capacity import CapacityRelaxation, JobTables
from optsched.families.completion.oracle.schedule import best_schedule
from optsched.families.completion.oracle.servers import PricedServers
from optsched.families.completion.sources.presets import generate
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.streams import Streams

SPREAD = 0.2  # of the prices of equal servers
SPAN = 8  # slots of the time grid whose duals are used
SECONDS = 6.0  # of column generation
GOALS = {"classes": ((0.1, 0.03), (5.0, None)), "distinct": ((0.3, 0.1), (8.0, None))}
KINDS = (*GOALS, "partly taken")
BLOCK = 64  # slots within which the jobs end on servers that are partly taken
METHODS = {
    "optsched": "`best_schedule`: what is near the least bound by prefix sums first, only as many "
    "servers sorted as the workers need",
    "plain": "numba: all modes, starts and PS hosts; for each the servers are sorted by price",
    "printed": "`best_schedule(printed=True)`: distributed placements as Algorithm 4 prints them",
}


@njit(cache=True)
def plain_value(
    modes: Ints,  # (G, 5): worker type, q, workers, duration, mask
    chosen: tuple[int, float, int],  # arrival, weight, deadline
    worker_cost: Floats,
    ps_cost: Floats,
    max_units: Ints,  # (M, H)
    free: Ints,  # (H, R)
    count: Ints,
    e: Ints,
    z: Ints,
    needed: Ints,
) -> float:
    """Return the least weight * completion + cost within the deadline."""
    arrival, weight, deadline = chosen
    servers, slots, best = count.size, worker_cost.shape[1] - 1, np.inf
    for k in range(modes.shape[0]):
        m, q, n, d, mask = modes[k]
        for t in range(arrival, deadline - d + 1):
            a, b = min(t, slots), min(t + d, slots)
            unit = worker_cost[m, b] - worker_cost[m, a]
            order = np.argsort(unit)
            for p in range(z.shape[0]):
                if not (mask >> p) & 1:
                    continue
                for h in range(servers):
                    ps = ps_cost[p, b, h] - ps_cost[p, a, h]
                    for g in range(n if q == 1 else 0, (n if q == 1 else n - 1) + 1):
                        s = needed[m, p, n - g]
                        fits = True
                        for r in range(e.shape[1]):
                            fits &= g * e[m, r] + s * z[p, r] <= free[h, r]
                        if not fits:
                            continue
                        left, cost = n - g, g * unit[h] + s * ps
                        for i in order:
                            if left == 0:
                                break
                            have = max_units[m, i] * (count[i] - (1 if i == h else 0))
                            cost += min(left, have) * unit[i]
                            left -= min(left, have)
                        if left == 0:
                            best = min(best, weight * (t + d) + cost)
    return best


def sides(jobs: JobTables, seed: int) -> dict[str, PricedServers]:
    """Return the classes at dual prices, and single servers at prices near them."""
    horizon = jobs.inst.horizon
    problem = CapacityRelaxation(jobs, 2 * horizon, SPAN)
    until = time.perf_counter() + SECONDS
    found = generate_columns(problem, Master(problem), stop=lambda _: time.perf_counter() > until)
    prices = problem.per_slot(found.prices)
    factor = Streams(seed)("price factor").uniform(1 - SPREAD, 1 + SPREAD, len(jobs.capacity))
    single = np.ascontiguousarray(prices[:, jobs.class_of] * factor[:, None])
    share = Streams(seed)("free share").random(len(jobs.capacity))
    free = (jobs.capacity * share[:, None]).astype(np.int64)
    ones = jobs.cluster.ones
    return {
        "classes": PricedServers.of(jobs.types, prices, jobs.class_capacity, jobs.count),
        "distinct": PricedServers.of(jobs.types, single, jobs.capacity, ones),
        "partly taken": PricedServers.of(jobs.types, single, free, ones),
    }


def measure(cell: Row) -> Row:
    """Time all jobs of one instance on both kinds of servers."""
    inst = generate("paper", seed=cell["seed"], jobs=cell["jobs"], machines=cell["machines"])
    jobs, row = JobTables(inst), {}
    for name, servers in sides(jobs, cell["seed"]).items():
        chosen = range(len(inst.jobs))
        alone = name != "classes"
        whole = name != "partly taken"  # weight * completion counts too
        best = [np.inf] * len(inst.jobs)
        values = {}
        for _ in range(cell["repeats"]):
            for j in chosen:
                began = time.perf_counter()
                found = oracle_value(jobs, j, servers, printed=False, whole=whole)
                best[j] = min(best[j], time.perf_counter() - began)
                values[j] = found
        some = chosen[: cell["plain"]] if alone else chosen
        plain_times, wrong = [], 0
        for j in some:
            began = time.perf_counter()
            value = plain(jobs, j, servers, whole=whole)
            plain_times.append(time.perf_counter() - began)
            wrong += value != values[j] and not abs(value - values[j]) <= 1e-6 * value
        # Algorithm 4 knows single servers only
        single = [j for j in chosen if alone and np.isfinite(values[j])]
        missed = [
            oracle_value(jobs, j, servers, printed=True, whole=whole) > values[j] * (1 + 1e-9)
            for j in single
        ]
        row |= {
            f"{name}_ms": [1e3 * x for x in best],
            f"{name}_plain_ms": [1e3 * x for x in plain_times],
            f"{name}_wrong": wrong,
            f"{name}_missed": missed,
        }
    return row


def question(jobs: JobTables, j: int, *, whole: bool) -> tuple[int, float, int]:
    """Return arrival, weight and deadline."""
    arrival = int(jobs.arrival[j])
    if whole:
        return arrival, float(jobs.weight[j]), arrival + jobs.inst.horizon
    return arrival, 0.0, arrival + BLOCK


def oracle_value(
    jobs: JobTables, j: int, servers: PricedServers, *, printed: bool, whole: bool = True
) -> float:
    """Return the least value of job j."""
    arrival, weight, deadline = question(jobs, j, whole=whole)
    found = best_schedule(
        jobs.types,
        jobs.modes[j],
        servers,
        arrival=arrival,
        weight=weight,
        deadline=deadline,
        printed=printed,
    )
    return np.inf if found is None else found.value


def plain(jobs: JobTables, j: int, servers: PricedServers, *, whole: bool = True) -> float:
    """Return the same by plain enumeration."""
    modes = jobs.modes[j]
    columns = (modes.worker_type, modes.together, modes.workers, modes.duration, modes.mask)
    return float(
        plain_value(
            np.stack(columns, axis=1),
            question(jobs, j, whole=whole),
            servers.worker_cost,
            servers.ps_cost,
            servers.max_units[0].astype(np.int64),
            servers.free[0],
            servers.number,
            jobs.types.worker_demand,
            jobs.types.ps_demand,
            jobs.types.ps_needed,
        )
    )


def summarize(rows: list[Row]) -> Summary:
    """Return quantiles over all jobs."""
    lines, targets = [], []
    for name in KINDS:
        ours = [x for r in rows for x in r[f"{name}_ms"]]
        other = [x for r in rows for x in r[f"{name}_plain_ms"]]
        if not ours:
            continue
        middle, high = float(np.median(ours)), float(np.quantile(ours, 0.99))
        wrong = sum(r[f"{name}_wrong"] for r in rows)
        misses = [x for r in rows for x in r[f"{name}_missed"]]
        missed = sum(misses) / len(misses) if misses else None
        figures = (middle, high, max(ours), float(np.median(other)))
        lines.append([name, len(ours), *map(number, figures), wrong, percent(missed)])
        for (must, aim), figure, what in zip(
            GOALS.get(name, ()), (middle, high), ("median", "99 % quantile"), strict=False
        ):
            targets.append(Target(f"{name}, {what}", "ms", figure, must=must, aim=aim))
    columns = ("servers", "calls", "median ms", "99 % ms", "worst ms", "plain median ms")
    return Summary((*columns, "differ from plain", "Algorithm 4 misses"), lines, tuple(targets))


BENCHMARK = Benchmark(
    "completion_oracle",
    "The oracle of family completion",
    "How long does one call take?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=3)
    p.add_argument("--jobs", type=int, default=100)
    p.add_argument("--machines", type=int, default=150, help="servers")
    p.add_argument("--repeats", type=int, default=3, help="the least time of this many counts")
    p.add_argument("--plain", type=int, default=10, help="jobs of plain enumeration, distinct")
    options = parse(p, __file__, argv)
    names = ("jobs", "machines", "repeats", "plain")
    cells = [
        {"seed": seed, **{n: getattr(options, n) for n in names}}
        for seed, _ in product(range(options.seeds), [0])
    ]
    warm = JobTables(generate("small", seed=0))
    for servers in sides(warm, 0).values():
        oracle_value(warm, 0, servers, printed=False)
        plain(warm, 0, servers)
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
