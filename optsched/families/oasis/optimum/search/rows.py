"""A mixed-integer program over jobs, slots and machines, built row by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np
from scipy.sparse import coo_array

from optsched import solvers
from optsched.process import effort
from optsched.solvers import MipLimits, MipResult

WRITING = 10  # numbers that are handled for an entry of the matrix

Key = tuple[Any, ...]


class Rows:
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
        effort.spend(effort.HANDLED * WRITING * len(self.entries))
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
