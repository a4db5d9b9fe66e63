"""Rolling horizons of a battery and of lots, by the definition: one program a step, with scipy.

The battery is that of docs/gallery/battery.py; nothing of its model is read but the prices.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog

SIZE, KEPT = 4, 0.9


def battery(prices: Sequence[float], window: int) -> float:
    """Return what is earned: each hour the best plan up to the end of the window, then one step."""
    level, earned = 0.0, 0.0
    for hour in range(len(prices)):
        ahead = np.array(prices[hour : hour + window + 1])
        n = len(ahead)
        below = np.tril(np.ones((n, n)))
        levels = np.hstack([KEPT * below, -below])  # what purchases and sales add to each level
        found = linprog(
            np.concatenate([ahead, -ahead]),
            A_ub=np.vstack([levels, -levels]),
            b_ub=np.concatenate([np.full(n, SIZE - level), np.full(n, level)]),
            bounds=(0, 1),
            method="highs-ipm",
        )
        buy, sell = found.x[0], found.x[n]
        level += KEPT * buy - sell
        earned += prices[hour] * (sell - buy)
    return earned
