"""Means, medians and shares of ratios, with their intervals of confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from pydantic import Field

from optsched.core.reports import Ratio
from optsched.engine.interval import CLOSED
from optsched.numbers.arrays import Floats
from optsched.numbers.json_float import Extended
from optsched.problem import Frozen, InputError

LEVEL = 0.05  # of error
RESAMPLES = 1999
FEWEST = 5  # numbers that a bootstrap needs
ENOUGH = 50  # numbers from which the interval of a skewed mean is trusted without a warning
FAR = 2.0  # a ratio above it is far from the optimum
FURTHEST = 10.0  # standard errors from a mean to the end of its interval, at most
BATCH = 1 << 21  # numbers drawn at a time
UNSURE = "95 % interval of the mean missing, or perhaps not reliable"


class MeanRatio(Frozen):
    """Ratios of one policy over several instances."""

    count: int
    exact: int = Field(description="how many ratios are exact")
    infinite: int = Field(description="how many are infinite at their low end")
    low: Extended = Field(description="mean of the low ends")
    high: Extended | None = Field(description="mean of the high ends; None: one has no bound")
    interval: tuple[Extended, Extended] | None = Field(
        description="95 % interval of the mean; None with fewer than five instances, equal ratios, "
        "a missing bound or an infinite ratio"
    )
    warning: str = Field(default="", description="why `interval` may miss the mean; '' if trusted")
    median: Extended = Field(description="of the low ends")
    median_high: Extended | None = Field(
        default=None, description="of the high ends; None: one has no bound"
    )
    median_interval: tuple[Extended, Extended] | None = Field(
        default=None, description="exact 95 % interval of the median; None below six instances"
    )
    far: tuple[float, float] | None = Field(
        default=None, description="exact 95 % interval of the share of instances with a ratio > 2"
    )
    quantile90: Extended = Field(description="of the low ends")
    quantile90_high: Extended | None = Field(
        default=None, description="of the high ends; None: one has no bound"
    )
    worst: Ratio = Field(description="the ratio with the largest low end")

    def __str__(self) -> str:
        mean = Ratio.of("max", 1.0, self.low, self.high)
        median = Ratio.of("max", 1.0, self.median, self.median_high)
        inside = "" if self.interval is None else " (95 %: {:.4g} to {:.4g})".format(*self.interval)
        doubt = f"; {UNSURE}: {self.warning}" if self.warning else ""
        return (
            f"mean ratio {mean}{inside} over {self.count} instances, {self.exact} exact; "
            f"median {median}, worst {self.worst}{doubt}"
        )


def mean_ratio(ratios: Sequence[Ratio], *, seed: int = 0) -> MeanRatio:
    """Return the mean of ``ratios`` with a 95 % interval.

    Parameters
    ----------
    ratios : sequence of Ratio
        At least one. An infinite ratio makes the mean infinite; it is never dropped.
    seed : int
        Of the bootstrap.
    """
    if not ratios:
        raise InputError("a mean needs at least one ratio")
    low = np.array([r.low for r in ratios])
    ends = [r.high for r in ratios if r.high is not None]
    high = np.array(ends) if len(ends) == len(ratios) else None
    interval = None
    least = min(1.0, float(low.min()))
    if high is not None and np.isfinite(high).all():
        interval = mean_interval(low, high, least=least, seed=seed)
    ends_up = np.array([math.inf if r.high is None else r.high for r in ratios])
    return MeanRatio(
        count=len(ratios),
        exact=sum(r.exact for r in ratios),
        infinite=int(np.isinf(low).sum()),
        low=float(low.mean()),
        high=None if high is None else float(high.mean()),
        interval=interval,
        warning=warning(low, ends_up),
        median=float(np.median(low)),
        median_high=None if high is None else float(np.median(high)),
        median_interval=median_interval(low, ends_up),
        far=share_above(low, ends_up, FAR),
        quantile90=quantile90(low),
        quantile90_high=None if high is None else quantile90(high),
        worst=max(ratios, key=lambda r: r.low),
    )


def quantile90(ratios: Floats) -> float:
    """Return the smallest of the ratios that at least nine of ten do not exceed.

    >>> quantile90(np.arange(1.0, 21.0))
    18.0
    """
    return float(np.quantile(ratios, 0.9, method="inverted_cdf"))


def mean_interval(
    low: Floats, high: Floats, *, least: float = 0.0, seed: int = 0
) -> tuple[float, float] | None:
    """Return a 95 % interval of the mean ratio.

    It begins where the interval of the mean low end begins, and ends where that of the mean high
    end does. :func:`warning` reports when it covers the mean in fewer than 95 % of cases.

    Parameters
    ----------
    low, high : array, shape (n,)
    least : float
        No ratio is below.
    seed : int
        Of the bootstrap.

    Returns
    -------
    (float, float) or None
        None with fewer than five instances, and where all ratios are equal: their spread is
        unknown.
    """
    if len(low) < FEWEST or _equal(high) or (_equal(low) and low[0] > least):
        return None
    first = student(low, seed)[0] if np.isfinite(low).all() else math.inf
    last = student(high, seed)[1] if np.isfinite(high).all() else math.inf
    return max(least, first), last


def _equal(x: Floats) -> bool:
    """Whether ratios differ by no more than the gap of a closed optimum."""
    return bool(np.isfinite(x).all()) and float(x.max()) <= float(x.min()) * (1 + CLOSED)


def warning(low: Floats, high: Floats) -> str:
    """Return why the interval of a mean ratio may miss the mean in more than 5 % of cases.

    An interval can only rest on ratios that were seen. A ratio of 20 in one instance of twenty is
    not seen in 60 % of all samples of ten.

    Parameters
    ----------
    low, high : array, shape (n,)
        Ends of the ratios, infinite where there is no bound.

    Returns
    -------
    str
        "" where there is no reason to doubt.

    Examples
    --------
    >>> warning(np.ones(60), np.ones(60))
    'all ratios are equal'
    """
    n = len(low)
    if n > 1 and _equal(high) and _equal(low):
        return "all ratios are equal"
    if n < FEWEST:
        return f"fewer than {FEWEST} instances"
    few = _dominant(low) or _dominant(high)
    if few == 1:
        return "one instance accounts for half of the total excess over the least ratio"
    if few:
        return f"{few} of {n} instances account for half of the total excess over the least ratio"
    return f"fewer than {ENOUGH} instances" if n < ENOUGH else ""


def _dominant(x: Floats) -> int:
    """Return how many numbers account for half of the total excess; 0 if more than a tenth do."""
    if not np.isfinite(x).all():
        return 0
    excess = np.sort(x - x.min())[::-1].cumsum()
    few = int(np.searchsorted(excess, excess[-1] / 2)) + 1
    return few if excess[-1] > 0 and few <= max(1, len(x) // 10) else 0


def median_interval(low: Floats, high: Floats) -> tuple[float, float] | None:
    """Return an exact 95 % interval of the median, from order statistics.

    It holds for any distribution.

    Parameters
    ----------
    low, high : array, shape (n,)
        Ends of the ratios.

    Returns
    -------
    (float, float) or None
        None with fewer than six instances: no interval holds with 95 % confidence.

    Examples
    --------
    >>> median_interval(np.arange(10.0), np.arange(10.0))
    (1.0, 8.0)
    """
    from scipy.stats import binom  # here, since it takes a second to import

    n = len(low)
    below = int(binom.ppf(LEVEL / 2, n, 0.5))  # order statistics that may be left out at each end
    if not below:
        return None
    return float(np.sort(low)[below - 1]), float(np.sort(high)[n - below])


def share_above(low: Floats, high: Floats, threshold: float) -> tuple[float, float]:
    """Return an exact 95 % interval of the share of instances whose ratio is above a threshold.

    It is the interval of Clopper and Pearson and holds for any distribution.

    Parameters
    ----------
    low, high : array, shape (n,)
        Ends of the ratios.
    threshold : float
    """
    n = len(low)
    return (
        clopper_pearson(int((low > threshold).sum()), n)[0],
        clopper_pearson(int((high > threshold).sum()), n)[1],
    )


def clopper_pearson(count: int, number: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a probability (Clopper, Pearson).

    >>> [round(x, 4) for x in clopper_pearson(0, 30)]
    [0.0, 0.1157]
    """
    from scipy.special import betaincinv  # here, since it takes a while to import

    low = betaincinv(count, number - count + 1, LEVEL / 2) if count else 0.0
    high = betaincinv(count + 1, number - count, 1 - LEVEL / 2) if count < number else 1.0
    return float(low), float(high)


