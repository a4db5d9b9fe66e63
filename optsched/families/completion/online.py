"""Online process: events, and the schedule made of the decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    CompletionSchedule,
    Piece,
    Platform,
)
from optsched.families.completion.verify import verify
from optsched.files.format import first_error
from optsched.problem import Information, Policy, Verdict, Wire
from optsched.scheduling.jobs import Arrivals, arrivals_by_slot
from optsched.scheduling.wire import by_job, must_have_arrived, read_arrivals, write_arrivals

Decision = Mapping[int, Sequence[Piece]]
"""Plan of a job from now on; nothing of it may begin before the slot of the decision.

A later decision on the same job replaces the part not yet done: so a policy that
preempts states when a job starts, and an empty list stops it.
"""


def events(inst: CompletionInstance, information: Information = "after") -> Iterator[Arrivals]:
    """Hand over the jobs slot by slot; then slot T: no more arrivals, decide the rest."""
    return arrivals_by_slot(inst.jobs, inst.horizon + 1, information)


def _take(decision: Any) -> Mapping[int, tuple[Piece, ...]]:
    """Take down pieces by job; every piece is checked again, and no other code holds it."""
    return MappingProxyType({j: _pieces(j, pieces) for j, pieces in by_job(decision)})


def _pieces(j: int, pieces: Any) -> tuple[Piece, ...]:
    if not isinstance(pieces, list | tuple):
        raise ValueError(f"has a {type(pieces).__name__} for job {j}, expected a list of pieces")
    try:
        plain = [p.model_dump() if isinstance(p, Piece) else p for p in pieces]
        return tuple(Piece.model_validate(p) for p in plain)
    except ValidationError as err:
        raise ValueError(f"has a wrong piece for job {j}: {first_error(err)}") from err


WIRE = Wire(
    public=Platform,
    event=write_arrivals,
    read_event=lambda _public, content: read_arrivals(CompletionJob, content),
    decision=lambda decision: {
        str(j): [piece.model_dump(mode="json") for piece in pieces]
        for j, pieces in _take(decision).items()
    },
    read_decision=lambda _public, content: _take(content),
    take=_take,
)


class Recorder:
    """Collects decisions; a later one replaces pieces that have not begun."""

    def __init__(self, inst: CompletionInstance, _policy: Policy | None = None) -> None:
        self._inst = inst
        self._jobs: list[list[Piece]] = [[] for _ in inst.jobs]
        self._servers = sum(machines.count for machines in inst.servers)

    def take(self, event: Arrivals, decision: Decision) -> None:
        """Add the pieces of a decision, instead of those that have not begun.

        Raises
        ------
        ValueError
            A job has not arrived yet, or its pieces begin before they were decided or at once.
        """
        for j, pieces in decision.items():
            must_have_arrived(self._inst.jobs, j, event.slot)
            starts = [piece.start for piece in pieces]
            early = min(starts, default=event.slot)
            if early < event.slot:
                raise ValueError(
                    f"slot {event.slot}: a piece of job {j} begins in slot {early}, "
                    "expected none before it is decided"
                )
            named = max((len(p) for piece in pieces for p in (piece.workers, piece.ps)), default=0)
            if len({*starts}) < len(starts) or named > self._servers:
                raise ValueError(
                    f"slot {event.slot}: job {j} has {len(starts)} pieces on up to {named} "
                    f"servers, expected at most one that begins in a slot, and {self._servers} "
                    "servers"
                )
            self._jobs[j] = [*_until(self._jobs[j], event.slot), *pieces]

    def schedule(self) -> CompletionSchedule:
        """Return the pieces of all decisions."""
        return CompletionSchedule(jobs=tuple(tuple(_joined(pieces)) for pieces in self._jobs))

    def finish(self) -> tuple[CompletionSchedule, Verdict]:
        """Return the schedule, and its verdict."""
        schedule = self.schedule()
        return schedule, verify(self._inst, schedule, unfinished=True)


def assemble(
    inst: CompletionInstance, played: Sequence[tuple[Arrivals, Decision]]
) -> CompletionSchedule:
    """Collect the pieces of all decisions; ValueError as in `Recorder.take`."""
    recorder = Recorder(inst)
    for event, decision in played:
        recorder.take(event, decision)
    return recorder.schedule()


def _until(pieces: Sequence[Piece], slot: int) -> list[Piece]:
    """Return the parts of ``pieces`` done before ``slot``."""
    return [
        piece.model_copy(update={"duration": min(piece.end, slot) - piece.start})
        for piece in pieces
        if piece.start < slot
    ]


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Join pieces that follow on each other without a change."""
    out: list[Piece] = []
    for piece in sorted(pieces, key=lambda x: x.start):
        if out and out[-1].end == piece.start:
            whole = out[-1].model_copy(update={"duration": out[-1].duration + piece.duration})
            alike = piece.model_copy(update={"start": whole.start, "duration": whole.duration})
            if alike == whole:
                out[-1] = whole
                continue
        out.append(piece)
    return out
