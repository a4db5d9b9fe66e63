"""Bipartite reward maximization as a convex program.

Zhao, Deng, Xiang, Yan, Yin, Dustdar, Zomaya: Scheduling Multi-Server Jobs with Sublinear Regrets
via Online Learning. arXiv:2305.06572. Glossary: families/bipartite/instance.py.

    max   sum_t sum_l x_l(t) [ sum_{k,r} f_r^k(y_lr^k(t)) - max_k beta_k sum_r y_lr^k(t) ]  (7)-(9)
    s.t.  0 <= y_lr^k(t) <= a_l^k                       for all l, r, k, t       (5)
          sum_l y_lr^k(t) <= c_r^k                      for all r, k, t          (6)

with f_r^k linear, log, reciprocal or poly (60); or, where the instance's gain is "sum", with (7) as
it is printed, f_k(sum_r y_lr^k(t)) instead of sum_r f_r^k(y_lr^k(t)). Slots with the same jobs
have the same best decision: so there is one for every pattern of jobs, and it counts as often as
the pattern comes.
With one decision for all slots, and the numbers n_l = sum_t x_l(t) instead of x_l(t), this is
the best stationary decision (10). Where several jobs arrive at a port, l denotes its copies
(Sec. 3.4). A port without a job earns nothing, and has no variables.
"""

# mypy: disable-error-code="attr-defined, no-any-return, operator"
# ruff: noqa: N806
# CVXPY has few type hints; capital letters are the paper's.

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from optsched.families.bipartite.instance import BipartiteInstance
from optsched.families.bipartite.instance_utilities import LINEAR, LOG, POLY, RECIPROCAL
from optsched.numbers.arrays import Ints
from optsched.problem import InputError

MOST_VARIABLES = 1_000_000


def bipartite_program(
    inst: BipartiteInstance,
    n: NDArray[Any] | None = None,
    *,
    unit: NDArray[Any] | None = None,
    largest: bool = False,
    relaxed: bool = False,  # noqa: ARG001
    printed: bool = False,  # noqa: ARG001
) -> cp.Problem:
    """Build the program for ``inst``.

    Parameters
    ----------
    inst : BipartiteInstance
    n : shape (L,), optional
        Weights of the ports (copies), for which one decision is sought: the jobs of one slot, x(t),
        or the counts of all, which makes it (10). By default, the jobs of all slots, with a
        decision for each pattern.
    unit : shape (N,), optional
        Unit of the variable of each channel: y = unit * variable. By default y itself.
    largest : bool
        Whether the largest overhead of a job is a variable, above all of them: rows with duals.
    relaxed, printed : bool
        Change nothing: amounts are fractions as they are, and the numbers those of the paper.

    Returns
    -------
    cvxpy.Problem
        With one variable ``y``: an amount per channel in `channels_with_jobs`; and ``largest``.
        Its optimum is that of all slots (of weights ``n``), in the units of the data.

    Raises
    ------
    InputError
        There would be more than a million variables.
    """
    a = inst.arrays
    L, K = a.copies, a.resources
    weights = _weights(inst, n)
    decision, channel = channels_with_jobs(inst, n)
    if len(channel) == 0:
        return _nothing()
    row = a.row[channel]
    port = a.port[channel]
    n_f, alpha, kind = weights[decision, port], a.alpha[row], a.kind[row]
    used, of_row = np.unique(decision * len(a.capacity) + row, return_inverse=True)
    served, of_job = np.unique(decision * L + port, return_inverse=True)
    jobs, numbers = len(served), np.arange(len(channel))
    ones = np.ones(len(channel))
    over_ports = csr_array((ones, (of_row, numbers)), shape=(len(used), len(channel)))
    over_machines = csr_array(
        (ones, (of_job * K + row % K, numbers)), shape=(jobs * K, len(channel))
    )
    capacity = a.capacity[used % len(a.capacity)]

    count = cp.Variable(len(channel), name="y", nonneg=True)
    y = count if unit is None else cp.multiply(unit[channel], count)
    sums = over_machines @ y
    S = cp.reshape(sums, (jobs, K), order="C")
    amount = y
    if a.summed:  # (7) as it is printed
        n_f, amount = np.repeat(weights.ravel()[served], K), sums
        kind, alpha = np.tile(a.of_sum[0], jobs), np.tile(a.of_sum[1], jobs)
    f: Any = 0.0
    for what in (LINEAR, LOG, RECIPROCAL, POLY):
        (i,) = np.nonzero(kind == what)
        if len(i):
            f = f + _gain(what, n_f[i], alpha[i], amount[i])
    # n max_k beta_k S_k with n inside: the solver's own variables have the objective's units
    each = np.outer(weights.ravel()[served], a.beta)
    overhead = cp.max(cp.multiply(S, each), axis=1)
    above = []
    if largest:
        overhead = cp.Variable(jobs, name="largest")
        above = [cp.multiply(S[:, k], each[:, k]) <= overhead for k in range(K)]

    eq9 = cp.Maximize(f - cp.sum(overhead))
    one, whole = ones, np.ones(len(used))
    if unit is not None:  # rows as shares of the capacity
        one, whole = unit[channel], np.where(capacity > 0, capacity, 1.0)
    eq5 = (count <= a.upper[channel] / one).set_label("(5) no channel above the request")
    eq6 = (diags_array(1 / whole) @ over_ports @ y <= capacity / whole).set_label(
        "(6) capacity of each machine"
    )
    return cp.Problem(eq9, [eq5, eq6, *above])


def channels_with_jobs(inst: BipartiteInstance, n: NDArray[Any] | None = None) -> tuple[Ints, Ints]:
    """Return decision and channel of every variable of the program: those whose port has a job."""
    a = inst.arrays
    some = _weights(inst, n) > 0
    variables = int((some @ np.bincount(a.port, minlength=a.copies)).sum())
    if variables > MOST_VARIABLES:
        raise InputError(
            f"the program of {len(some)} patterns of jobs has {variables} variables, expected at "
            f"most {MOST_VARIABLES}: take fewer slots, ports or machines"
        )
    decision, channel = np.nonzero(some[:, a.port])
    return decision, channel


def _weights(inst: BipartiteInstance, n: NDArray[Any] | None) -> NDArray[Any]:
    """Return the weight of every copy, decision by decision, shape (P, L)."""
    if n is not None:
        return np.asarray(n)[None, :]
    return inst.patterns[0] * inst.pattern_times[:, None]


def _nothing() -> cp.Problem:
    """Return the program of an instance in which all amounts are 0: its optimum is 0."""
    y = cp.Variable(1, name="y", nonneg=True)
    eq5 = (y <= 0).set_label("(5) no channel above the request")
    return cp.Problem(cp.Maximize(cp.sum(y)), [eq5])


def _gain(kind: int, n: NDArray[Any], alpha: NDArray[Any], y: cp.Expression) -> cp.Expression:
    """Return sum n f(y) for one kind of (60)."""
    if kind == LOG:
        return (n * alpha) @ cp.log(y + 1)
    if kind == RECIPROCAL:
        return np.sum(n / alpha) - n @ cp.inv_pos(y + alpha)
    if kind == POLY:
        return (n * alpha) @ (cp.sqrt(y + 1) - 1)
    return (n * alpha) @ y
