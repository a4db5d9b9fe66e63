"""The distributed algorithm, compiled: two waves over the routes of every application.

In one iteration every node first updates its rates, from the total rho_k(t) and the prices that
the last down-wave brought. The up-wave carries the new rates: the flow through each arc, and how
many nodes beyond it take part. Nodes and links update their prices from that, with the rho_k(t)
that they still hold in the denominators. The down-wave carries the new totals and prices. With
``simultaneous`` all right sides are of t instead, as the equations are printed.

naive     rho    <- max(0, (1 - g~) rho + g~ rho~ + g_rho (1 - rho_k p))               (11), (19)
          price  <- max(0, price + g (load - capacity))                                (17), (18)
adaptive  rho    <- [(1 - g~) rho + g~ rho~ + g_rho (1 - rho_k p) rho_k]                    end of
          price  <- [price + g (load - capacity) / (sum of present w_k^2 rho_k^2)]          Sec. 7

[x + u] = max(f x, x + u), the geometric projection of Sec. 7.4, f = 1/2; the naive one has f = 0.
Where the sum is empty the price becomes f times itself. Each of the three changes can be left out:
Newton's step (the factor rho_k), the division by the sum (stability), and f. For alpha-fairness the
marginal utility is rho_k^-alpha: rho_k^alpha p replaces rho_k p, and rho_k^(1 + alpha) in place of
rho_k^2.

`exchange` runs it message by message, with delays and losses. A node knows its own rates, prices
and constants, and what messages have brought: from the node before it on a route the total of the
application and the price of the way; from the nodes after it what flows there and how many take
part. The price of an arc is kept by the node that sends data into it. In every round each
application sends one message up and one down each of its arcs. A message that is lost never
arrives; one that is late counts in a later round, unless a newer one was faster. A node that
receives nothing continues with its last values. Without loss and delay the iterates are those of
`iterate`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from optsched.families.bot.instance import BotInstance
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel

MIX, GRADIENT, NONE = 0, 1, 2  # the proximal term of the naive algorithm
SENT, LOST, LATE = 0, 1, 2  # messages


class Positions(NamedTuple):
    """Routes of all applications by place, a row each: a node comes after the one before it.

    A place that no route leads to is not there; rows shorter than N are filled with place 0.
    """

    size: Ints  # (K,) number of places
    node: Ints  # (K, N) node at each place
    up: Ints  # (K, N) place before
    arc: Ints  # (K, N) arc from there, -1 at the master
    present: Flags  # (K, N)
    flop: Floats  # (K,)
    bytes: Floats  # (K,)
    back: Floats  # (K,) bytes returned
    weights: Floats  # (K,)
    speed: Floats  # (N,)
    bandwidth: Floats  # (2 L,)

    @classmethod
    def of(cls, inst: BotInstance, active: Flags | None = None) -> Positions:
        """Arrange ``inst``; applications that are not ``active`` have no pairs."""
        apps, n = len(inst.applications), len(inst.speed)
        size = np.zeros(apps, np.int64)
        node, up, arc = (np.zeros((apps, n), np.int64) for _ in range(3))
        present = np.zeros((apps, n), bool)
        for k, way in enumerate(inst.deployments):
            count = size[k] = len(way.order)
            place = np.zeros(n, np.int64)
            place[way.order] = np.arange(count)
            node[k, :count] = way.order
            up[k, 1:count] = place[way.before[way.order[1:]]]
            arc[k, :count] = way.arc[way.order]
            present[k, :count] = way.present[way.order]
        if active is not None:
            present[~active] = False
        arc[:, 0] = -1
        return cls(
            size, node, up, arc, present,
            np.array([app.flop for app in inst.applications]),
            np.array([app.bytes for app in inst.applications]),
            np.array([app.return_bytes for app in inst.applications]),
            inst.weights, np.array(inst.speed), inst.bandwidth,
        )  # fmt: skip

    def by_node(self, values: Floats) -> Floats:
        """Return an array by place (K, N) as one by node; 0 where no route leads."""
        out = np.zeros(values.shape)
        for k, count in enumerate(self.size):
            out[k, self.node[k, :count]] = values[k, :count]
        return out

    def by_place(self, values: Floats) -> Floats:
        """Return an array by node (K, N) as one by place."""
        out = np.zeros(values.shape)
        for k, count in enumerate(self.size):
            out[k, :count] = values[k, self.node[k, :count]]
        return out


class Rules(NamedTuple):
    """An algorithm and its step sizes, as they are applied."""

    newton: bool  # whether the rates take Newton's step (20), else (19)
    stability: bool  # whether prices follow (21) and (22), else (17) and (18)
    factor: float  # of the geometric projection; 0: max(0, ...)
    prox: int  # MIX, GRADIENT or NONE
    simultaneous: bool
    alpha: float
    rho: float  # gamma of the rates, and so on
    tilde: float
    lam: float
    mu: float
    threshold: float  # tasks/s; a rate above it counts in the denominators


class NegotiationState(NamedTuple):
    """Where a negotiation is."""

    rho: Floats  # (K, N) tasks/s, by place
    tilde: Floats  # (K, N) smoothed
    lam: Floats  # (N,) price of a flop at each node
    mu: Floats  # (2 L,) price of a byte on each arc
    held: Floats  # (K,) tasks/s, the rho_k that the nodes hold


class WaveState(NamedTuple):
    """State of the waves (arbitrary at first), and their constants."""

    flow: Floats  # (K, N) tasks/s through each place and beyond
    takers: Floats  # (K, N) nodes there that take part
    route: Floats  # (K, N) price of all transfers of one task
    load_node: Floats  # (N,) flop/s
    scale_node: Floats  # (N,) denominators of the prices' steps
    load_arc: Floats  # (2 L,) bytes/s
    scale_arc: Floats  # (2 L,)
    total: Floats  # (K,) tasks/s
    bend: Floats  # (K,) rho_k^(1 + alpha)
    per_node: Floats  # (N,) 1 / speed; 0 where it is 0
    per_arc: Floats  # (2 L,) 1 / bandwidth

    @classmethod
    def of(cls, positions: Positions) -> WaveState:
        """Return arrays for these applications, nodes and arcs."""
        shape, arcs = positions.node.shape, len(positions.bandwidth)
        per = [
            np.divide(1.0, x, out=np.zeros(len(x)), where=x > 0)
            for x in (positions.speed, positions.bandwidth)
        ]
        parts = [np.empty((3, *shape)), *(np.empty((2, n)) for n in (shape[1], arcs, shape[0]))]
        return cls(*(array for part in parts for array in part), *per)


@kernel(error_model="numpy", inline="always")
def new_rate(
    rules: Rules, rate: float, tilde: float, total: float, power: float, price: float, weight: float
) -> float:
    """Return rho_nk(t + 1); ``power`` is rho_k^alpha."""
    gain = rules.rho * (weight - power * price)
    if rules.newton:
        gain *= total
    if rules.prox == MIX:
        moved = (1 - rules.tilde) * rate + rules.tilde * tilde + gain
    elif rules.prox == GRADIENT:
        moved = rate + gain - rules.rho * (rate - tilde)
    else:
        moved = rate + gain
    return max(rules.factor * rate, moved)


@kernel(error_model="numpy", inline="always")
def new_tilde(rules: Rules, rate: float, tilde: float) -> float:
    """Return the smoothed rate of t + 1."""
    moved = (1 - rules.tilde) * tilde + rules.tilde * rate
    return max(rules.factor * tilde, moved) if rules.factor > 0 else moved


@kernel(error_model="numpy", inline="always")
def new_price(rules: Rules, step: float, price: float, excess: float, scale: float) -> float:
    """Return lambda_n or mu_a of t + 1."""
    if not rules.stability:
        return max(rules.factor * price, price + step * excess)
    if scale <= 0:
        return rules.factor * price
    return max(rules.factor * price, price + step * excess / scale)


@kernel(error_model="numpy")
def gather(positions: Positions, rho: Floats, threshold: float, scratch: WaveState) -> None:
    """Run the up-wave of the rates ``rho`` (K, N): all of ``scratch`` but the routes and bends."""
    size, node, up, arc, present, flop, sent, back, _, _, _ = positions
    sigma, count, _, load_node, scale_node, load_arc, scale_arc, totals, bend, _, _ = scratch
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
def descend(positions: Positions, mu: Floats, route: Floats) -> None:
    """Run the down-wave: write the price of all transfers of one task, ``route`` (K, N), by place.

    ``mu`` (2 L,) are prices of a byte on each arc.
    """
    size, _, up, arc, _, _, sent, back, _, _, _ = positions
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
    positions: Positions, rules: Rules, state: NegotiationState, totals: Floats, overload: Floats,
    scratch: WaveState,
) -> None:  # fmt: skip
    """Run as many iterations as there is place for what comes after each; ``state`` is changed.

    That is ``totals`` (T, K), rho_k in tasks/s, and ``overload`` (T,), the largest load / capacity.
    """
    size, node, _, _, present, flop, _, _, weights, speed, bandwidth = positions
    rho, tilde, lam, mu, held = state
    _, _, route, load_node, scale_node, load_arc, scale_arc, total, bend, per_node, per_arc = (
        scratch
    )
    for k in range(len(size)):
        bend[k] = held[k] * held[k] ** rules.alpha
    descend(positions, mu, route)
    if rules.simultaneous:
        gather(positions, rho, rules.threshold, scratch)
    for t in range(len(overload)):
        for k in range(len(size)):
            w, weight = flop[k], weights[k]
            power = held[k] ** rules.alpha
            for i in range(size[k]):
                if present[k, i]:
                    price = route[k, i] + w * lam[node[k, i]]
                    x, y = rho[k, i], tilde[k, i]
                    rho[k, i] = new_rate(rules, x, y, held[k], power, price, weight)
                    tilde[k, i] = new_tilde(rules, x, y)
        if not rules.simultaneous:
            gather(positions, rho, rules.threshold, scratch)
        for n in range(len(speed)):
            lam[n] = new_price(rules, rules.lam, lam[n], load_node[n] - speed[n], scale_node[n])
        for a in range(len(mu)):
            mu[a] = new_price(rules, rules.mu, mu[a], load_arc[a] - bandwidth[a], scale_arc[a])
        for again in range(2 if rules.simultaneous else 0):  # for the next right sides
            gather(positions, rho, rules.threshold, scratch)
            if again == 0:  # the sums are of these totals
                for k in range(len(size)):
                    bend[k] = total[k] * total[k] ** rules.alpha
        for k in range(len(size)):
            held[k] = totals[t, k] = total[k]
            bend[k] = held[k] * held[k] ** rules.alpha
        descend(positions, mu, route)
        largest = 0.0
        for n in range(len(speed)):
            largest = max(largest, load_node[n] * per_node[n])
        for a in range(len(mu)):
            largest = max(largest, load_arc[a] * per_arc[a])
        overload[t] = largest


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
    upward: Mail, state: NegotiationState, totals: Floats, overload: Floats,
) -> None:  # fmt: skip
    """Run as many rounds as `iterate`, the first with number ``began`` >= 1.

    ``down`` and ``upward`` are the messages from above and from below; ``state`` is changed, but
    for what is held: every node knows a total of its own. ``totals`` (T, K) and ``overload`` (T,)
    as in `iterate`.
    """
    size, node, up, arc, present, flop, sent, back, weights, speed, bandwidth = positions
    rho, tilde, lam, mu, _ = state
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
