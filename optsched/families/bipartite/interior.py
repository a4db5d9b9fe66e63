"""A primal-dual interior point for max_y sum_l n_l q_l(y), which uses its structure; compiled.

    min   - sum n_l f(y) + sum_l n_l m_l
    s.t.  0 <= y <= u                       multipliers zl, zu       u = a, at most 2 c
          sum_l y <= c_r^k                  nu, slack s
          beta_k S_lk <= m_l                theta, slack w           S_lk = sum_r y_lr^k
          and from m_l:                     sum_k theta_lk = n_l

The Hessian is diagonal, and the rows couple numbers only within one resource. Eliminating y and
then the multipliers nu leaves one symmetric matrix of size L x L for each resource,

    N_k = diag(w / theta) + beta_k^2 (diag(sum d) - sum_r rho_r d_r d_r^T),    d = 1 / D,

and sum_k N_k^-1 for the changes of m. Start: strictly feasible, and every step stays so. Mehrotra's
predictor and corrector share all matrices. Prices and value are measured by `dual_value` and
`value_of`, not by the method's own residuals.
"""

# mypy: allow-untyped-defs
# The arguments of compiled functions are described where they are first met.

from __future__ import annotations

import numpy as np

from optsched.families.bipartite.instance_utilities import bend, slope
from optsched.families.bipartite.interior_algebra import (
    dual_value,
    factorize,
    reduced,
    substitute,
    value_of,
)
from optsched.kernels import kernel

MOST_ITERATIONS = 150
NEAR = 0.995  # share of the way to the boundary
LEAST_STEP = 1e-7
FLOOR = 1e-5  # of the curvature, relative: a linear gain would make d = 1 / D as large as 1 / mu
START = 0.1
LEAST = 1e-15  # of the gains, relative: less cannot be told from 0
MARGIN = 1e-4  # of the gains, by which the largest overhead is not reached at the start
MOST_STALLS = 4  # iterations without a better gap, after which it is given up


