"""Declared problems as families: generators, policies, and everything that is derived."""

from __future__ import annotations

import inspect
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, update_wrapper
from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import Generator

from optsched.declared.certificate import Tree, check
from optsched.declared.events import (
    WIRE,
    FunctionPolicy,
    Recorder,
    View,
    assemble,
    events,
    future,
    public,
)
from optsched.declared.feasibility import verify
from optsched.declared.model import KINDS, Declared, Solution
from optsched.declared.mps import mps_and_times
from optsched.declared.params import Params
from optsched.declared.policies import POLICIES, Posted, rates
from optsched.declared.readers import models_are_held, refuse_changed
from optsched.families import later
from optsched.numbers.parameter_space import Data, ParameterSpace, Part, Range, Whole
from optsched.numbers.streams import Streams
from optsched.problem import Family, InputError, PolicyError, Sense
from optsched.process.errors import explain

LARGEST_SEED = 2**31 - 1
UNHASHABLE = re.compile(r"unhashable type: '\w*Var")
HASHABLE = "scalar variables of Pyomo cannot be keys, expected names, such as 'x[0]': "
OPTIMUM = "optsched.declared.optimum"  # imported when something is solved
OF_ARRAYS = {  # distributions whose arrays have no row for every draw
    *("choice", "dirichlet", "multinomial", "multivariate_hypergeometric", "multivariate_normal"),
}


def _not_drawn(preset: str, *, seed: int = 0, **_sizes: Any) -> Declared:  # noqa: ARG001
    raise InputError(
        "an instance is drawn by its problem, expected FILE.py:NAME instead of this family"
    )


def _headline(inst: Declared) -> str:
    name = f"{inst.problem}, " if inst.problem else ""
    return f"{name}{len(inst.columns)} variables, {len(inst.rows)} constraints"


def _describe(inst: Declared) -> dict[str, Any]:
    whole = sum(c.integer for c in inst.columns)
    return {
        "sense": inst.sense,
        "variables": len(inst.columns),
        "of them integer": whole,
        "constraints": len(inst.rows),
        "nonzeros": sum(len(r.entries) for r in inst.rows),
        "events": len({t for c in inst.columns for t in (c.revealed, c.decided)}),
    }


def _program(inst: Declared) -> Any:
    """Return the program as a Pyomo model with the names of variables and constraints."""
    if inst.cones:
        raise InputError(
            f"cone {inst.cones[0].name}: cones cannot be exported, expected a linear model"
        )
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.x = pyo.Var([c.name for c in inst.columns])
    variables = [model.x[c.name] for c in inst.columns]
    for v, c in zip(variables, inst.columns, strict=True):
        v.domain = pyo.Integers if c.integer else pyo.Reals
        v.setlb(None if math.isinf(c.lower) else c.lower)
        v.setub(None if math.isinf(c.upper) else c.upper)
    model.row = pyo.Constraint([r.name for r in inst.rows])
    for r in inst.rows:
        body = sum(a * variables[j] for j, a in r.entries)
        low = None if math.isinf(r.lower) else r.lower
        high = None if math.isinf(r.upper) else r.upper
        if r.entries and (low is not None or high is not None):
            model.row[r.name] = (low, body, high) if low != high else body == low
    cost = sum(c.cost * v for v, c in zip(variables, inst.columns, strict=True) if c.cost)
    sense = pyo.maximize if inst.sense == "max" else pyo.minimize
    model.objective = pyo.Objective(expr=cost + inst.offset, sense=sense)
    return model


def _family(sense: Sense) -> Family:
    methods = {"auto": "auto", "tree": "tree_alone", "relaxation": "relaxation", "cpsat": "cpsat"}
    return Family(
        name=KINDS[sense].family,
        title=f"Declared problems that are {'maximized' if sense == 'max' else 'minimized'}",
        sense=sense,
        instance=KINDS[sense],
        schedule=Solution,
        certificate=Tree,
        presets=("none",),
        generate=_not_drawn,
        verify=verify,
        check=check,
        events=events,
        public=public,
        wire=WIRE,
        assemble=assemble,
        policies=POLICIES | ({"posted": Posted} if sense == "max" else {}),
        without={} if sense == "max" else {"posted": "it sells capacities, and only maximizes"},
        methods={name: later(OPTIMUM, function) for name, function in methods.items()},
        params=Params,
        knowledge={"future": future, "rates": rates},
        program=_program,
        mps_and_times=mps_and_times,
        headline=_headline,
        describe=_describe,
        trivial=("greedy",),
        second={"auto": "cpsat"},
        shadow_prices=later(OPTIMUM, "shadow_prices"),
        recorder=Recorder,
        current=refuse_changed,
    )


MAX, MIN = _family("max"), _family("min")
FAMILIES: Mapping[Sense, Family] = {"max": MAX, "min": MIN}


