"""Policies found by name: a family's own, entry points, and modules next to the command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import partial
from importlib.metadata import entry_points
from typing import Any, NamedTuple, cast, get_args

from optsched.policies.knowledge import has_empty_brackets
from optsched.problem import (
    LP_ROW,
    REAL,
    RELAXATION,
    Family,
    Information,
    InputError,
    Policy,
    PolicyError,
)
from optsched.process import messages
from optsched.process.loading import (
    import_from_folder,
    is_named_in_file,
    load_from_file,
    loading,
    named_in_files,
)

MEMBERS = ("name", "information", "knows", "start", "step")
LONGEST_NAME = 100  # characters of a policy's name
LONGEST_KNOWN, MOST_KNOWN = 200, 100  # characters of a piece of knowledge, and pieces


def get_policy(family: Family, name: str, /, **parameters: Any) -> Policy:
    """Return a new policy: one of the family's own, an entry point, or ``module:Class``.

    It is made with the ``parameters``. The class of a module has to implement the protocol, which
    is checked before it is called.

    Raises
    ------
    InputError
        No such policy, its module cannot be imported, or it is no class of a policy; or a policy of
        the family refuses a parameter.
    PolicyError
        Its own code fails.
    """
    if name in family.policies:
        try:
            return _with(family.policies[name], name, parameters)
        except InputError:
            raise
        except (TypeError, ValueError) as err:
            raise InputError(f"policy {name!r}: {err}") from err
    known_or_refused(family, name)
    plugged = {e.name: e for e in entry_points(group="optsched.policies")}
    if name in plugged:
        with loading(f"policy {name!r}"), messages.diverted():
            factory = plugged[name].load()
        return _made(family, factory, name, parameters)
    with loading(f"policy {name!r}"):
        made = _class_of_policy(_found(name), name)
    return _made(family, made, name, parameters)


def _found(name: str) -> Any:
    """Return what MODULE:CLASS, FILE.py:CLASS or FILE.py:FUNCTION names.

    Raises
    ------
    InputError
        There is nothing of this name.
    """
    if is_named_in_file(name):
        return load_from_file(name, f"policy {name!r}")
    module, _, attribute = name.partition(":")
    if not attribute.isidentifier():
        raise InputError(f"policy {name!r}: {attribute!r} is no name of a class")
    file = f", or the path of its file, {module.replace('.', '/')}.py:{attribute}"
    found = import_from_folder(module, f"policy {name!r}", file)
    if not hasattr(found, attribute):
        raise InputError(
            f"policy {name!r} cannot be loaded: module {module!r} has no {attribute!r}"
        )
    return getattr(found, attribute)


def _class_of_policy(found: Any, name: str) -> Callable[..., Policy]:
    """Return ``found`` if it is a class that has all members of the protocol; nothing is called.

    Data may also be declared only, for ``__init__`` to set. A policy that is made of a function
    returns a new one of itself when it is called, and so serves as its class. Any other policy that
    is made already, such as ``near = Rolling(4)``, is copied, and named "near".

    Raises
    ------
    InputError
        It is something else.
    """
    if callable(found) and all(hasattr(found, member) for member in MEMBERS):
        made: Callable[..., Policy] = found
        return made
    if not isinstance(found, type) and all(hasattr(found, member) for member in MEMBERS):
        return partial(_copy_of, found, name)
    refuse_function(found)
    if not isinstance(found, type):
        raise InputError(
            f"policy {name!r} is a {type(found).__name__}, expected a class or a policy"
        )
    declared = {n for kind in found.__mro__ for n in inspect.get_annotations(kind)}
    there = {n for kind in found.__mro__ for n in vars(kind)} | declared - {"start", "step"}
    _complain([n for n in MEMBERS if n not in there], name)
    return found


def _copy_of(policy: Any, name: str) -> Policy:
    """Return a copy of a policy under the name by which its file knows it."""
    made: Policy = deepcopy(policy)
    made.name = name.rpartition(":")[2]
    return made


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
            what = f"unknown policy {policy!r}"
            if policy in family.without:
                what = f"policy {policy!r} is none of {family.name}: {family.without[policy]}"
            there = named_in_files(policy).items()
            meant = "".join(
                f"{place}, or " for place, x in there if inspect.isfunction(x) or hasattr(x, "step")
            )
            raise InputError(
                f"{what}, expected {meant}one of: {known}, MODULE:CLASS or FILE.py:NAME"
            )


def turns(
    family: Family, policies: Sequence[str | Policy] | None = None, *, load: bool = False
) -> list[tuple[int, str | Policy]]:
    """Return policies in the order in which they run: slow ones run last.

    First those that need no thought (`Family.trivial`), last those that are slow (`Family.slow`),
    else as they are listed. Trivial ones run even if they were not requested. With ``load``, those
    that are named by their code are loaded; where it fails by itself, that is left to the run.

    Returns
    -------
    list of tuple of int and str or Policy
        A policy and its place in the table; places behind the table are not shown.

    Raises
    ------
    InputError
        Unknown policy, or one that cannot be loaded.
    """
    if isinstance(policies, str):
        raise InputError(f"policies is {policies!r}, expected a list such as [{policies!r}]")
    requested = family.compared if policies is None else list(policies)
    for policy in requested:
        known_or_refused(family, policy)
    for policy in requested:
        refuse_function(policy)
        if load and isinstance(policy, str) and ":" in policy and not policy.startswith("exec:"):
            with suppress(PolicyError):
                get_policy(family, policy)
    names = {name_of(policy) for policy in requested}
    requested += [p for p in family.trivial if p in family.policies and p not in names]

    def rank(policy: str | Policy) -> int:
        return (name_of(policy) in family.slow) - (name_of(policy) in family.trivial)

    return sorted(enumerate(requested), key=lambda turn: rank(turn[1]))


def name_of(policy: str | Policy) -> str:
    """Return a policy's name; of one that is to be loaded, the name by which that is requested."""
    return policy if isinstance(policy, str) else policy.name