def student(x: Floats, seed: int = 0) -> tuple[float, float]:
    """Return a 95 % interval of the mean of the distribution of ``x``.

    It is the bootstrap's of Student's statistic: ratios are skewed, and at ten instances plain
    percentiles would hold the truth in 80 to 90 % of cases (benchmarks/campaign_kills.py). Fewer
    than five numbers have too few samples that differ; their interval is that of Student's table.

    Parameters
    ----------
    x : array, shape (n,)
        Finite, at least two numbers.
    seed : int
        Of the bootstrap.
    """
    n, mean = len(x), float(x.mean())
    error = float(x.std(ddof=1)) / math.sqrt(n)
    if error <= 1e-12 * abs(mean):
        return mean, mean
    if n < FEWEST:
        from scipy.special import stdtrit  # here, since it takes a while to import

        reach = float(stdtrit(n - 1, 1 - LEVEL / 2)) * error
        return mean - reach, mean + reach
    rng = np.random.default_rng(seed)
    drawn: list[Floats] = []
    size = max(1, BATCH // n)
    for begun in range(0, RESAMPLES, size):
        part = x[rng.integers(n, size=(min(size, RESAMPLES - begun), n))]
        away, spread = part.mean(axis=1) - mean, part.std(axis=1, ddof=1) / math.sqrt(n)
        # where a sample has no spread at all it is as far away as can be
        far = np.abs(away) >= FURTHEST * spread
        safe = np.where(far, 1.0, spread)
        drawn.append(np.where(far, FURTHEST * np.sign(away), away / safe))
    ends = np.quantile(np.concatenate(drawn), [LEVEL / 2, 1 - LEVEL / 2], method="inverted_cdf")
    return mean - float(ends[1]) * error, mean - float(ends[0]) * error
