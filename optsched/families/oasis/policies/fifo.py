"""First in, first out: the default of Hadoop and Spark (OASiS paper, Sec. V-A)."""

from __future__ import annotations

from optsched.families.oasis.policies.common import FixedNumber


class Fifo(FixedNumber):
    """First come, first served; the head of the line blocks. Guarantee: none.

    Jobs wait in the order of arrival (of one slot: by index). When all workers and PS of the first
    in line fit, it is placed round robin and keeps its machines until it is completed; nobody
    overtakes it. The grid is empty: the range of the number of workers belongs to the definition.

    Parameters
    ----------
    fewest_workers, most_workers : int
        Range of the fixed number of workers. The paper prints [1, 30].
    """

    name = "fifo"

    def decide(self, slot: int) -> None:  # noqa: ARG002
        """Start jobs from the head of the line."""
        for i in self.backlog:
            if i in self.held:
                continue
            held = self.cluster.place(self.tasks[i], self.workers(i))
            if held is None:
                return
            self.held[i] = held
