"""The best possible online algorithm on a finite set of instances, with a proof.

The package can be called: ``optsched.minimax(instances)`` is `optsched.minimax.game.minimax`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """The type of this package, which has the name of the function."""

    def __call__(self, instances: Any) -> Any:
        return import_module("optsched.minimax.game").minimax(instances)


sys.modules[__name__].__class__ = _Callable
