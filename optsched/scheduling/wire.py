"""Arrivals and placements as JSON, and decisions as they are taken down.

An event is ``{"slot": 3, "jobs": {"17": {a job as in instance files}, ...}}``, a decision
``{"17": {"workers": {"0": 2}, "ps": {"4": 1}}, ...}``: by job, numbers by machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from operator import index
from types import MappingProxyType
from typing import Any

from optsched.problem import Frozen, Schedule, Wire
from optsched.scheduling.jobs import Arrivals, ChunkedJob
from optsched.scheduling.placement import Placement

SIDES = ("workers", "ps")


def placements_wire(public: type[Frozen], job: type[ChunkedJob]) -> Wire:
    """Return the wire of a family whose decisions are placements of jobs."""
    return Wire(
        public=public,
        event=write_arrivals,
        read_event=lambda _public, content: read_arrivals(job, content),
        decision=_write,
        read_decision=_read,
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
    """Refuse a decision in ``slot`` on a job that has not arrived.

    Raises
    ------
    ValueError
        It arrives later, or never.
    """
    if i >= len(jobs) or jobs[i].arrival > slot:
        raise ValueError(f"slot {slot}: decides on job {i}, which has not arrived")


def assemble(
    schedule: Callable[..., Schedule],
    kind: Callable[..., Any],
    inst: Any,
    played: Iterable[tuple[Arrivals, Mapping[int, Placement]]],
) -> Schedule:
    """Return where every job ran, as ``kind`` (workers, ps), by the decisions of all slots.

    Raises
    ------
    ValueError
        A job has not arrived yet.
    """
    workers: list[list[tuple[int, int, int]]] = [[] for _ in inst.jobs]
    ps: list[list[tuple[int, int, int]]] = [[] for _ in inst.jobs]
    for event, decision in played:
        for i, placement in decision.items():
            must_have_arrived(inst.jobs, i, event.slot)
            workers[i] += [(event.slot, h, n) for h, n in sorted(placement.workers.items()) if n]
            ps[i] += [(event.slot, k, m) for k, m in sorted(placement.ps.items()) if m]
    both = zip(workers, ps, strict=True)
    return schedule(jobs=[kind(workers=w, ps=s) if w or s else None for w, s in both])


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
        # of any number
        if 0 <= number < 2**62:
            return number
    raise ValueError(f"has {value!r} as {what}, expected a whole number >= 0")


def _take(decision: Any) -> Mapping[int, Placement]:
    sides: dict[int, list[Any]] = {}
    for i, placement in by_job(decision):
        sides[i] = [getattr(placement, side, None) for side in SIDES]
        if not all(isinstance(side, Mapping) for side in sides[i]):
            kind = type(placement).__name__
            raise ValueError(f"has a {kind} for job {i}, expected a Placement")
    return _placements(sides)


def _read(public: Any, content: Any) -> Mapping[int, Placement]:
    sides = {}
    kinds = ("machines", "worker_machines", "ps_machines")
    machines = sum(c.count for kind in kinds for c in getattr(public, kind, ()))
    for i, answer in by_job(content):
        if not isinstance(answer, dict) or not answer.keys() <= {*SIDES}:
            raise ValueError(
                f'has {answer!r:.60} for job {i}, expected {{"workers": ..., "ps": ...}}'
            )
        sides[i] = [answer.get(side, {}) for side in SIDES]
        if not all(isinstance(side, dict) for side in sides[i]):
            raise ValueError(f"has {answer!r:.60} for job {i}, expected numbers by machine")
        if (named := max(map(len, sides[i]))) > machines:
            raise ValueError(f"has {named} machines for job {i}, expected at most {machines}")
    return _placements(sides)


def _placements(sides: dict[int, list[Any]]) -> Mapping[int, Placement]:
    """Return placements in mappings of their own, which cannot be written.

    Parameters
    ----------
    sides : dict of list of mappings
        By job, numbers by machine of the workers and of the parameter servers.
    """
    own = [dict(side) for both in sides.values() for side in both]
    machines = _wholes([*chain.from_iterable(own)], "a machine")
    numbers = _wholes([*chain.from_iterable(side.values() for side in own)], "a number")
    entries = zip(machines, numbers, strict=True)
    checked = (MappingProxyType(dict(islice(entries, len(side)))) for side in own)
    return MappingProxyType({i: Placement(next(checked), next(checked)) for i in sides})


def _wholes(values: list[Any], what: str) -> list[int]:
    """Return whole numbers: what `whole` states of each, sooner where all are plain."""
    kinds = {*map(type, values)}
    if kinds == {int} and min(values) >= 0 and max(values) < 2**62:
        return values
    if kinds == {str} and all(values) and len(max(values, key=len)) < 19:
        digits = "".join(values)
        if digits.isdecimal() and digits.isascii():
            return [*map(int, values)]
    return [whole(value, what) for value in values]


def _write(decision: Mapping[int, Placement]) -> dict[str, Any]:
    """Return a decision as JSON; the reader reports what is wrong with it."""
    sides = [side for p in decision.values() for side in (p.workers, p.ps)]
    numbers = chain.from_iterable(side.values() for side in sides)
    plain = {*map(type, chain(chain.from_iterable(sides), numbers))} <= {int}

    def write(side: Mapping[Any, Any]) -> dict[Any, int]:
        return dict(side) if plain else {str(h): index(n) for h, n in side.items()}

    return {
        str(i): {"workers": write(placement.workers), "ps": write(placement.ps)}
        for i, placement in decision.items()
    }
