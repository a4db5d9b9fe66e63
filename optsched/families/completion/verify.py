"""Feasibility check of family `completion`, from the definition (2), (15), without solver code."""

from __future__ import annotations

import math
from fractions import Fraction

from optsched.families.completion.instance import CompletionInstance, CompletionSchedule, Piece
from optsched.numbers.resources import exact, slack, usable
from optsched.problem import Verdict, Violation
from optsched.proofs.placements import wrong_number


def verify(
    inst: CompletionInstance, schedule: CompletionSchedule, *, unfinished: bool = False
) -> Verdict:
    """Check ``schedule`` and recompute its objective.

    Parameters
    ----------
    inst : CompletionInstance
    schedule : CompletionSchedule
    unfinished : bool
        For the runs of policies. A policy may end after the horizon, and one that preempts may run
        a job in several pieces, one after the other, that together do its work: the verdict then
        states that it leaves the model (``obeys``).

    Returns
    -------
    Verdict
        Every violated equation with its place and amount, or the objective (2).
    """
    wrong = wrong_number(inst, schedule, "2a")
    if wrong is not None:
        return wrong
    verifier = _Verifier(inst, schedule, unfinished)
    for j in range(len(inst.jobs)):
        verifier.job(j)
    verifier.capacity()
    return verifier.verdict()


