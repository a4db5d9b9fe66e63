"""How an online run of family `bipartite` is fed, recorded and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from optsched.families.bipartite.baselines import BASELINES
from optsched.families.bipartite.instance import (
    BipartiteInstance,
    BipartiteSchedule,
    Floats,
    Record,
    Slot,
)
from optsched.families.bipartite.policy import OgaSched
from optsched.families.bipartite.verify import Judge
from optsched.families.bipartite.verify import verify as verify_decisions
from optsched.problem import Policy, Verdict, Violation
from optsched.streams import Streams

POLICIES: Mapping[str, Callable[..., Policy]] = {
    "ogasched": OgaSched,
    "ogasched-theory": lambda **options: OgaSched(**{"step": "theory", **options}),
    "ogasched-adaptive": lambda **options: OgaSched(**{"step": "adaptive", **options}),
    "ogasched-constant": lambda **options: OgaSched(**{"step": "constant", "eta": 1.0, **options}),
    **BASELINES,
}

KEPT = 250_000  # numbers of decisions up to which a run keeps them all


def events(inst: BipartiteInstance) -> Iterator[Slot]:
    """Hand over the jobs slot by slot."""
    return map(Slot, range(inst.horizon), inst.jobs)


class Recorder:
    """Has every decision judged at once; keeps them while they are few."""

    def __init__(self, inst: BipartiteInstance, policy: Policy | None = None) -> None:
        self._policy = policy
        self._judge = Judge(inst)
        self._keep = inst.horizon * inst.arrays.channels <= KEPT
        self._decisions: list[Floats] = []

    def take(self, event: Slot, decision: Floats) -> None:
        """Judge the decision of one slot."""
        self._judge.slot(event.slot, event.jobs, decision)
        if self._keep:
            self._decisions.append(np.array(decision, float))

    def finish(self) -> tuple[BipartiteSchedule, Verdict]:
        """Return the decisions, or what is needed to repeat them, and the verdict."""
        judge = self._judge
        record = None
        if not self._keep:
            record = Record(
                policy="" if self._policy is None else self._policy.name,
                options=dict(getattr(self._policy, "options", {})),
                fingerprint=judge.fingerprint(),
            )
        numbers: dict[tuple[float, ...], int] = {}
        used = [numbers.setdefault(tuple(d.tolist()), len(numbers)) for d in self._decisions]
        schedule = BipartiteSchedule(
            decisions=tuple(numbers), used=tuple(used), rewards=tuple(judge.rewards), record=record
        )
        return schedule, judge.verdict()


def assemble(inst: BipartiteInstance, played: Sequence[tuple[Slot, Floats]]) -> BipartiteSchedule:
    """Collect the decisions of all slots."""
    recorder = Recorder(inst)
    for event, decision in played:
        recorder.take(event, decision)
    return recorder.finish()[0]


def verify(
    inst: BipartiteInstance,
    schedule: BipartiteSchedule,
    *,
    unfinished: bool = False,  # noqa: ARG001
) -> Verdict:
    """Judge ``schedule``; one that is only a record is repeated, and must come out the same.

    Parameters
    ----------
    inst : BipartiteInstance
    schedule : BipartiteSchedule
    unfinished : bool
        Changes nothing: jobs of this family do not complete.
    """
    record = schedule.record
    if record is None:
        return verify_decisions(inst, schedule)
    if record.policy not in POLICIES:
        place = f"record of policy {record.policy!r}: only runs of {', '.join(POLICIES)} are"
        return _rejected(f"{place} repeated, keep the decisions of others", inst.horizon)
    if schedule.decisions or schedule.used:
        return _rejected("a record beside decisions, expected one of the two", inst.horizon)
    try:
        judge = repeat(inst, record)
    except (TypeError, ValueError) as err:  # options that the policy does not know or take
        return _rejected(f"record of {record.policy}: cannot be repeated: {err}", inst.horizon)
    if judge.fingerprint() != record.fingerprint:
        return _rejected(
            f"record of {record.policy}: repeated, it makes decisions of fingerprint "
            f"{judge.fingerprint()}, expected {record.fingerprint}",
            inst.horizon,
        )
    judge.compare(range(inst.horizon), schedule.rewards)
    return judge.verdict()


def _rejected(place: str, slots: int) -> Verdict:
    return Verdict(violations=(Violation(equation="9", place=place, amount=slots),), value=None)


def repeat(inst: BipartiteInstance, record: Record) -> Judge:
    """Run the policy of a record again, before the judge."""
    options: dict[str, Any] = dict(record.options)
    policy = POLICIES[record.policy](**options)
    policy.start(inst.platform(), policy.prior(inst), Streams(0))  # no policy here draws anything
    judge = Judge(inst)
    for event in events(inst):
        judge.slot(event.slot, event.jobs, policy.step(event))
    return judge