class Draws:
    """Random numbers of a generator, one stream for every time of an array's rows.

    Row t of a drawn array belongs to time t: data computed from it may be revealed at time t or
    later, never before. ``random[t]`` is the stream of one time, ``random.at(times)`` draws arrays
    whose rows belong to other times, and ``random.public`` is for data known from the start.

    Parameters
    ----------
    seed : int
    cut : float
        From this time on, the streams are those of ``other``: so two instances are made that are
        alike before.
    other : int
    """

    def __init__(self, seed: int, cut: float = math.inf, other: int = 0) -> None:
        self._seed, self._cut, self._other = seed, cut, other
        self._seeds: Callable[[float], int] | None = None
        self._times: Sequence[float] | None = None
        self._calls, self._views, self._name = 0, 0, "draw"
        self._each: dict[float, Generator] = {}
        self.public: Generator = Streams(seed)("public")

    @classmethod
    def of(cls, public: int, seeds: Callable[[float], int]) -> Draws:
        """Return draws with a seed for each time: equal seeds draw equal numbers."""
        made = cls(public)
        made._seeds = seeds
        return made

    def at(self, times: Iterable[float]) -> Draws:
        """Return draws of arrays whose row i belongs to time ``times[i]``."""
        made = copy(self)
        made._calls, made._views = 0, 0
        self._views += 1
        made._times, made._name = [float(t) for t in times], f"{self._name} at {self._views}"
        return made

    def __getitem__(self, time: float) -> Generator:
        """Return the stream of a time, which goes on from one call to the next."""
        time = float(time)
        if time not in self._each:
            whole = time >= 0 and time.is_integer()
            name, i = ("time", int(time)) if whole else (f"time {time!r}", 0)
            self._each[time] = self._stream(name, time, i)
        return self._each[time]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or not hasattr(Generator, name):
            raise AttributeError(f"there is no distribution {name!r}, expected one of numpy's")

        if "size" not in inspect.signature(getattr(Generator, name)).parameters:
            raise InputError(
                f"random.{name} draws no rows of times, expected random[t].{name}, or "
                f"random.public.{name} for data known from the start"
            )

        def draw(*given: Any, **named: Any) -> Any:
            bound = inspect.signature(getattr(Generator, name)).bind(None, *given, **named)
            parameters = dict([*bound.arguments.items()][1:])
            size = parameters.pop("size", None)
            if size is None:
                raise InputError(
                    f"random.{name} draws one number, which belongs to no time: expected a size "
                    "whose first axis is time, random[t], or random.public"
                )
            if not parameters.get("replace", True):
                raise InputError(
                    f"random.{name} draws every row by itself, so that replace=False has no "
                    "effect: expected random.public, or random[t] for the draws of one time"
                )
            shape = tuple(np.atleast_1d(np.asarray(size, dtype=int)).tolist())
            times = shape[0] if self._times is None else len(self._times)
            if shape[0] != times:
                raise InputError(
                    f"random.{name} draws {shape[0]} rows for {times} times, expected a row for "
                    "every time"
                )
            self._calls += 1
            rows = []
            for i in range(shape[0]):
                row = {key: _row_of(name, x, i, shape) for key, x in parameters.items()}
                rows.append(getattr(self._row(i), name)(**row, size=shape[1:]))
            return np.array(rows) if rows else np.zeros(shape)

        return draw

    def _row(self, i: int) -> Generator:
        time = float(i) if self._times is None else self._times[i]
        return self._stream(f"{self._name} {self._calls}", time, i)

    def _stream(self, name: str, time: float, i: int) -> Generator:
        if self._seeds is not None:
            return Streams(self._seeds(time))(name)
        return Streams(self._seed if time < self._cut else self._other)(name, i)


def _row_of(name: str, value: Any, i: int, shape: tuple[int, ...]) -> Any:
    """Return row i of an argument that has the dimensions of the draw, else the argument."""
    if name in OF_ARRAYS or not isinstance(value, np.ndarray) or value.ndim != len(shape):
        return value
    return value[i] if value.shape[0] == shape[0] else value


