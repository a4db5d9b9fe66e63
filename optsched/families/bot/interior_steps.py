"""Parts of one iteration of the interior-point method: what is proven, how far, where to."""

from __future__ import annotations

import numpy as np

from optsched.families.bot.instance import Flags, Floats, Ints
from optsched.families.bot.interior_kernels import backsolve, loads
from optsched.kernels import kernel

REFINEMENTS = 1


@kernel(error_model="numpy")
def log_mean(log_weights: Floats, alpha: float, s: Floats) -> float:
    """Return the logarithm of the mean rate of the totals ``s``, shape (K,), up to a constant."""
    if alpha == 1:
        weights = np.exp(log_weights)
        return float((weights * np.log(s)).sum() / weights.sum())
    return _log_sum(log_weights + (1 - alpha) * np.log(s)) / (1 - alpha)


@kernel(error_model="numpy")
def log_bound(log_weights: Floats, alpha: float, pay: float, task: Floats) -> float:
    """Return the logarithm of the best mean that a budget ``pay`` buys at ``task`` each.

    Up to the constant of :func:`log_mean`.
    """
    if alpha == 1:
        weights = np.exp(log_weights)
        total = weights.sum()
        return float((weights * np.log(weights / total * pay / task)).sum() / total)
    if alpha == 0:
        return float(np.log(pay) + (log_weights - np.log(task)).max())
    terms = log_weights / alpha + np.log(task) * (1 - 1 / alpha)
    return float(alpha * _log_sum(terms) / (1 - alpha) + np.log(pay))


@kernel(error_model="numpy")
def _log_sum(terms: Floats) -> float:
    largest = terms.max()
    return float(np.log(np.exp(terms - largest).sum()) + largest)


@kernel(error_model="numpy")
def longest(
    present: Floats,
    has_node: Floats,
    has_row: Floats,
    x: Floats,
    dx: Floats,
    z: Floats,
    new_z: Floats,
    room_node: Floats,
    move_node: Floats,
    y_node: Floats,
    new_node: Floats,
    room_row: Floats,
    move_row: Floats,
    y_row: Floats,
    new_row: Floats,
) -> float:
    """Return the longest step, at most 1e9, at which nothing is negative."""
    speed = 1e-9
    for i in range(len(has_node)):
        if has_node[i] > 0:
            speed = max(speed, move_node[i] / room_node[i], 1 - new_node[i] / y_node[i])
        for e in (2 * i, 2 * i + 1):
            if has_row[e] > 0:
                speed = max(speed, move_row[e] / room_row[e], 1 - new_row[e] / y_row[e])
        for k in range(x.shape[1]):
            if present[i, k] > 0:
                speed = max(speed, -dx[i, k] / x[i, k], 1 - new_z[i, k] / z[i, k])
    return 1 / speed


@kernel(error_model="numpy")
def solve(
    parent: Ints,
    master: Ints,
    inside: Flags,
    factors: tuple[Floats, ...],
    theta_node: Floats,
    theta_row: Floats,
    g: Floats,
    off_node: Floats,
    off_row: Floats,
) -> tuple[Floats, ...]:
    """Solve, and solve again for what rounding has left of the loads.

    Returns
    -------
    dx, p, y_node, y_row, move_node, move_row
        As `backsolve`, and the loads of dx.
    """
    a, v, d, da, delta_node, qv, w, delta_row, top = factors
    n, apps = a.shape
    dx, p, y_node, y_row = np.zeros((n, apps)), np.zeros((n, apps)), np.zeros(n), np.zeros(2 * n)
    fix_x, fix_p, fix_node, fix_row = dx.copy(), p.copy(), y_node.copy(), y_row.copy()
    move_node, move_row = np.zeros(n), np.zeros(2 * n)
    left_node, left_row, left = off_node.copy(), off_row.copy(), g
    for _ in range(1 + REFINEMENTS):
        backsolve(
            parent, a, v, d, da, delta_node, qv, w, delta_row, top, left, left_node, left_row,
            fix_x, fix_p, fix_node, fix_row,
        )  # fmt: skip
        dx += fix_x
        p += fix_p
        y_node += fix_node
        y_row += fix_row
        loads(parent, master, inside, a, v, dx, move_node, move_row)
        left = np.zeros((n, apps))
        for i in range(n):
            if theta_node[i] > 0:
                left_node[i] = off_node[i] + move_node[i] - y_node[i] / theta_node[i]
            for e in (2 * i, 2 * i + 1):
                if theta_row[e] > 0:
                    left_row[e] = off_row[e] + move_row[e] - y_row[e] / theta_row[e]
    return dx, p, y_node, y_row, move_node, move_row


@kernel(error_model="numpy")
def cheapest(present: Floats, paid: Floats) -> Floats:
    """Return the least that a task of each application costs anywhere, shape (K,)."""
    task = np.full(paid.shape[1], np.inf)
    for i in range(len(paid)):
        for k in range(len(task)):
            if present[i, k] > 0 and paid[i, k] < task[k]:
                task[k] = paid[i, k]
    return task


@kernel(error_model="numpy")
def complementarity(
    present: Floats, has_node: Floats, has_row: Floats, step: float, x: Floats, dx: Floats,
    z: Floats, new_z: Floats, room_node: Floats, move_node: Floats, y_node: Floats,
    new_node: Floats, room_row: Floats, move_row: Floats, y_row: Floats, new_row: Floats,
) -> float:  # fmt: skip
    """Return the sum of all products of room and price after a step of this length."""
    after = 0.0
    for i in range(len(has_node)):
        if has_node[i] > 0:
            dy = new_node[i] - y_node[i]
            after += (room_node[i] - step * move_node[i]) * (y_node[i] + step * dy)
        for e in (2 * i, 2 * i + 1):
            if has_row[e] > 0:
                dy = new_row[e] - y_row[e]
                after += (room_row[e] - step * move_row[e]) * (y_row[e] + step * dy)
        for k in range(x.shape[1]):
            if present[i, k] > 0:
                dz = new_z[i, k] - z[i, k]
                after += (x[i, k] + step * dx[i, k]) * (z[i, k] + step * dz)
    return after


@kernel(error_model="numpy")
def correct(
    present: Floats, has_node: Floats, has_row: Floats, aim: float, x: Floats, dx: Floats,
    z: Floats, new_z: Floats, move_node: Floats, y_node: Floats, new_node: Floats,
    move_row: Floats, y_row: Floats, new_row: Floats,
    off_node: Floats, off_row: Floats, bent: Floats,
) -> None:  # fmt: skip
    """Write what leads to products of ``aim``, and undoes what the predictor bends."""
    for i in range(len(has_node)):
        if has_node[i] > 0:
            dy = new_node[i] - y_node[i]
            off_node[i] = (aim + move_node[i] * dy) / y_node[i]
        for e in (2 * i, 2 * i + 1):
            if has_row[e] > 0:
                dy = new_row[e] - y_row[e]
                off_row[e] = (aim + move_row[e] * dy) / y_row[e]
        for k in range(x.shape[1]):
            if present[i, k] > 0:
                bent[i, k] = (aim - dx[i, k] * (new_z[i, k] - z[i, k])) / x[i, k]
