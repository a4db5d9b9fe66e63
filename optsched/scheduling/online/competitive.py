"""Competitive ratio of posted prices if demands are not negligible relative to capacities.

The theorems of OASiS and PD-ORS (OPT / ALG <= 2 alpha, alpha the greatest ln(U / L)) let every
demand go to 0 relative to the capacity, and the sum of all prices at the start be half of the
optimum. Without that they are false: a first job that fills a machine, and pays next to nothing for
it since all prices are still L, shuts out later jobs. What their proof states of finite demands:

Let one job take up at most the share x_r of a machine's resource r, and A_r = ln(U_r / L). A price
p that the job finds, and is charged at, grows by at most p (exp(A_r x_r) - 1); so the value of all
machines grows by at most a_r = (exp(A_r x_r) - 1) / x_r times what the job pays for it. And where a
job does not fit, the price is at least U_r exp(-A_r x_r); times b_r = exp(A_r x_r) it
is U_r, which no job pays. So the final prices times b_r, and the payoffs of the jobs, are feasible
in the dual program: with D = sum_r b_r (value of all capacity of r at L) and K = max(1, max_r a_r
b_r),

    OPT <= D + K ALG,    so    OPT / ALG <= K / (1 - D / v)    for every v with D < v <= OPT.

As x goes to 0, K goes to alpha.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class PostedPrice:
    """The price of one resource of one kind of machine."""

    ln_upper: float
    ln_lower: float
    share: float  # of a machine that one job takes up, at most
    capacity: float  # of all machines, in all slots


def proved_ratio(
    theorem: float, prices: Iterable[PostedPrice], least: float, lost: float
) -> float | None:
    """Return the guarantee on OPT / ALG: the theorem's where its proof holds, else a larger one.

    Parameters
    ----------
    theorem : float
        The ratio for negligible demands.
    prices : iterable of PostedPrice
    least : float
        A lower bound on the optimum.
    lost : float
        The sum of all payoffs that may be lost, as they are too small to count.

    Returns
    -------
    float or None
        None where nothing can be proved.
    """
    growth, opened = 1.0, lost
    for price in prices:
        span = price.ln_upper - price.ln_lower
        if span < 0 or not 0 <= price.share <= 1:
            return None
        full = span * price.share
        start = price.ln_lower + full
        # of a logarithm: beyond it, nothing is stated
        if max(2 * full, start) > 600.0:
            return None
        steepest = math.expm1(full) / price.share if price.share > 0 else span
        growth = max(growth, math.exp(full) * steepest)
        opened += math.exp(start) * price.capacity
    if opened >= least:
        return None
    # what floats and tolerances may add, relatively
    return max(theorem, growth / (1 - opened / least) * (1 + 1e-6))
