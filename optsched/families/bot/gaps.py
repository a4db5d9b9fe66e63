"""How far a schedule is from a bound in family `bot`, whatever the units and the utility.

For a finite alpha it is how much larger the mean rate of the bound is than that of the schedule
(`certificate.bound`): utilities may be 0, negative or huge, mean rates are rates.

Max-min compares sorted rates, the smallest first, then the next. Let x_1 <= x_2 <= ... be those of
the schedule. The distance is the largest of T_i / x_i - 1, where T_i bounds y_i from above for
every schedule that has y_l >= x_l for all l < i. Without a certificate T_i is the i-th smallest of
the rates that each application could have alone. With one it comes level by level. Suppose that of
the s settled applications k it is known that L_k <= y_k <= U_k (if y_l >= x_l for l <= s). The
prices of the level state that the others O have sum_O p_k y_k <= R = pay - sum over the settled of
p_k L_k, so that

    y_(s+1) <= max(R / sum_O p_k, U of the settled) = T_(s+1).

If now y_(s+1) >= x_(s+1) too, no application of O has less than x_q, where q is s + 1, or less as
long as x_q <= U_(q-1), the U being sorted: an application of O with less would be among the s
smallest, and push one of the settled up beyond its U. So those that the level settles have

    L_k = x_q,    U_k = (R - x_q * sum over the others in O of p) / p_k,

and T_i is the i-th smallest of all U that are known.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction

from optsched.families.bot.certificate.bound import attained, log_mean
from optsched.families.bot.certificate.check import BotCertificate, PriceLevel, levels
from optsched.families.bot.instance import BotInstance, BotSchedule, alone, latest
from optsched.families.bot.verify import totals
from optsched.numbers.resources import exact
from optsched.proofs.enclosure import ln

FARTHEST = 700  # e to the power of this is still a float
ROUNDED = 1 + Fraction(1, 10**9)  # `alone` adds up floats


def distance(
    inst: BotInstance,
    schedule: BotSchedule | None,
    value: float,
    certificate: BotCertificate | None,
    bound: float,
) -> float:
    """Return how far apart a schedule and a bound are: by which share rates could still grow.

    Parameters
    ----------
    inst : BotInstance
    schedule : BotSchedule or None
        A schedule of the value; None: two numbers are compared, for max-min the smallest rates.
    value : float
    certificate : BotCertificate or None
        Certificate of the bound; None: only the number is known.
    bound : float

    Returns
    -------
    float
        At least 0; infinite where the schedule has a mean rate of 0, and the bound has not.
    """
    if inst.alpha == "inf":
        if not (math.isfinite(value) and math.isfinite(bound)):
            return 0.0 if value == bound else math.inf
        if schedule is None:
            return _over(Fraction(bound), Fraction(value))
        proved = [] if certificate is None else levels(inst, certificate)
        return _shortfall(inst, totals(inst, schedule), proved, Fraction(bound))
    if schedule is None:
        low = _log_of(inst, math.nextafter(value, -math.inf), False)
    else:
        low = attained(inst, totals(inst, schedule))
    high = _log_of(inst, bound, True)
    if certificate is not None:
        (level,) = levels(inst, certificate)
        least = log_mean(inst, level.pay, level.task)
        high = least if high is None else min(high, least)
    if low is None or high is None:
        return math.inf
    log = abs(high - low)
    return math.expm1(float(log)) if log < FARTHEST else math.inf


@latest
def _log_of(inst: BotInstance, utility: float, up: bool) -> Fraction | None:
    """Return a bound of ln M of a utility on one side; None: M is 0, or without limit."""
    if math.isinf(utility):
        return None
    alpha = exact(float(inst.alpha))
    each = Fraction(utility) / sum((exact(app.weight) for app in inst.applications), Fraction(0))
    if alpha == 1:
        return each
    base = (1 - alpha) * each
    return ln(base, up=up == (alpha < 1)) / (1 - alpha) if base > 0 else None


def _shortfall(
    inst: BotInstance, rates: Sequence[Fraction], proved: Sequence[PriceLevel], bound: Fraction
) -> float:
    """Return the largest T_i / x_i - 1."""
    x = sorted(rates)
    upper = list(_alone(inst))  # U of all applications
    lower = [Fraction(0)] * len(x)  # L of settled applications
    tops = sorted(upper)
    tops[0] = min(tops[0], bound)
    for j, level in enumerate(proved):
        others = [k for k, f in enumerate(level.floors) if f is None]
        settled = [k for k, f in enumerate(level.floors) if f is not None]
        later = proved[j + 1].floors if j + 1 < len(proved) else [Fraction(0)] * len(x)
        s, price = len(settled), level.task
        rest = level.pay - sum((price[k] * lower[k] for k in settled), Fraction(0))
        known = sorted(upper[k] for k in settled)
        tops[s] = min(tops[s], max([rest / level.others(), *known[-1:]]))
        q = s
        while q > 0 and x[q] <= known[q - 1]:
            q -= 1
        fresh = [k for k in others if later[k] is not None]
        for k in fresh:
            lower[k] = x[q]
            if price[k] > 0:
                left = rest - x[q] * (level.others() - price[k])
                upper[k] = min(upper[k], max(left / price[k], x[q]))
        known = sorted([*known, *(upper[k] for k in fresh)])
        for i in range(s + 1, s + len(fresh)):
            tops[i] = min(tops[i], known[i])
    return max(_over(top, rate) for top, rate in zip(tops, x, strict=True))


def _over(top: Fraction, rate: Fraction) -> float:
    if rate <= 0:
        return 0.0 if top <= 0 else math.inf
    return float(min(abs(top / rate - 1), Fraction(sys.float_info.max)))


@latest
def _alone(inst: BotInstance) -> list[Fraction]:
    """Return an upper bound on the rate of each application alone, shape (K,)."""
    return [Fraction(alone(inst, k)) * ROUNDED for k in range(len(inst.applications))]
