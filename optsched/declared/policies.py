"""Rolling horizon, greedy and posted-price policies for every declared problem.

A rolling horizon (Chand et al., 2002) re-optimizes over a window, with terminal values for the time
after it (Baker and Peterson, 1979).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.random import Generator

from optsched.declared.events import Constraint, Decision, Event, Online, Public, State, Variable
from optsched.declared.model import Declared, ProgramVariable, neat
from optsched.numbers.arrays import Floats
from optsched.numbers.resources import EPS, exact, slack
from optsched.numbers.streams import Streams
from optsched.problem import InputError, PolicyError, Prior

if TYPE_CHECKING:
    from optsched.declared.arrays import Arrays
    from optsched.solvers import MipResult

SURE = 5e-10  # by how much a row may be broken so that no rounding makes it more than 1e-9
FEASIBLE = 1e-6  # by how much a solver may break a row
ROUNDING = 1e-13  # relative error of a sum of floats
EFFORT = 2000.0  # work on an integer program, in units of about a millisecond
MOST_EFFORT = 16_000.0  # the same, where no solution was found by then

Terminal: TypeAlias = Callable[[Variable, float], float]
Forecast: TypeAlias = Callable[[ProgramVariable, float, Generator], float | Mapping[str, float]]


class Reoptimization(Online):
    """Optimizes over all revealed variables, and fixes those to be decided now."""

    name = "re-solve"

    def decide(self, event: Event) -> Decision:
        """Solve the program of the variables that are open."""
        if not event.decide:
            return {}
        chosen = self.considered(event)
        costs = {x.name: self.cost(x, event) for x in chosen}
        found = solve_open(self.state, chosen, costs, place=self.place(event))
        if found is None:
            raise self.stuck(event)
        return {name: found[name] for name in event.decide}

    def considered(self, event: Event) -> list[Variable]:  # noqa: ARG002
        """Return the variables that take part."""
        return list(self.state.open.values())

    def cost(self, variable: Variable, event: Event) -> float:  # noqa: ARG002
        """Return the cost of a variable."""
        return variable.cost

    def place(self, event: Event) -> str:
        """Return the policy and the time, for messages."""
        return f"policy {self.name}: time {event.time:g}"

    def stuck(self, event: Event) -> PolicyError:
        """Return the message if earlier decisions leave no feasible one."""
        broken: list[str] = []
        chosen, place = self.considered(event), self.place(event)
        costs = {x.name: 0.0 for x in chosen}
        solve_open(self.state, chosen, costs, place=place, broken=broken)
        which = f"constraint {broken[0]}" if broken else "the constraints that are revealed"
        return PolicyError(
            f"{place}: no values satisfy {which}, after what was decided before; expected a model "
            "with recourse, such as a variable for a shortage"
        )


class Greedy(Reoptimization):
    """Optimizes the current event alone; other open variables are free help."""

    name = "greedy"

    def cost(self, variable: Variable, event: Event) -> float:
        """Return the costs of the variables to be decided now, 0 for all others."""
        return variable.cost if variable.decided <= event.time else 0.0


class Random(Greedy):
    """Optimizes the current event with random costs: any feasible decision may come out."""

    name = "random"

    def cost(self, variable: Variable, event: Event) -> float:  # noqa: ARG002
        """Draw a cost; dependent variables have none."""
        return 0.0 if variable.auxiliary else float(self.random.uniform(-1.0, 1.0))


class Rolling(Reoptimization):
    """Optimizes over the revealed variables to be decided within a planning horizon."""

    name = "rolling"

    def __init__(self, window: float = 1.0) -> None:
        self.window = _window(window)

    def considered(self, event: Event) -> list[Variable]:
        """Return the variables to be decided soon."""
        until = event.time + self.window
        return [x for x in self.state.open.values() if x.auxiliary or x.decided <= until]


class Lookahead(Reoptimization):
    """Also sees the data of the next ``window`` time units, and optimizes over them.

    As long as nothing becomes known that the last plan did not contain, it is followed.

    Parameters
    ----------
    window : float
    commit : float
        Variables to be decided within this many time units of a plan are fixed with it.
    terminal : callable, optional
        (variable, end of the window) -> value of a unit of the variable beyond the end.
    forecast : float or callable, optional
        Forecast of a coming variable: a function (variable, time until it is revealed,
        random numbers) -> its cost, or a mapping of some of ``cost``, ``lower``, ``upper``. A
        number is the standard error of costs, relative. By default the truth.
    future : sequence, optional
        All events; by default the family computes them.
    """

    name = "lookahead"

    def __init__(
        self,
        window: float = 1.0,
        *,
        commit: float = 0.0,
        terminal: Terminal | None = None,
        forecast: Forecast | float | None = None,
        future: Sequence[Event] | None = None,
    ) -> None:
        self.window, self.commit = _window(window), _window(commit, "commit")
        self.terminal, self.future = terminal, future
        self.forecast = noise(forecast) if isinstance(forecast, int | float) else forecast
        self.knows = ("future",) if future is None else ()

    def start(self, public: Public, prior: Prior, streams: Streams) -> None:
        """Forget every earlier run."""
        super().start(public, prior, streams)
        coming = self.future
        if coming is None:
            coming = [Event.model_validate(event) for event in prior["future"]]
        self._coming, self._streams = deque(coming), streams
        self._expected: dict[str, ProgramVariable] = {}
        self._plan: dict[str, float] = {}
        self._fresh, self._until = False, -math.inf

    def step(self, event: Event) -> Decision:
        """Add the data of the window, and decide."""
        self._fresh &= self.forecast is None and self.terminal is None
        while self._coming and self._coming[0].time <= event.time + self.window:
            coming = self._coming.popleft()
            self._expected |= {c.name: c for c in coming.columns}
            self.state.add(coming)
            self._fresh = False
        if self.forecast is not None:
            self._believe(self.forecast, event)
        decision = self.decide(event)
        self.state.commit(event, decision)
        return decision

    def decide(self, event: Event) -> Decision:
        """Follow the plan, or make another one."""
        follow = self._fresh or event.time < self._until
        if not (follow and self._plan.keys() >= set(event.decide)):
            chosen = self.considered(event)
            costs = {x.name: self.cost(x, event) for x in chosen}
            planned = {x.name for x in chosen if x.decided < self._until} & self._plan.keys()
            fixed = {name: self._plan[name] for name in planned}
            found = solve_open(self.state, chosen, costs, place=self.place(event), fixed=fixed)
            if found is None:
                raise self.stuck(event)
            self._plan, self._fresh = found, not self.state.cones  # which are kept less exactly
            self._until = max(self._until, event.time + self.commit)
        variables = self.state.variables
        within = {n: min(self._plan[n], variables[n].upper) for n in event.decide}
        return {n: max(value, variables[n].lower) for n, value in within.items()}

    def cost(self, variable: Variable, event: Event) -> float:
        """Return the cost of a variable, with its terminal value."""
        if self.terminal is None:
            return variable.cost
        return variable.cost + float(self.terminal(variable, event.time + self.window))

    def _believe(self, forecast: Forecast, event: Event) -> None:
        """Forecast the coming variables; those that have come are as they are."""
        for name, true in list(self._expected.items()):
            variable, lead = self.state.variables[name], true.revealed - event.time
            given: Any = {}
            if lead > 0:
                given = forecast(true, lead, self._streams(f"forecast {name}"))
                given = given if isinstance(given, Mapping) else {"cost": given}
            else:
                del self._expected[name]
            for field in ("cost", "lower", "upper"):
                setattr(variable, field, float(given.get(field, getattr(true, field))))


def noise(error: float) -> Forecast:
    """Return forecasts whose costs have a relative standard error.

    The factor of a variable is normal, and the same at all times of a run.
    """
    if not 0 <= error < math.inf:
        raise InputError(f"forecast {error}: expected a relative standard error >= 0")
    return lambda variable, _lead, random: variable.cost * (1 + error * random.standard_normal())


class Duals:
    """Values the state at a window's end at the shadow prices of another instance.

    A unit of a variable costs what it uses of the rows in which variables appear after the
    window's end, times their duals in the LP relaxation. Rows and variables are found by name.

    Parameters
    ----------
    inst : Declared
        A linear program whose names are those of the instance that is played: an earlier one of the
        same problem.
    """

    def __init__(self, inst: Declared) -> None:
        from optsched.declared.arrays import arrays, duals

        if inst.cones:
            raise InputError("terminal duals: there are cones, expected a linear model")
        found = duals(arrays(inst))
        if found is None:
            raise InputError("terminal duals: the relaxation has no optimum, expected one")
        sign = 1 if inst.sense == "min" else -1
        uses: dict[str, list[tuple[float, float]]] = {}
        for row, y in zip(inst.rows, found.tolist(), strict=True):
            last = max((inst.columns[j].revealed for j, _ in row.entries), default=-math.inf)
            for j, a in row.entries if y else ():
                uses.setdefault(inst.columns[j].name, []).append((last, -sign * y * a))
        self._uses: dict[str, tuple[list[float], list[float]]] = {}
        for name, used in uses.items():
            lasts, values = zip(*sorted(used, reverse=True), strict=True)
            self._uses[name] = [-t for t in lasts], [0.0, *accumulate(values)]

    def __call__(self, variable: Variable, end: float) -> float:
        """Return the terminal value of a unit of a variable."""
        lasts, values = self._uses.get(variable.name, ([], [0.0]))
        return values[bisect_left(lasts, -end)]


class Relaxed(Reoptimization):
    """Solves the LP relaxation, rounds the variables to be decided now, and repairs violations."""

    name = "relaxed"

    def decide(self, event: Event) -> Decision:
        """Fix the integer variables one by one, the least fractional first."""
        fixed: dict[str, float] = {}
        if not event.decide:
            return fixed
        open_now = list(self.state.open.values())
        costs, place = {x.name: x.cost for x in open_now}, self.place(event)

        def solved() -> dict[str, float] | None:
            return solve_open(self.state, open_now, costs, place=place, fixed=fixed, relaxed=True)

        found = solved()
        waiting = [x.name for x in map(self.state.open.get, event.decide) if x and x.integer]
        while found is not None and waiting:
            values = found
            whole = [name for name in waiting if values[name] == round(values[name])]
            for name in whole:
                fixed[name] = values[name]
            waiting = [name for name in waiting if name not in fixed]
            if not waiting:
                break
            name = min(waiting, key=lambda n: abs(values[n] - round(values[n])))
            waiting.remove(name)
            near = round(values[name])
            for value in (near, math.floor(values[name]) + math.ceil(values[name]) - near):
                fixed[name] = float(value)
                found = solved()
                if found is not None:
                    break
        # where rounding led nowhere, all at once
        found = solved() if found else solve_open(self.state, open_now, costs, place=place)
        if found is None:
            raise self.stuck(event)
        return {name: found[name] for name in event.decide}


class Posted(Greedy):
    """Charges for capacities: the price of a row rises exponentially with its load, from L to U.

    L and U are the least and the greatest cost per share of the capacities that a variable uses;
    by default those of the instance, which are then known beforehand. Rows that are revealed with
    the variables of one event alone are no capacities.
    """

    name = "posted"

    def __init__(self, low: float | None = None, high: float | None = None) -> None:
        if (low is None) != (high is None) or (low is not None and not 0 < low <= (high or 0.0)):
            raise InputError(f"posted: low {low} and high {high}, expected 0 < low <= high")
        self.low, self.high = low, high
        self.knows = () if low is not None else ("rates",)

    def cost(self, variable: Variable, event: Event) -> float:
        """Return the reduced profit of a variable at the prices of the rows."""
        if variable.decided > event.time:
            return 0.0
        rates = self.prior.get("rates", ())
        low, high = (self.low, self.high) if self.low is not None else (*rates, None, None)[:2]
        if low is None or high is None:
            return variable.cost
        now = set(event.decide)
        price = 0.0
        for name, a in variable.coefficients.items():
            row = self.state.rows[name]
            if a > 0 and 0 < row.upper < math.inf and not now.issuperset(row.coefficients):
                load = float(row.activity) / row.upper
                price += a / row.upper * low * (high / low) ** min(1.0, max(0.0, load))
        return variable.cost - price


def rates(inst: Declared) -> list[float]:
    """Return the least and the greatest cost per share of capacity; nothing where there is none."""
    share = [0.0] * len(inst.columns)
    for row in inst.rows:
        times = {inst.columns[j].decided for j, _ in row.entries}
        if len(times) > 1 and 0 < row.upper < math.inf:
            for j, a in row.entries:
                share[j] += max(a, 0.0) / row.upper
    found = [c.cost / s for c, s in zip(inst.columns, share, strict=True) if c.cost > 0 and s > 0]
    return [min(found), max(found)] if found else []


def _window(window: float, name: str = "window") -> float:
    if not 0 <= window < math.inf:
        raise InputError(f"{name} {window}: expected a number of time units >= 0")
    return window


def solve_open(
    state: State,
    chosen: Sequence[Variable],
    costs: Mapping[str, float],
    *,
    place: str,
    fixed: Mapping[str, float] | None = None,
    relaxed: bool = False,
    patient: bool = True,
    broken: list[str] | None = None,
) -> dict[str, float] | None:
    """Optimize over some open variables, at the decisions so far.

    Work on an integer program is limited to `EFFORT`: the best solution by then counts.

    Parameters
    ----------
    state : State
    chosen : sequence of Variable
        Others that are open stay at their bound nearest to 0.
    costs : mapping
        By name, in the problem's sense.
    place : str
        The policy and the time, for messages.
    fixed : mapping, optional
        Values by name.
    relaxed : bool
        Drop integrality.
    patient : bool
        Where no solution was found by then, go on until there is one, up to `MOST_EFFORT`.
    broken : list, optional
        Takes a constraint that cannot be satisfied next to the others, if there is no solution.

    Returns
    -------
    dict or None
        Values by name; None: there are none, or none was found.

    Raises
    ------
    PolicyError
        The program is unbounded, or `MOST_EFFORT` was spent before a solution was found.
    """
    from scipy.sparse import csc_array

    from optsched.declared.arrays import (
        Arrays,
        by_rows,
        inwards,
        nearest_feasible,
        polish,
        unbounded_column,
    )
    from optsched.solvers import solve_cones

    if state.cones:
        chosen = _unsettled(state, chosen)
    names = list(dict.fromkeys(row for x in chosen for row in x.coefficients))
    number = {name: i for i, name in enumerate(names)}
    column = {x.name: j for j, x in enumerate(chosen)}
    resting = {x.name: _rest(x) for x in state.open.values() if x.name not in column}
    activity = [state.rows[name].activity for name in names]
    for other, rest in resting.items():
        if rest:
            for name, a in state.open[other].coefficients.items():
                if name in number:
                    activity[number[name]] += exact(a) * exact(rest)
    data = [a for x in chosen for a in x.coefficients.values()]
    rows = [number[name] for x in chosen for name in x.coefficients]
    starts = np.cumsum([0, *(len(x.coefficients) for x in chosen)])
    matrix = csc_array((data, rows, starts), shape=(len(names), len(chosen)))
    known = [(state.rows[name], used) for name, used in zip(names, activity, strict=True)]
    sides = np.array([(row.lower, row.upper) for row, _ in known]).reshape(-1, 2)
    left = np.array([[_left(x, used) for x in (r.lower, r.upper)] for r, used in known])
    left = left.reshape(-1, 2)
    low, high = _forgiven(sides, left)
    sign = 1 if state.sense == "min" else -1
    cost = np.array([sign * costs[x.name] for x in chosen])
    fixed = fixed or {}
    lower, upper = (
        np.array([fixed.get(x.name, getattr(x, side)) for x in chosen])
        for side in ("lower", "upper")
    )
    whole = np.array([x.integer for x in chosen], dtype=bool)
    lower, upper = inwards(lower, upper, whole)
    program = Arrays(cost, matrix, low, high, lower, upper, whole & (not relaxed))
    cones = []
    settled = {n: x.value for n, x in state.variables.items() if x.value} if state.cones else {}
    settled |= resting
    for cone in state.cones:
        f = [c + sum(a * settled.get(name, 0.0) for name, a in part) for c, part in cone.members]
        inside = [[(column[n], a) for n, a in part if n in column] for _, part in cone.members]
        if any(inside):
            cones.append((cone.kind, by_rows(inside, len(chosen)), np.array(f)))
    if cones:
        convex = solve_cones(cost, matrix.tocsr(), (low, high), (lower, upper), cones)
        if convex.status == "unbounded":
            raise _unbounded(place)
        if convex.status not in ("optimal", "feasible") or convex.x is None:
            return None
        moved = nearest_feasible(program, cones, np.array([*_tidy(chosen, convex.x).values()]))
        return {x.name: v for x, v in zip(chosen, moved.tolist(), strict=True)}
    linear = _solved(program, patient=patient)
    if _is_cut_short(linear):
        if not patient:
            return None
        raise PolicyError(
            f"{place}: no solution of the integer program of {len(chosen)} variables was found in "
            f"{MOST_EFFORT:g} work units (about a millisecond each), and none may exist; expected "
            "a program that is easier to solve, or another policy"
        )
    if linear.x is None or linear.status == "unbounded":
        true = program._replace(integer=whole)
        j = None if linear.status == "infeasible" else unbounded_column(true)
        if j is not None:
            raise _unbounded(place, f": variable {chosen[j].name} has no limit")
        if broken is not None:
            broken += _broken(program, names)
        return None
    made = _tidy(chosen, linear.x)
    if not _surely(matrix, np.array([*made.values()]), left) and not kept(made, known):
        exact_values = polish(program, linear.x)
        if exact_values is not None:  # as they are: rounded once more, they can break a row
            pairs = zip(chosen, exact_values.tolist(), strict=True)
            made = {x.name: min(max(v, x.lower), x.upper) for x, v in pairs}
    return made


def _unsettled(state: State, chosen: Sequence[Variable]) -> list[Variable]:
    """Return the variables but those of atoms that depend on nothing that is still to be decided.

    Their cones have no interior.
    """
    among = {x.name for x in chosen}
    groups = [among.intersection(row.coefficients) for row in state.rows.values()]
    groups += [among.intersection(n for _, p in c.members for n, _ in p) for c in state.cones]
    uses: dict[str, list[set[str]]] = {}
    for group in groups:
        for name in group:
            uses.setdefault(name, []).append(group)
    waiting = [x.name for x in chosen if not x.auxiliary]
    found = set(waiting)
    while waiting:
        for group in uses.get(waiting.pop(), ()):
            waiting += group - found
            found |= group
            group.clear()
    return [x for x in chosen if x.name in found]


def _solved(program: Arrays, *, patient: bool = True) -> MipResult:
    """Minimize, with limited work if it is an integer program; `patient` as in `solve_open`."""
    from optsched.solvers import solve_mip

    limit = EFFORT if program.integer.any() else math.inf
    found = solve_mip(*program, effort=limit)
    while patient and _is_cut_short(found) and limit < MOST_EFFORT:
        limit = min(8 * limit, MOST_EFFORT)
        found = solve_mip(*program, effort=limit)
    return found


def _is_cut_short(found: MipResult) -> bool:
    """Whether the work was spent before anything was known."""
    return found.x is None and (found.claim is None or found.claim.status == "Stopped early")


def _broken(program: Arrays, names: Sequence[str]) -> list[str]:
    """Return the row that is broken most where all together are broken least."""
    from scipy.sparse import eye_array, hstack

    m, n = program.rows.shape
    none, some, free = np.zeros(2 * m), np.ones(2 * m), np.full(2 * m, math.inf)
    found = _solved(
        program._replace(
            cost=np.concatenate((np.zeros(n), some)),
            rows=hstack([program.rows, eye_array(m), -eye_array(m)]),
            lower=np.concatenate((program.lower, none)),
            upper=np.concatenate((program.upper, free)),
            integer=np.concatenate((program.integer, none)),
        ),
        patient=False,
    )
    if found.x is None:
        return []
    off = found.x[n : n + m] + found.x[n + m :]
    return [names[int(off.argmax())]] if m and off.max() > FEASIBLE else []


def _unbounded(place: str, which: str = "") -> PolicyError:
    return PolicyError(
        f"{place}: the model of what is revealed is unbounded{which}, "
        "expected bounds that keep it finite"
    )


def _tidy(chosen: Sequence[Variable], found: Floats) -> dict[str, float]:
    """Return the values that a solver meant, within their bounds."""
    values = zip(chosen, found.tolist(), strict=True)
    return {x.name: min(max(neat(v), x.lower), x.upper) for x, v in values}


def _surely(matrix: Any, x: Floats, left: Floats) -> bool:
    """Whether values keep all rows by so much that rounding cannot matter."""
    activity, size = matrix @ x, abs(matrix) @ np.abs(x)
    for limit, sign in zip(left.T, (-1, 1), strict=True):
        there = np.isfinite(limit)
        beyond = sign * (activity - limit)[there] + ROUNDING * (size + np.abs(limit))[there]
        if np.any(beyond > SURE):
            return False
    return True


def kept(values: Mapping[str, float], rows: Iterable[tuple[Constraint, Any]]) -> bool:
    """Whether values keep some rows as the feasibility check demands, after what they carry."""
    for row, used in rows:
        total = used + sum(
            exact(a) * exact(values[name])
            for name, a in row.coefficients.items()
            if values.get(name)
        )
        for limit, sign in ((row.lower, -1), (row.upper, 1)):
            if math.isfinite(limit) and sign * (total - exact(limit)) > slack(exact(limit)):
                return False
    return True


def _rest(variable: Variable) -> float:
    """Return the value nearest to 0."""
    return min(max(0.0, variable.lower), variable.upper)


def _left(limit: float, activity: Any) -> float:
    """Return the slack of a limit at an activity."""
    return float(exact(limit) - activity) if activity and math.isfinite(limit) else limit


def _forgiven(limits: Floats, left: Floats) -> tuple[Floats, Floats]:
    """Return the slack of lower and of upper limits; tolerance that was used up is restored.

    Parameters
    ----------
    limits, left : array, shape (m, 2)
    """
    tolerance = float(EPS) * np.maximum(1.0, np.abs(limits)) * (1 + ROUNDING)
    beyond = left * (1, -1)
    low, high = np.where((beyond > 0) & (beyond <= tolerance), 0.0, left).T
    return low, high


POLICIES: dict[str, Callable[..., Online]] = {
    "greedy": Greedy,
    "re-solve": Reoptimization,
    "lookahead": Lookahead,
    "rolling": Rolling,
    "relaxed": Relaxed,
    "random": Random,
}
