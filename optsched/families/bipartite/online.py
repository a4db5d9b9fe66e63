"""How an online run of family `bipartite` is run, recorded and checked."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from optsched.families.bipartite.instance import (
    BipartiteInstance,
    BipartiteSchedule,
    Platform,
    Record,
    Slot,
)
from optsched.families.bipartite.policies.baselines import BASELINES
from optsched.families.bipartite.policies.paper import KNOWLEDGE, OgaSched
from optsched.families.bipartite.verify import Verifier
from optsched.families.bipartite.verify import verify as verify_decisions
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.problem import Information, Policy, Verdict, Violation, Wire

POLICIES: Mapping[str, Callable[..., Policy]] = {
    "ogasched": OgaSched,
    "ogasched-theory": lambda **options: OgaSched(**{"step": "theory", **options}),
    "ogasched-adaptive": lambda **options: OgaSched(**{"step": "adaptive", **options}),
    "ogasched-constant": lambda **options: OgaSched(**{"step": "constant", "eta": 1.0, **options}),
    **BASELINES,
}

SHORT = 100  # amounts that are written as a list
KEPT = 250_000  # numbers of decisions up to which a run keeps them all


def events(inst: BipartiteInstance, information: Information = "after") -> Iterator[Slot]:
    """Hand over the jobs slot by slot; policies that decide first see those of the slot before.

    Every event has an array of its own: no other slot can be reached from it.
    """
    shown = Slot.without_jobs(inst.arrays.copies).jobs
    for t, jobs in enumerate(inst.jobs):
        if information == "before":
            yield Slot(t, shown)
        shown = jobs.copy()
        shown.setflags(write=False)
        if information != "before":
            yield Slot(t, shown)


def _take(decision: Any) -> Floats:
    taken = np.array(decision, np.float64)
    if not np.isfinite(taken).all():
        raise ValueError(f"has the amount {taken[~np.isfinite(taken)][0]}, expected finite ones")
    taken.setflags(write=False)
    return taken


def _write(decision: Any) -> Any:
    """Return a decision as JSON: all amounts, as bytes where a list would take long to write."""
    y = _take(decision)
    if y.ndim != 1 or len(y) <= SHORT:
        return y.tolist()
    return {"float64": base64.b64encode(y.astype("<f8").tobytes()).decode()}


def _read(public: Platform, content: Any) -> Floats:
    """Return the decision that was written.

    Raises
    ------
    ValueError
        It is no list of numbers, no bytes of them, and does not name channels with amounts; or
        there are not as many as channels.
    """
    if isinstance(content, dict) and isinstance(content.get("float64"), str):
        given = base64.b64decode(content["float64"], validate=True)
        if len(given) % 8:
            raise ValueError(f"has {len(given)} bytes, expected 8 for each channel")
        content = np.frombuffer(given, "<f8")
    elif isinstance(content, list):
        _must_be_numbers(content)
    y = np.zeros(public.arrays.channels)
    if isinstance(content, list | np.ndarray):
        if (taken := _take(content)).shape != y.shape:
            raise ValueError(f"has shape {taken.shape}, expected one amount per channel: {y.shape}")
        return taken
    if not isinstance(content, dict) or set(content) != {"channels", "amounts"}:
        raise ValueError(
            f'is {content!r:.60}, expected a list of amounts, or {{"channels": [...], '
            '"amounts": [...]}}'
        )
    channels, amounts = content["channels"], content["amounts"]
    if not isinstance(channels, list):
        raise ValueError(f"has {channels!r:.60} as channels, expected a list")
    _must_be_numbers(amounts)
    if len(channels) != len(amounts):
        raise ValueError(f"has {len(amounts)} amounts, expected one per channel: {len(channels)}")
    if any(type(i) is not int or not 0 <= i < len(y) for i in channels):
        raise ValueError(f"has channels that are not in 0..{len(y) - 1}")
    if len({*channels}) < len(channels):
        raise ValueError("names a channel twice, expected each at most once")
    y[channels] = amounts
    return _take(y)


def _must_be_numbers(amounts: Any) -> None:
    if not isinstance(amounts, list) or not {*map(type, amounts)} <= {int, float}:
        raise ValueError(f"has {amounts!r:.60} as amounts, expected a list of numbers")


def _read_event(public: Platform, content: Any) -> Slot:
    jobs = np.zeros(public.arrays.copies, np.bool_)
    jobs[:] = content["jobs"]
    jobs.setflags(write=False)
    return Slot(content["slot"], jobs)


WIRE = Wire(
    public=Platform,
    event=lambda event: {"slot": event.slot, "jobs": event.jobs.astype(int).tolist()},
    read_event=_read_event,
    decision=_write,
    read_decision=_read,
    take=_take,
)
"""Events show whether each copy of a port has a job, 1 or 0."""


class Recorder:
    """Has every decision checked at once; keeps them while they are few."""

    def __init__(self, inst: BipartiteInstance, policy: Policy | None = None) -> None:
        self._policy = policy
        self._verifier = Verifier(inst)
        self._keep = inst.horizon * inst.arrays.channels <= KEPT
        self._decisions: list[Floats] = []

    def take(self, event: Slot, decision: Floats) -> None:
        """Check the decision of one slot."""
        self._verifier.slot(event.slot, event.jobs, decision)
        if self._keep:
            self._decisions.append(decision)

    def finish(self) -> tuple[BipartiteSchedule, Verdict]:
        """Return the decisions, or the data to repeat them, and the verdict."""
        verifier = self._verifier
        record = None
        if not self._keep:
            record = Record(
                policy="" if self._policy is None else self._policy.name,
                options=dict(getattr(self._policy, "options", {})),
                fingerprint=verifier.fingerprint(),
            )
        numbers: dict[tuple[float, ...], int] = {}
        used = [numbers.setdefault(tuple(d.tolist()), len(numbers)) for d in self._decisions]
        schedule = BipartiteSchedule(
            decisions=tuple(numbers),
            used=tuple(used),
            rewards=tuple(verifier.rewards),
            record=record,
        )
        return schedule, verifier.verdict()


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
    """Check ``schedule``; one that is only a record is repeated, and must come out the same.

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
        return _rejected("a record next to decisions, expected one of the two", inst.horizon)
    try:
        verifier = repeat(inst, record)
    except (TypeError, ValueError) as err:  # options that the policy does not know or take
        return _rejected(f"record of {record.policy}: cannot be repeated: {err}", inst.horizon)
    if verifier.fingerprint() != record.fingerprint:
        return _rejected(
            f"record of {record.policy}: repeated, it makes decisions of fingerprint "
            f"{verifier.fingerprint()}, expected {record.fingerprint}",
            inst.horizon,
        )
    verifier.compare(range(inst.horizon), schedule.rewards)
    return verifier.verdict()


def _rejected(place: str, slots: int) -> Verdict:
    return Verdict(violations=(Violation(equation="9", place=place, amount=slots),), value=None)


def repeat(inst: BipartiteInstance, record: Record) -> Verifier:
    """Run the policy of a record again, before the verifier."""
    options: dict[str, Any] = dict(record.options)
    policy = POLICIES[record.policy](**options)
    known = {name: KNOWLEDGE[name](inst) for name in policy.knows}
    policy.start(inst.platform(), known, Streams(0))  # no policy here draws anything
    verifier = Verifier(inst)
    for event in events(inst, policy.information):
        verifier.slot(event.slot, inst.jobs[event.slot], policy.step(event))
    return verifier
