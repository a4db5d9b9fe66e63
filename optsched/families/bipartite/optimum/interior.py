"""Primal-dual interior-point method with predictor and corrector, for a structured concave program.

Mehrotra's method (Mehrotra, 1992) for max_y sum_l n_l q_l(y), compiled:

    min   - sum n_l f(y) + sum_l n_l m_l
    s.t.  0 <= y <= u                       multipliers zl, zu       u = a, at most 2 c
          sum_l y <= c_r^k                  nu, slack s
          beta_k S_lk <= m_l                theta, slack w           S_lk = sum_r y_lr^k
          and from m_l:                     sum_k theta_lk = n_l

The Hessian is diagonal, and the rows couple numbers only within one resource. Eliminating y and
then the multipliers nu leaves one symmetric matrix of size L x L for each resource,

    N_k = diag(w / theta) + beta_k^2 (diag(sum d) - sum_r rho_r d_r d_r^T),    d = 1 / D,

and sum_k N_k^-1 for the changes of m: block elimination of a structured Newton system (Boyd and
Vandenberghe, 2004). LAPACK inverts the blocks and the sum of their inverses. Start: strictly
feasible, and every step stays so. Mehrotra's predictor and corrector share all matrices. Prices and
value are measured by `dual_value` and `value_of`, not by the method's own residuals.

What must stay above 0 is one long array, x = (y, u - y, s, w), and so is what it is multiplied by,
z = (zl, zu, nu, theta), see `Iterate`. All memory is taken before the first iteration: what
compiled code need not do need not be compiled.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from optsched.families.bipartite.certificate.enclosure import surplus
from optsched.families.bipartite.instance_utilities import LOG, POLY, RECIPROCAL, gain
from optsched.families.bipartite.policies.projection import SUMS, Channels, Live
from optsched.numbers.arrays import Flags, Floats, Ints, Unsigned
from optsched.numbers.kernels import kernel

MOST_ITERATIONS = 150
NEAR = 0.995  # share of the way to the boundary
LEAST_STEP = 1e-7
LEAST = 1e-15  # of the gains, relative: less cannot be distinguished from 0
LOOK, FAR = 1e2, 1e4  # times the gap that is requested: as near, bounds (or the value) are computed
MOST_STALLS = 4  # iterations without a better gap, after which it is given up


class LiveChannels(NamedTuple):
    """The live channels of a platform, whatever the weights."""

    channels: Channels
    port: Ints  # (n,) copy of each channel; as signed numbers, numpy looks up by them at once
    row: Ints  # (n,) row of each channel
    resource: Ints  # (n,) resource of each channel
    limit: Floats  # (n,) limit of each channel, in its resource's unit
    reached: Flags  # (C,) whether the copy has a channel

    @classmethod
    def of(cls, live: Live, copies: int) -> Self:
        """Return the live channels of a platform with this many copies."""
        channels, port = live.channels, live.channels.port.astype(np.int64)
        # a limit at c would take part of the price of the capacity; at 2 c it costs nothing
        limit = np.minimum(channels.upper, 2.0 * channels.capacity[live.row])
        resource = channels.resource[live.row].astype(np.int64)
        return cls(
            channels, port, live.row, resource, limit, np.bincount(port, minlength=copies) > 0
        )


def maximize(
    stopped: Ints, weight: Floats, tolerance: float, whole: LiveChannels
) -> tuple[Floats, Floats, Floats, float, float, int]:
    """Maximize sum_l weight_l q_l(y) on live channels.

    Parameters
    ----------
    stopped : shape (2,)
        The caller writes 1 into the first, from another thread, to have the best so far; the
        second is how many iterations there may be.
    weight : shape (C,)
        n_l >= 0.
    tolerance : float
        Relative gap between value and bound at which to stop.
    whole : Whole

    Returns
    -------
    y : shape (n,)
        The best point found; feasible.
    theta : shape (K, C), nu : shape (rows,)
        The best prices found.
    value, bound : float
        Their value.
    iterations : int
    """
    _, _, resource, kind, alpha, beta, _, capacity, *_ = whole.channels
    best_y, best_nu = np.zeros(len(whole.port)), np.zeros(len(capacity))
    best_theta = np.zeros((len(beta), len(weight)))
    best_theta[0] = np.where(whole.reached, 0.0, weight)  # without channels prices do not matter
    # ports that have weight and a channel, and the channels of these only
    chosen = whole.reached & (weight > 0)
    numbers = np.cumsum(chosen) - 1
    many = int(np.count_nonzero(chosen))
    if many == 0:
        return best_y, best_theta, best_nu, 0.0, 0.0, 0
    scale = float(weight.max())
    n = weight[chosen] / scale
    where = np.flatnonzero(chosen[whole.port])
    degrees = np.bincount(whole.row[where], minlength=len(capacity))
    rows = np.flatnonzero(degrees)
    degrees = degrees[rows]
    c, u, at = capacity[rows], whole.limit[where], numbers[whole.port[where]]
    first = np.zeros(len(rows) + 1, np.uint32)
    np.cumsum(degrees, out=first[1:])
    program = ConcaveProgram(
        n=n,
        first=first,
        at=at.astype(np.uint32),
        cell=(whole.resource[where] * many + at).astype(np.uint32),
        resource=resource[rows],
        kind=kind[rows],
        alpha=alpha[rows],
        beta=beta,
        u=u,
        c=c,
    )
    length, height, resources = len(where), len(rows), len(beta)
    x, z, dx, dz, best = np.zeros((5, 2 * length + height + resources * many))
    x[:length] = 0.5 * np.minimum(u, np.repeat(c / degrees, degrees))
    iterate = Iterate(
        *(x, z, dx, dz, best),
        by_channel=np.zeros((6, length)),
        by_row=np.zeros((2, height)),
        by_cell=np.zeros((4, resources, many)),
        matrices=np.zeros((resources + 1, many, many)),
    )
    value_scale = begin(program, iterate)
    value, bound, iterations = improve(stopped, tolerance, value_scale, program, iterate)
    best_y[where] = best[:length]
    best_nu[rows] = best[2 * length : 2 * length + height] * scale
    best_theta[:, chosen] = best[2 * length + height :].reshape(resources, many) * scale
    return best_y, best_theta, best_nu, value * scale, bound * scale, iterations


@kernel(error_model="numpy")
def begin(program: ConcaveProgram, iterate: Iterate) -> float:
    """Write the first point next to y, and the first prices; return the gain of y."""
    n, first, at, cell, resource, _, _, beta, u, c = program
    x, z, by_channel = iterate.x, iterate.z, iterate.by_channel
    length, height, many, resources = len(u), len(c), len(n), len(beta)
    y, above = x[:length], x[length : 2 * length]
    s, w = x[2 * length : 2 * length + height], x[2 * length + height :]
    zl, zu = z[:length], z[length : 2 * length]
    nu, theta = z[2 * length : 2 * length + height], z[2 * length + height :]
    rise, total = by_channel[2], iterate.by_cell[3]
    steepen(y, program, rise, by_channel[3])
    value_scale = 0.0
    for r in range(height):
        s[r] = c[r]
        k = resource[r]
        for i in range(first[r], first[r + 1]):
            s[r] -= y[i]
            total[k, at[i]] += y[i]
            marginal = n[at[i]] * rise[i]
            value_scale += marginal * y[i]
            nu[r] += marginal / (first[r + 1] - first[r])
    mu = 0.1 * value_scale / length
    for p in range(many):
        most = 0.0
        for k in range(resources):
            most = max(most, beta[k] * total[k, p])
        # of the gains, by which the largest overhead is not reached at the start
        m = 1.2 * most + 1e-4 * value_scale / (n[p] * many)
        for k in range(resources):
            theta[k * many + p] = n[p] / resources
            w[k * many + p] = m - beta[k] * total[k, p]
    for r in range(height):  # where the prices leave a gain or a loss, the limits of y take it
        b = beta[resource[r]]
        nu[r] = max(mu / s[r], nu[r])
        for i in range(first[r], first[r + 1]):
            above[i] = u[i] - y[i]
            zl[i] = mu / y[i]
            zu[i] = mu / above[i]
            left = n[at[i]] * rise[i] - b * theta[cell[i]] - nu[r]
            if left > zu[i] - zl[i]:
                zu[i] = left + zl[i]
            else:
                zl[i] = zu[i] - left
    return value_scale


@kernel(error_model="numpy", nogil=True, fastmath=SUMS)
def improve(
    stopped: Ints, tolerance: float, value_scale: float, program: ConcaveProgram, iterate: Iterate
) -> tuple[float, float, int]:
    """Iterate from what `begin` made, which is ``value_scale`` something; see `maximize`.

    It ends when ``stopped`` (1,) is not 0.

    Returns
    -------
    value, bound, iterations
    """
    n, first, at, cell, resource, _, _, beta, u, _ = program
    x, z, dx, dz, best, by_channel, by_row, by_cell, _ = iterate
    length, height, many, resources = len(u), len(program.c), len(n), len(beta)
    y, above = x[:length], x[length : 2 * length]
    zl, zu, dy, dzl, dzu = z[:length], z[length:], dx[:length], dz[:length], dz[length:]
    nu, theta = z[2 * length : 2 * length + height], z[2 * length + height :]
    d, g, rise, bent = by_channel[0], by_channel[1], by_channel[2], by_channel[3]
    to_low, to_high = by_channel[4], by_channel[5]  # 1 / y and 1 / (u - y)
    area, total = by_row[0], by_cell[3]
    best_value, best_bound = -np.inf, np.inf
    stalls, iterations, step = 0, 0, 1.0
    value = value_of(y, total, program)
    while True:
        # residuals at this point
        slack = 0.0
        for i in range(length):
            slack += y[i] * zl[i] + above[i] * zu[i]
        for i in range(2 * length, len(x)):
            slack += x[i] * z[i]
        mu = slack / len(x)
        ending = iterations >= min(MOST_ITERATIONS, stopped[1])
        ending = ending or not step > LEAST_STEP or stopped[0] != 0
        near = slack <= FAR * max(tolerance * abs(value), LEAST * value_scale)
        if near or ending:
            value = value_of(y, total, program)
        if (near and slack <= LOOK * max(tolerance * abs(value), LEAST * value_scale)) or ending:
            bound = dual_value(theta, nu, program)
            better = False
            if value > best_value:
                better = True
                best_value = value
                best[:length] = y
            if bound < best_bound:
                better = True
                best_bound = bound
                best[2 * length :] = z[2 * length :]
            stalls = 0 if better else stalls + 1
            if best_bound - best_value <= tolerance * abs(best_value) or stalls >= MOST_STALLS:
                break
        if ending:
            break
        iterations += 1
        # matrices
        steepen(y, program, rise, bent)
        for r in range(height):
            area[r] = 0.0
            for i in range(first[r], first[r + 1]):
                # of the curvature, relative: a linear gain would make d = 1 / D as large as 1 / mu
                curve = n[at[i]] * (1e-5 / u[i] * rise[i] + bent[i])
                to_low[i], to_high[i] = 1.0 / y[i], 1.0 / above[i]
                d[i] = 1.0 / (curve + zl[i] * to_low[i] + zu[i] * to_high[i])
                area[r] += d[i]
        if not reduced(stopped, program, iterate):
            step = 0.0  # one more look, then it ends
            continue
        # predictor, then corrector
        centre = 0.0
        for phase in range(2):
            for r in range(height):
                b = beta[resource[r]]
                for i in range(first[r], first[r + 1]):
                    low, high = centre, centre
                    if phase == 1:
                        low -= dy[i] * dzl[i]
                        high += dy[i] * dzu[i]
                    low *= to_low[i]
                    high *= to_high[i]
                    g[i] = n[at[i]] * rise[i] - b * theta[cell[i]] - nu[r] + low - high
                    # what a change of y does not explain of the change of the multipliers
                    dzl[i] = low - zl[i]
                    dzu[i] = high - zu[i]
            solve(centre, phase, program, iterate)
            for i in range(length):
                dzl[i] -= zl[i] * to_low[i] * dy[i]
                dzu[i] += zu[i] * to_high[i] * dy[i]
                dx[length + i] = -dy[i]
            step = 1.0 / NEAR
            for i in range(len(x)):  # few are in the way: most need no division
                if x[i] + step * dx[i] < 0.0:
                    step = -x[i] / dx[i]
                if z[i] + step * dz[i] < 0.0:
                    step = -z[i] / dz[i]
            step *= NEAR
            if phase == 0:
                after = 0.0
                for i in range(length):
                    after += (y[i] + step * dy[i]) * (zl[i] + step * dzl[i])
                    after += (above[i] - step * dy[i]) * (zu[i] + step * dzu[i])
                for i in range(2 * length, len(x)):
                    after += (x[i] + step * dx[i]) * (z[i] + step * dz[i])
                centre = mu * (after / slack) ** 3
        if not step > LEAST_STEP:  # also for NaN: one more evaluation, then stop
            continue
        for i in range(len(x)):
            x[i] += step * dx[i]
            z[i] += step * dz[i]
        total[:] = 0.0
        for r in range(height):
            k = resource[r]
            for i in range(first[r], first[r + 1]):
                above[i] = u[i] - y[i]
                total[k, at[i]] += y[i]
        for p in range(many):
            kept = 0.0
            for k in range(resources):
                kept += theta[k * many + p]
            for k in range(resources):
                theta[k * many + p] *= n[p] / kept
    return best_value, best_bound, iterations


class ConcaveProgram(NamedTuple):
    """Data of the concave program: copies with a weight, their channels, and the capacity rows.

    Indices are unsigned, so compiled code need not handle negative ones.
    """

    n: Floats  # (many,) weights of the copies, the largest 1
    first: Unsigned  # (height + 1,) first channel of each row
    at: Unsigned  # (length,) copy of each channel
    cell: Unsigned  # (length,) resource * many + copy
    resource: Unsigned  # (height,)
    kind: Ints  # (height,) index in KINDS
    alpha: Floats  # (height,)
    beta: Floats  # (K,)
    u: Floats  # (length,) limit of each channel
    c: Floats  # (height,) capacity of each row


class Iterate(NamedTuple):
    """Iterate and working arrays of the method; size = 2 length + height + K many."""

    x: Floats  # (size,) y, u - y, s, w: positive variables
    z: Floats  # (size,) zl, zu, nu, theta: their multipliers
    dx: Floats  # (size,) a step
    dz: Floats  # (size,)
    best: Floats  # (size,) the best y and, where its multipliers would be, the best nu and theta
    by_channel: Floats  # (6, length)
    by_row: Floats  # (2, height)
    by_cell: Floats  # (4, K, many)
    matrices: Floats  # (K + 1, many, many) the inverses, and that of their sum


@kernel(error_model="numpy")
def steepen(y: Floats, program: ConcaveProgram, rise: Floats, bent: Floats) -> None:
    """Write f'(y) and -f''(y): ``y``, ``rise`` and ``bent`` (length,) are of channels."""
    first = program.first
    for r in range(len(program.c)):  # one division for both
        kind, alpha = program.kind[r], program.alpha[r]
        channels = range(first[r], first[r + 1])
        if kind == LOG:
            for i in channels:
                each = 1.0 / (y[i] + 1.0)
                rise[i] = alpha * each
                bent[i] = rise[i] * each
        elif kind == RECIPROCAL:
            for i in channels:
                each = 1.0 / (y[i] + alpha)
                rise[i] = each * each
                bent[i] = 2.0 * rise[i] * each
        elif kind == POLY:
            for i in channels:
                each = 1.0 / (y[i] + 1.0)
                rise[i] = 0.5 * alpha * math.sqrt(each)
                bent[i] = 0.5 * rise[i] * each
        else:
            for i in channels:
                rise[i] = alpha
                bent[i] = 0.0


