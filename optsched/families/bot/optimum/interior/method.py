"""Primal-dual interior-point method for alpha-fair rates on a tree.

Predictor and corrector after Mehrotra (1992). The objective is the logarithm of the mean rate
(`fairness.log_mean_rate`), which is concave for every alpha, does not change with the units, and
has the same optimum as the alpha-fair utility (Mo and Walrand, 2000). Everything is scaled
(`tree`); the start is strictly feasible. Every iteration is one elimination along the tree
(`kernels`) and two right sides (`steps`). The gap is exact: rates scaled to the largest load
against the bound that the prices prove.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from optsched.families.bot.instance import BotInstance
from optsched.families.bot.optimum.interior.kernels import fastest
from optsched.families.bot.optimum.interior.steps import System, log_bound, log_mean
from optsched.families.bot.optimum.interior.tree import ScaledTree
from optsched.numbers.arrays import Floats
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
    """Return the longest step, at most 1e9, at which no slack and no price is negative."""
    speed = fastest(slacks, moved, prices, new)
    if not np.isfinite(speed):
        raise np.linalg.LinAlgError("rounding has gone too far")
    return float(1 / max(1e-9, speed))
