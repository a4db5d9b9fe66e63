"""Where instances come from: generators (`presets`) and descriptions of real platforms.

A platform file says where nodes and links are, a profile what one task of an application computes
and moves. What neither says is drawn or assumed, and the instance says so in ``drawn``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optsched.families.bot.instance import Application, BotInstance, Link
from optsched.families.bot.sources.presets import KINDS, generate
from optsched.numbers.streams import Streams
from optsched.problem import InputError, Window
from optsched.traces.opening import reading
from optsched.traces.platforms import Platform, read_platform
from optsched.traces.workflows import Bag, read_bags

__all__ = ["from_platform", "generate", "open_trace"]

CORE_FLOPS = 5e9  # flop/s of a core, where only running times are known
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
            bags += read_bags(path, wanted or APPLICATIONS)
    if not bags:
        bags = [Bag(name, w, None, b, 0.0, 1.0, None) for name, (w, b) in KINDS.items()]
    with reading(source):
        return from_platform(platform, bags, applications=wanted, seed=chosen["draw_seed"])


def from_platform(
    platform: Platform,
    bags: Sequence[Bag],
    *,
    applications: int | None = None,
    seed: int = 0,
    hosts: bool = False,
    core_flops: float = CORE_FLOPS,
    alpha: float | str = 1.0,
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
    hosts : bool
        Whether every host is a node of its own, below its site, instead of the site computing.
    core_flops : float
        Speed of a core, flop/s: what turns running times into flop, and the speed of hosts whose
        file has none.
    alpha : float or "inf"
        As in `BotPlatform`.

    Raises
    ------
    InputError
        There are fewer nodes that compute than applications.
    """
    count = len(bags) if applications is None else applications
    streams = Streams(seed)
    drawn = ["masters"]
    if platform.speed is None:
        drawn.append("speed")
    sites = [h * s for h, s in zip(platform.hosts, _speeds(platform, core_flops), strict=True)]
    able = [n for n, speed in enumerate(sites) if speed > 0]
    if not 1 <= count <= len(able):
        raise InputError(f"{count} applications on {len(able)} nodes that compute, expected fewer")
    masters = streams("bot.masters").choice(able, size=count, replace=False).tolist()
    chosen = [bags[k % len(bags)] for k in range(count)]
    if any(bag.flop is None for bag in chosen):
        drawn.append("flop")
    if any(bag.bytes is None for bag in chosen):
        drawn.append("bytes")
    apps = tuple(
        Application(
            master=m,
            flop=bag.flop or (bag.seconds or 0.0) * core_flops,
            bytes=_bytes(bag, k, streams),
            return_bytes=bag.return_bytes or 0.0,
            weight=bag.weight,
            name=bag.name,
        )
        for k, (m, bag) in enumerate(zip(masters, chosen, strict=True))
    )
    speed, links, names = list(sites), list(platform.links), list(platform.names)
    if hosts:
        _add_hosts(platform, _speeds(platform, core_flops), speed, links, names)
    tree = len(links) == len(speed) - 1
    data = {
        "speed": tuple(speed),
        "links": tuple(Link(a=a, b=b, forward=w, backward=w) for a, b, w in links),
        "names": tuple(names),
        "alpha": alpha,
        "applications": apps,
        "routes": None if tree else _widest_routes(len(speed), links, [a.master for a in apps]),
        "drawn": tuple(drawn),
        "source": f"{platform.format} platform, {count} applications "
        f"({', '.join(dict.fromkeys(a.name for a in apps))}), seed {seed}",
    }
    return BotInstance.model_validate(data)


def _speeds(platform: Platform, core_flops: float) -> list[float]:
    return [core_flops] * len(platform.names) if platform.speed is None else list(platform.speed)


def _bytes(bag: Bag, k: int, streams: Streams) -> float:
    if bag.bytes is not None:
        return bag.bytes
    low, high = np.log(BYTES)
    return float(np.round(np.exp(streams("bot.bytes", k).uniform(low, high))))


def _add_hosts(
    platform: Platform,
    per_host: Sequence[float],
    speed: list[float],
    links: list[tuple[int, int, float]],
    names: list[str],
) -> None:
    """Hang hosts below their sites, which then compute nothing themselves."""
    for n, count in enumerate(platform.hosts):
        if count == 0 or per_host[n] == 0:
            continue
        speed[n] = 0.0
        width = platform.host_width[n]
        if width == float("inf"):
            width = max((w for a, b, w in platform.links if n in (a, b)), default=1e9)
        for h in range(count):
            links.append((n, len(speed), width))
            speed.append(per_host[n])
            names.append(f"{platform.names[n]}-{h + 1}")


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
