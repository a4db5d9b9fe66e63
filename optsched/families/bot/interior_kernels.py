"""The linear algebra of the interior-point method on a tree: elimination from the leaves up.

Node i has a quadratic cost in its rates x_i (K numbers), every edge one in what flows through it.
Only the net flows F into a subtree matter above it: the sum of its rates, less the total s_k of
every application whose master lies there. So a subtree is a linear map from the prices pi that are
paid for F, and from the totals s,

    F(pi, s) = Q pi + c + R s,

and an edge changes it by a rank-one update: O(N K^2) in all, whatever the shape of the tree. At the
root F = 0. Row 2i is the arc from the parent to node i, row 2i + 1 the arc back; its load is v . F,
with v < 0 for applications whose master lies below (`inside`), which send -F through it.
Nodes are numbered from the root; `parent[i] < i`.
"""

from __future__ import annotations

import numpy as np

from optsched.families.bot.instance import Flags, Floats, Ints
from optsched.kernels import kernel


@kernel(error_model="numpy")
def loads(
    parent: Ints,
    master: Ints,
    inside: Flags,
    a: Floats,
    v: Floats,
    x: Floats,
    node: Floats,
    row: Floats,
) -> Floats:
    """Write the loads of nodes (N,) and rows (2 N,); return the totals s, shape (K,).

    What lies beyond an edge is added up from the far end of the routes: nothing is subtracted.
    """
    n, apps = a.shape
    beyond = x.copy()
    for i in range(n - 1, 0, -1):
        for k in range(apps):
            if not inside[i, k]:
                beyond[parent[i], k] += beyond[i, k]
    total = np.zeros(apps)
    outside = np.zeros((n, apps))
    for i in range(1, n):
        for k in range(apps):
            if inside[i, k]:
                outside[i, k] = beyond[parent[i], k] + outside[parent[i], k]
    for k in range(apps):
        total[k] = beyond[master[k], k] + outside[master[k], k]
    for i in range(n):
        load = 0.0
        for k in range(apps):
            load += a[i, k] * x[i, k]
        node[i] = load
        for e in (2 * i, 2 * i + 1):
            load = 0.0
            for k in range(apps):
                if inside[i, k]:
                    load -= v[e, k] * outside[i, k]
                else:
                    load += v[e, k] * beyond[i, k]
            row[e] = load
    return total


@kernel(error_model="numpy")
def charges(
    parent: Ints, master: Ints, inside: Flags, a: Floats, v: Floats, node: Floats, row: Floats
) -> Floats:
    """Return what one unit of each rate pays at prices of nodes and rows, shape (N, K)."""
    n, apps = a.shape
    paid = np.zeros((n, apps))
    for k in range(apps):
        i = master[k]
        while i > 0:
            there = -v[2 * i, k] * row[2 * i] - v[2 * i + 1, k] * row[2 * i + 1]
            paid[parent[i], k] = paid[i, k] + there
            i = parent[i]
    for i in range(1, n):
        for k in range(apps):
            if not inside[i, k]:
                there = v[2 * i, k] * row[2 * i] + v[2 * i + 1, k] * row[2 * i + 1]
                paid[i, k] = paid[parent[i], k] + there
    for i in range(n):
        for k in range(apps):
            paid[i, k] += a[i, k] * node[i]
    return paid