def _with(factory: Callable[..., Policy], name: str, parameters: Mapping[str, Any]) -> Policy:
    """Make a policy, and refuse parameters that it does not have."""
    try:
        inspect.signature(factory).bind(**parameters)
    except TypeError as err:
        raise InputError(f"policy {name!r}: {err}") from err
    return factory(**parameters)


def _made(
    family: Family, factory: Callable[..., Policy], name: str, parameters: Mapping[str, Any]
) -> Policy:
    if not callable(factory):
        raise InputError(f"policy {name!r} is {factory!r:.60}, expected a class or a function")
    with loading(f"policy {name!r}"), messages.diverted():
        policy = _with(factory, name, parameters)
        introduced(family, policy, name, own=False)
        return policy


def _complain(missing: Sequence[str], name: str) -> None:
    if missing:
        raise InputError(
            f"policy {name!r} lacks {', '.join(missing)}, expected the protocol optsched.Policy"
        )


def is_own(family: Family, policy: Any) -> bool:
    """Whether a policy is one of the family's own.

    One that has the name of another, or other decisions than its class makes, is not.
    """
    own = {name: type(make()) for name, make in family.policies.items()}
    mine = type(policy) in own.values() and own.get(policy.name, type(policy)) is type(policy)
    return mine and not {"start", "step"} & vars(policy).keys()


class Introduction(NamedTuple):
    """Declarations of a policy, read once: a property could return something else next time."""

    name: str
    information: Information
    knows: tuple[str, ...]


def refuse_function(policy: Any) -> None:
    """Refuse a function that is not decorated."""
    if inspect.isfunction(policy):
        raise InputError(
            f"policy {policy.__name__!r}: is a function, expected a policy; decorate it with "
            "@optsched.policy"
        )


