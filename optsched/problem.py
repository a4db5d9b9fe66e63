"""Interface of a family, and lookup of families and policies by name.

A family is a :class:`Family` record of functions; the package looks families up in the entry-point
group ``optsched.families`` and third-party policies in ``optsched.policies``, so that both plug in
without a patch.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import entry_points
from inspect import getattr_static
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias, get_args

from pydantic import BaseModel, Field

from optsched.base import Frozen as Frozen
from optsched.base import InputError as InputError
from optsched.base import PolicyError as PolicyError
from optsched.base import renamed_arguments
from optsched.numbers.json_float import Signed
from optsched.numbers.parameter_space import ParameterSpace
from optsched.numbers.streams import Streams
from optsched.process.loading import is_named_in_file as is_named_in_file
from optsched.process.loading import load_from_file, run_file

Sense: TypeAlias = Literal["max", "min"]
Information: TypeAlias = Literal["after", "before", "local"]
Prior: TypeAlias = Mapping[str, Any]

OLD_METHODS = {"cp-sat": "cpsat"}  # deprecated names of methods
RELAXATION = "relaxation"  # the method of every family whose answer is a bound: that of the LP
LP_ROW = "LP relaxation"  # the name of its row in tables of policies
REAL = "what your cluster did"  # that of the schedule that a log records


class Instance(Frozen):
    """The data of one problem; every family has its own subclass."""

    family: ClassVar[str]

    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON text: the identity in result files."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; with an ``update``, it is checked again.

        Raises
        ------
        pydantic.ValidationError
            The changed data are no instance.
        """
        if not update:
            return super().model_copy(deep=deep)
        data = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**(data | dict(update)))

    def labeled(self, **texts: Any) -> Self:
        """Return the instance with other values of fields from which nothing is computed."""
        return BaseModel.model_copy(self, update=texts)

    def __repr__(self) -> str:
        origin = getattr(self, "source", "")
        parts = [family_of(self).headline(self), *([origin] if origin else [])]
        return f"<{type(self).__name__}: {'; '.join(parts)}>"

    __str__ = __repr__


class Schedule(Frozen):
    """All decisions, enough to recompute everything."""

    def __repr__(self) -> str:
        parts = []
        for name, value in self:
            if isinstance(value, tuple):
                there = sum(entry is not None and entry != () for entry in value)
                of = "" if there == len(value) else f" of {len(value)}"
                parts.append(f"{name} {there}{of}")
        return f"<{type(self).__name__}: {', '.join(parts)}>"

    __str__ = __repr__


class Violation(Frozen):
    """One constraint that a schedule breaks."""

    equation: str = Field(description="number of the equation in the paper, e.g. '4'")
    place: str = Field(description="where: 'worker machine 0, gpu, slot 0'")
    amount: Signed = Field(description="by how much, in the constraint's own unit")

    def __str__(self) -> str:
        return f"({self.equation}) broken by {self.amount:g} at {self.place}"


class Verdict(Frozen):
    """Result of the feasibility check; ``value`` is the objective if feasible, else None."""

    violations: tuple[Violation, ...] = ()
    value: Signed | None
    obeys: bool = Field(
        default=True,
        description="False: it leaves the model on purpose, and was evaluated by its own rules",
    )
    completion: tuple[int | None, ...] = Field(
        default=(),
        description="completion slot of each job; None: not completed. Empty: a family without "
        "jobs that complete",
    )

    @property
    def feasible(self) -> bool:
        """Whether no constraint is broken."""
        return not self.violations

    def __str__(self) -> str:
        if self.feasible:
            return ", ".join([f"feasible: value {self.value:.9g}", *completed(self.completion)])
        head = (
            f"rejected: {len(self.violations)} violation{'s' if len(self.violations) > 1 else ''}"
        )
        return "\n  ".join([head, *map(str, self.violations)])


def completed(completion: Sequence[int | None]) -> list[str]:
    """Return in a phrase how many jobs were completed; nothing where there are no jobs.

    >>> completed((3, None)), completed(())
    (['1 of 2 jobs completed'], [])
    """
    done = sum(c is not None for c in completion)
    return [f"{done} of {len(completion)} jobs completed"] if completion else []


