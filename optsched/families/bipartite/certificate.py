"""Certificates of an upper bound on the reward of family `bipartite`, and their checker.

For any nu_rk >= 0 and any theta_lk >= 0 with sum_k theta_lk = n_l, no decision in Y earns more from
jobs that come n_l times than

    B = sum nu_rk c_r^k + sum over channels of max over 0 <= y <= min(a, c) of
                                                 n_l f(y) - (beta_k theta_lk + nu_rk) y,

since max_k beta_k S_lk >= sum_k (theta_lk / n_l) beta_k S_lk. Two scopes:

- ``slots``: one bound for every pattern of jobs (n = x(t)), times the number of its slots; no
  sequence of decisions earns more, even by one who knows the jobs of a slot before it decides;
- ``stationary``: one bound for the counts n_l = sum_t x_l(t); no single decision for all slots
  earns more (10).

A price set holds shares theta / n, so it may serve any pattern. The checker knows no solver. It
takes capacities and requests with the judge's tolerance, the data as the decimals that are written,
prices as exact numbers on their grid, and rounds everything outwards (`enclosure`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt

from optsched.families.bipartite.certificate_enclosure import (
    bound_above,
    neighbours,
    up,
)
from optsched.families.bipartite.instance import BipartiteInstance, Floats, Ints
from optsched.problem import Frozen
from optsched.resources import EPS

LARGEST = 20_000_000  # characters of a certificate's JSON text
LARGEST_PRICE = 2**53
TOLERANCE = math.nextafter(float(EPS), 1.0)
BITS = 30  # of a share, and of nu where that leaves it below 2**53


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
    nu_bits: int = Field(ge=0, le=60)
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
    ) -> Self:
        """Round price sets (share (C, K), nu (R * K,)) to the grid."""
        dearest = max((float(nu.max(initial=0.0)) for _, nu in sets), default=0.0)
        room = 50 - int(np.ceil(np.log2(max(dearest, 1.0))))
        bits = min(BITS if scope == "slots" else 40, room)
        return cls(
            instance_sha256=inst.digest(),
            scope=scope,
            share_bits=BITS,
            nu_bits=bits,
            prices=tuple(
                Prices.model_construct(
                    share=tuple(shares_on_grid(share, BITS).ravel().tolist()),
                    nu=tuple(np.rint(nu * 2.0**bits).astype(np.int64).tolist()),
                )
                for share, nu in sets
            ),
            assigned=tuple(assigned),
        )


def shares_on_grid(share: Floats, bits: int) -> Ints:
    """Round shares so that each line adds up to 2**bits: the largest takes what is left over."""
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
    if certificate.instance_sha256 != inst.digest():
        raise ValueError(
            f"the certificate belongs to instance {certificate.instance_sha256}, "
            f"this instance is {inst.digest()}"
        )
    size = len(certificate.model_dump_json())
    if size > LARGEST:
        raise ValueError(f"the certificate has {size} characters, expected at most {LARGEST}")
    program = _Program(inst)
    if certificate.scope == "stationary":
        if len(certificate.prices) != 1 or certificate.assigned:
            raise ValueError(
                f"a stationary certificate has {len(certificate.prices)} price sets and "
                f"{len(certificate.assigned)} assignments, expected 1 and none"
            )
        return program.bound(certificate, 0, inst.counts)
    patterns, which = inst.patterns
    if len(certificate.assigned) != len(patterns):
        raise ValueError(
            f"price sets are assigned to {len(certificate.assigned)} patterns of jobs, "
            f"expected {len(patterns)}"
        )
    total = 0.0
    for pattern, times, chosen in zip(
        patterns, np.bincount(which, minlength=len(patterns)), certificate.assigned, strict=True
    ):
        if chosen >= len(certificate.prices):
            raise ValueError(
                f"price set {chosen} does not exist, expected 0..{len(certificate.prices) - 1}"
            )
        total = up(total + up(float(times) * program.bound(certificate, chosen, pattern)))
    return float(total)


def admitted_above(amounts: Floats) -> Floats:
    """Return floats at least what the judge admits: x + 1e-9 max(1, x), rounded outwards."""

    def up(x: Floats) -> Floats:
        return np.asarray(np.nextafter(x, np.inf), dtype=np.float64)

    high = up(amounts)  # the amounts are decimals; these are the floats that are nearest
    return up(high + up(TOLERANCE * np.maximum(1.0, high)))


class _Program:
    """The instance as the checker needs it: enclosed outwards."""

    def __init__(self, inst: BipartiteInstance) -> None:
        a = inst.arrays
        request = admitted_above(a.request.ravel())
        rows = np.repeat(np.arange(len(a.capacity)), np.diff(a.start))
        upper = request[a.port * a.resources + rows % a.resources]
        capacity = admitted_above(a.capacity)
        alpha = neighbours(a.alpha)
        beta_low = np.maximum(0.0, neighbours(a.beta)[0])
        self._shape = (a.copies, a.resources)
        self._rows = len(a.capacity)
        self._graph = (a.start, a.port, a.kind, *alpha, beta_low, upper, capacity)
        self._read: dict[int, tuple[Floats, Floats]] = {}

    def bound(self, certificate: BipartiteCertificate, chosen: int, n: NDArray[Any]) -> float:
        """Return the bound of one price set on jobs that come ``n`` times, shape (C,)."""
        share, nu = self._prices(certificate, chosen)
        return float(bound_above(n.astype(np.float64), share, nu, *self._graph))

    def _prices(self, certificate: BipartiteCertificate, chosen: int) -> tuple[Floats, Floats]:
        if chosen not in self._read:
            self._read.clear()  # patterns of one price set mostly follow each other
            self._read[chosen] = self._dense(certificate, chosen)
        return self._read[chosen]

    def _dense(self, certificate: BipartiteCertificate, chosen: int) -> tuple[Floats, Floats]:
        """Return share and nu as floats, exactly."""
        prices, where = certificate.prices[chosen], f"price set {chosen}"
        copies, resources = self._shape
        if len(prices.share) != copies * resources or len(prices.nu) != self._rows:
            raise ValueError(
                f"{where}: has {len(prices.share)} shares and {len(prices.nu)} nu, "
                f"expected {copies * resources} and {self._rows}"
            )
        one = 2**certificate.share_bits
        if max(prices.share) > one or max(prices.nu) >= LARGEST_PRICE:
            raise ValueError(f"{where}: a price is too large, expected below 2**53, shares below 1")
        share = np.array(prices.share, np.int64).reshape(copies, resources)
        wrong = np.flatnonzero(share.sum(axis=1) != one)
        if len(wrong):
            p = int(wrong[0])
            raise ValueError(
                f"{where}: the shares of copy {p} add up to {int(share[p].sum())}, expected {one}"
            )
        units = (2.0**-certificate.share_bits, 2.0**-certificate.nu_bits)
        return share.astype(np.float64) * units[0], np.array(prices.nu, np.float64) * units[1]
