"""A declared problem as arrays, as solvers take them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from optsched.declared.model import Declared
from optsched.numbers.arrays import Floats


class Arrays(NamedTuple):
    """A minimization as HiGHS takes it."""

    cost: Floats
    rows: Any
    low: Floats
    high: Floats
    lower: Floats
    upper: Floats
    integer: Any


def arrays(inst: Declared) -> Arrays:
    """Return the program as arrays."""
    sign = 1.0 if inst.sense == "min" else -1.0
    starts = np.cumsum([0, *(len(r.entries) for r in inst.rows)])
    entries = [entry for r in inst.rows for entry in r.entries]
    data = np.array([a for _, a in entries], dtype=float)
    places = np.array([j for j, _ in entries], dtype=np.int64)
    shape = (len(inst.rows), len(inst.columns))
    return Arrays(
        sign * np.array([c.cost for c in inst.columns], dtype=float),
        csr_array((data, places, starts), shape=shape),
        np.array([r.lower for r in inst.rows], dtype=float),
        np.array([r.upper for r in inst.rows], dtype=float),
        np.array([c.lower for c in inst.columns], dtype=float),
        np.array([c.upper for c in inst.columns], dtype=float),
        np.array([c.integer for c in inst.columns], dtype=bool),
    )
