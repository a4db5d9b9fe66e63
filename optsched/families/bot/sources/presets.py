"""Random platforms and the applications of the paper (Sec. 6.1, 6.2)."""

from __future__ import annotations

from itertools import cycle

import numpy as np
from numpy.random import Generator

from optsched.families.bot.instance import Application, BotInstance, Link
from optsched.files.provenance import names_changes
from optsched.numbers import settings
from optsched.numbers.arrays import Ints
from optsched.numbers.streams import Streams
from optsched.problem import InputError

SPEED = (2e9, 10e9)  # flop/s
BANDWIDTH = (7e6, 110e6)  # byte/s
KINDS = {  # flop, bytes per task
    "cpu": (42_875e6, 196e6),  # product of two square matrices of size 3500
    "network": (12.25e6, 196e6),  # their sum
    "intermediate": (13.81e6, 8e6),  # sorting a million numbers
}
MIXES = {
    "paper": ("cpu", "network", "intermediate"),
    "heterogeneous": ("cpu", "network", "intermediate"),
    "homogeneous": ("intermediate",),
}
UNITS = {"sec6.5": 1e-3, "sec6.2": 1.0}  # factor of the speeds
NEAR = 10  # nodes nearest to the first master, among which the others are drawn at least
PRESETS = (*MIXES, "small")


@names_changes("nodes", "degree", "units")
def generate(
    preset: str = "heterogeneous",
    *,
    seed: int,
    nodes: int | None = None,
    applications: int = 3,
    degree: int | None = None,
    units: str = "sec6.5",
    alpha: float | str = 1.0,
) -> BotInstance:
    """Draw a platform after Sec. 6.1 and place applications of Sec. 6.2 on it.

    Nodes are added breadth first; each gets a random number of children that keeps its degree
    within the limit. The first master is a random node, the others are distinct random nodes among
    those that are nearest to it, so that applications interfere.

    Parameters
    ----------
    preset : {"paper", "heterogeneous", "homogeneous", "small"}
        CPU-bound, network-bound and intermediate applications in turn, under two names;
        intermediate ones only; or the first on 6 nodes.
    seed : int
    nodes, applications : int
        N (20, `small`: 6) and K.
    degree : int, optional
        Most neighbours of a node: 5, from 500 nodes on 15.
    units : {"sec6.5", "sec6.2"}
        Sec. 6.2 gives the work of a task in MFLOP, Sec. 6.5 in GFLOP. The printed step sizes fit
        the second, which is the same as speeds a thousand times smaller.
    alpha : float or "inf"
        As in `BotPlatform`.

    Returns
    -------
    BotInstance

    Raises
    ------
    InputError
        Unknown preset or unit, or a size that no platform has.
    """
    settings.one_of("preset", preset, PRESETS)
    settings.one_of("units", units, UNITS)
    if nodes is None:
        nodes = 6 if preset == "small" else 20
    if degree is None:
        degree = 15 if nodes >= 500 else 5
    if not 1 <= applications <= nodes:
        raise InputError(f"{applications} applications on {nodes} nodes, expected 1..{nodes}")
    if degree < 2 and nodes > 2:
        raise InputError(f"degree {degree}, expected at least 2 for more than two nodes")
    streams = Streams(seed)
    parent = random_tree(nodes, degree, streams("bot.tree"))
    speed = streams("bot.speed").uniform(*SPEED, nodes) * UNITS[units]
    width = streams("bot.bandwidth").uniform(*BANDWIDTH, nodes - 1)
    masters = _masters(parent, applications, streams("bot.masters"))
    kinds = MIXES["heterogeneous" if preset == "small" else preset]
    return BotInstance(
        speed=tuple(np.round(speed).tolist()),
        links=tuple(
            Link(a=int(parent[n]), b=n, forward=b, backward=b)
            for n, b in enumerate(np.round(width).tolist(), start=1)
        ),
        applications=tuple(
            Application(master=m, flop=KINDS[kind][0], bytes=KINDS[kind][1], name=kind)
            for m, kind in zip(masters, cycle(kinds), strict=False)
        ),
        alpha=alpha,
        drawn=("links", "speed", "bandwidth", "masters"),
        source=f"preset {preset}, {nodes} nodes of degree at most {degree}, {units}, seed {seed}",
    )


def random_tree(nodes: int, degree: int, rng: Generator) -> Ints:
    """Return the parent of each node of a breadth-first random tree; -1 for the root."""
    parent = np.full(nodes, -1)
    added, node = 1, 0
    while added < nodes:
        free_degree = degree - (node > 0)
        children = min(int(rng.integers(1, max(free_degree, 1) + 1)), nodes - added)
        parent[added : added + children] = node
        added += children
        node += 1
    return parent


def _masters(parent: Ints, count: int, rng: Generator) -> list[int]:
    """Draw distinct masters near to each other."""
    nodes = len(parent)
    first = int(rng.integers(nodes))
    neighbours: list[list[int]] = [[] for _ in range(nodes)]
    for n in range(1, nodes):
        neighbours[n].append(int(parent[n]))
        neighbours[parent[n]].append(n)
    near, seen = [first], {first}
    for node in near:
        if len(near) > max(NEAR, 2 * count):
            break
        fresh = [x for x in neighbours[node] if x not in seen]
        near += fresh
        seen.update(fresh)
    others = rng.choice(near[1 : max(NEAR, 2 * count) + 1], size=count - 1, replace=False)
    return [first, *(int(x) for x in others)]
