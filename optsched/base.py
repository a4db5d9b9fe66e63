"""What all of the package builds on: errors, and data that never change."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from pydantic import BaseModel, ConfigDict

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class InputError(ValueError):
    """The input is wrong; the message states what is wrong, where, and what would be right."""


class PolicyError(InputError, RuntimeError):
    """A policy from outside failed, broke the model or meddled; the message names it."""


class Frozen(BaseModel):
    """Data that is checked once, when it is made, and never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def renamed_names(module: str, **names: str) -> Callable[[str], object]:
    """Return a `__getattr__` that finds what a module had under old names: ``Old="New"``."""

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        text = f"{module}.{name} is deprecated, use {names[name]}"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return find


def renamed_arguments(
    **names: str,
) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Accept arguments also under their old names, with a warning: ``old="new"``."""

    def decorated(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        @functools.wraps(function)
        def wrapper(*args: Parameters.args, **given: Parameters.kwargs) -> Returned:
            for old in names.keys() & given.keys():
                text = f"{function.__name__}({old}=) is deprecated, use {names[old]}="
                warnings.warn(text, DeprecationWarning, stacklevel=2)
                given[names[old]] = given.pop(old)
            return function(*args, **given)

        return wrapper

    return decorated
