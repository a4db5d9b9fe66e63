"""Schedules of a worst instance, and their pictures: the best with hindsight next to a policy's.

A store holds no schedules, only their digests. So instance, policy and optimum are computed again,
and drawn if they are what they were.
"""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from optsched.drawing import HINDSIGHT, rendered
from optsched.experiments.cell_keys import Contender, Reference, Source, canonical, contender_of
from optsched.experiments.cells import fingerprint
from optsched.experiments.plan import Plan
from optsched.experiments.pool import ProcessPool, TaskFailed, share_of_memory
from optsched.experiments.statistics import Summary
from optsched.experiments.store import Store
from optsched.pages.blocks import Picture
from optsched.problem import (
    REAL,
    Family,
    InputError,
    Instance,
    PolicyError,
    Schedule,
    family_of,
    get_family,
)
from optsched.process import blas, interrupts

PATIENCE = 30.0  # seconds for all pictures of a page that were not requested
LARGEST = 400_000  # bytes of a picture of lines; a larger one is stored as points
CSS = 96  # pixels of an inch
MICRO = 1e-6


class NotDrawnError(Exception):
    """Why there is no picture, in words."""


def pictures_of(instance: Instance, schedules: Mapping[str, Schedule], title: str) -> list[Picture]:
    """Return what the family draws of schedules, as parts of a page."""
    draw = family_of(instance).pictures
    if draw is None or not schedules:
        return []
    found = []
    for name, figure in draw(instance, schedules).items():
        interrupts.raise_if_interrupted()
        what = name.replace("-", " ")
        words = f"{title}: {what} of {' and of '.join(schedules)}"
        found.append(picture(f"{title}: {what}", figure, words))
    return found


def picture(title: str, figure: Figure, words: str) -> Picture:
    """Return a figure as part of a page: lines, or points if it is too large."""
    with rc_context({"svg.hashsalt": "optsched"}):
        data = rendered(figure, format="svg", metadata={"Date": None, "Creator": None})
        kind = "svg+xml"
        if len(data) > LARGEST:
            kind, data = "png", rendered(figure, format="png", metadata={"Software": None})
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    return Picture(title, source, round(CSS * figure.get_figwidth()), words)


class Artist:
    """Draws worst instances in a process of its own: the times in a store may be untrue.

    Parameters
    ----------
    requested : bool
        The user requests the policies: they are run whatever they are and however long it
        takes.
    """

    def __init__(self, *, requested: bool) -> None:
        self.requested, self._left = requested, math.inf if requested else PATIENCE
        self._pool = ProcessPool(1, memory=share_of_memory(1), patience=lambda _task: self._left)

    def close(self) -> None:
        """End the process."""
        self._pool.close()

    def pictures_of_worst(self, store: Store, plan: Plan, worst: Summary) -> list[Picture]:
        """Return pictures of the instance on which a policy is worst, next to the best schedule.

        Parameters
        ----------
        store : Store
        plan : Plan
            Of the store.
        worst : Summary

        Raises
        ------
        NotDrawnError
            Something takes too long, comes from outside, or is no more what it was.
        """
        cells = _cells(store, worst)
        requested = worst.requested or worst.policy
        mine = [c for c in cells if contender_of(c["policy"]) == requested]
        rated = [c for c in mine if c["low"] is not None]
        cell = max(rated, key=lambda c: c["low"], default=None)
        if cell is None:
            raise NotDrawnError("no cell of it has a ratio")
        family = get_family(json.loads(cell["source"])["family"])
        if family.pictures is None:
            raise NotDrawnError(f"family {family.name} draws no pictures")
        best = _best(family, cells, cell)
        cost = MICRO * (cell["micros"] + (best["micros"] if best else cell["optimum_micros"] or 0))
        self._must_last(cost, requested)
        began = time.monotonic()
        event = self._pool.compute(
            _Drawing(_source(plan, cell["source"]), worst, cell, best, self.requested)
        )
        self._left -= time.monotonic() - began
        if isinstance(event, TaskFailed):
            self._must_last(0.0, requested)
            raise NotDrawnError(f"its schedules cannot be found again: {event.reason}")
        if isinstance(event.found, str):
            raise NotDrawnError(event.found)
        found: list[Picture] = event.found
        return found

    def _must_last(self, cost: float, requested: str) -> None:
        """Refuse what takes longer than is left."""
        if cost >= self._left:
            raise NotDrawnError(
                f"finding its schedules again would exceed the {PATIENCE:.0f} s for all pictures "
                f"of the page; --policy {json.dumps(requested)} draws them nevertheless"
            )


