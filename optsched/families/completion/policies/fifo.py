"""First in, first out: the default of Hadoop and Spark (Sec. 7)."""

from __future__ import annotations

from optsched.families.completion.policies.common import Baseline


class Fifo(Baseline):
    """Jobs run in order of arrival; the head of the line blocks. Guarantee: none.

    A job runs in its shortest mode with at most ``workers`` workers; it starts as soon as that many
    of the same type fit. With ``fewest``, every job has a number of its own, drawn from ``fewest``
    to ``workers``.
    """

    name = "fifo"

    def __init__(self, workers: int = 15, fewest: int | None = None) -> None:
        if workers < 1:
            raise ValueError(f"fifo: workers is {workers}, expected at least 1")
        if fewest is not None and not 1 <= fewest <= workers:
            raise ValueError(f"fifo: fewest is {fewest}, expected 1 to workers, {workers}")
        self.workers, self.fewest = workers, fewest

    def decide(self, t: int) -> None:
        """Start jobs from the head of the line while they fit."""
        for j in list(self.waiting):
            modes = self.modes(j, self._most(j))
            alike = modes.take((modes.workers == modes.workers[0]).nonzero()[0])
            if not self.begin(j, t, alike):
                return

    def _most(self, j: int) -> int:
        if self.fewest is None:
            return self.workers
        return int(self.streams("fifo workers", j).integers(self.fewest, self.workers + 1))
