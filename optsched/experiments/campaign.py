"""The front door: run a campaign, look at one, put parts of one together."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.base import renamed_arguments
from optsched.experiments import executors
from optsched.experiments.cell_keys import WINDOWS, Reference, contender_of, source_of
from optsched.experiments.plan import Plan, difference, make_plan, read_plan, stored_plan
from optsched.experiments.pool import ProcessPool, share_of_memory
from optsched.experiments.ratios_by_policy import (
    COLUMNS,
    Cells,
    RatioSample,
    cells,
    plan_names,
    samples,
)
from optsched.experiments.run import CampaignProgress, Work, agree, duration, patience, steer
from optsched.experiments.statistics import Statistics, statistics
from optsched.experiments.store import LEVELS, CellState, Store
from optsched.experiments.store.schema import COMPARED
from optsched.files.atomic_io import writing
from optsched.problem import REAL, InputError, Level
from optsched.process import interrupts

if TYPE_CHECKING:
    from pandas import DataFrame

AS_STORED = (
    "values, bounds and levels are those of the store; optsched campaign verify runs cells again "
    "and checks certificates"
)
MESSAGES = 5  # reasons of errors that are reported


@renamed_arguments(tell="callback")
def campaign(
    plan: Plan | Mapping[str, Any] | Path | str,
    store: Path | str,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    dask: str | None = None,
    shard: tuple[int, int] | None = None,
    retry_errors: bool = False,
    trust: bool | Collection[str] = False,
    callback: Callable[[CampaignProgress], None] | None = None,
) -> Campaign:
    """Run the cells of a plan that the store does not hold yet.

    Parameters
    ----------
    plan : Plan, mapping, Path or str
        A plan, a mapping with the content of a plan file, or a plan file.
    store : Path or str
        One SQLite file; made where there is none. It may grow: more seeds or more policies.
    workers : int, optional
        Processes, by default one per core. Their number changes no result.
    executor : Executor, optional
        Any of `concurrent.futures`, instead of own processes.
    dask : str, optional
        Address of a Dask scheduler, instead of own processes.
    shard : tuple of int, optional
        Run part k of n only, from 1; `merge` puts the parts together.
    retry_errors : bool
        Run cells again that ended in an error.
    trust : bool, or sequence of str
        Which policies from outside (``MODULE:CLASS``, ``exec:COMMAND``) a plan file may run; True:
        all that it names. A plan that is no file comes from the caller, and is trusted.
    callback : callable, optional
        Called twice a second.

    Returns
    -------
    Campaign
        After Ctrl-C, with the results so far; the same call resumes.

    Raises
    ------
    InputError
        The plan or the store is wrong; one line states what is wrong, where, and what would be
        right.
    PolicyError
        The code of an external policy fails as it is loaded.
    """
    if isinstance(plan, Path | str):
        requested = read_plan(Path(plan), trust)
        requested.refuse_code(trust, plan)
    else:
        requested = plan if isinstance(plan, Plan) else make_plan(plan, Path.cwd())
    requested.try_policies()
    if shard is not None and not 1 <= shard[0] <= shard[1]:
        raise InputError(f"shard {shard[0]}/{shard[1]}, expected k/n with k from 1 to n")
    path = Path(store)
    with interrupts.remembered(), ExitStack() as stack:
        stack.enter_context(writing(path))
        rows = stack.enter_context(Store.create(path))
        agree(rows, requested)
        if retry_errors:
            rows.forget_errors()
        size = workers or os.cpu_count() or 1
        work = Work(requested, rows, shard)
        pool: ProcessPool | executors.Futures
        if work.is_done():
            return Campaign(path, work.progress(size, ended=False))
        if dask is not None:
            pool = stack.enter_context(executors.dask(dask))
        elif executor is not None:
            pool = executors.Futures(executor, 2 * size)
        else:
            pool = ProcessPool(
                min(size, max(1, len(work.cases))),
                memory=requested.limits.memory_gb or share_of_memory(size),
                patience=lambda task: patience(requested, task),
            )
        stack.callback(pool.close)
        return Campaign(path, steer(work, pool, callback))


@dataclass(frozen=True)
class Campaign:
    """Content of a store."""

    path: Path
    progress: CampaignProgress | None = None  # of the run that has just ended

    def plan(self) -> Plan:
        """Return the plan that is stored.

        Raises
        ------
        InputError
            There is no store, or no plan in it.
        """
        with Store.open(self.path) as store:
            stored = store.facts().get("plan")
        if stored is None:
            raise InputError(
                f"{self.path}: holds no plan yet, expected optsched campaign run to begin it"
            )
        return stored_plan(stored, self.path)

    def samples(self) -> list[RatioSample]:
        """Return the ratios by source and policy."""
        with Store.open(self.path) as store:
            return samples(Cells.read(store))

    def statistics(self, *, seed: int = 0) -> Statistics:
        """Return means with intervals, and which policies can be told apart.

        Parameters
        ----------
        seed : int
            Of the bootstrap.
        """
        return statistics(self.samples(), seed=seed)

    def table(self) -> DataFrame:
        """Return a row per cell."""
        from pandas import DataFrame

        return DataFrame(cells(self.path), columns=COLUMNS)

    def status(self) -> CampaignStatus:
        """Return how much is done."""
        return status(self.path)

    def __repr__(self) -> str:
        return f"<Campaign {self.path}: {self.status().head}>"

    def __str__(self) -> str:
        found = self.statistics()
        lines = [self.status().head]
        for s in found.summaries:
            inside = "" if s.interval is None else f" (95 %: {s.inside.replace('..', 'to')})"
            lines.append(
                f"  {s.group}: {s.policy}: mean ratio {s.mean}{inside} over {s.instances} "
                f"instances, {s.open} open"
            )
        return "\n".join([*lines, *found.flags()])


@dataclass(frozen=True)
class CampaignStatus:
    """How much of a campaign is done."""

    cells: int  # of the plan
    by_source: Mapping[str, Mapping[CellState, int]]
    limits: tuple[str, ...]  # limit of the search for optima
    # the most frequent messages, with the numbers of failed cells and of optima that have them
    messages: Mapping[str, tuple[int, int]]
    versions: int  # sets of versions that rows were computed with
    claimed: int  # optima that count as closed by the word of solvers
    windows: bool  # whether instances are windows of a trace
    recorded: bool  # whether the recorded schedule is a row

    def count(self, *states: CellState) -> int:
        """Return how many cells have one of the states."""
        return sum(by.get(state, 0) for by in self.by_source.values() for state in states)

    @property
    def done(self) -> int:
        """How many cells are stored."""
        return self.count(*CellState)

    @property
    def head(self) -> str:
        """All in a sentence."""
        open_, errors = self.count(CellState.LIMIT), self.count(CellState.ERROR)
        parts = [f"{self.done} of {self.cells} cells done"]
        if open_:
            parts.append(f"{open_} with an open optimum")
        if self.claimed:
            parts.append(f"{self.claimed} optima only claimed")
        if errors:
            parts.append(f"{errors} failed")
        return ", ".join(parts)

    def remarks(self) -> list[str]:
        """Return the remarks on the numbers."""
        found = []
        if self.count(CellState.LIMIT) and "seconds" in self.limits:
            found.append("open optima were ended by the clock: a repetition may find others")
        if self.versions > 1:
            found.append(f"cells were computed with {self.versions} different sets of versions")
        if self.windows:
            found.append(
                "every window begins with an empty cluster: jobs that still waited or ran then are "
                "left out, and policies and optima do not wait for them"
                + f"; only the row {REAL!r} includes that waiting"
                * self.recorded
            )
        return found + [f"{_counted(*n)}: {text}" for text, n in self.messages.items()]

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "cells": self.cells,
            "done": self.count(CellState.DONE),
            "limit": self.count(CellState.LIMIT),
            "error": self.count(CellState.ERROR),
            "missing": self.cells - self.done,
            "sources": {
                name: {state.name.lower(): by.get(state, 0) for state in CellState}
                for name, by in self.by_source.items()
            },
            "messages": {
                text: {"cells": cells, "optima": optima}
                for text, (cells, optima) in self.messages.items()
            },
            "versions": self.versions,
            "claimed": self.claimed,
        }


def _counted(cells: int, optima: int) -> str:
    """Return numbers of failed cells and optima in words."""
    counts = [f"{cells} failed {'cell' if cells == 1 else 'cells'}"] * bool(cells)
    counts += [f"{optima} {'optimum' if optima == 1 else 'optima'}"] * bool(optima)
    return " and ".join(counts)


def status(path: Path) -> CampaignStatus:
    """Return how much of the campaign in a store is done.

    Raises
    ------
    InputError
        There is no store.
    """
    with Store.open(path) as store:
        by_source: dict[str, dict[CellState, int]] = {}
        names = plan_names(store)
        windows = False
        for content, state, n in store.counts():
            windows |= WINDOWS in (json.loads(content).get("window") or {})
            by_source.setdefault(source_of(content, names)[1], {})[CellState(state)] = n
        references = store.rows(
            f"SELECT DISTINCT w.text FROM {COMPARED} JOIN word w ON w.id = reference"
        )
        policies = store.rows("SELECT DISTINCT w.text FROM cell JOIN word w ON w.id = policy")
        versions = store.rows(f"SELECT versions FROM cell UNION SELECT versions FROM {COMPARED}")
        messages = store.rows(
            "SELECT w.text, sum(cell), sum(1 - cell) FROM (SELECT message, 1 AS cell FROM cell "
            f"WHERE status = ? UNION ALL SELECT message, 0 FROM {COMPARED}) "
            "JOIN word w ON w.id = message GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ?",
            (CellState.ERROR, MESSAGES),
        )
        claimed = store.rows(
            f"SELECT count(*) FROM {COMPARED} WHERE status = ? AND value IS NOT NULL "
            "AND level <> ?",
            (CellState.DONE, LEVELS.index(Level.CERTIFIED)),
        )
        return CampaignStatus(
            cells=int(store.facts().get("cells", 0)),
            by_source=dict(sorted(by_source.items())),
            limits=tuple(sorted({Reference(**json.loads(text)).limit for (text,) in references})),
            messages={text: (cells, optima) for text, cells, optima in messages},
            versions=len(versions),
            claimed=claimed[0][0],
            windows=windows,
            recorded=any(contender_of(text) == REAL for (text,) in policies),
        )


@dataclass(frozen=True)
class Forecast:
    """Number of cells of a plan, and the expected time from the finished cells."""

    cells: int
    instances: int
    done: int
    seconds: float | None  # of one process; None: nothing is known

    def __str__(self) -> str:
        head = f"{self.cells} cells on {self.instances} instances, {self.done} of them done"
        if self.done >= self.cells:
            return head
        if self.seconds is None:
            return f"{head}; no time estimate yet"
        return f"{head}; the others take about {duration(self.seconds)} of one process"


def forecast(plan: Plan, path: Path) -> Forecast:
    """Count the cells of a plan; nothing is computed."""
    cases = list(plan.cases())
    cells = sum(len(case.cells) for case in cases)
    if not path.is_file():
        return Forecast(cells, len(cases), 0, None)
    with Store.open(path) as store:
        there = store.cell_keys()
        usual = {
            (source_of(source)[0], contender_of(policy)): micros / 1e6
            for source, policy, micros in store.rows(
                "SELECT s.text, p.text, avg(c.wall) FROM cell c JOIN instance i ON i.id=c.instance "
                "JOIN word s ON s.id = i.source JOIN word p ON p.id = c.policy GROUP BY 1, 2"
            )
        }
        best = {
            source_of(source)[0]: micros / 1e6
            for source, micros in store.rows(
                "SELECT s.text, avg(o.wall) FROM optimum o JOIN instance i ON i.digest = o.digest "
                "JOIN word s ON s.id = i.source GROUP BY 1"
            )
        }
    seconds, done = 0.0, 0
    for case in cases:
        missing = [cell for cell in case.cells if cell.key not in there]
        done += len(case.cells) - len(missing)
        family = case.source.family
        if len(missing) == len(case.cells):
            seconds += best.get(family, 0.0)
        seconds += sum(usual.get((family, cell.contender.label), 0.0) for cell in missing)
    return Forecast(cells, len(cases), done, seconds if usual else None)


def merge(into: Path, parts: Sequence[Path]) -> Campaign:
    """Put the rows of several stores of one plan into one; in any order, also twice.

    Where two have the same cell, the one that is further along counts: done before limit before
    error, then the smaller numbers of a fixed order, so that the order of the parts does not
    matter.

    Raises
    ------
    InputError
        A store holds another plan; the message names the key.
    """
    for part in parts:
        if part.resolve() == into.resolve():
            raise InputError(f"{part}: is the store to be made, expected the parts next to it")
    plans = [Campaign(part).plan() for part in parts]
    for part, plan in zip(parts, plans, strict=True):
        differs = difference(plans[0].content(), plan.content())
        if differs is not None:
            found = differs.replace("in the store", f"in {parts[0]}")
            raise InputError(f"{part}: holds another plan: {found}; expected parts of one campaign")
    with writing(into), Store.create(into) as store:
        agree(store, plans[0])
        for part in parts:
            with Store.open(part):  # roll back a killed run, and check the format
                pass
            store.take(part)
    return Campaign(into)
