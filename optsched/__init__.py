"""How far an online scheduler is from the best that hindsight allows.

What is listed here is imported when it is first asked for: `import optsched` takes no time.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` alone would take longer to import than this
if TYPE_CHECKING:
    from optsched.campaigns.campaign import Campaign, campaign
    from optsched.declared.problem import problem
    from optsched.declared.readers import online
    from optsched.files.envelope import load_instance, save_instance
    from optsched.optimum import Optimum, relax, solve
    from optsched.pages.page import report
    from optsched.policies.knowledge import statistic
    from optsched.problem import (
        InputError,
        Instance,
        Policy,
        PolicyError,
        Schedule,
        Verdict,
        get_family,
    )
    from optsched.ratios import compare
    from optsched.reports import RatioReport
    from optsched.simulation import Run, simulate

    __version__: str

__all__ = [
    "Campaign",
    "InputError",
    "Instance",
    "Optimum",
    "Policy",
    "PolicyError",
    "RatioReport",
    "Run",
    "Schedule",
    "Verdict",
    "campaign",
    "compare",
    "get_family",
    "load_instance",
    "online",
    "problem",
    "relax",
    "report",
    "save_instance",
    "simulate",
    "solve",
    "statistic",
]

_HOMES = {
    "campaigns.campaign": ("Campaign", "campaign"),
    "declared.readers": ("online",),
    "files.envelope": ("load_instance", "save_instance"),
    "policies.knowledge": ("statistic",),
    "optimum": ("Optimum", "relax", "solve"),
    "pages.page": ("report",),
    "problem": (
        *("InputError", "Instance", "Policy", "PolicyError", "Schedule", "Verdict", "get_family"),
    ),
    "ratios": ("compare",),
    "reports": ("RatioReport",),
    "simulation": ("Run", "simulate"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    from importlib import import_module, metadata

    if name == "__version__":
        value: object = metadata.version("optsched")
    elif name == "problem":  # a module that can be called, since it is older than the function
        value = import_module("optsched.problem")
    elif name in _HOME:
        value = getattr(import_module(f"optsched.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'optsched' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
