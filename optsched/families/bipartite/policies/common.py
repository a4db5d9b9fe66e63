"""Code shared by the baselines: no prior, options, and the start of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from optsched.families.bipartite.instance import Platform, Slot
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.problem import Information, Prior


class Baseline(ABC):
    """Decides on every slot anew, knowing the slot's jobs; nothing is given where none is."""

    name: str
    information: Information = "after"
    knows: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Take the platform."""
        self.arrays = public.arrays
        self.prepare()
        nobody = Slot.without_jobs(self.arrays.copies)
        self.fill(nobody, np.zeros(self.arrays.channels))  # compiled before decisions are timed

    def prepare(self) -> None:  # noqa: B027 (most have nothing to prepare)
        """Compute the constants of all slots."""

    def step(self, event: Slot) -> Floats:
        """Return the decision for one slot."""
        y = np.zeros(self.arrays.channels)
        self.fill(event, y)
        return y

    @abstractmethod
    def fill(self, event: Slot, y: Floats) -> None:
        """Write the decision into ``y``, which is 0 everywhere."""
