"""The optimum on a tree by a primal-dual interior-point method of its own.

What is maximized is the logarithm of the mean rate (`fairness.mean_rate`), which is concave for
every alpha, does not change with the units, and has the same optimum as the utility. Everything is
scaled (`interior_tree`); the start lies strictly inside. Every iteration is one elimination along
the tree (`interior_kernels`) and two right sides (predictor and corrector after Mehrotra,
`interior_steps`). The gap is the true one: rates scaled to the largest load against the bound that
the prices prove.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from optsched.families.bot.instance import BotInstance, Flags, Floats, Ints
from optsched.families.bot.interior_kernels import charges, factor, loads
from optsched.families.bot.interior_steps import (
    cheapest,
    complementarity,
    correct,
    log_bound,
    log_mean,
    longest,
    solve,
)
from optsched.families.bot.interior_tree import Tree
from optsched.kernels import kernel

ITERATIONS = 1000
OPERATIONS = 2e6  # of nodes times squared applications, between two looks at the clock
BEND = 2.0  # alpha times the relative change of a total in one step, at most
STALL = 20  # iterations without progress, and 6 alpha more, after which the best is the answer


@dataclass(frozen=True)
class Interior:
    """What came out: nearly optimal rates, and the prices that say how nearly."""

    rho: Floats  # (K, N) tasks/s, strictly feasible up to rounding
    nodes: Floats  # (N,) price of a flop
    arcs: Floats  # (2 L,) price of a byte
    log_gap: float  # between the logarithms of the mean rates
    iterations: int


def solve_tree(
    inst: BotInstance,
    tolerance: float,
    limit: int = ITERATIONS,
    stop: Callable[[], bool] = lambda: False,
) -> Interior:
    """Maximize the mean rate until the gap of its logarithm is at most ``tolerance``.

    Parameters
    ----------
    inst : BotInstance
        On a tree, with a finite alpha.
    tolerance : float
    limit : int
        Most iterations; 0 gives the start and prices that prove little.
    stop : callable
        Asked several times a second whether to end early.

    Returns
    -------
    Interior
        The best that was met, also where rounding keeps the gap above the tolerance.
    """
    tree = Tree.of(inst)
    n, apps = tree.a.shape
    x, z = tree.start.copy(), np.zeros((n, apps))
    node, row = np.zeros(n), np.zeros(2 * n)
    best, best_node, best_row = x.copy(), np.zeros(n), np.zeros(2 * n)
    score = np.array([np.inf, 0.0, 0.0])  # the best gap, the iteration it is of, iterations
    rounds = max(1, int(OPERATIONS / (n * apps * apps)))
    with suppress(np.linalg.LinAlgError):  # rounding has gone too far: the best is the answer
        while not _advance(
            tree.parent, tree.master, tree.inside, tree.a, tree.v, tree.present, tree.log_weights,
            tree.alpha, x, z, node, row, best, best_node, best_row, score,
            tolerance, limit, STALL + int(6 * tree.alpha), rounds,
        ):  # fmt: skip
            if stop():
                break
    rho, nodes, arcs = tree.natural(best, best_node, best_row)
    speed = np.array(inst.speed)
    nodes /= np.where(speed > 0, speed, 1.0)
    arcs /= np.where(inst.bandwidth > 0, inst.bandwidth, 1.0)
    return Interior(rho, nodes, arcs, float(score[0]), int(score[2]))


@kernel(error_model="numpy")
def _advance(
    parent: Ints,
    master: Ints,
    inside: Flags,
    a: Floats,
    v: Floats,
    present: Floats,
    log_weights: Floats,
    alpha: float,
    x: Floats,
    z: Floats,
    y_node: Floats,
    y_row: Floats,
    best_x: Floats,
    best_node: Floats,
    best_row: Floats,
    score: Floats,
    tolerance: float,
    limit: int,
    stall: int,
    rounds: int,
) -> bool:
    """Go on for some iterations, in place; return whether that was all."""
    n, apps = a.shape
    load_node, load_row = np.zeros(n), np.zeros(2 * n)
    s = loads(parent, master, inside, a, v, x, load_node, load_row)
    has_node, has_row = np.zeros(n), np.zeros(2 * n)
    for i in range(n):
        has_node[i] = 1.0 if a[i].max() > 0 else 0.0
        for e in (2 * i, 2 * i + 1):
            has_row[e] = 1.0 if np.abs(v[e]).max() > 0 else 0.0
    count = present.sum() + has_node.sum() + has_row.sum()
    room_node, room_row = 1 - load_node, 1 - load_row
    if score[2] == 0:
        y_node[:] = has_node / count / room_node
        y_row[:] = has_row / count / room_row
        z[:] = present / count / np.where(present > 0, x, 1.0)

    d, g = np.zeros((n, apps)), np.zeros((n, apps))
    bent = np.zeros((n, apps))
    theta_node, theta_row = np.zeros(n), np.zeros(2 * n)
    off_node, off_row = np.zeros(n), np.zeros(2 * n)
    da, delta_node = np.zeros((n, apps)), np.zeros(n)
    qv, w, delta_row = np.zeros((2 * n, apps)), np.zeros((2 * n, apps)), np.zeros(2 * n)
    for _ in range(rounds):
        # what is proven: prices against rates scaled to the largest load
        task = cheapest(present, charges(parent, master, inside, a, v, y_node, y_row))
        if task.min() > 0:
            largest = max(load_node.max(), load_row.max())
            pay = y_node.sum() + y_row.sum()
            gap = log_bound(log_weights, alpha, pay, task)
            gap -= log_mean(log_weights, alpha, s / largest)
            if gap < score[0]:
                if gap < 0.9 * score[0]:
                    score[1] = score[2]
                score[0] = gap
                best_x[:], best_node[:], best_row[:] = x / largest, y_node, y_row
        if score[0] <= tolerance or score[2] >= limit or score[2] - score[1] > stall:
            return True
        score[2] += 1

        slope = log_weights - alpha * np.log(s)
        slope = np.exp(slope - slope.max())
        slope /= (slope * s).sum()
        hessian = np.diag(alpha * slope / s) + (1 - alpha) * np.outer(slope, slope)
        mu = 0.0
        for i in range(n):
            if has_node[i] > 0:
                theta_node[i] = y_node[i] / room_node[i]
                mu += y_node[i] * room_node[i]
            for e in (2 * i, 2 * i + 1):
                if has_row[e] > 0:
                    theta_row[e] = y_row[e] / room_row[e]
                    mu += y_row[e] * room_row[e]
            for k in range(apps):
                if present[i, k] > 0:
                    d[i, k] = x[i, k] / z[i, k]
                    g[i, k] = slope[k]
                    mu += x[i, k] * z[i, k]
        mu /= count
        top = factor(
            parent, master, a, v, d, theta_node, theta_row, hessian, da, delta_node, qv, w,
            delta_row,
        )  # fmt: skip
        if not np.isfinite(top).all():
            return True

        # the predictor aims at no complementarity at all
        off_node[:] = 0.0
        off_row[:] = 0.0
        factors = (a, v, d, da, delta_node, qv, w, delta_row, top)
        dx, p, new_node, new_row, move_node, move_row = solve(
            parent, master, inside, factors, theta_node, theta_row, g, off_node, off_row
        )
        new_z = -p * present
        both = min(1.0, longest(
            present, has_node, has_row, x, dx, z, new_z, room_node, move_node, y_node, new_node,
            room_row, move_row, y_row, new_row,
        ))  # fmt: skip
        after = complementarity(
            present, has_node, has_row, both, x, dx, z, new_z, room_node, move_node, y_node,
            new_node, room_row, move_row, y_row, new_row,
        )  # fmt: skip
        aim = mu * min(1.0, max(after / count / mu, 0.1) ** 3)

        # the corrector aims at the central path, and undoes what the predictor bends
        correct(
            present, has_node, has_row, aim, x, dx, z, new_z, move_node, y_node, new_node,
            move_row, y_row, new_row, off_node, off_row, bent,
        )  # fmt: skip
        g[:] = (slope + bent) * present
        dx, p, new_node, new_row, move_node, move_row = solve(
            parent, master, inside, factors, theta_node, theta_row, g, off_node, off_row
        )
        new_z = (bent - p) * present
        both = longest(
            present, has_node, has_row, x, dx, z, new_z, room_node, move_node, y_node, new_node,
            room_row, move_row, y_row, new_row,
        )  # fmt: skip
        both = min(1.0, both * min(max(0.9, 1 - mu * count), 0.9995))
        both = min(both, BEND / (alpha * np.abs(dx.sum(axis=0) / s).max()))
        if not both >= 1e-9:
            return True
        x += both * dx
        z += both * (new_z - z)
        y_node += both * (new_node - y_node)
        y_row += both * (new_row - y_row)
        s = loads(parent, master, inside, a, v, x, load_node, load_row)
        room_node, room_row = 1 - load_node, 1 - load_row
    return False
