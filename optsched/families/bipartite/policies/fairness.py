"""Fairness: a machine divides each resource in proportion to the requests.

Among the ports that have a job, by default. As printed the sum goes over all ports of the machine,
which leaves the shares of idle ports unused; `Fairness(among="all")` does that.
"""

from __future__ import annotations

from typing import Literal

from optsched.families.bipartite.instance import Slot
from optsched.families.bipartite.policies.common import Baseline
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.problem import InputError


class Fairness(Baseline):
    """Shares in proportion to the requests, at most the request.

    Parameters
    ----------
    among : {"jobs", "all"}
        Whether a machine divides among its ports that have a job, or among all.
    """

    def __init__(self, among: Literal["jobs", "all"] = "jobs") -> None:
        super().__init__()
        if among not in ("jobs", "all"):
            raise InputError(f"among is {among!r}, expected 'jobs' or 'all'")
        self.name = "fairness" if among == "jobs" else "fairness-printed"
        self.options = {"among": among}

    def fill(self, event: Slot, y: Floats) -> None:
        """Divide every row."""
        a = self.arrays
        everybody = self.options["among"] == "all"
        divide(y, event.jobs, everybody, a.start, a.port, a.upper, a.capacity)


@kernel(error_model="numpy")
def divide(
    y: Floats, jobs: Flags, everybody: bool, start: Ints, port: Ints, upper: Floats,
    capacity: Floats,
) -> None:  # fmt: skip
    """Give every copy with a job min(a, c a / sum of a).

    Whether there is one, ``jobs`` (C,), is known per copy; ``y`` (N,) is filled. The others as in
    `BipartiteArrays`.
    """
    for row in range(len(capacity)):
        demand = 0.0
        for i in range(start[row], start[row + 1]):
            if everybody or jobs[port[i]]:
                demand += upper[i]
        if demand > 0.0:
            share = min(1.0, capacity[row] / demand)
            for i in range(start[row], start[row + 1]):
                if jobs[port[i]]:
                    y[i] = upper[i] * share
