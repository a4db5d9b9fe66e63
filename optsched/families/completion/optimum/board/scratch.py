"""Scratch arrays of the repair step of large neighborhood search (Ropke and Pisinger, 2006).

They are allocated once per search; `insertion` and `windows` write them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.completion.optimum.board.plans import BoardTables
from optsched.numbers.arrays import Floats, Ints, Small, Units


class BoardWorkspace(NamedTuple):
    """Arrays that a move writes to, made once: of J jobs on H servers of C classes."""

    window_units: Small  # (H,) workers of a type that fit in all slots of a window
    left: Units  # (H R,) least free units in the window
    load: Ints  # (R,) units
    at: Ints  # (N,) servers on which a job runs
    loads: Ints  # (N, R) units that it takes there
    held: Ints  # (N, M) workers of each type that still fit there
    change: Ints  # (N, M) how many more these are than before
    most: Ints  # (R,) units that are left somewhere
    spots: Ints  # (2, 3) where the PS are: host, type, number; of what is tried, and of the best
    outs: Ints  # (2, H) workers on every server, the same
    fill: Ints  # (H,) workers on every server
    due: Ints  # (modes of a job,) slots in which each may end next
    clear: Ints  # (modes of a job,) before these slots its next window fits by the sums
    line: Ints  # (S + 1,) the first mode that may end next in a slot, -1 if there is none
    after: Ints  # (modes of a job,) the next one, of greater number
    ranks: Ints  # (C,) cheap classes first
    unit: Floats  # (C,) price of a worker in the window
    rent: Floats  # (C, P) price of a PS in the window
    out: Ints  # (J,) jobs that a move takes out
    near: Ints  # (J,) jobs that it may take out
    keys: Floats  # (J,) by which it sorts them


def new_workspace(tables: BoardTables, unit: type[np.signedinteger], slots: int) -> BoardWorkspace:
    """Return scratch memory for moves."""
    servers, classes = tables.class_of.size, tables.worker_cost.shape[2]
    (types, resources), kinds, jobs = tables.e.shape, len(tables.z), tables.arrival.size
    parts = 1 + min(servers, int(tables.workers.max(initial=1)))  # PS may be apart
    modes = int((tables.first[:, -1] - tables.first[:, 0]).max(initial=0))

    def whole(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return BoardWorkspace(
        window_units=np.zeros(servers, np.int16),
        left=np.zeros(servers * resources, unit),
        load=whole(resources),
        at=whole(parts),
        loads=whole(parts, resources),
        held=whole(parts, types),
        change=whole(parts, types),
        most=whole(resources),
        spots=whole(2, 3),
        outs=whole(2, servers),
        fill=whole(servers),
        due=whole(modes),
        clear=whole(modes),
        line=whole(slots + 1),
        after=whole(modes),
        ranks=whole(classes),
        unit=np.zeros(classes),
        rent=np.zeros((classes, kinds)),
        out=whole(jobs),
        near=whole(jobs),
        keys=np.zeros(jobs),
    )
