"""Certificates of a Lagrangian dual bound for family `bipartite`, and their rigorous checker.

The overhead's maximum and the capacities are dualized (Boyd and Vandenberghe, 2004); rounding is
outward (Moore, 1966).

For any nu_rk >= 0 and any theta_lk >= 0 with sum_k theta_lk = n_l, no decision in Y earns more from
jobs that come n_l times than

    B = sum nu_rk c_r^k + sum over channels of max over 0 <= y <= min(a, c) of
                                                 n_l f(y) - (beta_k theta_lk + nu_rk) y,

since max_k beta_k S_lk >= sum_k (theta_lk / n_l) beta_k S_lk. Where a job gains f_k(S_lk), the
maximum is over all channels of a copy and a resource together. Two scopes:

- ``slots``: one bound for every pattern of jobs (n = x(t)), times the number of its slots; no
  sequence of decisions earns more, even with the jobs of a slot known before its decision;
- ``stationary``: one bound for the counts n_l = sum_t x_l(t); no single decision for all slots
  earns more (10).

A price set holds shares theta / n, so it may serve any pattern: with n = 0 or 1, each copy brings
the same to every pattern in which it has a job, so that a set is evaluated once.

The checker uses no solver. It takes capacities and requests with the common tolerance, the data
as the decimals that are written, and rounds everything outwards (`enclosure`, with the
limits of all magnitudes). A nu that is no float is taken as the nearest float, since any will do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, Self

import numpy as np
from pydantic import Field, NonNegativeInt

from optsched.families.bipartite.certificate.enclosure import (
    bounds_above,
    neighbours,
    sums_above,
)
from optsched.families.bipartite.instance import BipartiteInstance, RowArrays
from optsched.families.bipartite.instance_utilities import RECIPROCAL
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import EPS
from optsched.problem import Frozen
from optsched.proofs.limits import LARGEST, check_owner

LONG = 80  # characters of the longest price
LARGEST_PRICE = 2**200  # of nu, with and without its unit
FINEST = 300  # bits of nu after the point
TOLERANCE = math.nextafter(float(EPS), 1.0)
BITS, MORE_BITS = 30, 40  # of a share, and of nu relative to a mean one; with one price set: of nu


class Prices(Frozen):
    """One price set."""

    share: tuple[NonNegativeInt, ...] = Field(
        description="theta / n of every copy and resource, copy by copy, in units of "
        "2**-share_bits; the shares of a copy add up to 1"
    )
    nu: tuple[NonNegativeInt, ...] = Field(
        description="nu of every machine and resource, machine by machine, in units of 2**-nu_bits"
    )


class BipartiteCertificate(Frozen):
    """Why no decisions earn more than a bound."""

    instance_sha256: str
    scope: Literal["slots", "stationary"]
    share_bits: int = Field(ge=0, le=40)
    nu_bits: int = Field(ge=-FINEST, le=FINEST)
    prices: tuple[Prices, ...] = Field(min_length=1)
    assigned: tuple[NonNegativeInt, ...] = Field(
        description="slots: price set of every pattern of jobs, in order of first appearance"
    )

    @classmethod
    def of(
        cls,
        inst: BipartiteInstance,
        scope: Literal["slots", "stationary"],
        sets: Sequence[tuple[Floats, Floats]],
        assigned: Sequence[int],
        *,
        digest: str | None = None,
    ) -> Self:
        """Round price sets (share (C, K), nu (R * K,)) to the grid; None: compute the digest."""
        bits = _bits(inst.arrays.capacity, [nu for _, nu in sets])
        bits += MORE_BITS if scope == "stationary" else BITS
        every = shares_on_grid(np.concatenate([share for share, _ in sets]), BITS)
        shares = every.reshape(len(sets), -1).tolist()
        whole = _whole(np.rint(np.ldexp([nu for _, nu in sets], bits)))
        return cls(
            instance_sha256=inst.digest() if digest is None else digest,
            scope=scope,
            share_bits=BITS,
            nu_bits=bits,
            prices=tuple(
                Prices.model_construct(share=tuple(share), nu=tuple(nu))
                for share, nu in zip(shares, whole, strict=True)
            ),
            assigned=tuple(assigned),
        )


def _bits(capacity: Floats, prices: Sequence[Floats]) -> int:
    """Return the negated binary exponent of the average price of a unit of capacity."""
    rents = sum(float(nu @ capacity) for nu in prices)
    if not rents > 0:
        return 0
    _, exponent = math.frexp(float(capacity.sum()) * len(prices) / rents)
    return exponent


def _whole(numbers: Floats) -> list[list[int]]:
    """Return rows of whole numbers as such; numpy is the quicker where they fit."""
    small: bool = numbers.max(initial=0.0) < 2.0**62
    return (
        numbers.astype(np.int64).tolist()
        if small
        else [list(map(int, row)) for row in numbers.tolist()]
    )


def most_characters(inst: BipartiteInstance) -> int:
    """Return how long a certificate may be: one price set is always allowed."""
    a = inst.arrays
    numbers = len(a.capacity) + a.copies * a.resources + len(inst.patterns[0])
    return max(LARGEST, LONG * numbers)


def scope(certificate: BipartiteCertificate) -> str:
    """Return the question that a certificate answers: "" of all schedules, or "stationary".

    A bound on single decisions does not hold for schedules that change theirs.
    """
    return "" if certificate.scope == "slots" else certificate.scope


def shares_on_grid(share: Floats, bits: int) -> Ints:
    """Round shares so that each line adds up to 2**bits: the largest takes the remainder."""
    one = 2**bits
    grid = np.floor(np.clip(share, 0.0, 1.0) * one).astype(np.int64)
    largest = grid.argmax(axis=1)
    grid[np.arange(len(grid)), largest] += one - grid.sum(axis=1)
    return np.asarray(grid, dtype=np.int64)


def check(inst: BipartiteInstance, certificate: BipartiteCertificate) -> float:
    """Re-evaluate a certificate.

    Returns
    -------
    float
        A bound that no sequence of decisions (no single decision) exceeds.

    Raises
    ------
    ValueError
        The certificate belongs to another instance, or is malformed; the message names the place.
    """
    check_owner(inst, certificate.instance_sha256)
    size, most = len(certificate.model_dump_json()), most_characters(inst)
    if size > most:
        raise ValueError(f"the certificate has {size} characters, expected at most {most}")
    enclosed = Enclosed(inst)
    terms: list[float] = []
    for chosen, slots, weight in _weights(inst, certificate):
        share, nu = enclosed.prices(certificate, chosen)
        # shares make theta of any n: in a pattern a copy has one job, or none and earns nothing
        once = weight if certificate.scope == "stationary" else np.minimum(weight, 1)
        rents, rewards = enclosed.bounds(once, share, nu)
        terms.append(_times_above(np.array([slots]), np.array([rents]))[0])
        if certificate.scope == "stationary":
            terms += rewards.tolist()
        else:
            terms += _times_above(weight, rewards).tolist()
    try:
        bound = math.nextafter(math.fsum(terms), math.inf)
    except OverflowError:
        bound = math.inf
    if not math.isfinite(bound):
        raise ValueError("the bound is beyond the largest float, expected other prices")
    return bound if any(terms) else 0.0


def _times_above(times: Ints, amounts: Floats) -> Floats:
    """Return at least ``times`` times ``amounts``; 0 where one of them is."""
    product = times * amounts
    return np.where(product > 0, np.nextafter(product, np.inf), 0.0)


def _weights(
    inst: BipartiteInstance, certificate: BipartiteCertificate
) -> Iterator[tuple[int, int, Ints]]:
    """Yield each price set, the slots (or decisions) that it serves, and jobs in these by copy."""
    if certificate.scope == "stationary":
        if len(certificate.prices) != 1 or certificate.assigned:
            raise ValueError(
                f"a stationary certificate has {len(certificate.prices)} price sets and "
                f"{len(certificate.assigned)} assignments, expected 1 and none"
            )
        yield 0, 1, inst.counts
        return
    patterns, times = inst.patterns[0], inst.pattern_times
    if len(certificate.assigned) != len(patterns):
        raise ValueError(
            f"price sets are assigned to {len(certificate.assigned)} patterns of jobs, "
            f"expected {len(patterns)}"
        )
    if max(certificate.assigned) >= len(certificate.prices):
        raise ValueError(
            f"price set {max(certificate.assigned)} does not exist, "
            f"expected 0..{len(certificate.prices) - 1}"
        )
    assigned = np.array(certificate.assigned)
    order = np.argsort(assigned, kind="stable")
    chosen, first = np.unique(assigned[order], return_index=True)
    for k, here in zip(chosen.tolist(), np.split(order, first[1:]), strict=True):
        yield k, int(times[here].sum()), times[here] @ patterns[here]


def admitted_above(amounts: Floats, terms: Ints | int = 1) -> Floats:
    """Return upper bounds on x (1 + 1e-9) in the feasibility check, a sum of ``terms``."""

    def up(x: Floats) -> Floats:
        return np.where(x > 0, np.nextafter(x, np.inf), 0.0)

    high = up(amounts)  # the amounts are decimals; these are the floats that are nearest
    high = up(high + up(TOLERANCE * high))
    return up(high * (1.0 + np.asarray(terms) * 2.0**-51))  # the check's sum is rounded as well


class Enclosed:
    """The instance as the checker needs it: enclosed outwards."""

    def __init__(self, inst: BipartiteInstance) -> None:
        a = inst.arrays
        request = admitted_above(a.request.ravel())
        upper = request[a.port * a.resources + a.row % a.resources]
        capacity = admitted_above(a.capacity, np.diff(a.start))
        alpha = np.where(a.kind == RECIPROCAL, *neighbours(a.alpha))  # which gains less with more
        beta = np.maximum(0.0, neighbours(a.beta)[0])
        self._shape = (a.copies, a.resources)
        self._rows = RowArrays(a.start, a.port, a.kind, alpha, beta, upper, capacity)
        owners = a.port * a.resources + a.row % a.resources
        sizes = np.bincount(owners, minlength=a.copies * a.resources)
        order = np.argsort(owners, kind="stable"), np.concatenate([[0], np.cumsum(sizes)])
        self._sums = order if a.summed else None

    def bounds(self, n: Ints, share: Floats, nu: Floats) -> tuple[float, Floats]:
        """Return bounds on the rents, and on the reward of each copy with ``n`` jobs, (C,)."""
        rewards = np.zeros(self._shape[0])
        prices = n.astype(np.float64), share, nu, self._rows
        if self._sums is None:
            rents = bounds_above(*prices, rewards)
        else:
            rents = sums_above(*prices, *self._sums, rewards)
        return float(rents), rewards

    def prices(self, certificate: BipartiteCertificate, chosen: int) -> tuple[Floats, Floats]:
        """Return share, exactly, and nu as floats."""
        prices, where = certificate.prices[chosen], f"price set {chosen}"
        copies, resources = self._shape
        rows = len(self._rows.capacity)
        if len(prices.share) != copies * resources or len(prices.nu) != rows:
            raise ValueError(
                f"{where}: has {len(prices.share)} shares and {len(prices.nu)} nu, "
                f"expected {copies * resources} and {rows}"
            )
        one = 2**certificate.share_bits
        if max(prices.share) > one or max(prices.nu) >= LARGEST_PRICE:
            raise ValueError(f"{where}: a price is too large, expected below 2**200, shares to 1")
        share = np.array(prices.share, np.int64).reshape(copies, resources)
        wrong = np.flatnonzero(share.sum(axis=1) != one)
        if len(wrong):
            p = int(wrong[0])
            raise ValueError(
                f"{where}: the shares of copy {p} add up to {int(share[p].sum())}, expected {one}"
            )
        nu = np.ldexp(np.array(prices.nu, np.float64), -certificate.nu_bits)
        if nu.max() >= LARGEST_PRICE:
            raise ValueError(f"{where}: nu reaches {nu.max():.3g}, expected below 2**200")
        return np.ldexp(share.astype(np.float64), -certificate.share_bits), nu
