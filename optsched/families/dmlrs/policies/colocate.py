"""A greedy scheduler that knows nothing but locality."""

from __future__ import annotations

from optsched.families.dmlrs.policies.common import Baseline


class Colocate(Baseline):
    """Every job runs on one machine, first come, first served with overtaking. Guarantee: none.

    At every arrival and completion the waiting jobs, in the order of arrival, take the machine that
    holds most of their workers together with the parameter servers that these need at the inner
    rate (ties: the lowest number), and keep it until they are completed. Who finds no machine
    waits, and others go ahead.
    """

    name = "colocate"

    def decide(self) -> None:
        """Start whoever fits on one machine."""
        for i in self.backlog:
            if i not in self.held:
                held = self.machines.alone(self.tasks[i], 1, self.tasks[i].job.chunks)
                if held is not None:
                    self.held[i] = held
