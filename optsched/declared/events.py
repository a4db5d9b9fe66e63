"""Events of a declared problem, knowledge of a policy, and recording of its decisions.

An event has a time and the data revealed at it: columns, rows, coefficients; and the variables
to be decided now. Everything is identified by name, so that no index reveals the future.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from numpy.random import Generator
from pydantic import Field

from optsched.declared.feasibility import settle, verify
from optsched.declared.model import (
    Cone,
    ConeKind,
    Declared,
    ProgramVariable,
    Scalar,
    Solution,
    component_of,
    index_of,
    label,
    plain,
)
from optsched.numbers.json_float import Signed
from optsched.numbers.resources import exact, slack
from optsched.numbers.streams import Streams
from optsched.policies.serialization import typed_wire
from optsched.problem import (
    Frozen,
    Information,
    InputError,
    Policy,
    PolicyError,
    Prior,
    Sense,
    Verdict,
)


class Public(Frozen):
    """Public data, known from the start."""

    sense: Sense
    problem: str = ""


class NewRow(Frozen):
    """A row that becomes known."""

    name: str
    lower: Signed = -math.inf
    upper: Signed = math.inf


class NewCone(Frozen):
    """A cone that becomes known, with the last of its variables."""

    name: str
    kind: ConeKind
    members: tuple[tuple[float, tuple[tuple[str, float], ...]], ...] = Field(
        description="constant, and entries: variable, coefficient"
    )


class Event(Frozen):
    """Event: data revealed at a time, and the decisions due."""

    time: float
    columns: tuple[ProgramVariable, ...] = ()
    rows: tuple[NewRow, ...] = ()
    entries: tuple[tuple[str, str, float], ...] = Field(
        default=(), description="row, column, coefficient: of new columns, or of new rows"
    )
    decide: tuple[str, ...] = Field(default=(), description="variables to be decided now")
    cones: tuple[NewCone, ...] = ()


UNKNOWN = "is not known: it is revealed later, or there is none of this name"
Decision = dict[str, float]
WIRE = typed_wire(Public, Event, Decision)


def public(inst: Declared) -> Public:
    """Return the public data, known from the start."""
    return Public(sense=inst.sense, problem=inst.problem)


def events(inst: Declared, information: Information = "after") -> Iterator[Event]:
    """Return the events in order of time.

    Raises
    ------
    InputError
        The information is another one than "after".
    """
    if information != "after":
        raise InputError(f'information is "{information}", expected "after" for a declared problem')
    return map(event_of, disclosures(inst))


class Disclosure(NamedTuple):
    """The content of an event: made and compared faster than an `Event`."""

    time: float
    columns: tuple[ProgramVariable, ...]
    rows: tuple[tuple[str, float, float], ...]  # name, lower and upper limit
    entries: tuple[tuple[str, str, float], ...]
    decide: tuple[str, ...]
    cones: tuple[NewCone, ...]


def event_of(known: Disclosure) -> Event:
    """Return the event that policies receive."""
    rows = tuple(NewRow(name=name, lower=low, upper=high) for name, low, high in known.rows)
    return Event(**known._asdict() | {"rows": rows})


def disclosures(inst: Declared) -> Iterator[Disclosure]:
    """Yield the contents of the events in order of time."""
    columns: dict[float, list[int]] = {}
    rows: dict[float, list[int]] = {}
    decide: dict[float, list[str]] = {}
    for j, column in enumerate(inst.columns):
        columns.setdefault(column.revealed, []).append(j)
        if not column.auxiliary:
            decide.setdefault(column.decided, []).append(column.name)
    for i, time in enumerate(inst.times):
        rows.setdefault(time, []).append(i)
    cones: dict[float, list[NewCone]] = {}
    for cone in inst.cones:
        cones.setdefault(inst.time_of(cone), []).append(_new_cone(inst, cone))
    known: dict[float, list[tuple[str, str, float]]] = {}  # time -> coefficients of its new rows
    users: list[list[tuple[str, float]]] = [[] for _ in inst.columns]  # rows that are older
    for row, time in zip(inst.rows, inst.times, strict=True):
        for j, a in row.entries:
            if inst.columns[j].revealed <= time:
                known.setdefault(time, []).append((row.name, inst.columns[j].name, a))
            else:
                users[j].append((row.name, a))
    for time in sorted({*columns, *decide}):
        fresh, named = columns.get(time, []), inst.columns
        revealed = known.get(time, [])
        revealed += [(row, named[j].name, a) for j in fresh for row, a in users[j]]
        yield Disclosure(
            time,
            tuple([named[j] for j in fresh]),
            tuple([(r.name, r.lower, r.upper) for r in map(inst.rows.__getitem__, rows[time])])
            if time in rows
            else (),
            tuple(revealed),
            tuple(decide.get(time, ())),
            tuple(cones.get(time, ())),
        )


def _new_cone(inst: Declared, cone: Cone) -> NewCone:
    """Return what is revealed of a cone."""
    members = tuple(
        (m.constant, tuple((inst.columns[j].name, a) for j, a in m.entries)) for m in cone.members
    )
    return NewCone(name=cone.name, kind=cone.kind, members=members)


class Recorder:
    """Takes down the decisions of a run."""

    def __init__(self, inst: Declared, policy: Policy | None = None) -> None:
        self._inst, self._who = inst, "" if policy is None else f"policy {policy.name}: "
        self._place = {c.name: j for j, c in enumerate(inst.columns)}
        self._values: list[float | None] = [None] * len(inst.columns)

    def take(self, event: Event, decision: Mapping[str, float]) -> None:
        """Take the decision on one event.

        Raises
        ------
        PolicyError
            It names a variable that is not to be decided now, leaves out one that cannot be 0, or
            a value is outside the variable's bounds or not integer.
        """
        now = dict.fromkeys(event.decide)
        for name, value in decision.items():
            if name not in now:
                j = self._place.get(name)
                known = j is not None and self._inst.columns[j].revealed <= event.time
                done = j is not None and self._values[j] is not None
                why = "is already decided" if done else "is not to be decided now"
                why = why if known else UNKNOWN
                raise self._wrong(event, f"variable {name[:80]!r} {why}")
            complaint = settle(self._inst.columns[self._place[name]], value)[1]
            if complaint is not None:
                raise self._wrong(event, f"variable {name}: {complaint.place}")
        for name in event.decide:
            j = self._place[name]
            if name not in decision and settle(self._inst.columns[j], 0.0)[1] is not None:
                raise self._wrong(event, f"variable {name} is not decided, and cannot be 0")
            self._values[j] = decision.get(name, 0.0)

    def _wrong(self, event: Event, what: str) -> PolicyError:
        return PolicyError(f"{self._who}time {event.time:g}: {what}")

    def solution(self) -> Solution:
        """Return the decided values, with the auxiliary variables that follow from them."""
        values = tuple(0.0 if x is None else x for x in self._values)
        if any(c.auxiliary for c in self._inst.columns):
            from optsched.declared.conic import complete

            return complete(self._inst, values)
        return Solution(values=values)

    def finish(self) -> tuple[Solution, Verdict]:
        """Return the decided values, and their verdict."""
        made = self.solution()
        return made, verify(self._inst, made)


def assemble(inst: Declared, played: Sequence[tuple[Event, Decision]]) -> Solution:
    """Put the decisions together."""
    record = Recorder(inst)
    for event, decision in played:
        record.take(event, decision)
    return record.solution()


@dataclass(eq=False)
class Variable:
    """A variable that a policy knows."""

    name: str
    cost: float
    lower: float
    upper: float
    integer: bool
    decided: float
    auxiliary: bool = False
    coefficients: dict[str, float] = field(default_factory=dict)
    value: float | None = None

    @cached_property
    def index(self) -> tuple[int | float | str, ...]:
        """The index in brackets in its name: ``x[3,north]`` has the index (3, "north")."""
        return index_of(self.name)

    @property
    def component(self) -> str:
        """Its name without the index."""
        return component_of(self.name)


@dataclass(eq=False)
class Constraint:
    """A row that a policy knows."""

    name: str
    lower: float
    upper: float
    coefficients: dict[str, float] = field(default_factory=dict)
    activity: Scalar = 0

    def left(self, side: str = "") -> float:
        """Return the slack of its upper limit, or the missing amount of its lower limit."""
        side = side or ("upper" if math.isfinite(self.upper) else "lower")
        limit = self.upper if side == "upper" else self.lower
        return float(exact(limit) - self.activity) if math.isfinite(limit) else limit


class State:
    """Everything that has been revealed and decided so far."""

    def __init__(self, sense: Sense) -> None:
        self.sense = sense
        self.variables: dict[str, Variable] = {}
        self.rows: dict[str, Constraint] = {}
        self.open: dict[str, Variable] = {}  # revealed, not yet decided
        self.cones: list[NewCone] = []

    def add(self, event: Event) -> None:
        """Add the data of an event."""
        for c in event.columns:
            made = Variable(c.name, c.cost, c.lower, c.upper, c.integer, c.decided, c.auxiliary)
            self.variables[c.name] = self.open[c.name] = made
        for r in event.rows:
            self.rows[r.name] = Constraint(r.name, r.lower, r.upper)
        self.cones += event.cones
        for row, column, a in event.entries:
            constraint, variable = self.rows[row], self.variables[column]
            constraint.coefficients[column] = variable.coefficients[row] = a
            if variable.value:  # a row that is revealed after some of its variables are decided
                constraint.activity += plain(exact(a) * exact(variable.value))

    def commit(self, event: Event, decision: Mapping[str, float]) -> None:
        """Record the decisions; invalid ones are left to the recorder."""
        for name in event.decide:
            variable = self.open.pop(name)
            variable.value = value = float(decision.get(name, 0.0))
            if value and math.isfinite(value):
                for row, a in variable.coefficients.items():
                    self.rows[row].activity += plain(exact(a) * exact(value))


class View:
    """Argument of a policy that is a function: one event, and the known data.

    Attributes
    ----------
    time : float
    variables : list of Variable
        Those to be decided now: `name`, `index`, `component`, `cost`, `lower`, `upper`, `integer`
        and `coefficients` by row.
    revealed : list of Variable
        Those that have just become known, the auxiliary ones of CVXPY's atoms included.
    memory : dict
        Empty when a run begins; its content lasts until the end of the run.
    random : numpy.random.Generator
    """

    def __init__(self, state: State, event: Event, memory: dict[Any, Any], rng: Generator) -> None:
        self._state = state
        self.time, self.memory, self.random = event.time, memory, rng
        self.variables = [state.variables[name] for name in event.decide]
        self.revealed = [state.variables[c.name] for c in event.columns]

    def __getattr__(self, name: str) -> Any:
        there = [n for n in (*vars(self), *vars(type(self))) if not n.startswith("_")]
        raise AttributeError(
            f"an event has no {name!r}, expected one of: {', '.join(sorted(there))}"
        )

    @property
    def sense(self) -> Sense:
        """Whether the objective is to be large ("max") or small ("min")."""
        return self._state.sense

    def value(self, variable: Variable | str | Sequence[Any]) -> float | None:
        """Return the decided value of a variable, None if it is open.

        Raises
        ------
        InputError
            It is not revealed.
        """
        name = variable.name if isinstance(variable, Variable) else label(variable)
        if name not in self._state.variables:
            raise InputError(f"variable {name!r} {UNKNOWN}")
        return self._state.variables[name].value

    def row(self, row: str | Sequence[Any]) -> Constraint:
        """Return a row by its name, or by component and index: ``("budget", 3)``.

        Raises
        ------
        InputError
            It is not revealed.
        """
        name = label(row)
        if name not in self._state.rows:
            raise InputError(f"constraint {name!r} {UNKNOWN}")
        return self._state.rows[name]

    def residual(self, row: str | Sequence[Any], side: str = "") -> float:
        """Return the slack of a row's upper limit after the decisions so far.

        Of a row with only a lower limit, or for ``side="lower"``, the missing amount.
        """
        return self.row(row).left(side)

    def fits(self, variable: Variable, value: float = 1.0) -> bool:
        """Whether a value keeps the upper limits of all known rows, as decided so far."""
        for name, a in variable.coefficients.items():
            row = self._state.rows[name]
            if math.isfinite(row.upper):
                limit = exact(row.upper)
                if row.activity + exact(a) * exact(value) > limit + slack(limit):
                    return False
        return True

    def best(self, score: Callable[[Variable], float]) -> dict[str, float]:
        """Return the decision that sets one variable to 1: the best one of those that fit.

        Scores of at most 0 are none; ties go to the first variable.
        """
        scored = [(score(x), x) for x in self.variables if self.fits(x)]
        value, chosen = max(scored, key=lambda pair: pair[0], default=(0.0, None))
        return {chosen.name: 1.0} if chosen is not None and value > 0 else {}


class Online(ABC):
    """A policy that keeps a `State`; subclasses state how to decide."""

    name = ""
    information: Information = "after"
    knows: Sequence[str] = ()

    def start(self, public: Public, prior: Prior, streams: Streams) -> None:
        """Forget every earlier run."""
        self.state, self.prior = State(public.sense), prior
        self.random = streams("policy")

    def step(self, event: Event) -> Decision:
        """Decide on one event."""
        self.state.add(event)
        decision = self.decide(event)
        self.state.commit(event, decision)
        return decision

    @abstractmethod
    def decide(self, event: Event) -> Decision:
        """Return the values of the variables that are to be decided now."""


class FunctionPolicy(Online):
    """A policy made of a function of a `View`, which returns the values that are not 0.

    Keys of the returned mapping are variables, their names, or a component and its index, such as
    ``("x", 3)``. A state of its own belongs in
    ``event.memory``.
    """

    def __init__(self, function: Callable[[View], Any]) -> None:
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self) -> FunctionPolicy:
        """Return a new one: nothing is shared between runs."""
        return FunctionPolicy(self.function)

    def start(self, public: Public, prior: Prior, streams: Streams) -> None:
        """Forget every earlier run."""
        super().start(public, prior, streams)
        self.memory: dict[Any, Any] = {}

    def decide(self, event: Event) -> Decision:
        """Call the function."""
        made = self.function(View(self.state, event, self.memory, self.random))
        if not isinstance(made, Mapping):
            raise TypeError(
                f"{self.name} returned {made!r:.60}, expected a mapping from variables to values "
                "(an empty one if all are 0)"
            )
        values: dict[Any, float] = {}
        for key, value in made.items():
            name = _name(key)
            if not isinstance(name, str):
                raise TypeError(
                    f"key {name!r:.60} is no name, expected a variable of the event, its name, or "
                    "(component, index)"
                )
            if name in values:
                raise ValueError(f"variable {name} is decided twice, expected one value")
            try:
                if isinstance(value, str | bytes):
                    raise TypeError
                values[name] = float(value)
            except (TypeError, ValueError):
                raise TypeError(
                    f"variable {name}: value {value!r:.40}, expected a number"
                ) from None
        return values


def policy(function: Callable[[View], Any]) -> FunctionPolicy:
    """Make a policy of a function of an event, for an instance that no generator has made."""
    return FunctionPolicy(function)


def _name(key: Any) -> Any:
    """Return the name of a variable that is given as such, by name, or by component and index."""
    if isinstance(key, Variable):
        return key.name
    return label(key) if isinstance(key, tuple) and key else key


def future(inst: Declared) -> list[Any]:
    """Return all events as JSON, for a policy with foresight."""
    return [event.model_dump(mode="json") for event in events(inst)]