def moment(event: Any, number: int) -> str:
    """Return which event it is, for messages: by its time, if it has one, else by its number."""
    time = getattr(event, "time", None)
    return f"time {time:g}" if isinstance(time, int | float) else f"event {number}"


class Status(StrEnum):
    """Value and bound of the optimum."""

    OPTIMAL = "optimal"  # a certificate proves it
    CLAIMED = "claimed optimal"  # solvers state it
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    NO_SCHEDULE = "no_schedule"
    BOUND_ONLY = "bound only"  # the method looks for no schedule

    @property
    def closed(self) -> bool:
        """Whether nothing better exists, as far as is known."""
        return self in (Status.OPTIMAL, Status.CLAIMED)

    @staticmethod
    def of(gap: float | None, within: float, level: Level | None) -> Status:
        """Return what a gap states of the best schedule that is known."""
        if gap is None or gap > within:
            return Status.FEASIBLE
        return Status.OPTIMAL if level is Level.CERTIFIED else Status.CLAIMED


class Level(StrEnum):
    """How far a number was checked."""

    CLAIMED = "claimed"
    CROSS_CHECKED = "cross-checked"
    CERTIFIED = "certified"


class Implementation(StrEnum):
    """Code that a claim rests on: two members share no code that could be wrong in both.

    A claim is cross-checked if two members agree. The same program under another name, or inside
    another one, is the same member.
    """

    HIGHS = "HiGHS"
    CP_SAT = "CP-SAT"
    CLARABEL = "Clarabel"
    PRICES = "prices"  # a bound by column generation, before its certificate is evaluated
    OTHER = "another solver"  # that a family from outside calls


class Policy(Protocol):
    """An online algorithm: it receives the arrivals event by event and decides irrevocably.

    It is never handed an instance. What it must know beforehand it names in ``knows``, and the
    family computes it.
    """

    name: str
    information: Information

    @property
    def knows(self) -> Sequence[str]:
        """Names of the family's `knowledge`, or ``own:NAME`` of a registered statistic."""

    def start(self, public: Any, prior: Prior, streams: Streams) -> None:
        """Forget every earlier run.

        ``public`` is a copy of the instance without its jobs, ``prior`` has the value of every
        name in ``knows``.
        """

    def step(self, event: Any) -> Any:
        """Decide on one event; called once per event, in order."""


class Recorder(Protocol):
    """Records the decisions of a policy, and checks them."""

    def take(self, event: Any, decision: Any) -> None:
        """Take the decision on one event."""

    def finish(self) -> tuple[Schedule, Verdict]:
        """Return the schedule that was decided, and its verdict."""


@dataclass(frozen=True)
class Wire:
    """How events and decisions of a family are written as JSON, and taken down.

    A policy in a sandbox communicates in these; ``take`` alone serves one that runs here.
    """

    public: type[Frozen]
    """Public data; written and read as in files."""
    event: Callable[[Any], Any]
    """Event -> JSON."""
    read_event: Callable[[Any, Any], Any]
    """(public, JSON) -> event."""
    decision: Callable[[Any], Any]
    """Decision -> JSON."""
    read_decision: Callable[[Any, Any], Any]
    """(public, JSON) -> decision; ValueError if it is none."""
    take: Callable[[Any], Any]
    """Decision -> a copy that the policy cannot reach; ValueError if it is none."""


class Method(Protocol):
    """A way to the optimum: reports to ``progress`` until done or stopped."""

    def __call__(self, instance: Any, progress: Any, /, *, threads: int, seed: int) -> None:
        """Solve ``instance``."""


