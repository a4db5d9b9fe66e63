"""Which jobs stay out, where a few run in part: a small tree at the packings that are known.

Of a job that runs in part, one branch leaves it out, and the other has it run, which may push other
jobs out, those that are decided too. Depth first, at first the way that the part is nearer to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from optsched.families.oasis.optimum.slotwise.program import WHOLE, Point, SlotProgram

NODES = 20  # linear programs of a tree
NONE = 0.02  # share of a job below which it stays out

Branch = tuple[int, ...]  # jobs


def jobs_out(
    program: SlotProgram,
    jobs: Sequence[int],
    point: Point,
    least: float,
    stop: Callable[[], bool],
) -> list[int] | None:
    """Return the jobs that stay out in the best solution in which none runs in part.

    Parameters
    ----------
    program : SlotProgram
        Is left as it was.
    jobs : sequence of int
        All that may run.
    point : Point
        Its solution.
    least : float
        What has to be earned, else there is None.
    stop : callable
        Whether to look no further.
    """
    lowest = dict(program.lowest)
    closed: set[int] = set()
    forced: set[int] = set()

    def move(out: Branch, kept: Branch) -> None:
        for i in sorted(closed.difference(out)):
            program.open(i, lowest[i])
        for i in sorted(set(out) - closed):
            program.close(i)
        for i in sorted(forced.symmetric_difference(kept)):
            program.force(i, i in kept)
        closed.clear()
        closed.update(out)
        forced.clear()
        forced.update(kept)

    found = None
    todo: list[tuple[Branch, Branch]] = [((), ())]
    for node in range(NODES):
        if not todo or stop():
            break
        out, kept = todo.pop()
        if node:
            move(out, kept)
            point = program.solve()[0]
        if point.value <= least:
            continue
        share = {i: float(point.x[program.row[i]].sum()) for i in jobs if not program.closed(i)}
        part = [i for i, s in share.items() if NONE <= s <= WHOLE]
        if not part:
            least, found = point.value, [*out, *(i for i, s in share.items() if s < NONE)]
            continue
        i = min(part, key=lambda i: abs(share[i] - 0.5))
        sides = [((*out, i), kept), (out, (*kept, i))]
        todo += sides if share[i] >= 0.5 else sides[::-1]
    move((), ())
    return found
