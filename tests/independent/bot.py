"""Family `bot`: reference files; fair optima by linear programs alone, and in closed form.

Written from the definition (10), with the paths of a tree found here. What is compared is the
weighted mean rate, of which every utility is a function: it has the unit of a rate, whatever alpha.
"""

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from independent import reference
from independent.cutting_planes import linear, maximize
from optsched.families.bot.instance import Application, BotInstance, BotSchedule, Link

FILES = reference.files("bot")
ALPHAS = (0.0, 0.5, 1.0, 2.0, 3.0, "inf")


def load(path: Path, alpha: float | str = 1.0) -> tuple[BotInstance, dict[str, Any]]:
    """Return the instance of a reference file with utility ``alpha``, and its known answers."""
    return reference.load(BotInstance, path, alpha=alpha)


def schedule(rho: list[list[float]]) -> BotSchedule:
    """Return a schedule of rates [k][n]; solvers leave rates of -1e-17, which are dropped."""
    return BotSchedule.of(np.maximum(np.array(rho), 0.0))


def utility(alpha: float | str, weights: Any, rates: Any) -> float:
    """Return the utility of one vector of rates."""
    if alpha == "inf":
        return float(np.min(rates))
    terms = np.log(rates) if alpha == 1 else np.power(rates, 1 - alpha) / (1 - alpha)
    return float(np.dot(weights, terms))


@cache
def tiny(seed: int) -> BotInstance:
    """Draw a tree of 2 to 4 nodes with 1 to 3 applications."""
    rng = default_rng([seed, 77])
    nodes = int(rng.integers(2, 5))

    def some(low, high):
        return float(rng.integers(low, high)) / 10

    links = tuple(
        Link(a=int(rng.integers(0, n)), b=n, forward=some(2, 60), backward=some(2, 60))
        for n in range(1, nodes)
    )
    applications = tuple(
        Application(
            master=int(rng.integers(0, nodes)),
            flop=some(5, 40),
            bytes=some(0, 30) if rng.random() < 0.8 else 0.0,
            return_bytes=some(1, 20) if rng.random() < 0.3 else 0.0,
            weight=some(5, 40) if rng.random() < 0.6 else 1.0,
        )
        for _ in range(int(rng.integers(1, 4)))
    )
    return BotInstance(
        speed=tuple(some(10, 200) for _ in range(nodes)),
        links=links,
        applications=applications,
        alpha=ALPHAS[seed % len(ALPHAS)],
    )


def mean_rate(inst: BotInstance, value: float) -> float:
    """Return the rate that, given to all applications, is worth ``value``."""
    whole = math.fsum(app.weight for app in inst.applications)
    if inst.alpha == "inf":
        return value
    if inst.alpha == 1:
        return math.exp(value / whole)
    power = 1 - float(inst.alpha)
    inside = value / whole * power
    if inside <= 0:
        return 0.0 if power > 0 or value == -math.inf else math.inf
    return inside ** (1 / power)


class _Program:
    """Rates x[k, n] and what limits them: (10b), (10c)."""

    def __init__(self, inst: BotInstance) -> None:
        self.inst, self.n, self.k = inst, len(inst.speed), len(inst.applications)
        self.size = self.k * self.n + self.k  # and the total of every application
        self.rows, self.limits = [], []
        for node, speed in enumerate(inst.speed):
            self._row({k * self.n + node: a.flop for k, a in enumerate(inst.applications)}, speed)
        for link in inst.links:
            for a, b, width in ((link.a, link.b, link.forward), (link.b, link.a, link.backward)):
                self._row(self._on_arc(a, b), width)
        for k in range(self.k):  # total <= sum of rates
            row = dict.fromkeys(range(k * self.n, (k + 1) * self.n), -1.0)
            self._row(row | {self.total(k): 1.0}, 0.0)

    def total(self, k):
        return self.k * self.n + k

    def _row(self, entries, limit):
        row = np.zeros(self.size)
        for i, x in entries.items():
            row[i] = x
        self.rows.append(row)
        self.limits.append(limit)

    def _on_arc(self, a, b):
        used = {}
        for k, app in enumerate(self.inst.applications):
            for node in range(self.n):
                path = self._path(app.master, node)
                load = app.bytes * ((a, b) in path) + app.return_bytes * ((b, a) in path)
                used[k * self.n + node] = load
        return used

    def _path(self, start, end):
        """Return the arcs of the only way."""
        near = {n: [] for n in range(self.n)}
        for link in self.inst.links:
            near[link.a].append(link.b)
            near[link.b].append(link.a)
        ways, known = [(start, [])], {start}
        for node, way in ways:
            if node == end:
                return way
            for other in near[node]:
                if other not in known:
                    known.add(other)
                    ways.append((other, [*way, (node, other)]))
        raise AssertionError("not connected")

    def most(self, k, more=(), over=()):
        """Return the most that application k gets, with further rows."""
        cost = np.zeros(self.size)
        cost[self.total(k)] = 1.0
        return linear(cost, [*self.rows, *more], [*self.limits, *over])[0]


def mean_optimum(inst: BotInstance) -> tuple[float, float]:
    """Return two rates between which the best weighted mean rate is."""
    if inst.alpha == "inf":
        least = levels(inst)[0]
        return least, least
    program = _Program(inst)
    weights = [app.weight for app in inst.applications]
    cost = np.zeros(program.size)
    if inst.alpha == 0:
        cost[program.k * program.n :] = weights
        best, _ = linear(cost, program.rows, program.limits)
        return mean_rate(inst, best), mean_rate(inst, best)
    alpha = float(inst.alpha)
    ends = {program.total(k): program.most(k) for k in range(program.k)}

    def curve(g):
        if alpha == 1:
            return lambda x: g * math.log(x), lambda x: g / x
        return lambda x: g * x ** (1 - alpha) / (1 - alpha), lambda x: g * x**-alpha

    curves = {program.total(k): curve(g) for k, g in enumerate(weights)}
    found = maximize(curves, cost, program.rows, program.limits, ends)
    low, high = (mean_rate(inst, v) for v in found)
    return low, high