@dataclass(frozen=True)
class _Drawing:
    """Task of the drawing process."""

    source: Source
    worst: Summary
    cell: dict[str, Any]
    best: dict[str, Any] | None  # the cell whose schedule is the best known, if it is no search's
    requested: bool

    def compute(self) -> list[Picture] | str:
        """Return the pictures, or why there are none."""
        try:
            return self._pictures()
        except (NotDrawnError, InputError, PolicyError, ImportError, OSError) as err:
            return " ".join(str(err).split())

    def _pictures(self) -> list[Picture]:
        worst, cell = self.worst, self.cell
        instance = self.source.make(worst.worst_seed)
        if instance.digest() != worst.worst_sha256:
            raise NotDrawnError("its seed makes another instance by now; have versions changed?")
        with blas.one_thread():  # as when it was computed
            mine = _run(instance, cell, requested=self.requested)
            if self.best is None:
                theirs = _solve(instance, cell)
            else:  # a request for one policy does not permit the code of another
                same = contender_of(self.best["policy"]) == contender_of(cell["policy"])
                theirs = _run(instance, self.best, requested=self.requested and same)
        shown = {HINDSIGHT: theirs, worst.policy: mine}
        drawn = self.source.drawn_by(worst.worst_seed)
        least = "at least " * (worst.worst_high > worst.worst)
        title = f"{worst.policy} on {worst.group}, {drawn}, ratio {least}{worst.worst:.4g}"
        found = pictures_of(instance, shown, title)
        if not found:
            raise NotDrawnError(f"family {family_of(instance).name} draws no pictures")
        return found


def _cells(store: Store, worst: Summary) -> list[dict[str, Any]]:
    """Return all cells on an instance; a digest alone may be that of several seeds."""
    keys = store.rows(
        "SELECT key FROM cell WHERE instance IN "
        "(SELECT id FROM instance WHERE digest = ? AND seed = ?)",
        (bytes.fromhex(worst.worst_sha256), worst.worst_seed),
    )
    return list(store.view([key for (key,) in keys]))


def _best(
    family: Family, cells: list[dict[str, Any]], cell: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the cell whose schedule is the best known; None: the search's own is."""
    same = [c for c in cells if all(c[k] == cell[k] for k in ("instance", "reference"))]
    known = [c for c in same if c["known"] is not None]
    top = max(known, key=lambda c: family.sign * c["known"], default=None)
    if top is None or (
        cell["optimum"] is not None and family.sign * (top["known"] - cell["optimum"]) <= 0
    ):
        return None
    return top


def _source(plan: Plan, content: str) -> Source:
    """Return the source of the plan that is stored as ``content``."""
    for block in plan.instances:
        for source in block.sources(plan.digests, plan.folder):
            if canonical(source.content) == content:
                return source
    raise NotDrawnError("the plan in the store does not state where it comes from")


def _run(instance: Instance, cell: dict[str, Any], *, requested: bool) -> Schedule:
    spec = json.loads(cell["policy"])
    sealed, limit = bool(spec.get("sealed")), spec.get("decision_limit")
    if spec["policy"] == REAL:
        raise NotDrawnError(f"{REAL}: is drawn of single instances only (optsched ratio --plot)")
    contender = Contender(spec["policy"], spec.get("parameters", {}), sealed, None, limit)
    found = contender.play(instance, cell["seed"], code=requested).schedule
    if _digest(found) != cell["schedule"]:
        raise NotDrawnError(f"{contender.label} decides otherwise by now; have versions changed?")
    return found


def _solve(instance: Instance, cell: dict[str, Any]) -> Schedule:
    found = Reference(**json.loads(cell["reference"])).solve(instance)
    interrupts.raise_if_interrupted()
    if found.schedule is None or _digest(found.schedule) != cell["optimum_schedule"]:
        raise NotDrawnError("the search finds another schedule by now; have versions changed?")
    return found.schedule


def _digest(schedule: Schedule) -> str:
    """Return the digest of a schedule as a store lists it."""
    return (fingerprint(schedule) or b"").hex()
