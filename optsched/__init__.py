"""How far an online scheduler is from the best that hindsight allows."""

from optsched.files import load_instance, save_instance
from optsched.knowledge import statistic
from optsched.optimum import Optimum, solve
from optsched.problem import (
    InputError,
    Instance,
    Policy,
    PolicyError,
    Schedule,
    Verdict,
    get_family,
)
from optsched.simulation import Run, simulate

__all__ = [
    "InputError",
    "Instance",
    "Optimum",
    "Policy",
    "PolicyError",
    "Run",
    "Schedule",
    "Verdict",
    "get_family",
    "load_instance",
    "save_instance",
    "simulate",
    "solve",
    "statistic",
]