@dataclass(frozen=True)
class Window:
    """How a window of a trace becomes an instance. None: the family's own default."""

    machines: Path | None = None
    profiles: tuple[Path, ...] | None = None
    jobs: int | None = None
    slots: int | None = None
    slot: str | None = None
    start: str | None = None
    load: float | None = None
    min_tasks: int | None = None
    shapes: Path | None = None
    draw_seed: int | None = None
    as_is: bool | None = None
    packed: bool | None = None
    objective: str | None = None
    skip_unfit: bool | None = None

    @property
    def unscaled(self) -> bool:
        """Whether times and machines stay as recorded: so requested, or machines without a load."""
        drawn = (self.load, self.shapes, self.profiles)  # what only scaled windows take
        if self.as_is is None:
            return self.machines is not None and all(option is None for option in drawn)
        return self.as_is

    def settle(self, family: str, **defaults: Any) -> dict[str, Any]:
        """Return the options that a family knows, with its defaults where nothing was set.

        Raises
        ------
        InputError
            An option is not supported by the family.

        Examples
        --------
        >>> Window(jobs=7).settle("oasis", jobs=100, slots=50)
        {'jobs': 7, 'slots': 50}
        """
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        for name, value in given.items():
            if value not in (None, False) and name not in defaults:
                known = ", ".join(map(option_name, defaults))
                scaled = " where nothing is scaled" if self.unscaled and "as_is" in defaults else ""
                raise InputError(
                    f"option {option_name(name)} is not supported by family {family}{scaled}, "
                    f"expected one of: {known}"
                )
        return {n: default if given[n] is None else given[n] for n, default in defaults.items()}


OPTIONS = {"as_is": "no-scaling", "profiles": "profile", "slot": "slot-length", "slots": "horizon"}


def option_name(name: str) -> str:
    """Return the option of the command line that sets a size or a field of :class:`Window`."""
    return "--" + OPTIONS.get(name, name).replace("_", "-")


def sizes_of(instance: Instance) -> dict[str, int]:
    """Return how many entries every list of an instance has: all families can state that much."""
    return {name: len(value) for name, value in instance if isinstance(value, tuple)}


def _headline(instance: Instance) -> str:
    sizes = sizes_of(instance).items()
    return ", ".join(f"{n} {name}" for name, n in sizes) or type(instance).__name__


