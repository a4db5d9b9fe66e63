"""Primal-dual interior-point method for alpha-fair rates on a tree.

Predictor and corrector after Mehrotra (1992). The objective is the logarithm of the mean rate
(`fairness.log_mean_rate`), which is concave for every alpha, does not change with the units, and
has the same optimum as the alpha-fair utility (Mo and Walrand, 2000). Everything is scaled
(`ScaledTree`): rates in units of equal shares, loads in units of capacity. The start is strictly
feasible. Every iteration is one elimination along the tree, without fill-in (Parter, 1961), and two
right sides, with iterative refinement (Boyd and Vandenberghe, 2004). Only what grows with the tree
is compiled (`interior_kernels`). The gap is exact: rates scaled to the largest load against the
bound that the prices prove.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from optsched.families.bot.instance import BotInstance
from optsched.families.bot.loads import equal_shares
from optsched.families.bot.optimum.interior_kernels import (
    Elimination,
    ascend,
    charges,
    descend,
    factor,
    loads,
)
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.process import work_units

ITERATIONS = 1000
STALL = 20  # iterations without progress, and 6 alpha more, after which the best is the answer


@dataclass(frozen=True)
class Interior:
    """Primal and dual solution: nearly optimal rates, and prices that bound their gap."""

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
    enough: float = 0.0,
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
        Called after every iteration whether to end early.
    enough : float
        Below this gap an iteration that does not halve it is the last one: rounding rules there.

    Returns
    -------
    Interior
        The best that was met, also where rounding keeps the gap above the tolerance.
    """
    tree = ScaledTree.of(inst)
    search = _Search(tree)
    stopped = False
    with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
        while True:
            search.look()
            if stopped or search.gap <= tolerance or search.iterations >= limit:
                break
            if search.iterations - search.progressed > STALL + int(6 * tree.alpha):
                break
            if search.gap <= enough and search.slow:
                break
            search.advance()
            stopped = stop()
    rho, nodes, arcs = tree.natural(*search.best)
    speed = np.array(inst.speed)
    nodes /= np.where(speed > 0, speed, 1.0)
    arcs /= np.where(inst.bandwidth > 0, inst.bandwidth, 1.0)
    return Interior(rho, nodes, arcs, search.gap, search.iterations)


class _Search:
    """Where the method is: rates x with slopes z, limits with slack and prices y.

    Attributes
    ----------
    gap : float
        Between the logarithms of the mean rates, at the best point that was looked at.
    best : tuple
        Its rates (N, K) and prices (3 N,).
    slow : bool
        Whether the last look has not halved the gap.
    iterations, progressed : int
        How many there were, and when the gap had last fallen by a tenth, in however many steps.
    """

    def __init__(self, tree: ScaledTree) -> None:
        self._tree, self._system = tree, System(tree)
        limited = np.abs(tree.v).max(axis=1) > 0
        self._pairs, self._limits = np.flatnonzero(tree.present), np.flatnonzero(limited)
        self._count = len(self._pairs) + len(self._limits)
        self._x = tree.start.copy()
        self._load, self._s = self._system.loads(self._x)
        self._y = limited / self._count / (1 - self._load)
        self._z = tree.present / self._count / np.where(tree.present > 0, self._x, 1.0)
        self.gap, self.best = np.inf, (self._x.copy(), np.zeros(len(limited)))
        self.iterations, self.progressed, self.slow = 0, 0, False
        self._mark = np.inf  # the gap when it last fell by a tenth

    def look(self) -> None:
        """Evaluate the gap: prices against rates scaled to the largest load."""
        tree, self.slow = self._tree, True
        task = self._system.cheapest(self._y)
        if not task.min() > 0:
            return
        largest = self._load.max()
        gap = log_bound(tree.log_weights, tree.alpha, self._y.sum(), task)
        gap -= log_mean(tree.log_weights, tree.alpha, self._s / largest)
        if gap < self.gap:
            self.slow = gap > 0.5 * self.gap
            if gap < 0.9 * self._mark:
                self._mark, self.progressed = gap, self.iterations
            self.gap, self.best = gap, (self._x / largest, self._y.copy())

    def advance(self) -> None:
        """Make one step.

        Raises
        ------
        LinAlgError
            Rounding has gone too far for another one.
        """
        self.iterations += 1
        nodes, apps = self._x.shape
        # work units of an iteration's small arrays
        work_units.spend(0.3)
        # steps of an iteration for each pair, and for each pair twice
        work_units.steps(nodes * apps * (300 + apps * 30))
        tree, alpha, count = self._tree, self._tree.alpha, self._count
        slope = tree.log_weights - alpha * np.log(self._s)
        slope = np.exp(slope - slope.max())
        slope /= (slope * self._s).sum()
        hessian = np.diag(alpha * slope / self._s) + (1 - alpha) * np.outer(slope, slope)
        slacks, prices = self._packed(self._x, 1 - self._load), self._packed(self._z, self._y)
        mu = (slacks * prices).sum() / count
        d, _ = self._unpacked(slacks / prices)
        _, theta = self._unpacked(prices / slacks)
        self._system.eliminate(d, theta, hessian)

        # the predictor aims at no complementarity at all
        g = slope * tree.present
        dx, p, y, move = self._system.solve(g, np.zeros(len(self._y)))
        moved, new = self._packed(dx, -move), self._packed(-p, y)
        step = min(1.0, _longest(slacks, moved, prices, new))
        after = ((slacks + step * moved) * (prices + step * (new - prices))).sum()
        aim = mu * min(1.0, max(after / count / mu, 0.1) ** 3)

        # the corrector aims at the central path, and corrects the predictor's second-order error
        bends = aim - moved * (new - prices)
        bent, _ = self._unpacked(bends / slacks)
        _, off = self._unpacked(bends / prices)
        dx, p, y, move = self._system.solve(g + bent, off)
        z = (bent - p) * tree.present
        step = _longest(slacks, self._packed(dx, -move), prices, self._packed(z, y))
        step = min(1.0, step * min(max(0.9, 1 - mu * count), 0.9995))
        # alpha times the relative change of a total in one step, at most
        step = min(step, 2.0 / (alpha * np.abs(dx.sum(axis=0) / self._s).max()))
        if not step >= 1e-9:
            raise np.linalg.LinAlgError("no step is left")
        self._x += step * dx
        self._z += step * (z - self._z)
        self._y += step * (y - self._y)
        self._load, self._s = self._system.loads(self._x)

    def _packed(self, pairs: Floats, limits: Floats) -> Floats:
        """Return those of the pairs and of the limits that exist, in one row."""
        return np.concatenate((pairs.ravel()[self._pairs], limits[self._limits]))

    def _unpacked(self, row: Floats) -> tuple[Floats, Floats]:
        """Return numbers by pair (N, K) and by limit (3 N,), 0 where there is none."""
        pairs, limits = np.zeros(self._x.shape), np.zeros(len(self._y))
        pairs.ravel()[self._pairs] = row[: len(self._pairs)]
        limits[self._limits] = row[len(self._pairs) :]
        return pairs, limits


