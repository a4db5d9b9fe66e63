"""DRF: ports with a job are served in ascending order of their dominant shares.

The share of a port is max_k a^k / (sum of c^k over its machines). A resource that it does not
request is skipped; one that it requests and none of its machines has puts it last. A port takes
what is left, up to its request, on every channel; ties go to the lowest index.
"""

from __future__ import annotations

import numpy as np

from optsched.families.bipartite.instance import BipartiteArrays, Slot
from optsched.families.bipartite.policies.common import Baseline
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel

CLOSE = 1e-12  # relative difference up to which two shares are the same


class Drf(Baseline):
    """Dominant resource fairness: the least demanding port first."""

    name = "drf"

    def prepare(self) -> None:
        """Put the ports in order."""
        a = self.arrays
        order = ranked(dominant_shares(a))
        self._rank = np.empty(a.copies, np.int64)
        self._rank[order] = np.arange(a.copies)
        self._sorted = in_order(self._rank, a)

    def fill(self, event: Slot, y: Floats) -> None:
        """Serve the ports in order."""
        a = self.arrays
        take_what_is_left(y, event.jobs, self._sorted, a.start, a.port, a.upper, a.capacity)


def dominant_shares(a: BipartiteArrays) -> Floats:
    """Return the dominant share of every copy, shape (C,)."""
    available = np.zeros((a.copies, a.resources))
    np.add.at(available, (a.port, a.row % a.resources), a.capacity[a.row])
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(a.request > 0, a.request / available, 0.0)
    return np.asarray(shares.max(axis=1, initial=0.0))


def ranked(shares: Floats) -> Ints:
    """Return indices in ascending order of shares; equal but for rounding: the lowest first."""
    order = np.argsort(shares, kind="stable")
    ordered = shares[order]
    with np.errstate(invalid="ignore"):
        apart = np.diff(ordered) > CLOSE * ordered[1:]  # inf - inf is no difference
    group = np.concatenate([[0], np.cumsum(apart)])
    return np.asarray(order[np.lexsort((order, group))], dtype=np.int64)


def in_order(rank: Ints, a: BipartiteArrays) -> Ints:
    """Return the channels, row by row, in the order of the ranks of their copies."""
    return np.asarray(np.lexsort((rank[a.port], a.row)), dtype=np.int64)


@kernel
def take_what_is_left(
    y: Floats, jobs: Flags, channels: Ints, start: Ints, port: Ints, upper: Floats, capacity: Floats
) -> None:
    """Give every copy with a job the remaining capacity of each row, up to its request.

    ``channels`` (N,) are served in this order within a row; ``y`` (N,) is filled, and whether there
    is a job, ``jobs`` (C,), is known per copy. The others as in `BipartiteArrays`.
    """
    for row in range(len(capacity)):
        left = capacity[row]
        for j in range(start[row], start[row + 1]):
            i = channels[j]
            if jobs[port[i]]:
                amount = min(upper[i], left)
                y[i] = amount
                left -= amount