@dataclass(frozen=True, kw_only=True)
class Family:
    """Interface of one problem to the rest of the package.

    Fields without a default are mandatory.
    """

    name: str
    title: str
    sense: Sense
    instance: type[Instance]
    schedule: type[Schedule]
    certificate: type[Frozen]
    presets: tuple[str, ...]  # the first is drawn where none is named
    generate: Callable[..., Instance]  # (preset, *, seed, **sizes)
    verify: Callable[..., Verdict]  # (instance, schedule, *, unfinished=False)
    check: Callable[[Any, Any], float]  # (instance, certificate) -> bound, or ValueError
    events: Callable[..., Iterable[Any]]  # (instance, information="after")
    public: Callable[[Any], Any]  # the instance without its jobs
    wire: Wire
    assemble: Callable[
        [Any, Sequence[tuple[Any, Any]]], Schedule
    ]  # (instance, [(event, decision)])
    policies: Mapping[str, Callable[..., Policy]]
    methods: Mapping[str, Method]
    # frozen dataclass of the parameters of the methods, a field per component: `Progress.params`
    params: type[Any] | None = None
    paper: str = ""  # where the problem comes from
    sizes: tuple[str, ...] = ()  # keywords of `generate`: jobs, slots, machines, ports, ...
    open_trace: Callable[[Path, Window], Instance] | None = None  # None: it reads no traces
    # (trace, window, its instance) -> the recorded schedule, and lines on parts that do not fit;
    # None: the trace does not state; no function: traces are always scaled
    recorded: Callable[[Path, Window, Any], tuple[Schedule | None, Sequence[str]] | None] | None = (
        None
    )
    # meaning of the word `sample`: "source", fields of Window
    samples: Mapping[str, Any] = field(default_factory=dict)
    # (preset, **sizes) -> instances that worst-case search may try; None: no such search
    parameter_space: Callable[..., ParameterSpace] | None = None
    # name -> (instance, **options) -> JSON value
    knowledge: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    ahead: tuple[str, ...] = ()  # knowledge that shows a policy jobs which have not arrived
    # the declarative model, of Pyomo or CVXPY: (instance, *, relaxed, printed), the linear
    # relaxation and the form with the paper's own numbers
    program: Callable[..., Any] | None = None
    headline: Callable[[Any], str] = _headline  # its size in a phrase: "100 jobs"
    # (instance, value, certified bound) -> sentences on both in a unit that people use
    in_words: Callable[[Any, float | None, float | None], Sequence[str]] = (
        lambda _instance, _value, _bound: ()
    )
    describe: Callable[[Any], Mapping[str, Any]] = sizes_of  # facts for `show`
    warnings: Callable[[Any], Sequence[str]] = lambda _instance: ()
    # (instance, policy name, prior) -> the theory's bound on the ratio
    guarantee: Callable[[Any, str, Prior], float | None] = lambda _instance, _policy, _prior: None
    # (instance, schedules) -> figures; None: there is nothing to draw
    pictures: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]] | None = None
    second: Mapping[str, str] = field(default_factory=dict)  # method -> one that shares no solver
    # (instance) -> its program as MPS, and a table of times, with which `online` reads it back
    mps_and_times: Callable[[Any], tuple[str, str]] | None = None
    trivial: tuple[str, ...] = ("fifo",)  # policies that need no thought, as far as there are such
    slow: tuple[str, ...] = ()  # policies that take long, and run when the others are done
    without: Mapping[str, str] = field(default_factory=dict)  # policies of others -> why not here
    on_request: tuple[str, ...] = ()  # policies that run only where they are named
    # (instance, completion, policy name or None, what it knew) -> further columns of its row
    columns: Callable[..., Mapping[str, float | str]] | None = None
    references: Mapping[str, str] = field(default_factory=dict)  # next to the optimum -> method
    measure: Callable[[Any, float, float], float] | None = None  # (instance, ALG, OPT); None: ratio
    # (instance, schedule | None, value, certificate | None, bound) -> how far apart the two sides
    # are, free of any scale; None: |bound - value| / |value|
    distance: Callable[[Any, Any, float, Any, float], float] | None = None
    scope: Callable[[Any], str] = lambda _certificate: ""  # the question that a certificate answers
    scopes: Mapping[str, Callable[[Any, Any], bool]] = field(
        default_factory=dict
    )  # narrower questions: (instance, schedule) -> whether the schedule is an answer
    empty: Callable[[Any], Schedule] | None = None  # the schedule that does nothing, if it is one
    # an immediate bound, and the function that makes its certificate
    opening: Callable[[Any], tuple[float, Callable[[], Frozen]]] | None = None
    trim: Callable[[Any, Any], Schedule] | None = None  # leaves out the jobs that are unfinished
    playable: Callable[[Any], None] = field(default=lambda _instance: None)  # InputError if not
    current: Callable[[Any], None] = field(default=lambda _instance: None)  # likewise
    # (instance) -> notes for users of other solvers, such as the scale of the objective
    program_note: Callable[[Any], Sequence[str]] = lambda _instance: ()
    recorder: Callable[[Any, Policy], Recorder] | None = None  # None: checked at the end
    rules: Mapping[str, str] = field(default_factory=dict)  # what policies do, in a phrase
    reactive: bool = False  # events depend on decisions: a generator that is sent each of them
    shadow_prices: Callable[[Any, Any], Sequence[Mapping[str, Any]]] = field(
        default=lambda _instance, _certificate: ()
    )

    @property
    def sign(self) -> int:
        """1 if more is better, -1 if less is."""
        return 1 if self.sense == "max" else -1

    @property
    def compared(self) -> list[str]:
        """The policies that run where none are named."""
        return [name for name in self.policies if name not in self.on_request]

    def proved(self, instance: Any, certificate: Any) -> float:
        """Return the bound that a certificate proves; infinite only if no schedule exists.

        Raises
        ------
        ValueError
            It proves none: the checker refuses it, or the bound excludes nothing.
        """
        bound = self.check(instance, certificate)
        if not self.sign * bound < math.inf:
            raise ValueError(f"the bound {bound} excludes no value")
        return bound

    def strictly(self, instance: Any, schedule: Any) -> tuple[Schedule, Verdict]:
        """Return a policy's schedule without what it has not finished, checked by the model."""
        kept = schedule if self.trim is None else self.trim(instance, schedule)
        return kept, self.verify(instance, kept)


_accept_old_names = renamed_arguments(box="parameter_space")
setattr(Family, "__init__", _accept_old_names(Family.__init__))  # noqa: B010


@cache
def family_names() -> list[str]:
    """Return the names of all families that are installed, without loading them."""
    return sorted({e.name for e in entry_points(group="optsched.families")})


def families() -> Mapping[str, Family]:
    """Return every family that is installed, by name."""
    return {name: get_family(name) for name in family_names()}


