"""First in, first out: the default of Hadoop and Spark (Sec. 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from optsched.families.completion.policies.common import Baseline


class Fifo(Baseline):
    """Jobs run in order of arrival; the head of the line blocks. Guarantee: none.

    A job runs in its shortest mode with at most ``workers`` workers; it starts as soon as that many
    of the same type fit.
    """

    name = "fifo"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"workers": (1, 5, 10, 15, 20, 30)}

    def __init__(self, workers: int = 15) -> None:
        if workers < 1:
            raise ValueError(f"fifo: workers is {workers}, expected at least 1")
        self.workers = workers

    def decide(self, t: int) -> None:
        """Start jobs from the head of the line while they fit."""
        for j in list(self.waiting):
            modes = self.modes(j, self.workers)
            alike = modes.take((modes.workers == modes.workers[0]).nonzero()[0])
            if not self.begin(j, t, alike):
                return
