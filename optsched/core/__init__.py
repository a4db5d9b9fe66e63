"""Solve, simulate, compare: the operations on an instance of any family."""

from optsched.base import renamed_names
from optsched.core.inputs import is_instance, load_trace, open_input, recorded
from optsched.core.intervals import MeanRatio, mean_ratio
from optsched.core.optimum import Optimum, SolveOptions, Start, relax, solve
from optsched.core.ratios import Against, compare
from optsched.core.reports import (
    EvaluatedPolicy,
    Failed,
    Ratio,
    RatioReport,
    meaning,
    measure_of,
    quotient,
)
from optsched.core.simulation import Run, simulate
from optsched.engine.interval import shown_gap
from optsched.policies.loader import turns

__all__ = [
    "Against",
    "EvaluatedPolicy",
    "Failed",
    "MeanRatio",
    "Optimum",
    "Ratio",
    "RatioReport",
    "Run",
    "SolveOptions",
    "Start",
    "compare",
    "is_instance",
    "load_trace",
    "mean_ratio",
    "meaning",
    "measure_of",
    "open_input",
    "quotient",
    "recorded",
    "relax",
    "shown_gap",
    "simulate",
    "solve",
    "turns",
]
__getattr__ = renamed_names(__name__, Search="SolveOptions", Judged="EvaluatedPolicy")
