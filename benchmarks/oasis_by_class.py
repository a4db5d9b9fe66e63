"""HiGHS on the program by class of machines: what `oasis_fig5.py` compares with.

Aggregation removes the symmetry of equal machines (Margot, 2010) and most of the variables. It is
a relaxation, since a class offers the capacity of its machines together: its solution may not pack
on single machines.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np
from bench import Row, finite
from scipy.sparse import coo_array

from optsched import solvers
from optsched.engine.interval import CLOSED
from optsched.families.oasis.instance import Entry, JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.relaxations.capacity import SIDES
from optsched.families.oasis.optimum.tree.branching import UnitPriceBranching, pack
from optsched.numbers.arrays import Floats
from optsched.process import work_units
from optsched.scheduling.board import placed_jobs
from optsched.solvers import MipLimits, MipResult

WRITING = 10  # numbers that are handled for an entry of the matrix

Key = tuple[Any, ...]


class Program:
    """Variables from 0 on, by keys; what they cost; rows that have greatest values."""

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


def measure(inst: OasisInstance, *, time_limit: float, threads: int) -> Row:
    """Solve one instance; the time includes building, and not whether it packs."""
    began = time.perf_counter()
    program = ByClass(inst)
    built = time.perf_counter() - began
    left = max(0.0, time_limit - built)
    result = program.best(threads=threads, time_limit=left, gap=CLOSED)
    seconds = time.perf_counter() - began
    value = None if result.objective is None else -result.objective
    bound = None if result.bound is None else finite(-result.bound)
    return {
        "status": "optimal" if result.status == "optimal" else "feasible",
        "value": value,
        "bound": bound,
        "seconds": seconds,
        "packs": result.x is not None and program.schedule(result.x) is not None,
    }


class ByClass(Program):
    """Variables: v[i, t] completes, n[i, t] workers, m[i, t] PS, y[i, t, c] and z[i, t, c] of them.

    Parameters
    ----------
    inst : OasisInstance
    """

    def __init__(self, inst: OasisInstance) -> None:
        self.problem = problem = UnitPriceBranching(inst)
        super().__init__()
        self.slots = {
            i: slots
            for i in range(problem.jobs)
            if (slots := np.flatnonzero(problem.row[0, i] >= 0).tolist())
        }
        for i, slots in self.slots.items():
            self._variables(i, slots)
            self._job(i, slots)
        for side in SIDES:
            for t in range(problem.slots):
                self._machines(side, t, [i for i, slots in self.slots.items() if t in slots])

    def _variables(self, i: int, slots: list[int]) -> None:
        problem, most = self.problem, int(self.problem.most[i])
        for t in slots:
            self.variable(("v", i, t), 1, -float(problem.arrays.utility[i, t]))
            self.variable(("n", i, t), most)
            self.variable(("m", i, t), int(problem.needed[i][most]))
            for side in SIDES:
                for c, machines in enumerate(problem.classes[side]):
                    needs = problem.demand[side][i]
                    quotients = problem.capacity[side][c][needs > 0] // needs[needs > 0]
                    max_units = int(min(most, quotients.min(initial=most)))
                    self.variable(("yz"[side], i, t, c), max_units * len(machines))

    def _job(self, i: int, slots: list[int]) -> None:
        problem, job = self.problem, self.problem.inst.jobs[i]
        work, most = float(problem.inst.work[i]), float(problem.most[i])
        ratio = job.worker_bandwidth / job.ps_bandwidth
        self.row([(("v", i, t), 1.0) for t in slots], 1.0)
        for k, t in enumerate(slots):
            done = [(("n", i, u), -1.0) for u in slots[: k + 1]]
            due = [(("v", i, u), work) for u in slots[: k + 1]]
            self.row([*due, *done], 0.0)
            later = [(("v", i, u), -most) for u in slots[k:]]
            self.row([(("n", i, t), 1.0), *later], 0.0)
            self.row([(("n", i, t), ratio), (("m", i, t), -1.0)], 1e-9)
            for side in SIDES:
                hosted = range(len(problem.classes[side]))
                placed = [(("yz"[side], i, t, c), -1.0) for c in hosted]
                self.row([(("nm"[side], i, t), 1.0), *placed], 0.0)

    def _machines(self, side: int, t: int, jobs: list[int]) -> None:
        demand, capacity = self.problem.demand[side], self.problem.capacity[side]
        for c, machines in enumerate(self.problem.classes[side]):
            for r in range(demand.shape[1]):
                whole = capacity[c, r] * len(machines)
                users = [i for i in jobs if demand[i, r] > 0]
                if users:
                    scale = max(1.0, whole)
                    terms = [(("yz"[side], i, t, c), demand[i, r] / scale) for i in users]
                    self.row(terms, whole / scale)

    def completions(self, x: Floats) -> dict[int, int]:
        """Return job -> the slot by which it completes, of a solution."""
        return {
            i: t for i, slots in self.slots.items() for t in slots if x[self.index["v", i, t]] > 0.5
        }

    def schedule(self, x: Floats) -> OasisSchedule | None:
        """Return the schedule that a solution is; None if it does not fit."""
        problem, due = self.problem, self.completions(x)
        placed: list[tuple[list[Entry], list[Entry]]] = [([], []) for _ in range(problem.jobs)]
        for t in range(problem.slots):
            number = np.zeros(problem.jobs, np.int64)
            for i in (i for i, last in due.items() if t in self.slots[i] and t <= last):
                number[i] = round(x[self.index["n", i, t]])
            servers = np.array([problem.needed[i][n] for i, n in enumerate(number)], np.int64)
            for side in SIDES:
                mine = (number, servers)[side]
                hosted = pack(problem, side, mine) if mine.any() else np.zeros((0, 0), np.int64)
                if hosted is None:
                    return None
                for h, i in zip(*np.nonzero(hosted), strict=True):
                    placed[i][side].append((t, int(h), int(hosted[h, i])))
        return OasisSchedule(jobs=placed_jobs(placed, due, JobSchedule))
