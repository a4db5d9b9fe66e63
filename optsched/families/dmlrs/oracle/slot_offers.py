"""Kernel of the pricing subproblem: opens slots for their offers, or places a schedule in them.

Part of the pricing of one job (Lübbecke and Desrosiers, 2005). Both roles, and the restrictions of
a branching node, are one kernel: it contains all of `open_slot`, which separate kernels would
compile again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.families.dmlrs.oracle.request import (
    CompletionWindow,
    Hosts,
    Request,
    Scratch,
    SlotOffers,
)
from optsched.families.dmlrs.oracle.slot_placements import open_slot
from optsched.families.dmlrs.oracle.work_over_slots import join_hull, possible_ends, slot_options
from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel
from optsched.process import work_units
from optsched.scheduling.oracle.schedule import PricedMachines
from optsched.scheduling.oracle.slots import plain_int


def open_slots(
    job: Request,
    machines: PricedMachines,
    window: CompletionWindow,
    cutoff: float,
    amount: Ints,
    entries: Ints,
    offers: SlotOffers,
    scratch: Scratch,
) -> tuple[int, float]:
    """Open the slots from the arrival on, for their options or to place a schedule.

    Parameters
    ----------
    cutoff : float
        Only a greater payoff is of interest.
    amount : array of shape (T,)
        Numbers to place, see `Best`, if ``entries`` is not empty.
    entries : array of shape (E, 4)
        Receives rows [side, slot, machine, number]; if it is empty, the slots make offers:
        ``offers.ends`` and ``promise`` where there are no limits.

    Returns
    -------
    number : int
        Of slots in which a completion may be best; or of entries.
    certain : float
        A payoff that is known to be possible, or the cutoff.
    """
    rest = float(cutoff), amount, entries
    scratch.steps[:] = 0.0, work_units.most_steps()
    found: tuple[int, float] = _open_slots((*job, *machines, *window, *rest, *offers, *scratch))
    work_units.counted(*scratch.steps.tolist())
    return found


@kernel(error_model="numpy")
def _open_slots(arguments: tuple[Any, ...]) -> tuple[int, float]:
    """Implement `open_slots`; ``arguments`` is all of its input, in one plain tuple.

    Numba looks at one plain tuple in less than half the time that it takes for each apart.
    """
    job, machines, window = (
        Request(*arguments[:12]),
        PricedMachines(*arguments[12:16]),
        CompletionWindow(*arguments[16:21]),
    )
    cutoff, amount, entries = arguments[21:24]
    offers, scratch = SlotOffers(*arguments[24:32]), Scratch(*arguments[32:])
    limits, most_together = window.limits, window.most_together
    parts, numbers = scratch.parts, scratch.numbers
    limited, placing = limits.shape[1] > 0, entries.shape[0] > 0
    certain = cutoff  # a payoff that is known to be possible, or uninteresting
    held, opened, placed = plain_int(0), plain_int(0), 0
    hosts = Hosts(np.empty(0, np.int64), np.empty((0, 2, 0, 0), np.int64))
    for slot in range(job.arrival, window.last + 1):
        if scratch.abandoned[0] or scratch.steps[0] > scratch.steps[1]:
            break
        t, kind, n, keep = slot - job.arrival, amount[slot], amount[slot] // 2, False
        top_inner, top_outer = job.most_inner, job.most_outer
        if placing:
            if kind == 0:
                continue
            keep = kind % 2 == 1
            top_inner, top_outer = (0, n) if keep else (n, 0)
            if keep:
                visits, columns = 0, job.ps_outer[n] + 1
                for h in range(machines.count.size):
                    visits += min(machines.count[h], n + job.ps_outer[n])
                hosts = Hosts(
                    np.empty(visits, np.int64), np.empty((visits, 2, n + 1, columns), np.int64)
                )
        elif most_together >= 0:
            top_inner = 0
        elif not limited and job.utility[slot] <= certain:
            break
        inner_last, outer_last, visits = open_slot(
            slot, job, machines, top_inner, top_outer, scratch, hosts
        )
        if placing:
            h, w, s = numbers[0, n], n, job.ps_inner[n]
            if not keep:
                visits = 1 if inner_last == n else 0
            elif outer_last < n:
                visits = 0
            table, workers, servers = 1, n, job.ps_outer[n]
            columns = servers + 1
            for v in range(visits - 1, -1, -1):
                if keep:
                    code = hosts.chosen[v, table, workers, servers]
                    if code < 0:
                        continue
                    table = code % 2
                    h, w, s = hosts.machine[v], code // 2 // columns, code // 2 % columns
                    workers -= w
                    servers -= s
                for side in range(2):
                    number = s if side else w
                    if number > 0:
                        entries[placed, 0], entries[placed, 1] = side, slot
                        entries[placed, 2], entries[placed, 3] = h, number
                        placed += 1
                if workers == 0 and servers == 0:
                    break
            continue
        if most_together >= 0:
            inner_last = min(job.most_inner, most_together)
            for k in range(inner_last + 1):
                parts[0, k] = window.together[slot, k]
        if limited:
            for side in range(2):
                most = outer_last if side else inner_last
                for k in range(1, most + 1):
                    if k < limits[0, slot] or k > limits[1, slot]:
                        parts[side, k] = np.inf
                while most > 0 and parts[side, most] == np.inf:
                    most -= 1
                if side:
                    outer_last = most
                else:
                    inner_last = most
        slot_options(t, job, parts, inner_last, outer_last, offers)
        if not limited:
            held, certain = join_hull(t, job, offers, held, certain)
            opened = t + 1
    if placing:
        return placed, certain
    return possible_ends(opened, cutoff, certain, offers), certain
