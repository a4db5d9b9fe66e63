"""The best mixture of a few schedules: Newton's method with a barrier, in their shares."""

from __future__ import annotations

import numpy as np

from optsched.families.bot.instance import BotInstance
from optsched.numbers.arrays import Floats

BARRIERS = [10.0**-k for k in range(2, 14)]
STEPS = 30  # of Newton's method per barrier, at most
SETTLED = 1e-9


def logarithmic_slopes(inst: BotInstance, log_rates: Floats) -> Floats:
    """Return d ln M / d ln rho_k of the mean rate M (`certificate.bound`); they add up to 1."""
    terms = np.log(inst.weights) + (1 - float(inst.alpha)) * log_rates
    terms = np.exp(terms - terms.max())
    return np.asarray(terms / terms.sum())


def best_mixture(inst: BotInstance, totals: Floats, start: Floats) -> Floats:
    """Return shares of schedules, which add up to 1, whose mixture has the largest mean rate.

    Parameters
    ----------
    inst : BotInstance
    totals : array of shape (m, K)
        Rates of all applications in each schedule; those of the first are above 0.
    start : array of shape (m,)
        Shares to begin with, all above 0.
    """
    unit, alpha = totals[0], float(inst.alpha)
    table, shares = totals / unit, start.copy()

    def log_mean(w: Floats) -> float:
        rates = np.log(table @ w if w.ndim > 1 else w @ table) + np.log(unit)
        terms = np.log(inst.weights) + (1 - alpha) * rates
        if alpha == 1:
            return float(inst.weights @ rates / inst.weights.sum())
        top = terms.max()
        return float((np.log(np.exp(terms - top).sum()) + top) / (1 - alpha))

    for barrier in BARRIERS:
        for _ in range(STEPS):
            rates = shares @ table
            slope = logarithmic_slopes(inst, np.log(rates * unit)) / rates
            bend = np.diag(alpha * slope / rates) + (1 - alpha) * np.outer(slope, slope)
            own = shares[:, None] * table  # (m, K): relative changes of the shares are unknown
            left = np.zeros((len(shares) + 1, len(shares) + 1))
            left[:-1, :-1] = own @ bend @ own.T + barrier * np.eye(len(shares))
            left[:-1, -1] = left[-1, :-1] = shares
            right = np.append(own @ slope + barrier, 0.0)
            change = np.linalg.lstsq(left, right, rcond=None)[0][:-1]
            longest = min(1.0, 0.95 / max(float(-change.min()), 1e-300))
            goal = log_mean(shares) + barrier * float(np.log(shares).sum())
            while longest > SETTLED:
                moved = shares * (1 + longest * change)
                moved /= moved.sum()
                if log_mean(moved) + barrier * float(np.log(moved).sum()) >= goal:
                    shares = moved
                    break
                longest /= 2
            if longest * float(np.abs(change).max()) <= SETTLED:
                break
    return shares