def introduced(family: Family, policy: Any, called: str, *, own: bool) -> Introduction:
    """Return what ``policy`` states of itself, if it has all that the protocol requires.

    Parameters
    ----------
    family : Family
        The names of its own policies are taken.
    policy : object
    called : str
        The name by which the policy was requested.
    own : bool
        Whether it is one of the family's own.

    Raises
    ------
    InputError
        Something is missing, is no knowledge or information, or cannot be shown in a table.
    """
    refuse_function(policy)
    called = called if called.isprintable() else ascii(called)[1:-1]
    called = called[:LONGEST_NAME]
    _complain([m for m in MEMBERS if not hasattr(policy, m)], called)
    name, information, knows = policy.name, policy.information, policy.knows
    if (wrong_name := no_name(family, name, own=own)) is not None:
        raise InputError(f"policy {called!r}: its name {wrong_name}")
    known = get_args(Information)
    if type(information) is not str or information not in known:
        raise InputError(
            f"policy {called!r}: information is {information!r:.80}, "
            f"expected one of: {', '.join(known)}"
        )
    names = () if isinstance(knows, str) else tuple(knows)
    if isinstance(knows, str) or not all(type(n) is str for n in names):
        raise InputError(f"policy {called!r}: knows is {knows!r:.80}, expected a tuple of names")
    wrong = [n for n in names if not _shown(n, LONGEST_KNOWN)]
    if wrong or len(names) > MOST_KNOWN or len({*names}) < len(names):
        problem = f"has {wrong[0]!a:.80}" if wrong else f"has {len(names)} names"
        raise InputError(
            f"policy {called!r}: knows {problem}, expected at most {MOST_KNOWN} different names of "
            f"1 to {LONGEST_KNOWN} ASCII characters that can be printed"
        )
    for piece in filter(has_empty_brackets, names):  # marks look for the bare name
        raise InputError(
            f"policy {called!r}: knows {piece!r}, expected {piece.partition('(')[0]!r}, without "
            "empty brackets"
        )
    return Introduction(name, cast(Information, information), names)


@contextmanager
def blamed(*, own: bool) -> Iterator[None]:
    """Take wrong declarations of a policy for its failure, unless it is one of the family's own.

    Raises
    ------
    PolicyError
        Instead of an InputError.
    """
    try:
        yield
    except InputError as err:
        if own or isinstance(err, PolicyError):
            raise
        raise PolicyError(str(err)) from err


def no_name(family: Family, name: Any, *, own: bool) -> str | None:
    """Return why a row of a table cannot have a name, and what would be right; None: it can.

    The names of the family's policies are theirs alone, unless it is one of its ``own``.
    """
    if type(name) is not str or not _shown(name, LONGEST_NAME):
        return f"is {name!a:.80}, expected 1 to {LONGEST_NAME} ASCII characters that can be printed"
    rows = {LP_ROW, RELAXATION, "optimum", *family.references}
    rows = rows if own else rows.union(family.policies, [REAL])
    if folded(name) in {folded(row) for row in rows}:
        return (
            f"{name!r} is that of a policy of family {family.name} or of a row of its tables, "
            "expected another one"
        )
    return None


def must_name_rows(family: Family, names: Iterable[str]) -> None:
    """Refuse names that the rows of one table cannot have.

    Raises
    ------
    InputError
        One cannot name a row, or two look alike.
    """
    seen: set[str] = set()
    for name in names:
        why = no_name(family, name, own=True)
        if why is None and folded(name) in seen:
            why = f"{name!r} is that of another row, expected one of its own"
        if why is not None:
            raise InputError(f"the name of a row {why}")
        seen.add(folded(name))


def _shown(name: str, longest: int) -> bool:
    """Whether a name is valid in tables and files; no letter looks like another one."""
    printable = name.isascii() and name.isprintable() and name == name.strip()
    return 0 < len(name) <= longest and printable and folded(name) != ""


def folded(name: str) -> str:
    """Return what names have in common that look alike in a table, where "*" marks some rows.

    >>> folded("LP  Relaxation *")
    'lp relaxation'
    """
    return " ".join(name.casefold().replace("*", " ").split())
