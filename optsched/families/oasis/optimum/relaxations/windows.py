"""Kernels: dynamic program over slots for one job, with bounds on its workers in each slot.

The state is the work that is still missing (Bellman, 1957). It is the pricing subproblem of a job
at a node of the branch-and-price tree, at prices per worker and slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

STEPS = 18  # elementary ones of the cheapest work, for every slot and unit of work


class ConstantRun(NamedTuple):
    """One job that runs some workers in every slot."""

    worker_price: Floats  # (T,) of one worker in a slot
    ps_price: Floats  # (T,) of one PS in a slot
    ps_needed: Ints  # (N + 1,) PS that 0, 1, ... workers need
    lower: Ints  # (T,) fewest workers
    upper: Ints  # (T,) most workers
    work: int  # worker-slots


@kernel(fastmath={"nnan", "nsz"})
def _shift_min(old: Floats, new: Floats, n: int, cost: float, work: int) -> None:
    """Let n more workers at ``cost`` compete: ``new[s]`` is at most that beyond ``old[s - n]``."""
    for s in range(n, work):
        x = old[s - n] + cost
        new[s] = x if x < new[s] else new[s]


@kernel(nogil=True)
def windowed_costs(job: ConstantRun, first: int, last: int, table: Floats, ending: Floats) -> None:
    """Cheapest cost of a job that runs ``lower[t] <= n_t <= upper[t]`` workers in slot t.

    ``table[t - first + 1, s]`` is the least cost with s worker-slots done after slot t, where s =
    work means "work or more"; ``ending[t]`` the least cost of a job whose last worker runs in
    slot t. Shapes (T + 1, work + 1 or more) and (T,).
    """
    worker_price, ps_price, ps_needed, lower, upper, work = job
    table[0, : work + 1] = np.inf
    table[0, 0] = 0.0
    for t in range(first, last + 1):
        old, new = table[t - first], table[t - first + 1]
        new[: work + 1] = np.inf
        ending[t] = np.inf
        lam, sig = worker_price[t], ps_price[t]
        enough = np.inf  # least cost of work - n or more, updated as n grows
        at = work + 1
        for n in range(upper[t] + 1):
            while at > max(0, work - n):
                at -= 1
                enough = min(enough, old[at])
            if n < lower[t]:
                continue
            cost = lam * n + sig * ps_needed[n]
            new[work] = min(new[work], enough + cost)
            if n > 0:
                ending[t] = min(ending[t], enough + cost)
            _shift_min(old, new, n, cost, work)


@kernel
def windowed_backtrack(
    job: ConstantRun, first: int, completion: int, table: Floats, ending: Floats, amount: Ints
) -> None:
    """Read a cheapest job that ends in ``completion`` out of a table.

    ``table`` and ``ending`` as in `windowed_costs`; ``amount`` (T,) receives its workers.
    """
    worker_price, ps_price, ps_needed, lower, upper, work = job
    s = work
    for t in range(completion, first - 1, -1):
        old = table[t - first]
        goal = ending[t] if t == completion else table[t - first + 1, s]
        start = max(1, lower[t]) if t == completion else lower[t]
        found = False
        for n in range(start, upper[t] + 1):
            cost = worker_price[t] * n + ps_price[t] * ps_needed[n]
            if s == work:
                for before in range(max(0, work - n), work + 1):
                    if old[before] + cost <= goal:
                        s = before
                        found = True
                        break
            elif n <= s and old[s - n] + cost <= goal:
                s -= n
                found = True
            if found:
                amount[t] = n
                break


def window_steps(first: int, last: int, work: int) -> float:
    """Return about how many elementary steps the cheapest work in a window takes."""
    return STEPS * (last - first + 1.0) * (work + 1)