@dataclass
class Problem:
    """A family of instances that a function generates; made by :func:`problem`."""

    function: Callable[..., Declared]
    sizes: Mapping[str, Mapping[str, Any]]
    policies: dict[str, FunctionPolicy] = field(default_factory=dict)
    public: Sequence[str] = ()  # sizes that are known from the start

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)
        self.name = self.function.__name__
        known = list(inspect.signature(self.function).parameters)[1:]
        for preset, given in self.sizes.items():
            for size in given:
                if size not in known:
                    raise InputError(
                        f"problem {self.name}: preset {preset!r} has {size!r}, expected one of: "
                        f"{', '.join(known) or 'none'}"
                    )
        unknown = [size for size in self.public if size not in known]
        if isinstance(self.public, str) or unknown:
            raise InputError(
                f"problem {self.name}: public is {self.public!r}, expected names of its sizes: "
                f"{', '.join(known) or 'none'}"
            )

    def __call__(self, preset: str | None = None, *, seed: int = 0, **sizes: Any) -> Declared:
        """Draw an instance.

        Parameters
        ----------
        preset : str, optional
            By default the first one.
        seed : int
        **sizes
            Arguments of the generator, other than the preset's.

        Raises
        ------
        InputError
            An unknown preset or size, a seed that is none, or the model is none that can be
            declared.
        """
        if not isinstance(seed, Integral) or seed < 0:
            raise InputError(f"{self.name}: seed {seed!r:.40}, expected an integer from 0")
        return self.draw(Draws(seed), seed, preset, sizes)

    def parameter_space(self, preset: str, **sizes: Any) -> ParameterSpace:
        """Return the search space: any random numbers, those of every time by themselves."""
        base = self(preset, **sizes)
        times = sorted({t for c in base.columns for t in (c.revealed, c.decided)})
        any_seed: dict[tuple[str | int, ...], Range] = {(): Whole(0, LARGEST_SEED)}

        def drawn(seed: int) -> Data:
            rng = Streams(seed)("hunt")
            seeds = rng.integers(LARGEST_SEED, size=len(times) + 1).tolist()
            return {"times": seeds[1:], "public": seeds[:1]}

        def made(data: Data) -> Declared:
            seeds = data["times"]
            draws = Draws.of(data["public"][0], lambda t: seeds[max(0, bisect_right(times, t) - 1)])
            return self.draw(draws, None, preset, sizes)

        events = Part("times", any_seed, least=len(times), most=len(times), numbers=True)
        return ParameterSpace(
            self.name, preset, drawn, events, (Part("public", any_seed),), make=made
        )

    def draw(
        self, draws: Draws, seed: int | None, preset: str | None, sizes: Mapping[str, Any]
    ) -> Declared:
        """Draw an instance from given random numbers."""
        chosen = preset or next(iter(self.sizes), None)
        if chosen is not None and chosen not in self.sizes:
            raise InputError(
                f"{self.name}: unknown preset {chosen!r}, expected one of: {', '.join(self.sizes)}"
            )
        given = {**(self.sizes[chosen] if chosen is not None else {}), **sizes}
        known = list(inspect.signature(self.function).parameters)[1:]
        for size in given:
            if size not in known:
                raise InputError(
                    f"{self.name}: unknown size {size!r}, expected one of: {', '.join(known)}"
                )
        with models_are_held():
            try:
                made = self.function(draws, **given)
            except InputError:
                raise
            except Exception as err:
                keys = "" if UNHASHABLE.search(str(err)) is None else HASHABLE
                raise PolicyError(f"problem {self.name}: {keys}{explain(err)}") from err
            if not isinstance(made, Declared):
                raise InputError(
                    f"problem {self.name} returned a {type(made).__name__}, "
                    "expected what optsched.online returns"
                )
            refuse_changed(made)
        drawn = "found by a search" if seed is None else f"seed={seed}"
        words = [self.name, chosen, *(f"{k}={v}" for k, v in sizes.items()), drawn]
        return made.labeled(problem=self.name, source=" ".join(w for w in words if w))

    def policy(self, function: Callable[[View], Any]) -> FunctionPolicy:
        """Make a policy of a function of an event, which returns values of variables."""
        made = FunctionPolicy(function)
        self.policies[made.name] = made
        return made

    @cached_property
    def family(self) -> Family:
        """The problem as a family of the package; its sense is that of an instance."""
        first, preset_of_first = self(), next(iter(self.sizes), None)
        known = list(inspect.signature(self.function).parameters)[1:]

        def generate(preset: str, *, seed: int = 0, **sizes: Any) -> Declared:
            if (preset, seed, sizes) == (preset_of_first, 0, {}):
                return first  # it was drawn to see its sense
            return self(preset, seed=seed, **sizes)

        return replace(
            FAMILIES[first.sense],
            title=(inspect.getdoc(self.function) or self.name).splitlines()[0],
            presets=tuple(self.sizes) or ("default",),
            sizes=tuple(known),
            generate=generate,
            parameter_space=self.parameter_space,
        )


def problem(
    *, sizes: Mapping[str, Mapping[str, Any]], public: Sequence[str] = ()
) -> Callable[[Callable[..., Declared]], Problem]:
    """Make a family of a function that generates instances.

    The function takes random numbers (:class:`Draws`) and sizes, and returns what
    :func:`optsched.online` returns.

    Parameters
    ----------
    sizes : mapping
        Preset -> arguments of the function; the first preset is drawn where none is named.
    public : sequence of str
        Arguments that are known from the start, such as the number of days of a season. What
        depends on others before its time is a leak.

    Raises
    ------
    InputError
        A preset has an argument that the function does not have, or ``public`` names one.
    """
    if not sizes:
        raise InputError("sizes is empty, expected at least one preset, such as {'small': {}}")
    return lambda function: Problem(function, sizes, public=public)
