"""Instances of every family whose optimum needs no solver, and what is right of them in files.

Each has certificates that are true, at magnitudes where 64 bits wrap or floats overflow. And what
damages them: a seed fixes it.
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
from damages import places
from independent import completion, dmlrs, oasis
from independent.bipartite import separable_optimum

from optsched.core import Optimum, solve
from optsched.families.bipartite.instance import BipartiteInstance
from optsched.families.bipartite.instance_utilities import KINDS
from optsched.families.bot.fairness import log_mean_rate
from optsched.families.bot.instance import Application, BotInstance, Link
from optsched.families.completion.certificate.check import CompletionCertificate
from optsched.families.completion.instance import CompletionInstance
from optsched.families.dmlrs.certificate import check as proof
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.oasis.instance import OasisInstance
from optsched.problem import Instance, family_of

Json = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """An instance with its optimum; ``measure`` turns values and bounds into what ``best`` is.

    ``best`` None: no schedule exists. ``certificate`` draws a true one, as JSON.
    """

    instance: Instance
    best: Fraction | None
    certificate: Callable[[random.Random], Json]
    schedule: Json | None
    solve: Callable[[], Optimum]
    measure: Callable[[float], float] = float
    tolerance: float = 1e-9  # of values, relative
    exact: float = 1e-12  # of bounds

    def too_good(self, value: float) -> bool:
        """Return whether no schedule has this value."""
        return self.best is None or self._better(value, self.best, self.tolerance)

    def too_tight(self, bound: float) -> bool:
        """Return whether a schedule is better than this bound."""
        return self.best is not None and self._better(bound, self.best, -self.exact, -1)

    def _better(self, x: float, best: Fraction, within: float, sign: int = 1) -> bool:
        """Return whether x is better than the best, or worse with ``sign`` -1: exactly."""
        most = family_of(self.instance).sense == "max"
        limit = best + (1 if most else -1) * Fraction(within) * abs(best)
        return self.measure(x) > limit if most == (sign > 0) else self.measure(x) < limit


def _json(model: Any) -> Json:
    return dict(json.loads(model.model_dump_json()))


def of_oasis(seed: int) -> tuple[OasisInstance, float]:
    """Return an instance at another magnitude, and its optimum; some have more resources."""
    inst, draw = oasis.random_instance(seed), np.random.default_rng([seed, 5])
    data = _json(inst)
    factor = 10.0 ** int(draw.integers(-12, 13))
    size = float(draw.choice([1, 1e-3, 1e3, 12345.678]))
    padding = (0.0,) * int(draw.choice([0, 0, 1, 40]))
    _grow(data, factor, size)
    for job in data["jobs"]:
        for name in ("worker_demand", "ps_demand"):
            job[name] += padding
    if draw.random() < 0.5:  # as large as a demand may be, so that it fits nowhere
        huge = [999_999_999.123456789] * (len(inst.resources) + len(padding))
        data["jobs"].append(data["jobs"][0] | {"worker_demand": huge})
    for machine in data["worker_machines"] + data["ps_machines"]:
        machine["capacity"] += [float(draw.choice([0, 1, 1e5])) for _ in padding]
    data["resources"] = [*inst.resources, *(f"r{k}" for k in range(len(padding)))]
    return OasisInstance.model_validate(data), oasis.optimum(inst) * factor


def of_dmlrs(seed: int) -> tuple[DmlrsInstance, float]:
    """Return an instance at another magnitude, and its optimum."""
    inst = dmlrs.tiny(seed, "link" if seed % 3 == 2 else "job")
    draw, data = np.random.default_rng([20263, seed]), _json(inst)
    factor = 10.0 ** int(draw.integers(-12, 13))
    # so large that they have 2**49 units of 1e-9, and their sums with the tolerance still fit
    _grow(data, factor, float(draw.choice([1.0, 1e-3, 12345.678, 65536.123456789])))
    return DmlrsInstance.model_validate(data), dmlrs.optimum(inst) * factor


def _grow(data: Json, factor: float, size: float) -> None:
    """Multiply utilities by one number, demands and capacities by another."""
    for job in data["jobs"]:
        for name in ("worker_demand", "ps_demand"):
            job[name] = [round(x * size, 9) for x in job[name]]
        utility = job["utility"]
        for name in {"scale", "value", "values"} & utility.keys():
            x = utility[name]
            utility[name] = [y * factor for y in x] if isinstance(x, list) else x * factor
    for side in {"machines", "worker_machines", "ps_machines"} & data.keys():
        for machine in data[side]:
            machine["capacity"] = [round(x * size, 9) for x in machine["capacity"]]


def _dmlrs_tree(inst: DmlrsInstance, best: float, rng: random.Random) -> Json:
    """Draw a certificate of any shape, with prices that are near what jobs can earn."""
    draw = np.random.default_rng(rng.randrange(2**32))
    bits = 40 - math.frexp(best or 1.0)[1]
    slots, classes, resources = inst.horizon, len(inst.arrays.classes), len(inst.resources)

    def prices(*shape: int) -> Any:
        drawn = draw.random(shape) * (draw.random(shape) < 0.4) * 2.0**40
        return drawn.astype(np.int64)

    def leaf() -> proof.Leaf:
        capacity = inst.arrays.capacity.max(axis=0)[None, None, :]
        per_unit = prices(slots, classes, resources) // np.maximum(capacity, 1)
        kinds = [
            proof.CapacityPrices.of(per_unit),
            proof.PackingPrices.of(prices(len(inst.jobs), slots, 2), per_unit),
        ]
        return proof.Leaf(prices=kinds[int(draw.integers(2 if inst.locality == "job" else 1))])

    nodes: list[Any] = [leaf()]
    leaves = [0]
    for _ in range(int(draw.integers(4))):
        k = leaves.pop(int(draw.integers(len(leaves))))
        job = int(draw.integers(len(inst.jobs)))
        slot = int(draw.integers(inst.jobs[job].arrival, slots))
        where = {"job": job, "slot": slot, "left": len(nodes), "right": len(nodes) + 1}
        if draw.integers(2):
            nodes[k] = proof.WorkersSplit(at=int(draw.integers(inst.jobs[job].chunks)), **where)
        else:
            nodes[k] = proof.CompletionSplit(**where)
        leaves += [len(nodes), len(nodes) + 1]
        nodes += [leaf(), leaf()]
    digest = inst.digest()
    return _json(proof.DmlrsCertificate(instance_sha256=digest, grid_bits=bits, nodes=tuple(nodes)))


def _worker(name: str, seed: int) -> Known:
    inst, best = of_oasis(seed) if name == "oasis" else of_dmlrs(seed)
    found = solve(inst, time_limit=300)
    own = _json(found.certificate)

    def certificate(rng: random.Random) -> Json:
        if isinstance(inst, DmlrsInstance) and rng.random() < 0.75:
            return _dmlrs_tree(inst, best, rng)
        return own

    exact = 1e-12 if name == "oasis" else 1e-9
    whole = _json(found.schedule)
    return Known(inst, Fraction(best), certificate, whole, lambda: found, exact=exact)


def _edge(seed: int) -> tuple[CompletionInstance, Fraction | None]:
    """Draw an instance at the edge of what can be counted."""
    rng = np.random.default_rng([seed, 77])
    workers = int(rng.choice([1, 1, 3, 100, 1000]))
    scale = float(rng.choice([1e-100, 1e-12, 1e-3, 1.0, 1e6, 1e15, 1e99]))
    longest = int(rng.choice([3, 1500, 10**6, 2**30 // workers]))
    # no tolerance is as large as the second; the last is near 2**40 units
    demand = float(rng.choice([1.0, 4e-9, 0.125, 900.000001]))
    jobs = [
        (
            int(rng.integers(0, 9)) if workers == 1 else 0,
            float(rng.integers(1, 10)) * scale,
            int(rng.integers(1, longest + 1)),
        )
        for _ in range(int(rng.integers(1, 4)))
    ]
    some = completion.exclusive(jobs, workers=workers, demand=demand)
    late = bool(rng.random() < 0.3)
    horizon = max(10, sum(d for *_, d in jobs) + int(rng.integers(-3, 9)))
    inst = completion.exclusive(
        jobs,
        workers=workers,
        demand=demand,
        horizon=horizon if late else some.horizon,
        deadline=late,
    )
    return inst, completion.least(inst)


def _completion_prices(inst: CompletionInstance, rng: random.Random) -> Json:
    """Draw a certificate with random prices: no better than an honest one, and valid."""
    draw, a = np.random.default_rng(rng.randrange(2**32)), inst.arrays
    slots, heaviest = int(draw.integers(1, 12)), max(job.weight for job in inst.jobs)
    prices = draw.uniform(0, 2 * heaviest, (slots, len(a.classes), a.capacity.shape[1]))
    prices *= draw.random(prices.shape) < 0.4
    prices /= np.maximum(1, a.capacity.max(axis=0))
    made = CompletionCertificate.root(inst, prices, int(40 - math.log2(heaviest)))
    return json.loads(made.model_dump_json())


def _completion(seed: int) -> Known:
    large = seed % 4 > 0
    if large:
        inst, best = _edge(seed)
    else:
        inst = completion.tiny(seed)
        least = completion.optimum(inst)
        best = None if least is None else Fraction(least)
    order = random.Random(seed).sample(range(len(inst.jobs)), len(inst.jobs))
    in_order = completion.in_order(inst, order) if large else None
    return Known(
        inst,
        best,
        partial(_completion_prices, inst),
        in_order and _json(in_order),
        cache(lambda: solve(inst, work_limit=500)),
        tolerance=1e-12,
    )


ALPHAS = (0.0, 1e-7, 0.5, 1.0, 2.0, 100.0, "inf")
SIZES = (1e-18, 1.0, 1e18)


def of_bot(alpha: float | str, size: float) -> BotInstance:
    """Both masters at node 0 of speed 2; node 1 has speed 5 behind a link that carries 3 tasks.

    A task of application 1 is as large as one of application 0: 5 tasks/s in all, for each 2.5.
    All rates are of order 1, so that every alpha has a utility.
    """
    return BotInstance(
        speed=(2.0 * size, 5.0 * size),
        links=(Link(a=0, b=1, forward=12.0 * size, backward=7.0 * size),),
        applications=tuple(Application(master=0, flop=size, bytes=4.0 * size) for _ in range(2)),
        alpha=alpha,
    )


def bot_prices(inst: BotInstance, size: float) -> Json:
    """Return the prices that prove the optimum: of node 0 and of the way to node 1."""
    levels = [{"nodes": [[0, 1 / size]], "arcs": [[0, 0.25 / size]], "floors": None}]
    return {"instance_sha256": inst.digest(), "levels": levels}


def _bot(seed: int) -> Known:
    alpha, size = ALPHAS[seed % len(ALPHAS)], SIZES[seed // len(ALPHAS)]
    inst = of_bot(alpha, size)
    return Known(
        inst,
        Fraction(math.log(2.5)),
        lambda _: bot_prices(inst, size),
        {"rates": [[0, 0, 1.0], [1, 0, 1.5], [0, 1, 1.0], [1, 1, 1.5]]},
        cache(lambda: solve(inst)),
        partial(log_mean_rate, alpha, inst.weights),
        1.2e-9,
    )


def separable(seed: int) -> BipartiteInstance:
    """Draw an instance of any magnitude whose machines have a port each, or none."""
    rng = np.random.default_rng(seed)

    def spread(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    ports, slots, size = int(rng.integers(1, 4)), int(rng.integers(1, 4)), spread(1e-12, 1e12)
    gain = spread(1e-12, 1e12)

    def amount() -> float:
        return 0.0 if rng.random() < 0.1 else size * spread(0.1, 10)

    def machine() -> Json:
        kind = KINDS[int(rng.integers(len(KINDS)))]
        near = size if kind == "reciprocal" else gain
        return {
            "capacity": (amount(),),
            "ports": (int(rng.integers(ports)),) if rng.random() < 0.9 else (),
            "utility": ({"kind": kind, "alpha": near * spread(0.1, 10)},),
        }

    return BipartiteInstance.model_validate(
        {
            "horizon": slots,
            "resources": ("cpu",),
            "overhead": (min(1.0, spread(1e-3, 2) * gain),),
            "ports": tuple({"request": (amount(),)} for _ in range(ports)),
            "machines": tuple(machine() for _ in range(int(rng.integers(1, 5)))),
            "arrivals": rng.integers(0, 2, (slots, ports)).tolist(),
        }
    )


def bipartite_prices(inst: BipartiteInstance) -> list[Json]:
    """Return certificates of both questions, and that of the first bound."""
    solved = [solve(inst, method=method).certificate for method in ("auto", "stationary")]
    return [_json(c) for c in (family_of(inst).opening(inst)[1](), *solved)]


def _bipartite(seed: int) -> Known:
    inst, found = separable(seed), []

    def certificate(rng: random.Random) -> Json:
        if not found:
            found.extend(bipartite_prices(inst))
        return rng.choice(found)

    best = solve(inst)
    truth = Fraction(separable_optimum(inst))
    return Known(
        inst, truth, certificate, _json(best.schedule), lambda: best, tolerance=1.2e-9, exact=0.0
    )


MAKE: Mapping[str, Callable[[int], Known]] = {
    "bipartite": _bipartite,
    "bot": _bot,
    "completion": _completion,
    "dmlrs": partial(_worker, "dmlrs"),
    "oasis": partial(_worker, "oasis"),
}


@cache
def known(family: str, seed: int) -> Known:
    """Return instance ``seed`` of a family."""
    return MAKE[family](seed)


WHOLE = (0, 1, 2, 3, 5, 7, 40, 60, *(2**k for k in (20, 31, 32, 40, 43, 50, 53, 61, 62, 63, 64)))
WHOLE += (2**40 - 1, 2**40 + 1, 2**62 - 1, 2**63 - 1, 2**70, 2**200, 10**13, 10**30, 10**400, -1)
FACTORS = (0.0, -1.0, 1e-9, 0.5, 0.99, 1 - 1e-6, 1 + 1e-9, 1 + 1e-8, 1 + 1e-6, 1.01, 2.0, 1e9)
FLOATS = (-0.0, 5e-324, 1e-310, 1e-300, 1e-12, 0.3, 1.0, 3.0, 1e12, 1e15, 1e300, 1.7e308)
WRONG = (-1.0, math.inf, math.nan, "1", "x", None, [], {}, True)
WORDS = {"scope": ("slots", "stationary", "all")}


def damage(raw: Json, draw: random.Random) -> None:
    """Change numbers and words; leave out, repeat or move parts of lists."""
    for _ in range(draw.choice((1, 1, 2, 3, 5))):
        found = list(places(raw))
        lists = draw.random() < 0.25
        found = [p for p in found if isinstance(_inside(raw, p), list) is lists] or found
        if not found:
            return
        *path, key = draw.choice(found)
        holder = _inside(raw, path)
        holder[key] = _changed(holder[key], key, draw)


def _inside(raw: Any, path: Sequence[Any]) -> Any:
    for key in path:
        raw = raw[key]
    return raw


def _changed(old: Any, key: Any, draw: random.Random) -> Any:
    """Return something else in the place of ``old``, most of the time of its kind."""
    if key in WORDS:
        return draw.choice(WORDS[key])
    if key == "instance_sha256":
        return old
    if draw.random() < 0.03:
        return draw.choice(WRONG)
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        shift = draw.randrange(1, 40)
        near, far = (
            old + draw.choice((-2, -1, 1, 2)),
            (old ^ 1 << shift, old << shift, old >> shift),
        )
        return draw.choice((near, draw.choice(WHOLE), draw.choice(far)))
    if isinstance(old, float):
        return draw.choice(
            (old * draw.choice(FACTORS), draw.choice(FLOATS), math.nextafter(old, 9))
        )
    if isinstance(old, list) and old:
        k, others = draw.randrange(len(old)), json.loads(json.dumps(old))
        how = draw.randrange(4)
        if how == 0:
            del others[k]
        elif how == 1:
            others.append(json.loads(json.dumps(others[k])))
        elif how == 2:
            others[k], others[-1] = others[-1], others[k]
        elif all(isinstance(x, int) for x in others):  # something moves from one to another
            moved = others[k] // draw.randrange(1, 9)
            others[k], others[-1] = others[k] - moved, others[-1] + moved
        return others
    return old
