"""Linear relaxations written in blocks of rows, and their dual values.

HiGHS's interior-point method without crossover solves them (Mehrotra, 1992); a solution counts
only if its primal and dual objective agree. The `relaxation` methods turn the dual values into
certificates.
"""

from __future__ import annotations

import math
from typing import Any, Unpack, cast

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.solvers.linear import (
    HighsOptions,
    MipLimits,
    floats,
    highs,
    load,
    power_of_two,
    row_duals,
    run,
)

TIGHT = 1e-10  # the relative gap of HiGHS's interior point
SAME = 1e-7  # of the optimum: so near its dual must be
NOTHING = 1e-11  # of the optimum: duals of rows with less value are 0, but for rounding


class LinearProgram:
    """Maximize over x >= 0, every row being at most its limit.

    Variables and rows are added in blocks and called by their numbers.
    """

    def __init__(self) -> None:
        self._value: list[Floats] = []
        self._limit: list[Floats] = []
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self._limits: dict[int, float] = {}
        self._variables = self._rows = 0

    def variables(self, *shape: int, value: Any = 0.0) -> Ints:
        """Add variables; return their numbers in an array of that shape."""
        self._value.append(np.broadcast_to(floats(value), shape).ravel())
        first, self._variables = self._variables, self._variables + math.prod(shape)
        return np.arange(first, self._variables).reshape(shape)

    def rows(self, *shape: int, limit: Any = 0.0) -> Ints:
        """Add rows; return their numbers in an array of that shape."""
        self._limit.append(np.broadcast_to(floats(limit), shape).ravel())
        first, self._rows = self._rows, self._rows + math.prod(shape)
        return np.arange(first, self._rows).reshape(shape)

    def limit(self, row: int, limit: float) -> None:
        """Change the limit of a row."""
        self._limits[row] = limit

    def put(self, row: Any, variable: Any, amount: Any) -> None:
        """Add amount * variable to rows; the three are broadcast together."""
        r, v, a = np.broadcast_arrays(row, variable, floats(amount))
        self._entries.append((r.ravel(), v.ravel(), a.ravel()))

    def arrays(self) -> tuple[Floats, Any, Floats, Floats, Floats, Floats]:
        """Return the arguments of `load`, for a minimization."""
        from scipy.sparse import coo_array

        row, variable, amount = map(np.concatenate, zip(*self._entries, strict=True))
        shape = self._rows, self._variables
        matrix = coo_array((amount, (row, variable)), shape=shape).tocsc()
        cost, limit = -np.concatenate(self._value), np.concatenate(self._limit)
        limit[list(self._limits)] = list(self._limits.values())
        ranges = np.zeros(self._variables), np.full(self._variables, np.inf)
        return cost, matrix, np.full(self._rows, -np.inf), limit, *ranges

    def duals(self, **limits: Unpack[MipLimits]) -> tuple[float, Floats] | None:
        """Return the optimum and the duals >= 0 of all rows; None if a limit came first.

        The interior point finds both; its duals need no vertex. A row that adds nothing to the
        dual's value has the dual 0.
        """
        if not self._variables:
            return 0.0, np.zeros(self._rows)
        stop, effort = limits.pop("stop", lambda: False), limits.pop("effort", math.inf)
        cost, matrix, least, limit, *ranges = self.arrays()
        scale = power_of_two(cost)
        h = highs(**cast("HighsOptions", limits))
        for name, value in (
            ("solver", "ipm"),
            ("run_crossover", "off"),
            ("ipm_optimality_tolerance", TIGHT),
        ):
            h.setOptionValue(name, value)
        load(h, cost / scale, matrix, least, limit, *ranges)
        run(h, stop=stop, effort=effort)
        found = _accurate(h, limit)
        if found is None and h.getModelStatus() not in _limits_of(h):
            h.clearSolver()
            h.setOptionValue("presolve", "off")
            run(h, stop=stop, effort=effort)
            found = _accurate(h, limit)
        if found is None:
            return None
        value, duals = found[0] * scale, found[1] * scale
        duals[(limit > 0) & (duals * limit < NOTHING * value)] = 0.0
        return value, duals


def _limits_of(h: Any) -> tuple[Any, ...]:
    """Return the states in which HiGHS was stopped."""
    status = type(h.getModelStatus())
    return status.kTimeLimit, status.kIterationLimit, status.kInterrupt


def _accurate(h: Any, limit: Floats) -> tuple[float, Floats] | None:
    """Return the optimum and duals of the same value; None if HiGHS has none.

    What presolve takes away may come back with wrong duals, which HiGHS may or may not notice.
    """
    if h.getModelStatus() != type(h.getModelStatus()).kOptimal:
        return None
    value, duals = -float(h.getInfo().objective_function_value), np.maximum(-row_duals(h), 0.0)
    apart = abs(float(limit @ duals) - value)
    return (value, duals) if apart <= SAME * max(abs(value), 1.0) else None
