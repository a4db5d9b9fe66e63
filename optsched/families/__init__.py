"""The problems that come with the package, one folder each."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def later(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a module that loads slowly; the module is imported at the first call."""

    def call(*given: Any, **more: Any) -> Any:
        return getattr(import_module(module), name)(*given, **more)

    return call
