"""Methods of family `bipartite`: one concave program per pattern of jobs, or one for all slots.

The problem decomposes by slot into concave programs that duality closes (Boyd and Vandenberghe,
2004).

- ``auto``: the best decision for every pattern of jobs, each by the interior-point method
  (Mehrotra, 1992), or, for gains of the sum over machines, by the stated model and its duals; equal
  patterns are solved once. Patterns that remain unsolved when time is up get the best known
  decision and prices of the others, and of the best stationary decision, which is computed first
  unless all patterns are quick.
- ``stationary``: the best single decision for all slots (10).
- ``conic``: as ``auto``, by the stated model and a general conic solver; a cross-check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optsched.engine.budget import Limits
from optsched.engine.progress import Progress
from optsched.families.bipartite.certificate.check import (
    BipartiteCertificate,
    Enclosed,
    most_characters,
)
from optsched.families.bipartite.instance import BipartiteInstance, BipartiteSchedule
from optsched.families.bipartite.optimum.decision import Solved, Solver
from optsched.families.bipartite.optimum.initial_bounds import always
from optsched.families.bipartite.verify import Verifier
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.problem import RELAXATION, Implementation, Method
from optsched.process import work_units
from optsched.process.background import supervised

if TYPE_CHECKING:
    from optsched.families.bipartite.optimum.monolithic_conic import ConicResult

SHARE = 0.5  # of the gap that is requested; the rest is for rounding
MOST_NUMBERS = 50_000_000  # of all decisions of a schedule
CANDIDATES = 500  # decisions and prices that are tried for patterns that were not solved
REPORTING = 0.25  # time to report what was found / time to find it, at most


def _try_to_solve(
    inst: BipartiteInstance, solver: Solver | None, weight: NDArray[Any], progress: Progress
) -> Solved | None:
    """Find the best decision for numbers of jobs, by the remaining work; None: gains of sums."""
    if solver is None:
        from optsched.families.bipartite.optimum.monolithic_conic import (
            decision_for_sums,  # loads CVXPY, slowly
        )

        return decision_for_sums(inst, weight, progress.called_off, progress.limits()["effort"])
    gap = min(max(SHARE * progress.gap_limit, 1e-9), 1e-4)  # that the interior point is requested
    return solver.try_to_solve(weight, gap, progress.called_off, progress.limits()["effort"])


def auto(inst: BipartiteInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Find the best decision of every pattern of jobs."""
    if progress.stop():
        return
    solver, answer = None if inst.arrays.summed else Solver(inst), _PerSlot(inst)
    patterns, times = inst.patterns[0], inst.pattern_times
    if solver is None or not solver.quick(inst.counts, len(patterns)):
        best = _try_to_solve(inst, solver, inst.counts, progress)
        if best is None:
            return
        of_slot = replace(best, nu=best.nu / inst.horizon)  # prices of one slot, not of all
        answer.keep(None, of_slot)
    began = progress.seconds()
    try:
        for p in np.argsort(-times, kind="stable").tolist():
            reporting = REPORTING * (progress.seconds() - began)
            if progress.stop() or progress.left() <= reporting or answer.full():
                break
            solved = _try_to_solve(inst, solver, patterns[p], progress)
            if solved is None:
                break
            answer.keep(p, solved)
    finally:  # after Ctrl-C as well
        answer.report(progress)


