"""Bipartite reward maximization as a convex program.

Zhao, Deng, Xiang, Yan, Yin, Dustdar, Zomaya: Scheduling Multi-Server Jobs with Sublinear Regrets
via Online Learning. arXiv:2305.06572. Glossary: families/bipartite/instance.py.

    max   sum_l n_l [ sum_{k,r} f_r^k(y_lr^k) - max_k beta_k sum_r y_lr^k ]      (7)-(10), (12)
    s.t.  0 <= y_lr^k <= a_l^k                          for all l, r, k          (5)
          sum_l y_lr^k <= c_r^k                         for all r, k             (6)

with f_r^k linear, log, reciprocal or poly (60). With the counts n_l = sum_t x_l(t) this is the best
stationary decision (10): a decision that stays the same earns in all slots together what these
counts say. With n = x(t) it is the best decision for slot t. Where several jobs arrive at a port,
l stands for its copies (Sec. 3.4).
"""

# mypy: disable-error-code="attr-defined, no-any-return, operator"
# ruff: noqa: N806
# CVXPY tells type checkers little of itself; capital letters are the paper's.

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from optsched.families.bipartite.instance import LINEAR, LOG, POLY, RECIPROCAL, BipartiteInstance


def bipartite_program(inst: BipartiteInstance, n: NDArray[Any] | None = None) -> cp.Problem:
    """Build the program for ``inst``.

    Parameters
    ----------
    inst : BipartiteInstance
    n : shape (L,), optional
        Weight of each port (copy): the jobs of one slot, x(t). By default the counts of all slots,
        which makes it (10).

    Returns
    -------
    cvxpy.Problem
        With one variable ``y``, shape (N,): an amount per channel.
    """
    a = inst.arrays
    L, K, N, rows = a.copies, a.resources, a.channels, len(a.capacity)
    n = inst.counts if n is None else n
    row = np.repeat(np.arange(rows), np.diff(a.start))  # (N,) machine and resource of a channel
    n_y, alpha, kind = n[a.port], a.alpha[row], a.kind[row]  # (N,)
    ones, each = np.ones(N), np.arange(N)
    over_ports = csr_array((ones, (row, each)), shape=(rows, N))
    over_machines = csr_array((ones, (a.port * K + row % K, each)), shape=(L * K, N))

    y = cp.Variable(N, name="y", nonneg=True)
    f: Any = 0.0
    for what in (LINEAR, LOG, RECIPROCAL, POLY):
        (i,) = np.nonzero((kind == what) & (n_y > 0))
        if len(i):
            f = f + _gain(what, n_y[i], alpha[i], y[i])
    S = cp.reshape(over_machines @ y, (L, K), order="C")
    overhead = cp.max(cp.multiply(S, np.tile(a.beta, (L, 1))), axis=1)  # (L,)

    eq10 = cp.Maximize(f - n @ overhead)
    eq5 = (y <= a.upper).set_label("(5) no channel above the request")
    eq6 = (over_ports @ y <= a.capacity).set_label("(6) capacity of each machine")
    return cp.Problem(eq10, [eq5, eq6])


def _gain(kind: int, n: NDArray[Any], alpha: NDArray[Any], y: cp.Expression) -> cp.Expression:
    """Return sum n f(y) for one kind of (60)."""
    if kind == LOG:
        return (n * alpha) @ cp.log(y + 1)
    if kind == RECIPROCAL:
        return np.sum(n / alpha) - n @ cp.inv_pos(y + alpha)
    if kind == POLY:
        return (n * alpha) @ (cp.sqrt(y + 1) - 1)
    return (n * alpha) @ y
