"""HiGHS on the program by class of machines: what `oasis_fig5.py` compares with."""

from __future__ import annotations

import time

from bench import Row, finite

from optsched.engine.interval import CLOSED
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.search.by_class import ByClass


def measure(inst: OasisInstance, *, time_limit: float, threads: int) -> Row:
    """Solve one instance; the time includes building, and not whether it packs."""
    began = time.perf_counter()
    program = ByClass(inst)
    built = time.perf_counter() - began
    left = max(0.0, time_limit - built)
    result = program.best(threads=threads, time_limit=left, gap=CLOSED)
    seconds = time.perf_counter() - began
    value = None if result.objective is None else -result.objective
    bound = None if result.bound is None else finite(-result.bound)
    return {
        "status": "optimal" if result.status == "optimal" else "feasible",
        "value": value,
        "bound": bound,
        "seconds": seconds,
        "packs": result.x is not None and program.schedule(result.x) is not None,
    }
