"""Kernels of the resource profiles: free capacity in a window of slots, and the cost of a window.

A job fits where the minimum of the profile over its window suffices (Mualem and Feitelson, 2001).
"""

from __future__ import annotations

from optsched.families.completion.optimum.board.plans import BoardTables
from optsched.families.completion.optimum.board.scratch import BoardWorkspace
from optsched.families.completion.optimum.board.servers import Servers
from optsched.numbers.arrays import Floats, Units
from optsched.numbers.kernels import kernel


@kernel(nogil=True, counted=False, forceinline=True)
def open_window(servers: Servers, m: int, x: int, workspace: BoardWorkspace) -> None:
    """Let ``workspace.window_units`` be the workers of type m that servers hold in segment x."""
    window_units, max_units, row = workspace.window_units, servers.max_units, servers.rows[x]
    for h in range(window_units.size):
        window_units[h] = max_units[row, m, h]


@kernel(nogil=True, counted=False, forceinline=True)
def widen(
    servers: Servers, m: int, x: int, start: int, workspace: BoardWorkspace
) -> tuple[int, int, int]:
    """Lower the capacities, from segment x on, to what fits from slot ``start`` on as well.

    Return the segment with that slot, the sum of the capacities, and the largest.
    """
    window_units, max_units, begin, rows = (
        workspace.window_units,
        servers.max_units,
        servers.begin,
        servers.rows,
    )
    while begin[x] > start:
        x -= 1
        row = rows[x]
        for h in range(window_units.size):
            window_units[h] = min(window_units[h], max_units[row, m, h])
    there, whole = 0, 0
    for h in range(window_units.size):
        there += window_units[h]
    for h in range(window_units.size):
        whole = max(whole, window_units[h])
    return x, there, whole


@kernel(nogil=True, counted=False, forceinline=True)
def find_left(servers: Servers, first: int, last: int, workspace: BoardWorkspace) -> None:
    """Let ``workspace.left`` be what is free on the servers in all segments from first to last."""
    free, rows, left = servers.free, servers.rows, workspace.left
    row = rows[last]
    for y in range(left.size):
        left[y] = free[row, y]
    for x in range(first, last):
        row = rows[x]
        for y in range(left.size):
            left[y] = min(left[y], free[row, y])


@kernel(nogil=True, counted=False)
def fits(tables: BoardTables, m: int, n: int, p: int, s: int, left: Units, h: int) -> bool:
    """Whether n workers and s PS fit into what is ``left`` (H R,) on server h, in units."""
    fits, resources = True, tables.e.shape[1]
    for r in range(resources):
        fits &= n * tables.e[m, r] + s * tables.z[p, r] <= left[h * resources + r]
    return fits


@kernel(nogil=True, counted=False)
def price_of(cost: Floats, kind: int, begin: int, end: int, g: int) -> float:
    """Return the cost of one worker or PS on class g in a window.

    ``cost`` (K, L + 1, C) has prefix sums over slots, of one of each type.
    """
    last = cost.shape[1] - 1
    return float(cost[kind, min(end, last), g] - cost[kind, min(begin, last), g])
