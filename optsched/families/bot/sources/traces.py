"""Sources of instances: generators (`presets`) and descriptions of real platforms.

A platform file states where nodes and links are, a profile the work of one task of an application
and its data. Attributes that neither has are drawn or assumed, and listed in ``drawn``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optsched.families.bot.instance import Application, BotInstance, Link
from optsched.families.bot.sources.presets import KINDS, generate
from optsched.numbers.streams import Streams
from optsched.problem import InputError, Window
from optsched.traces.platforms import RecordedPlatform, read_platform
from optsched.traces.tables import reading
from optsched.traces.workflows import Bag, read_bags

__all__ = ["from_platform", "generate", "open_trace"]

CORE_FLOPS = 5e9  # flop/s of a core: makes flop of running times; of hosts whose file has none
BYTES = (8e6, 196e6)  # per task, where nothing is known: the range of the paper's applications
APPLICATIONS = 3


def open_trace(source: Path, window: Window) -> BotInstance:
    """Make an instance of a platform file and profiles of applications.

    Options: ``profiles`` (files of applications, by default the kinds of Sec. 6.2), ``jobs`` (how
    many applications, by default one per profile, at most 3 of a log), ``draw_seed``.
    """
    chosen = window.settle("bot", profiles=None, jobs=None, draw_seed=0)
    with reading(source):
        platform = read_platform(source)
    wanted: int | None = chosen["jobs"]
    bags: list[Bag] = []
    for path in chosen["profiles"] or ():
        with reading(path):
            found = read_bags(path, wanted or APPLICATIONS)
            for bag in found:  # what is wrong with it is wrong in this file
                _application(bag, 0, bag.bytes or 0.0)
        bags += found
    if not bags:
        bags = [Bag(name, w, None, b, 0.0, 1.0, None) for name, (w, b) in KINDS.items()]
    with reading(source):
        return from_platform(platform, bags, applications=wanted, seed=chosen["draw_seed"])


def from_platform(
    platform: RecordedPlatform,
    bags: Sequence[Bag],
    *,
    applications: int | None = None,
    seed: int = 0,
) -> BotInstance:
    """Place bags of tasks on a platform.

    Parameters
    ----------
    platform : Platform
    bags : sequence of Bag
        Used in turn if there are fewer than ``applications``.
    applications : int, optional
        K, by default one per bag.
    seed : int
        Fixes the masters, distinct nodes that compute, and bytes that are not known.

    Raises
    ------
    InputError
        There are fewer nodes that compute than applications.
    """
    count = len(bags) if applications is None else applications
    streams = Streams(seed)
    speeds = platform.speed or [CORE_FLOPS] * len(platform.names)
    sites = [h * s for h, s in zip(platform.hosts, speeds, strict=True)]
    able = [n for n, speed in enumerate(sites) if speed > 0]
    if not 1 <= count <= len(able):
        raise InputError(f"{count} applications on {len(able)} nodes that compute, expected fewer")
    masters = streams("bot.masters").choice(able, size=count, replace=False).tolist()
    chosen = [bags[k % len(bags)] for k in range(count)]
    unknown = {
        "speed": platform.speed is None,
        "flop": any(bag.flop is None for bag in chosen),
        "bytes": any(bag.bytes is None for bag in chosen),
    }
    apps = tuple(
        _application(bag, m, _bytes(bag, k, streams))
        for k, (m, bag) in enumerate(zip(masters, chosen, strict=True))
    )
    links = platform.links
    tree = len(links) == len(sites) - 1
    data = {
        "speed": tuple(sites),
        "links": tuple(Link(a=a, b=b, forward=w, backward=w) for a, b, w in links),
        "names": tuple(platform.names),
        "applications": apps,
        "routes": None if tree else _widest_routes(len(sites), links, [a.master for a in apps]),
        "drawn": ("masters", *(name for name, drawn in unknown.items() if drawn)),
        "source": f"{platform.format} platform, {count} applications "
        f"({', '.join(dict.fromkeys(a.name for a in apps))}), seed {seed}",
    }
    return BotInstance.model_validate(data)


def _application(bag: Bag, master: int, sent: float) -> Application:
    return Application(
        master=master,
        flop=bag.flop or (bag.seconds or 0.0) * CORE_FLOPS,
        bytes=sent,
        return_bytes=bag.return_bytes or 0.0,
        weight=bag.weight,
        name=bag.name,
    )


def _bytes(bag: Bag, k: int, streams: Streams) -> float:
    if bag.bytes is not None:
        return bag.bytes
    low, high = np.log(BYTES)
    return float(np.round(np.exp(streams("bot.bytes", k).uniform(low, high))))


def _widest_routes(
    nodes: int, links: Sequence[tuple[int, int, float]], masters: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """Return routes of fewest hops; among these the one whose last link is widest."""
    around: list[list[tuple[int, float]]] = [[] for _ in range(nodes)]
    for a, b, width in links:
        around[a].append((b, width))
        around[b].append((a, width))
    for row in around:
        row.sort(key=lambda x: x[0])
    routes = []
    for master in masters:
        before, hops, best = [-1] * nodes, {master: 0}, [0.0] * nodes
        ring = [master]
        while ring:
            following = []
            for node in ring:
                for other, width in around[node]:
                    if other not in hops:
                        hops[other] = hops[node] + 1
                        following.append(other)
                    if hops[other] == hops[node] + 1 and width > best[other]:
                        before[other], best[other] = node, width
            ring = following
        routes.append(tuple(before))
    return tuple(routes)
