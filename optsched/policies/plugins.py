"""Policies found by name: a family's own, entry points, and modules beside the command."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, get_args

from optsched.policies.trouble import explain
from optsched.problem import Family, Information, InputError, Policy, PolicyError


def get_policy(family: Family, name: str, **parameters: Any) -> Policy:
    """Return a new policy: one of the family's own, an entry point, or ``module:Class``.

    It is made with the ``parameters``.

    Raises
    ------
    InputError
        No such policy, or its module cannot be imported.
    PolicyError
        Its own code fails.
    """
    if name in family.policies:
        return _with(family.policies[name], name, parameters)
    known_or_refused(family, name)
    plugged = {e.name: e for e in entry_points(group="optsched.policies")}
    if name in plugged:
        with _explained(f"policy {name!r}"):
            factory = plugged[name].load()
        return _made(factory, name, parameters)
    module, _, attribute = name.partition(":")
    found = import_beside(module, f"policy {name!r}")
    if not hasattr(found, attribute):
        raise InputError(
            f"policy {name!r} cannot be loaded: module {module!r} has no {attribute!r}"
        )
    return _made(getattr(found, attribute), name, parameters)


def known_or_refused(family: Family, policy: Policy | str) -> None:
    """Refuse a name that no policy has, before anything runs.

    Raises
    ------
    InputError
        No such policy.
    """
    if isinstance(policy, str) and ":" not in policy and policy not in family.policies:
        plugged = [e.name for e in entry_points(group="optsched.policies")]
        if policy not in plugged:
            known = ", ".join([*family.policies, *plugged])
            raise InputError(
                f"unknown policy {policy!r}, expected one of: {known}, or MODULE:CLASS"
            )


def import_beside(module: str, what: str) -> Any:
    """Import a module that is installed, or lies in the folder in which the command is run.

    Raises
    ------
    InputError
        It cannot be imported; the message begins with ``what``.
    PolicyError
        Its own code fails.
    """
    if not all(part.isidentifier() for part in module.split(".")):
        raise InputError(f"{what} cannot be loaded: {module!r} is no name of a module")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    with _explained(what):
        try:
            return importlib.import_module(module)
        except (ImportError, SyntaxError) as err:
            raise InputError(f"{what} cannot be loaded: {err}") from err


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn what goes wrong in a module from outside into one message, with its own lines."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as err:
        raise PolicyError(f"{what} cannot be loaded: {explain(err)}") from err


def _with(factory: Callable[..., Policy], name: str, parameters: Mapping[str, Any]) -> Policy:
    """Make a policy, and refuse parameters that it does not have."""
    try:
        inspect.signature(factory).bind(**parameters)
    except TypeError as err:
        raise InputError(f"policy {name!r}: {err}") from err
    return factory(**parameters)


def _made(factory: Callable[..., Policy], name: str, parameters: Mapping[str, Any]) -> Policy:
    if not callable(factory):
        raise InputError(f"policy {name!r} is {factory!r:.60}, expected a class or a function")
    with _explained(f"policy {name!r}"):
        return checked_policy(_with(factory, name, parameters), name)


def checked_policy(policy: Any, name: str) -> Policy:
    """Return ``policy`` if it has all that the protocol asks for.

    Raises
    ------
    InputError
        Something is missing, or is no knowledge or information.
    """
    missing = [
        m for m in ("name", "information", "knows", "start", "step") if not hasattr(policy, m)
    ]
    if missing:
        raise InputError(
            f"policy {name!r} lacks {', '.join(missing)}, expected the protocol optsched.Policy"
        )
    known = get_args(Information)
    if policy.information not in known:
        raise InputError(
            f"policy {name!r}: information is {policy.information!r}, "
            f"expected one of: {', '.join(known)}"
        )
    names = policy.knows
    if isinstance(names, str) or not all(isinstance(n, str) for n in names):
        raise InputError(f"policy {name!r}: knows is {names!r}, expected a tuple of names")
    made: Policy = policy
    return made