class _PerSlot:
    """Decisions and prices by pattern; unsolved patterns get the best ones of others."""

    def __init__(self, inst: BipartiteInstance) -> None:
        self._inst = inst
        self._patterns, self._which = inst.patterns
        self._found: list[Solved] = []
        self._of = np.full(len(self._patterns), -1)  # best results of each pattern
        each = len(inst.arrays.capacity) + inst.arrays.copies * inst.arrays.resources
        # of one price in JSON, as a rule at most
        by_file = most_characters(inst) // (12 * each)
        self._most = min(by_file, MOST_NUMBERS // max(1, inst.arrays.channels))

    def full(self) -> bool:
        """Return whether a file could not hold more."""
        return len(self._found) >= self._most

    def keep(self, pattern: int | None, solved: Solved) -> None:
        """Keep the optimum of one pattern; None: a decision for those that may remain unsolved."""
        if pattern is not None:
            self._of[pattern] = len(self._found)
        self._found.append(solved)

    def report(self, progress: Progress) -> None:
        """Report the schedule, and the bound with its certificate."""
        inst = self._inst
        if not self._found:
            return
        decisions, prices = self._of.copy(), self._of.copy()
        (rest,) = np.nonzero(self._of < 0)
        known = self._found[:CANDIDATES]
        work_units.steps(len(rest) * len(known) * inst.arrays.copies)
        if len(rest):
            self._lend(rest, known, decisions, prices)
        made = self._certificate(prices, progress.digest)
        while self._long(made):  # numbers that are longer than the rule
            prices[prices >= (len(known) + 1) // 2] = 0
            known = known[: (len(known) + 1) // 2]
            made = self._certificate(prices, progress.digest)
        progress.prove(made)
        progress.incumbent(np.inf, self._schedule(decisions))  # valued by the feasibility check

    def _long(self, made: BipartiteCertificate) -> bool:
        """Return whether a certificate is too long, without writing one that is surely short."""
        one, each = made.prices[0], max(float(found.nu.max(initial=0.0)) for found in self._found)
        longest = max(2**made.share_bits, math.ceil(math.ldexp(each, made.nu_bits))) + 1
        numbers = len(made.prices) * (len(one.share) + len(one.nu)) + len(made.assigned)
        # characters of a price set without its numbers, at most
        names = 30 * (len(made.prices) + 10)
        if numbers * (len(str(longest)) + 1) + names <= most_characters(self._inst):
            return False
        return len(made.model_dump_json()) > most_characters(self._inst)

    def _lend(self, rest: Ints, known: Sequence[Solved], decisions: Ints, prices: Ints) -> None:
        """Write for the patterns ``rest`` which of the known decisions and prices are best."""
        inst = self._inst
        verifier, enclosed = Verifier(inst), Enclosed(inst)
        ones = np.ones(inst.arrays.copies, np.int64)
        bounds = [enclosed.bounds(ones, found.share, found.nu) for found in known]
        earned = np.array([verifier.rewards_of(found.y) for found in known])
        rents = np.array([rent for rent, _ in bounds])
        gained = np.array([reward for _, reward in bounds])
        # numbers that are looked at together
        step = max(1, (2**22) // len(known))
        for begin in range(0, len(rest), step):
            here = rest[begin : begin + step]
            jobs = self._patterns[here].astype(np.float64)
            decisions[here] = (jobs @ earned.T).argmax(axis=1)
            prices[here] = (rents + jobs @ gained.T).argmin(axis=1)

    def _schedule(self, numbers: Ints) -> BipartiteSchedule:
        needed, renamed = np.unique(numbers[self._which], return_inverse=True)
        return BipartiteSchedule.model_construct(
            decisions=tuple(_sparse(self._found[k].y) for k in needed),
            used=tuple(renamed.ravel().tolist()),
            rewards=(),
            record=None,
        )

    def _certificate(self, numbers: Ints, digest: str) -> BipartiteCertificate:
        needed, assigned = np.unique(numbers, return_inverse=True)
        sets = [(self._found[k].share, self._found[k].nu) for k in needed]
        owners = assigned.ravel().tolist()
        return BipartiteCertificate.of(self._inst, "slots", sets, owners, digest=digest)


def _sparse(y: Floats) -> tuple[float, ...]:
    """Return a decision as it is stored; its zeros, most of it, are one number in memory."""
    there, amounts = np.flatnonzero(y), np.full(len(y), 0.0, object)
    amounts[there] = y[there]
    return tuple(amounts.tolist())


def stationary(inst: BipartiteInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Find the best single decision for all slots (10)."""
    if progress.stop():
        return
    solver = None if inst.arrays.summed else Solver(inst)
    solved = _try_to_solve(inst, solver, inst.counts, progress)
    if solved is None:
        return
    prices = [(solved.share, solved.nu)]
    made = BipartiteCertificate.of(inst, "stationary", prices, (), digest=progress.digest)
    progress.prove(made)
    progress.incumbent(np.inf, always(inst, solved.y))


def conic(inst: BipartiteInstance, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve every pattern by the declared model; claims, proves nothing."""
    from optsched.families.bipartite.optimum.monolithic_conic import (
        conic_optimum,  # here, since CVXPY loads slowly
    )

    def solving(pattern: Flags, limits: Limits) -> Callable[[Any], ConicResult | None]:
        return lambda _stopped: conic_optimum(inst, pattern, threads=threads, **limits)

    patterns, which = inst.patterns
    decisions, total, trusted = [], 0.0, True
    for pattern, n in zip(patterns, inst.pattern_times, strict=True):
        if progress.stop():
            return
        found = supervised(solving(pattern, progress.limits()), progress.called_off, patience=0.0)
        if found is None:
            return
        decisions.append(tuple(found.y.tolist()))
        total += float(n) * (found.value + found.error)
        trusted = trusted and found.trusted
    schedule = BipartiteSchedule.model_construct(
        decisions=tuple(decisions), used=tuple(which.tolist()), rewards=(), record=None
    )
    if trusted:
        progress.claim(Implementation.CLARABEL, total)
    progress.incumbent(np.inf, schedule)


METHODS: Mapping[str, Method] = {
    "auto": auto,
    "stationary": stationary,
    "conic": conic,
    RELAXATION: auto,  # the program is convex, and so its own relaxation
}
