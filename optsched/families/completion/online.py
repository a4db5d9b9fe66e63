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
from optsched.files.format import first_error
from optsched.problem import Information, Wire
from optsched.scheduling.jobs import Arrivals, arrivals_by_slot
from optsched.scheduling.wire import by_job, must_have_arrived, read_arrivals, write_arrivals

Decision = Mapping[int, Sequence[Piece]]
"""Plan of a job from now on; nothing of it may begin before the slot of the decision.

A later decision on the same job takes the place of what has not been done by then: so a policy that
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


def assemble(
    inst: CompletionInstance, played: Sequence[tuple[Arrivals, Decision]]
) -> CompletionSchedule:
    """Collect the pieces of all decisions.

    Raises
    ------
    ValueError
        A job has not arrived yet, or a piece begins before it was decided.
    """
    jobs: list[list[Piece]] = [[] for _ in inst.jobs]
    for event, decision in played:
        for j, pieces in decision.items():
            must_have_arrived(inst.jobs, j, event.slot)
            early = min((piece.start for piece in pieces), default=event.slot)
            if early < event.slot:
                raise ValueError(
                    f"slot {event.slot}: a piece of job {j} begins in slot {early}, "
                    "expected none before it is decided"
                )
            jobs[j] = [*_until(jobs[j], event.slot), *pieces]
    return CompletionSchedule(jobs=tuple(tuple(_joined(pieces)) for pieces in jobs))


def _until(pieces: Sequence[Piece], slot: int) -> list[Piece]:
    """Return what has been done of ``pieces`` before ``slot``."""
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
