"""Measure the gap between online schedulers and the offline optimum.

Names listed here are imported on first use: `import optsched` takes no time.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False  # `typing` alone would take longer to import than this
if TYPE_CHECKING:
    from optsched.adversarial.advice import advice
    from optsched.core import Optimum, RatioReport, Run, compare, load_trace, relax, simulate, solve
    from optsched.declared.events import policy
    from optsched.declared.problem import problem
    from optsched.declared.readers import online
    from optsched.experiments.campaign import Campaign, campaign
    from optsched.experiments.foresight import foresight
    from optsched.experiments.whatif import whatif
    from optsched.files.format import load_instance, save_instance
    from optsched.minimax.game import minimax
    from optsched.minimax.menu import menu
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
    from optsched.results.certify import certify
    from optsched.traces import read_jobs, read_machines

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
    "advice",
    "campaign",
    "certify",
    "compare",
    "foresight",
    "get_family",
    "load_instance",
    "load_trace",
    "menu",
    "minimax",
    "online",
    "policy",
    "problem",
    "read_jobs",
    "read_machines",
    "relax",
    "report",
    "save_instance",
    "simulate",
    "solve",
    "statistic",
    "whatif",
]

_HOMES = {
    "adversarial.advice": ("advice",),
    "experiments.campaign": ("Campaign", "campaign"),
    "core": (
        *("Optimum", "RatioReport", "Run", "compare", "load_trace", "relax", "simulate", "solve"),
    ),
    "declared.events": ("policy",),
    "declared.readers": ("online",),
    "experiments.foresight": ("foresight",),
    "experiments.whatif": ("whatif",),
    "files.format": ("load_instance", "save_instance"),
    "minimax.game": ("minimax",),
    "minimax.menu": ("menu",),
    "policies.knowledge": ("statistic",),
    "pages.page": ("report",),
    "results.certify": ("certify",),
    "traces": ("read_jobs", "read_machines"),
    "problem": (
        *("InputError", "Instance", "Policy", "PolicyError", "Schedule", "Verdict", "get_family"),
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib import metadata

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


_MOVED = {name: f"core.{name}" for name in ("inputs", "intervals", "optimum", "ratios")} | {
    "campaigns": "experiments",
    "files.disk": "files.atomic_io",
    "files.envelope": "files.format",
    "hunts": "adversarial",
    "hunts.hunt": "adversarial.worst_case",
    "policies.plugins": "policies.loader",
    "reports": "core.reports",
    "results.reuse": "results.load",
    "sealing": "sandbox",
    "simulation": "core.simulation",
}

_PACKAGES = {name.partition(".")[0] for name in _MOVED}


class _Moved:
    """Finds modules under their old names: `optsched.ratios` is `optsched.core.ratios`."""

    @staticmethod
    def new(name: str) -> str:
        """Return today's name of a module of the package, if it had another one, else ""."""
        top, _, old = name.partition(".")
        package, _, part = old.partition(".")
        if top != "optsched" or package not in _PACKAGES:
            return ""
        if old in _MOVED:
            return f"optsched.{_MOVED[old]}"
        return f"optsched.{_MOVED[package]}.{part}" if part and package in _MOVED else ""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(name, self) if self.new(name) else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> object:
        import warnings  # which takes longer to import than all else here

        new = self.new(spec.name)
        warnings.warn(f"{spec.name} is deprecated, use {new}", DeprecationWarning, stacklevel=2)
        return import_module(new)

    def exec_module(self, module: object) -> None:
        """Do nothing: the module has run under its new name."""


sys.meta_path.insert(0, _Moved())  # before a moved package finds its parts a second time
