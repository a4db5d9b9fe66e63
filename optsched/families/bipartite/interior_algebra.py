"""What the interior point computes with: its matrices, without loss of digits, and both bounds."""

# mypy: allow-untyped-defs
# The arguments of compiled functions are described where they are first met.

from __future__ import annotations

import math

import numpy as np

from optsched.families.bipartite.certificate_surplus import surplus
from optsched.families.bipartite.instance_utilities import gain
from optsched.kernels import kernel

SUMS = {"reassoc", "nsz"}  # sums may be taken in any order, several numbers at once


@kernel(error_model="numpy")
def reduced(stopped, inverse, d, area, nu, s, w, theta, first, at, rows, resource, beta):
    """Write N_k^-1 for every resource, unless it is stopped.

    N_k has no positive numbers beside the diagonal, and its row sums are positive: w / theta +
    beta^2 sum of d / (1 + q sum d). Kept as these two parts it is inverted without a single
    subtraction (Grassmann, Taksar, Heyman), however small they get.
    """
    resources, many = theta.shape
    inverse[:] = 0.0
    excess = w / theta
    for r in range(len(rows)):
        k = resource[rows[r]]
        matrix, over = inverse[k], excess[k]
        square = beta[k] * beta[k]
        q = nu[r] / s[r]
        whole = square / (1.0 + q * area[r])
        share = q * whole
        begin, end = first[r], first[r + 1]
        if end - begin == many:  # all ports, in order: nothing to look up
            for i in range(many):
                x = share * d[begin + i]
                line = matrix[i]
                for j in range(i):
                    line[j] += x * d[begin + j]
                over[i] += whole * d[begin + i]
        else:
            for i in range(begin, end):
                x = share * d[i]
                line = matrix[at[i]]
                for j in range(begin, i):
                    line[at[j]] += x * d[j]
                over[at[i]] += whole * d[i]
        if stopped[0] != 0:
            return
    for k in range(resources):
        invert(stopped, inverse[k], excess[k])


@kernel(error_model="numpy", fastmath=SUMS)
def invert(stopped, matrix, excess):
    """Replace the matrix by its inverse; given are minus its lower triangle and its row sums.

    When it is stopped, what is written means nothing.
    """
    size = len(matrix)
    pivot = np.empty(size)
    for i in range(size):  # both triangles
        for j in range(i):
            matrix[j, i] = matrix[i, j]
    for j in range(size):
        if stopped[0] != 0:
            return
        line = matrix[j]
        p = excess[j]
        for i in range(j + 1, size):
            p += line[i]
        pivot[j] = p
        for i in range(j + 1, size):
            x = line[i] / p
            if x > 0.0:
                other = matrix[i]
                excess[i] += x * excess[j]
                for k in range(j + 1, size):
                    other[k] += x * line[k]
                other[i] = 0.0
    factor = np.zeros((size, size))  # row j: column j of the inverse of the triangular factor
    for j in range(size):
        if stopped[0] != 0:
            return
        line = factor[j]
        line[j] = 1.0
        for k in range(j, size):
            x = line[k] / pivot[k]
            if x > 0.0:
                own = matrix[k]
                for i in range(k + 1, size):
                    line[i] += x * own[i]
    for i in range(size):
        if stopped[0] != 0:
            return
        for j in range(i + 1):
            x = 0.0
            for k in range(i, size):
                x += factor[i, k] * factor[j, k] / pivot[k]
            matrix[i, j] = x
            matrix[j, i] = x


@kernel(error_model="numpy", fastmath=SUMS)
def factorize(stopped, matrix):
    """Replace the lower triangle by its Cholesky factor; a pivot that vanishes is lifted.

    Returns False if it was stopped, or a pivot is no positive number.
    """
    size = len(matrix)
    for i in range(size):
        if stopped[0] != 0:
            return False
        own = matrix[i]
        for j in range(i):
            other = matrix[j]
            x = 0.0
            for k in range(j):
                x += own[k] * other[k]
            own[j] = (own[j] - x) / other[j]
        x = 0.0
        for k in range(i):
            x += own[k] * own[k]
        x = max(own[i] - x, 1e-15 * own[i])
        if not x > 0.0:
            return False
        own[i] = math.sqrt(x)
    return True


@kernel(error_model="numpy")
def substitute(factor, x):
    """Replace ``x`` by the solution of the system whose Cholesky factor is given."""
    size = len(x)
    for i in range(size):
        for j in range(i):
            x[i] -= factor[i, j] * x[j]
        x[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for j in range(i + 1, size):
            x[i] -= factor[j, i] * x[j]
        x[i] /= factor[i, i]


@kernel(error_model="numpy")
def value_of(y, n, total, first, at, rows, kind, alpha, beta):
    """Return sum_l n_l q_l(y)."""
    value = 0.0
    for r in range(len(rows)):
        row = rows[r]
        for i in range(first[r], first[r + 1]):
            value += n[at[i]] * gain(kind[row], alpha[row], y[i])
    for p in range(len(n)):
        worst = 0.0
        for k in range(len(beta)):
            worst = max(worst, beta[k] * total[k, p])
        value -= n[p] * worst
    return value


@kernel(error_model="numpy")
def dual_value(theta, nu, n, c, u, first, at, rows, resource, kind, alpha, beta):
    """Return the bound that prices prove: sum nu c + what each channel gains at its price."""
    bound = 0.0
    for r in range(len(rows)):
        row = rows[r]
        k = resource[row]
        bound += nu[r] * c[r]
        for i in range(first[r], first[r + 1]):
            price = beta[k] * theta[k, at[i]] + nu[r]
            bound += surplus(kind[row], alpha[row], n[at[i]], min(u[i], c[r]), price)
    return bound
