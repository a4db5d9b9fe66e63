"""Result of a comparison: a row per policy with its ratio, facts of the instance.

The optimum is known as an interval: a schedule reaches one end, a bound closes the other. So a
ratio is an interval too; its low end rests on a schedule, its high end on the bound.

    maximization   OPT / ALG, OPT in [value, bound]
    minimization   ALG / OPT, OPT in [bound, value]
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from optsched.core.optimum import Optimum
from optsched.core.simulation import Run
from optsched.engine.interval import CLOSED
from optsched.numbers.json_float import Extended, Signed
from optsched.problem import (
    DECLARED,
    RELAXATION,
    Family,
    Frozen,
    InputError,
    Instance,
    Level,
    Schedule,
    Sense,
    Status,
    Verdict,
    get_family,
)

if TYPE_CHECKING:
    from pandas import DataFrame

LOAD, PARALLEL = "offered load", "jobs with more than one worker"  # facts that families describe
TELLING = 1.02  # best trivial ratio from which a policy can be much better than the baselines


class Ratio(Frozen):
    """The interval of one ratio; 1 is the best with hindsight."""

    low: Extended = Field(description="the ratio is at least this: a schedule proves it")
    high: Extended | None = Field(description="and at most this; None: no bound is known")
    exact: bool = Field(description="both ends agree within 1e-6")
    bounded: Literal["low", "high"] | None = Field(
        description="the end that rests on a bound, not on a schedule; None: it is exact"
    )
    guarantee: Extended | None = Field(
        default=None, description="the theory's bound on the ratio for this instance"
    )
    claimed: bool = Field(
        default=False, exclude=True, description="no certificate proves its high end"
    )

    @model_validator(mode="after")
    def _ends_in_order(self) -> Self:
        if self.high is not None and self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}, expected at most that")
        return self

    @classmethod
    def of(
        cls,
        sense: Sense,
        earned: float,
        value: float,
        bound: float | None,
        guarantee: float | None = None,
        measure: Callable[[float, float], float] | None = None,
        *,
        claimed: bool = False,
    ) -> Ratio:
        """Return the ratio of a policy that reached ``earned``.

        Parameters
        ----------
        sense : {"max", "min"}
        earned : float
            Objective of the policy, ALG.
        value : float
            Objective of the best schedule known, the policy's own included.
        bound : float or None
            No schedule is better.
        guarantee : float, optional
            The theory's bound.
        measure : callable, optional
            (earned, optimum) -> ratio, by default the quotient that the sense requests.
        claimed : bool
            No certificate proves the bound.

        Examples
        --------
        >>> print(Ratio.of("max", 4.0, 5.0, 6.0))
        between 1.25 and 1.5
        """
        if measure is None:
            measure = partial(quotient, sense)
        low = measure(earned, value)
        # Where the two sides differ by rounding alone, the schedule is right.
        high = None if bound is None else max(low, measure(earned, bound))
        exact = high is not None and (high == low or high <= low * (1 + CLOSED))
        return cls(
            low=low,
            high=high,
            exact=exact,
            bounded=None if exact else "high",
            guarantee=guarantee,
            claimed=claimed and high is not None and math.isfinite(low),
        )

    @property
    def ends(self) -> str:
        """The interval, as short as in a table.

        >>> Ratio.of("max", 4.0, 5.0, 6.0).ends, Ratio.of("max", 4.0, 5.0, None).ends
        ('1.25 .. 1.5', '>= 1.25')
        """
        if self.high is None:
            return f">= {self.low:.4g}"
        text = f"{self.low:.4g}" if self.exact else f"{self.low:.4g} .. {self.high:.4g}"
        return text + self._mark

    def __str__(self) -> str:
        if self.high is None:
            return f"at least {self.low:.4g}"
        text = f"{self.low:.4g}" if self.exact else f"between {self.low:.4g} and {self.high:.4g}"
        return text + self._mark

    @property
    def _mark(self) -> str:
        return " (claimed)" if self.claimed else ""


def quotient(sense: str, earned: float, best: float) -> float:
    """Return how much worse than the best it is.

    Of two gains it is best / earned, of two costs earned / best, so it is at least 1 in either
    sense. It is infinite where the best is a gain and nothing was gained, or where the best costs
    nothing and something was paid; 0/0 is 1.

    >>> quotient("max", 0.0, 2.0), quotient("max", 0.0, 0.0), quotient("min", 4.0, 2.0)
    (inf, 1.0, 2.0)
    >>> quotient("max", -6.0, -3.0), quotient("min", -6.0, -12.0), quotient("max", -1.0, 0.0)
    (2.0, 2.0, inf)
    """
    gain, most = (earned, best) if sense == "max" else (-earned, -best)
    if gain == most:
        return 1.0
    if most > 0:
        return most / gain if gain > 0 else math.inf
    if most == 0:
        return math.inf if gain < 0 else 0.0
    return max(0.0, gain / most)


def measure_of(family: Family, instance: Instance) -> Callable[[float, float], float]:
    """Return (earned, best) -> ratio, as the family measures it."""
    if family.measure is None:
        return partial(quotient, family.sense)
    return partial(family.measure, instance)


class Regret(Frozen):
    """How much more a reference reaches than a policy did; negative where the policy did better."""

    low: Signed = Field(description="at least this: the reference's schedule proves it")
    high: Signed | None = Field(description="at most this: the reference's bound proves it")

    def __str__(self) -> str:
        if self.high is None:
            return f"at least {self.low:.5g}"
        low, high = f"{self.low:.5g}", f"{self.high:.5g}"
        return low if low == high else f"{low} to {high}"


class EvaluatedPolicy(Frozen):
    """One row: a policy (or a schedule from outside) and its ratio."""

    name: str
    information: str = Field(description="information of the policy; 'unknown' if external")
    own: tuple[str, ...] = Field(default=(), description="statistics from outside that it knew")
    seal: str = Field(
        default="unknown", description="whether it ran in a sandbox: 'sandbox', 'no sandbox', ..."
    )
    decision_limit: float | None = Field(
        default=None, description="seconds that each decision was allowed; None: no limit"
    )
    value: Signed
    obeys: bool = Field(description="it keeps to the model; else its ratio may be below 1")
    completed: int | None = Field(description="jobs that were completed; None: none do")
    columns: dict[str, float | str] = Field(default={}, description="measures of the family's own")
    ratio: Ratio
    to_relaxation: Extended | None = Field(
        default=None, description="the same ratio to the value of the relaxation, if computed"
    )
    regret: dict[str, Regret] = Field(default={}, description="by reference next to the optimum")
    seconds: float | None = Field(description="time for all decisions; None from outside")
    slowest: float | None = Field(description="time of the slowest decision, s")

    def __str__(self) -> str:
        promised = self.ratio.guarantee
        theory = "" if promised is None else f" (guaranteed: at most {promised:.4g})"
        left = "" if self.obeys else "; it leaves the model"
        knows = f"; knows {', '.join(self.known)}" if self.known else ""
        text = f"ratio {self.ratio}{theory}{left}{knows}; {self.seal}"
        return f"{self.name} reaches {self.value:.6g}, {text}"

    @property
    def known(self) -> tuple[str, ...]:
        """What it knew beforehand that no online algorithm of the family does."""
        return (*self.information.split(", ")[1:], *self.own)


class Failed(Frozen):
    """Failed run of a policy: the error, with its traceback."""

    name: str
    why: str = Field(description="states which policy it was")

    def __str__(self) -> str:
        return self.why


class Facts(Frozen):
    """Facts of an instance that are reported with any ratio."""

    size: str = Field(description="as the family puts it: '100 jobs'")
    jobs: int | None = Field(description="jobs that may complete; None: a family without")
    offered_load: Extended | None = Field(
        description="requested / what there is, of the scarcest resource; None: unknown"
    )
    scarcest: str = Field(default="", description="the scarcest resource")
    parallel_share: float | None = Field(description="share of jobs with more than one worker")
    trivial_policy: str | None
    trivial_ratio: Extended | None = Field(description="low end of the best baseline's ratio")
    trivial_most: Extended | None = Field(default=None, description="its high end")
    claimed: bool = Field(
        default=False, exclude=True, description="no certificate proves the high end"
    )

    @property
    def telling(self) -> bool:
        """Whether a policy can be much better than the baselines, for all that is proved."""
        most = self.trivial_ratio if self.trivial_most is None else self.trivial_most
        return most is None or most >= TELLING

    @property
    def caution(self) -> str:
        """That no policy can be much better than the baselines; "" if one can."""
        if self.telling:
            return ""
        near = f"{self.trivial_policy}, a baseline, is within 2 % of the optimum"
        return f"{near}: no policy can be much better"

    def __str__(self) -> str:
        parts = [self.size]
        if self.parallel_share is not None:
            parts.append(f"{self.parallel_share:.0%} with more than one worker")
        if self.offered_load is not None:
            of = f" of {self.scarcest}" if self.scarcest else ""
            parts.append(f"offered load {self.offered_load:.3g}{of}")
        if self.trivial_ratio is not None:
            most = self.trivial_ratio if self.trivial_most is None else self.trivial_most
            ends = dict.fromkeys(f"{x:.4g}" for x in (self.trivial_ratio, most))
            mark = " (claimed)" if self.claimed else ""
            parts.append(f"baseline {self.trivial_policy} with ratio {' .. '.join(ends)}{mark}")
        return ", ".join(parts)


class RatioReport(Frozen):
    """Policies compared with the best with hindsight, on one instance."""

    facts: Facts
    optimum: Optimum
    hindsight: dict[str, float] = Field(
        default={}, description="measures of the family's own, of the best schedule known"
    )
    in_words: tuple[str, ...] = Field(
        default=(), description="sentences of the family on the optimum, such as hours"
    )
    improved_by: str | None = Field(
        default=None, description="the policy whose schedule no search has beaten, if there is one"
    )
    references: dict[str, Optimum] = Field(
        default={}, description="further references of the comparison"
    )
    integrality_gap: tuple[Extended, Extended] | None = Field(
        default=None,
        description="the ratio of the optimum to the relaxation: at least, at most; None: no "
        "relaxation was requested",
    )
    policies: tuple[EvaluatedPolicy, ...]
    failed: tuple[Failed, ...] = Field(default=(), description="policies that have no row")
    runs: tuple[Run, ...] = Field(default=(), description="runs of the policies")
    outside: dict[str, Schedule] = Field(
        default={}, description="schedules from outside, by the names of their rows"
    )
    listed: tuple[str, ...] = Field(
        default=(), description="remarks on the log, as the file states them"
    )

    @property
    def ranked(self) -> list[EvaluatedPolicy]:
        """The rows, the best value first."""
        sign = -1 if self.optimum.sense == "max" else 1
        return sorted(self.policies, key=lambda row: sign * row.value)

    @property
    def rule(self) -> str:
        """What the best policy does, of those that can be deployed; "" if that is not described."""
        rules = get_family(self.optimum.family).rules
        rows = [row for row in self.ranked if row.name in rules]
        usable = [row for row in rows if row.columns.get("run times known") != "exact"] or rows
        return f"{usable[0].name}: {rules[usable[0].name]}." if usable else ""

    def schedules(self) -> dict[str, Schedule]:
        """Return the schedule behind each row, by its name."""
        return {run.policy: run.schedule for run in self.runs} | self.outside

    def table(self) -> DataFrame:
        """Return a row per policy, with the numbers of the printed table.

        Columns that `Campaign.table` also has bear the same names: ``value`` is the objective, in
        its unit (of `rigid`, `optsched show` names it), ``ratio_low`` and ``ratio_high`` are the
        ends of the ratio, ``seconds`` is the time of all decisions and ``max_seconds`` that of the
        slowest one. ``obeys`` is False where the printed table has an asterisk. Numbers that are
        not known are NaN.
        """
        from pandas import DataFrame

        lp, rows = RELAXATION in self.references, []
        for row in self.policies:
            cells: dict[str, Any] = {"policy": row.name, "obeys": row.obeys, "value": row.value}
            cells |= {} if self.facts.jobs is None else {"completed": row.completed}
            cells |= row.columns
            cells |= {"ratio_low": row.ratio.low, "ratio_high": row.ratio.high}
            cells |= {"ratio_to_lp": row.to_relaxation} if lp else {}
            for name, regret in row.regret.items():
                cells[f"regret_to_{name}_low"] = regret.low
                cells[f"regret_to_{name}_high"] = regret.high
            cells |= {
                "guarantee": row.ratio.guarantee,
                "seconds": row.seconds,
                "max_seconds": row.slowest,
                "decision_limit": row.decision_limit,
            }
            numbers = {n: math.nan if x is None else x for n, x in cells.items()}
            words = {"information": ", ".join([row.information, *row.own]), "sandbox": row.seal}
            rows.append(numbers | words)
        return DataFrame(rows)

    def _repr_html_(self) -> str:
        """Return optimum, table without empty columns, and failures, as a notebook shows them."""
        shown = self.table().dropna(axis="columns", how="all")
        table = shown.to_html(index=False, na_rep="", float_format="{:.6g}".format)
        failed = [f"<p>failed: {escape(str(failure))}</p>" for failure in self.failed]
        return "\n".join([self.optimum._repr_html_(), table, *failed])

    def __repr__(self) -> str:
        rows = ", ".join(f"{row.name} {row.ratio.ends}" for row in self.policies)
        return f"<RatioReport {self.optimum.family}: {rows or 'no policies'}>"

    def __str__(self) -> str:
        lines = [str(self.optimum), f"instance: {self.facts}"]
        if self.improved_by is not None:
            lines.append(f"the best schedule known is that of {self.improved_by}")
        lines += [f"{name} reference: {found}" for name, found in self.references.items()]
        if self.integrality_gap is not None:
            lines.append(f"integrality gap: {self.gap_in_words}")
        lines += [f"  {row}" for row in self.policies]
        lines += [f"  failed: {failure}" for failure in self.failed]
        lines += filter(None, [self.nil_optimum or self.facts.caution])
        return "\n".join(lines)

    @property
    def nil_optimum(self) -> str:
        """That the optimum may be 0, where a ratio is 1 or infinite; "" if it is not."""
        value, bound = self.optimum.value, self.optimum.bound
        waits = self.optimum.family == "rigid"  # no other objective of this family may be 0
        if value is None or bound is None or (value and (bound or not waits)):
            return ""
        low, high = sorted((value, bound))
        where = f"from {low:.3g} to {high:.3g}" if low < high else f"{low:.3g}"
        told = f"the optimum is {where}, where ratios mean little: compare the values"
        return told + ", or take --objective flow" * waits

    @property
    def gap_in_words(self) -> str:
        """The integrality gap, as in a table; 1 states that the relaxation loses nothing."""
        assert self.integrality_gap is not None
        low, high = self.integrality_gap
        text = f"{low:.6g}" if high <= low * (1 + CLOSED) else f"{low:.6g} .. {high:.6g}"
        level = self.references[RELAXATION].bound_level
        return text if level is Level.CERTIFIED else f"{text} ({level})"

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "family": self.optimum.family,
            "instance_sha256": self.optimum.instance_sha256,
            "facts": self.facts.model_dump(mode="json") | {"telling": self.facts.telling},
            "reference": self.optimum.summary() | {"improved_by": self.improved_by},
            "hindsight": self.hindsight,
            "in_words": self.in_words,
            "references": {name: found.summary() for name, found in self.references.items()},
            "integrality_gap": self.integrality_gap,
            "policies": [
                row.model_dump(mode="json") | {"guarantee": row.ratio.guarantee}
                for row in self.policies
            ],
            "failed": [failure.model_dump(mode="json") for failure in self.failed],
        }


@dataclass(frozen=True)
class CheckedSchedule:
    """A schedule that the strict feasibility check accepts, and whose it is."""

    name: str
    schedule: Schedule
    verdict: Verdict

    @property
    def value(self) -> float:
        """Value of the schedule."""
        assert self.verdict.value is not None  # the feasibility check has accepted it
        return self.verdict.value


def found_by(family: Family, instance: Instance, runs: Sequence[Run]) -> list[CheckedSchedule]:
    """Return the policies' schedules, as far as they are feasible in the model.

    The runs were checked, so that only schedules are checked of which something is left out.
    """
    found = [
        CheckedSchedule(r.policy, r.schedule, Verdict(value=r.value, completion=r.completion))
        if family.trim is None
        else CheckedSchedule(r.policy, *family.strictly(instance, r.schedule))
        for r in runs
        if r.obeys
    ]
    return [f for f in found if f.verdict.value is not None and math.isfinite(f.verdict.value)]


@dataclass(frozen=True)
class RatioScale:
    """Scale of ratios on one instance."""

    family: Family
    instance: Any
    optimum: Optimum
    references: Mapping[str, Optimum]
    improved_by: str | None = None

    @classmethod
    def of(
        cls,
        family: Family,
        instance: Instance,
        optimum: Optimum,
        references: Mapping[str, Optimum],
        others: Sequence[CheckedSchedule],
    ) -> RatioScale:
        """Take the best of the other schedules where it beats the solver's; test the bound by it.

        Raises
        ------
        RuntimeError
            It beats a certified bound: a defect of this package.
        """
        best = max(others, key=lambda k: family.sign * k.value, default=None)
        if best is None:
            return cls(family, instance, optimum, references)
        if optimum.interval(instance).is_improved_by(best.value, best.schedule):
            optimum = _improved(optimum, instance, best)
        by = best.name if best.schedule is optimum.schedule else None
        return cls(family, instance, optimum, references, by)

    def report(
        self,
        runs: Sequence[Run],
        outside: Sequence[CheckedSchedule] = (),
        failed: Sequence[Failed] = (),
        *,
        behind: Sequence[Run] | None = None,
    ) -> RatioReport:
        """Return the comparison of ``runs``; those ``behind`` it also describe the instance."""
        rows = [self.evaluated(run) for run in runs]
        rows += [self.external(kept.name, kept.verdict) for kept in outside]
        return RatioReport(
            facts=facts_of(self, runs if behind is None else behind),
            optimum=self.optimum,
            hindsight=self.in_hindsight(),
            in_words=tuple(
                self.family.in_words(self.instance, self.optimum.value, self.optimum.proved)
            ),
            improved_by=self.improved_by,
            references=dict(self.references),
            integrality_gap=self.integrality_gap(),
            policies=tuple(rows),
            failed=tuple(failed),
            runs=tuple(runs),
            outside={kept.name: kept.schedule for kept in outside},
        )

    def ratio(self, earned: float, guarantee: float | None = None) -> Ratio:
        """Return an interval: its low end rests on a schedule, its high end on a certificate."""
        best = self.optimum
        if best.value is None:  # nothing ran and nothing was found: the empty schedule is known
            raise InputError("there is neither an optimum nor a policy to compare with")
        return Ratio.of(
            best.sense,
            earned,
            best.value,
            best.bound if best.proved is None else best.proved,
            guarantee,
            measure_of(self.family, self.instance),
            claimed=best.proved is None,
        )

    def regret(self, earned: float) -> dict[str, Regret]:
        """Return the distance to each further reference, and then to the optimum too."""
        others = {name: best for name, best in self.references.items() if name != RELAXATION}
        known = {"optimum": self.optimum, **others} if others else {}
        found = {}
        for name, best in known.items():
            if best.value is not None:
                low = self.family.sign * (best.value - earned)
                bound = best.bound if best.proved is None else best.proved
                high = None if bound is None else self.family.sign * (bound - earned)
                found[name] = Regret(low=low, high=None if high is None else max(low, high))
        return found

    def columns(
        self, ends: Sequence[int | None], policy: str | None = None, knows: Sequence[str] = ()
    ) -> dict[str, float | str]:
        """Return further columns of a row."""
        make = self.family.columns
        return {} if make is None else dict(make(self.instance, ends, policy, knows))

    def in_hindsight(self) -> dict[str, float]:
        """Return the same measures of the best schedule known."""
        schedule = self.optimum.schedule
        if schedule is None or self.family.columns is None:
            return {}
        found = self.columns(self.family.verify(self.instance, schedule).completion)
        return {name: x for name, x in found.items() if not isinstance(x, str)}

    def to_relaxation(self, earned: float) -> float | None:
        """Return the ratio to the value of the relaxation; None if that was not found."""
        relaxed = self.references.get(RELAXATION)
        if relaxed is None or relaxed.status is not Status.BOUND_ONLY:
            return None
        bound = relaxed.bound if relaxed.proved is None else relaxed.proved
        if bound is None:
            return None
        return measure_of(self.family, self.instance)(earned, bound)

    def integrality_gap(self) -> tuple[float, float] | None:
        """Return between which numbers the ratio of the optimum to the relaxation lies."""
        best = self.optimum
        high = None if best.value is None else self.to_relaxation(best.value)
        if high is None:
            return None
        bound = best.bound if best.proved is None else best.proved
        low = 1.0 if bound is None else self.to_relaxation(bound)
        assert low is not None
        return min(max(low, 1.0), high), high

    def evaluated(self, run: Run) -> EvaluatedPolicy:
        """Return the row of a policy.

        Raises
        ------
        RuntimeError
            Its ratio exceeds the theoretical guarantee: a defect of this package.
        """
        ratio = self.ratio(run.value, run.guarantee)
        if run.guarantee is not None and run.obeys and ratio.low > run.guarantee * (1 + CLOSED):
            raise RuntimeError(
                f"policy {run.policy} has ratio {ratio.low}, beyond the {run.guarantee} that "
                "theory guarantees: the conditions of the guarantee are wrong, or the number"
            )
        return EvaluatedPolicy(
            name=run.policy,
            information=run.informed,
            own=run.own,
            seal=run.seal,
            decision_limit=run.decision_limit,
            value=run.value,
            obeys=run.obeys,
            completed=_completed(run.completion),
            columns=self.columns(run.completion, run.policy, [*run.prior]),
            ratio=ratio,
            to_relaxation=self.to_relaxation(run.value),
            regret=self.regret(run.value),
            seconds=run.seconds,
            slowest=run.slowest,
        )

    def external(self, name: str, verdict: Verdict) -> EvaluatedPolicy:
        """Return the row of a schedule from outside, which the feasibility check has accepted."""
        assert verdict.value is not None  # the caller has seen to it
        return EvaluatedPolicy(
            name=name,
            information="unknown",
            value=verdict.value,
            obeys=verdict.obeys,
            completed=_completed(verdict.completion),
            columns=self.columns(verdict.completion),
            ratio=self.ratio(verdict.value),
            to_relaxation=self.to_relaxation(verdict.value),
            regret=self.regret(verdict.value),
            seconds=None,
            slowest=None,
        )


def _improved(optimum: Optimum, instance: Instance, best: CheckedSchedule) -> Optimum:
    """Return an optimum with a better schedule than its own, which may refute its bound."""
    bound, level, certified = optimum.bound, optimum.bound_level, optimum.proved
    update = {"value": best.value, "schedule": best.schedule, "value_level": Level.CERTIFIED}
    known = optimum.model_copy(update=update).interval(instance)
    if certified is not None:
        certified = known.at(certified).certified(best.name)
    if known.refuted:  # one schedule refutes a solver's claim
        bound, level = certified, None if certified is None else Level.CERTIFIED
    gap = known.at(bound).gap
    update |= {
        "bound": bound,
        "bound_level": level,
        "gap": gap,
        "certified_bound": certified,
        "certified_gap": known.at(certified).gap,
        "status": Status.of(gap, CLOSED, level),
    }
    return optimum.model_copy(update=update)


def meaning(family: Family, best: float | None = None) -> str:
    """Return the definition of a family's ratio: "optimum / policy", or its own.

    ``best`` is the value of the optimum, if there is a single one: two negative values have the
    inverse ratio.
    """
    if family.measure is not None:
        lines = (inspect.getdoc(family.measure) or "Return what the family defines.").splitlines()
        return lines[0].removeprefix("Return ").rstrip(".")
    negative = best is not None and best < 0
    text = "optimum / policy" if (family.sense == "max") != negative else "policy / optimum"
    if best is None and family.name in DECLARED:
        return f"{text} (the inverse where both are negative)"
    return text + " (negative values)" * negative


def _completed(completion: Sequence[int | None]) -> int | None:
    return sum(c is not None for c in completion) if completion else None


def facts_of(scale: RatioScale, runs: Sequence[Run]) -> Facts:
    """Return remarks on the instance; ``runs`` are those of the trivial policies, or more."""
    described = scale.family.describe(scale.instance)
    scarcest, load = max(_leaves(described.get(LOAD)), key=lambda leaf: leaf[1], default=("", None))
    simple = [r for r in runs if r.policy in scale.family.trivial]
    trivial = [(scale.ratio(r.value), r.policy) for r in simple]
    ratio, name = min(trivial, key=lambda t: (t[0].low, t[1]), default=(None, None))
    jobs = {len(run.completion) for run in runs if run.completion}
    return Facts(
        size=scale.family.headline(scale.instance),
        jobs=max(jobs, default=None),
        offered_load=load,
        scarcest=scarcest,
        parallel_share=described.get(PARALLEL),
        trivial_policy=name,
        trivial_ratio=None if ratio is None else ratio.low,
        trivial_most=None if ratio is None else ratio.high,
        claimed=ratio is not None and ratio.claimed,
    )


def _leaves(nested: Any, name: str = "") -> list[tuple[str, float]]:
    """Return the numbers of a nested mapping: {"ps": {"cpu": 2}} has ("ps cpu", 2)."""
    if nested is None:
        return []
    if isinstance(nested, Mapping):
        return [leaf for k, v in nested.items() for leaf in _leaves(v, f"{name} {k}".strip())]
    return [(name, float(nested))]
