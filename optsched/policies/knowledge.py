"""Prior knowledge of a policy: named by it, computed by the family, stored with its run.

A name may have parameters: ``ln_L1(floor=0.05)``. The prior of a run holds the value under the name
as it was requested, so that the file states what was known.

Statistics of your own are the only other door, and a visible one: a registered function, requested
as ``own:NAME``, which every table and file shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from optsched.files.format import must_be_printable, plain
from optsched.problem import Family, InputError, Instance, get_family

OWN = "own:"
LONGEST, DEEPEST = 1 << 20, 100  # characters of a value, and lists within lists
PRIOR_NAME = re.compile(r"(?P<name>[\w-]+)(?:\((?P<options>[^()]*)\))?")

Statistic: TypeAlias = Callable[[Any], Any]

_statistics: dict[tuple[str, str], Statistic] = {}


def prior_name(name: str, **options: object) -> str:
    """Return the name of a piece of knowledge with its parameters.

    >>> prior_name("ln_L1"), prior_name("ln_L1", floor=0.05), prior_name("ln_U", price="printed")
    ('ln_L1', 'ln_L1(floor=0.05)', 'ln_U(price=printed)')
    """
    inside = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{name}({inside})" if inside else name


asked = prior_name  # its earlier name


def has_empty_brackets(name: str) -> bool:
    """Return whether a piece of knowledge has brackets with no parameters in them.

    >>> has_empty_brackets("future"), has_empty_brackets("future( , )")
    (False, True)
    """
    match = PRIOR_NAME.fullmatch(name)
    return match is not None and not (match["options"] or "").strip(" ,") and name[-1] == ")"


def statistic(family: str, name: str) -> Callable[[Statistic], Statistic]:
    """Register a function of an instance, for policies that request ``own:NAME``.

    It is handed a copy of the instance, and returns what JSON can hold.

    Raises
    ------
    InputError
        No such family, or a name with other signs than letters, digits, "_" and "-".

    Examples
    --------
    >>> @statistic("oasis", "number of jobs in doctest".replace(" ", "-"))
    ... def number(instance):
    ...     return len(instance.jobs)
    """
    get_family(family)
    if not re.fullmatch(r"[\w-]+", name):
        raise InputError(f"statistic {name!r}: expected letters, digits, '_' and '-'")

    def register(function: Statistic) -> Statistic:
        _statistics[family, name] = function
        return function

    return register


def own(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of ``names`` that are statistics of your own."""
    return tuple(name for name in names if name.startswith(OWN))


def compute(
    family: Family, names: Iterable[str], instance_of: Callable[[], Instance], policy: str
) -> dict[str, Any]:
    """Return a policy's prior knowledge.

    Parameters
    ----------
    family : Family
    names : iterable of str
        What the policy requests.
    instance_of : callable
        Makes the instance that is looked at; an external statistic gets a copy of its own.
    policy : str
        The name of the policy, for messages.

    Raises
    ------
    InputError
        A name that is not published, or parameters that it does not have.
    """
    names = list(names)
    looked_at = instance_of() if len(names) > len(own(names)) else None
    known = {}
    for name in names:
        if name.startswith(OWN):
            value = _registered(family, name, policy)(instance_of())
        else:
            value = _published(family, name, policy, looked_at)
        known[name] = as_data(value, f"policy {policy}: {name}")
    return known


def as_data(value: Any, what: str) -> Any:
    """Return a copy of ``value`` that is nothing but numbers, words, lists and mappings.

    Raises
    ------
    InputError
        It holds something else, such as an object that leads to an instance, or what could not be
        read from a file again.
    """
    try:
        text = json.dumps(plain(value), allow_nan=False, default=_listed)
        if len(text) > LONGEST:
            raise ValueError(f"{len(text)} characters, expected at most {LONGEST}")
        made = json.loads(text)
        must_be_printable(made)
        if _nesting(made) > DEEPEST:
            raise ValueError(f"lists and objects are nested more than {DEEPEST} deep")
    except (TypeError, ValueError, RecursionError) as err:
        raise InputError(f"{what} is no data that JSON can hold: {err}") from err
    return made


def checked_prior(prior: Mapping[str, Any], names: Iterable[str], policy: str) -> dict[str, Any]:
    """Return a copy of a prior that was handed in, if it has exactly what the policy requests."""
    names = list(names)
    if set(prior) != set(names):
        raise InputError(
            f"policy {policy}: the prior has {', '.join(map(str, prior)) or 'nothing'}, "
            f"expected {', '.join(names) or 'nothing'}"
        )
    return {name: as_data(prior[name], f"policy {policy}: {name}") for name in names}


def _nesting(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_nesting, inner), default=0)


def _listed(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no data")


def _registered(family: Family, name: str, policy: str) -> Statistic:
    found = _statistics.get((family.name, name.removeprefix(OWN)))
    if found is None:
        known = ", ".join(f"{OWN}{n}" for f, n in _statistics if f == family.name) or "none is"
        raise InputError(
            f"policy {policy} requests {name!r}, which is not registered for family "
            f"{family.name}; registered: {known}"
        )
    return found


def _published(family: Family, name: str, policy: str, instance: Any) -> Any:
    match = PRIOR_NAME.fullmatch(name)
    if match is None or match["name"] not in family.knowledge:
        known = ", ".join(family.knowledge) or "nothing"
        raise InputError(
            f"policy {policy} requests {name!r}, but family {family.name} publishes: {known}"
        )
    try:
        return family.knowledge[match["name"]](instance, **_options(match["options"] or ""))
    except (TypeError, ValueError) as err:
        if isinstance(err, InputError):
            raise
        raise InputError(f"policy {policy} requests {name!r}: {err}") from err


def _options(text: str) -> dict[str, Any]:
    """Read ``floor=0.05, price=printed``."""
    options = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, sign, value = part.partition("=")
        if not sign:
            raise InputError(f"parameter {part!r}: expected NAME=VALUE")
        try:
            options[key.strip()] = json.loads(value)
        except ValueError:
            options[key.strip()] = value.strip()
    return options