@kernel(error_model="numpy")
def factor(
    parent: Ints,
    master: Ints,
    a: Floats,
    v: Floats,
    d: Floats,
    theta_node: Floats,
    theta_row: Floats,
    hessian: Floats,
    da: Floats,
    delta_node: Floats,
    qv: Floats,
    w: Floats,
    delta_row: Floats,
) -> Floats:
    """Eliminate; ``d`` holds 1 / diagonal, shape (N, K), 0 for pairs that do not exist.

    Writes ``da`` (N, K), ``delta_node`` (N,), ``qv``, ``w`` (2 N, K) and ``delta_row`` (2 N,), with
    a delta of 0 where there is no constraint; returns the matrix of the root, (2 K, 2 K).
    """
    n, apps = a.shape
    q = np.zeros((n, apps, apps))
    r = np.zeros((n, apps, apps))
    top = np.zeros((2 * apps, 2 * apps))
    for k in range(apps):
        for j in range(apps):
            top[k, j] = hessian[k, j]
        r[master[k], k, k] = -1.0
    for i in range(n - 1, -1, -1):
        for k in range(apps):
            q[i, k, k] += d[i, k]
        delta_node[i] = 0.0
        if theta_node[i] > 0:
            delta = 1 / theta_node[i]
            for k in range(apps):
                da[i, k] = d[i, k] * a[i, k]
                delta += a[i, k] * da[i, k]
            delta_node[i] = delta
            for k in range(apps):
                for j in range(apps):
                    q[i, k, j] -= da[i, k] * da[i, j] / delta
        if i == 0:
            break
        for e in (2 * i, 2 * i + 1):
            delta_row[e] = 0.0
            if theta_row[e] <= 0:
                continue
            flex = 0.0
            for k in range(apps):
                s = 0.0
                t = 0.0
                for j in range(apps):
                    s += q[i, k, j] * v[e, j]
                    t += r[i, j, k] * v[e, j]
                qv[e, k] = s
                w[e, k] = t
                flex += v[e, k] * s
            delta = 1 / theta_row[e] + max(flex, 0.0)
            delta_row[e] = delta
            for k in range(apps):
                for j in range(apps):
                    q[i, k, j] -= qv[e, k] * qv[e, j] / delta
                    r[i, k, j] -= qv[e, k] * w[e, j] / delta
                    top[k, j] += w[e, k] * w[e, j] / delta
        for k in range(apps):
            for j in range(apps):
                q[parent[i], k, j] += q[i, k, j]
                r[parent[i], k, j] += r[i, k, j]
    for k in range(apps):
        for j in range(apps):
            top[apps + k, j] = -r[0, k, j]
            top[k, apps + j] = -r[0, j, k]
            top[apps + k, apps + j] = -q[0, k, j]
    return top


@kernel(error_model="numpy")
def backsolve(
    parent: Ints,
    a: Floats,
    v: Floats,
    d: Floats,
    da: Floats,
    delta_node: Floats,
    qv: Floats,
    w: Floats,
    delta_row: Floats,
    top: Floats,
    g: Floats,
    off_node: Floats,
    off_row: Floats,
    x: Floats,
    p: Floats,
    y_node: Floats,
    y_row: Floats,
) -> None:
    """Solve for the right side ``g`` (N, K) and the offsets of nodes (N,) and rows (2 N,).

    Writes the rates ``x``, the forces y = theta * (load + offset), and p = x / d, each from what it
    is the sum of: a product of a large theta (or 1 / d) with a small difference would be noise.
    """
    n, apps = a.shape
    c = np.zeros((n, apps))
    vc = np.zeros(2 * n)
    side = np.zeros(2 * apps)
    for i in range(n - 1, -1, -1):
        force = 0.0
        if delta_node[i] > 0:
            force = off_node[i]
            for k in range(apps):
                force += da[i, k] * g[i, k]
            force /= delta_node[i]
        for k in range(apps):
            c[i, k] += d[i, k] * (g[i, k] - a[i, k] * force)
        if i == 0:
            break
        for e in (2 * i, 2 * i + 1):
            if delta_row[e] > 0:
                s = off_row[e]
                for k in range(apps):
                    s += v[e, k] * c[i, k]
                vc[e] = s
                for k in range(apps):
                    c[i, k] -= qv[e, k] * s / delta_row[e]
                    side[k] -= w[e, k] * s / delta_row[e]
        for k in range(apps):
            c[parent[i], k] += c[i, k]
    for k in range(apps):
        side[apps + k] = c[0, k]
    found = np.linalg.solve(top, side)
    pi = np.zeros((n, apps))
    for i in range(n):
        if i == 0:
            for k in range(apps):
                pi[0, k] = found[apps + k]
        else:
            for k in range(apps):
                pi[i, k] = pi[parent[i], k]
            for e in (2 * i + 1, 2 * i):
                y_row[e] = 0.0
                if delta_row[e] > 0:
                    force = vc[e]
                    for k in range(apps):
                        force += qv[e, k] * pi[i, k] + w[e, k] * found[k]
                    force /= delta_row[e]
                    y_row[e] = force
                    for k in range(apps):
                        pi[i, k] -= v[e, k] * force
        y_node[i] = 0.0
        if delta_node[i] > 0:
            force = off_node[i]
            for k in range(apps):
                force += da[i, k] * (g[i, k] + pi[i, k])
            y_node[i] = force / delta_node[i]
        for k in range(apps):
            p[i, k] = g[i, k] + pi[i, k] - a[i, k] * y_node[i]
            x[i, k] = d[i, k] * p[i, k]