@kernel(error_model="numpy")
def reduced(stopped: Ints, program: ConcaveProgram, iterate: Iterate) -> bool:
    """Write N_k^-1 for every resource, and the inverse of their sum.

    Returns False if it was ``stopped`` (1,), or rounding has gone too far.

    N_k has no positive numbers next to the diagonal, and its row sums are positive: w / theta +
    beta^2 sum of d / (1 + q sum d). These two parts are added up, and then the diagonal from them.
    """
    first, at, resource, beta = program.first, program.at, program.resource, program.beta
    matrices, excess = iterate.matrices, iterate.by_cell[0]
    resources, many, height = len(beta), len(program.n), len(program.c)
    d, area = iterate.by_channel[0], iterate.by_row[0]
    head = len(iterate.x) - resources * many - height
    s, nu = iterate.x[head:], iterate.z[head:]
    w, theta = s[height:], nu[height:]
    matrices[:] = 0.0
    for k in range(resources):
        for p in range(many):
            excess[k, p] = w[k * many + p] / theta[k * many + p]
    for r in range(height):
        k = resource[r]
        matrix, over = matrices[k], excess[k]
        q = nu[r] / s[r]
        whole = beta[k] * beta[k] / (1.0 + q * area[r])
        begin, end = first[r], first[r + 1]
        for i in range(begin, end):
            part = q * whole * d[i]
            line = matrix[at[i]]
            if end - begin == many:  # all ports, in order: nothing to look up
                for j in range(i - begin):
                    line[j] -= part * d[begin + j]
            else:
                for j in range(begin, i):
                    line[at[j]] -= part * d[j]
            over[at[i]] += whole * d[i]
        if stopped[0] != 0:
            return False
    summed = matrices[resources]
    for k in range(resources):
        if stopped[0] != 0:
            return False
        matrix, over = matrices[k], excess[k]
        for i in range(many):
            for j in range(i):
                matrix[j, i] = matrix[i, j]
        for i in range(many):
            matrix[i, i] = over[i] - matrix[i].sum()
        if not inverted(matrix):
            return False
        summed += matrix
    return inverted(summed)


