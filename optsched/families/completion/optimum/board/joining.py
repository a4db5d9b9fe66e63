"""Kernels: searches that began at the same state come together again."""

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


@kernel(nogil=True)
def merge(
    tables: Tables, servers: Servers, notes: Notes, plans: Plans, base: Plans, other: Plans
) -> bool:
    """Change ``plans`` as ``other`` has changed ``base``, if that fits, and no job changes twice.

    Return whether that was done; else nothing is.
    """
    jobs = plans.mode.size
    changed, number = np.empty(jobs, np.int64), 0
    for i in range(jobs):
        if differ(base, other, i):
            if differ(base, plans, i):
                return False
            changed[number] = i
            number += 1
    for x in range(number):
        i = changed[x]
        if base.mode[i] >= 0:
            occupy(tables, servers, plans, notes, i, GIVE)
        copy_plan(other, plans, i)
    fits, taken = True, 0
    while fits and taken < number:
        i = changed[taken]
        if plans.mode[i] >= 0:
            fits = occupy(tables, servers, plans, notes, i, TAKE)
        taken += 1
    if fits:
        return True
    for x in range(number):
        i = changed[x]
        if x < taken and plans.mode[i] >= 0:
            occupy(tables, servers, plans, notes, i, GIVE)
        copy_plan(base, plans, i)
    for x in range(number):
        if base.mode[changed[x]] >= 0:
            occupy(tables, servers, plans, notes, changed[x], TAKE)
    return False
