"""The distributed algorithm message by message: what is late or lost, and what that does.

A node knows its own rates, prices and constants, and what messages have brought: from the node
before it on a route the total of the application and the price of the way; from the nodes after it
what flows there and how many take part. The price of an arc is kept by the node that sends data
into it. In every round each application sends one message up and one down each of its arcs. A
message that is lost never arrives; one that is late counts in a later round, unless a newer one was
faster. Who gets nothing goes on with what was known. Without loss and delay the iterates are those
of `waves`.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from optsched.families.bot.policies.waves import ADAPTIVE, new_price, new_rate
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel

SENT, LOST, LATE = 0, 1, 2


@kernel(error_model="numpy", inline="always")
def _post(
    rng: Generator, loss: float, delay: int, now: int, k: int, i: int, first: float, second: float,
    known: Floats, stamp: Ints, post: Floats, due: Ints, tally: Ints,
) -> None:  # fmt: skip
    """Send a message of two numbers to the other end of place i: at once, later, or never."""
    tally[SENT] += 1
    if loss > 0 and rng.random() < loss:
        tally[LOST] += 1
        return
    wait = int(rng.random() * (delay + 1)) if delay > 0 else 0
    if wait == 0:
        known[k, i, 0], known[k, i, 1], stamp[k, i] = first, second, now
        return
    tally[LATE] += 1
    slot = (now + wait) % (delay + 1)
    if due[slot, k, i] < now:
        post[slot, k, i, 0], post[slot, k, i, 1], due[slot, k, i] = first, second, now


@kernel(error_model="numpy", inline="always")
def _deliver(
    now: int, delay: int, k: int, i: int, known: Floats, stamp: Ints, post: Floats, due: Ints
) -> None:
    """Take what arrives in this round, if nothing newer is known; ``due`` holds its round + 1."""
    slot = now % (delay + 1)
    if due[slot, k, i] > stamp[k, i]:
        known[k, i, 0], known[k, i, 1] = post[slot, k, i, 0], post[slot, k, i, 1]
        stamp[k, i] = due[slot, k, i]
    due[slot, k, i] = 0


@kernel(error_model="numpy")
def exchange(
    size: Ints, node: Ints, up: Ints, arc: Ints, present: Flags, flop: Floats, sent: Floats,
    back: Floats, weights: Floats, speed: Floats, bandwidth: Floats,
    algorithm: int, prox: int, alpha: float, steps: Floats, threshold: float,
    rng: Generator, loss: float, delay: int, began: int,
    above: Floats, above_stamp: Ints, above_post: Floats, above_due: Ints,
    below: Floats, below_stamp: Ints, below_post: Floats, below_due: Ints,
    rho: Floats, tilde: Floats, lam: Floats, mu: Floats,
    totals: Floats, overload: Floats, tally: Ints,
) -> None:  # fmt: skip
    """Run ``len(overload)`` rounds in place, the first of which has number ``began`` >= 1.

    ``above`` (K, N, 2) is what the place knows from above: total and price of the way. ``below``
    (K, N, 2) is what the place before it knows of it: flow and number of nodes. The stamps are the
    rounds in which these were sent; the posts hold what is on its way.
    """
    apps, nodes = node.shape
    load_node, scale_node = np.zeros(nodes), np.zeros(nodes)
    load_arc, scale_arc = np.zeros(len(mu)), np.zeros(len(mu))
    flow, number = np.zeros(nodes), np.zeros(nodes)
    g_rho, g_tilde, g_lam, g_mu = steps
    true_arc = np.zeros(len(mu))
    beyond = np.zeros(nodes)
    for t in range(len(overload)):
        now = began + t
        for array in (load_node, scale_node, load_arc, scale_arc, true_arc):
            array[:] = 0.0
        for k in range(apps):
            w, b, r, n = flop[k], sent[k], back[k], size[k]
            for i in range(n):
                at, total = node[k, i], above[k, i, 0]
                power = total**alpha
                if present[k, i]:
                    price = above[k, i, 1] + w * lam[at]
                    x, y = rho[k, i], tilde[k, i]
                    rho[k, i] = new_rate(
                        algorithm, prox, g_rho, g_tilde, x, y, total, power, price, weights[k]
                    )
                    tilde[k, i] = (1 - g_tilde) * y + g_tilde * x
                    if algorithm == ADAPTIVE:
                        tilde[k, i] = max(0.5 * y, tilde[k, i])
                x = rho[k, i]
                flow[i] = beyond[i] = x
                number[i] = 0.0
                load_node[at] += w * x
                if x > threshold and present[k, i]:
                    number[i] = 1.0
                    scale_node[at] += w * w * (total * power)
            for i in range(n - 1, 0, -1):
                _deliver(now, delay, k, i, below, below_stamp, below_post, below_due)
                _post(
                    rng, loss, delay, now, k, i, flow[i], number[i], below, below_stamp,
                    below_post, below_due, tally,
                )  # fmt: skip
                p, a = up[k, i], arc[k, i]
                flow[p] += below[k, i, 0]
                number[p] += below[k, i, 1]
                beyond[p] += beyond[i]
                tail = above[k, p, 0]
                bend, takers = tail * tail**alpha, below[k, i, 1]
                load_arc[a] += b * below[k, i, 0]
                scale_arc[a] += b * b * bend * takers
                true_arc[a] += b * beyond[i]
                if r > 0:
                    load_arc[a ^ 1] += r * below[k, i, 0]
                    scale_arc[a ^ 1] += r * r * bend * takers
                    true_arc[a ^ 1] += r * beyond[i]
            totals[t, k] = flow[0]
        for n in range(nodes):
            lam[n] = new_price(algorithm, g_lam, lam[n], load_node[n] - speed[n], scale_node[n])
        for a in range(len(mu)):
            mu[a] = new_price(algorithm, g_mu, mu[a], load_arc[a] - bandwidth[a], scale_arc[a])
        for k in range(apps):
            b, r = sent[k], back[k]
            above[k, 0, 0], above[k, 0, 1] = totals[t, k], 0.0
            for i in range(1, size[k]):
                p, a = up[k, i], arc[k, i]
                price = b * mu[a]
                if r > 0:
                    price += r * mu[a ^ 1]
                _deliver(now, delay, k, i, above, above_stamp, above_post, above_due)
                _post(
                    rng, loss, delay, now, k, i, above[k, p, 0], above[k, p, 1] + price, above,
                    above_stamp, above_post, above_due, tally,
                )  # fmt: skip
        largest = 0.0
        for n in range(nodes):
            if speed[n] > 0:
                largest = max(largest, load_node[n] / speed[n])
        for a in range(len(mu)):
            if bandwidth[a] > 0:
                largest = max(largest, true_arc[a] / bandwidth[a])
        overload[t] = largest
