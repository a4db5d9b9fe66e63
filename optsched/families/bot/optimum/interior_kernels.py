"""Kernels: block elimination on a tree, from the leaves to the root, for the Newton systems.

Elimination in leaf-to-root order creates no fill (Parter, 1961). Node i has a quadratic cost in
its rates x_i (K numbers), every edge one in its flow. Only the net flows F into a subtree matter
above it: the sum of its rates, less the total s_k of every application whose master lies there. So
a subtree is a linear map from the prices pi that are paid for F, and from the totals s,

    F(pi, s) = Q pi + c + R s,

and an edge changes it by a rank-one update: O(N K^2) in all, whatever the shape of the tree. At the
root F = 0.

There are 3 N limits: limit i is that of node i, limit N + 2 i that of the arc from the parent to
node i, limit N + 2 i + 1 that of the arc back. The load of a limit is v . x at a node and v . F at
an arc, with v < 0 for applications whose master lies below (`inside`), which send -F through it.
Nodes are numbered from the root; `parent[i] < i`. Outputs come last among the arguments.
"""

from __future__ import annotations

from typing import NamedTuple

from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel


class Elimination(NamedTuple):
    """The tree, the matrix to eliminate, and the output of `factor`."""

    parent: Ints  # (N,)
    v: Floats  # (3 N, K) load of a limit per unit
    d: Floats  # (N, K) 1 / diagonal, 0 for pairs that do not exist
    theta: Floats  # (3 N,) curvature of each load, 0 where there is no limit
    qv: Floats  # (3 N, K) written, as are the others below
    w: Floats  # (3 N, K)
    delta: Floats  # (3 N,) 0 where there is no limit


@kernel(error_model="numpy")
def loads(
    parent: Ints, inside: Flags, v: Floats, x: Floats, beyond: Floats, outside: Floats, load: Floats
) -> None:
    """Write the loads of all limits, ``load`` (3 N,), at rates ``x`` (N, K).

    ``beyond`` (N, K), at first the same rates, receives the sums from each node on, away from the
    masters; ``outside`` (N, K) the sums above it, where the master lies below, ``inside`` (N,
    K). Both are added up from the far ends of the routes: nothing is subtracted. ``parent`` and
    ``v`` as in `Elimination`.
    """
    n, apps = x.shape
    for i in range(n - 1, 0, -1):
        for k in range(apps):
            if not inside[i, k]:
                beyond[parent[i], k] += beyond[i, k]
    for i in range(n):
        own, there, back = 0.0, 0.0, 0.0
        for k in range(apps):
            flow = beyond[i, k]
            outside[i, k] = 0.0
            if inside[i, k]:
                outside[i, k] = beyond[parent[i], k] + outside[parent[i], k]
                flow = -outside[i, k]
            own += v[i, k] * x[i, k]
            there += v[n + 2 * i, k] * flow
            back += v[n + 2 * i + 1, k] * flow
        load[i] = own
        load[n + 2 * i] = there
        load[n + 2 * i + 1] = back


@kernel(error_model="numpy")
def charges(parent: Ints, master: Ints, inside: Flags, v: Floats, y: Floats, paid: Floats) -> None:
    """Write the price of a unit of each rate, ``paid`` (N, K), at prices ``y`` (3 N,) of limits.

    The node of each ``master`` (K,) is given; the others as in `loads`.
    """
    n, apps = paid.shape
    for k in range(apps):
        i = master[k]
        paid[i, k] = 0.0
        while i > 0:
            e = n + 2 * i
            there = -v[e, k] * y[e] - v[e + 1, k] * y[e + 1]
            paid[parent[i], k] = paid[i, k] + there
            i = parent[i]
    for i in range(1, n):
        for k in range(apps):
            if not inside[i, k]:
                e = n + 2 * i
                there = v[e, k] * y[e] + v[e + 1, k] * y[e + 1]
                paid[i, k] = paid[parent[i], k] + there
    for i in range(n):
        for k in range(apps):
            paid[i, k] += v[i, k] * y[i]


