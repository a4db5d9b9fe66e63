"""Linear algebra of the interior-point method of `bipartite`, and both of its bounds.

Block elimination of a structured Newton system (Boyd and Vandenberghe, 2004). LAPACK inverts the
blocks and the sum of their inverses.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optsched.families.bipartite.certificate.enclosure import surplus
from optsched.families.bipartite.instance_utilities import LOG, POLY, RECIPROCAL, gain
from optsched.numbers.arrays import Floats, Ints, Unsigned
from optsched.numbers.kernels import kernel

SUMS = {"reassoc", "nsz"}  # sums may be taken in any order, several numbers at once


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
    for k in range(resources):
        for p in range(many):
            right[k, p] = 0.0
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
    for p in range(many):
        side[p] = 0.0
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
    for k in range(resources):
        for p in range(many):
            moved[k, p] = 0.0
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
