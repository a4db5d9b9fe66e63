"""The value of foresight: how much of the optimum a rolling horizon reaches, window by window.

A rolling horizon optimizes over the next time units, fixes the variables to be decided now,
and goes on (Chand, Hsu, Sethi, 2002). Its share of the certified optimum grows with its window.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from optsched.base import Label
from optsched.core import solve
from optsched.core.intervals import mean_interval, warning
from optsched.core.simulation import recorder_of
from optsched.declared.events import Event
from optsched.declared.model import Declared
from optsched.declared.policies import Duals, Forecast, Lookahead, Terminal
from optsched.declared.problem import Problem
from optsched.files.format import checked, read_json, write_json
from optsched.numbers.json_float import Signed
from optsched.numbers.streams import Streams
from optsched.problem import (
    Family,
    Frozen,
    InputError,
    Instance,
    Policy,
    PolicyError,
    Sense,
    family_of,
)
from optsched.process import interrupts
from optsched.process.errors import Explained, kind_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WINDOWS = (0.0, 1.0, 3.0, 6.0, 12.0, 24.0)
SEEDS = 10
NEAR = 0.01  # of the share of the largest window: from there on, more foresight adds little
RESOLVE = "re-solve"
SAME = 1e-6  # ends of a share that differ by less are one
MOST_WINDOWS, LARGEST_WINDOW = 200, 1e12
MOST_RUNS = 20_000  # of all windows on all instances


class WindowShare(Frozen):
    """Result of one window, over all instances."""

    window: float
    low: Signed = Field(description="mean of the least shares that the certified bound allows")
    high: Signed = Field(description="mean of the greatest shares that the incumbent allows")
    interval: tuple[Signed, float] | None = Field(
        description="95 % interval of the mean share; None with fewer than five instances or equal "
        "shares"
    )
    warning: str = Field(description="why `interval` may miss the mean; '' if it is trusted")
    value: Signed = Field(description="mean objective")

    @property
    def share(self) -> str:
        """The mean share, as short as in a table."""
        return f"{self.low:.4f}" + (f" .. {self.high:.4f}" if self.high > self.low + SAME else "")

    @property
    def inside(self) -> str:
        """The interval, as short as in a table."""
        return "-" if self.interval is None else "{:.4f} .. {:.4f}".format(*self.interval)


class Foresight(Frozen):
    """Shares of the optimum by window: the curve of foresight."""

    problem: Label
    family: Label
    sense: Sense
    windows: tuple[Annotated[float, Field(ge=0)], ...] = Field(min_length=1)
    commit: float
    terminal: Label
    forecast: Label
    seeds: tuple[int, ...] = Field(min_length=1)
    optima: tuple[tuple[Signed, Signed], ...] = Field(
        description="for each seed, the best solution of the search, and the certified bound"
    )
    values: tuple[tuple[Signed, ...], ...] = Field(description="for each window, by seed")
    seconds: float = Field(ge=0)

    @model_validator(mode="after")
    def _complete(self) -> Foresight:
        n = len(self.seeds)
        if list(self.windows) != sorted(set(self.windows)) or len(self.values) != len(self.windows):
            raise ValueError("windows: expected in order, each with its values")
        if len(self.optima) != n or any(len(row) != n for row in self.values):
            raise ValueError(f"there are {n} seeds, expected as many optima and values of a window")
        _must_be_few(self.windows, n)
        sign = 1 if self.sense == "max" else -1
        for k, (best, bound) in enumerate(self.optima):
            for value in (best, *(row[k] for row in self.values)):
                if not math.isfinite(value):
                    raise ValueError(f"seed {self.seeds[k]}: a value is {value}, expected a number")
                if sign * (value - bound) > SAME * max(1.0, abs(value), abs(bound)):
                    raise ValueError(
                        f"seed {self.seeds[k]}: the value {value:g} is better than the bound "
                        f"{bound:g}"
                    )
        return self

    @cached_property
    def points(self) -> tuple[WindowShare, ...]:
        """The curve."""
        better = max if self.sense == "max" else min
        best = [
            better(value, *(row[k] for row in self.values))
            for k, (value, _) in enumerate(self.optima)
        ]
        bounds = [bound for _, bound in self.optima]
        return tuple(
            _point(self.sense, window, row, best, bounds)
            for window, row in zip(self.windows, self.values, strict=True)
        )

    @property
    def knee(self) -> float:
        """The smallest window whose mean share is within 1 % of that of the largest window."""
        last = self.points[-1]
        least = last.low - NEAR * abs(last.low)
        return next(p.window for p in self.points if p is last or -math.inf < p.low >= least)

    def __str__(self) -> str:
        lines = [f"{self.problem}: share of the certified optimum, {self.described}"]
        for p in self.points:
            mark = " *" if p.warning else ""
            inside = "" if p.interval is None else f" (95 %: {p.inside}{mark})"
            lines.append(f"  window {p.window:g}: {p.share}{inside}, value {p.value:.6g}")
        lines.append(f"  knee: {self.knee:g}")
        doubts = dict.fromkeys(p.warning for p in self.points if p.warning and p.interval)
        lines += [f"  * perhaps not reliable: {'; '.join(doubts)}"] * bool(doubts)
        return "\n".join(lines)

    @property
    def described(self) -> str:
        """Its basis, in a phrase."""
        number = "1 instance" if len(self.seeds) == 1 else f"{len(self.seeds)} instances"
        parts = [number, f"forecast {self.forecast}"]
        parts += [f"commitment {self.commit:g}"] if self.commit else []
        parts += [f"terminal value {self.terminal}"] if self.terminal != "none" else []
        return ", ".join(parts)

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        points = [point.model_dump(mode="json") for point in self.points]
        return self.model_dump(mode="json") | {"points": points, "knee": self.knee}

    def save(self, path: Path | str) -> None:
        """Write a file, of which :func:`optsched.report` makes a page."""
        write_json(Path(path), "foresight", self.family, self.model_dump(mode="json"))

    @classmethod
    def load(cls, path: Path | str) -> Foresight:
        """Read such a file.

        Raises
        ------
        InputError
            It is none.
        """
        content = read_json(Path(path), "foresight")
        fields = {name: x for name, x in content.items() if name not in ("format", "kind")}
        return checked(cls, fields, str(path))

    def figure(self) -> Figure:
        """Draw the curve, its intervals and its knee."""
        from optsched.drawing import COLOURS, finish, headline, new_figure

        figure = new_figure(7.2, 3.8)
        axis = figure.subplots()
        x, low = list(self.windows), [p.low for p in self.points]
        axis.axhline(1.0, color=COLOURS[-1], linewidth=1, label="optimum")
        ends = [p.interval or (p.low, p.high) for p in self.points]
        band = [a for a, _ in ends], [b for _, b in ends]
        axis.fill_between(x, *band, color=COLOURS[0], alpha=0.25, linewidth=0, label="95 %")
        axis.plot(x, low, color=COLOURS[0], marker="o", markersize=4, label="rolling horizon")
        at = x.index(self.knee)
        axis.plot(x[at], low[at], "o", color=COLOURS[1], label=f"knee: {self.knee:g}")
        headline(figure, f"{self.problem}: {self.described}")
        finish(axis, "window, time units", "share of the optimum", legend=8)
        return figure


def _must_be_few(windows: Sequence[float], instances: int) -> None:
    """Raise ValueError if there is more than a page can show."""
    if len(windows) > MOST_WINDOWS or len(windows) * instances > MOST_RUNS:
        raise ValueError(
            f"there are {len(windows)} windows and {instances} instances, expected at most "
            f"{MOST_WINDOWS} windows and {MOST_RUNS} runs"
        )
    if windows[-1] > LARGEST_WINDOW:
        raise ValueError(
            f"the largest window is {windows[-1]:g}, expected at most {LARGEST_WINDOW:g}"
        )


def share(sense: Sense, value: float, best: float) -> float:
    """Return the share of an optimum that a value reaches: 1 is the optimum, less is worse.

    An optimum that is a gain (positive and maximized, or negative and minimized) is what the value
    is divided by; negative shares are losses. An optimum that is a cost is divided by the value. Of
    an optimum of 0, the share is 1 if the value is 0, else 0.

    >>> share("max", 3.0, 4.0), share("max", -1.0, 4.0), share("min", 8.0, 4.0)
    (0.75, -0.25, 0.5)
    >>> share("max", -8.0, -4.0), share("min", -3.0, -4.0), share("min", 1.0, 0.0)
    (0.5, 0.75, 0.0)
    >>> share("max", 0.0, -1e-12)
    1.0
    """
    if best == 0:
        return 1.0 if value == 0 else 0.0
    if (best > 0) == (sense == "max"):
        return value / best
    return best / value if value else 1.0  # a cost of 0 is better by rounding alone


def shares(sense: Sense, value: float, best: float, bound: float) -> tuple[float, float]:
    """Return the least and the greatest share of an optimum between a best solution and a bound.

    The share of a loss falls without limit as a gain that is the optimum approaches 0.

    >>> shares("max", -1.0, 4.0, 6.0), shares("max", -8.0, -4.0, 1.0)
    ((-0.25, -0.16666666666666666), (-inf, 0.5))
    """
    ends = share(sense, value, best), share(sense, value, bound)
    sign = 1 if sense == "max" else -1
    if sign * best <= 0 < sign * bound and sign * value < 0:
        return -math.inf, max(ends)
    return min(ends), max(ends)


def _point(
    sense: Sense,
    window: float,
    values: Sequence[float],
    best: Sequence[float],
    bounds: Sequence[float],
) -> WindowShare:
    ends = [shares(sense, *each) for each in zip(values, best, bounds, strict=True)]
    low, high = np.array(ends).T
    finite = bool(np.isfinite(low).all())  # intervals are of losses, which are skewed as ratios are
    inside = mean_interval(1 - high, 1 - low) if finite else None
    return WindowShare(
        window=window,
        low=float(low.mean()),
        high=float(high.mean()),
        interval=None if inside is None else (1 - inside[1], 1 - inside[0]),
        warning=warning(1 - high, 1 - low).replace("ratios", "shares") if finite else "",
        value=float(np.mean(values)),
    )


@interrupts.remembered()
def foresight(
    problem: Problem | Instance | Sequence[Instance],
    windows: Sequence[float] = WINDOWS,
    *,
    seeds: int | Sequence[int] | None = None,
    preset: str | None = None,
    commit: float = 0.0,
    terminal: Literal["none", "duals"] | Declared | Terminal = "none",
    forecast: Literal["perfect"] | float | Forecast = "perfect",
    time_limit: float | None = None,
    callback: Callable[[str], None] | None = None,
    **sizes: Any,
) -> Foresight:
    """Measure which share of the certified optimum a rolling horizon reaches, by its window.

    At every event the policy `lookahead` optimizes over the data revealed within the window, and
    fixes the variables to be decided now. Of a family with a policy `re-solve`, this one knows
    the jobs that arrive within the window.

    Parameters
    ----------
    problem : Problem, Instance, or sequence of Instance
    windows : sequence of float
        In time units; 0 sees nothing of the future.
    seeds : int or sequence of int, optional
        Of a problem: how many instances, or their seeds; by default 10. Of one instance: the seeds
        of the forecasts.
    preset : str, optional
        Of a problem; by default the first one.
    commit : float
        All that is to be decided within this many time units of a plan is committed at once.
    terminal : {"none", "duals"}, Declared or callable
        Terminal values. A function (variable, end of the window) returns
        the value of a unit of the variable, in the sense of the objective. An instance prices
        the state at the window's end at its duals (:class:`optsched.declared.policies.Duals`);
        "duals" takes the instance whose seed follows the last one.
    forecast : {"perfect"}, float or callable
        Forecast of variables in the window before they are revealed: a function
        (variable, time until then, random numbers) returns their cost, or a mapping of some of
        ``cost``, ``lower`` and ``upper``; a number is the relative standard error of their
        costs. Decisions are evaluated with the true data.
    time_limit : float, optional
        Seconds for each optimum, as in :func:`optsched.solve`.
    callback : callable, optional
        Called with the finished part.
    **sizes
        Of a problem, other than the preset's.

    Returns
    -------
    Foresight

    Raises
    ------
    InputError
        An option that the problem does not have, or no certified optimum.
    PolicyError
        A plan is infeasible, or a function from outside fails.
    """
    began, callback = time.perf_counter(), callback or (lambda _: None)
    steps = sorted({float(w) for w in windows})
    if not steps or not (steps[0] >= 0 and math.isfinite(steps[-1])):
        raise InputError(
            f"windows {windows}: expected at least one, of a number of time units >= 0"
        )
    chosen, instances = _instances(problem, seeds, preset, sizes)
    try:
        _must_be_few(steps, len(chosen))
    except ValueError as err:
        raise InputError(str(err)) from err
    family = family_of(instances[0])
    options: dict[str, Any] = {"commit": commit}
    if forecast != "perfect":
        options["forecast"] = forecast
    if isinstance(terminal, Declared):
        options["terminal"] = Duals(terminal)
    elif terminal == "duals":
        if not isinstance(problem, Problem):
            raise InputError(
                "terminal duals: an instance has no further seed, expected an instance as terminal"
            )
        options["terminal"] = Duals(problem(preset, seed=max(chosen) + 1, **sizes))
    elif terminal != "none":
        options["terminal"] = terminal
    make = _policies(family, options)
    values: list[list[float]] = [[] for _ in steps]
    optima: list[tuple[float, float]] = []
    known: dict[int, tuple[float, float]] = {}
    for k, (seed, inst) in enumerate(zip(chosen, instances, strict=True)):
        callback(f"instance {k + 1} of {len(chosen)}: optimum")
        if id(inst) not in known:
            known[id(inst)] = _optimum(inst, time_limit)
        optima.append(known[id(inst)])
        coming = list(family.events(inst))
        for window, row in zip(steps, values, strict=True):
            callback(f"instance {k + 1} of {len(chosen)}: window {window:g}")
            row.append(_play(family, inst, make(window, coming), coming, seed, window))
    return Foresight(
        problem=getattr(instances[0], "problem", "") or family.name,
        family=family.name,
        sense=family.sense,
        windows=tuple(steps),
        commit=commit,
        terminal="duals" if isinstance(terminal, Declared) else _named(terminal),
        forecast=f"noise {forecast:g}" if isinstance(forecast, int | float) else _named(forecast),
        seeds=tuple(chosen),
        optima=tuple(optima),
        values=tuple(map(tuple, values)),
        seconds=time.perf_counter() - began,
    )


def _named(option: Any) -> str:
    return option if isinstance(option, str) else getattr(option, "__name__", kind_of(option))


def _instances(
    problem: Problem | Instance | Sequence[Instance],
    seeds: int | Sequence[int] | None,
    preset: str | None,
    sizes: Mapping[str, Any],
) -> tuple[list[int], list[Instance]]:
    """Return seeds, and the instance of each."""
    if isinstance(problem, Problem):
        seeds = SEEDS if seeds is None else seeds
    elif preset is not None or sizes:
        raise InputError("preset and sizes are about a problem, expected an instance alone")
    found = [problem] if isinstance(problem, Instance) else problem
    if seeds is None:
        seeds = len(found) if isinstance(found, Sequence) else 1
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if isinstance(problem, Problem):
        drawn: list[Instance] = [problem(preset, seed=seed, **sizes) for seed in chosen]
    elif isinstance(problem, Instance):
        drawn = [problem] * len(chosen)
    elif isinstance(problem, Sequence) and all(isinstance(inst, Instance) for inst in problem):
        drawn = list(problem)
    else:
        raise InputError(
            f"foresight of {problem!r:.60}: expected an optsched.problem, or instances"
        )
    if not chosen or len(chosen) != len(drawn) or len({inst.family for inst in drawn}) > 1:
        raise InputError(
            f"{len(chosen)} seeds and {len(drawn)} instances, expected one for each, of one family"
        )
    return chosen, drawn


def _policies(
    family: Family, options: Mapping[str, Any]
) -> Callable[[float, Sequence[Any]], Policy]:
    """Return the factory of the policy of a window: (window, all events) -> policy."""
    if issubclass(family.instance, Declared):
        return lambda window, coming: Lookahead(window, future=coming, **options)
    if RESOLVE not in family.policies:
        raise InputError(f"family {family.name}: has no policy {RESOLVE}, which foresight is about")
    if options != {"commit": 0.0}:
        raise InputError(
            f"family {family.name}: expected no commitment, terminal value or forecast, which are "
            "about declared problems"
        )
    return lambda window, coming: family.policies[RESOLVE](window=window, coming=coming)


def _optimum(inst: Instance, time_limit: float | None) -> tuple[float, float]:
    found = solve(inst, time_limit=time_limit)
    interrupts.raise_if_interrupted()
    if found.value is None or found.proved is None:
        what = "solution" if found.value is None else "certified bound"
        raise InputError(f"{inst!r}: no {what} was found, expected more time (time_limit)")
    return found.value, found.proved


def _play(
    family: Family,
    inst: Instance,
    policy: Policy,
    coming: Sequence[Event],
    seed: int,
    window: float,
) -> float:
    """Run a policy of this package, and return its checked value; `simulate` is for any policy."""
    with Explained(f"window {window:g}, seed {seed}", InputError, PolicyError):
        policy.start(family.public(inst), {}, Streams(seed))
        record = recorder_of(family, inst, policy)
        for event in coming:
            interrupts.raise_if_interrupted()
            record.take(event, policy.step(event))
        _, verdict = record.finish()
    if verdict.value is None:
        raise PolicyError(f"window {window:g}, seed {seed}: {verdict.violations[0]}")
    return verdict.value
