"""Why runs do not fit on single servers: credits of workers and hosts by a linear program.

The program asks for credits that the runs earn together, at most 1, and that the servers cannot
earn: patterns of one server are its rows, and are added as long as some class has a better one.
"""

from __future__ import annotations

import numpy as np

from optsched import solvers
from optsched.families.completion.certificate.conflicts import (
    APART,
    FIRST,
    LAST,
    layers_of,
    share,
    total_credit,
)
from optsched.families.completion.certificate.kernels import Platform
from optsched.families.completion.certificate.program import Conflict
from optsched.numbers.arrays import Ints

SCALE = 2.0**30  # credits as integers
NODES = 2**23  # of each search for the best share
ROUNDS = 200
LEAST = 1e-6  # of what the servers cannot earn: less is rounding
IMPROVES = 1e-9


def conflict_of(platform: Platform, runs: Ints) -> Conflict | None:
    """Return why runs (E, 7) do not fit on single servers; None: unknown."""
    given = _credits(platform, runs)
    if given is None:
        return None
    return Conflict(
        runs=tuple(map(tuple, runs.tolist())), credits=tuple((a, b) for a, b in given.tolist())
    )


def fewest(platform: Platform, conflict: Conflict) -> Conflict:
    """Return a conflict of some of the runs, in as few slots as need be."""
    runs = np.array(conflict.runs, np.int64)
    for x in range(len(runs) - 1, -1, -1):
        found = conflict_of(platform, np.delete(runs, x, axis=0)) if len(runs) > 1 else None
        if found is not None:
            conflict, runs = found, np.delete(runs, x, axis=0)
    return conflict_of(platform, shortened(runs)) or conflict


def _credits(platform: Platform, runs: Ints) -> Ints | None:
    """Return credits (E, 2) that show that runs do not fit, None if none are found."""
    number, classes = len(runs), len(platform.servers)
    apart = runs[:, APART]
    earned = np.concatenate([apart, np.ones(number)])  # of all credits, as far as they exist
    exist = np.concatenate([apart > 0, ~((apart > 0) & platform.ring)])
    h = solvers.highs()
    h.setOptionValue("presolve", "off")
    count = platform.servers.astype(float)
    cost = np.concatenate([-earned * exist, count])
    upper = np.concatenate([np.where(exist, np.inf, 0.0), np.full(classes, np.inf)])
    row = np.concatenate([earned, np.zeros(classes)])
    solvers.load(h, cost, row[None], [-np.inf], [1.0], np.zeros(cost.size), upper)
    for _ in range(ROUNDS):
        h.run()
        x = np.array(h.getSolution().col_value)
        if -float(h.getInfo().objective_function_value) < LEAST:
            return None
        credit = np.rint(np.maximum(x[: 2 * number], 0.0) * SCALE).astype(np.int64)
        given = np.ascontiguousarray(credit.reshape(2, number).T)
        shares = [
            share(platform, c, runs, given, np.array([NODES], np.int64)) for c in range(classes)
        ]
        held = sum(n * best for n, (best, _) in zip(platform.servers.tolist(), shares, strict=True))
        if min(best for best, _ in shares) >= 0 and held < total_credit(runs, given):
            return given
        better = False
        for c, (_, what) in enumerate(shares):
            pattern = np.zeros(cost.size)
            pattern[: 2 * number] = np.concatenate([what[:, 0], what[:, 1]]) * exist
            pattern[2 * number + c] = -1.0
            if pattern @ x > IMPROVES:
                where = np.flatnonzero(pattern).astype(np.int32)
                h.addRow(-np.inf, 0.0, where.size, where, pattern[where])
                better = True
        if not better:
            return None
    return None


def shortened(runs: Ints) -> Ints:
    """Return the runs from the first to the last of their slots that count, see `layers_of`."""
    _, slots = layers_of(runs)
    short = runs.copy()
    for x, (first, last) in enumerate(runs[:, [FIRST, LAST]].tolist()):
        mine = slots[(first <= slots) & (slots <= last)]
        short[x, FIRST], short[x, LAST] = mine[0], mine[-1]
    return short
