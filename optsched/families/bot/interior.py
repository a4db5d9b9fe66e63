"""The optimum on a tree by a primal-dual interior-point method of its own.

What is maximized is the logarithm of the mean rate (`fairness.mean_rate`), which is concave for
every alpha, does not change with the units, and has the same optimum as the utility. Rates and
loads are scaled by what equal shares would give; the start lies strictly inside. Every iteration is
one elimination along the tree (`interior_kernels`) and two right sides (predictor and corrector
after Mehrotra). The gap is the true one: rates scaled to the largest load against the bound that
the prices prove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from optsched.families.bot.instance import BotInstance, Flags, Floats, Ints
from optsched.families.bot.interior_kernels import backsolve, charges, factor, loads
from optsched.families.bot.shares import equal_shares

ITERATIONS = 1000
INSIDE = 0.5  # the start takes this share of what equal shares give
REFINEMENTS = 1
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


@dataclass(frozen=True)
class Tree:
    """An instance on its tree, nodes in breadth-first order, everything scaled."""

    order: Ints  # (N,) node at each place
    parent: Ints  # (N,) place of the parent, -1 for the root
    master: Ints  # (K,) place of each master
    inside: Flags  # (N, K) whether the master lies at or below the node, which is not the root
    arc: Ints  # (2 N,) arc of each row, -1 where there is none
    a: Floats  # (N, K) load of a node per unit of rate, 1 = full
    v: Floats  # (2 N, K) the same of a row; negative where the master lies below
    present: Floats  # (N, K) 1 where the pair exists
    weights: Floats  # (K,) in the scaled units
    alpha: float
    unit: Floats  # (K,) tasks/s of one unit of rate
    start: Floats  # (N, K) strictly feasible rates

    @classmethod
    def of(cls, inst: BotInstance) -> Tree:
        """Scale ``inst``, whose platform must be a tree."""
        n, apps = len(inst.speed), len(inst.applications)
        order, before, arc_to = inst.tree_from(0)
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
        parent = np.where(before[order] >= 0, place[before[order]], -1)
        shares = equal_shares(inst)  # (K, N)
        unit = shares.sum(axis=1)
        speed = np.array(inst.speed)[order]
        flop = np.array([app.flop for app in inst.applications]) * unit
        present = np.ascontiguousarray(inst.present.T[order].astype(float))
        a = present * flop / np.where(speed > 0, speed, 1.0)[:, None]
        arc = np.full(2 * n, -1)
        arc[2::2] = arc_to[order[1:]]
        arc[3::2] = arc_to[order[1:]] ^ 1
        width = np.append(inst.bandwidth, 0.0)[arc]
        v = np.zeros((2 * n, apps))
        master = np.array([place[app.master] for app in inst.applications])
        inside = np.array([_above(parent, int(m)) for m in master]).T.copy()
        for k, app in enumerate(inst.applications):
            there, back = app.bytes * unit[k], app.return_bytes * unit[k]
            v[0::2, k] = np.where(inside[:, k], -back, there)
            v[1::2, k] = np.where(inside[:, k], -there, back)
        v /= np.where(width > 0, width, 1.0)[:, None]
        v[(arc < 0) | (width <= 0)] = 0.0
        power = 1.0 - float(inst.alpha)
        weights = inst.weights * (unit / math.exp(float(np.mean(np.log(unit))))) ** power
        start = np.ascontiguousarray((INSIDE * shares / unit[:, None]).T[order])
        return cls(
            order,
            parent,
            master,
            inside,
            arc,
            a,
            v,
            present,
            weights,
            float(inst.alpha),
            unit,
            start,
        )

    def natural(self, x: Floats, node: Floats, row: Floats) -> tuple[Floats, Floats, Floats]:
        """Return rates (K, N), prices per full node (N,) and per full arc (2 L,) by number."""
        n = len(self.order)
        rho = np.zeros((x.shape[1], n))
        rho[:, self.order] = x.T * self.unit[:, None]
        nodes, arcs = np.zeros(n), np.zeros(2 * (n - 1))
        nodes[self.order] = node
        used = self.arc >= 0
        arcs[self.arc[used]] = row[used]
        return rho, nodes, arcs


def _above(parent: Ints, place: int) -> Flags:
    """Return whether each place lies on the way from ``place`` to the root, without the root."""
    inside = np.zeros(len(parent), bool)
    while place > 0:
        inside[place] = True
        place = int(parent[place])
    return inside


def solve_tree(inst: BotInstance, tolerance: float, limit: int = ITERATIONS) -> Interior:
    """Maximize the mean rate until the gap of its logarithm is at most ``tolerance``.

    Parameters
    ----------
    inst : BotInstance
        On a tree, with a finite alpha.
    tolerance : float
    limit : int
        Most iterations; 0 gives the start and prices that prove little.

    Returns
    -------
    Interior
        The best that was met, also where rounding keeps the gap above the tolerance.
    """
    tree = Tree.of(inst)
    x, node, row, gap, iterations = _iterate(
        tree.parent, tree.master, tree.inside, tree.a, tree.v, tree.present, tree.weights,
        tree.alpha, tree.start,
        tolerance, limit, STALL + int(6 * tree.alpha),
    )  # fmt: skip
    rho, nodes, arcs = tree.natural(x, node, row)
    speed = np.array(inst.speed)
    nodes /= np.where(speed > 0, speed, 1.0)
    arcs /= np.where(inst.bandwidth > 0, inst.bandwidth, 1.0)
    return Interior(rho, nodes, arcs, float(gap), int(iterations))


@njit(cache=True, error_model="numpy")
def _log_mean(weights: Floats, alpha: float, s: Floats) -> float:
    total = weights.sum()
    if alpha == 1:
        return float((weights * np.log(s)).sum() / total)
    largest = s.max() if alpha < 1 else s.min()
    return float(
        np.log((weights * (s / largest) ** (1 - alpha)).sum() / total) / (1 - alpha)
        + np.log(largest)
    )


@njit(cache=True, error_model="numpy")
def _log_bound(weights: Floats, alpha: float, pay: float, task: Floats) -> float:
    """Return the logarithm of the best mean that a budget ``pay`` buys at ``task`` each."""
    total = weights.sum()
    if alpha == 1:
        return float((weights * np.log(weights * pay / (total * task))).sum() / total)
    if alpha == 0:
        return float(np.log(pay * (weights / task).max() / total))
    terms = np.log(weights) / alpha + np.log(task) * (1 - 1 / alpha)
    largest = terms.max()
    spent = np.log(np.exp(terms - largest).sum()) + largest
    return float((alpha * spent - np.log(total)) / (1 - alpha) + np.log(pay))


@njit(cache=True, error_model="numpy")
def _longest(
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


@njit(cache=True, error_model="numpy")
def _solve(
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


@njit(cache=True, error_model="numpy")
def _iterate(
    parent: Ints,
    master: Ints,
    inside: Flags,
    a: Floats,
    v: Floats,
    present: Floats,
    weights: Floats,
    alpha: float,
    start: Floats,
    tolerance: float,
    limit: int,
    stall: int,
) -> tuple[Floats, Floats, Floats, float, int]:
    n, apps = a.shape
    x = start.copy()
    load_node, load_row = np.zeros(n), np.zeros(2 * n)
    s = loads(parent, master, inside, a, v, x, load_node, load_row)
    has_node, has_row = np.zeros(n), np.zeros(2 * n)
    for i in range(n):
        has_node[i] = 1.0 if a[i].max() > 0 else 0.0
        for e in (2 * i, 2 * i + 1):
            has_row[e] = 1.0 if np.abs(v[e]).max() > 0 else 0.0
    count = present.sum() + has_node.sum() + has_row.sum()
    room_node, room_row = 1 - load_node, 1 - load_row
    y_node, y_row = has_node / count / room_node, has_row / count / room_row
    z = present / count / np.where(present > 0, x, 1.0)

    d, g = np.zeros((n, apps)), np.zeros((n, apps))
    bent = np.zeros((n, apps))
    theta_node, theta_row = np.zeros(n), np.zeros(2 * n)
    off_node, off_row = np.zeros(n), np.zeros(2 * n)
    da, delta_node = np.zeros((n, apps)), np.zeros(n)
    qv, w, delta_row = np.zeros((2 * n, apps)), np.zeros((2 * n, apps)), np.zeros(2 * n)
    best_x, best_node, best_row = x / max(load_node.max(), load_row.max()), y_node, y_row
    best_gap = np.inf
    best_step, step = 0, 0
    while True:
        # what is proven: prices against rates scaled to the largest load
        paid = charges(parent, master, inside, a, v, y_node, y_row)
        task = np.full(apps, np.inf)
        for i in range(n):
            for k in range(apps):
                if present[i, k] > 0 and paid[i, k] < task[k]:
                    task[k] = paid[i, k]
        if task.min() > 0:
            largest = max(load_node.max(), load_row.max())
            pay = y_node.sum() + y_row.sum()
            gap = _log_bound(weights, alpha, pay, task) - _log_mean(weights, alpha, s / largest)
            if gap < best_gap:
                if gap < 0.9 * best_gap:
                    best_step = step
                best_gap = gap
                best_x, best_node, best_row = x / largest, y_node.copy(), y_row.copy()
        if best_gap <= tolerance or step >= limit or step - best_step > stall:
            break
        step += 1

        slope = weights * (s / s.min()) ** (-alpha)
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
            break

        # the predictor aims at no complementarity at all
        off_node[:] = 0.0
        off_row[:] = 0.0
        factors = (a, v, d, da, delta_node, qv, w, delta_row, top)
        dx, p, new_node, new_row, move_node, move_row = _solve(
            parent, master, inside, factors, theta_node, theta_row, g, off_node, off_row
        )
        new_z = -p * present
        both = min(1.0, _longest(
            present, has_node, has_row, x, dx, z, new_z, room_node, move_node, y_node, new_node,
            room_row, move_row, y_row, new_row,
        ))  # fmt: skip
        after = 0.0
        for i in range(n):
            if has_node[i] > 0:
                dy = new_node[i] - y_node[i]
                after += (room_node[i] - both * move_node[i]) * (y_node[i] + both * dy)
            for e in (2 * i, 2 * i + 1):
                if has_row[e] > 0:
                    dy = new_row[e] - y_row[e]
                    after += (room_row[e] - both * move_row[e]) * (y_row[e] + both * dy)
            for k in range(apps):
                if present[i, k] > 0:
                    dz = new_z[i, k] - z[i, k]
                    after += (x[i, k] + both * dx[i, k]) * (z[i, k] + both * dz)
        aim = mu * min(1.0, max(after / count / mu, 0.1) ** 3)

        # the corrector aims at the central path, and undoes what the predictor bends
        for i in range(n):
            if has_node[i] > 0:
                dy = new_node[i] - y_node[i]
                off_node[i] = (aim + move_node[i] * dy) / y_node[i]
            for e in (2 * i, 2 * i + 1):
                if has_row[e] > 0:
                    dy = new_row[e] - y_row[e]
                    off_row[e] = (aim + move_row[e] * dy) / y_row[e]
            for k in range(apps):
                if present[i, k] > 0:
                    bent[i, k] = (aim - dx[i, k] * (new_z[i, k] - z[i, k])) / x[i, k]
                    g[i, k] = slope[k] + bent[i, k]
        dx, p, new_node, new_row, move_node, move_row = _solve(
            parent, master, inside, factors, theta_node, theta_row, g, off_node, off_row
        )
        new_z = (bent - p) * present
        both = _longest(
            present, has_node, has_row, x, dx, z, new_z, room_node, move_node, y_node, new_node,
            room_row, move_row, y_row, new_row,
        )  # fmt: skip
        both = min(1.0, both * min(max(0.9, 1 - mu * count), 0.9995))
        both = min(both, BEND / (alpha * np.abs(dx.sum(axis=0) / s).max()))
        if both < 1e-9:
            break
        x += both * dx
        z += both * (new_z - z)
        y_node += both * (new_node - y_node)
        y_row += both * (new_row - y_row)
        s = loads(parent, master, inside, a, v, x, load_node, load_row)
        room_node, room_row = 1 - load_node, 1 - load_row
    return best_x, best_node, best_row, best_gap, step
