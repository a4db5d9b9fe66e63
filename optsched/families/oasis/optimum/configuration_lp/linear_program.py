"""Configuration LP over whole slots, solved by column generation, with some decisions open.

    max   sum f_i(c) x_ic
    s.t.  s_ib + sum_{b < t <= c} sum_p n_pi z_tp  >=  W_i x_ic + s_ic   for all i, c after b
          sum_p z_tp <= 1                                                for all t
          sum_c x_ic <= 1                                                for all i
          s, x, z >= 0

x_ic states that job i completes in slot c, one of few, of which b is the one before; s_ic is work
that is done by then, beyond what is required; z_tp states that the machines host packing p in slot
t, with n_pi workers of job i. Packings are columns (Gilmore and Gomory, 1961). `SlotPricing` prices
them at smoothed dual values of work (Wentges, 1997). `settle` is a diving heuristic that fixes
packings slot by slot (Sadykov et al., 2019). The right side is slightly more than W_i, since at the
end every slot has one packing.

This is a primal heuristic. The Dantzig-Wolfe master problem of the dual bound is `engine.colgen`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from optsched import solvers
from optsched.families.oasis.optimum.configuration_lp.pricing import PackedSlot, SlotPricing
from optsched.numbers.arrays import Floats, Ints

MARGIN = 0.008  # of a job's work
OPTIONS: Mapping[str, str | int | float] = {
    # rows are shares of work and of slots, which need no scaling; runs begin where one ended
    "presolve": "off",
    "simplex_scale_strategy": 0,
    "dual_simplex_cost_perturbation_multiplier": 0.0,
    "primal_simplex_bound_perturbation_multiplier": 0.0,
}
USED = 1e-9  # of a packing: less is none


class LpPoint(NamedTuple):
    """A solution."""

    value: float
    x: Floats  # (options,) of all jobs, see `ConfigurationLp.option`
    z: Floats  # (packings,)


class ConfigurationLp:
    """The program; packings come and go, jobs and completions are opened and closed.

    Parameters
    ----------
    slots : SlotPricing
    options : mapping
        Job -> slots in which it may complete, ascending; other jobs stay out.
    """

    def __init__(self, slots: SlotPricing, options: Mapping[int, Ints]) -> None:
        self.slots, self.options = slots, options
        inst, jobs = slots.blocks.inst, slots.blocks.jobs
        self.work = np.array(inst.work, float)
        self.row, self.last = {}, np.full(jobs, -1, np.int64)
        rows = 0
        for i, c in options.items():
            self.row[i] = rows + np.arange(c.size)  # also the numbers of x_ic
            rows += c.size
        self.count = rows
        # the row of (i, c) in which work in a slot counts; -1 after the last option
        self.place = np.full((jobs, slots.blocks.slots), -1, np.int64)
        for i, c in options.items():
            for row, last in zip(self.row[i][::-1].tolist(), c[::-1].tolist(), strict=True):
                self.place[i, : last + 1] = row
        self.of_job = {i: rows + slots.blocks.slots + k for k, i in enumerate(options)}
        self.every = np.arange(slots.blocks.slots)
        self.packings: list[PackedSlot] = []
        self.known: set[tuple[int, bytes, bytes]] = set()
        self.lowest = dict.fromkeys(options, 0)  # the first option that is open; beyond: none is
        self.h = solvers.highs()
        for name, value in OPTIONS.items():
            self.h.setOptionValue(name, value)
        self.moved = False  # since the last solution: open ones
        self.first = 0  # column of a packing
        self.steady: Floats | None = None  # prices of work at which slots were packed last
        self._write()
        for i in options:
            self.open(i)

    def _write(self) -> None:
        utility = self.slots.blocks.arrays.utility
        number = self.count + self.slots.blocks.slots + len(self.options)
        upper = np.ones(number)
        upper[: self.count] = 0.0
        none = np.empty(0, np.int32)
        self.h.addRows(number, np.full(number, -np.inf), upper, 0, none, none, np.empty(0))
        for i, c in self.options.items():
            for k, row in enumerate(self.row[i].tolist()):
                rows = np.array([row, self.of_job[i]], np.int32)
                amounts = np.array([1.0 + MARGIN, 1.0])
                self.h.addCol(-float(utility[i, c[k]]), 0.0, 1.0, rows.size, rows, amounts)
                assert self.h.getNumCol() == row + 1
        for i in self.options:
            # times what a job earns: what it costs to lack all of its work
            dear = 3.0 * float(utility[i].max())
            for row in self.row[i].tolist():  # work that is missing
                index = np.array([row], np.int32)
                self.h.addCol(dear, 0.0, np.inf, 1, index, np.array([-1.0]))
        for of_job in self.row.values():
            for row in of_job[:-1].tolist():  # work that is done before it has to be
                rows = np.array([row, row + 1], np.int32)
                self.h.addCol(0.0, 0.0, np.inf, rows.size, rows, np.array([1.0, -1.0]))
        self.first = self.h.getNumCol()

    def add(self, packings: Sequence[PackedSlot]) -> None:
        """Add packings that are new."""
        index: list[Ints] = []
        value: list[Floats] = []
        fresh = []
        for p in packings:
            name = p.slot, p.jobs.tobytes(), p.number.tobytes()
            if name in self.known:
                continue
            self.known.add(name)
            fresh.append(p)
            rows = self.place[p.jobs, p.slot]
            some = (rows >= 0) & (p.number > 0)
            index.append(np.append(rows[some], self.count + p.slot))
            value.append(np.append(-p.number[some] / self.work[p.jobs[some]], 1.0))
        if not fresh:
            return
        n, starts = len(fresh), np.cumsum([0, *(x.size for x in index)])
        self.h.addCols(
            n,
            np.zeros(n),
            np.zeros(n),
            np.full(n, np.inf),
            int(starts[-1]),
            starts[:-1].astype(np.int32),
            np.concatenate(index).astype(np.int32),
            np.concatenate(value),
        )
        self.packings += fresh

    def solve(self) -> tuple[LpPoint, Floats]:
        """Return a solution, and the price of work of every job and slot, shape (J, T)."""
        # dual simplex (1) after decisions, which only change bounds; primal (4) after new columns
        self.h.setOptionValue("simplex_strategy", 1 if self.moved else 4)
        self.moved = False
        solvers.rerun(self.h)
        duals = np.maximum(-solvers.row_duals(self.h), 0.0)
        x = np.array(self.h.getSolution().col_value)
        price = np.where(self.place >= 0, duals[self.place], 0.0) / self.work[:, None]
        value = -float(self.h.getInfo().objective_function_value)
        return LpPoint(value, x[: self.count], x[self.first :]), price

    def improve(self, rounds: int) -> LpPoint:
        """Add the best packings at the prices, some times; return the solution."""
        for _ in range(rounds):
            point, price = self.solve()
            if self.steady is not None:
                goes_on = (self.steady > 0) & (price > 0)  # else the job was not open, or is not
                # of the prices at which slots are packed: the part of those before
                price = np.where(goes_on, 0.5 * self.steady + (1 - 0.5) * price, price)
            self.steady = price
            self.add(self.slots.price_some(self.every, price, self.last, self.used(point)))
        return self.solve()[0]

    def used(self, point: LpPoint) -> dict[int, PackedSlot]:
        """Return the packing of every slot that is used most; none where none is used."""
        order = np.argsort(point.z, kind="stable")
        some = order[point.z[order] > USED]
        return {self.packings[k].slot: self.packings[k] for k in some.tolist()}

    def settle(self, point: LpPoint) -> LpPoint:
        """Give one slot after the other its packing, and the others new ones; return the end."""
        first, settled = self.first, np.zeros(self.slots.blocks.slots, bool)
        columns: list[int] = []
        while not settled.all():
            of = np.array([p.slot for p in self.packings])
            share = np.zeros(settled.size)
            np.maximum.at(share, of, point.z)
            settled[share <= USED] = True  # nothing runs there
            open_slots = np.flatnonzero(~settled)
            if open_slots.size == 0:
                break
            ranked = open_slots[np.argsort(-share[open_slots], kind="stable")]
            # a fifth of the open slots, or all that have a packing with a share above 0.99
            number = max(int((share[ranked] > 0.99).sum()), -(-ranked.size // 5))
            for t in ranked[:number].tolist():
                here = np.flatnonzero(of == t)
                k = int(here[point.z[here].argmax()])
                self.h.changeColBounds(first + k, 1.0, 1.0)
                columns.append(k)
                settled[t] = True
            self.moved = True
            now, price = self.solve()
            known = self.used(now)
            self.add(self.slots.price_some(np.flatnonzero(~settled), price, self.last, known))
            point, _ = self.solve()
        for k in columns:
            self.h.changeColBounds(first + k, 0.0, np.inf)
        self.moved = True
        return point

    def open(self, i: int, lowest: int = 0) -> None:
        """Let job i complete in its option ``lowest`` or later, or stay out."""
        self.lowest[i], self.moved = lowest, True
        for k, col in enumerate(self.row[i].tolist()):
            self.h.changeColBounds(col, 0.0, 1.0 if k >= lowest else 0.0)
        out = lowest == self.row[i].size
        self.last[i] = -1 if out else self.options[i][-1]

    def close(self, i: int) -> None:
        """Keep job i out."""
        self.open(i, self.row[i].size)

    def closed(self, i: int) -> bool:
        """Whether job i stays out."""
        return self.lowest[i] == self.row[i].size

    def drop_columns(self, most: int) -> None:
        """Keep at most this many packings: those in use, and those that are nearest to it."""
        _ = self.solve()
        solution, first = self.h.getSolution(), self.first
        z, cost = (np.array(a)[first:] for a in (solution.col_value, solution.col_dual))
        order = np.argsort(np.where(z > USED, -np.inf, cost), kind="stable")
        gone = np.sort(order[most:])
        self.h.deleteCols(gone.size, (gone + first).astype(np.int32))
        for k in gone.tolist():
            p = self.packings[k]
            self.known.discard((p.slot, p.jobs.tobytes(), p.number.tobytes()))
        left = set(order[:most].tolist())
        self.packings = [p for k, p in enumerate(self.packings) if k in left]
