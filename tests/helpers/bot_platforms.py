"""Random platforms that are hard on arithmetic, and instances with a known optimum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from optsched.families.bot.instance import Application, BotInstance, Link


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
