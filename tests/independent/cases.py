"""Random tiny instances of every family in other units, and what is right there.

An instance is drawn, and its optimum is found by trying everything or by linear programs, at
ordinary magnitudes. Then one of its units is made larger or smaller: the answer is known, and it
must be found again. On the axis "one job", one job alone earns more or less, and may be odd: it
fits on no machine, never ends, or demands nothing.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from independent import bipartite, bot, completion, dmlrs, oasis
from optsched.problem import Instance

SCALES = (1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12)
NARROW = (1e-6, 1e-3, 1e3, 1e6)  # amounts have nine decimals, and are below 1e9
AXES: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "oasis": {"utilities": SCALES, "one job": SCALES, "amounts": NARROW, "times": SCALES},
    "dmlrs": {"utilities": SCALES, "one job": SCALES, "amounts": NARROW, "times": SCALES},
    "completion": {"weights": SCALES, "one job": SCALES, "amounts": NARROW, "times": SCALES},
    "bipartite": {"utilities": (*SCALES[:4], 1.0, 100.0, *SCALES[4:]), "amounts": SCALES},
    "bot": {"weights": SCALES, "rates": SCALES, "sizes": SCALES},
}
MAIN = {family: next(iter(axes)) for family, axes in AXES.items()}
FIRST = 100_000  # seeds below it are those of other tests


@dataclass(frozen=True)
class Truth:
    """What no solver was requested: the optimum is between ``low`` and ``high``.

    ``measure`` turns a value into what these are; ``levels`` are all rates of max-min.
    """

    sense: str
    low: float | None  # None: no schedule exists
    high: float | None
    measure: Callable[[float], float] = float
    accuracy: float = 1e-9
    levels: tuple[float, ...] = ()

    def reached(self, value: float, within: float) -> bool:
        """Return whether ``value`` is the optimum."""
        if self.low is None or self.high is None:
            return False
        x = self.measure(value)
        return not (_less(x, self.low, within) or _less(self.high, x, within))

    def impossible(self, value: float) -> bool:
        """Return whether no schedule can be as good as ``value``."""
        if self.low is None or self.high is None:
            return True
        x = self.measure(value)
        if self.sense == "max":
            return _less(self.high, x, self.accuracy)
        return _less(x, self.low, self.accuracy)

    def refutes(self, bound: float) -> bool:
        """Return whether a schedule is better than ``bound`` allows."""
        if self.low is None or self.high is None:
            return False
        x = self.measure(bound)
        if self.sense == "max":
            return _less(x, self.low, self.accuracy)
        return _less(self.high, x, self.accuracy)


@dataclass(frozen=True)
class Case:
    """An instance, and the optimum over all schedules and over those of a narrower question."""

    instance: Instance
    truth: Truth
    narrower: Mapping[str, Truth]


def case(family: str, axis: str, scale: float, seed: int) -> Case:
    """Return instance ``seed`` of a family with one unit multiplied by ``scale``."""
    return _CASES[family](axis, scale, FIRST + seed)


def _less(x: float, y: float, within: float) -> bool:
    """Return whether x < y by more than a share of the larger."""
    return x < y and y - x > within * max(abs(x), abs(y))


def _times(x: Any, scale: float) -> Any:
    """Multiply a number, or all numbers of a list, as decimals."""
    if isinstance(x, list | tuple):
        return [_times(y, scale) for y in x]
    return float(Decimal(repr(float(x))) * Decimal(repr(scale)))


def _multiply(content: Any, names: set[str], scale: float) -> None:
    """Multiply the numbers of all fields with one of ``names``, wherever they are."""
    if isinstance(content, dict):
        for name, value in content.items():
            if name in names and isinstance(value, int | float | list | tuple):
                content[name] = _times(value, scale)
            else:
                _multiply(value, names, scale)
    elif isinstance(content, list | tuple):
        for entry in content:
            _multiply(entry, names, scale)


def scaled(instance: Instance, names: str, scale: float) -> Any:
    """Return an instance whose fields ``names`` are multiplied by ``scale``."""
    content = instance.model_dump(mode="json")
    _multiply(content, set(names.split()), scale)
    return type(instance).model_validate(content)


FIELDS = {
    "utilities": "scale value values",
    "weights": "weight",
    "amounts": "capacity demand worker_demand ps_demand request",
    "times": "slot_seconds gradient_mb",
    "rates": "speed forward backward",
    "sizes": "flop bytes return_bytes",
}


def _oasis(axis: str, scale: float, seed: int) -> Case:
    drawn = oasis.random_instance(seed)
    if axis == "one job":
        odd = _one_job(drawn, scale, seed)
        return Case(odd, Truth("max", *[oasis.optimum(odd)] * 2), {})
    best = oasis.optimum(drawn) * (scale if axis == "utilities" else 1.0)
    return Case(scaled(drawn, FIELDS[axis], scale), Truth("max", best, best), {})


ODD: tuple[Mapping[str, Any], ...] = (
    {},
    {"worker_demand": 1e3},
    {"epochs": 1000},
    {"worker_demand": 0.0, "ps_demand": 0.0},
)
"""What one job is, in turn; of `completion`, where no job has a demand of its own, as far as it
has these fields."""


def _one_job(drawn: Any, scale: float, seed: int) -> Any:
    """Return an instance whose first job earns, or weighs, ``scale`` times as much, and is odd."""
    content = drawn.model_dump(mode="json")
    first = content["jobs"][0]
    _multiply(first, {"scale", "value", "values", "weight"}, scale)
    for name, value in ODD[(seed + seed // 4) % len(ODD)].items():
        if name in first:
            first[name] = [value] * len(first[name]) if isinstance(first[name], list) else value
    return type(drawn).model_validate(content)


def _dmlrs(axis: str, scale: float, seed: int) -> Case:
    drawn = dmlrs.tiny(seed, "link" if seed % 4 == 0 else "job")
    if axis == "one job":
        odd = _one_job(drawn, scale, seed)
        return Case(odd, Truth("max", *[dmlrs.optimum(odd)] * 2), {})
    best = dmlrs.optimum(drawn) * (scale if axis == "utilities" else 1.0)
    return Case(scaled(drawn, FIELDS[axis], scale), Truth("max", best, best), {})


def _completion(axis: str, scale: float, seed: int) -> Case:
    drawn = completion.tiny(seed)
    if axis == "one job":
        odd = _one_job(drawn, scale, seed)
        return Case(odd, Truth("min", *[completion.optimum(odd)] * 2), {})
    best = completion.optimum(drawn)
    if best is not None:
        best *= scale if axis == "weights" else 1.0
    return Case(scaled(drawn, FIELDS[axis], scale), Truth("min", best, best), {})


def _bipartite(axis: str, scale: float, seed: int) -> Case:
    if axis == "amounts":  # one of three has a machine without anything, for all of its ports
        drawn = bipartite.tiny(seed, ("linear",))
        if seed % 3 == 0:
            drawn = _emptied(drawn)
        return _enclosed(drawn, scaled(drawn, FIELDS[axis], scale), scale)
    if scale == 1.0:
        drawn = bipartite.tiny(seed)
    else:  # reciprocal utilities are no multiples of each other
        kinds = ("linear", "log", "poly")
        drawn = bipartite.tiny(2 * seed + (scale > 1), kinds)
    if scale > 100:  # an overhead is at most 1
        drawn = scaled(drawn, "overhead", 0.0)
    return _enclosed(drawn, scaled(drawn, "alpha overhead", scale), scale)


def _emptied(drawn: Any) -> Any:
    """Return the instance whose first machine has nothing."""
    machines = list(drawn.machines)
    nothing = tuple(0.0 for _ in drawn.resources)
    machines[0] = machines[0].model_copy(update={"capacity": nothing})
    return drawn.model_copy(update={"machines": tuple(machines)})


def _enclosed(drawn: Any, inst: Any, scale: float) -> Case:
    found = [
        Truth("max", *(x * scale for x in bipartite.optimum(drawn, one)), accuracy=1e-7)
        for one in (False, True)
    ]
    return Case(inst, found[0], {"stationary": found[1]})


def _bot(axis: str, scale: float, seed: int) -> Case:
    drawn = bot.tiny(seed)
    inst = scaled(drawn, FIELDS[axis], scale)
    rate = {"weights": 1.0, "rates": scale, "sizes": 1 / scale}[axis]
    low, high = bot.mean_optimum(drawn)
    levels = bot.levels(drawn) if drawn.alpha == "inf" else ()
    return Case(
        inst,
        Truth(
            "max",
            low * rate,
            high * rate,
            lambda value: math.inf if value == math.inf else bot.mean_rate(inst, value),
            accuracy=1e-7,
            levels=tuple(x * rate for x in levels),
        ),
        {},
    )


_CASES: Mapping[str, Callable[[str, float, int], Case]] = {
    "oasis": _oasis,
    "dmlrs": _dmlrs,
    "completion": _completion,
    "bipartite": _bipartite,
    "bot": _bot,
}