@kernel(error_model="numpy", nogil=True)
def maximize(stopped, weight, tolerance, start, port, resource, kind, alpha, beta, upper, capacity):
    """Maximize sum_l weight_l q_l(y) on live channels.

    Parameters
    ----------
    stopped : shape (1,)
        Whoever calls writes 1 into it, from another thread, to have the best so far.
    weight : shape (C,)
        n_l >= 0.
    tolerance : float
        Relative gap between value and bound at which to stop.
    start, port, ...
        As in `projection.Live`.

    Returns
    -------
    y : shape (n,)
        The best point found; feasible.
    theta : shape (K, C), nu : shape (rows,)
        The best prices found.
    value, bound : float
        What they are worth.
    iterations : int
    """
    resources, copies = len(beta), len(weight)
    best_y = np.zeros(len(port))
    best_nu = np.zeros(len(capacity))
    best_theta = np.zeros((resources, copies))
    # ports that have weight and a channel, and the channels of these only
    local = np.full(copies, -1, np.int64)
    many = 0
    for i in range(len(port)):
        if weight[port[i]] > 0.0 and local[port[i]] < 0:
            local[port[i]] = 0
    for p in range(copies):
        if weight[p] > 0.0:
            if local[p] == 0:
                local[p] = many
                many += 1
            else:
                best_theta[0, p] = weight[p]  # a port without channels: its prices do not matter
    if many == 0:
        return best_y, best_theta, best_nu, 0.0, 0.0, 0
    scale = weight.max()
    n = np.empty(many)
    for p in range(copies):
        if local[p] >= 0:
            n[local[p]] = weight[p] / scale
    first = np.zeros(len(capacity) + 1, np.uint32)
    where = np.empty(len(port), np.uint32)
    rows = np.empty(len(capacity), np.uint32)
    height, length = 0, 0
    for row in range(len(capacity)):
        before = length
        for i in range(start[row], start[row + 1]):
            if local[port[i]] >= 0:
                where[length] = i
                length += 1
        if length > before:
            rows[height] = row
            height += 1
            first[height] = length
    where, rows, first = where[:length].copy(), rows[:height].copy(), first[: height + 1].copy()
    at = np.empty(length, np.uint32)
    u, y = np.empty(length), np.empty(length)
    c, s, nu = np.empty(height), np.empty(height), np.empty(height)
    total = np.zeros((resources, many))
    worth = 0.0
    for r in range(height):
        row = rows[r]
        c[r] = s[r] = capacity[row]
        nu[r] = 0.0
        k = resource[row]
        share = c[r] / (first[r + 1] - first[r])
        for i in range(first[r], first[r + 1]):
            at[i] = local[port[where[i]]]
            # a limit at c would take part of the price of the capacity; at 2 c it costs nothing
            u[i] = min(upper[where[i]], 2.0 * c[r])
            y[i] = 0.5 * min(u[i], share)
            s[r] -= y[i]
            total[k, at[i]] += y[i]
            marginal = n[at[i]] * slope(kind[row], alpha[row], y[i])
            worth += marginal * y[i]
            nu[r] += marginal / (first[r + 1] - first[r])
    mu = START * worth / length
    zl, zu = mu / y, mu / (u - y)
    m = np.empty(many)
    theta, w = np.empty((resources, many)), np.empty((resources, many))
    for p in range(many):
        most = 0.0
        for k in range(resources):
            most = max(most, beta[k] * total[k, p])
        m[p] = 1.2 * most + MARGIN * worth / (n[p] * many)
        for k in range(resources):
            theta[k, p] = n[p] / resources
            w[k, p] = m[p] - beta[k] * total[k, p]
    for r in range(height):  # where the prices leave a gain or a loss, the limits of y take it
        row = rows[r]
        k = resource[row]
        nu[r] = max(mu / s[r], nu[r])
        for i in range(first[r], first[r + 1]):
            p = at[i]
            left = n[p] * slope(kind[row], alpha[row], y[i]) - beta[k] * theta[k, p] - nu[r]
            if left > zu[i] - zl[i]:
                zu[i] = left + zl[i]
            else:
                zl[i] = zu[i] - left

    d, g = np.empty(length), np.empty(length)
    inverse = np.empty((resources, many, many))
    dy, dzl, dzu = np.zeros(length), np.zeros(length), np.zeros(length)
    ds, dnu = np.zeros(height), np.zeros(height)
    dw, dtheta, dm = np.zeros((resources, many)), np.zeros((resources, many)), np.zeros(many)
    area = np.empty(height)
    constraints = 2 * length + height + resources * many
    best_value, best_bound = -np.inf, np.inf
    stalls, iterations, step = 0, 0, 1.0
    while True:
        # what is known at this point
        slack = 0.0
        for i in range(length):
            slack += y[i] * zl[i] + (u[i] - y[i]) * zu[i]
        for r in range(height):
            slack += s[r] * nu[r]
        for k in range(resources):
            for p in range(many):
                slack += w[k, p] * theta[k, p]
        mu = slack / constraints
        value = value_of(y, n, total, first, at, rows, kind, alpha, beta)
        ending = iterations >= MOST_ITERATIONS or not step > LEAST_STEP or stopped[0] != 0
        if slack <= 100.0 * max(tolerance * abs(value), LEAST * worth) or ending:
            bound = dual_value(theta, nu, n, c, u, first, at, rows, resource, kind, alpha, beta)
            better = False
            if value > best_value:
                better = True
                best_value = value
                for i in range(length):
                    best_y[where[i]] = y[i]
            if bound < best_bound:
                better = True
                best_bound = bound
                for r in range(height):
                    best_nu[rows[r]] = nu[r] * scale
                for p in range(copies):
                    if local[p] >= 0:
                        for k in range(resources):
                            best_theta[k, p] = theta[k, local[p]] * scale
            stalls = 0 if better else stalls + 1
            if best_bound - best_value <= tolerance * abs(best_value) or stalls >= MOST_STALLS:
                break
        if ending:
            break
        iterations += 1
        # matrices
        for r in range(height):
            row = rows[r]
            area[r] = 0.0
            for i in range(first[r], first[r + 1]):
                curve = FLOOR / u[i] * slope(kind[row], alpha[row], y[i])
                curve = n[at[i]] * (curve + bend(kind[row], alpha[row], y[i]))
                d[i] = 1.0 / (curve + zl[i] / y[i] + zu[i] / (u[i] - y[i]))
                area[r] += d[i]
        reduced(stopped, inverse, d, area, nu, s, w, theta, first, at, rows, resource, beta)
        if stopped[0] != 0:
            continue  # what is known of this point is looked at, and it ends
        summed = np.zeros((many, many))
        for k in range(resources):
            summed += inverse[k]
        if not factorize(stopped, summed):
            step = 0.0  # one more look, then it ends
            continue
        # predictor, then corrector
        centre = 0.0
        for phase in range(2):
            for r in range(height):
                row = rows[r]
                k = resource[row]
                for i in range(first[r], first[r + 1]):
                    p = at[i]
                    low, high = centre, centre
                    if phase == 1:
                        low -= dy[i] * dzl[i]
                        high += dy[i] * dzu[i]
                    g[i] = (
                        n[p] * slope(kind[row], alpha[row], y[i]) - beta[k] * theta[k, p] - nu[r]
                        + low / y[i] - high / (u[i] - y[i])
                    )  # fmt: skip
                    # what a change of y does not explain of the change of the multipliers
                    dzl[i] = low / y[i] - zl[i]
                    dzu[i] = high / (u[i] - y[i]) - zu[i]
            solve(
                centre, phase, d, g, area, inverse, summed, n, s, nu, w, theta, dy, ds, dnu, dw,
                dtheta, dm, first, at, rows, resource, beta,
            )  # fmt: skip
            for i in range(length):
                dzl[i] -= zl[i] / y[i] * dy[i]
                dzu[i] += zu[i] / (u[i] - y[i]) * dy[i]
            step = 1.0 / NEAR
            for i in range(length):
                step = room(step, y[i], dy[i])
                step = room(step, u[i] - y[i], -dy[i])
                step = room(step, zl[i], dzl[i])
                step = room(step, zu[i], dzu[i])
            for r in range(height):
                step = room(step, s[r], ds[r])
                step = room(step, nu[r], dnu[r])
            for k in range(resources):
                for p in range(many):
                    step = room(step, w[k, p], dw[k, p])
                    step = room(step, theta[k, p], dtheta[k, p])
            step *= NEAR
            if phase == 0:
                after = 0.0
                for i in range(length):
                    after += (y[i] + step * dy[i]) * (zl[i] + step * dzl[i])
                    after += (u[i] - y[i] - step * dy[i]) * (zu[i] + step * dzu[i])
                for r in range(height):
                    after += (s[r] + step * ds[r]) * (nu[r] + step * dnu[r])
                for k in range(resources):
                    for p in range(many):
                        after += (w[k, p] + step * dw[k, p]) * (theta[k, p] + step * dtheta[k, p])
                centre = mu * (after / slack) ** 3
        if not step > LEAST_STEP:  # also what is no number; one more look, then it ends
            continue
        for i in range(length):
            y[i] += step * dy[i]
            zl[i] += step * dzl[i]
            zu[i] += step * dzu[i]
        for r in range(height):
            s[r] += step * ds[r]
            nu[r] += step * dnu[r]
        total[:] = 0.0
        for r in range(height):
            k = resource[rows[r]]
            for i in range(first[r], first[r + 1]):
                total[k, at[i]] += y[i]
        for p in range(many):
            m[p] += step * dm[p]
            kept = 0.0
            for k in range(resources):
                theta[k, p] += step * dtheta[k, p]
                w[k, p] += step * dw[k, p]
                kept += theta[k, p]
            for k in range(resources):
                theta[k, p] *= n[p] / kept
    return best_y, best_theta, best_nu, best_value * scale, best_bound * scale, iterations


