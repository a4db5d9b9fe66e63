"""The bound of a certificate of family `oasis` from its definition, every schedule enumerated.

For instances with a handful of slots, jobs and workers; in fractions.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np

from optsched.families.oasis.certificate.check import (
    CapacityPrices,
    CompletionSplit,
    Leaf,
    OasisCertificate,
    SlotPrices,
    WorkersSplit,
)
from optsched.families.oasis.instance import OasisInstance, OasisJob
from optsched.numbers.resources import MachineClass


def tiny_instance(seed: int) -> OasisInstance:
    """Draw 2 to 3 jobs of at most 3 workers on 2 + 2 classes of machines and 2 to 3 slots."""
    draw = np.random.default_rng(seed)
    horizon = int(draw.integers(2, 4))

    def machines() -> tuple[MachineClass, ...]:
        return tuple(
            MachineClass(
                count=int(draw.integers(1, 3)), capacity=tuple(draw.integers(2, 8, size=2) / 2)
            )
            for _ in range(2)
        )

    def utility() -> dict:
        scale = float(draw.integers(1, 20))
        if draw.random() < 0.7:
            return {"kind": "inverse", "scale": scale}
        first = int(draw.integers(0, 3))  # from this delay on, next to nothing
        return {"kind": "table", "values": (scale,) * first + (scale * 1e-11,) * (3 - first)}

    def job() -> OasisJob:
        chunks = int(draw.integers(1, 4))
        return OasisJob(
            arrival=int(draw.integers(0, horizon)),
            epochs=1,
            chunks=chunks,
            batches_per_chunk=1,
            batch_time=int(draw.integers(1, chunks * horizon)) / chunks,
            gradient_mb=0,
            worker_bandwidth=1,
            ps_bandwidth=float(draw.choice([1, 1.5, 2, 3])),
            worker_demand=tuple(draw.integers(0, 5, size=2) / 2),
            ps_demand=tuple(draw.integers(0, 5, size=2) / 2),
            utility=utility(),
        )

    return OasisInstance(
        horizon=horizon,
        resources=("gpu", "memory"),
        worker_machines=machines(),
        ps_machines=machines(),
        jobs=tuple(job() for _ in range(draw.integers(2, 4))),
    )


@dataclass
class Twin:
    """A certificate to evaluate, and the way down to the node in hand."""

    inst: OasisInstance
    certificate: OasisCertificate
    path: list = field(default_factory=list)

    def bounds(self) -> list[Fraction | None]:
        """Return the bounds of the leaves from left to right, None where no schedule is left."""
        return self._below(0, SlotPrices(entries=()))

    def _below(self, k, prices):
        node = self.certificate.nodes[k]
        prices = node.prices or prices
        if isinstance(node, Leaf):
            return [self._leaf(prices)]
        found = []
        for child, right in ((node.left, False), (node.right, True)):
            self.path.append((node, right))
            found += self._below(child, prices)
            self.path.pop()
        return found

    def _leaf(self, prices):
        total = self._late()
        allowed = [self._schedules(i) for i in range(len(self.inst.jobs))]
        if not all(allowed):
            return None
        for i, counts in enumerate(allowed):
            total += max(self._earns(i, n, prices) for n in counts)
        if isinstance(prices, CapacityPrices):
            return total + self._capacity_worth(prices)
        for s, t in product((0, 1), range(self.inst.horizon)):
            total += sum(self._load(s, t, h, prices) for h in range(len(self._machines(s))))
        return total

    # -- completions that are worth next to nothing ---------------------------

    def _first(self, i):
        """Return the first slot in which job i can complete on empty machines; T if in none."""
        job, horizon = self.inst.jobs[i], self.inst.horizon
        rooms = [sum(self._room(s, h, i) for h in range(len(self._machines(s)))) for s in (0, 1)]
        numbers = [n for n in range(job.chunks + 1) if n <= rooms[0]]
        most = max(n for n in numbers if self.inst.ps_needed(i)[n] <= rooms[1])
        work, slots = self.inst.work[i], range(job.arrival, horizon)
        return next((t for t in slots if most * (t - job.arrival + 1) >= work), horizon)

    def _last(self, i):
        """Return the last slot in which job i is worth completing; -1 if there is none."""
        job, horizon = self.inst.jobs[i], self.inst.horizon
        ends = [self._first(j) for j in range(len(self.inst.jobs))]
        earned = [
            other.utility.upper(end - other.arrival) if end < horizon else 0
            for other, end in zip(self.inst.jobs, ends, strict=True)
        ]
        least = max(earned) / Fraction(2**29)
        worth = [t for t in range(ends[i], horizon) if job.utility.upper(t - job.arrival) > least]
        return max(worth, default=-1)

    def _late(self):
        total, unit = Fraction(0), Fraction(2) ** self.certificate.grid_bits
        for i, job in enumerate(self.inst.jobs):
            t = max(self._last(i) + 1, self._first(i))
            if t < self.inst.horizon:
                total += math.ceil(job.utility.upper(t - job.arrival) * unit) / unit
        return total

    # -- jobs ----------------------------------------------------------------

    def _schedules(self, i):
        """Enumerate the numbers of workers by slot that the path to the leaf allows."""
        job, horizon = self.inst.jobs[i], self.inst.horizon
        choices = [range(job.chunks + 1) if t >= job.arrival else (0,) for t in range(horizon)]
        return [n for n in product(*choices) if self._may(i, n)]

    def _may(self, i, n):
        if sum(n) not in (0, *range(self.inst.work[i], sum(n) + 1)):
            return False
        if sum(n) and completion(n) > self._last(i):
            return False
        for s in (0, 1):
            room = sum(self._room(s, h, i) for h in range(len(self._machines(s))))
            if max(self._numbers(i, s, n)) > room:
                return False
        return all(self._obeys(split, right, n) for split, right in self.path if split.job == i)

    def _obeys(self, split, right, n):
        if isinstance(split, CompletionSplit):
            return right == (sum(n) == 0 or completion(n) > split.slot)
        return right == (n[split.slot] > split.at)

    def _numbers(self, i, s, n):
        return [self.inst.ps_needed(i)[x] for x in n] if s else n

    def _earns(self, i, n, prices):
        if sum(n) == 0:
            return Fraction(0)
        value = self.inst.jobs[i].utility.upper(completion(n) - self.inst.jobs[i].arrival)
        scale = 2**self.certificate.grid_bits
        value = Fraction(-(-value * scale // 1))  # ceil
        for s in (0, 1):
            for t, x in enumerate(self._numbers(i, s, n)):
                value -= self._cost(i, s, t, x, prices)
        return value / scale

    def _cost(self, i, s, t, x, prices):
        if isinstance(prices, SlotPrices):
            return x * price(prices, s, i, t)
        demand, _ = self._units(s)
        units = []
        for h in range(len(self._machines(s))):
            c = self._class(s, h)
            unit = sum(price(prices, s, t, c, r) * d for r, d in enumerate(demand[i]))
            units += [unit] * self._room(s, h, i)
        return sum(sorted(units)[:x])

    # -- machines ------------------------------------------------------------

    def _units(self, s):
        a = self.inst.arrays
        pair = (a.ps_demand, a.ps_capacity) if s else (a.worker_demand, a.worker_capacity)
        return tuple(x.tolist() for x in pair)

    def _machines(self, s):
        return self._units(s)[1]

    def _class(self, s, h):
        machines = (self.inst.worker_capacity, self.inst.ps_capacity)[s]
        return list(dict.fromkeys(machines)).index(machines[h])

    def _room(self, s, h, i):
        demand, capacity = self._units(s)
        rooms = [c // d for c, d in zip(capacity[h], demand[i], strict=True) if d]
        return min([self.inst.jobs[i].chunks, *rooms])

    def _load(self, s, t, h, prices):
        """Return the most that one machine's load is worth in slot t, over all loads it holds."""
        demand, capacity = self._units(s)
        choices = []
        for i in range(len(self.inst.jobs)):
            most = max(self._numbers(i, s, [n[t]])[0] for n in self._schedules_up_to(i, t))
            choices.append(range(min(self._room(s, h, i), most) + 1))
        best = 0
        for y in product(*choices):
            load = [sum(x * d[r] for x, d in zip(y, demand, strict=True)) for r in range(2)]
            if all(x <= c for x, c in zip(load, capacity[h], strict=True)):
                best = max(best, sum(x * price(prices, s, i, t) for i, x in enumerate(y)))
        return Fraction(best, 2**self.certificate.grid_bits)

    def _schedules_up_to(self, i, t):
        """Yield numbers in slot t alone that the limits on it allow, and 0."""
        job = self.inst.jobs[i]
        zero = (0,) * self.inst.horizon
        yield zero
        last = self._last(i)
        first = job.arrival
        never = True
        for split, right in self.path:
            if split.job == i and isinstance(split, CompletionSplit):
                last = last if right else min(last, split.slot)
                first = max(first, split.slot + 1) if right else first
                never = never and right
            if split.job == i and right and not isinstance(split, CompletionSplit):
                first = max(first, split.slot)
        if first > last or not job.arrival <= t <= last:
            return
        for x in range(1, job.chunks + 1):
            n = (*zero[:t], x, *zero[t + 1 :])
            fits = all(
                self._numbers(i, s, [x])[0]
                <= sum(self._room(s, h, i) for h in range(len(self._machines(s))))
                for s in (0, 1)
            )
            capped = all(
                right or not isinstance(split, WorkersSplit) or split.slot != t or x <= split.at
                for split, right in self.path
                if split.job == i
            )
            if fits and capped:
                yield n

    def _capacity_worth(self, prices):
        total = Fraction(0)
        for s in (0, 1):
            for h, capacity in enumerate(self._machines(s)):
                c = self._class(s, h)
                for t, r in product(range(self.inst.horizon), range(len(capacity))):
                    total += price(prices, s, t, c, r) * capacity[r]
        return total / 2**self.certificate.grid_bits


def completion(n):
    """Return the last slot with a worker."""
    return max(t for t, x in enumerate(n) if x)


def price(prices, *where):
    """Look a price up in a sparse list."""
    return next((e[-1] for e in prices.entries if tuple(e[:-1]) == where), 0)