def _longest(slacks: Floats, moved: Floats, prices: Floats, new: Floats) -> float:
    """Return the longest step, at most 1e9, at which no slack and no price is negative.

    A full step changes the slacks by ``moved``, and makes ``new`` prices of the ``prices``.
    """
    speed = float(np.maximum(-moved / slacks, 1 - new / prices).max())
    if not np.isfinite(speed):
        raise np.linalg.LinAlgError("rounding has gone too far")
    return 1 / max(1e-9, speed)


@dataclass(frozen=True)
class ScaledTree:
    """An instance on its tree, nodes in breadth-first order, everything scaled.

    The limits of nodes and arcs are numbered as in `interior_kernels`.
    """

    order: Ints  # (N,) node at each place
    parent: Ints  # (N,) place of the parent, -1 for the root
    master: Ints  # (K,) place of each master
    inside: Flags  # (N, K) whether the master lies at or below the node, which is not the root
    arc: Ints  # (2 N,) arc from the parent and back, for each node; -1 where there is none
    v: Floats  # (3 N, K) load of a limit per unit, 1 = full; negative where the master lies below
    present: Floats  # (N, K) 1 where the pair exists
    log_weights: Floats  # (K,) in the scaled units, the largest 0
    alpha: float
    unit: Floats  # (K,) tasks/s of one unit of rate
    start: Floats  # (N, K) strictly feasible rates

    @classmethod
    def of(cls, inst: BotInstance) -> ScaledTree:
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
        arc = np.full(2 * n, -1)
        arc[2::2] = arc_to[order[1:]]
        arc[3::2] = arc_to[order[1:]] ^ 1
        width = np.append(inst.bandwidth, 0.0)[arc]
        v = np.zeros((3 * n, apps))
        v[:n] = present * flop / np.where(speed > 0, speed, 1.0)[:, None]
        master = np.array([place[app.master] for app in inst.applications])
        inside = np.array([_above(parent, int(m)) for m in master]).T.copy()
        for k, app in enumerate(inst.applications):
            there, back = app.bytes * unit[k], app.return_bytes * unit[k]
            v[n::2, k] = np.where(inside[:, k], -back, there)
            v[n + 1 :: 2, k] = np.where(inside[:, k], -there, back)
        v[n:] /= np.where(width > 0, width, 1.0)[:, None]
        v[n:][(arc < 0) | (width <= 0)] = 0.0
        power = 1.0 - float(inst.alpha)
        log_weights = np.log(inst.weights) + power * np.log(unit)
        log_weights -= log_weights.max()
        # the start takes this share of what equal shares give
        start = np.ascontiguousarray((0.5 * shares / unit[:, None]).T[order])
        return cls(
            order, parent, master, inside, arc, v, present, log_weights, float(inst.alpha), unit,
            start,
        )  # fmt: skip

    def natural(self, x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Return rates (K, N), prices per full node (N,) and per full arc (2 L,) by number."""
        n = len(self.order)
        rho = np.zeros((x.shape[1], n))
        rho[:, self.order] = x.T * self.unit[:, None]
        nodes, arcs = np.zeros(n), np.zeros(2 * (n - 1))
        nodes[self.order] = y[:n]
        used = self.arc >= 0
        arcs[self.arc[used]] = y[n:][used]
        return rho, nodes, arcs


def _above(parent: Ints, place: int) -> Flags:
    """Return whether each place lies on the way from ``place`` to the root, without the root."""
    inside = np.zeros(len(parent), bool)
    while place > 0:
        inside[place] = True
        place = int(parent[place])
    return inside


def log_mean(log_weights: Floats, alpha: float, s: Floats) -> float:
    """Return the logarithm of the mean rate of the totals ``s``, shape (K,), up to a constant."""
    if alpha == 1:
        weights = np.exp(log_weights)
        return float((weights * np.log(s)).sum() / weights.sum())
    return _log_sum(log_weights + (1 - alpha) * np.log(s)) / (1 - alpha)


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


def _log_sum(terms: Floats) -> float:
    largest = terms.max()
    return float(np.log(np.exp(terms - largest).sum()) + largest)


class System:
    """Loads and charges on a tree, and the linear systems of one iteration after the other."""

    def __init__(self, tree: ScaledTree) -> None:
        self._tree = tree
        n, apps = tree.present.shape
        limits = 3 * n
        self._beyond, self._outside = np.zeros((2, n, apps))
        self._q, self._r = np.zeros((2, n, apps, apps))
        self._vc, self._top = np.zeros(limits), np.zeros(())
        self._c, self._pi = np.zeros((2, n, apps))
        d, theta, delta = np.zeros((n, apps)), np.zeros(limits), np.zeros(limits)
        qv, w = np.zeros((2, limits, apps))
        self._elimination = Elimination(tree.parent, tree.v, d, theta, qv, w, delta)

    def loads(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the loads of the limits (3 N,) at rates ``x``, and the totals (K,)."""
        tree = self._tree
        load = np.empty(len(tree.v))
        self._beyond[:] = x
        loads(tree.parent, tree.inside, tree.v, x, self._beyond, self._outside, load)
        at = (tree.master, np.arange(len(tree.master)))
        return load, self._beyond[at] + self._outside[at]

    def cheapest(self, y: Floats) -> Floats:
        """Return the least that a task of each application costs anywhere, shape (K,)."""
        tree = self._tree
        paid = np.empty(tree.present.shape)
        charges(tree.parent, tree.master, tree.inside, tree.v, y, paid)
        return np.asarray(np.where(tree.present > 0, paid, np.inf).min(axis=0))

    def eliminate(self, d: Floats, theta: Floats, hessian: Floats) -> None:
        """Eliminate all but the totals and the root.

        Parameters
        ----------
        d : shape (N, K)
            1 / curvature of each rate, 0 for pairs that do not exist.
        theta : shape (3 N,)
            Curvature of each load, 0 where there is no limit.
        hessian : shape (K, K)
            Curvature in the totals.
        """
        tree, apps = self._tree, len(hessian)
        self._elimination = self._elimination._replace(d=d, theta=theta)
        self._q[:] = 0.0
        self._r[:] = 0.0
        self._r[tree.master, np.arange(apps), np.arange(apps)] = -1.0
        corner = hessian.copy()
        factor(self._elimination, self._q, self._r, corner)
        self._top = np.block([[corner, -self._r[0].T], [-self._r[0], -self._q[0]]])
        _finite(self._top)

    def solve(self, g: Floats, off: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Solve for ``g`` (N, K) and offsets (3 N,), and again for the rounding error of the loads.

        Returns
        -------
        dx, p, y, move
            The rates, p = dx / d, the forces y = theta * (load + offset), and the loads.
        """
        dx, p, y = self._solve_once(g, off)
        move, _ = self.loads(dx)
        theta = self._elimination.theta
        held = np.divide(y, theta, out=np.zeros(len(y)), where=theta > 0)
        more_dx, more_p, more_y = self._solve_once(np.zeros(g.shape), off + move - held)
        dx += more_dx
        p += more_p
        y += more_y
        move, _ = self.loads(dx)
        return dx, p, y, move

    def _solve_once(self, g: Floats, off: Floats) -> tuple[Floats, Floats, Floats]:
        apps = g.shape[1]
        p, y = np.zeros(g.shape), np.zeros(len(off))
        self._c[:] = 0.0
        side = np.zeros(2 * apps)
        ascend(self._elimination, g, off, self._c, self._vc, side[:apps])
        side[apps:] = self._c[0]
        _finite(side)
        found = np.asarray(np.linalg.solve(self._top, side), dtype=np.float64)
        self._pi[0] = found[apps:]
        descend(self._elimination, g, off, self._vc, found[:apps], self._pi, p, y)
        return self._elimination.d * p, p, y


def _finite(numbers: Floats) -> None:
    if not np.isfinite(numbers).all():
        raise np.linalg.LinAlgError("rounding has gone too far")
