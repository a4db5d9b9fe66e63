"""Arrivals and placements as JSON, and decisions as they are taken down.

An event is ``{"slot": 3, "jobs": {"17": {a job as in instance files}, ...}}``, a decision
``{"17": {"workers": {"0": 2}, "ps": {"4": 1}}, ...}``: by job, numbers by machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from types import MappingProxyType
from typing import Any

from optsched.problem import Frozen, Wire
from optsched.scheduling.jobs import Arrivals, ChunkedJob
from optsched.scheduling.placement import Placement

SIDES = ("workers", "ps")
LARGEST = 2**62  # of any number


def placements_wire(public: type[Frozen], job: type[ChunkedJob]) -> Wire:
    """Return the wire of a family whose decisions are placements of jobs."""
    return Wire(
        public=public,
        event=write_arrivals,
        read_event=lambda _public, content: read_arrivals(job, content),
        decision=_write,
        read_decision=lambda _public, content: _read(content),
        take=_take,
    )


def write_arrivals(event: Arrivals) -> dict[str, Any]:
    """Return an event as JSON."""
    jobs = {str(i): job.model_dump(mode="json") for i, job in event.jobs.items()}
    return {"slot": event.slot, "jobs": jobs}


def read_arrivals(job: type[ChunkedJob], content: Mapping[str, Any]) -> Arrivals:
    """Return the event that was written."""
    jobs = {int(i): job.model_validate(data) for i, data in content["jobs"].items()}
    return Arrivals(content["slot"], jobs)


def by_job(decision: Any) -> list[tuple[int, Any]]:
    """Return the entries of a mapping from jobs, as a list of its own.

    Raises
    ------
    ValueError
        It is no such mapping.
    """
    if not isinstance(decision, Mapping):
        raise ValueError(f"is a {type(decision).__name__}, expected a mapping from jobs")
    return [(whole(i, "a job"), answer) for i, answer in decision.items()]


def must_have_arrived(jobs: Sequence[ChunkedJob], i: int, slot: int) -> None:
    """Refuse a decision in ``slot`` on a job that nobody knows yet.

    Raises
    ------
    ValueError
        It arrives later, or never.
    """
    if i >= len(jobs) or jobs[i].arrival > slot:
        raise ValueError(f"slot {slot}: decides on job {i}, which has not arrived")


def whole(value: Any, what: str) -> int:
    """Return a whole number >= 0, which may be the key of a JSON object.

    Raises
    ------
    ValueError
        It is none.
    """
    kind = type(value)
    if kind is str and value.isdecimal() and value.isascii() and len(value) < 19:
        return int(value)
    if kind is not str and kind is not bool:
        try:
            number = index(value)
        except TypeError:
            number = -1
        if 0 <= number < LARGEST:
            return number
    raise ValueError(f"has {value!r} as {what}, expected a whole number >= 0")


def _take(decision: Any) -> Mapping[int, Placement]:
    taken = {}
    for i, placement in by_job(decision):
        sides: list[Any] = [getattr(placement, side, None) for side in SIDES]
        if not all(isinstance(side, Mapping) for side in sides):
            kind = type(placement).__name__
            raise ValueError(f"has a {kind} for job {i}, expected a Placement")
        taken[i] = Placement(*map(_numbers, sides))
    return MappingProxyType(taken)


def _numbers(side: Mapping[Any, Any]) -> Mapping[int, int]:
    """Return numbers by machine in a mapping of its own, which cannot be written."""
    return MappingProxyType({whole(h, "a machine"): whole(n, "a number") for h, n in side.items()})


def _write(decision: Mapping[int, Placement]) -> dict[str, Any]:
    """Return a decision as JSON; who reads it says what is wrong with it."""
    return {
        str(i): {
            "workers": {str(h): index(n) for h, n in placement.workers.items()},
            "ps": {str(h): index(n) for h, n in placement.ps.items()},
        }
        for i, placement in decision.items()
    }


def _read(content: Any) -> Mapping[int, Placement]:
    taken = {}
    for i, answer in by_job(content):
        if not isinstance(answer, dict) or not answer.keys() <= {*SIDES}:
            raise ValueError(
                f'has {answer!r:.60} for job {i}, expected {{"workers": ..., "ps": ...}}'
            )
        sides = [answer.get(side, {}) for side in SIDES]
        if not all(isinstance(side, dict) for side in sides):
            raise ValueError(f"has {answer!r:.60} for job {i}, expected numbers by machine")
        taken[i] = Placement(*map(_numbers, sides))
    return MappingProxyType(taken)