class _Verifier:
    def __init__(
        self, inst: CompletionInstance, schedule: CompletionSchedule, policy: bool
    ) -> None:
        self.inst, self.schedule, self.policy = inst, schedule, policy
        self.violations: list[Violation] = []
        self.completion: list[int | None] = [None] * len(inst.jobs)
        self.obeys = True
        self.sound: list[Piece] = []  # pieces whose indices exist

    def broken(self, equation: str, place: str, amount: float) -> None:
        self.violations.append(Violation(equation=equation, place=place, amount=amount))

    def verdict(self) -> Verdict:
        value = None
        if not self.violations:
            value = math.fsum(
                job.weight * c
                for job, c in zip(self.inst.jobs, self.completion, strict=True)
                if c is not None
            )
        return Verdict(
            violations=tuple(self.violations),
            value=value,
            obeys=self.obeys,
            completion=tuple(self.completion),
        )

    def job(self, j: int) -> None:
        """Check all that concerns job ``j`` alone."""
        inst, job, pieces = self.inst, self.inst.jobs[j], self.schedule.jobs[j]
        if not pieces or (len(pieces) > 1 and not self.policy):
            self.broken("2a", f"job {j}, runs in {len(pieces)} pieces, expected 1", 1)
            return
        done = Fraction(0)
        for k, piece in enumerate(pieces):
            if k and piece.start < pieces[k - 1].end:
                late = pieces[k - 1].end - piece.start
                self.broken("2a", f"job {j}, slot {piece.start}, two pieces at once", late)
            if piece.start < job.arrival:
                early = job.arrival - piece.start
                self.broken("2j", f"job {j}, slot {piece.start}, before its arrival", early)
            if self._exists(j, piece):
                self.sound.append(piece)
                done += self._piece(j, piece)
        if not self._enough(j, pieces, done):
            self.broken("2f", f"job {j}, mini-batches", float(job.batches - done))
        end = pieces[-1].end
        if inst.enforce_horizon and end > inst.horizon:
            if not self.policy:
                self.broken("2a", f"job {j}, ends after the horizon", end - inst.horizon)
            self.obeys = False
        self.obeys &= len(pieces) == 1
        self.completion[j] = end

    def _enough(self, j: int, pieces: tuple[Piece, ...], done: Fraction) -> bool:
        """Whether the work is done: by the length of the piece, or by what several do together."""
        job, piece = self.inst.jobs[j], pieces[0]
        if len(pieces) > 1 or not piece.number or len(self.sound) == 0:
            return done + slack(Fraction(job.batches)) >= job.batches
        if self.sound[-1] is not piece:  # a type does not exist, which is reported already
            return True
        p = piece.ps_type or 0
        least = self.inst.duration(job, piece.worker_type, p, piece.together, piece.number)
        return piece.duration >= least

    def _exists(self, j: int, piece: Piece) -> bool:
        """Check whether types and servers exist, none is named twice, and a ring has no PS."""
        inst, before = self.inst, len(self.violations)
        if piece.worker_type >= len(inst.worker_types):
            self.broken("2b", f"job {j}, worker type {piece.worker_type} does not exist", 1)
        if inst.ring and (piece.ps_type is not None or piece.ps):
            self.broken("15", f"job {j}, PS in a ring", sum(s for _, s in piece.ps) or 1)
        if not inst.ring and (piece.ps_type is None or piece.ps_type >= len(inst.ps_types)):
            self.broken("2c", f"job {j}, PS type {piece.ps_type} does not exist", 1)
        for what, entries in (("worker", piece.workers), ("PS", piece.ps)):
            named = [h for h, _ in entries]
            for h in named:
                if h >= len(inst.capacity):
                    self.broken("2h", f"job {j}, {what} server {h} does not exist", 1)
            if len(set(named)) < len(named):
                self.broken("2h", f"job {j}, a {what} server is named twice", 1)
        return len(self.violations) == before

    def _piece(self, j: int, piece: Piece) -> Fraction:
        """Check a piece; return the mini-batches that it trains."""
        inst, job, n = self.inst, self.inst.jobs[j], piece.number
        if n > job.chunks:
            self.broken("2g", f"job {j}, slot {piece.start}, workers", n - job.chunks)
        if not inst.ring:
            self._bandwidth(j, piece)
        if n == 0:
            return Fraction(0)
        p = piece.ps_type or 0
        return piece.duration * n / inst.batch_slots(job, piece.worker_type, p, piece.together, n)

    def _bandwidth(self, j: int, piece: Piece) -> None:
        """Check (2e), (2i): each host of PS against the workers elsewhere."""
        inst = self.inst
        if not piece.ps:
            self.broken("2e", f"job {j}, slot {piece.start}, PS", 1)
            return
        assert piece.ps_type is not None
        b = exact(inst.worker_types[piece.worker_type].bandwidth)
        big_b = exact(inst.ps_types[piece.ps_type].bandwidth)
        here = dict(piece.workers)
        for h, number in piece.ps:
            outside = piece.number - here.get(h, 0)
            if number < inst.ps_needed(piece.worker_type, piece.ps_type, outside):
                short = float(outside * b - number * big_b)
                self.broken("2i", f"job {j}, server {h}, Gbit/s", short)

    def capacity(self) -> None:
        """Check (2h), (15b) in every slot in which something begins.

        Amounts are counted in whole numbers of the finest decimal of any demand.
        """
        inst = self.inst
        kinds = [w.demand for w in inst.worker_types] + [p.demand for p in inst.ps_types]
        whole = [
            math.lcm(*(exact(x).denominator for x in column)) for column in zip(*kinds, strict=True)
        ]
        demand = [[int(exact(x) * n) for x, n in zip(row, whole, strict=True)] for row in kinds]
        limit = {
            c.capacity: [math.floor(usable(x) * n) for x, n in zip(c.capacity, whole, strict=True)]
            for c in inst.servers
        }
        events: dict[int, dict[int, list[tuple[int, list[int]]]]] = {}  # server, slot
        for piece in self.sound:
            for h, load in self._loads(piece, demand).items():
                at = events.setdefault(h, {})
                at.setdefault(piece.start, []).append((1, load))
                at.setdefault(piece.end, []).append((-1, load))
        for h in sorted(events):
            level, most = [0] * len(whole), limit[inst.capacity[h]]
            for t in sorted(events[h]):
                for sign, load in events[h][t]:
                    level = [x + sign * y for x, y in zip(level, load, strict=True)]
                for r, name in enumerate(inst.resources):
                    if level[r] > most[r]:
                        over = Fraction(level[r], whole[r]) - exact(inst.capacity[h][r])
                        equation = "15b" if inst.ring else "2h"
                        self.broken(equation, f"server {h}, {name}, slot {t}", float(over))

    def _loads(self, piece: Piece, demand: list[list[int]]) -> dict[int, list[int]]:
        """Return the use of each server by a piece; ``demand`` is that of workers, then of PS."""
        loads = {}
        workers, servers = dict(piece.workers), dict(piece.ps)
        e = demand[piece.worker_type]
        z = e if piece.ps_type is None else demand[len(self.inst.worker_types) + piece.ps_type]
        for h in {*workers, *servers}:
            n, s = workers.get(h, 0), servers.get(h, 0)
            loads[h] = [n * x + s * y for x, y in zip(e, z, strict=True)]
        return loads
