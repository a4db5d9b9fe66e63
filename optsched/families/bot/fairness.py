"""Utilities of rates: alpha-fairness, and the equivalent equal rate.

With weights g_k that add up to G, every utility has its mean M: if all applications had rate M,
the utility would be the same. M is the geometric mean for alpha = 1, the arithmetic one for
alpha = 0, the smallest rate for alpha = inf.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optsched.numbers.arrays import Floats

LARGEST_EXPONENT = 700.0  # of the range of floats


def utilities(alpha: float | str, weights: ArrayLike, rates: ArrayLike) -> Floats:
    """Return the utility sum_k g_k U(rho_k) of every row of rates, shape (T, K).

    For alpha = inf it is the smallest rate. Infinities are possible.
    """
    g, rho = np.asarray(weights, float), np.asarray(rates, float)
    if alpha == "inf":
        return np.asarray(rho.min(axis=1))
    power = 1.0 - float(alpha)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        terms = g * np.log(rho) if power == 0 else g * rho**power / power
    return np.asarray(terms.sum(axis=1))


def log_mean_rate(alpha: float | str, weights: ArrayLike, value: float) -> float:
    """Return the logarithm of the rate M that, given to all, has utility ``value``.

    >>> round(log_mean_rate(1, [1, 1], 2 * math.log(3)) - math.log(3), 12)
    0.0
    >>> log_mean_rate(0, [1, 3], 8) == math.log(2), log_mean_rate(2, [1, 1], -math.inf)
    (True, -inf)
    """
    if alpha == "inf":
        return math.log(value) if value > 0 else -math.inf
    power, each = 1.0 - float(alpha), value / float(np.sum(weights))
    if power == 0:
        return each
    if power * each > 0:
        return math.log(power * each) / power if math.isfinite(each) else -math.inf
    return math.inf if power < 0 else -math.inf  # the upper end of a utility, or the lower one


def measure(instance: Any, earned: float, reference: float) -> float:
    """Return the mean rate of the reference over that of a policy (max-min: the smallest rate).

    For proportional fairness this is exp((OPT - ALG) / sum of weights); infinite if a rate
    is 0. The mean rate is the one that, given to all, has the same utility.
    """
    if earned == reference:
        return 1.0
    best, mine = (
        log_mean_rate(instance.alpha, instance.weights, value) for value in (reference, earned)
    )
    if math.isinf(mine):
        return math.inf
    return math.exp(best - mine) if best - mine < LARGEST_EXPONENT else math.inf
