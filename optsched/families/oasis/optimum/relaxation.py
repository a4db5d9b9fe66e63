"""Linear relaxation of the compact program (1)-(13), certified by its dual values.

Weak duality (Dantzig, 1963) turns the dual values into a certificate: `certificate.declared`.
Equal machines share one variable, which changes no optimum: the mean of permuted solutions is a
solution as well (Margot, 2010). "Completes in t" is written as "has not completed before t".
"""

from __future__ import annotations

import math

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.oasis.certificate.check import OasisCertificate, RelaxedPrices, to_fine_grid
from optsched.families.oasis.certificate.declared import ps_share, sides
from optsched.families.oasis.instance import OasisInstance
from optsched.numbers.arrays import Floats
from optsched.scheduling.units import in_units
from optsched.solvers.relaxed import LinearProgram

BITS = 60  # of the grid, for a price that all capacity of a class pays


def _relaxation(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the linear relaxation; report its value."""
    lp, slots, both = LinearProgram(), inst.horizon, sides(inst)
    rows, most = [], 1.0
    for side in both:
        limit = side.capacity * side.number[:, None].astype(float)  # (C, R)
        most = max(most, limit.max(initial=0.0))
        each = np.where(limit > 0, limit, 1.0)  # rows as shares of the capacity
        rows.append((lp.rows(slots, *limit.shape, limit=limit / each), each))
    work = lp.rows(len(inst.jobs))  # (2)
    for i, job in enumerate(inst.jobs):
        if inst.earliest[i] is None:
            continue
        time = np.arange(job.arrival, slots)
        f, share = inst.arrays.utility[i, time], ps_share(inst, i)
        running = lp.variables(len(time), value=f - np.append(0.0, f[:-1]))
        ends, enough, limits = (lp.rows(len(time)) for _ in range(3))
        lp.put(ends, running, 1.0)  # (11)
        lp.put(ends[1:], running[:-1], -1.0)
        lp.limit(int(ends[0]), 1.0)
        for side, (row, each), (a, b) in zip(
            both, rows, ((1.0, share.numerator), (0.0, -share.denominator)), strict=True
        ):
            x = lp.variables(len(time), len(side.number))
            for r in np.flatnonzero(side.demand[i]).tolist():  # (4), (5)
                lp.put(row[time, :, r], x, side.demand[i, r] / each[:, r])
            lp.put(enough[:, None], x, b)  # (6)
            if a:
                lp.put(work[i], x, -1.0 / inst.work[i])
                lp.put(limits[:, None], x, 1.0)  # (8)
        lp.put(limits, running, -job.chunks)
        lp.put(work[i], running[:1], 1.0)
    found = lp.duals(threads=threads, seed=seed, stop=progress.called_off, **progress.limits())
    if found is None:
        return
    value, duals = found
    bits = BITS + round(math.log2(most))  # a demand unit may be tiny
    worker, ps = (to_fine_grid(duals[row] / each, bits) for row, each in rows)
    of_work: Floats = duals[work] / np.array(inst.work)
    prices = RelaxedPrices.of(worker, ps, work=to_fine_grid(of_work, bits).tolist())
    progress.tighten(value, lambda: OasisCertificate.root(inst, prices, bits))


relaxation = in_units(_relaxation)
