"""The distributed algorithm, compiled: two waves over the routes of every application.

In one iteration every node first updates its rates, from the total rho_k(t) and the prices that
the last down-wave brought. The up-wave carries the new rates: what flows through each arc, and how
many nodes beyond it take part. Nodes and links update their prices from that, with the rho_k(t)
that they still hold in the denominators. The down-wave carries the new totals and prices. With
``simultaneous`` all right sides are of t instead, as the equations are printed.

naive     rho    <- max(0, (1 - g~) rho + g~ rho~ + g_rho (1 - rho_k p))               (11), (19)
          price  <- max(0, price + g (load - capacity))                                (17), (18)
adaptive  rho    <- [(1 - g~) rho + g~ rho~ + g_rho (1 - rho_k p) rho_k]                    end of
          price  <- [price + g (load - capacity) / (sum of present w_k^2 rho_k^2)]          Sec. 7

[x + u] = max(x / 2, x + u). Where the sum is empty the price is halved. For alpha-fairness the
marginal utility is rho_k^-alpha: rho_k^alpha p stands in place of rho_k p,
and rho_k^(1 + alpha) in place of rho_k^2.
"""

from __future__ import annotations

from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel

NAIVE, ADAPTIVE = 0, 1
MIX, GRADIENT, NONE = 0, 1, 2  # the proximal term of the naive algorithm


@kernel(error_model="numpy", inline="always")
def new_rate(
    algorithm: int, prox: int, g_rho: float, g_tilde: float, rate: float, tilde: float,
    total: float, power: float, price: float, weight: float,
) -> float:  # fmt: skip
    """Return rho_nk(t + 1); ``power`` is rho_k^alpha."""
    gain = g_rho * (weight - power * price)
    if algorithm == ADAPTIVE:
        moved = (1 - g_tilde) * rate + g_tilde * tilde + gain * total
        return max(0.5 * rate, moved)
    if prox == MIX:
        moved = (1 - g_tilde) * rate + g_tilde * tilde + gain
    elif prox == GRADIENT:
        moved = rate + gain - g_rho * (rate - tilde)
    else:
        moved = rate + gain
    return max(0.0, moved)


@kernel(error_model="numpy", inline="always")
def new_price(algorithm: int, step: float, price: float, excess: float, scale: float) -> float:
    """Return lambda_n or mu_a of t + 1."""
    if algorithm == NAIVE:
        return max(0.0, price + step * excess)
    if scale <= 0:
        return 0.5 * price
    return max(0.5 * price, price + step * excess / scale)


@kernel(error_model="numpy")
def gather(
    size: Ints, node: Ints, up: Ints, arc: Ints, present: Flags, flop: Floats, sent: Floats,
    back: Floats, rho: Floats, bend: Floats, threshold: float, sigma: Floats, count: Floats,
    load_node: Floats, load_arc: Floats, scale_node: Floats, scale_arc: Floats, totals: Floats,
) -> None:  # fmt: skip
    """Run the up-wave: loads, sums of denominators, totals; ``bend`` is rho_k^(1 + alpha)."""
    load_node[:] = 0.0
    scale_node[:] = 0.0
    load_arc[:] = 0.0
    scale_arc[:] = 0.0
    for k in range(len(size)):
        w, b, r = flop[k], sent[k], back[k]
        w2, b2, r2 = w * w * bend[k], b * b * bend[k], r * r * bend[k]
        n = size[k]
        for i in range(n):
            x = rho[k, i]
            sigma[k, i] = x
            load_node[node[k, i]] += w * x
            if x > threshold and present[k, i]:
                count[k, i] = 1.0
                scale_node[node[k, i]] += w2
            else:
                count[k, i] = 0.0
        for i in range(n - 1, 0, -1):
            s, c, p, a = sigma[k, i], count[k, i], up[k, i], arc[k, i]
            sigma[k, p] += s
            count[k, p] += c
            load_arc[a] += b * s
            scale_arc[a] += b2 * c
            if r > 0:
                load_arc[a ^ 1] += r * s
                scale_arc[a ^ 1] += r2 * c
        totals[k] = sigma[k, 0]