@kernel(error_model="numpy")
def inverted(matrix: Floats) -> bool:
    """Replace a ``matrix`` (n, n) by its inverse; False if LAPACK finds none."""
    try:
        matrix[:] = np.linalg.inv(matrix)
    except Exception:  # it is singular, or not finite
        return False
    return True


@kernel(error_model="numpy", fastmath=SUMS)
def times(matrix: Floats, x: Floats, product: Floats) -> None:
    """Write ``matrix`` (n, n) times ``x`` (n,) into ``product`` (n,): small ones need no BLAS."""
    for i in range(len(x)):
        line, total = matrix[i], 0.0
        for j in range(len(x)):
            total += line[j] * x[j]
        product[i] = total


@kernel(error_model="numpy")
def value_of(y: Floats, total: Floats, program: ConcaveProgram) -> float:
    """Return sum_l n_l q_l(y) at ``y`` (length,).

    ``total`` (K, many) is the allocation of each resource to the copies.
    """
    n, first, at, _, _, kind, alpha, beta, _, _ = program
    value = 0.0
    for r in range(len(kind)):
        for i in range(first[r], first[r + 1]):
            value += n[at[i]] * gain(kind[r], alpha[r], y[i])
    for p in range(len(n)):
        worst = 0.0
        for k in range(len(beta)):
            worst = max(worst, beta[k] * total[k, p])
        value -= n[p] * worst
    return value


