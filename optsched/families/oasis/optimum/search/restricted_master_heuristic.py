"""Restricted-master heuristic: the compact program over patterns that column generation has found.

An integer program over the known columns (Joncour et al., 2010). Machines host known patterns
only, so its solutions sit on single machines by construction. It gives schedules, never bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from scipy.sparse import coo_array

from optsched import solvers
from optsched.engine.budget import Limits
from optsched.engine.colgen import Column
from optsched.families.oasis.instance import JobSchedule, OasisSchedule
from optsched.families.oasis.optimum.relaxations.capacity import SIDES
from optsched.families.oasis.optimum.relaxations.unit_price import UnitPriceDecomposition
from optsched.families.oasis.optimum.tree.nodes import Host
from optsched.numbers.arrays import Ints
from optsched.process import work_units
from optsched.scheduling.board import placed_jobs
from optsched.solvers import MipLimits, MipResult

WRITING = 10  # numbers that are handled for an entry of the matrix

Key = tuple[Any, ...]


class RestrictedMasterMip:
    """Mixed-integer program (MIP) over the columns of a restricted master; variables have keys."""

    def __init__(self) -> None:
        self.index: dict[Key, int] = {}
        self.cost: list[float] = []
        self.most: list[float] = []
        self.entries: list[tuple[int, int, float]] = []
        self.upper: list[float] = []

    def variable(self, key: Key, most: float, cost: float = 0.0) -> None:
        """Add a variable."""
        self.index[key] = len(self.cost)
        self.cost.append(cost)
        self.most.append(most)

    def row(self, terms: Iterable[tuple[Key, float]], upper: float) -> None:
        """Add a row."""
        self.entries += [(len(self.upper), self.index[key], value) for key, value in terms]
        self.upper.append(upper)

    def best(self, **limits: Unpack[MipLimits]) -> MipResult:
        """Hand the program to HiGHS."""
        work_units.spend(work_units.HANDLED * WRITING * len(self.entries))
        rows, cols, values = zip(*self.entries, strict=True)
        shape = len(self.upper), len(self.cost)
        return solvers.solve_mip(
            np.array(self.cost),
            coo_array((values, (rows, cols)), shape=shape).tocsc(),
            np.full(len(self.upper), -np.inf),
            np.array(self.upper, float),
            np.zeros(len(self.cost)),
            np.array(self.most, float),
            np.ones(len(self.cost), bool),
            **limits,
        )


class PatternProgram(RestrictedMasterMip):
    """Variables: v[i, t] completes, n[i, t] workers, m[i, t] PS, p[k] machines with pattern k.

    Parameters
    ----------
    problem : UnitPriceDecomposition
    columns : sequence of Column
        Those of machines are the patterns; those of jobs are not needed.
    completions : mapping, optional
        Job -> latest completion slot; other jobs stay out. By default every job is free.
    """

    def __init__(
        self,
        problem: UnitPriceDecomposition,
        columns: Sequence[Column],
        completions: Mapping[int, int] | None = None,
    ) -> None:
        self.problem = problem
        self.patterns = self._patterns(columns, completions)
        super().__init__()
        inst = problem.inst
        self.pairs = [
            (i, t)
            for i in range(problem.jobs)
            if completions is None or i in completions
            for t in range(problem.slots)
            if problem.row[0, i, t] >= 0 and (completions is None or t <= completions[i])
        ]
        for i, t in self.pairs:
            self.variable(("v", i, t), 1, -problem.arrays.utility[i, t])
            self.variable(("n", i, t), int(problem.most[i]))
            self.variable(("m", i, t), int(problem.needed[i][problem.most[i]]))
        for k, (host, _) in enumerate(self.patterns):
            count = len(problem.classes[host.side][host.group])
            self.variable(("p", k, 0), count)
        self._machines()
        for i in sorted({i for i, _ in self.pairs}):
            slots = [t for j, t in self.pairs if j == i]
            self._job(i, slots, inst.work[i])

    def _patterns(
        self, columns: Sequence[Column], completions: Mapping[int, int] | None
    ) -> list[tuple[Host, Ints]]:
        """Return the different patterns of whole classes, cut down to the jobs that matter."""
        seen: dict[tuple[int, int, int, bytes], tuple[Host, Ints]] = {}
        for column in columns:
            if column.block < self.problem.jobs:
                continue
            host, pattern = column.choice
            if completions is not None:
                keep = [
                    i
                    for i in np.flatnonzero(pattern).tolist()
                    if completions.get(i, -1) >= host.slot
                ]
                cut = np.zeros_like(pattern)
                cut[keep] = pattern[keep]
                pattern = cut
            if pattern.any():
                seen.setdefault(
                    (host.side, host.slot, host.group, pattern.tobytes()), (host, pattern)
                )
        return list(seen.values())

    def _machines(self) -> None:
        """Numbers sit in patterns; a class has only this many machines."""
        hosts: dict[tuple[int, int, int], list[int]] = {}
        hosted: dict[tuple[int, int, int], list[tuple[Key, float]]] = {}
        for k, (host, pattern) in enumerate(self.patterns):
            hosts.setdefault((host.side, host.slot, host.group), []).append(k)
            for i in np.flatnonzero(pattern).tolist():
                place = (host.side, i, host.slot)
                hosted.setdefault(place, []).append((("p", k, 0), -float(pattern[i])))
        for (side, _, c), members in hosts.items():
            self.row([(("p", k, 0), 1.0) for k in members], len(self.problem.classes[side][c]))
        for i, t in self.pairs:
            for side, name in zip(SIDES, "nm", strict=True):
                self.row([((name, i, t), 1.0), *hosted.get((side, i, t), [])], 0.0)

    def _job(self, i: int, slots: Sequence[int], work: int) -> None:
        problem = self.problem
        job, most = problem.inst.jobs[i], float(problem.most[i])
        ratio = job.worker_bandwidth / job.ps_bandwidth
        self.row([(("v", i, t), 1.0) for t in slots], 1.0)
        for k, t in enumerate(slots):
            self.row([(("n", i, t), ratio), (("m", i, t), -1.0)], 1e-9)
            later = [(("v", i, u), -most) for u in slots[k:]]
            self.row([(("n", i, t), 1.0), *later], 0.0)
            done = [(("n", i, u), -1.0) for u in slots[: k + 1]]
            due = [(("v", i, u), float(work)) for u in slots[: k + 1]]
            self.row([*due, *done], 0.0)  # work done by t >= W if completed by t

    def solve(self, *, limits: Limits, threads: int, seed: int) -> OasisSchedule | None:
        """Return the best schedule that HiGHS finds in time."""
        if not self.pairs:
            return None
        result = self.best(threads=threads, seed=seed, **limits)
        return None if result.x is None else self._schedule(result.x.astype(np.int64))

    def _schedule(self, x: Ints) -> OasisSchedule:
        """Unfold the patterns onto single machines; what they host too much is left out."""
        problem = self.problem
        wanted: dict[tuple[int, int, int], int] = {}
        in_time: dict[int, int] = {}
        for i, t in self.pairs:
            if x[self.index["v", i, t]]:
                in_time[i] = t
        for i, t in self.pairs:
            n = int(x[self.index["n", i, t]]) if t <= in_time.get(i, -1) else 0
            wanted[0, i, t], wanted[1, i, t] = n, int(problem.needed[i][n])
        placed: list[list[list[tuple[int, int, int]]]] = [[[], []] for _ in range(problem.jobs)]
        used: dict[tuple[int, int, int], int] = {}
        for k, (host, pattern) in enumerate(self.patterns):
            for _ in range(int(x[self.index["p", k, 0]])):
                group = (host.side, host.slot, host.group)
                machine = problem.classes[host.side][host.group][used.get(group, 0)]
                used[group] = used.get(group, 0) + 1
                for i in np.flatnonzero(pattern).tolist():
                    place = (host.side, i, host.slot)
                    number = min(int(pattern[i]), wanted.get(place, 0))
                    if number:
                        wanted[place] -= number
                        placed[i][host.side].append((host.slot, machine, number))
        ordered = ((sorted(workers), sorted(ps)) for workers, ps in placed)
        return OasisSchedule(jobs=placed_jobs(ordered, in_time, JobSchedule))
