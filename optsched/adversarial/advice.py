"""The curve of ratio against prediction error: random errors, and the worst that a search finds.

A prediction is the true instance with errors of a size from 0 to 1. Errors of draws: the random
numbers of a share of all times are others. Errors of numbers: each cost, limit and coefficient is
off by at most the error, relative to it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field, model_validator

from optsched.adversarial.evaluation import Evaluation, Terms
from optsched.adversarial.search import EvolutionarySearch
from optsched.base import Label
from optsched.core import Optimum, Ratio, measure_of, simulate, solve
from optsched.core.intervals import MeanRatio, mean_ratio
from optsched.declared.advice import Follow, Guarded
from optsched.declared.events import Online
from optsched.declared.model import Declared
from optsched.declared.problem import LARGEST_SEED, Draws, Problem
from optsched.files.format import write_json
from optsched.numbers.parameter_space import (
    Data,
    ParameterSpace,
    Part,
    Range,
    Real,
    Whole,
    copied,
)
from optsched.numbers.streams import Streams
from optsched.policies.loader import name_of
from optsched.problem import Frozen, InputError, Level, PolicyError, family_of
from optsched.process import blas, interrupts, work_units

ERRORS, LAMBDAS, SEEDS = (0.0, 0.1, 0.2, 0.4, 0.8), (0.0, 0.5, 1.0), 5
WORK = 1000.0  # units of each search
EVENT = 1.5  # units of an event that a policy decides, next to those of the solvers
STRUCTURE = {0.0, 1.0, -1.0, math.inf, -math.inf}  # limits and coefficients without an error
DRAWN = 5  # predictions that a search draws before it changes some
MOST = 50  # sizes of errors, and values of lambda
ENDLESS = 1e12  # value of an infinite ratio in the search

Noise: TypeAlias = Literal["draws", "numbers"]
Predictions: TypeAlias = Declared | Callable[[Declared], Declared]


class Point(Frozen):
    """The ratios of one policy at one size of errors."""

    errors: Literal["random", "adversarial"]
    error: float = Field(ge=0, le=1)
    caution: float = Field(ge=0, le=1, description="0: follows the prediction; 1: the baseline")
    policy: Label
    ratio: MeanRatio | None = Field(description="over the instances; None: all runs failed")
    failed: int = Field(default=0, ge=0, description="instances on which the policy failed")


class Advice(Frozen):
    """The curves of all policies."""

    problem: Label
    baseline: Label
    noise: Noise
    seeds: tuple[int, ...]
    work_limit: float = Field(description="units of each search; 0: none was made")
    certified: int = Field(ge=0, description="instances whose optimum is certified")
    points: tuple[Point, ...] = Field(min_length=1, max_length=2 * MOST**2)

    @model_validator(mode="after")
    def _complete(self) -> Advice:
        n, places = len(self.seeds), {(p.errors, p.error, p.caution) for p in self.points}
        if len(places) < len(self.points):
            raise ValueError("points: two are of the same errors and caution, expected one")
        if self.certified > n or any(p.failed > n for p in self.points):
            raise ValueError(f"there are {n} instances, expected no more certified or failed ones")
        _must_be_few({p.error for p in self.points}, {p.caution for p in self.points})
        return self

    def curve(self, errors: str, caution: float) -> list[Point]:
        """Return the points of a policy, by the size of errors."""
        return [p for p in self.points if (p.errors, p.caution) == (errors, caution)]

    def save(self, path: Path | str) -> None:
        """Write a file that `optsched report` shows."""
        write_json(Path(path), "advice", self.problem, {"advice": self.model_dump(mode="json")})

    def __str__(self) -> str:
        title = f"{self.problem}: {len(self.seeds)} instances, errors of {self.noise}"
        wide = max(len(p.policy) for p in self.points) + 2
        head = f"{'errors':<12}{'error':>6}  {'policy':<{wide}}mean ratio"
        lines = [f"{title}, mean ratios with 95 % intervals", head]
        for p in self.points:
            shown = "failed" if p.ratio is None else between(p.ratio)
            shown += f", {p.failed} failed" if p.failed and p.ratio is not None else ""
            lines.append(f"{p.errors:<12}{p.error:>6g}  {p.policy:<{wide}}{shown}")
        return "\n".join(lines)


def _must_be_few(errors: Collection[float], lambdas: Collection[float]) -> None:
    """Raise ValueError if there is more than a page can show."""
    if max(len(errors), len(lambdas)) > MOST:
        raise ValueError(
            f"there are {len(errors)} errors and {len(lambdas)} lambdas, expected at most {MOST} "
            "of each"
        )


def between(ratio: MeanRatio) -> str:
    """Return a mean with its interval of confidence."""
    mean = Ratio.of("max", 1.0, ratio.low, ratio.high).ends
    return mean if ratio.interval is None else mean + " ({:.4g} .. {:.4g})".format(*ratio.interval)


@interrupts.remembered()
def advice(
    problem: Problem | Declared,
    errors: Sequence[float] = ERRORS,
    lambdas: Sequence[float] = LAMBDAS,
    *,
    seeds: int | Sequence[int] = SEEDS,
    baseline: str | Online = "re-solve",
    predictions: Predictions | None = None,
    noise: Noise | None = None,
    preset: str | None = None,
    work_limit: float = WORK,
    callback: Callable[[str], None] | None = None,
    **sizes: Any,
) -> Advice:
    """Compare policies that trust predictions with a baseline, as predictions get worse.

    Parameters
    ----------
    problem : Problem or Declared
        Instances of a problem are drawn, one per seed; else there is one, with errors per seed.
    errors : sequence of float
        Sizes of errors, from 0 to 1.
    lambdas : sequence of float
        The caution of `guarded`: 0 is `follow`, 1 is the baseline.
    seeds : int or sequence of int
        Of instances and errors; a number n stands for 0 to n - 1.
    baseline : str or Policy
        As for `guarded`.
    predictions : Declared or callable, optional
        Prediction without errors: an instance, or a function of the true one. By
        default the true one.
    noise : {"draws", "numbers"}, optional
        Erroneous part of predictions; by default the draws, if a problem draws them.
    preset, **sizes
        Of the problem.
    work_limit : float
        Units of each search for the worst prediction; 0: only random errors.
    callback : callable, optional
        Called with words that state how far it is.

    Raises
    ------
    InputError
        An error or a lambda is not from 0 to 1, or the draws of an instance are not known.
    """
    callback = callback or (lambda _: None)
    numbers = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    for name, given in (("errors", errors), ("lambdas", lambdas), ("seeds", numbers)):
        if not given:
            raise InputError(f"{name} is empty, expected at least one")
        wrong = [x for x in given if not 0 <= x <= 1 and name != "seeds"]
        if wrong:
            raise InputError(f"{name} has {wrong[0]:g}, expected numbers from 0 to 1")
    try:
        _must_be_few(errors, lambdas)
    except ValueError as err:
        raise InputError(str(err)) from err
    if not isinstance(problem, Problem | Declared):
        raise InputError(
            f"the problem is {problem!r:.60}, expected an optsched.problem, or an instance that "
            "optsched.online has made"
        )
    drawn = isinstance(problem, Problem)
    if not drawn and (preset or sizes):
        raise InputError(
            "a preset or a size is given for an instance, expected an optsched.problem"
        )
    if noise is None:
        noise = "draws" if drawn and predictions is None else "numbers"
    if noise == "draws" and (not drawn or predictions is not None):
        raise InputError(
            'noise "draws" is for predictions that a problem draws, expected "numbers"'
        )
    found: dict[tuple[str, float, float], list[Ratio | None]] = {}
    certified = 0
    case: _Case | None = None
    with blas.one_thread():
        for seed in numbers:
            callback(f"seed {seed}: the optimum")
            if case is None or isinstance(problem, Problem):
                true = problem(preset, seed=seed, **sizes) if callable(problem) else problem
                case = _Case(true, solve(true), baseline)
            best, true = case.optimum, case.true
            certified += best.status.closed and best.bound_level is Level.CERTIFIED
            if isinstance(problem, Problem) and noise == "draws":
                build = partial(_draws, problem, preset, sizes, true, seed)
            else:
                expected = predictions(true) if callable(predictions) else predictions or true
                build = partial(_numbers, expected)
            for caution in sorted({*lambdas}):
                worst: float | None = None
                for error in sorted({*errors}):
                    callback(f"seed {seed}: error {error:g}, caution {caution:g}")
                    space = build(error)
                    value = case.value(space.instance(None, space.draw(seed)), caution)
                    found.setdefault(("random", error, caution), []).append(case.ratio(value))
                    if work_limit:
                        worst = case.worse(worst, value)
                        if error and caution < 1:
                            worst = case.hunt(space, caution, seed, work_limit, worst)
                        key = "adversarial", error, caution
                        found.setdefault(key, []).append(case.ratio(worst))
    assert case is not None
    points = []
    base = baseline if isinstance(baseline, str) else name_of(baseline)
    order = sorted(found, key=lambda at: (at[0] == "adversarial", at[2], at[1]))
    for kind, error, caution in order:
        ratios = found[kind, error, caution]
        there = [r for r in ratios if r is not None]
        points.append(
            Point(
                errors=kind,
                error=error,
                caution=caution,
                policy={0.0: "follow", 1.0: base}.get(caution, f"guarded({caution:g})"),
                ratio=mean_ratio(there) if there else None,
                failed=len(ratios) - len(there),
            )
        )
    return Advice(
        problem=problem.name
        if isinstance(problem, Problem)
        else case.true.problem or case.family.name,
        baseline=base,
        noise=noise,
        seeds=numbers,
        work_limit=work_limit,
        certified=certified,
        points=tuple(points),
    )


class _Case:
    """A true instance, its optimum, and the values of policies on it."""

    def __init__(self, true: Declared, optimum: Optimum, baseline: str | Online) -> None:
        interrupts.raise_if_interrupted()
        if optimum.value is None:
            raise InputError(f"{true.problem}: no solution was found, expected one")
        self.true, self.optimum, self.baseline = true, optimum, baseline
        self.family = family_of(true)
        self._alone = self._played(baseline)
        self._bad: list[Data] = []  # predictions that searches have found
        self.draws = true.sense == "max" and any(c.integer for c in true.columns)

    def _played(self, policy: Any) -> float | None:
        """Return the value of a run, which is checked; None: the policy failed."""
        try:
            return simulate(self.true, policy).value
        except PolicyError:
            return None

    def value(self, prediction: Declared, caution: float) -> float | None:
        """Return the value that a policy reaches; the mean, where it draws one of two runs."""
        if caution == 1:
            return self._alone
        if caution and self.draws:
            planned = self._played(Follow(prediction))
            if planned is None or self._alone is None:
                return None
            return (1 - caution) * planned + caution * self._alone
        policy = Guarded(prediction, caution, self.baseline) if caution else Follow(prediction)
        return self._played(policy)

    def ratio(self, value: float | None) -> Ratio | None:
        """Return the ratio of a value."""
        if value is None:
            return None
        best = max if self.family.sense == "max" else min
        reached = best(value, self.optimum.value)  # type: ignore[type-var]
        assert reached is not None
        measure = measure_of(self.family, self.true)
        claimed = self.optimum.bound_level is not Level.CERTIFIED
        ends = value, reached, self.optimum.bound
        return Ratio.of(self.family.sense, *ends, measure=measure, claimed=claimed)

    def worse(self, one: float | None, other: float | None) -> float | None:
        """Return the worse one of two values."""
        worst = min if self.family.sense == "max" else max
        return worst((x for x in (one, other) if x is not None), default=None)

    def hunt(
        self, space: ParameterSpace, caution: float, seed: int, work: float, worst: float | None
    ) -> float | None:
        """Look for the prediction with which a policy is worst."""
        terms = Terms(family=self.family.name, policy="", preset="", share=0, earns=0)
        end = work_units.done() + work
        events = len({t for c in self.true.columns for t in (c.revealed, c.decided)})

        found: Data | None = None

        def evaluate(prediction: Any, data: Data) -> Evaluation:
            nonlocal worst, found
            interrupts.raise_if_interrupted()
            work_units.spend(EVENT * events)
            value = self.value(prediction, caution)
            before, worst, ratio = worst, self.worse(worst, value), self.ratio(value)
            found = found if worst == before else data
            low = 1.0 if ratio is None else min(ratio.low, ENDLESS)
            return Evaluation(low=low, share=1, earned=1, failed="it failed" * (ratio is None))

        known = [copied(data) for data in self._bad]
        forced = replace(space, draw=lambda chosen: known.pop() if known else space.draw(chosen))
        first = len(known) + DRAWN
        search = EvolutionarySearch(self.family, forced, terms, seed, evaluate, first)
        steps = search.steps()
        while work_units.done() < end:
            try:
                next(steps)
            except InputError:  # all predictions with so few errors are known
                break
        if found is not None:
            self._bad.append(found)
        return worst


def _space(
    times: int, each: Range, draw: Callable[[int], Data], make: Callable[[Data], Declared]
) -> ParameterSpace:
    part = Part("errors", {(): each}, least=times, most=times, numbers=True)
    return ParameterSpace("advice", "", draw, part, make=make)


def _draws(
    problem: Problem,
    preset: str | None,
    sizes: Mapping[str, Any],
    true: Declared,
    seed: int,
    error: float,
) -> ParameterSpace:
    """Return predictions in which the random numbers of a share of the times are others."""
    times = sorted({t for c in true.columns for t in (c.revealed, c.decided)})
    most = round(error * len(times))

    def draw(chosen: int) -> Data:
        rng = Streams(chosen)("advice")
        seeds = [0] * len(times)
        for t in rng.permutation(len(times))[:most].tolist():
            seeds[t] = int(rng.integers(1, LARGEST_SEED))
        return {"errors": seeds}

    def make(data: Data) -> Declared:
        others = data["errors"]
        kept = sorted((s, t) for t, s in enumerate(others) if s)[:most]
        other = dict.fromkeys(range(len(times)), 0) | {t: s for s, t in kept}
        mixed = _Mixed(seed, lambda t: other[max(0, bisect_right(times, t) - 1)])
        return problem.draw(mixed, None, preset, sizes)

    return _space(len(times), Whole(0, LARGEST_SEED), draw, make)


class _Mixed(Draws):
    """The true draws, but at some times those of other seeds."""

    def __init__(self, seed: int, other: Callable[[float], int]) -> None:
        super().__init__(seed)
        self._other_at = other

    def _stream(self, name: str, time: float, i: int) -> Any:
        return Streams(self._other_at(time) or self._seed)(name, i)


def _numbers(expected: Declared, error: float) -> ParameterSpace:
    """Return predictions whose costs, limits and coefficients are off by at most a share."""
    size = 2 * len(expected.columns) + sum(1 + len(r.entries) for r in expected.rows)

    def draw(chosen: int) -> Data:
        return {"errors": Streams(chosen)("advice").uniform(-1, 1, size).round(6).tolist()}

    def make(data: Data) -> Declared:
        off, place = data["errors"], count()
        if not error:
            return expected

        def wrong(*numbers: float, kept: bool = True) -> list[float]:
            factor = 1 + error * off[next(place)]
            return [x if kept and x in STRUCTURE else float(f"{x * factor:.9g}") for x in numbers]

        columns = []
        for c in expected.columns:
            (cost,), (low, high) = wrong(c.cost, kept=False), wrong(c.lower, c.upper)
            ends = (c.lower, c.upper) if c.integer else (low, high)
            columns.append({**dict(c), "cost": cost, "lower": ends[0], "upper": max(ends)})
        rows = []
        for r in expected.rows:
            low, high = wrong(r.lower, r.upper)
            entries = [(j, *wrong(a)) for j, a in r.entries]
            rows.append({"name": r.name, "lower": low, "upper": max(low, high), "entries": entries})
        return expected.model_copy(update={"columns": columns, "rows": rows})

    return _space(size, Real(-1, 1), draw, make)
