"""The distributed algorithm message by message, with delays and losses.

A node knows its own rates, prices and constants, and what messages have brought: from the node
before it on a route the total of the application and the price of the way; from the nodes after it
what flows there and how many take part. The price of an arc is kept by the node that sends data
into it. In every round each application sends one message up and one down each of its arcs. A
message that is lost never arrives; one that is late counts in a later round, unless a newer one was
faster. A node that receives nothing continues with its last values. Without loss and delay the
iterates are those of `waves`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from optsched.families.bot.policies.waves import (
    NegotiationState,
    Positions,
    Rules,
    Series,
    new_price,
    new_rate,
    new_tilde,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

SENT, LOST, LATE = 0, 1, 2


class Mail(NamedTuple):
    """Last messages received in one direction, two numbers at each place.

    From above: the total of the application, and the price of the way. From below, known at the
    place before: what flows there, and how many nodes take part.
    """

    known: Floats  # (K, N, 2)
    stamp: Ints  # (K, N) round in which it was sent
    post: Floats  # (delay + 1, K, N, 2) what is on its way, by round of arrival
    due: Ints  # (delay + 1, K, N) round in which that was sent, 0: nothing is

    @classmethod
    def of(cls, apps: int, nodes: int, delay: int) -> Mail:
        """Return the state before any message."""
        shape = (apps, nodes)
        return cls(
            np.zeros((*shape, 2)),
            np.zeros(shape, np.int64),
            np.zeros((delay + 1, *shape, 2)),
            np.zeros((delay + 1, *shape), np.int64),
        )


class Network(NamedTuple):
    """How messages fare."""

    loss: float  # probability that one is lost
    delay: int  # rounds that one may be late
    tally: Ints  # (3,) how many were sent, lost, and late


@kernel(error_model="numpy", inline="always")
def _post(
    rng: Generator, network: Network, now: int, k: int, i: int, first: float, second: float,
    mail: Mail,
) -> None:  # fmt: skip
    """Send a message of two numbers to the other end of place i: at once, later, or never."""
    loss, delay, tally = network
    tally[SENT] += 1
    if loss > 0 and rng.random() < loss:
        tally[LOST] += 1
        return
    wait = int(rng.random() * (delay + 1)) if delay > 0 else 0
    if wait == 0:
        mail.known[k, i, 0], mail.known[k, i, 1], mail.stamp[k, i] = first, second, now
        return
    tally[LATE] += 1
    slot = (now + wait) % (delay + 1)
    if mail.due[slot, k, i] < now:
        mail.post[slot, k, i, 0], mail.post[slot, k, i, 1] = first, second
        mail.due[slot, k, i] = now


@kernel(error_model="numpy", inline="always")
def _deliver(now: int, delay: int, k: int, i: int, mail: Mail) -> None:
    """Take what arrives in this round, if nothing newer is known; ``due`` holds its round + 1."""
    known, stamp, post, due = mail
    slot = now % (delay + 1)
    if due[slot, k, i] > stamp[k, i]:
        known[k, i, 0], known[k, i, 1] = post[slot, k, i, 0], post[slot, k, i, 1]
        stamp[k, i] = due[slot, k, i]
    due[slot, k, i] = 0


@kernel(error_model="numpy")
def exchange(
    positions: Positions, rules: Rules, network: Network, rng: Generator, began: int, down: Mail,
    upward: Mail, state: NegotiationState, series: Series,
) -> None:  # fmt: skip
    """Run as many rounds as ``series`` has place for, the first with number ``began`` >= 1.

    ``down`` and ``upward`` are the messages from above and from below; ``state`` is changed, but
    for what is held: every node knows a total of its own.
    """
    size, node, up, arc, present, flop, sent, back, weights, speed, bandwidth = positions
    rho, tilde, lam, mu, _ = state
    totals, overload = series
    above, below, delay = down.known, upward.known, network.delay
    apps, nodes = node.shape
    load_node, scale_node = np.zeros(nodes), np.zeros(nodes)
    load_arc, scale_arc = np.zeros(len(mu)), np.zeros(len(mu))
    flow, number = np.zeros(nodes), np.zeros(nodes)
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
                power = total**rules.alpha
                if present[k, i]:
                    price = above[k, i, 1] + w * lam[at]
                    x, y = rho[k, i], tilde[k, i]
                    rho[k, i] = new_rate(rules, x, y, total, power, price, weights[k])
                    tilde[k, i] = new_tilde(rules, x, y)
                x = rho[k, i]
                flow[i] = beyond[i] = x
                number[i] = 0.0
                load_node[at] += w * x
                if x > rules.threshold and present[k, i]:
                    number[i] = 1.0
                    scale_node[at] += w * w * (total * power)
            for i in range(n - 1, 0, -1):
                _deliver(now, delay, k, i, upward)
                _post(rng, network, now, k, i, flow[i], number[i], upward)
                p, a = up[k, i], arc[k, i]
                flow[p] += below[k, i, 0]
                number[p] += below[k, i, 1]
                beyond[p] += beyond[i]
                tail = above[k, p, 0]
                bend, takers = tail * tail**rules.alpha, below[k, i, 1]
                load_arc[a] += b * below[k, i, 0]
                scale_arc[a] += b * b * bend * takers
                true_arc[a] += b * beyond[i]
                if r > 0:
                    load_arc[a ^ 1] += r * below[k, i, 0]
                    scale_arc[a ^ 1] += r * r * bend * takers
                    true_arc[a ^ 1] += r * beyond[i]
            totals[t, k] = flow[0]
        for n in range(nodes):
            lam[n] = new_price(rules, rules.lam, lam[n], load_node[n] - speed[n], scale_node[n])
        for a in range(len(mu)):
            mu[a] = new_price(rules, rules.mu, mu[a], load_arc[a] - bandwidth[a], scale_arc[a])
        for k in range(apps):
            b, r = sent[k], back[k]
            above[k, 0, 0], above[k, 0, 1] = totals[t, k], 0.0
            for i in range(1, size[k]):
                p, a = up[k, i], arc[k, i]
                price = b * mu[a]
                if r > 0:
                    price += r * mu[a ^ 1]
                _deliver(now, delay, k, i, down)
                _post(rng, network, now, k, i, above[k, p, 0], above[k, p, 1] + price, down)
        largest = 0.0
        for n in range(nodes):
            if speed[n] > 0:
                largest = max(largest, load_node[n] / speed[n])
        for a in range(len(mu)):
            if bandwidth[a] > 0:
                largest = max(largest, true_arc[a] / bandwidth[a])
        overload[t] = largest
