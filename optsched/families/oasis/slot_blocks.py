"""Prices per worker and slot: the decomposition of family `oasis` that knows how workers pack.

Rows say that the workers (and PS) of a job in a slot sit on machines. Blocks are the jobs, with
their schedules as columns, and every class of machines in every slot, with *patterns* as columns:
what one machine hosts. Its bound is at least as tight as prices on capacity where packing matters.
Nodes of a branching tree restrict completion slots, worker numbers and single machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, eye_array, hstack, vstack

from optsched import solvers
from optsched.branch import Split
from optsched.colgen import Column, Floats, Ints, Pricing, Relaxation
from optsched.families.oasis.capacity_blocks import NEGLIGIBLE, SIDES
from optsched.families.oasis.instance import (
    Entry,
    JobSchedule,
    OasisInstance,
    OasisSchedule,
    room,
)
from optsched.scheduling.patterns import best_patterns, windowed_backtrack, windowed_costs

INTEGRAL = 1e-6
PENALTY = 100.0
MOST_SPLITS = 6
PACKING_SECONDS = 5.0  # for one slot; a failure only means that a machine is split


@dataclass(frozen=True)
class Node:
    """Restrictions on the schedules; completion slot T stands for "never"."""

    first: Ints  # (I,) earliest completion slot
    last: Ints  # (I,) latest completion slot; T: may stay out
    lower: Ints  # (I, T) fewest workers
    upper: Ints  # (I, T) most workers
    # (side, slot, machine) -> (lower, upper) numbers of every job on that machine
    machines: Mapping[tuple[int, int, int], tuple[Ints, Ints]] = field(default_factory=dict)


@dataclass(frozen=True)
class Host:
    """A machine block: a class in a slot, or one of its machines if those stand alone."""

    side: int
    slot: int
    group: int  # the class
    machine: int | None

    @property
    def place(self) -> tuple[int, int, int]:
        """The key of the node's limits; no class has one."""
        return (self.side, self.slot, -1 if self.machine is None else self.machine)


class _Book:
    """The schedules among a growing list of columns, as arrays."""

    def __init__(self, jobs: int, slots: int) -> None:
        self.jobs, self.slots = jobs, slots
        self.columns: Sequence[Column] | None = None
        self._forget()

    def _forget(self) -> None:
        self.seen = 0
        self.place = np.empty(0, np.int64)  # index in the list
        self.job = np.empty(0, np.int64)
        self.completion = np.empty(0, np.int64)
        self.amount = np.empty((0, self.slots), np.int64)

    def read(self, columns: Sequence[Column]) -> None:
        """Take in what is new."""
        if columns is not self.columns:
            self.columns = columns
            self._forget()
        new = [k for k in range(self.seen, len(columns)) if columns[k].block < self.jobs]
        self.seen = len(columns)
        if new:
            choices = [columns[k].choice for k in new]
            self.place = np.append(self.place, new)
            self.job = np.append(self.job, [columns[k].block for k in new])
            self.completion = np.append(self.completion, [c for c, _ in choices])
            self.amount = np.concatenate([self.amount, np.array([a for _, a in choices])])


@dataclass(frozen=True)
class Completion:
    """Job completes by ``slot``, or later (or never)."""

    job: int
    slot: int


@dataclass(frozen=True)
class Workers:
    """Job runs at most ``at`` workers in ``slot``, or more."""

    job: int
    slot: int
    at: int


@dataclass(frozen=True)
class Machine:
    """Job has at most ``at`` workers (or PS) on one machine in ``slot``, or more."""

    job: int
    slot: int
    side: int
    machine: int
    at: int