@cache
def load_family(name: str) -> Family:
    """Return a family that is installed; no other is imported."""
    (found,) = entry_points(group="optsched.families", name=name)
    family: Family = found.load()
    return family


DECLARED = {
    f"declared-{sense}": ("optsched.declared.problem", sense.upper()) for sense in get_args(Sense)
}
"""Families of all declared problems: nothing can be drawn of them, so they are not listed."""


def get_family(name: str) -> Family:
    """Return the family called ``name``.

    Code of a problem in a file is not run: its name in plans and stores has the family of its
    instances in front, ``declared-max FILE.py:NAME``, and the file is run when one is drawn.

    Raises
    ------
    InputError
        No such family.
    """
    kind, _, place = name.partition(" ")
    if kind in DECLARED and (not place or is_named_in_file(place)):
        module, attribute = DECLARED[kind]
        declared: Family = getattr(import_module(module), attribute)
        if not place:
            return declared

        def generate(*given: Any, **more: Any) -> Instance:
            return family_or_problem(place).generate(*given, **more)

        return replace(declared, generate=generate, presets=("default",))
    if name not in family_names():
        raise InputError(f"unknown family {name!r}, expected one of: {', '.join(family_names())}")
    return load_family(name)


def problem_in(name: str) -> str | None:
    """Return the problem in a file that a plan or a store calls so; None: it is a family.

    >>> problem_in("declared-max my files/knapsack.py:knapsack"), problem_in("oasis")
    ('my files/knapsack.py:knapsack', None)
    """
    kind, _, place = name.partition(" ")
    named = place if kind in DECLARED else name
    return named if is_named_in_file(named) else None


def problem_named(name: str) -> str:
    """Return ``FILE.py:NAME`` of a file with one problem, which is run; other names as they are.

    Raises
    ------
    InputError
        The file has none, or several.
    PolicyError
        Its own code fails.
    """
    if not name.endswith(".py"):
        return name
    there = dict(vars(run_file(name, f"problem {name!r}")))
    found = {id(x): n for n, x in there.items() if _has_family(x)}
    if len(found) != 1:
        names = ", ".join(f"{name}:{n}" for n in found.values())
        several = f"has several problems, expected one of: {names}"
        raise InputError(f"{name}: {several if found else 'has no optsched.problem, expected one'}")
    return f"{name}:{next(iter(found.values()))}"


def _has_family(x: Any) -> bool:
    """Whether it is a problem, which is not drawn for that."""
    there = None if isinstance(x, type) else getattr_static(x, "family", None)
    return isinstance(there, Family | cached_property)


def family_or_problem(name: str) -> Family:
    """Return the family called ``name``, or of the problem ``FILE.py:NAME``: the file is run.

    Raises
    ------
    InputError
        No such family, or the file has no such problem.
    PolicyError
        The file's own code fails.
    """
    if not is_named_in_file(name):
        return get_family(name)
    made = load_from_file(name, f"problem {name!r}")
    family = getattr(made, "family", None)
    if not isinstance(family, Family):
        raise InputError(f"problem {name!r} is {made!r:.60}, expected an optsched.problem")
    return family


def family_of(instance: Instance) -> Family:
    """Return the family that ``instance`` belongs to."""
    name = getattr(instance, "family", None)
    if not isinstance(name, str):
        raise InputError(
            f"is {instance!r:.80}, expected an instance: load_instance(...), or a problem called "
            "with a preset and a seed"
        )
    return get_family(name)


class _Callable(ModuleType):
    """The type of this module: ``optsched.problem(sizes=...)`` makes a family of a function."""

    def __call__(self, *wrong: Any, **given: Any) -> Any:
        if wrong or "sizes" not in given:
            raise InputError(
                "optsched.problem lacks its sizes, expected "
                "@optsched.problem(sizes={'small': {'items': 60}})"
            )
        return import_module("optsched.declared.problem").problem(**given)


sys.modules[__name__].__class__ = _Callable


def agree(a: float, b: float, within: float) -> bool:
    """Return whether two numbers are equal but for a share of the larger one.

    >>> agree(1e-12, 1.0000001e-12, 1e-6), agree(0.0, 1e-300, 1e-6)
    (True, False)
    """
    return a == b or abs(a - b) <= within * max(abs(a), abs(b)) < math.inf
