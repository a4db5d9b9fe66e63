"""Dual function of alpha-fair utilities: the largest utility that a budget buys at given prices.

Prices decompose the problem as in Kelly et al. (1998), for the utilities of Mo and Walrand (2000).
Utilities are compared by their mean rate M, the equal rate that gives the same utility: with
weights g_k that add up to G,

    alpha = 1     ln M = sum_k g_k ln rho_k / G; the utility is G ln M;
    else          M^(1 - alpha) = sum_k g_k rho_k^(1 - alpha) / G;
                  the utility is G M^(1 - alpha) / (1 - alpha).

The largest mean rate that a budget ``pay`` buys if a task of application k costs p_k is

    alpha = 0     M = pay * max_k g_k / p_k / G
    alpha = 1     ln M = sum_k g_k ln(g_k pay / (G p_k)) / G
    else          ln M = ln pay
                         + alpha / (1 - alpha) ln(sum_k (g_k / G)^(1/alpha) p_k^(1 - 1/alpha)).

All of it is evaluated in logarithms, rounded upwards, so that neither a small nor a large alpha
makes a number that is out of reach: ln M is a fraction of a few hundred digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from optsched.families.bot.instance import BotInstance, latest
from optsched.numbers.resources import exact
from optsched.proofs.enclosure import exp_above, exp_below, ln, log_sum
from optsched.proofs.grid import float_above


@latest
def log_mean(inst: BotInstance, pay: Fraction, task: Sequence[Fraction]) -> Fraction:
    """Return an upper bound of ln M, for a finite alpha.

    Raises
    ------
    ValueError
        The tasks of an application are free, so that these prices bound nothing.
    """
    free = [k for k, price in enumerate(task) if price == 0]
    if free:
        raise ValueError(
            f"application {free[0]}: its tasks are free at these prices, expected all to cost"
        )
    if pay == 0:
        raise ValueError("all prices are zero, expected positive prices of used capacity")
    alpha, shares = exact(float(inst.alpha)), _shares(inst)
    if alpha == 0:
        return ln(pay * max(g / price for g, price in zip(shares, task, strict=True)), up=True)
    if alpha == 1:
        return sum(
            (g * ln(g * pay / price, up=True) for g, price in zip(shares, task, strict=True)),
            Fraction(0),
        )
    # the division by 1 - alpha turns the sides around above 1
    up, power = alpha < 1, 1 - alpha
    terms = [
        ln(g, up=up) - power * ln(price, up=False) for g, price in zip(shares, task, strict=True)
    ]
    return log_sum(terms, alpha, up=up) / power + ln(pay, up=True)


def utility_of(inst: BotInstance, log_of_mean: Fraction) -> float:
    """Return an upper bound of the utility of a mean rate of which the logarithm is given.

    Raises
    ------
    ValueError
        It is above all floats.
    """
    alpha = exact(float(inst.alpha))
    whole = sum((exact(app.weight) for app in inst.applications), Fraction(0))
    if alpha == 1:
        return float_above(whole * log_of_mean)
    power = 1 - alpha
    exp = exp_above if alpha < 1 else exp_below
    return float_above(whole * exp(power * log_of_mean) / power)


@latest
def attained(inst: BotInstance, rates: Sequence[Fraction]) -> Fraction | None:
    """Return a lower bound of ln M of given rates, for a finite alpha; None: M is 0."""
    alpha, shares = exact(float(inst.alpha)), _shares(inst)
    if max(rates) <= 0 or (alpha >= 1 and min(rates) <= 0):
        return None
    pairs = [(g, rate) for g, rate in zip(shares, rates, strict=True) if rate > 0]
    if alpha == 1:
        return sum((g * ln(rate, up=False) for g, rate in pairs), Fraction(0))
    up, power = alpha > 1, 1 - alpha
    terms = [ln(g, up=up) + power * ln(rate, up=False) for g, rate in pairs]
    return log_sum(terms, Fraction(1), up=up) / power


def _shares(inst: BotInstance) -> list[Fraction]:
    """Return weights that add up to 1."""
    weights = [exact(app.weight) for app in inst.applications]
    whole = sum(weights, Fraction(0))
    return [g / whole for g in weights]