class SlotBlocks:
    """The blocks and their oracles, at one node."""

    def __init__(self, inst: OasisInstance) -> None:
        self.inst, self.arrays = inst, inst.arrays
        arrays = self.arrays
        self.jobs = len(inst.jobs)
        self.slots = inst.horizon
        self.demand = [arrays.worker_demand.astype(float), arrays.ps_demand.astype(float)]
        capacity = [arrays.worker_capacity.astype(float), arrays.ps_capacity.astype(float)]
        self.classes = [arrays.worker_classes, arrays.ps_classes]
        self.capacity = [
            np.array([c[members[0]] for members in classes])
            for c, classes in zip(capacity, self.classes, strict=True)
        ]
        self.needed = [np.array(inst.ps_needed(i), np.int64) for i in range(self.jobs)]
        self.most = self._most_workers()
        self.row = np.full((2, self.jobs, self.slots), -1)
        pairs = [(i, t) for i in range(self.jobs) for t in range(self.slots) if self._useful(i, t)]
        for k, (i, t) in enumerate(pairs):
            self.row[0, i, t], self.row[1, i, t] = k, k + len(pairs)
        self.rows = 2 * len(pairs)
        self.rhs = np.zeros(self.rows)
        self.separated: set[tuple[int, int]] = set()  # (side, slot) whose machines stand alone
        self.hosts = self._hosts()
        # far more than all jobs are worth, so that small infeasibilities cut a node off, too
        self.penalty = 1.0 + PENALTY * float(arrays.utility.max(axis=1, initial=0.0).sum())
        size = max(inst.work, default=1)
        self.table = np.full((self.slots + 1, size + 1), np.inf)
        self.ending = np.full(self.slots, np.inf)
        self.book = _Book(self.jobs, self.slots)
        self.at(self.root())

    def _most_workers(self) -> Ints:
        """Return how many workers of each job the empty cluster holds in a slot, with their PS."""
        most = np.zeros(self.jobs, np.int64)
        for i, job in enumerate(self.inst.jobs):
            n = sum(room(c, job.worker_demand, job.chunks) for c in self.inst.worker_capacity)
            m = sum(room(c, job.ps_demand, job.chunks) for c in self.inst.ps_capacity)
            n = min(n, job.chunks)
            while n and self.needed[i][n] > m:
                n -= 1
            most[i] = n
        return most

    def _useful(self, i: int, t: int) -> bool:
        """Whether a worker of job i in slot t can matter: it can finish, and is worth something."""
        if self.most[i] == 0:
            return False
        earliest = self.inst.jobs[i].arrival - (-self.inst.work[i] // int(self.most[i])) - 1
        if not self.inst.jobs[i].arrival <= t or earliest >= self.slots:
            return False
        utility = self.arrays.utility[i]
        return bool(utility[max(t, earliest)] > NEGLIGIBLE * self.arrays.utility.max())

    def _hosts(self) -> list[Host]:
        """Return the blocks that follow the jobs."""
        return [
            Host(side, t, c, machine)
            for side in SIDES
            for t in range(self.slots)
            if (self.row[side, :, t] >= 0).any()
            for c, members in enumerate(self.classes[side])
            for machine in (members if (side, t) in self.separated else [None])
        ]

    def root(self) -> Node:
        """Return the node without restrictions."""
        first = self.arrays.arrival.copy()
        upper = np.repeat(self.most[:, None], self.slots, axis=1)
        upper[self.row[0] < 0] = 0
        return Node(first, np.full(self.jobs, self.slots), np.zeros_like(upper), upper, machines={})

    def at(self, node: Node) -> SlotBlocks:
        """Move to ``node``; blocks change if it restricts a machine that does not stand alone."""
        self.node = node
        missing = {(side, t) for side, t, _ in node.machines} - self.separated
        if missing:
            self.separated |= missing
            self.hosts = self._hosts()
        self.equality = np.zeros(self.jobs + len(self.hosts), bool)
        self.equality[: self.jobs] = node.last < self.slots
        self.copies = np.ones(self.equality.size)
        for b, host in enumerate(self.hosts):
            if host.machine is None:
                self.copies[self.jobs + b] = len(self.classes[host.side][host.group])
            elif host.place in node.machines and node.machines[host.place][0].any():
                self.equality[self.jobs + b] = True  # the empty pattern is not allowed
        return self

    def translate(self, columns: Sequence[Column]) -> list[Column]:
        """Return known columns in the blocks as they are now."""
        blocks: dict[tuple[int, int, int], list[int]] = {}
        for b, host in enumerate(self.hosts):
            blocks.setdefault((host.side, host.slot, host.group), []).append(b)
        out = []
        for column in columns:
            if column.block < self.jobs:
                out.append(column)
                continue
            host, pattern = column.choice
            for b in blocks[host.side, host.slot, host.group]:
                out.append(self.host_column(b, pattern))
        return out

    def allowed(self, columns: Sequence[Column]) -> NDArray[np.bool_]:
        """Return which columns the node permits; see `branch.BranchProblem`."""
        node, book = self.node, self.book
        book.read(columns)
        job, amount = book.job, book.amount
        out = np.ones(len(columns), bool)
        out[book.place] = (
            (node.first[job] <= book.completion)
            & (book.completion <= node.last[job])
            & (node.lower[job] <= amount).all(axis=1)
            & (amount <= node.upper[job]).all(axis=1)
        )
        if node.machines:
            for k, column in enumerate(columns):
                if column.block >= self.jobs and column.choice[0].place in node.machines:
                    lower, upper = node.machines[column.choice[0].place]
                    pattern = column.choice[1]
                    out[k] = (pattern >= lower).all() and (pattern <= upper).all()
        return out

    def by_job(self, prices: Floats) -> tuple[Floats, Floats]:
        """Return prices of workers and PS by job and slot, each (I, T)."""
        out = []
        for side in SIDES:
            p = np.zeros((self.jobs, self.slots))
            there = self.row[side] >= 0
            p[there] = prices[self.row[side][there]]
            out.append(p)
        return out[0], out[1]

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Ask every oracle; see `colgen.Decomposition`."""
        worker, ps = self.by_job(prices)
        best = np.zeros(self.copies.size)
        columns: list[Column] = []
        for i in range(self.jobs):
            best[i], column = self._job(i, worker[i], ps[i], duals[i])
            if column is not None:
                columns.append(column)
        self._patterns((worker, ps), duals, best, columns)
        return Pricing(best, columns)

    def _job(self, i: int, lam: Floats, sig: Floats, dual: float) -> tuple[float, Column | None]:
        node, inst = self.node, self.inst
        arrival = inst.jobs[i].arrival
        first, last = int(max(node.first[i], arrival)), int(min(node.last[i], self.slots - 1))
        stay_out = node.last[i] == self.slots and not node.lower[i].any()
        forced = np.flatnonzero(node.lower[i])
        if forced.size:
            first = max(first, int(forced[-1]))
        useful = np.flatnonzero(node.upper[i, : last + 1])
        last = min(last, int(useful[-1])) if useful.size else -1
        if first > last:
            return (0.0 if stay_out else -np.inf), None
        utility = self.arrays.utility[i]
        windowed_costs(
            lam,
            sig,
            self.needed[i],
            node.lower[i],
            node.upper[i],
            arrival,
            last,
            inst.work[i],
            self.table,
            self.ending,
        )
        payoff = utility[first : last + 1] - self.ending[first : last + 1]
        best = float(payoff.max())
        if not np.isfinite(best):
            return (0.0 if stay_out else -np.inf), None
        column = None
        if best > dual:
            completion = first + int(payoff.argmax())
            amount = np.zeros(self.slots, np.int64)
            windowed_backtrack(
                lam,
                sig,
                self.needed[i],
                node.lower[i],
                node.upper[i],
                arrival,
                completion,
                inst.work[i],
                self.table,
                self.ending,
                amount,
            )
            column = self.job_column(i, completion, amount)
        return (max(best, 0.0) if stay_out else best), column

    def job_column(self, i: int, completion: int, amount: Ints) -> Column:
        """Return the column of a schedule of job i with ``amount`` workers by slot, shape (T,)."""
        t = np.flatnonzero(amount)
        rows = np.concatenate([self.row[0, i, t], self.row[1, i, t]])
        usage = np.concatenate([amount[t], self.needed[i][amount[t]]]).astype(float)
        keep = usage > 0
        value = float(self.arrays.utility[i, completion])
        return Column(i, value, rows[keep], usage[keep], (completion, amount))

    def _patterns(
        self,
        prices: tuple[Floats, Floats],
        duals: Floats,
        best: Floats,
        columns: list[Column],
    ) -> None:
        """Ask for the best pattern of every host; fill ``best`` and ``columns``."""
        for side in SIDES:
            mine = [b for b, host in enumerate(self.hosts) if host.side == side]
            if not mine:
                continue
            slots = [self.hosts[b].slot for b in mine]
            value = np.ascontiguousarray(prices[side][:, slots].T)
            upper = np.where((self.row[side][:, slots] >= 0).T, self.most[None, :], 0)
            lower = np.zeros_like(upper)
            for k, b in enumerate(mine):
                if self.hosts[b].place in self.node.machines:
                    lower[k], most = self.node.machines[self.hosts[b].place]
                    upper[k] = np.minimum(upper[k], most)
            capacity = self.capacity[side][[self.hosts[b].group for b in mine]]
            out = np.zeros((len(mine), self.jobs), np.int64)
            top = np.zeros(len(mine))
            best_patterns(value, self.demand[side], capacity, lower, upper, top, out)
            for k, b in enumerate(mine):
                block = self.jobs + b
                best[block] = top[k]
                if np.isfinite(top[k]) and top[k] > duals[block]:
                    columns.append(self.host_column(b, out[k]))

    def host_column(self, b: int, pattern: Ints) -> Column:
        """Return the column of a machine of host block b that hosts ``pattern``, shape (I,)."""
        host = self.hosts[b]
        i = np.flatnonzero(pattern)
        rows = self.row[host.side, i, host.slot]
        return Column(self.jobs + b, 0.0, rows, -pattern[i].astype(float), (host, pattern))

    def used(self, relaxation: Relaxation) -> list[tuple[int, int, Ints, float]]:
        """Return the schedules in a relaxation: (job, completion, workers by slot, share)."""
        return [
            (c.block, *c.choice, x)
            for c, x in zip(relaxation.columns, relaxation.x, strict=False)
            if c.block < self.jobs and x > INTEGRAL
        ]

    def completions(self, relaxation: Relaxation) -> dict[int, int] | None:
        """Return the completion slots of the jobs if all are whole, else None."""
        used = self.used(relaxation)
        if self._split_completions(used):
            return None
        return {i: completion for i, completion, _, _ in used}

    def schedule(self, relaxation: Relaxation) -> OasisSchedule | None:
        """Return the schedule that a relaxation is, if its numbers are whole and pack."""
        used = self.used(relaxation)
        if self._split_completions(used) or self._split_workers(used):
            return None
        placed: list[tuple[list[Entry], list[Entry]]] = [([], []) for _ in range(self.jobs)]
        for side in SIDES:
            for t in range(self.slots):
                number = self.numbers(used, side, t)
                if not number.any():
                    continue
                hosted = pack(self, side, t, number)
                if hosted is None:
                    return None
                for h, i in zip(*np.nonzero(hosted), strict=True):
                    placed[i][side].append((t, int(h), int(hosted[h, i])))
        runs = {i for i, _, _, _ in used}
        return OasisSchedule(
            jobs=tuple(
                JobSchedule(workers=tuple(w), ps=tuple(s)) if i in runs else None
                for i, (w, s) in enumerate(placed)
            )
        )

    def splits(self, relaxation: Relaxation) -> list[Split]:
        """Return splits of completion slots, else of worker numbers, else of a machine's number."""
        used = self.used(relaxation)
        found = self._split_completions(used) or self._split_workers(used)
        return found or self._split_machine(relaxation, used)

    def _split_completions(self, used: Sequence[tuple[int, int, Ints, float]]) -> list[Split]:
        """Return the most balanced split of every job that completes in part, worth first."""
        done = np.zeros((self.jobs, self.slots))  # share of the job that is completed by slot t
        for i, completion, _, x in used:
            done[i, completion:] += x
        balance = np.minimum(done, 1 - done)
        balance[balance < INTEGRAL] = 0.0
        score = balance * self.arrays.utility.max(axis=1, initial=0.0)[:, None]
        out = []
        for i in np.argsort(-score.max(axis=1, initial=0.0), kind="stable").tolist():
            t = int(score[i].argmax())
            if score[i, t] > 0:
                out.append(self._completion(i, t))
                if t < self.slots - 1 and balance[i, -1] > 0:
                    out.append(self._completion(i, self.slots - 1))
        return out

    def _completion(self, i: int, t: int) -> Split:
        last, first = self.node.last.copy(), self.node.first.copy()
        last[i], first[i] = min(last[i], t), max(first[i], t + 1)
        return Split(
            Completion(i, t), replace(self.node, last=last), replace(self.node, first=first)
        )

    def _split_workers(self, used: Sequence[tuple[int, int, Ints, float]]) -> list[Split]:
        """Return splits of numbers of workers on which schedules disagree, broken means first."""
        mean, low, high, weight = (np.zeros((self.jobs, self.slots)) for _ in range(4))
        low[:] = np.inf
        for i, _, amount, x in used:
            mean[i] += x * amount
            low[i] = np.minimum(low[i], amount)
            high[i] = np.maximum(high[i], amount)
            weight[i] += x
        low[~np.isfinite(low)] = 0.0
        spread = high - low
        share = mean / np.maximum(weight, INTEGRAL)
        score = np.where(spread > 0, np.abs(share - np.rint(share)) + 1e-3 * spread, 0.0)
        out = []
        for where in np.argsort(-score, axis=None, kind="stable")[:MOST_SPLITS].tolist():
            i, t = divmod(where, self.slots)
            if score[i, t] > 0:
                at = int(np.clip(np.floor(share[i, t]), low[i, t], high[i, t] - 1))
                upper, lower = self.node.upper.copy(), self.node.lower.copy()
                upper[i, t], lower[i, t] = at, at + 1
                out.append(
                    Split(
                        Workers(i, t, at),
                        replace(self.node, upper=upper),
                        replace(self.node, lower=lower),
                    )
                )
        return out

    def _split_machine(
        self, relaxation: Relaxation, used: Sequence[tuple[int, int, Ints, float]]
    ) -> list[Split]:
        """Split the number on a single machine, where the numbers of a slot do not pack."""
        for side, t in self._unpacked(used):
            place, i, at = self._fractional(relaxation, side, t)
            node = self.node
            free = (np.zeros(self.jobs, np.int64), self.most.copy())
            lower, upper = node.machines.get(place, free)
            below, above = upper.copy(), lower.copy()
            below[i], above[i] = at, at + 1
            what = Machine(i, t, side, place[2], at)
            return [
                Split(
                    what,
                    replace(node, machines={**node.machines, place: (lower, below)}),
                    replace(node, machines={**node.machines, place: (above, upper)}),
                )
            ]
        return []

    def _unpacked(self, used: Sequence[tuple[int, int, Ints, float]]) -> Iterator[tuple[int, int]]:
        """Yield the sides and slots whose numbers do not fit on the machines."""
        for side in SIDES:
            for t in range(self.slots):
                number = self.numbers(used, side, t)
                if number.any() and pack(self, side, t, number) is None:
                    yield side, t

    def numbers(self, used: Sequence[tuple[int, int, Ints, float]], side: int, t: int) -> Ints:
        """Return the workers (or PS) of every job in a slot, from the schedules that are used."""
        number = np.zeros(self.jobs, np.int64)
        for i, _, amount, _ in used:
            number[i] = amount[t] if side == 0 else self.needed[i][amount[t]]
        return number

    def _fractional(
        self, relaxation: Relaxation, side: int, t: int
    ) -> tuple[tuple[int, int, int], int, int]:
        """Choose a machine, a job and the number to split at, where patterns disagree the most."""
        spread: dict[int, tuple[Ints, Ints]] = {}
        for c, x in zip(relaxation.columns, relaxation.x, strict=False):
            if c.block < self.jobs or x <= INTEGRAL:
                continue
            host, pattern = c.choice
            if (host.side, host.slot) == (side, t):
                b = c.block - self.jobs
                low, high = spread.get(b, (pattern, pattern))
                spread[b] = (np.minimum(low, pattern), np.maximum(high, pattern))
        widest = max(spread, key=lambda b: (int((spread[b][1] - spread[b][0]).max()), -b))
        low, high = spread[widest]
        i = int((high - low).argmax())
        host = self.hosts[widest]
        machine = self.classes[side][host.group][0] if host.machine is None else host.machine
        held = self.node.machines.get((side, t, machine))
        least, most = (int(low[i]), int(high[i]))
        if least == most:  # patterns agree here: halve what is still open
            least = int(held[0][i]) if held else 0
            most = int(held[1][i]) if held else int(self.most[i])
        return (side, t, machine), i, (least + most) // 2 if most > least else least


def pack(problem: SlotBlocks, side: int, t: int, number: Ints) -> Ints | None:
    """Place ``number`` workers (or PS) of every job on the single machines of a slot, if they fit.

    Returns numbers by machine and job, shape (H, I); respects the node's limits on machines.
    """
    jobs = np.flatnonzero(number)
    machines = sorted(h for members in problem.classes[side] for h in members)
    group = {h: c for c, members in enumerate(problem.classes[side]) for h in members}
    demand = problem.demand[side][jobs]  # (J, R)
    h, j, r = len(machines), jobs.size, demand.shape[1]
    upper = np.zeros((h, j))
    lower = np.zeros((h, j))
    capacity = np.array([problem.capacity[side][group[m]] for m in machines])
    for k, m in enumerate(machines):
        upper[k] = number[jobs]
        if (side, t, m) in problem.node.machines:
            least, most = problem.node.machines[side, t, m]
            lower[k], upper[k] = least[jobs], np.minimum(upper[k], most[jobs])
    scale = np.maximum(capacity.max(axis=0), 1.0)
    fits = block_diag([(demand / scale).T] * h)  # rows (machine, resource)
    total = hstack([eye_array(j)] * h)
    result = solvers.solve_mip(
        np.tile(np.arange(h)[:, None], (1, j)).ravel() / (h * max(1, number.sum())),
        vstack([fits, total]).tocsc(),
        np.concatenate([np.full(h * r, -np.inf), number[jobs].astype(float)]),
        np.concatenate([(capacity / scale).ravel(), number[jobs].astype(float)]),
        lower.ravel(),
        upper.ravel(),
        np.ones(h * j, bool),
        time_limit=PACKING_SECONDS,
        gap=1.0,
    )
    if result.x is None:
        return None
    out = np.zeros((max(machines) + 1, problem.jobs), np.int64)
    out[np.ix_(np.array(machines), jobs)] = result.x.reshape(h, j).astype(np.int64)
    return out
