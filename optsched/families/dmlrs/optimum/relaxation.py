"""Linear relaxation of `models.dmlrs`, certified by its dual values.

Weak duality (Dantzig, 1963) turns the dual values into a certificate: `certificate.declared`.
Equal machines share one variable, which changes no optimum: the mean of permuted solutions is a
solution as well (Margot, 2010). "Completes in t" is written as "has not completed before t". Rows
have the names of the certificate's `RelaxationRow`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.dmlrs.certificate.check import DmlrsCertificate, RelaxedPrices
from optsched.families.dmlrs.certificate.declared import RelaxationRow, SlotModes, machines, modes
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import exact
from optsched.solvers.relaxed import LinearProgram

BITS = 48  # of the grid, for the value of all capacity of a class, or of a worker


def relaxation(inst: DmlrsInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the linear relaxation; report its value. `methods` sees to the unit of utility."""
    program = _RelaxationProgram(inst)
    found = program.lp.duals(
        threads=threads, seed=seed, stop=progress.called_off, **progress.limits()
    )
    if found is not None:
        value, duals = found
        progress.tighten(value, lambda: program.certificate(duals))


class _RelaxationProgram:
    """The linear program, and which of its rows is which."""

    def __init__(self, inst: DmlrsInstance) -> None:
        self.inst, self.all, self.lp = inst, machines(inst), LinearProgram()
        lp, count = self.lp, self.all.number
        limit = self.all.capacity * count[:, None].astype(float)  # (C, R)
        self.most = float(max(1.0, limit.max(initial=0.0)))
        self.each = np.where(limit > 0, limit, 1.0)  # rows as shares of the capacity
        self.capacity = lp.rows(inst.horizon, *limit.shape, limit=limit / self.each)
        self.work = lp.rows(len(inst.jobs))
        self.needed = np.ones(len(inst.jobs))
        # row, job, slots (S, 1), classes (n,), second classes (n,), how many machines, numbers
        self.named: list[tuple[RelaxationRow, int, Ints, Ints, Ints, Ints, Ints]] = []
        build = self._by_job if inst.locality == "job" else self._by_link
        for i, first in enumerate(inst.earliest):
            if first is not None:
                self._job(i, first, build)

    def _job(self, i: int, first: int, build: Callable[..., None]) -> None:
        inst, lp, job = self.inst, self.lp, self.inst.jobs[i]
        time = np.arange(job.arrival, inst.horizon)
        needed, inner, outer = inst.needs[i].smallest(job.chunks * len(time))
        f = inst.arrays.utility[i, first:]
        running = lp.variables(len(f), value=f - np.append(0.0, f[:-1]))
        ends = lp.rows(len(f), limit=np.append(1.0, np.zeros(len(f) - 1)))  # (3.6)
        lp.put(ends, running, 1.0)
        lp.put(ends[1:], running[:-1], -1.0)
        self.needed[i] = needed - 0.5
        lp.put(self.work[i], running[:1], 1.0)
        still = running[np.maximum(time - first, 0)]
        build(i, time, still, inner / self.needed[i], outer / self.needed[i])

    def _rows(
        self, row: RelaxationRow, i: int, time: Ints, classes: Any = (0,), seconds: Any = 0, *,
        times: Any = 1, limit: Any = 0.0
    ) -> Ints:  # fmt: skip
        """Add rows by slot and class, of this many machines (or pairs) each."""
        c, p, number = np.broadcast_arrays(np.asarray(classes, np.int64), seconds, times)
        numbers = self.lp.rows(len(time), len(c), limit=limit)
        self.named.append((row, i, time, c, p, number, numbers))
        return numbers

    def _load(self, time: Ints, x: Ints, classes: Any, units: Any) -> None:
        """Put variables (S, n) into (3.3), which take units (n, R) on classes (n,)."""
        for r in np.flatnonzero(units.any(axis=0)).tolist():
            amount = units[:, r] / self.each[classes, r]
            self.lp.put(self.capacity[time, :, r][:, classes], x, amount)

    def _by_job(self, i: int, time: Ints, still: Ints, inner: float, outer: float) -> None:
        lp, all_, job = self.lp, self.all, self.inst.jobs[i]
        ways: SlotModes = modes(self.inst, all_, i)
        workers = self._rows(RelaxationRow.WORKERS, i, time)  # (3.2)
        lp.put(workers[:, 0], still, -job.chunks)
        mode = lp.rows(len(time), 1)  # (Fact 1)
        lp.put(mode[:, 0], still, -1.0)
        if ways.inner:
            c, n, m = np.array(ways.inner).T
            x = lp.variables(len(time), len(c))
            lp.put(self.work[i], x, -inner * n)
            lp.put(workers, x, n)
            lp.put(mode, x, 1.0)
            units = n[:, None] * all_.worker[i] + m[:, None] * all_.ps[i]
            self._load(time, x, c, units)
        if ways.outer is None:
            return
        here, count = np.arange(len(all_.number)), all_.number
        apart = lp.variables(len(time), 1)
        lp.put(mode, apart, 1.0)
        w, s = (lp.variables(len(time), len(here)) for _ in range(2))  # of all machines of a class
        lp.put(self.work[i], w, -outer)
        lp.put(workers, w, 1.0)
        for x, max_units, demand in ((w, all_.max_units, all_.worker), (s, all_.max_ps, all_.ps)):
            inside = lp.rows(len(time), len(here))
            lp.put(inside, x, 1.0)
            lp.put(inside, apart, -max_units[:, i] * count)
            self._load(time, x, here, np.repeat(demand[[i]], len(here), axis=0))
        b, big_b = ways.outer
        bandwidth, servers = (
            self._rows(r, i, time) for r in (RelaxationRow.BANDWIDTH, RelaxationRow.SERVERS)
        )
        lp.put(bandwidth, w, b)
        lp.put(bandwidth, s, -big_b)
        lp.put(servers, s, 1.0)
        lp.put(servers, w, -1.0)
        away = self._rows(RelaxationRow.AWAY, i, time, here, times=count)
        lp.put(away, apart, 1.0)
        for x in (w, s):
            share = (here[:, None] == here) / count - 1.0  # (row, class)
            lp.put(away[:, :, None], x[:, None, :], share)

    def _by_link(self, i: int, time: Ints, still: Ints, inner: float, outer: float) -> None:
        lp, all_, job = self.lp, self.all, self.inst.jobs[i]
        here, count = np.arange(len(all_.number)), all_.number
        max_units, max_ps, others = all_.max_units[:, i], all_.max_ps[:, i], int(count.sum()) - 1
        shape = len(time), len(here)
        w, s, holds, alone, near, own = (lp.variables(*shape) for _ in range(6))  # per machine
        lp.put(self.work[i], w, -outer * count)
        lp.put(self.work[i], near, -(inner - outer) * count)
        for x, demand in ((w, all_.worker), (s, all_.ps)):
            self._load(time, x, here, demand[[i]] * count[:, None])

        def row(kind: RelaxationRow, *parts: tuple[Ints, Any], limit: Any = 0.0) -> Ints:
            rows = self._rows(kind, i, time, here, times=count, limit=limit)
            for x, amount in parts:
                lp.put(rows, x, amount)
            return rows

        def total(kind: RelaxationRow, *parts: tuple[Ints, Any]) -> Ints:
            rows = self._rows(kind, i, time)
            for x, amount in parts:
                lp.put(rows, x, amount * count)
            return rows

        row(RelaxationRow.NEAR_CAPACITY, (near, 1.0), (alone, -max_units))
        row(RelaxationRow.NEAR_WORKERS, (near, 1.0), (w, -1.0))
        row(RelaxationRow.ALONE, (alone, 1.0), (holds, -1.0))
        nobody = row(RelaxationRow.NO_OTHER, (alone, others), limit=others)
        lp.put(nobody[:, :, None], holds[:, None, :], count - 1.0 * (here[:, None] == here))
        row(RelaxationRow.LINK_HERE, (w, 1.0), (holds, max_units), (own, -1.0), limit=max_units)
        row(RelaxationRow.HOLDS_SOME, (holds, 1.0), (s, -1.0))
        row(RelaxationRow.HOLDS_NONE, (s, 1.0), (holds, -max_ps))
        for x, limit in ((w, max_units), (holds, np.ones(len(here)))):
            lp.put(lp.rows(*shape, limit=limit), x, 1.0)
        workers = total(RelaxationRow.WORKERS, (w, 1.0))
        lp.put(workers[:, 0], still, -job.chunks)
        total(RelaxationRow.SOME_SERVER, (w, 1.0), (s, -job.chunks))
        total(RelaxationRow.SERVERS, (s, 1.0), (w, -1.0))
        b_in, b_ex = (
            float(exact(b) / exact(job.ps_bandwidth))
            for b in (job.inner_bandwidth, job.outer_bandwidth)
        )
        bandwidth = total(RelaxationRow.BANDWIDTH, (own, b_in), (s, -1.0))
        pairs = count[:, None] * (count - (here[:, None] == here))
        c, p = np.nonzero(pairs)
        if len(c):
            link = lp.variables(len(time), len(c))
            rows = self._rows(
                RelaxationRow.LINK, i, time, c, p, times=pairs[c, p], limit=max_units[c]
            )
            lp.put(rows, w[:, c], 1.0)
            lp.put(rows, holds[:, p], max_units[c])
            lp.put(rows, link, -1.0)
            lp.put(bandwidth, link, b_ex * pairs[c, p])

    def certificate(self, duals: Floats) -> DmlrsCertificate:
        """Return the duals on a grid."""
        prices = duals[self.capacity] / self.each
        bits = BITS + round(math.log2(self.most))  # a demand unit may be tiny
        bits = min(bits, 61 - math.frexp(prices.max(initial=0.0))[1])  # below LARGEST_PRICE

        def whole(x: Any) -> Any:
            return [int(v) for v in np.rint(np.ldexp(x, bits)).tolist()]

        rows = []
        for kind, i, time, classes, seconds, times, numbers in self.named:
            found = np.ldexp(duals[numbers] / times, bits)
            for k, n in zip(*np.nonzero(found >= 1.0), strict=True):
                place = int(kind), i, int(time[k]), int(classes[n]), int(seconds[n])
                rows.append((*place, int(found[k, n])))
        made = RelaxedPrices.of(
            np.rint(np.ldexp(prices, bits)).astype(np.int64),
            work=tuple(whole(duals[self.work] / self.needed)),
            rows=tuple(rows),
        )
        return DmlrsCertificate.root(self.inst, made, bits)
