"""Bounded dynamic programming over slots with logic-based Benders cuts closes tiny instances.

The dynamic program of the checker (`certificate/program`) follows all states; with prices of
capacity it drops those that cannot beat the incumbent (Morin and Marsten, 1976). A path to the end
is a better schedule, or contains a slot whose jobs do not fit together on single machines: then a
minimal such set becomes a conflict, and the program runs again, as in logic-based Benders
decomposition (Hooker and Ottosson, 2003). Once no path is left, value, prices and conflicts are
the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.dmlrs.certificate.check import (
    CapacityPrices,
    DmlrsCertificate,
    Leaf,
    SlotProgramProof,
)
from optsched.families.dmlrs.certificate.forced import Conflict, refuted
from optsched.families.dmlrs.certificate.program import MOST_CONFLICTS, Layer, SlotProgram
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.dmlrs.optimum.tree.placing import Placed, pack, schedule_of
from optsched.families.dmlrs.verify import verify
from optsched.numbers.arrays import Floats
from optsched.numbers.overflow import TooLargeError
from optsched.problem import Schedule
from optsched.process import work_units
from optsched.proofs.grid import float_above, to_grid

BITS = 36  # of the grid, in the unit of methods, where the best job earns about 100
LEVELS = 4  # values that are tried, the best one known last
SHARE = 0.5  # of the time that is left, at most
PACKING_SECONDS = 5.0  # for one slot


class _StoppedError(Exception):
    """There is no time left for it."""


def slot_program(
    inst: DmlrsInstance, progress: Progress, prices: Floats, exponent: int = 0
) -> None:
    """Close an instance by the program over slots, if it is small enough; report the results.

    Parameters
    ----------
    inst : DmlrsInstance
        Of the reading "job".
    progress : Progress
    prices : shape (T, C, R)
        Of a unit of capacity, in units of 2**exponent.
    exponent : int
        Of the unit in which the best job earns about 100. Values and certificate are those of the
        instance as it is written.
    """
    try:
        _Prover(inst, progress, prices, exponent).run()
    except (TooLargeError, _StoppedError):
        return


class _Prover:
    def __init__(
        self, inst: DmlrsInstance, progress: Progress, prices: Floats, exponent: int
    ) -> None:
        self.inst, self.progress = inst, progress
        self.span = progress.span(SHARE * progress.left())
        largest = math.log2(max(1, int(inst.arrays.capacity.max(initial=1))))
        bits = int(np.clip(largest + BITS - 6, BITS, BITS + 6))  # a unit may be tiny
        self.bits, self.prices = bits - exponent, to_grid(prices, bits)
        # of building the vectors
        work_units.spend(50.0)
        self.program = SlotProgram(inst, self.bits, self.prices, self._check_stop)
        self.conflicts: list[Conflict] = []
        self.known: dict[Conflict, bool] = {}  # whether they are refuted

    def _check_stop(self) -> None:
        if self.progress.stop() or self.span.over():
            raise _StoppedError

    def run(self) -> None:
        """Follow states that may beat the incumbent, until none is left.

        States with a far better bound come first: there are fewer of them.
        """
        progress = self.progress
        value = 0 if progress.schedule is None else self._value(progress.schedule)
        ahead = [self.program.bound() - value >> k for k in range(1, LEVELS)]  # above the best
        while True:
            layers = self.program.run(value + (ahead[0] if ahead else 0))
            # work units of a state and a vector, for all jobs
            work_units.spend(5e-5 * self.program.tried)
            if layers is None and not ahead:
                break
            if layers is None:
                del ahead[0]
                continue
            requests = self._requests(layers)
            new = {self._smallest(w) for w in requests if self._refuted(w)}
            if len(self.conflicts) + len(new) > MOST_CONFLICTS:
                return
            if new:
                self.conflicts += sorted(new)
                self.program.forbid(sorted(new))
                continue
            schedule = self._placed(requests)
            utility = 0 if schedule is None else self._value(schedule)
            if schedule is None or utility <= value:
                return  # it is not known whether they find a place
            value = utility
            progress.incumbent(verify(self.inst, schedule).value or 0.0, schedule)
        bound = float_above(value / Fraction(2) ** self.bits)
        progress.tighten(bound, lambda: self._certificate(value))

    def _certificate(self, value: int) -> DmlrsCertificate:
        prices = CapacityPrices.of(self.prices)
        return DmlrsCertificate(
            instance_sha256=self.inst.digest(),
            grid_bits=self.bits,
            nodes=(Leaf(prices=prices),),
            program=SlotProgramProof(value=value, conflicts=tuple(self.conflicts)),
        )

    def _value(self, schedule: Schedule) -> int:
        """Return the value of a schedule on the grid, rounded up as the program does."""
        assert isinstance(schedule, DmlrsSchedule)  # it is the family's
        completion = verify(self.inst, schedule).completion
        return sum(
            int(job.rewards[c])
            for job, c in zip(self.program.jobs, completion, strict=True)
            if c is not None
        )

    def _requests(self, layers: Sequence[Layer]) -> list[Conflict]:
        """Return the choices in every slot on the way to the state that earned the most.

        Of the jobs that complete, no more workers than lead to the same state.
        """
        k = int(np.argmax(layers[-1].earned))
        done = layers[-1].states[k] == 0
        found: list[Conflict] = []
        for t in reversed(range(len(layers))):
            now, vector, k = layers[t].states[k], layers[t].vector[k], int(layers[t].before[k])
            conflict = []
            for i in np.flatnonzero(done & (vector > 0)).tolist():
                job, choices = self.program.jobs[i], self.program.choices[i]
                was = job.rests.size - 1 if t == 0 else int(layers[t - 1].states[k][i])
                if was:
                    mode = choices[vector[i] - 1].mode
                    enough = (
                        c.workers
                        for n, c in enumerate(choices, 1)
                        if c.mode == mode and job.after[was, n] == now[i]
                    )
                    conflict.append((i, mode, min(enough)))
            found.append(tuple(conflict))
        return found[::-1]

    def _refuted(self, conflict: Conflict) -> bool:
        """Whether it is certain that a wish finds no place."""
        if conflict not in self.known:
            self._check_stop()
            # of refuting one
            work_units.spend(0.5)
            self.known[conflict] = refuted(self.inst, conflict) is True
        return self.known[conflict]

    def _smallest(self, conflict: Conflict) -> Conflict:
        """Return a part of a refuted wish that is refuted as well, and has none that is."""
        for entry in conflict:
            less = tuple(other for other in conflict if other != entry)
            if less and self._refuted(less):
                return self._smallest(less)
        for k, (job, mode, workers) in enumerate(conflict):
            less = (*conflict[:k], (job, mode, workers - 1), *conflict[k + 1 :])
            if workers > 1 and self._refuted(less):
                return self._smallest(less)
        return conflict

    def _placed(self, requests: Sequence[Conflict]) -> DmlrsSchedule | None:
        """Return the schedule that has these workers; None if no place was found for them."""

        def placed(conflict: Conflict) -> Placed | None:
            self._check_stop()
            return pack(self.inst, conflict, self.progress.limits(PACKING_SECONDS))

        return schedule_of(len(self.inst.jobs), map(placed, requests))