@kernel(error_model="numpy")
def descend(
    size: Ints, up: Ints, arc: Ints, sent: Floats, back: Floats, mu: Floats, route: Floats
) -> None:
    """Run the down-wave: write the price of all transfers of one task, by place."""
    for k in range(len(size)):
        b, r = sent[k], back[k]
        route[k, 0] = 0.0
        for i in range(1, size[k]):
            a = arc[k, i]
            price = b * mu[a]
            if r > 0:
                price += r * mu[a ^ 1]
            route[k, i] = route[k, up[k, i]] + price


@kernel(error_model="numpy")
def iterate(
    size: Ints, node: Ints, up: Ints, arc: Ints, present: Flags, flop: Floats, sent: Floats,
    back: Floats, weights: Floats, speed: Floats, bandwidth: Floats,
    algorithm: int, prox: int, simultaneous: bool, alpha: float, steps: Floats, threshold: float,
    rho: Floats, tilde: Floats, lam: Floats, mu: Floats, held: Floats,
    totals: Floats, overload: Floats, places: Floats, nodes: Floats, arcs: Floats, apps: Floats,
) -> None:  # fmt: skip
    """Run ``len(overload)`` iterations in place.

    ``steps`` are gamma of rho, tilde, lambda, mu. ``totals`` and ``overload`` get the rho_k and the
    largest load / capacity after every iteration, shapes (T, K) and (T,); ``held`` are the rho_k
    that the nodes hold. To work with: ``places`` (3, K, N), ``nodes`` (3, N), ``arcs`` (3, 2 L) and
    ``apps`` (2, K), whatever they contain.
    """
    sigma, count, route = places[0], places[1], places[2]
    load_node, scale_node, per_node = nodes[0], nodes[1], nodes[2]
    load_arc, scale_arc, per_arc = arcs[0], arcs[1], arcs[2]
    total, bend = apps[0], apps[1]
    g_rho, g_tilde, g_lam, g_mu = steps[0], steps[1], steps[2], steps[3]
    for n in range(len(speed)):
        per_node[n] = 1 / speed[n] if speed[n] > 0 else 0.0
    for a in range(len(mu)):
        per_arc[a] = 1 / bandwidth[a] if bandwidth[a] > 0 else 0.0
    for k in range(len(size)):
        bend[k] = held[k] * held[k] ** alpha
    descend(size, up, arc, sent, back, mu, route)
    if simultaneous:
        gather(
            size, node, up, arc, present, flop, sent, back, rho, bend, threshold, sigma, count,
            load_node, load_arc, scale_node, scale_arc, total,
        )  # fmt: skip
    for t in range(len(overload)):
        for k in range(len(size)):
            w, weight = flop[k], weights[k]
            power = held[k] ** alpha
            for i in range(size[k]):
                if present[k, i]:
                    price = route[k, i] + w * lam[node[k, i]]
                    x, y = rho[k, i], tilde[k, i]
                    rho[k, i] = new_rate(
                        algorithm, prox, g_rho, g_tilde, x, y, held[k], power, price, weight
                    )
                    tilde[k, i] = (1 - g_tilde) * y + g_tilde * x
                    if algorithm == ADAPTIVE:
                        tilde[k, i] = max(0.5 * y, tilde[k, i])
        if not simultaneous:
            gather(
                size, node, up, arc, present, flop, sent, back, rho, bend, threshold, sigma, count,
                load_node, load_arc, scale_node, scale_arc, total,
            )  # fmt: skip
        for n in range(len(speed)):
            lam[n] = new_price(algorithm, g_lam, lam[n], load_node[n] - speed[n], scale_node[n])
        for a in range(len(mu)):
            mu[a] = new_price(algorithm, g_mu, mu[a], load_arc[a] - bandwidth[a], scale_arc[a])
        for again in range(2 if simultaneous else 0):  # for the next iteration's right sides
            gather(
                size, node, up, arc, present, flop, sent, back, rho, bend, threshold, sigma, count,
                load_node, load_arc, scale_node, scale_arc, total,
            )  # fmt: skip
            if again == 0:  # the sums are of these totals
                for k in range(len(size)):
                    bend[k] = total[k] * total[k] ** alpha
        for k in range(len(size)):
            held[k] = totals[t, k] = total[k]
            bend[k] = held[k] * held[k] ** alpha
        descend(size, up, arc, sent, back, mu, route)
        largest = 0.0
        for n in range(len(speed)):
            largest = max(largest, load_node[n] * per_node[n])
        for a in range(len(mu)):
            largest = max(largest, load_arc[a] * per_arc[a])
        overload[t] = largest
