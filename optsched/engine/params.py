"""Parameters of methods: a frozen dataclass per component, and a tree of them per family.

The type of a field states its range and its unit, the docstring of its class its meaning. The
components are those of an algorithm portfolio (Gomes and Selman, 2001).
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

from optsched.base import InputError, short
from optsched.files.atomic_io import read_limited
from optsched.problem import Family

Share: TypeAlias = Annotated[float, Field(ge=0, le=1), "share"]
Part: TypeAlias = Annotated[float, Field(gt=0, lt=1), "share"]
Seconds: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False), "s"]
SecondsEach: TypeAlias = Annotated[Seconds, "s per job and slot"]
Amount: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Factor: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False), "factor"]
Number: TypeAlias = Annotated[int, Field(ge=0, lt=2**62)]
Count: TypeAlias = Annotated[int, Field(ge=1, lt=2**62)]

LARGEST = 2**20  # bytes of a file


def read_params(family: Family, given: Any) -> Any:
    """Return the parameters of a family with the values that are given.

    ``given`` maps components to fields; it may also be the path of a TOML file, the family's own
    dataclass, or None.

    Raises
    ------
    InputError
        No such component or field, a wrong type, a value out of range.
    """
    if isinstance(given, str | Path):
        data = read_limited(Path(given), LARGEST)
        try:
            given = tomllib.loads(data.decode())
        except (ValueError, RecursionError) as err:
            raise InputError(f"{given}: is no TOML: {err}") from err
    if family.params is None:
        if given:
            raise InputError(f"params: family {family.name} has no parameters, expected none")
        return None
    if isinstance(given, family.params):
        given = changes(given)
    return _filled(family.params, given or {}, family.name)


def _filled(kind: Any, given: Any, place: str) -> Any:
    """Return a dataclass, or a value of a type, with what is given."""
    if not is_dataclass(kind):
        try:  # as JSON: an array may be a tuple, and 1 a fraction, but true is no number
            return TypeAdapter(kind).validate_json(json.dumps(given), strict=True)
        except (TypeError, ValidationError) as err:
            why = "expected a number, true, false or an array"
            if isinstance(err, ValidationError):
                first = err.errors()[0]
                why = "".join(f"item {k}: " for k in first["loc"]) + first["msg"]
            raise InputError(f"params: {place} is {short(given)}; {why}") from err
    if not isinstance(given, Mapping):
        raise InputError(f"params: {place} is {short(given)}, expected a section of fields")
    known = get_type_hints(kind, include_extras=True)
    for name in given:
        if name not in known:
            what = "section" if is_dataclass(next(iter(known.values()))) else "field"
            raise InputError(
                f"params: {place} has no {what} {name!r}, expected one of: {', '.join(known)}"
            )
    values = {n: _filled(known[n], value, f"{place}.{n}") for n, value in given.items()}
    made: Any = kind
    return made(**values)


def changes(params: Any) -> dict[str, Any]:
    """Return the values that differ from the defaults, by component, as JSON has them.

    >>> from optsched.families.rigid.optimum.params import AutoParams, Params
    >>> changes(Params(auto=AutoParams(alphas=(0.5,)))), changes(None)
    ({'auto': {'alphas': [0.5]}}, {})
    """
    found: dict[str, Any] = {}
    for f in fields(params) if params is not None else ():
        value = getattr(params, f.name)
        if value != f.default:
            found[f.name] = changes(value) if is_dataclass(value) else json.loads(json.dumps(value))
    return found


def described(kind: Any, place: str = "") -> Iterator[dict[str, Any]]:
    """Yield component, field, default, unit and meaning of every field of a tree."""
    meaning: dict[str, str] = {}
    names: list[str] = []
    docs = [inspect.getdoc(k) or "" for k in reversed(kind.__mro__[:-1])]
    for line in "\n".join(docs).splitlines():
        if head := re.fullmatch(r"(\w+(?:, \w+)*) : .*", line):
            names = head[1].split(", ")
            meaning |= dict.fromkeys(names, "")
        elif line.startswith("    "):
            meaning |= {n: f"{meaning.get(n, '')} {line.strip()}".strip() for n in names}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if is_dataclass(hint):
            yield from described(hint, name)
            continue
        types = (hint, *get_args(hint))  # the fields of a tuple have one unit
        units = [x for t in types for x in getattr(t, "__metadata__", ()) if isinstance(x, str)]
        yield {
            "component": place,
            "field": name,
            "default": getattr(kind, name),
            "unit": units[-1] if units else "",
            "meaning": meaning[name],
        }
