"""Algorithms with predictions: an instance that may differ from the true one in all of its data.

The prediction is an instance of the same sense; variables that both have are matched by name.
`Follow` trusts it. `Guarded` limits the damage that a wrong one does, by means of a baseline that
ignores it: for costs it switches, as for ski rental in Purohit et al. (2018); for gains it combines
two runs, as in Mahdian et al. (2012).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import replace
from fractions import Fraction

from optsched.declared.events import (
    Constraint,
    Decision,
    Event,
    FunctionPolicy,
    Online,
    Public,
    State,
    Variable,
)
from optsched.declared.events import events as events_of
from optsched.declared.model import Declared, plain
from optsched.declared.policies import Lookahead, Reoptimization, kept, solve_open
from optsched.declared.problem import FAMILIES
from optsched.numbers.resources import exact
from optsched.numbers.streams import Streams
from optsched.policies.loader import get_policy
from optsched.problem import InputError, Prior


class Follow(Reoptimization):
    """Follows the optimum of a predicted instance, with repairs where it is infeasible.

    The plan is the optimum of the prediction, given all earlier decisions. A variable gets its
    planned value if the constraints that are revealed can still be met. Else the values for now
    have the least sum of distances from the plan; of these, those that are best for what is
    revealed. Variables that the plan lacks, and all if the prediction has no solution, are decided
    as `re-solve` decides them.

    Parameters
    ----------
    prediction : Declared
    """

    name = "follow"

    def __init__(self, prediction: Declared) -> None:
        self.prediction = prediction

    def start(self, public: Public, prior: Prior, streams: Streams) -> None:
        """Forget every earlier run."""
        super().start(public, prior, streams)
        if public.sense != self.prediction.sense:
            raise InputError(
                f"the prediction is a problem of sense {self.prediction.sense}, "
                f"expected {public.sense}"
            )
        self._expected = State(public.sense)
        for event in events_of(self.prediction):
            self._expected.add(event)
        self._plan: dict[str, float] | None = None

    def step(self, event: Event) -> Decision:
        """Decide on one event, and take the decision into the plan."""
        self.state.add(event)
        decision = self.decide(event)
        self.settle(event, decision)
        return decision

    def settle(self, event: Event, decision: Decision) -> None:
        """Record the decisions; where they differ from the plan, there will be a new one."""
        self.state.commit(event, decision)
        there = [name for name in event.decide if name in self._expected.open]
        self._expected.commit(event.model_copy(update={"decide": tuple(there)}), decision)
        plan = self._plan or {}
        if any(decision.get(name, 0.0) != plan.get(name) for name in there):
            self._plan = None

    def decide(self, event: Event) -> Decision:
        """Return the planned values, or the nearest ones that fit."""
        if not event.decide:
            return {}
        if self._plan is None:
            everything = list(self._expected.open.values())
            costs = {x.name: x.cost for x in everything}
            place = f"{self.place(event)}: the prediction"
            self._plan = solve_open(self._expected, everything, costs, place=place) or {}
        wanted = {}
        for name in event.decide:
            if name in self._plan:
                x, value = self.state.open[name], self._plan[name]
                value = float(round(value)) if x.integer else value
                wanted[name] = min(max(value, x.lower), x.upper)
        found = nearest(self.state, wanted, self.place(event))
        if found is None:
            raise self.stuck(event)
        return {name: found[name] for name in event.decide}


def nearest(state: State, wanted: Mapping[str, float], place: str) -> dict[str, float] | None:
    """Return values of the open variables, as near to those that are wanted as constraints allow.

    Among equally near values, the best ones for the revealed data; None: there are none.
    """
    chosen = list(state.open.values())
    costs = {x.name: x.cost for x in chosen}
    names = dict.fromkeys(row for x in chosen for row in x.coefficients)
    rows = [(state.rows[name], state.rows[name].activity) for name in names]
    if not state.cones and wanted.keys() >= costs.keys() and kept(wanted, rows):
        return dict(wanted)
    found = solve_open(state, chosen, costs, place=place, fixed=wanted, patient=False)
    if found is not None and kept(found, rows):
        return found
    sign = 1.0 if state.sense == "min" else -1.0
    scratch = copy(state)
    scratch.rows = dict(state.rows)
    parts: list[Variable] = []
    distances: dict[str, float] = {}
    for x in chosen:
        if x.name in wanted:
            row = f"plan of {x.name}"
            scratch.rows[row] = Constraint(row, wanted[x.name], wanted[x.name])
            for side in (-1.0, 1.0):
                name = f"{row}, {side:+g}"
                off = Variable(name, 0.0, 0.0, math.inf, False, x.decided)
                off.coefficients = {row: side, "distance": 1.0}
                parts.append(off)
                distances[name] = sign
            x = replace(x, coefficients={**x.coefficients, row: 1.0})
        parts.append(x)
    scratch.rows["distance"] = Constraint("distance", 0.0, math.inf)
    found = solve_open(scratch, parts, dict.fromkeys(costs, 0.0) | distances, place=place)
    if found is None:
        return None
    total = sum(found[name] for name in distances)
    scratch.rows["distance"] = Constraint("distance", 0.0, total)
    costs |= dict.fromkeys(distances, 0.0)
    return solve_open(scratch, parts, costs, place=place, patient=False) or found


class Guarded(Follow):
    """Follows a prediction as far as a baseline, which runs next to it on the same events, allows.

    Of a minimization, the planned values are taken if the costs so far, theirs included, are at
    most 1 / caution times the baseline's costs by then; else those that the baseline
    decides at the decisions so far. Of a maximization, both are run: where all variables are
    continuous, the decision is (1 - caution) times that of `follow` and caution times the
    baseline's; else one of the two runs is drawn, the baseline with probability caution.

    Parameters
    ----------
    prediction : Declared
    caution : float
        From 0 (`follow`) to 1 (the baseline).
    baseline : str or Policy or callable
        A name, or a factory of a policy. It must not know the future.
    """

    def __init__(
        self,
        prediction: Declared,
        caution: float = 0.5,
        baseline: str | Online | Callable[[], Online] = "re-solve",
    ) -> None:
        super().__init__(prediction)
        if not 0 <= caution <= 1:
            raise InputError(f"guarded: caution is {caution}, expected 0 to 1")
        self.caution = caution
        made = baseline
        if isinstance(made, str):
            made = get_policy(FAMILIES[prediction.sense], made)  # type: ignore[assignment]
        elif not isinstance(made, Online):
            made = made()
        if not isinstance(made, Online) or isinstance(made, Lookahead):
            raise InputError(
                f"guarded: baseline {getattr(made, 'name', made)!s:.60} cannot be one, expected "
                "a built-in policy without foresight, or a function of an event"
            )
        self._baseline, self.knows = made, tuple(made.knows)
        self.name = f"guarded({caution:g})"

    def start(self, public: Public, prior: Prior, streams: Streams) -> None:
        """Forget every earlier run."""
        super().start(public, prior, streams)
        self._alone, self._fallback = deepcopy(self._baseline), deepcopy(self._baseline)
        self._follow = Follow(self.prediction)
        for policy in (self._alone, self._fallback, self._follow):
            policy.start(public, prior, streams)
        self._spent = self._allowed = Fraction(0)
        whole = any(c.integer for c in self.prediction.columns)
        share = float(streams("caution").random() < self.caution) if whole else self.caution
        self._share = share if public.sense == "max" else self.caution

    def step(self, event: Event) -> Decision:
        """Decide on one event."""
        alone = self._alone.step(event)
        alone = {name: alone.get(name, 0.0) for name in event.decide}
        if self.state.sense == "min":
            return self._switched(event, alone)
        planned, share = self._follow.step(event), self._share
        made = {0.0: planned, 1.0: alone}.get(share)
        if made is None:
            made = {
                n: float((1 - exact(share)) * exact(planned[n]) + exact(share) * exact(alone[n]))
                for n in event.decide
            }
        return made

    def _switched(self, event: Event, alone: Decision) -> Decision:
        """Follow the plan, or the baseline from here on."""
        self.state.add(event)
        self._fallback.state.add(event)
        self._allowed += self._cost(alone)
        made = {}
        caution, trusted = exact(self.caution), self.caution < 1
        if trusted:
            made = self.decide(event)
            more = caution * (self._spent + self._cost(made) - self._allowed)
            trusted = more <= abs(self._allowed) * (1 - caution)
        if not trusted or isinstance(self._fallback, FunctionPolicy):  # it may keep a memory
            otherwise = self._fallback.decide(event)
            made = made if trusted else otherwise
        made = {name: made.get(name, 0.0) for name in event.decide}
        self._spent += self._cost(made)
        self.settle(event, made)
        self._fallback.state.commit(event, made)
        return made

    def _cost(self, decision: Decision) -> Fraction:
        costs = ((self.state.variables[n].cost, x) for n, x in decision.items())
        return Fraction(sum((plain(exact(c) * exact(x)) for c, x in costs if c and x), 0))
