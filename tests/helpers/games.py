"""Games with known values, random tiny games, and their values by unmerged strategies."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from optsched.declared.events import events
from optsched.declared.feasibility import verify
from optsched.declared.model import KINDS, Declared, Solution
from optsched.minimax.menu import menu


def model(sense: str, columns: Sequence[dict[str, Any]], rows: Sequence[Any], **more: Any) -> Any:
    """Return a declared instance of columns, which are decided at once, and (limits, entries)."""
    full = [{"lower": 0, "upper": 1, "integer": True, "cost": 0} | c for c in columns]
    made = [
        {"name": f"r[{i}]", "lower": low, "upper": high, "entries": entries}
        for i, (low, high, entries) in enumerate(rows)
    ]
    full = [{"decided": c["revealed"]} | c for c in full]
    return KINDS[sense].model_validate({"columns": full, "rows": made} | more)


def skiing(price: int, days: int) -> list[Declared]:
    """Return ski rental of 1 to ``days`` days."""

    def season(n: int) -> Declared:
        columns = [
            {"name": f"{kind}[{t}]", "cost": cost, "revealed": t}
            for t in range(n)
            for kind, cost in (("rent", 1), ("buy", price))
        ]
        rows = [
            (1, math.inf, [(2 * t, 1), *((2 * s + 1, 1) for s in range(t + 1))]) for t in range(n)
        ]
        return model("min", columns, rows)

    return [season(n) for n in range(1, days + 1)]


def building(price: int, days: int) -> list[Declared]:
    """Return the choice to build at time 0, or to rent on each of 1 to ``days`` days."""

    def season(n: int) -> Declared:
        columns = [{"name": "build", "cost": price, "revealed": 0}]
        rows: list[Any] = []
        for t in range(1, n + 1):
            columns.append({"name": f"rent[{t}]", "cost": 1, "revealed": t})
            columns.append({"name": f"use[{t}]", "revealed": t})
            rows.append((-math.inf, 0, [(0, -1), (2 * t, 1)]))
            rows.append((1, math.inf, [(2 * t - 1, 1), (2 * t, 1)]))
        return model("min", columns, rows)

    return [season(n) for n in range(1, days + 1)]


@menu(items=[(), (0,), (1,), (0, 1)], horizon=2, shortest=2)
def matching(sequence):
    """Nodes arrive, each with its neighbours among two nodes."""
    edges = [(t, v) for t, neighbours in enumerate(sequence) for v in neighbours]
    columns = [{"name": f"x[{t},{v}]", "cost": 1, "revealed": t} for t, v in edges]
    columns += [{"name": f"now[{t}]", "upper": 0, "revealed": t} for t in range(len(sequence))]
    rows = [
        (-math.inf, 1, [(k, 1) for k, edge in enumerate(edges) if edge[side] == node])
        for side in (0, 1)
        for node in (0, 1)
    ]
    return model("max", columns, rows)


def paging(pages: int, horizon: int) -> Any:
    """Return a cache for all pages but one: a page that is fetched costs 1."""

    @menu(items=range(pages), horizon=horizon)
    def cache(requests):
        columns, rows = [], []
        for t, wanted in enumerate(requests):
            for p in range(pages):
                columns.append({"name": f"keep[{t},{p}]", "lower": int(p == wanted), "revealed": t})
                columns.append({"name": f"fetch[{t},{p}]", "cost": 1, "revealed": t})
                k = 2 * (t * pages + p)
                before = [(k - 2 * pages, 1)] if t else []
                rows.append((0, math.inf, [(k + 1, 1), (k, -1), *before]))
            rows.append((-math.inf, pages - 1, [(2 * (t * pages + p), 1) for p in range(pages)]))
        return model("min", columns, rows)

    return cache


def trading(prices: Sequence[int], horizon: int) -> Any:
    """Return the sale of one unit; if it is left, it is sold at price 1."""

    @menu(items=prices, horizon=horizon)
    def sale(seen):
        columns = [{"name": f"x[{t}]", "cost": p - 1, "revealed": t} for t, p in enumerate(seen)]
        row = (-math.inf, 1, [(t, 1) for t in range(len(seen))])
        return model("max", columns, [row], offset=1)

    return sale


def draw(seed: int) -> list[Declared]:
    """Draw a tiny game: items of one or two variables arrive, and share rows."""
    rng = np.random.default_rng([9, seed])
    sense = str(rng.choice(["max", "min"]))
    horizon, kinds = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    shared = [
        {
            "<=": (-math.inf, float(rng.choice([1, 2, 2.5]))),
            ">=": (float(rng.choice([0.5, 1, 2])), math.inf),
            "range": (0, 2),
        }[str(rng.choice(["<=", ">=", "range"], p=[0.6, 0.25, 0.15] if sense == "max" else None))]
        for _ in range(int(rng.integers(0, 3)))
    ]
    items = []
    for _ in range(kinds):
        columns = []
        for _ in range(int(rng.integers(1, 3))):
            column = {
                "cost": float(rng.choice([0, 1, 2, 3.5, 0.25])),
                "lower": int(rng.choice([0, 0, 0, -1])),
                "upper": int(rng.choice([1, 1, 2])),
                "late": bool(rng.random() < 0.2),
                "uses": [float(rng.choice([0, 1, 1, 2, 0.5, -1])) for _ in shared],
            }
            columns.append(column)
        own = str(rng.choice(["none", "one", "some"]))
        items.append((columns, own))
    lengths = range(1, horizon + 1)
    sequences = [s for n in lengths for s in product(range(kinds), repeat=n)]
    count = int(rng.integers(1, min(len(sequences), 6) + 1))
    chosen = [sequences[k] for k in rng.choice(len(sequences), count, replace=False)]
    offset = float(rng.choice([0, 1, 0.5]))
    return [_instance(sense, [items[k] for k in s], shared, offset) for s in chosen]


def _instance(sense: str, items: Sequence[Any], shared: Sequence[Any], offset: float) -> Declared:
    columns: list[dict[str, Any]] = []
    own: list[Any] = []
    uses: list[list[Any]] = [[] for _ in shared]
    for t, (variables, kind) in enumerate(items):
        here = []
        for v, given in enumerate(variables):
            column = {k: given[k] for k in ("cost", "lower", "upper")}
            here.append((len(columns), 1))
            for row, a in zip(uses, given["uses"], strict=True):
                row.append((len(columns), a))
            late = t + 1 if given["late"] else t
            columns.append(column | {"name": f"x[{t},{v}]", "revealed": t, "decided": late})
        limits = {"one": (-math.inf, 1), "some": (1, math.inf)}
        if kind != "none":
            own.append((*limits[kind], here))
    rows = [*own, *((low, high, row) for (low, high), row in zip(shared, uses, strict=True))]
    return model(sense, columns, rows, offset=offset)


def brute(instances: Sequence[Declared]) -> tuple[float, Fraction] | None:
    """Return the values of the best randomized and the best deterministic algorithm.

    A strategy states what to do after every list of events and every list of own decisions. None:
    there is no game, since nothing is feasible, or an optimum is below 0, or all are 0, or no
    strategy has a finite ratio.
    """
    streams = [[e.model_dump_json() for e in events(inst)] for inst in instances]
    decided = [[e.decide for e in events(inst)] for inst in instances]
    sign = 1 if instances[0].sense == "min" else -1
    paths: list[dict[tuple[Any, ...], Fraction | None]] = []
    best = []
    for inst, names in zip(instances, decided, strict=True):
        place = {c.name: j for j, c in enumerate(inst.columns)}
        ranges = [[*product(*(_values(inst, place[name]) for name in now))] for now in names]
        found = {}
        for plan in product(*ranges):
            values = [0.0] * len(place)
            for now, made in zip(names, plan, strict=True):
                for name, x in zip(now, made, strict=True):
                    values[place[name]] = float(x)
            verdict = verify(inst, Solution(values=tuple(values)))
            exact = None if verdict.value is None else sign * Fraction(str(verdict.value))
            found[plan] = exact
        paths.append(found)
        reached = [x for x in found.values() if x is not None]
        if not reached or sign * min(reached) < 0:
            return None
        best.append(min(reached))
    if not any(best):
        return None
    value = _linear(streams, paths, best, sign)
    pure = _pure(streams, paths, best, sign)
    return None if value is None or pure is None else (value, pure)


def _values(inst: Declared, j: int) -> range:
    return range(int(inst.columns[j].lower), int(inst.columns[j].upper) + 1)


def _linear(streams: Any, paths: Any, best: Any, sign: int) -> float | None:
    """Solve the linear program over realization plans of unmerged strategies."""
    number: dict[Any, int] = {}
    rows, right = [], []
    for i, found in enumerate(paths):
        for plan in found:
            for n in range(len(streams[i]) + 1):
                number.setdefault((tuple(streams[i][:n]), plan[:n]), len(number))
    t = len(number)
    following: dict[Any, list[int]] = {}
    for (seen, plan), k in number.items():
        if seen:
            following.setdefault((seen, plan[:-1]), []).append(k)
    for (seen, plan), ks in following.items():
        rows.append(dict.fromkeys(ks, 1.0) | {number[(seen[:-1], plan)]: -1.0})
        right.append(0.0)
    bounds: list[Any] = [(0, None)] * t + [(None, None)]
    bounds[number[((), ())]] = (1, 1)
    above = []
    for i, found in enumerate(paths):
        row = {t: -float(best[i])}
        for plan, cost in found.items():
            k = number[(tuple(streams[i]), plan)]
            if cost is None:
                bounds[k] = (0, 0)
            else:
                row[k] = float(cost)
        above.append(row)
    objective = np.zeros(t + 1)
    objective[t] = sign
    made = linprog(
        objective,
        A_ub=_matrix(above, t + 1),
        b_ub=np.zeros(len(above)),
        A_eq=_matrix(rows, t + 1),
        b_eq=right,
        bounds=bounds,
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return None if made.status != 0 else float(made.x[t])


def _matrix(rows: Sequence[dict[int, float]], n: int) -> Any:
    entries = [(i, k, x) for i, row in enumerate(rows) for k, x in row.items()]
    if not entries:
        return csr_array((len(rows), n))
    i, k, x = zip(*entries, strict=True)
    return csr_array((x, (i, k)), shape=(len(rows), n))


def _pure(streams: Any, paths: Any, best: Any, sign: int) -> Fraction | None:
    """Return the best value of all deterministic strategies, by listing what they can cost."""

    def costs(seen: Any, plan: Any, members: tuple[int, ...]) -> set[tuple[Any, ...]]:
        """Return what instances can cost that begin so, after these decisions."""
        n = len(seen)
        ended = [i for i in members if len(streams[i]) == n]
        parts: list[set[tuple[Any, ...]]] = []
        for i in ended:
            if paths[i][plan] is None:
                return set()
            parts.append({((i, paths[i][plan]),)})
        after: dict[str, list[int]] = {}
        for i in members:
            if i not in ended:
                after.setdefault(streams[i][n], []).append(i)
        for event, group in after.items():
            choices = {p[n] for p in paths[group[0]] if p[:n] == plan}
            part: set[tuple[Any, ...]] = set()
            for choice in choices:
                part |= costs((*seen, event), (*plan, choice), tuple(group))
            parts.append(part)
        return {tuple(sorted(sum(one, ()))) for one in product(*parts)}

    shares = []
    for vector in costs((), (), tuple(range(len(streams)))):
        if any(not best[i] and cost > 0 for i, cost in vector):
            continue
        there = [Fraction(cost) / best[i] for i, cost in vector if best[i]]
        shares.append(max(there) if sign > 0 else min(there))
    if not shares:
        return None
    return min(shares) if sign > 0 else max(shares)
