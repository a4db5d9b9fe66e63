"""Kernels: continue a search from the state of another one."""

from __future__ import annotations

import numpy as np

from optsched.families.completion.optimum.board.notes import Notes
from optsched.families.completion.optimum.board.plans import Plans, Tables, copy_plan
from optsched.families.completion.optimum.board.servers import GIVE, TAKE, Servers, occupy
from optsched.numbers.kernels import kernel


@kernel(nogil=True)
def differ(a: Plans, b: Plans, i: int) -> bool:
    """Whether job i runs in another way."""
    if a.mode[i] < 0 and b.mode[i] < 0:
        return False
    other = a.mode[i] != b.mode[i] or a.start[i] != b.start[i] or a.kind[i] != b.kind[i]
    other |= a.host[i] != b.host[i] or a.ps[i] != b.ps[i] or a.parts[i] != b.parts[i]
    for x in range(0 if other else a.parts[i]):
        other |= a.where[i, x] != b.where[i, x] or a.number[i, x] != b.number[i, x]
    return bool(other)


@kernel(nogil=True)
def adopt(tables: Tables, servers: Servers, notes: Notes, plans: Plans, other: Plans) -> None:
    """Let all jobs run as in ``other``, which is feasible."""
    jobs = plans.mode.size
    changed, number = np.empty(jobs, np.int64), 0
    for i in range(jobs):
        if differ(plans, other, i):
            changed[number] = i
            number += 1
            if plans.mode[i] >= 0:
                occupy(tables, servers, plans, notes, i, GIVE)
            copy_plan(other, plans, i)
    for x in range(number):
        if plans.mode[changed[x]] >= 0:
            occupy(tables, servers, plans, notes, changed[x], TAKE)