@kernel(error_model="numpy")
def factor(elimination: Elimination, q: Floats, r: Floats, top: Floats) -> None:
    """Eliminate.

    ``q`` is 0 at first, ``r`` what the totals take of each node (both (N, K, K)), ``top`` (K, K)
    the curvature in the totals; what is left at the root is written into them.
    """
    parent, v, d, theta, qv, w, delta = elimination
    n, apps = d.shape
    for i in range(n - 1, -1, -1):
        for k in range(apps):
            q[i, k, k] += d[i, k]
        delta[i] = 0.0
        if theta[i] > 0:
            flex = 1 / theta[i]
            for k in range(apps):
                qv[i, k] = d[i, k] * v[i, k]
                flex += v[i, k] * qv[i, k]
            delta[i] = flex
            for k in range(apps):
                for j in range(apps):
                    q[i, k, j] -= qv[i, k] * qv[i, j] / flex
        if i == 0:
            break
        for e in range(n + 2 * i, n + 2 * i + 2):
            delta[e] = 0.0
            if theta[e] <= 0:
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
            flex = 1 / theta[e] + max(flex, 0.0)
            delta[e] = flex
            for k in range(apps):
                for j in range(apps):
                    q[i, k, j] -= qv[e, k] * qv[e, j] / flex
                    r[i, k, j] -= qv[e, k] * w[e, j] / flex
                    top[k, j] += w[e, k] * w[e, j] / flex
        for k in range(apps):
            for j in range(apps):
                q[parent[i], k, j] += q[i, k, j]
                r[parent[i], k, j] += r[i, k, j]


@kernel(error_model="numpy")
def ascend(
    elimination: Elimination, g: Floats, off: Floats, c: Floats, vc: Floats, side: Floats
) -> None:
    """Carry the right side ``g`` (N, K) and the offsets ``off`` (3 N,) up.

    ``c`` (N, K) and ``side`` are 0 at first: ``side`` (K,) gets what arrives at the totals,
    ``c[0]`` what arrives at the root; ``vc`` (3 N,) is what `descend` needs.
    """
    parent, v, d, _, qv, w, delta = elimination
    n, apps = d.shape
    for i in range(n - 1, -1, -1):
        force = 0.0
        if delta[i] > 0:
            force = off[i]
            for k in range(apps):
                force += qv[i, k] * g[i, k]
            force /= delta[i]
        for k in range(apps):
            c[i, k] += d[i, k] * (g[i, k] - v[i, k] * force)
        if i == 0:
            break
        for e in range(n + 2 * i, n + 2 * i + 2):
            if delta[e] > 0:
                s = off[e]
                for k in range(apps):
                    s += v[e, k] * c[i, k]
                vc[e] = s
                for k in range(apps):
                    c[i, k] -= qv[e, k] * s / delta[e]
                    side[k] -= w[e, k] * s / delta[e]
        for k in range(apps):
            c[parent[i], k] += c[i, k]


@kernel(error_model="numpy")
def descend(
    elimination: Elimination, g: Floats, off: Floats, vc: Floats, totals: Floats, pi: Floats,
    p: Floats, y: Floats,
) -> None:  # fmt: skip
    """Carry the solution down, from the ``totals`` (K,) and ``pi[0]``, the prices at the root.

    Writes ``pi`` (N, K), the forces ``y`` (3 N,) = theta * (load + offset), and ``p`` (N, K) = x /
    d, each from what it is the sum of: a product of a large theta (or 1 / d) with a small
    difference would be noise. The others as in `ascend`.
    """
    parent, v, _, _, qv, w, delta = elimination
    n, apps = g.shape
    for i in range(n):
        if i > 0:
            for k in range(apps):
                pi[i, k] = pi[parent[i], k]
            for e in range(n + 2 * i + 1, n + 2 * i - 1, -1):
                y[e] = 0.0
                if delta[e] > 0:
                    force = vc[e]
                    for k in range(apps):
                        force += qv[e, k] * pi[i, k] + w[e, k] * totals[k]
                    force /= delta[e]
                    y[e] = force
                    for k in range(apps):
                        pi[i, k] -= v[e, k] * force
        y[i] = 0.0
        if delta[i] > 0:
            force = off[i]
            for k in range(apps):
                force += qv[i, k] * (g[i, k] + pi[i, k])
            y[i] = force / delta[i]
        for k in range(apps):
            p[i, k] = g[i, k] + pi[i, k] - v[i, k] * y[i]
