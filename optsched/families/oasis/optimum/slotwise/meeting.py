"""Best decisions so far, shared by parallel searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from optsched.families.oasis.optimum.slotwise.slots import Slot
from optsched.numbers.arrays import Ints

Options = Mapping[int, Ints]  # job -> slots in which it may complete, ascending


@dataclass(frozen=True)
class Decisions:
    """What was decided, and what it earns with the packings that were known."""

    value: float
    lowest: Mapping[int, int]  # job -> its first option that is open
    decided: frozenset[int]  # jobs whose completion was decided, and not left open
    used: Sequence[Slot]  # packings
    known: Sequence[Slot]  # packings, those in use too


class Meeting:
    """Where searches leave the best decisions, and find those of others.

    Attributes
    ----------
    best : Decisions, optional
        None before the first search has any.
    shown : float
        Value of the best schedule that was made of them.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.best: Decisions | None = None
        self.shown = 0.0
        self.agreed: Options | None = None

    def options(self, make: Callable[[], Options]) -> Options:
        """Return the options of all searches, which the first one makes."""
        with self.lock:
            if self.agreed is None:
                self.agreed = make()
            return self.agreed

    def tell(self, decisions: Decisions) -> None:
        """Leave decisions, if none are better."""
        with self.lock:
            if self.best is None or decisions.value > self.best.value:
                self.best = decisions

    def show(self, value: float, more: float = 0.0) -> bool:
        """Note that there is a schedule of ``value``, or will be; False if it is no news.

        To be news, it is by the share ``more`` better than all before.
        """
        with self.lock:
            if value <= self.shown * (1 + more):
                return False
            self.shown = value
            return True
