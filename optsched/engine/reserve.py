"""Time reserved for the final check of an anytime algorithm (Zilberstein, 1996)."""

from __future__ import annotations

import time
from collections import deque

from optsched.engine.progress import Progress
from optsched.process import timing

STEPS = 8  # of a loop: as long as one of the last ones the next may take


def busy() -> float:
    """Return how many seconds of a processor this thread has had."""
    return time.thread_time()


class Reserve:
    """The time for feasibility check and checker, which is deducted from that of the search.

    The work is given in seconds of a processor. On a busy machine they take longer: as long as
    those before. Under effort nothing is kept, as that work is not counted.

    Parameters
    ----------
    progress : Progress
    most : float
        Greatest share of the remaining time that is kept.

    Attributes
    ----------
    work : float
        Seconds of a processor that will be needed.
    """

    def __init__(self, progress: Progress, most: float) -> None:
        self.progress, self.most = progress, most * progress.left()
        self.counts = progress.budget.units is None
        self.began, self.work, self.pace = progress.seconds(), 0.0, 1.0
        self._mark = timing.now(), busy()

    def seconds(self) -> float:
        """Return how many seconds are kept."""
        if not self.counts:
            return 0.0
        now, had = timing.now(), busy()
        passed, worked = now - self._mark[0], had - self._mark[1]
        # seconds, at least, over which it is looked how long work takes
        if passed >= 1.0:
            self.pace = max(1.0, (self.pace + passed / max(worked, passed / 100)) / 2)
            self._mark = now, had
        return min(self.most, self.work * self.pace)

    def share(self) -> float:
        """Return the part of the search's time that has passed; 1 when it is over."""
        passed = self.progress.seconds() - self.began
        left = self.progress.left() - self.seconds()
        return passed / (passed + left) if left > 0 else 1.0


class Pace:
    """How long the steps of a loop take, where nothing reads the time inside a step.

    Parameters
    ----------
    progress : Progress
    """

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._began = progress.seconds()
        self._took = deque[float](maxlen=STEPS)

    def short(self, kept: float = 0.0) -> bool:
        """Whether the remaining time, less ``kept``, is shorter than one of the last steps.

        To be called after every step, and at other times.
        """
        now = self.progress.seconds()
        self._took.append(now - self._began)
        self._began = now
        return self.progress.left() - kept < max(self._took)
