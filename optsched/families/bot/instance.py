"""The data of family `bot`, and its glossary.

Bertin, Hunold, Legrand, Touati: Fair scheduling of bag-of-tasks applications using distributed
Lagrangian optimization. JPDC 2013, hal-00872473.

    paper      here                                    paper       here
    W_n        speed (flop/s)                          w_k         applications[].flop
    B_ij       links[].forward, .backward (byte/s)     b_k         applications[].bytes
    m(k)       applications[].master                   b_k^out     applications[].return_bytes
    rho_nk     schedule.rates (tasks/s)                U_k         alpha, applications[].weight

An arc is one direction of a link: arc 2l leads from ``links[l].a`` to ``links[l].b``, arc 2l + 1
back. The routes of one master form a tree: in a platform without cycles there is only one, else
``routes`` names for every application the node before each node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from operator import is_
from typing import Annotated, Any, ClassVar, Literal, ParamSpec, Self, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    model_validator,
)

from optsched.base import Text
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.resources import Closed, exact
from optsched.problem import Frozen, Instance, Schedule
from optsched.process.interrupts import leave_if_abandoned

LARGEST = 1e30  # of any number in the data, 1 / it the least above 0: products of three are floats
NEAREST = 1e-6  # to 1 of any other alpha: values would no longer separate rates
FARTHEST = 690.0  # logarithm of the largest utility; floats end at 709
KEPT = 4  # answers of `latest`: a search compares its best with the next one

P = ParamSpec("P")
R = TypeVar("R")


def _no_dust(x: float) -> float:
    if 0 < x < 1 / LARGEST:
        raise ValueError(f"{x} is too small, expected 0 or at least {1 / LARGEST:g}")
    return x


def _known_apart(alpha: float) -> float:
    if 0 < abs(exact(alpha) - 1) < exact(NEAREST):
        raise ValueError(f"{alpha} is too near to 1, expected 1 or at least {NEAREST:g} from it")
    return alpha


Size = Annotated[NonNegativeFloat, Field(le=LARGEST), AfterValidator(_no_dust)]
PositiveSize = Annotated[PositiveFloat, Field(ge=1 / LARGEST, le=LARGEST)]
Utility = Annotated[float, Field(ge=0, le=100), AfterValidator(_known_apart)] | Literal["inf"]


class Link(Frozen):
    """A link between two nodes, with its own bandwidth in each direction."""

    a: NonNegativeInt = Field(description="one end")
    b: NonNegativeInt = Field(description="the other end")
    forward: Size = Field(description="B_ab, byte/s from a to b; 0: nothing passes")
    backward: Size = Field(description="B_ba, byte/s from b to a; 0: nothing passes")


class Application(Frozen):
    """A bag of equal, independent tasks whose data leave from one node."""

    master: NonNegativeInt = Field(description="m(k): node that holds the data")
    flop: PositiveSize = Field(description="w_k: flop per task")
    bytes: Size = Field(description="b_k: bytes sent to the worker per task")
    return_bytes: Size = Field(default=0.0, description="bytes sent back per task")
    weight: PositiveSize = Field(default=1.0, description="weight of its utility")
    allowed: tuple[NonNegativeInt, ...] | None = Field(
        default=None, description="nodes where its tasks may run; None: everywhere"
    )
    name: Text = Field(default="", description="name in tables")


class BotPlatform(Frozen):
    """Nodes, links and the objective: all prior knowledge of a policy."""

    speed: tuple[Size, ...] = Field(min_length=1, description="W_n, flop/s, shape (N,)")
    links: tuple[Link, ...] = Field(default=(), description="each pair of nodes at most once")
    names: tuple[Text, ...] = Field(default=(), description="of the nodes; () if they have none")
    alpha: Utility = Field(
        default=1.0,
        description="utility weight * rate^(1 - alpha) / (1 - alpha); 1: logarithm (proportional "
        "fairness), 0: total throughput, 'inf': the smallest rate, then the next (max-min)",
    )

    @model_validator(mode="after")
    def _one_network(self) -> Self:
        n = len(self.speed)
        if self.names and len(self.names) != n:
            raise ValueError(f"names has {len(self.names)} entries, expected one per node: {n}")
        seen: dict[tuple[int, int], int] = {}
        for number, link in enumerate(self.links):
            if max(link.a, link.b) >= n:
                raise ValueError(
                    f"links[{number}]: node {max(link.a, link.b)} does not exist, "
                    f"expected 0..{n - 1}"
                )
            if link.a == link.b:
                raise ValueError(f"links[{number}]: joins node {link.a} to itself, expected two")
            pair = (min(link.a, link.b), max(link.a, link.b))
            if pair in seen:
                raise ValueError(
                    f"links[{number}]: joins nodes {pair[0]} and {pair[1]} as links[{seen[pair]}] "
                    "does, expected one link per pair with the sum of the bandwidths"
                )
            seen[pair] = number
        order, _, _ = self.tree_from(0)
        if len(order) < n:
            lost = min(set(range(n)) - set(order.tolist()))
            raise ValueError(
                f"node {lost} cannot be reached from node 0, expected a connected platform"
            )
        return self

    @property
    def is_tree(self) -> bool:
        """Whether there is only one path between any two nodes."""
        return len(self.links) == len(self.speed) - 1

    @cached_property
    def _neighbours(self) -> list[list[tuple[int, int]]]:
        """Neighbours of each node, with the arc that leads there, by number."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.speed]
        for number, link in enumerate(self.links):
            found[link.a].append((link.b, 2 * number))
            found[link.b].append((link.a, 2 * number + 1))
        for row in found:
            row.sort()
        return found

    def tree_from(self, root: int) -> tuple[Ints, Ints, Ints]:
        """Return the breadth-first tree from ``root``, neighbours by number.

        Returns
        -------
        order, before, arc : arrays of shape (reached,), (N,), (N,)
            Nodes from the root outwards; the node before each node and the arc that leads from
            there (-1 at the root and where no path leads).
        """
        before = [-1] * len(self.speed)
        arc = [-1] * len(self.speed)
        order = [root]
        for node in order:
            for other, way in self._neighbours[node]:
                if other != root and before[other] < 0:
                    before[other], arc[other] = node, way
                    order.append(other)
        return np.array(order), np.array(before), np.array(arc)

    @cached_property
    def _wide(self) -> CachedArray:
        return CachedArray(
            np.array([x for k in self.links for x in (k.forward, k.backward)], float)
        )

    @property
    def bandwidth(self) -> Floats:
        """B of every arc, byte/s, shape (2 L,)."""
        return self._wide.array

    def arc_name(self, arc: int) -> str:
        """Return an arc in words."""
        link = self.links[arc // 2]
        return f"link {link.a} -> {link.b}" if arc % 2 == 0 else f"link {link.b} -> {link.a}"


class BotInstance(BotPlatform, Instance):
    """A platform and its applications; a place in a list is an identity."""

    family: ClassVar[str] = "bot"

    applications: tuple[Application, ...] = Field(min_length=1)
    routes: tuple[tuple[int, ...], ...] | None = Field(
        default=None,
        description="per application and node: the node before it on the route from the master, "
        "-1 at the master and where no route leads; None: the only path (trees)",
    )
    drawn: tuple[str, ...] = Field(default=(), description="fields that were drawn, not measured")
    source: Text = Field(default="", description="where the instance comes from")

    @model_validator(mode="after")
    def _applications_fit_the_platform(self) -> Self:
        n = len(self.speed)
        for k, app in enumerate(self.applications):
            if app.master >= n:
                raise ValueError(
                    f"application {k}: master {app.master} does not exist, expected 0..{n - 1}"
                )
            wrong = [x for x in app.allowed or () if x >= n]
            if wrong:
                raise ValueError(
                    f"application {k}: allowed node {wrong[0]} does not exist, expected 0..{n - 1}"
                )
        if self.routes is None and not self.is_tree:
            raise ValueError(
                f"the platform has cycles ({len(self.links)} links between {n} nodes), "
                "expected routes"
            )
        if self.routes is not None:
            self._check_routes(self.routes)
        for k in range(len(self.applications)):
            if not self.deployments[k].present.any():
                raise ValueError(
                    f"application {k}: no node can run its tasks, expected an allowed node with "
                    "speed above 0 that links of bandwidth above 0 lead to"
                )
        self._check_utilities()
        return self

    def _check_utilities(self) -> None:
        """Refuse an instance whose optimal utility might be no float.

        The mean rate of the optimum lies between the smallest rate that all can have at once
        and the largest that one can have alone; the utility lies between those of these two.
        """
        if self.alpha in (0, 1, "inf"):
            return
        power = 1 - float(self.alpha)
        everybody = range(len(self.applications))
        low = math.log(min(single(self, k)[1] for k in everybody) / len(self.applications))
        high = math.log(max(alone(self, k) for k in everybody))
        factor = math.log(math.fsum(app.weight for app in self.applications) / abs(power))
        for rate in (low, high):
            if abs(factor + power * rate) > FARTHEST:
                raise ValueError(
                    f"alpha is {self.alpha}, and rates of about {math.exp(rate):.0e} tasks/s have "
                    f"utilities of about 10^{(factor + power * rate) / math.log(10):.0f}, expected "
                    "an alpha nearer to 1, or tasks that are counted in units of another size"
                )

    def _check_routes(self, routes: Sequence[Sequence[int]]) -> None:
        n = len(self.speed)
        if len(routes) != len(self.applications):
            raise ValueError(
                f"routes has {len(routes)} entries, "
                f"expected one per application: {len(self.applications)}"
            )
        joined = {(x, y) for x, row in enumerate(self._neighbours) for y, _ in row}
        for k, (app, before) in enumerate(zip(self.applications, routes, strict=True)):
            if len(before) != n:
                raise ValueError(f"routes[{k}] has {len(before)} entries, expected {n}")
            if before[app.master] != -1:
                raise ValueError(
                    f"routes[{k}]: {before[app.master]} comes before the master {app.master}, "
                    "expected -1"
                )
            for node, last in enumerate(before):
                if last != -1 and (last, node) not in joined:
                    raise ValueError(
                        f"routes[{k}]: no link joins node {node} to the node before it, {last}"
                    )
            lost = {n for n, last in enumerate(before) if last != -1}
            lost -= {*_outwards(before, app.master)}
            if lost:
                raise ValueError(
                    f"routes[{k}]: the route to node {min(lost)} does not come from the master "
                    f"{app.master}, expected it to"
                )

    def platform(self) -> BotPlatform:
        """Return the instance without its applications."""
        return BotPlatform(**{name: getattr(self, name) for name in BotPlatform.model_fields})

    @cached_property
    def deployments(self) -> tuple[Deployment, ...]:
        """The routes of every application, with the nodes that may work for it."""
        if self.routes is None:
            trees = {m: self.tree_from(m) for m in {app.master for app in self.applications}}
            ways = [trees[app.master] for app in self.applications]
        else:
            ways = list(map(self._routed, self.applications, self.routes))
        return tuple(map(self._deployment, self.applications, ways))

    def _deployment(self, app: Application, way: tuple[Ints, Ints, Ints]) -> Deployment:
        order, before, arc = way
        n = len(self.speed)
        open_arc = np.append(self.bandwidth > 0, True)  # arc -1, to the master, is open
        usable = open_arc[arc]
        if app.return_bytes > 0:
            usable = usable & open_arc[np.where(arc >= 0, arc ^ 1, -1)]
        flags, last = usable.tolist(), before.tolist()
        reach = [node == app.master for node in range(n)]
        for node in order[1:].tolist():
            reach[node] = flags[node] and reach[last[node]]
        present = np.array(reach) & (np.array(self.speed) > 0)
        if app.allowed is not None:
            may = np.zeros(n, bool)
            may[list(app.allowed)] = True
            present &= may
        return Deployment(order, before, arc, present)

    def _routed(self, app: Application, route: tuple[int, ...]) -> tuple[Ints, Ints, Ints]:
        way = {(x, y): arc for x, row in enumerate(self._neighbours) for y, arc in row}
        arc = np.array([way.get((p, x), -1) for x, p in enumerate(route)])
        return np.array(_outwards(route, app.master)), np.array(route), arc

    @property
    def weights(self) -> Floats:
        """Weights of the applications, shape (K,)."""
        return np.array([app.weight for app in self.applications])

    @property
    def present(self) -> Flags:
        """Whether application k may run on node n, shape (K, N)."""
        return np.array([way.present for way in self.deployments])


def _outwards(before: Sequence[int], master: int) -> list[int]:
    """Return the nodes whose routes come from the master, nearest first, then by number."""
    beyond: list[list[int]] = [[] for _ in before]
    for node, last in enumerate(before):
        if last != -1:
            beyond[last].append(node)
    order, ring = [], [master]
    while ring:
        order += ring
        ring = sorted(node for last in ring for node in beyond[last])
    return order


@dataclass(frozen=True, eq=False)
class CachedArray(Closed):
    """Cached array; it takes no part in comparisons of instances."""

    array: Floats


@dataclass(frozen=True, eq=False)
class Deployment(Closed):
    """The routes of one application."""

    order: Ints  # nodes that a route leads to, the master first, each after the one before it
    before: Ints  # (N,) node before each node, -1: none
    arc: Ints  # (N,) arc from there, -1: none
    present: Flags  # (N,) whether the application may run there


Rate = tuple[NonNegativeInt, NonNegativeInt, NonNegativeFloat]
"""[node, application, tasks per second]"""


class BotSchedule(Schedule):
    """Rates rho_nk in steady state; a pair that is not listed has rate 0."""

    rates: tuple[Rate, ...] = Field(description="[node, application, tasks per second]")

    @classmethod
    def of(cls, rho: Floats) -> Self:
        """Make the sparse list from an array of shape (K, N)."""
        nodes, apps = np.nonzero(rho.T)
        values = rho.T[nodes, apps]
        return cls(rates=tuple(zip(nodes.tolist(), apps.tolist(), values.tolist(), strict=True)))


def widths(inst: BotInstance, k: int, share: Floats | None = None) -> Floats:
    """Return how many tasks/s of application k the arcs of the link into each node carry, (N,).

    By default it has all of each arc, else a ``share`` (2 L,).
    """
    leave_if_abandoned()
    app, way = inst.applications[k], inst.deployments[k]
    capacity = inst.bandwidth if share is None else share * inst.bandwidth
    out = np.full(len(inst.speed), math.inf)
    routed = way.arc >= 0
    for size, arc in ((app.bytes, way.arc[routed]), (app.return_bytes, way.arc[routed] ^ 1)):
        if size > 0:
            out[routed] = np.minimum(out[routed], capacity[arc] / size)
    return out


def by_node(inst: BotInstance, k: int) -> Floats:
    """Return the rate of application k on each node if no other ran any, 0 without a pair, (N,)."""
    app, way = inst.applications[k], inst.deployments[k]
    beyond, reach = way.order[1:], widths(inst, k).tolist()
    for n, last in zip(beyond.tolist(), way.before[beyond].tolist(), strict=True):
        if reach[last] < reach[n]:
            reach[n] = reach[last]
    return np.where(way.present, np.minimum(reach, np.array(inst.speed) / app.flop), 0.0)


def single(inst: BotInstance, k: int) -> tuple[int, float]:
    """Return the node that runs most of application k if no other node runs any, and its rate."""
    order = inst.deployments[k].order
    rates = by_node(inst, k)[order]
    best = int(rates.argmax())
    return (int(order[best]), float(rates[best])) if rates[best] > 0 else (-1, 0.0)


def alone(inst: BotInstance, k: int) -> float:
    """Return the rate of application k if it had the platform to itself, up to rounding."""
    app, way = inst.applications[k], inst.deployments[k]
    before, present, width = way.before.tolist(), way.present.tolist(), widths(inst, k).tolist()
    runs = [w / app.flop if p else 0.0 for w, p in zip(inst.speed, present, strict=True)]
    for n in reversed(way.order.tolist()):
        runs[n] = min(runs[n], width[n])
        if before[n] >= 0:
            runs[before[n]] += runs[n]
    return runs[int(way.order[0])]


def latest(compute: Callable[P, R]) -> Callable[P, R]:
    """Remember the last few answers of a function of such objects.

    A search checks repeatedly whether a gap is closed, of the same schedule and certificate.
    Objects are the same if they are one: an equal one, made anew, is looked at anew.
    """
    known: list[tuple[tuple[Any, ...], R]] = []

    @wraps(compute)
    def remembered(*given: P.args, **named: P.kwargs) -> R:
        if named:
            return compute(*given, **named)
        for others, found in known.copy():
            if len(given) == len(others) and all(map(is_, given, others)):
                return found
        found = compute(*given, **named)
        known[:] = [(given, found), *known[: KEPT - 1]]
        return found

    return remembered
