"""Rewards and optima of family `bipartite` to many digits, from the decimals that are written."""

from __future__ import annotations

from decimal import Decimal, getcontext

from optsched.families.bipartite.instance import BipartiteInstance
from optsched.families.bipartite.instance_utilities import KINDS, LINEAR, LOG, POLY, RECIPROCAL

getcontext().prec = 60


def written(x: float) -> Decimal:
    """Return the decimal that is written for ``x``."""
    return Decimal(repr(float(x)))


def utility(kind, alpha, y):
    """f(y) of (60)."""
    alpha, y = Decimal(alpha), Decimal(y)
    return {
        LINEAR: lambda: alpha * y,
        LOG: lambda: alpha * (1 + y).ln(),
        RECIPROCAL: lambda: y / (alpha * (y + alpha)),
        POLY: lambda: alpha * y / ((1 + y).sqrt() + 1),
    }[kind]()


def best_amount(kind, alpha, n, u, price):
    """The maximizer of n f(y) - price y on [0, u]."""
    alpha, n, u, price = map(Decimal, (alpha, n, u, price))
    if price <= 0:
        return u
    y = {
        LINEAR: lambda: u if n * alpha > price else Decimal(0),
        LOG: lambda: n * alpha / price - 1,
        RECIPROCAL: lambda: (n / price).sqrt() - alpha,
        POLY: lambda: (n * alpha / (2 * price)) ** 2 - 1,
    }[kind]()
    return min(max(y, Decimal(0)), u)


def separable_optimum(inst: BipartiteInstance) -> Decimal:
    """Return the optimum where there is one resource, and every machine serves one job at most.

    Then nobody takes anything from anybody, and the overhead is that of each channel by itself: so
    the best decision is the same in all slots, and the stationary optimum, too, is this one.
    """
    assert len(inst.resources) == 1
    assert all(len(m.ports) <= 1 for m in inst.machines)
    jobs = [sum(counts) for counts in zip(*inst.arrivals, strict=True)]
    total, beta = Decimal(0), written(inst.overhead[0])
    for machine in inst.machines:
        for p in machine.ports:
            kind, alpha = KINDS.index(machine.utility[0].kind), written(machine.utility[0].alpha)
            u = min(written(machine.capacity[0]), written(inst.ports[p].request[0]))
            y = best_amount(kind, alpha, 1, u, beta)
            total += jobs[p] * max(Decimal(0), utility(kind, alpha, y) - beta * y)
    return total