@kernel(error_model="numpy")
def dual_value(theta: Floats, nu: Floats, program: ConcaveProgram) -> float:
    """Return the bound that prices prove: sum nu c + the gain of each channel at its price.

    ``theta`` (K many,), ``nu`` (height,).
    """
    n, first, at, cell, resource, kind, alpha, beta, u, c = program
    bound = 0.0
    for r in range(len(c)):
        k = resource[r]
        bound += nu[r] * c[r]
        for i in range(first[r], first[r + 1]):
            price = beta[k] * theta[cell[i]] + nu[r]
            bound += surplus(kind[r], alpha[r], n[at[i]], min(u[i], c[r]), price)
    return bound


@kernel(error_model="numpy")
def solve(centre: float, phase: int, program: ConcaveProgram, iterate: Iterate) -> None:
    """Write the changes of y, s, nu, w and theta; in phase 1 with the second order terms."""
    n, first, at, cell, resource, _, _, beta, _, _ = program
    x, z, dx, dz, _, by_channel, by_row, by_cell, matrices = iterate
    resources, many, height = len(beta), len(n), len(program.c)
    head, tail = len(x) - resources * many - height, len(x) - resources * many
    s, nu, ds, dnu = x[head:tail], z[head:tail], dx[head:tail], dz[head:tail]
    w, theta, dw, dtheta = x[tail:], z[tail:], dx[tail:], dz[tail:]
    dy, d, g = dx, by_channel[0], by_channel[1]
    area, alpha = by_row[0], by_row[1]
    right, side, product, moved = by_cell[0], by_cell[1, 0], by_cell[2, 0], by_cell[2]
    right[:] = 0.0
    for r in range(height):
        k = resource[r]
        target = centre - ds[r] * dnu[r] if phase == 1 else centre
        alpha[r] = target / s[r] - nu[r]
        q = nu[r] / s[r]
        pushed = 0.0
        for i in range(first[r], first[r + 1]):
            pushed += d[i] * g[i]
        pull = (alpha[r] + q * pushed) / (1.0 + q * area[r])
        for i in range(first[r], first[r + 1]):
            right[k, at[i]] += d[i] * (g[i] - pull)
    side[:] = 0.0
    for k in range(resources):
        for p in range(many):
            j = k * many + p
            target = centre - dw[j] * dtheta[j] if phase == 1 else centre
            gamma = target / w[j] - theta[j]
            right[k, p] = gamma * w[j] / theta[j] + beta[k] * right[k, p]
        times(matrices[k], right[k], product)
        for p in range(many):
            side[p] += product[p]
    for p in range(many):
        missing = n[p]
        for k in range(resources):
            missing -= theta[k * many + p]
        side[p] -= missing
    times(matrices[resources], side, product)
    side[:] = product
    for k in range(resources):
        for p in range(many):
            right[k, p] -= side[p]
        times(matrices[k], right[k], product)
        for p in range(many):
            dtheta[k * many + p] = product[p]
    moved[:] = 0.0
    for r in range(height):
        k = resource[r]
        q = nu[r] / s[r]
        pushed = 0.0
        for i in range(first[r], first[r + 1]):
            g[i] -= beta[k] * dtheta[cell[i]]
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
            dw[k * many + p] = side[p] - beta[k] * moved[k, p]