@kernel(inline="always")
def room(step, x, dx):
    """Return the largest step, at most ``step``, that keeps x >= 0."""
    return min(step, -x / dx) if dx < 0.0 else step


@kernel(error_model="numpy")
def solve(
    centre, phase, d, g, area, inverse, summed, n, s, nu, w, theta, dy, ds, dnu, dw, dtheta, dm,
    first, at, rows, resource, beta,
):  # fmt: skip
    """Write the changes of y, s, nu, w, theta and m; in phase 1 with the second order terms."""
    resources, many = theta.shape
    height = len(rows)
    right = np.zeros((resources, many))
    alpha = np.empty(height)
    pull = np.empty(height)
    for r in range(height):
        k = resource[rows[r]]
        target = centre - ds[r] * dnu[r] if phase == 1 else centre
        alpha[r] = target / s[r] - nu[r]
        q = nu[r] / s[r]
        pushed = 0.0
        for i in range(first[r], first[r + 1]):
            pushed += d[i] * g[i]
        pull[r] = (alpha[r] + q * pushed) / (1.0 + q * area[r])
        for i in range(first[r], first[r + 1]):
            right[k, at[i]] += d[i] * (g[i] - pull[r])
    gamma = np.empty((resources, many))
    side = np.zeros(many)
    for k in range(resources):
        for p in range(many):
            target = centre - dw[k, p] * dtheta[k, p] if phase == 1 else centre
            gamma[k, p] = target / w[k, p] - theta[k, p]
            right[k, p] = gamma[k, p] * w[k, p] / theta[k, p] + beta[k] * right[k, p]
        side += np.dot(inverse[k], right[k])
    for p in range(many):
        missing = n[p]
        for k in range(resources):
            missing -= theta[k, p]
        side[p] -= missing
    substitute(summed, side)
    dm[:] = side
    for k in range(resources):
        dtheta[k] = np.dot(inverse[k], right[k] - dm)
    moved = np.zeros((resources, many))
    for r in range(height):
        k = resource[rows[r]]
        q = nu[r] / s[r]
        pushed = 0.0
        for i in range(first[r], first[r + 1]):
            g[i] -= beta[k] * dtheta[k, at[i]]
            pushed += d[i] * g[i]
        change = (pushed - area[r] * alpha[r]) / (1.0 + q * area[r])
        price = alpha[r] + q * change
        dnu[r] = price
        ds[r] = 0.0
        for i in range(first[r], first[r + 1]):
            dy[i] = d[i] * (g[i] - price)
            ds[r] -= dy[i]
            moved[k, at[i]] += dy[i]
    for k in range(resources):
        for p in range(many):
            dw[k, p] = dm[p] - beta[k] * moved[k, p]
