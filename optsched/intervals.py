"""A ratio that is known to lie between two ends, and means of such ratios.

The optimum is known as an interval: a schedule reaches one end, a bound closes the other. So a
ratio is an interval too; its low end rests on a schedule, its high end on the bound.

    maximization   OPT / ALG, OPT in [value, bound]
    minimization   ALG / OPT, OPT in [bound, value]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from optsched.engine.progress import CLOSED
from optsched.problem import Extended, Frozen, InputError, Sense


class Ratio(Frozen):
    """What is known of one ratio; 1 is the best with hindsight."""

    low: Extended = Field(description="the ratio is at least this: a schedule proves it")
    high: Extended | None = Field(description="and at most this; None: no bound is known")
    exact: bool = Field(description="both ends agree within 1e-6")
    bounded: Literal["low", "high"] | None = Field(
        description="the end that rests on a bound, not on a schedule; None: it is exact"
    )
    guarantee: Extended | None = Field(
        default=None, description="the theory's bound on the ratio for this instance"
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
            (earned, optimum) -> ratio, by default the quotient that the sense asks for.

        Examples
        --------
        >>> print(Ratio.of("max", 4.0, 5.0, 6.0))
        between 1.25 and 1.5
        """
        if measure is None:
            measure = _best_share if sense == "max" else _divide
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
        )

    @property
    def ends(self) -> str:
        """The interval, as short as in a table.

        >>> Ratio.of("max", 4.0, 5.0, 6.0).ends, Ratio.of("max", 4.0, 5.0, None).ends
        ('1.25 .. 1.5', '>= 1.25')
        """
        if self.exact:
            return f"{self.low:.4g}"
        return f">= {self.low:.4g}" if self.high is None else f"{self.low:.4g} .. {self.high:.4g}"

    def __str__(self) -> str:
        if self.exact:
            return f"{self.low:.4g}"
        if self.high is None:
            return f"at least {self.low:.4g}"
        return f"between {self.low:.4g} and {self.high:.4g}"


def _best_share(earned: float, best: float) -> float:
    """Return best / earned; infinite where something could be earned and nothing was."""
    return math.inf if earned <= 0 < best else _divide(best, earned)


def _divide(a: float, b: float) -> float:
    """Return a / b, with 0/0 = 1 and a/0 = inf."""
    if b == 0:
        return 1.0 if a == 0 else math.inf
    return a / b


class MeanRatio(Frozen):
    """Ratios of one policy over several instances."""

    count: int
    exact: int = Field(description="how many ratios are exact")
    infinite: int = Field(description="how many are infinite at their low end")
    low: Extended = Field(description="mean of the low ends")
    high: Extended | None = Field(description="mean of the high ends; None: one has no bound")
    interval: tuple[Extended, Extended] | None = Field(
        description="95 % bootstrap interval: of the mean low end, its low; of the mean high end, "
        "its high. None with one instance, a missing bound or an infinite ratio"
    )
    median: Extended = Field(description="of the low ends")
    quantile90: Extended = Field(description="of the low ends")
    worst: Ratio = Field(description="the ratio with the largest low end")

    def __str__(self) -> str:
        mean = Ratio.of("max", 1.0, self.low, self.high)
        inside = "" if self.interval is None else " (95 %: {:.4g} to {:.4g})".format(*self.interval)
        return (
            f"mean ratio {mean}{inside} over {self.count} instances, {self.exact} exact; "
            f"median {self.median:.4g}, worst {self.worst}"
        )


def mean_ratio(ratios: Sequence[Ratio], *, seed: int = 0, resamples: int = 9999) -> MeanRatio:
    """Return the mean of ``ratios`` with a 95 % bootstrap interval (percentiles).

    Parameters
    ----------
    ratios : sequence of Ratio
        At least one. An infinite ratio makes the mean infinite; it is never dropped.
    seed : int
        Of the resampling.
    resamples : int
        Number of bootstrap samples.
    """
    if not ratios:
        raise InputError("a mean needs at least one ratio")
    low = np.array([r.low for r in ratios])
    ends = [r.high for r in ratios if r.high is not None]
    high = np.array(ends) if len(ends) == len(ratios) else None
    interval = None
    if high is not None and len(ratios) > 1 and np.isfinite(high).all():
        outer = [_bootstrap(side, seed, resamples) for side in (low, high)]
        interval = (outer[0][0], outer[1][1])
    return MeanRatio(
        count=len(ratios),
        exact=sum(r.exact for r in ratios),
        infinite=int(np.isinf(low).sum()),
        low=float(low.mean()),
        high=None if high is None else float(high.mean()),
        interval=interval,
        median=float(np.quantile(low, 0.5, method="inverted_cdf")),
        quantile90=float(np.quantile(low, 0.9, method="inverted_cdf")),
        worst=max(ratios, key=lambda r: r.low),
    )


def _bootstrap(sample: Any, seed: int, resamples: int) -> tuple[float, float]:
    from scipy.stats import bootstrap  # here, since it takes a second to import

    found = bootstrap(
        (sample,),
        np.mean,
        n_resamples=resamples,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    ci = found.confidence_interval
    return float(ci.low), float(ci.high)
