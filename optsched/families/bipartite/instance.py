"""The data of family `bipartite`, and its glossary.

Zhao, Deng, Xiang, Yan, Yin, Dustdar, Zomaya: Scheduling Multi-Server Jobs with Sublinear Regrets
via Online Learning. arXiv:2305.06572.

    paper     here                              paper     here
    T         horizon                           x_l(t)    arrivals[t][l]
    l in L    ports (job types)                 a_l^k     ports[].request
    r in R    machines                          c_r^k     machines[].capacity
    k in K    resources                         f_r^k     machines[].utility; f_k where gain is sum
    L_r       machines[].ports                  beta_k    overhead
    J_l       ports[].most_jobs                 y_lr^k    one number of a decision

Where a port may have several jobs in a slot (Sec. 3.4), it stands for J_l *copies*: copy j has a
job in slot t if x_l(t) >= j. Decisions are made for copies; with J_l = 1 these are the ports.

A *row* is a machine and a resource, r * K + k; a *channel* a row and a copy that is connected to
the machine. A decision is an array with one amount per channel, row by row, copies in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from optsched.base import Text
from optsched.families.bipartite.instance_utilities import KINDS, Quantity, Utility
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.resources import Closed, close
from optsched.problem import Frozen, Instance, Schedule
from optsched.scheduling.platform import SlottedPlatform, check_shape

MOST_CHANNELS = 10_000_000
MOST_JOBS = 1_000_000_000  # slots x copies: whether there is a job is one byte each


class Port(Frozen):
    """A type of jobs."""

    name: Text = Field(default="", description="name of this type in tables")
    request: tuple[Quantity, ...] = Field(
        description="a_l^k: most of each resource on one machine, shape (K,)"
    )
    most_jobs: PositiveInt = Field(default=1, description="J_l: most jobs that arrive in one slot")


class Machine(Frozen):
    """A computing instance, and the types of jobs that it may serve."""

    name: Text = Field(default="", description="name of this machine in tables")
    capacity: tuple[Quantity, ...] = Field(description="c_r^k of each resource, shape (K,)")
    ports: tuple[NonNegativeInt, ...] = Field(description="L_r: ports connected to it, ascending")
    utility: tuple[Utility, ...] = Field(description="f_r^k of each resource, shape (K,)")


class Platform(SlottedPlatform):
    """A bipartite graph of ports and machines: all that a policy may know beforehand."""

    slot_seconds: PositiveFloat = Field(default=60.0, description="length of a slot, s")
    gain: Literal["machine", "sum"] = Field(
        default="machine",
        exclude_if=lambda gain: gain == "machine",  # as in files without it: same digest
        description="machine: a job gains sum f_r^k(y_lr^k), as (12) has it; sum: f_k(sum y_lr^k), "
        "as (7) is printed, and a resource has one utility",
    )
    overhead: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        description="beta_k: communication overhead of one unit of each resource, shape (K,)"
    )
    ports: tuple[Port, ...] = Field(min_length=1)
    machines: tuple[Machine, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _shapes_agree(self) -> Self:
        check_shape(self.resources, "overhead", self.overhead)
        for i, port in enumerate(self.ports):
            check_shape(self.resources, f"port {i}: request", port.request)
        for r, machine in enumerate(self.machines):
            check_shape(self.resources, f"machine {r}: capacity", machine.capacity)
            check_shape(self.resources, f"machine {r}: utility", machine.utility)
            if any(a >= b for a, b in pairwise(machine.ports)):
                raise ValueError(
                    f"machine {r}: ports {list(machine.ports[:9])} are not ascending, "
                    "expected every port once, in order"
                )
            if machine.ports and machine.ports[-1] >= len(self.ports):
                raise ValueError(
                    f"machine {r}: port {machine.ports[-1]} does not exist, "
                    f"expected 0..{len(self.ports) - 1}"
                )
            if self.gain == "sum" and machine.utility != self.machines[0].utility:
                raise ValueError(
                    f"machine {r}: utility differs from that of machine 0, expected the same: gain "
                    '"sum" has one utility per resource'
                )
        jobs = [port.most_jobs for port in self.ports]
        if sum(jobs) * len(self.resources) > MOST_CHANNELS:
            raise ValueError(
                f"ports have {sum(jobs)} jobs in a slot (the sum of most_jobs), "
                f"expected at most {MOST_CHANNELS // len(self.resources)}"
            )
        channels = sum(jobs[p] for m in self.machines for p in m.ports) * len(self.resources)
        if channels > MOST_CHANNELS:
            raise ValueError(
                f"{channels} channels (edges x jobs x resources), expected at most {MOST_CHANNELS}"
            )
        return self

    @cached_property
    def arrays(self) -> BipartiteArrays:
        """Numpy views for the kernels."""
        return BipartiteArrays.of(self)


class BipartiteInstance(Platform, Instance):
    """A platform and the jobs that arrive."""

    family: ClassVar[str] = "bipartite"

    arrivals: tuple[tuple[NonNegativeInt, ...], ...] = Field(
        description="x_l(t): number of jobs that arrive at each port, shape (T, L)"
    )
    drawn: tuple[str, ...] = Field(default=(), description="fields that were drawn, not measured")
    source: Text = Field(default="", description="where the instance comes from")

    @model_validator(mode="after")
    def _arrivals_fit_the_platform(self) -> Self:
        if len(self.arrivals) != self.horizon:
            raise ValueError(
                f"arrivals has {len(self.arrivals)} slots, expected the horizon {self.horizon}"
            )
        most = tuple(port.most_jobs for port in self.ports)
        if self.horizon * sum(most) > MOST_JOBS:
            raise ValueError(
                f"{self.horizon} slots with at most {sum(most)} jobs each (the sum of most_jobs), "
                f"expected a product of at most {MOST_JOBS}"
            )
        for t, jobs in enumerate(self.arrivals):
            if len(jobs) != len(most):
                raise ValueError(
                    f"slot {t}: arrivals has {len(jobs)} entries, expected one for each of "
                    f"{len(most)} ports"
                )
            for port, (x, limit) in enumerate(zip(jobs, most, strict=True)):
                if x > limit:
                    raise ValueError(
                        f"slot {t}, port {port}: {x} jobs arrive, "
                        f"expected at most its most_jobs, {limit}"
                    )
        return self

    def platform(self) -> Platform:
        """Return the instance without its jobs."""
        platform = Platform.model_construct(
            **{name: getattr(self, name) for name in Platform.model_fields}
        )
        platform.__dict__["arrays"] = self.arrays  # not computed twice
        return platform

    @cached_property
    def jobs(self) -> Flags:
        """Whether each copy has a job in each slot, shape (T, C)."""
        a = self.arrays
        counts = np.array(self.arrivals, np.int64).reshape(self.horizon, len(self.ports))
        jobs = counts[:, a.port_of] > a.nth
        close(jobs)
        return jobs

    @cached_property
    def counts(self) -> Ints:
        """n: slots in which each copy has a job, shape (C,)."""
        counts = np.asarray(self.jobs.sum(axis=0), dtype=np.int64)
        close(counts)
        return counts

    @cached_property
    def patterns(self) -> tuple[Flags, Ints]:
        """Different sets of copies with jobs, and which of them each slot has: (P, C) and (T,)."""
        packed = np.ascontiguousarray(np.packbits(self.jobs, axis=1))
        keys = packed.view([("", packed.dtype)] * packed.shape[1]).ravel()
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")  # in order of first appearance
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        patterns, which = self.jobs[first[order]], rank[inverse.ravel()]
        close(patterns, which)
        return patterns, which

    @property
    def pattern_times(self) -> Ints:
        """Number of slots of each pattern, (P,)."""
        patterns, which = self.patterns
        return np.bincount(which, minlength=len(patterns))


@dataclass(frozen=True, eq=False)
class BipartiteArrays(Closed):
    """The platform as arrays, with ports unfolded into copies; none of them can be written into."""

    copies: int  # C
    resources: int  # K
    port_of: Ints  # (C,) port of each copy
    nth: Ints  # (C,) the copy's number among its port's, from 0
    request: Floats  # (C, K)
    beta: Floats  # (K,) overhead of a unit
    capacity: Floats  # (R * K,) units of the row's resource
    kind: Ints  # (R * K,) index in KINDS
    alpha: Floats  # (R * K,) the parameter of its utility
    start: Ints  # (R * K + 1,) first channel of each row
    row: Ints  # (N,) row of each channel
    port: Ints  # (N,) copy of each channel
    upper: Floats  # (N,) request of each channel
    summed: bool  # whether gains are f_k of the sums over machines; all rows of k have that f

    @classmethod
    def of(cls, platform: Platform) -> BipartiteArrays:
        """Build the arrays of ``platform``."""
        k = len(platform.resources)
        most = [port.most_jobs for port in platform.ports]
        first = np.concatenate([[0], np.cumsum(most)])
        port_of = np.repeat(np.arange(len(most)), most)
        request = np.array([p.request for p in platform.ports], float).reshape(len(most), k)
        request = request[port_of]
        connected = [
            np.concatenate([np.arange(first[p], first[p + 1]) for p in m.ports])
            if m.ports
            else np.zeros(0, np.int64)
            for m in platform.machines
        ]
        rows = [copies for copies in connected for _ in range(k)]
        start = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        port = np.concatenate(rows).astype(np.int64)
        row = np.repeat(np.arange(len(rows)), np.diff(start))
        return cls(
            copies=int(first[-1]),
            resources=k,
            port_of=port_of.astype(np.int64),
            nth=np.arange(len(port_of)) - first[port_of],
            request=request,
            beta=np.array(platform.overhead, float),
            capacity=np.array([m.capacity for m in platform.machines], float).ravel(),
            kind=np.array([KINDS.index(u.kind) for m in platform.machines for u in m.utility]),
            alpha=np.array([u.alpha for m in platform.machines for u in m.utility], float),
            start=start.astype(np.int64),
            row=row,
            port=port,
            upper=np.ascontiguousarray(request[port, row % k]),
            summed=platform.gain == "sum",
        )

    @property
    def channels(self) -> int:
        """N: numbers in a decision."""
        return len(self.port)

    @cached_property
    def of_sum(self) -> tuple[Ints, Floats]:
        """Kind and alpha of f_k of each resource, (K,); empty where machines gain on their own."""
        many = self.resources if self.summed else 0
        return self.kind[:many], self.alpha[:many]

    def place(self, channel: int) -> tuple[int, int, int]:
        """Return machine, copy and resource of a channel."""
        row = int(self.row[channel])
        return row // self.resources, int(self.port[channel]), row % self.resources


class RowArrays(NamedTuple):
    """Limits and gains of all rows and channels, for compiled code; may be rounded to one side."""

    start: Ints  # (R * K + 1,) first channel of each row
    port: Ints  # (N,) copy of each channel
    kind: Ints  # (R * K,) index in KINDS
    alpha: Floats  # (R * K,) the parameter of its utility
    beta: Floats  # (K,) overhead of a unit
    upper: Floats  # (N,) the most that a channel may hold
    capacity: Floats  # (R * K,) units of the row's resource


class Slot(NamedTuple):
    """Arrivals of one slot."""

    slot: int
    jobs: Flags  # (C,) whether each copy has a job; cannot be written

    @classmethod
    def without_jobs(cls, copies: int) -> Slot:
        """Return a slot in which nothing arrives: kernels are compiled with it."""
        jobs = np.zeros(copies, np.bool_)
        close(jobs)
        return cls(0, jobs)


class Record(Frozen):
    """Record of a run with too many decisions: enough to repeat and to compare it."""

    policy: str = Field(description="name of the policy")
    options: dict[str, float | str | bool | None] = Field(description="its parameters")
    fingerprint: str = Field(description="SHA-256 of all decisions, see `verify.Verifier`")


class BipartiteSchedule(Schedule):
    """Which decision is used in which slot.

    Decisions are stored once each, in order of channels; a run with too many different ones keeps
    a record instead, and is repeated when it is checked again.
    """

    decisions: tuple[tuple[float, ...], ...] = Field(description="amounts, shape (D, N)")
    used: tuple[NonNegativeInt, ...] = Field(description="decision of each slot; () with a record")
    rewards: tuple[float, ...] = Field(default=(), description="q(t); () if not yet checked")
    record: Record | None = Field(default=None, description="None: the decisions are all here")
