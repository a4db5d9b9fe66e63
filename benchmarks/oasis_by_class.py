"""HiGHS on the program of family `oasis` by class of machines: what `oasis_fig5.py` compares with.

Machines of a class are alike, so a good program counts workers by class rather than by machine: it
is a small part as large, and has no symmetry. It asks less, though: a class has the room of all its
machines together, so what it finds may not sit on single machines, and then its optimum is a bound.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from bench import Row, finite
from scipy.sparse import coo_array

from optsched import solvers
from optsched.engine.progress import CLOSED
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.prices.capacity import SIDES
from optsched.families.oasis.optimum.tree.branching import UnitTree, pack

Key = tuple[Any, ...]


class ByClass:
    """Variables: v[i, t] completes, n[i, t] workers, m[i, t] PS, y[i, t, c] and z[i, t, c] of them.

    Parameters
    ----------
    inst : OasisInstance
    """

    def __init__(self, inst: OasisInstance) -> None:
        self.problem = problem = UnitTree(inst)
        self.index: dict[Key, int] = {}
        self.cost: list[float] = []
        self.most: list[float] = []
        self.entries: list[tuple[int, int, float]] = []
        self.upper: list[float] = []
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

    def _variable(self, key: Key, most: float, cost: float = 0.0) -> None:
        self.index[key] = len(self.cost)
        self.cost.append(cost)
        self.most.append(most)

    def _row(self, terms: Iterable[tuple[Key, float]], upper: float) -> None:
        self.entries += [(len(self.upper), self.index[key], value) for key, value in terms]
        self.upper.append(upper)

    def _variables(self, i: int, slots: list[int]) -> None:
        problem, most = self.problem, int(self.problem.most[i])
        for t in slots:
            self._variable(("v", i, t), 1, -float(problem.arrays.utility[i, t]))
            self._variable(("n", i, t), most)
            self._variable(("m", i, t), int(problem.needed[i][most]))
            for side in SIDES:
                for c, machines in enumerate(problem.classes[side]):
                    needs = problem.demand[side][i]
                    rooms = problem.capacity[side][c][needs > 0] // needs[needs > 0]
                    room = int(min(most, rooms.min(initial=most)))
                    self._variable(("yz"[side], i, t, c), room * len(machines))

    def _job(self, i: int, slots: list[int]) -> None:
        problem, job = self.problem, self.problem.inst.jobs[i]
        work, most = float(problem.inst.work[i]), float(problem.most[i])
        ratio = job.worker_bandwidth / job.ps_bandwidth
        self._row([(("v", i, t), 1.0) for t in slots], 1.0)
        for k, t in enumerate(slots):
            done = [(("n", i, u), -1.0) for u in slots[: k + 1]]
            due = [(("v", i, u), work) for u in slots[: k + 1]]
            self._row([*due, *done], 0.0)
            later = [(("v", i, u), -most) for u in slots[k:]]
            self._row([(("n", i, t), 1.0), *later], 0.0)
            self._row([(("n", i, t), ratio), (("m", i, t), -1.0)], 1e-9)
            for side in SIDES:
                hosted = range(len(problem.classes[side]))
                placed = [(("yz"[side], i, t, c), -1.0) for c in hosted]
                self._row([(("nm"[side], i, t), 1.0), *placed], 0.0)

    def _machines(self, side: int, t: int, jobs: list[int]) -> None:
        demand, capacity = self.problem.demand[side], self.problem.capacity[side]
        for c, machines in enumerate(self.problem.classes[side]):
            for r in range(demand.shape[1]):
                whole = capacity[c, r] * len(machines)
                users = [i for i in jobs if demand[i, r] > 0]
                if users:
                    scale = max(1.0, whole)
                    terms = [(("yz"[side], i, t, c), demand[i, r] / scale) for i in users]
                    self._row(terms, whole / scale)

    def solve(self, *, time_limit: float, threads: int) -> solvers.MipResult:
        """Hand the program to HiGHS."""
        rows, cols, values = zip(*self.entries, strict=True)
        shape = len(self.upper), len(self.cost)
        return solvers.solve_mip(
            np.array(self.cost),
            coo_array((values, (rows, cols)), shape=shape).tocsc(),
            np.full(len(self.upper), -np.inf),
            np.array(self.upper),
            np.zeros(len(self.cost)),
            np.array(self.most, float),
            np.ones(len(self.cost), bool),
            gap=CLOSED,
            time_limit=time_limit,
            threads=threads,
        )

    def packs(self, result: solvers.MipResult) -> bool:
        """Whether what was found sits on single machines, without workers after completions."""
        x, problem = result.x, self.problem
        if x is None:
            return False
        done = {i: t for i, slots in self.slots.items() for t in slots if x[self.index["v", i, t]]}
        for t in range(problem.slots):
            number = np.zeros(problem.jobs, np.int64)
            for i in (i for i, last in done.items() if t in self.slots[i] and t <= last):
                number[i] = x[self.index["n", i, t]]
            servers = np.array([problem.needed[i][n] for i, n in enumerate(number)], np.int64)
            for side in SIDES:
                mine = (number, servers)[side]
                if mine.any() and pack(problem, side, t, mine) is None:
                    return False
        return True


def measure(inst: OasisInstance, *, time_limit: float, threads: int) -> Row:
    """Solve one instance; the time includes building, and not whether it packs."""
    began = time.perf_counter()
    program = ByClass(inst)
    built = time.perf_counter() - began
    result = program.solve(time_limit=max(0.0, time_limit - built), threads=threads)
    seconds = time.perf_counter() - began
    value = None if result.objective is None else -result.objective
    bound = None if result.bound is None else finite(-result.bound)
    return {
        "status": "optimal" if result.status == "optimal" else "feasible",
        "value": value,
        "bound": bound,
        "seconds": seconds,
        "packs": program.packs(result),
    }
