"""One iteration of the interior-point method: bounds, and the Newton systems.

Block elimination with iterative refinement (Boyd and Vandenberghe, 2004). Only what grows with the
tree is compiled (`kernels`); the rest is plain NumPy.
"""

from __future__ import annotations

import numpy as np

from optsched.families.bot.optimum.interior.kernels import (
    Elimination,
    ascend,
    charges,
    descend,
    factor,
    loads,
)
from optsched.families.bot.optimum.interior.tree import ScaledTree
from optsched.numbers.arrays import Floats


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
