"""What a family must offer, and how families and policies are found by name.

A family is a :class:`Family` record of functions; the package looks families up in the entry-point
group ``optsched.families`` and third-party policies in ``optsched.policies``, so that both plug in
without a patch.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from optsched.streams import Streams

Sense: TypeAlias = Literal["max", "min"]
Information: TypeAlias = Literal["after", "before", "local"]
Prior: TypeAlias = Mapping[str, Any]


class InputError(ValueError):
    """The input is wrong; the message says what, where, and what would be right."""


class Frozen(BaseModel):
    """Data that is checked once, when it is made, and never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Instance(Frozen):
    """The data of one problem; every family has its own subclass."""

    family: ClassVar[str]

    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON text: the identity in result files."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class Schedule(Frozen):
    """What was decided, enough to recompute everything."""


class Violation(Frozen):
    """One constraint that a schedule breaks."""

    equation: str = Field(description="number of the equation in the paper, e.g. '4'")
    place: str = Field(description="where: 'worker machine 0, gpu, slot 0'")
    amount: float = Field(description="by how much, in the constraint's own unit")

    def __str__(self) -> str:
        return f"({self.equation}) broken by {self.amount:g} at {self.place}"


class Verdict(Frozen):
    """The judge's answer. ``value`` is the objective of a feasible schedule, else None."""

    violations: tuple[Violation, ...] = ()
    value: float | None
    completion: tuple[int | None, ...] = Field(
        description="completion slot of each job; None: not completed"
    )

    @property
    def feasible(self) -> bool:
        """Whether no constraint is broken."""
        return not self.violations

    def __str__(self) -> str:
        if self.feasible:
            done = sum(c is not None for c in self.completion)
            return (
                f"feasible: value {self.value:.9g}, {done} of {len(self.completion)} jobs completed"
            )
        head = (
            f"rejected: {len(self.violations)} violation{'s' if len(self.violations) > 1 else ''}"
        )
        return "\n  ".join([head, *map(str, self.violations)])


class Status(StrEnum):
    """What is known of the optimum."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    NO_SCHEDULE = "no_schedule"


class Level(StrEnum):
    """How far a number was checked."""

    CLAIMED = "claimed"
    CROSS_CHECKED = "cross-checked"
    CERTIFIED = "certified"


class Policy(Protocol):
    """An online algorithm: told event by event what has arrived, it answers for good."""

    name: str
    information: Information

    def prior(self, instance: Any) -> Prior:
        """Compute the declared knowledge beforehand (U, L, ...) from the whole instance."""

    def start(self, public: Any, prior: Prior, streams: Streams) -> None:
        """Forget every earlier run. ``public`` is the instance without its jobs."""

    def step(self, event: Any) -> Any:
        """Decide on one event; called once per event, in order."""


class Method(Protocol):
    """A way to the optimum: reports to ``monitor`` until done or told to stop."""

    def __call__(self, instance: Any, monitor: Any, /, *, threads: int, seed: int) -> None:
        """Solve ``instance``."""


@dataclass(frozen=True)
class Family:
    """All that the rest of the package knows of one problem."""

    name: str
    title: str
    paper: str
    sense: Sense
    instance: type[Instance]
    schedule: type[Schedule]
    certificate: type[Frozen]
    presets: tuple[str, ...]
    generate: Callable[..., Instance]  # (preset, *, seed, **sizes)
    from_trace: Callable[..., Instance]  # see families/<f>/sources.py
    verify: Callable[..., Verdict]  # (instance, schedule, *, unfinished=False)
    check: Callable[[Any, Any], float]  # (instance, certificate) -> bound, or ValueError
    events: Callable[[Any], Iterable[Any]]
    public: Callable[[Any], Any]  # the instance without its jobs
    assemble: Callable[
        [Any, Sequence[tuple[Any, Any]]], Schedule
    ]  # (instance, [(event, decision)])
    policies: Mapping[str, Callable[..., Policy]]
    methods: Mapping[str, Method]
    program: Callable[[Any], Any]  # the declarative model
    describe: Callable[[Any], Mapping[str, Any]]  # facts for `show`
    warnings: Callable[[Any], Sequence[str]]
    guarantee: Callable[[Any, str, Prior], float | None]  # (instance, policy name, prior)
    second: Mapping[str, str] = field(default_factory=dict)  # method -> one that shares no solver
    shadow_prices: Callable[[Any, Any], Sequence[Mapping[str, Any]]] = field(
        default=lambda _instance, _certificate: ()
    )


@cache
def families() -> Mapping[str, Family]:
    """Return every family that is installed, by name."""
    found = {e.name: e.load() for e in entry_points(group="optsched.families")}
    return dict(sorted(found.items()))


def get_family(name: str) -> Family:
    """Return the family called ``name``.

    Raises
    ------
    InputError
        No such family.
    """
    known = families()
    if name not in known:
        raise InputError(f"unknown family {name!r}, expected one of: {', '.join(known)}")
    return known[name]


def family_of(instance: Instance) -> Family:
    """Return the family that ``instance`` belongs to."""
    return get_family(instance.family)


def get_policy(family: Family, name: str) -> Policy:
    """Return a new policy: one of the family's own, an entry point, or ``module:Class``.

    Raises
    ------
    InputError
        No such policy, or its module cannot be imported.
    """
    if name in family.policies:
        return family.policies[name]()
    plugged = {e.name: e for e in entry_points(group="optsched.policies")}
    if name in plugged:
        return _made(plugged[name].load(), name)
    if ":" not in name:
        known = ", ".join([*family.policies, *plugged])
        raise InputError(f"unknown policy {name!r}, expected one of: {known}, or MODULE:CLASS")
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # a policy in the user's own file, beside which the command is run
        sys.path.insert(0, here)
    try:
        return _made(getattr(importlib.import_module(module), attribute), name)
    except (ImportError, AttributeError) as err:
        raise InputError(f"policy {name!r} cannot be loaded: {err}") from err


def _made(factory: Callable[[], Policy], name: str) -> Policy:
    policy = factory()
    missing = [
        m for m in ("name", "information", "prior", "start", "step") if not hasattr(policy, m)
    ]
    if missing:
        raise InputError(
            f"policy {name!r} lacks {', '.join(missing)}, expected the protocol optsched.Policy"
        )
    return policy