@cache
def levels(inst: BotInstance) -> tuple[float, ...]:
    """Return the rates of max-min, the smallest first."""
    program = _Program(inst)
    settled: dict[int, float] = {}
    while len(settled) < program.k:
        rows, over = [], []
        cost = np.zeros(program.size + 1)
        cost[-1] = 1.0
        for k in range(program.k):  # the level, or what was settled, <= total
            row = np.zeros(program.size + 1)
            row[program.total(k)] = -1.0
            row[-1] = 0.0 if k in settled else 1.0
            rows.append(row)
            over.append(-settled.get(k, 0.0))
        wide = [np.append(r, 0.0) for r in program.rows]
        level, _ = linear(cost, [*wide, *rows], [*program.limits, *over])
        rows = [r[:-1] for r in rows]
        over = [-settled.get(k, level) * (1 - 1e-12) for k in range(program.k)]
        before = len(settled)
        for k in range(program.k):
            if k not in settled and program.most(k, rows, over) <= level * (1 + 1e-8):
                settled[k] = level
        assert len(settled) > before
    return tuple(sorted(settled.values()))


def wild(seed: int, alpha: float | str) -> BotInstance:
    """Return a small tree whose bandwidths span twelve orders of magnitude."""
    rng = np.random.default_rng([seed, 77])
    n = int(rng.integers(2, 9))
    apps = int(rng.integers(1, min(n, 4) + 1))

    def between(low: float, high: float) -> float:
        return float(10.0 ** rng.uniform(low, high))

    return BotInstance(
        speed=tuple(between(6, 11) for _ in range(n)),
        links=tuple(
            Link(a=int(rng.integers(0, i)), b=i, forward=between(0, 12), backward=between(0, 12))
            for i in range(1, n)
        ),
        applications=tuple(
            Application(
                master=int(rng.integers(n)),
                flop=between(6, 11),
                bytes=between(4, 9),
                return_bytes=between(2, 7) if rng.random() < 0.3 else 0.0,
                weight=between(-1, 1) if rng.random() < 0.5 else 1.0,
            )
            for _ in range(apps)
        ),
        alpha=alpha,
    )


def scaled(inst: BotInstance, **factors: float) -> BotInstance:
    """Return ``inst`` with speed, bandwidth, flop, bytes or weight multiplied."""
    f = {name: factors.get(name, 1.0) for name in ("speed", "bandwidth", "flop", "bytes", "weight")}
    data: dict[str, Any] = inst.model_dump()
    data["speed"] = [x * f["speed"] for x in data["speed"]]
    for link in data["links"]:
        for side in ("forward", "backward"):
            link[side] *= f["bandwidth"]
    for app in data["applications"]:
        app["flop"] *= f["flop"]
        app["weight"] *= f["weight"]
        for name in ("bytes", "return_bytes"):
            app[name] *= f["bytes"]
    return BotInstance.model_validate(data)


def two_nodes(
    speed: tuple[float, float],
    width: float,
    *applications: Application | tuple[float, float],
    back: float | None = None,
    alpha: float | str = 1.0,
) -> BotInstance:
    """Return two nodes behind one link; a pair is flop and bytes of tasks that node 0 has."""
    return BotInstance(
        speed=speed,
        links=(Link(a=0, b=1, forward=width, backward=width if back is None else back),),
        applications=tuple(
            Application(master=0, flop=app[0], bytes=app[1]) if isinstance(app, tuple) else app
            for app in applications
        ),
        alpha=alpha,
    )


def one_node(alpha: float | str, speed: float, flop: tuple[float, float]) -> BotInstance:
    """Return two applications on one node: the optimum has a closed form (see :func:`best`)."""
    return BotInstance(
        speed=(speed,),
        applications=tuple(Application(master=0, flop=w, bytes=0.0) for w in flop),
        alpha=alpha,
    )


def best(inst: BotInstance) -> tuple[float, tuple[float, ...]]:
    """Return ln M and the rates of the optimum of `one_node`; for max-min ln of the smallest."""
    speed, flop, alpha = inst.speed[0], [app.flop for app in inst.applications], inst.alpha
    if alpha == "inf":
        rate = speed / sum(flop)
        return math.log(rate), (rate,) * len(flop)
    if alpha == 0:
        rates = [speed / w if w == min(flop) else 0.0 for w in flop]
        rates = [r if k == rates.index(max(rates)) else 0.0 for k, r in enumerate(rates)]
        return math.log(max(rates) / len(flop)), tuple(rates)
    # w rho^alpha is the same for all: rho is proportional to w^(-1/alpha)
    logs = [-math.log(w) / alpha for w in flop]
    top = max(logs)
    level = math.log(speed / sum(w * math.exp(x - top) for w, x in zip(flop, logs, strict=True)))
    logs = [x - top + level for x in logs]
    rates = [math.exp(x) for x in logs]
    if alpha == 1:
        return sum(logs) / len(logs), tuple(rates)
    powers = [(1 - alpha) * x for x in logs]
    top = max(powers)
    mean = math.log(sum(math.exp(p - top) for p in powers) / len(powers)) + top
    return mean / (1 - alpha), tuple(rates)
