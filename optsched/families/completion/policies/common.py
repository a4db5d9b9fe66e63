"""Code shared by the baselines: the cluster, the clock, and jobs that run in pieces.

The resource configuration is the "ideal" one: worker and PS type of the mode with the shortest
duration. A baseline decides at every arrival and whenever a job ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from optsched.families.completion.instance import CompletionJob, Piece, Platform
from optsched.families.completion.modes import ArrivedJob, Cluster, Modes
from optsched.families.completion.oracle.schedule import (
    best_schedule,
    load_of,
    piece_of,
    placement,
)
from optsched.families.completion.oracle.servers import PricedServers
from optsched.numbers.arrays import Ints
from optsched.numbers.resources import ceil_tol, slack
from optsched.numbers.streams import Streams
from optsched.problem import Information, Prior
from optsched.scheduling.jobs import Arrivals


@dataclass(frozen=True, eq=False)
class RunningJob:
    """A job that runs, and where; in its first ``idle`` slots it gets going again."""

    piece: Piece
    load: Ints  # (H, R)
    idle: int = 0


class Baseline(ABC):
    """A policy without prior knowledge that holds servers for the jobs that run."""

    name: str
    information: Information = "after"
    knows: tuple[str, ...] = ()
    cost: int = 0
    """Slots that a job which was stopped loses whenever it starts again, but where it was at once.
    """

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Begin with empty servers."""
        self.platform, self.streams = public, streams
        self.cluster = Cluster(public)
        self.free = self.cluster.arrays.capacity.copy()  # (H, R)
        self.tasks: dict[int, ArrivedJob] = {}
        self.waiting: dict[int, int] = {}  # job -> slot since which it waits, in order of arrival
        self.running: dict[int, RunningJob] = {}
        self.left: dict[int, Fraction] = {}  # mini-batches
        self.stopped: set[int] = set()  # jobs that have run and were stopped
        self.slot = 0  # of the event
        self.out: dict[int, list[Piece]] = {}  # plans of jobs from then on

    def step(self, event: Arrivals) -> dict[int, list[Piece]]:
        """Let the clock go to the slot of the event; after the last slot, until all is done."""
        self.out = {}
        t = self.slot = event.slot
        changed = self._end(t)
        for j, job in event.jobs.items():
            self.tasks[j] = self.cluster.task(cast(CompletionJob, job))
            self.left[j] = Fraction(self.tasks[j].job.batches)
            self.waiting[j] = t
            self.arrived(j)
            changed = True
        if changed or self.impatient(t):
            self.decide(t)
        while t == self.platform.horizon and self.running:
            now = min(held.piece.end for held in self.running.values())
            self._end(now)
            self.decide(now)
        return self.out

    def arrived(self, j: int) -> None:  # noqa: B027
        """Note a job that has just arrived."""

    def impatient(self, t: int) -> bool:  # noqa: ARG002
        """Whether to decide anew though nothing has come or gone."""
        return False

    @abstractmethod
    def decide(self, t: int) -> None:
        """Start (and stop) jobs at the beginning of slot ``t``."""

    def modes(self, j: int, workers: int | None = None, *, ideal: bool = True) -> Modes:
        """Return the modes of a job with at most this many workers, of the ideal worker type."""
        modes = self.tasks[j].modes
        if workers is not None:
            few = np.flatnonzero(modes.workers <= workers)
            modes = modes.take(few if few.size else np.flatnonzero(modes.workers == 1))
        if ideal:
            modes = modes.take(np.flatnonzero(modes.worker_type == modes.worker_type[0]))
        return modes

    def begin(self, j: int, t: int, modes: Modes) -> bool:
        """Start a waiting job in the mode that ends first among those that fit now, if any."""
        if not modes.size:
            return False
        types, none = self.cluster.types, np.zeros((0, *self.free.shape))
        servers = PricedServers.of(types, none, self.free, self.cluster.ones)
        found = best_schedule(
            self.cluster.types,
            modes,
            servers,
            arrival=0,
            weight=1.0,
            starts=(np.zeros(modes.size, np.int64), np.zeros(modes.size, np.int64)),
        )
        if found is None:
            return False
        workers, ps = placement(self.cluster.types, servers, found)
        piece = piece_of(found, workers, ps, self.platform.ring, shift=t)
        idle = self.cost if j in self.stopped else 0
        piece = piece.model_copy(update={"duration": idle + self._rest(j, piece)})
        load = load_of(self.cluster.types, found, workers, ps)
        self.free -= load
        self._run(j, RunningJob(piece, load, idle))
        return True

    def stop(self, j: int, t: int) -> RunningJob:
        """Take a running job off its servers; its work so far counts."""
        held = self.running.pop(j)
        self.free += held.load
        self.waiting[j] = t
        self._did(j, held, t - held.piece.start)
        if t > held.piece.start:
            self.stopped.add(j)
        pieces = self.out.setdefault(j, [])
        if pieces and pieces[-1].start == held.piece.start:
            pieces.pop()
        begin = max(held.piece.start, self.slot)
        if t > begin:
            pieces.append(held.piece.model_copy(update={"start": begin, "duration": t - begin}))
        return held

    def resume(self, j: int, t: int, held: RunningJob) -> bool:
        """Start a job that was stopped in this slot again where it was, if it fits."""
        if (held.load > self.free).any():
            return False
        piece = held.piece.model_copy(update={"start": t})
        idle = max(0, held.idle - (t - held.piece.start))
        piece = piece.model_copy(update={"duration": idle + self._rest(j, piece)})
        self.free -= held.load
        self._run(j, RunningJob(piece, held.load, idle))
        return True

    def _run(self, j: int, held: RunningJob) -> None:
        """Set from when to when a waiting job runs; :meth:`stop` takes back the rest."""
        self.running[j] = held
        self.out.setdefault(j, []).append(held.piece)
        del self.waiting[j]

    def _end(self, t: int) -> bool:
        done = [j for j, held in self.running.items() if held.piece.end <= t]
        for j in done:
            held = self.running.pop(j)
            self.free += held.load
            self._did(j, held, held.piece.duration)
        return bool(done)

    def _did(self, j: int, held: RunningJob, slots: int) -> None:
        self.left[j] -= max(0, slots - held.idle) * self._speed(j, held.piece)

    def _speed(self, j: int, piece: Piece) -> Fraction:
        """Return mini-batches per slot."""
        n, kind = piece.number, piece.ps_type or 0
        job = self.tasks[j].job
        return n / self.platform.batch_slots(job, piece.worker_type, kind, piece.together, n)

    def _rest(self, j: int, piece: Piece) -> int:
        """Return how many slots the job still needs as ``piece`` runs."""
        if self.left[j] == self.tasks[j].job.batches:  # rounding of the feasibility check
            job, kind = self.tasks[j].job, piece.ps_type or 0
            return self.platform.duration(
                job, piece.worker_type, kind, piece.together, piece.number
            )
        need = self.left[j] / self._speed(j, piece)
        whole = max(1, ceil_tol(need))
        short = self.left[j] - whole * self._speed(j, piece)
        return whole if short <= slack(Fraction(self.tasks[j].job.batches)) / 2 else whole + 1
