"""What happens online, and how decisions become a schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from optsched.families.completion.instance import CompletionInstance, CompletionSchedule, Piece
from optsched.scheduling.jobs import Arrivals, arrivals_by_slot

Decision = Mapping[int, Sequence[Piece]]
"""Pieces by job; those of a later decision are added to those of an earlier one."""


def events(inst: CompletionInstance) -> Iterator[Arrivals]:
    """Hand over the jobs slot by slot; then slot T: nobody comes any more, decide the rest."""
    yield from arrivals_by_slot(inst.jobs, inst.horizon)
    yield Arrivals(inst.horizon, {})


def assemble(
    inst: CompletionInstance, played: Sequence[tuple[Arrivals, Decision]]
) -> CompletionSchedule:
    """Collect the pieces of all decisions."""
    jobs: list[list[Piece]] = [[] for _ in inst.jobs]
    for _, decision in played:
        for j, pieces in decision.items():
            jobs[j] += pieces
    return CompletionSchedule(jobs=tuple(tuple(_joined(pieces)) for pieces in jobs))


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
