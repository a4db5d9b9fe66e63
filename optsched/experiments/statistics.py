"""Statistics of a campaign: ratios are intervals, and stay intervals in every statistic.

The unit is the instance: results of a policy with several seeds are averaged first. The rules:

- The best known schedule of an instance is the best of the search's and of all policies'
  that keep to the model.
- A ratio is infinite where something could be earned and nothing was; 0/0 is 1. Both are counted,
  and an infinite ratio makes the mean infinite: it is never dropped.
- An instance without a bound has no upper end, and so has the mean.
- A cell that ended in an error has no ratio. It is counted, and the statistics are those of the
  instances that have one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np
from pydantic import Field

from optsched.core.intervals import (
    FAR,
    LEVEL,
    UNSURE,
    mean_interval,
    median_interval,
    quantile90,
    share_above,
    warning,
)
from optsched.experiments.cell_keys import AHEAD
from optsched.experiments.ratios_by_policy import RatioSample
from optsched.numbers.arrays import Floats
from optsched.numbers.json_float import Extended
from optsched.problem import Frozen

MARK = "*"  # of an interval that may not hold
SAME = 1e-9  # policies whose ratios differ by less have done the same


def between(low: float, high: float) -> str:
    """Format an interval, as short as in a table.

    >>> between(1.0, 1.00001), between(1.0, 1.5), between(1.0, math.inf)
    ('1', '1 .. 1.5', '>= 1')
    """
    if math.isinf(high) and low < high:
        return f">= {low:.4g}"
    return " .. ".join(dict.fromkeys((f"{low:.4g}", f"{high:.4g}")))


class Summary(Frozen):
    """Statistics of one policy on one source."""

    group: str
    policy: str
    requested: str = Field(
        default="", description="as the plan names it, if its own name is another one"
    )
    foresight: bool = Field(
        default=False,
        description="it knew the future: its ratio is not that of an online algorithm",
    )
    own: tuple[str, ...] = Field(
        default=(), description="statistics from outside that it knew beforehand, own:NAME"
    )
    instances: int = Field(description="with a ratio")
    open: int = Field(description="instances whose optimum is not closed")
    claimed: int = Field(
        default=0, exclude=True, description="ratios whose high end no certificate proves"
    )
    errors: int = Field(description="cells without a ratio")
    infinite: int = Field(description="instances with an infinite ratio")
    nothing: int = Field(description="cells with 0/0, which counts as 1")
    unbounded: int = Field(description="instances without a bound")
    low: Extended = Field(description="mean of the low ends")
    high: Extended = Field(description="mean of the high ends")
    interval: tuple[Extended, Extended] | None = Field(
        description="95 % interval of the mean ratio; None with fewer than five instances or equal "
        "ratios"
    )
    warning: str = Field(description="why `interval` may miss the mean; '' if it is trusted")
    drawn: bool = Field(
        description="the instances are one window of a trace; the seeds draw only what it does not "
        "record, and the intervals cover these draws only"
    )
    median: Extended = Field(description="of the low ends")
    median_high: Extended = Field(description="of the high ends")
    median_interval: tuple[Extended, Extended] | None = Field(
        description="exact 95 % interval of the median; None with fewer than six instances"
    )
    far: tuple[float, float] = Field(
        description="exact 95 % interval of the share of instances with a ratio above 2"
    )
    quantile90: Extended = Field(description="of the low ends")
    quantile90_high: Extended = Field(description="of the high ends")
    worst: Extended = Field(description="the largest low end")
    worst_high: Extended = Field(description="the largest high end")
    worst_seed: int
    worst_sha256: str

    @property
    def named(self) -> str:
        """The policy, as in a table."""
        known = [AHEAD] * self.foresight + [*self.own]
        return f"{self.policy} (knows {', '.join(known)})" if known else self.policy

    @property
    def mean(self) -> str:
        """The mean, as short as in a table."""
        return self._between(self.low, self.high)

    @property
    def inside(self) -> str:
        """The interval of the mean, with a mark where it may not hold."""
        if self.interval is None:
            return f"- {MARK}"
        return "{:.4g} .. {:.4g}".format(*self.interval) + (f" {MARK}" if self.warning else "")

    @property
    def half(self) -> str:
        """The median, as short as in a table."""
        return self._between(self.median, self.median_high)

    @property
    def most(self) -> str:
        """The 90 % quantile, as short as in a table."""
        return self._between(self.quantile90, self.quantile90_high)

    @property
    def greatest(self) -> str:
        """The largest ratio, as short as in a table."""
        return self._between(self.worst, self.worst_high)

    def _between(self, low: float, high: float) -> str:
        return between(low, high) + (" (claimed)" if self.claimed else "")

    @property
    def middle(self) -> str:
        """The interval of the median."""
        if self.median_interval is None:
            return "-"
        return "{:.4g} .. {:.4g}".format(*self.median_interval)

    @property
    def beyond(self) -> str:
        """The interval of the share of instances with a ratio above 2, in per cent."""
        return "{:.0f} .. {:.0f} %".format(*(100 * x for x in self.far))


class Pair(Frozen):
    """Two policies on the same instances."""

    group: str
    first: str
    second: str
    instances: int
    better: int = Field(description="instances on which the first is better")
    worse: int = Field(description="instances on which the first is worse")
    median: Extended = Field(description="of the first's ratio over the second's")
    p: float = Field(description="Wilcoxon's signed-rank test, before Holm's correction")
    holm: float = Field(description="the same, corrected for all pairs of the group")

    @property
    def differ(self) -> bool:
        """Whether the two can be told apart."""
        return self.holm <= LEVEL

    def __str__(self) -> str:
        verb = "differ" if self.differ else "cannot be told apart"
        return (
            f"{self.group}: {self.first} and {self.second} {verb} (p = {self.holm:.2g} after Holm; "
            f"{self.first} better on {self.better} of {self.instances} instances, worse on "
            f"{self.worse})"
        )


class Statistics(Frozen):
    """Statistics of a campaign."""

    summaries: tuple[Summary, ...]
    pairs: tuple[Pair, ...]

    @cached_property
    def groups(self) -> dict[str, list[Summary]]:
        """Summaries by group of instances, in their order; the best policy of each first."""
        found: dict[str, list[Summary]] = {}
        for s in sorted(self.summaries, key=lambda s: (s.low, s.high, s.policy)):
            found.setdefault(s.group, []).append(s)
        return {s.group: found[s.group] for s in self.summaries}

    def flags(self) -> list[str]:
        """Return the remarks on the table, group by group."""
        found = []
        for group in self.groups:
            pairs = [pair for pair in self.pairs if pair.group == group]
            alike = [f"{p.first}/{p.second}" for p in pairs if not p.differ]
            if pairs and len(alike) == len(pairs):
                n = max(p.instances for p in pairs)
                unit = "window" if " windows=" in group else "instance"
                few = f"{n} {unit}s are" if n > 1 else f"1 {unit} is"
                found.append(
                    f"{group}: {few} too few to rank policies"
                    if len(pairs) * 2.0 ** (1 - n) > LEVEL
                    else f"{group}: cannot tell policies apart"
                )
            elif alike:
                found.append(f"{group}: cannot tell apart: {', '.join(alike)}")
            knowing = [s.policy for s in self.groups[group] if s.foresight]
            if knowing:
                names = ", ".join(knowing)
                found.append(f"{group}: no online algorithms, since they knew the future: {names}")
            found += _doubts(group, self.groups[group])
        return found


def _doubts(group: str, inside: Sequence[Summary]) -> list[str]:
    """Return the remarks on the intervals of a group."""
    reasons: dict[str, list[str]] = {}
    for s in inside:
        if s.warning:
            reasons.setdefault(s.warning, []).append(s.policy)
    found = []
    if reasons:
        why = "; ".join(
            reason if len(names) == len(inside) else f"{reason} ({', '.join(names)})"
            for reason, names in reasons.items()
        )
        found.append(f"{group}: {MARK} {UNSURE}: {why}")
    nothing = ", ".join(f"{s.policy} {s.nothing}" for s in inside if s.nothing)
    if nothing:
        found.append(f"{group}: cells with ratio 0/0, which counts as 1: {nothing}")
    if group.startswith("rigid ") and any(s.infinite or s.unbounded for s in inside):
        found.append(
            f"{group}: ratios are infinite where the optimum may wait 0; those of --objective flow "
            "are finite"
        )
    if any(s.drawn for s in inside):
        found.append(
            f"{group}: the intervals cover the drawn attributes only: all instances are the same "
            "window of the same trace"
        )
    return found


def statistics(found: Sequence[RatioSample], *, seed: int = 0) -> Statistics:
    """Return means with intervals, and all pairs of policies of a group.

    Parameters
    ----------
    found : sequence of RatioSample
    seed : int
        Of the bootstrap.
    """
    groups: dict[str, list[RatioSample]] = {}
    for sample in found:
        groups.setdefault(sample.group, []).append(sample)
    return Statistics(
        summaries=tuple(summary(s, seed=seed) for s in found if s.count),
        pairs=tuple(pair for inside in groups.values() for pair in pairs(inside)),
    )


def summary(sample: RatioSample, *, seed: int = 0) -> Summary:
    """Return the summary of one policy."""
    worst = int(np.argmax(sample.low))
    low, high = sample.low, sample.high
    return Summary(
        group=sample.group,
        policy=sample.policy,
        requested=sample.requested,
        foresight=sample.foresight,
        own=sample.own,
        instances=sample.count,
        open=sample.open,
        claimed=sample.claimed,
        errors=sample.errors,
        infinite=int(np.isinf(low).sum()),
        nothing=sample.nothing,
        unbounded=int((np.isinf(high) & np.isfinite(low)).sum()),
        low=float(low.mean()),
        high=float(high.mean()),
        interval=mean_interval(low, high, least=sample.least, seed=seed),
        warning=warning(low, high),
        drawn=sample.drawn,
        median=float(np.median(low)),
        median_high=float(np.median(high)),
        median_interval=median_interval(low, high),
        far=share_above(low, high, FAR),
        quantile90=quantile90(low),
        quantile90_high=quantile90(high),
        worst=float(low[worst]),
        worst_high=float(high.max()),
        worst_seed=sample.instances[worst][0],
        worst_sha256=sample.instances[worst][1],
    )


def pairs(inside: Sequence[RatioSample]) -> Iterator[Pair]:
    """Compare all policies of a group by instance; Holm's correction over all pairs.

    Which schedule is the best does not matter for that: it cancels in the quotient of two ratios.
    So policies are told apart as well where optima are open. Policies without a common instance
    are no pair: the cells of one may all have failed.
    """
    compared = [(a, b, *_signed(a, b)) for a, b in combinations(inside, 2)]
    found = [pair for pair in compared if len(pair[2])]
    p = [p for *_, p in found]
    for (a, b, differences, alone), corrected in zip(found, holm(p), strict=True):
        with np.errstate(over="ignore"):
            middle = float(np.median(np.exp(differences)))
        yield Pair(
            group=a.group,
            first=a.policy,
            second=b.policy,
            instances=len(differences),
            better=int((differences < 0).sum()),
            worse=int((differences > 0).sum()),
            median=middle,
            p=alone,
            holm=corrected,
        )


def _signed(a: RatioSample, b: RatioSample) -> tuple[Floats, float]:
    """Return the logarithms of a's ratios over b's on common instances, and the test's p."""
    from scipy.stats import wilcoxon  # here, since it takes a second to import

    place = {name: k for k, name in enumerate(b.instances)}
    common = [(k, place[name]) for k, name in enumerate(a.instances) if name in place]
    if not common:
        return np.zeros(0), 1.0
    mine, theirs = a.low[[k for k, _ in common]], b.low[[k for _, k in common]]
    with np.errstate(divide="ignore", invalid="ignore"):
        differences = np.log(mine) - np.log(theirs)
    differences = np.where(mine == theirs, 0.0, differences)  # both infinite: the same
    differences[np.abs(differences) <= SAME] = 0.0
    ranked = differences[differences != 0]
    if not len(ranked):
        return differences, 1.0
    finite = np.abs(ranked[np.isfinite(ranked)])
    most = float(finite.max()) + 1.0 if len(finite) else 1.0
    return differences, float(wilcoxon(np.clip(ranked, -most, most)).pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """Return the p-values with Holm's correction, in their order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    found = np.empty(len(p))
    raised = np.minimum(1.0, np.array(p)[order] * np.arange(len(p), 0, -1))
    found[order] = np.maximum.accumulate(raised)
    return [float(x) for x in found]


def ecdf(sample: RatioSample) -> Mapping[str, Floats]:
    """Return the share of instances with a ratio of at most x, as an interval.

    Returns
    -------
    mapping
        ``ratio``: x; ``at_least``, ``at_most``: the shares, by the high and the low ends.
    """
    x = np.unique(np.concatenate([sample.low, sample.high]))
    x = x[np.isfinite(x)]
    n = max(1, sample.count)
    return {
        "ratio": x,
        "at_least": np.searchsorted(np.sort(sample.high), x, side="right") / n,
        "at_most": np.searchsorted(np.sort(sample.low), x, side="right") / n,
    }
