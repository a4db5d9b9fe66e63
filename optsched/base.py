"""Basics of the package: errors, immutable data, deprecated names."""

from __future__ import annotations

import functools
import re
import reprlib
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ParamSpec, Self, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class InputError(ValueError):
    """The input is wrong; the message states what is wrong, where, and what would be right."""


class PolicyError(InputError, RuntimeError):
    """A policy from outside failed, broke the model or meddled; the message names it."""


UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f]"
)
"""Unicode's categories Cc, Cf, Zl, Zp and Cs, which Python and JavaScript know by version."""


def unprintable(text: str) -> str | None:
    """Return the first character that cannot be shown as it is, None if there is none."""
    found = None if text.isprintable() else UNPRINTABLE.search(text)
    return None if found is None else found.group()


def short(value: Any) -> str:
    r"""Write a value from a file for a message: its beginning, and nothing that a terminal obeys.

    >>> short("x" * 100), short("\x1b[31m")
    ("'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...", "'\\x1b[31m'")
    """
    if isinstance(value, str):
        shown = repr(value[:60])
    else:
        shown = reprlib.repr(value) if isinstance(value, list | dict | tuple) else repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def shown_as_it_is(text: str) -> str:
    """Return ``text``; raise ValueError if it cannot be shown: no file may hold it."""
    if unprintable(text) is not None:
        raise ValueError(
            f"{short(text)} holds a control character, expected text that can be shown"
        )
    return text


Text: TypeAlias = Annotated[str, AfterValidator(shown_as_it_is)]
"""Text of a name in an instance: printable, so that files reproduce it exactly."""
Label: TypeAlias = Annotated[str, Field(max_length=1000), AfterValidator(shown_as_it_is)]
"""Text that pages and figures show whole."""


class Frozen(BaseModel):
    """Data that is checked once, when it is made, and never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy that shares nothing that was computed if there is an ``update``."""
        made = super().model_copy(update=update, deep=deep)
        for name in (made.__dict__.keys() - type(self).model_fields.keys()) if update else ():
            del made.__dict__[name]
        return made


def renamed_names(module: str, **names: str) -> Callable[[str], object]:
    """Return a `__getattr__` that finds the contents of a module under old names: ``Old="New"``."""

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
                name = function.__qualname__.removesuffix(".__init__")
                text = f"{name}({old}=) is deprecated, use {names[old]}="
                warnings.warn(text, DeprecationWarning, stacklevel=2)
                given[names[old]] = given.pop(old)
            return function(*args, **given)

        return wrapper

    return decorated
