"""A decomposition whose columns are written down."""

import numpy as np
from scipy.optimize import linprog

from optsched.engine.colgen import Column, Pricing


class Listed:
    """A decomposition whose blocks have a short list of columns, looked through one by one."""

    def __init__(self, seed, rows=6, blocks=5, each=30, equality=False):
        draw = np.random.default_rng(seed)
        self.rhs = draw.integers(2, 9, rows).astype(float)
        self.copies = draw.integers(1, 4, blocks).astype(float)
        self.equality = np.zeros(blocks, bool)
        self.penalty = 1000.0
        if equality:
            self.equality[:2] = True
            self.copies[:2] = 1
        self.columns = []
        for b in range(blocks):
            for _ in range(each):
                used = np.flatnonzero(draw.random(rows) < 0.5)
                usage = draw.integers(1, 4, used.size).astype(float)
                self.columns.append(Column(b, float(draw.integers(1, 20)), used, usage))
            if equality:  # so that one column of every block always fits
                self.columns.append(Column(b, -5.0, np.empty(0, np.int64), np.empty(0)))
        self.asked = 0

    def price(self, prices, duals):
        self.asked += 1
        best, columns = np.full(self.copies.size, -np.inf), []
        for b in range(self.copies.size):
            mine = [c for c in self.columns if c.block == b]
            payoffs = [c.value - prices[c.rows] @ c.usage for c in mine]
            k = int(np.argmax(payoffs))
            best[b] = payoffs[k]
            if payoffs[k] > duals[b]:
                columns.append(mine[k])
        return Pricing(best, columns)

    def whole(self):
        """Return the value of the program with all columns."""
        rows, blocks = self.rhs.size, self.copies.size
        usage = np.zeros((rows, len(self.columns)))
        member = np.zeros((blocks, len(self.columns)))
        for k, c in enumerate(self.columns):
            usage[c.rows, k] = c.usage
            member[c.block, k] = 1
        free = ~self.equality
        found = linprog(
            [-c.value for c in self.columns],
            A_ub=np.vstack([usage, member[free]]),
            b_ub=np.concatenate([self.rhs, self.copies[free]]),
            A_eq=member[self.equality] if self.equality.any() else None,
            b_eq=self.copies[self.equality] if self.equality.any() else None,
        )
        assert found.status == 0
        return -found.fun
