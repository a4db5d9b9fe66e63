"""What-if analysis: waiting times before and after a change of machines, load or jobs.

The optimum is an interval, from a certified bound to the best schedule found; so its change lies
between bound after - value before and value after - bound before. More machines never make it
worse, fewer never better. Policies are simulated without search error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from pydantic import Field

from optsched.core import RatioReport, compare, open_input, recorded, solve, turns
from optsched.core.inputs import is_instance, meant
from optsched.core.intervals import FEWEST, UNSURE, student, warning
from optsched.core.ratios import rate
from optsched.families.rigid.certificate.check import RigidCertificate
from optsched.families.rigid.changes import NODE, Changed, Changes, altered, units_of
from optsched.families.rigid.facts import (
    BUSY,
    DOWN,
    EMPTY,
    are_pools,
    columns,
    resource_model,
    saved,
)
from optsched.families.rigid.instance import RigidInstance, RigidSchedule
from optsched.families.rigid.policies.orders import SINCE_FIRST
from optsched.families.rigid.verify import verify
from optsched.files.format import (
    checked,
    instance_of,
    load_instance,
    read_json,
    short,
    sides_in,
    write_json,
)
from optsched.numbers.json_float import Signed
from optsched.problem import (
    REAL,
    Frozen,
    InputError,
    Instance,
    Policy,
    Window,
    get_family,
    is_named_in_file,
)
from optsched.process import interrupts, messages
from optsched.results.load import report_in
from optsched.results.result import Recheck, whole_content
from optsched.results.result import recheck_content as recheck_result

HOUR = 3600
BEST = "optimum"
SAME = 1e-9  # relative: values that differ by less are one
MOST_SHARE = 9.99  # of the value before, which is near 0 if a change is more
SIDES = ("before", "after")
EXACT = "exact"
DEPLOYABLE = ("none", "requested")  # what a policy may know of run times
ORACLES = "cannot be deployed: they know each job's run time in advance."
UNKNOWN = "What your cluster would have done after the change is not known."
SKIPPED = "left out of both scenarios: "
UNFIT = "left out, since they never fit"  # from the log, before any change
POOLED = "jobs are not placed on nodes: "
FIRST = (
    f"{REAL} is left out",
    "has no column partition",
    "not distinguished",
    "which is not added",
    "begins with an empty cluster",
    UNFIT,
    DOWN,
    BUSY,
)
BEGIN = "The numbers of f1 to f4 depend on where the log or window begins."
UNCHECKED = " if what it did is possible on these nodes, which is not checked"
TOO_WIDE = (
    "Shadow prices are below the gap of the optimum, so none are shown; a longer time limit or "
    "fewer jobs may narrow it."
)
Ends = tuple[Signed, Signed]


class Row(Frozen):
    """Statistics of a schedule on the jobs of a window."""

    wait: Ends = Field(
        description="weighted mean waiting time, h; of the optimum from its certified bound to the "
        "best schedule found, else both are the same"
    )
    slowdown: float = Field(
        ge=1, allow_inf_nan=False, description="weighted mean bounded slowdown, threshold 10 s"
    )
    same: float = Field(
        ge=0,
        allow_inf_nan=False,
        description="mean waiting time of the jobs that both scenarios have, h",
    )
    knows: str = Field(
        default="-",
        description="run times that a policy knew: none, requested or exact; and own statistics",
    )


@dataclass(frozen=True)
class Sides:
    """A window of the log before and after the change: of what the rows are computed."""

    instances: tuple[RigidInstance, RigidInstance]
    reports: tuple[RatioReport, RatioReport]
    same: tuple[int, ...]  # of the jobs before, those after
    clock: int | None  # second of the day of second 0
    starts: tuple[int, ...] = ()  # recorded ones, if the nodes are unknown

    @property
    def direction(self) -> int:
        """-1 if the least waiting time cannot rise, 1 if it cannot fall, 0: who knows."""
        before, after = self.instances
        return sum(sign for sign, _ in self.parts) if before.jobs == after.jobs else 0

    @property
    def parts(self) -> set[tuple[int, str]]:
        """What changes, in words, each with -1 if it makes capacity less scarce, else 1."""
        before, after = self.instances
        there, then = (
            sum((Counter({m.capacity: m.count}) for m in inst.machines), Counter())
            if inst.packed
            else Counter(dict(enumerate(inst.total)))
            for inst in self.instances
        )
        pairs = [
            (before.jobs[i].arrival, job.arrival)
            for i, job in zip(self.same, after.jobs, strict=False)
        ]
        found = {
            (-1, "more machines"): not then <= there,
            (1, "fewer machines"): not there <= then,
            (-1, "fewer jobs"): len(after.jobs) < len(before.jobs),
            (-1, "a lower load"): any(a < b for a, b in pairs),
            (1, "a higher load"): any(a > b for a, b in pairs),
        }
        return {part for part, changed in found.items() if changed}

    def scenarios(self) -> tuple[Scenario, Scenario]:
        """Return the rows of both scenarios."""
        jobs = self.same, range(len(self.instances[1].jobs))
        starts = self.starts, ()
        first, second = (
            _scenario(inst, report, same, self.clock, real)
            for inst, report, same, real in zip(
                self.instances, self.reports, jobs, starts, strict=True
            )
        )
        return _carried(first, second, self.direction)

    def content(self) -> dict[str, Any]:
        """Return what a file holds: both sides as results."""
        sides = {
            side: whole_content(inst, r.optimum, r.runs, schedules=r.outside)
            for side, inst, r in zip(SIDES, self.instances, self.reports, strict=True)
        }
        return {"same": self.same, "clock": self.clock, "starts": self.starts, **sides}

    @classmethod
    def of(cls, content: Mapping[str, Any], path: Path) -> Sides:
        """Return what a file holds, checked again."""
        instances = [cast(RigidInstance, instance_of(content[side], path)) for side in SIDES]
        before, after = instances
        same, clock = content.get("same"), content.get("clock")
        starts = content.get("starts", [])
        if complaint := _not_the_same(before, after, same) or _no_starts(before, starts):
            raise InputError(f"{path}: {complaint}")
        if not (clock is None or (type(clock) is int and 0 <= clock < 24 * HOUR)):
            raise InputError(f"{path}: clock is {short(clock)}, expected a second of the day")
        reports = []
        for side, inst in zip(SIDES, instances, strict=True):
            if (report := report_in(content[side], inst, path)) is None:
                raise InputError(f"{path}: {side}: has no runs, expected one at least")
            reports.append(report)
        both = reports[0], reports[1]
        return cls((before, after), both, tuple(cast(list[int], same)), clock, tuple(starts))


def _no_starts(before: RigidInstance, starts: Any) -> str:
    """Return that recorded starts are not those of jobs; "" if they may be, or there are none."""
    known = isinstance(starts, list) and all(type(s) is int for s in starts)
    if known and (
        not starts
        or (
            before.packed
            and len(starts) == len(before.jobs)
            and all(job.arrival <= s < 2**62 for s, job in zip(starts, before.jobs, strict=True))
            and verify(altered(before, packed=False), RigidSchedule(start=starts)).feasible
        )
    ):
        return ""
    return (
        "starts: expected a start of every job before the change, none before its arrival, within "
        "what all nodes have together, and only where jobs are on nodes"
    )


def _not_the_same(before: RigidInstance, after: RigidInstance, same: Any) -> str:
    """Return that jobs of both scenarios are not those that the file names; "" if they are."""
    places = range(len(before.jobs))
    if not isinstance(same, list) or any(type(i) is not int or i not in places for i in same):
        return "same: expected a list of jobs before the change"
    jobs = [before.jobs[i].model_copy(update={"arrival": 0}) for i in same]
    later = [job.model_copy(update={"arrival": 0}) for job in after.jobs]
    if sorted({*same}) != same or jobs != later:
        return "same: names jobs that are not those after the change"
    if (before.objective, after.objective) != ("wait", "wait"):
        return "expected instances with waiting time as objective"
    return ""


class Scenario(Frozen):
    """A window of the log, before or after the change."""

    size: str
    jobs: int = Field(ge=1, description="number of jobs")
    weight: int = Field(ge=1, description="sum of their weights")
    rows: dict[str, Row] = Field(description="the optimum, every policy, the recorded schedule")
    prices: dict[str, tuple[float, ...]] = Field(
        description="shadow price of a unit by hour of the day, h; {}: the bound has no prices"
    )


@dataclass(frozen=True)
class Compared:
    """A row of the table: means over the windows, in hours; None: not known."""

    name: str
    before: Ends
    after: Ends | None
    base: Ends  # from which it changes: before, of the jobs that both scenarios have
    change: Ends | None
    share: Ends | None  # of the value before
    interval: Ends | None  # 95 %, over windows
    above: Ends  # the optimum, before
    slowdown: tuple[float, float | None]
    knows: str  # run times: none, requested, exact; -: no policy


class Stated(Frozen):
    """Words of a file that nothing can check."""

    source: str
    changes: tuple[str, ...] = Field(description="() if only the present was studied")
    listed: tuple[str, ...] = Field(description="scaled, dropped or drawn parts")
    used: str = Field(default="", description="which jobs of the log, by their submission")
    command: str | None = Field(default=None, description="that compared, if one did")


STATED = {  # words of a file, as it calls them and as readers do
    "source": "the name of the log",
    "changes": "the names of the changes",
    "listed": "the remarks",
    "used": "which jobs of the log are used",
    "command": "the command",
}
NOT_CHECKED = (
    f"The file alone states {', '.join(STATED.values())}, that policies and your cluster decided "
    "so, and which run times policies knew: this cannot be checked"
)


class WhatIf(Stated):
    """Waiting times before and after a change."""

    direction: Literal[-1, 0, 1] = Field(
        description="-1: the optimum cannot rise, 1: it cannot fall"
    )
    clock: bool = Field(description="whether hours are those of the clock, not since the first job")
    before: tuple[Scenario, ...] = Field(min_length=1, description="by window")
    after: tuple[Scenario, ...]
    sides: tuple[Sides, ...] = Field(default=(), exclude=True, repr=False)

    @classmethod
    def of(cls, sides: Sequence[Sides], **more: Any) -> WhatIf:
        """Compute all rows of what was compared; ``more`` are fields."""
        found = [one.scenarios() for one in sides]
        directions = {one.direction for one in sides}
        return cls(
            **more,
            direction=directions.pop() if len(directions) == 1 else 0,
            clock=all(one.clock is not None for one in sides),
            before=[before for before, _ in found],
            after=[after for _, after in found],
            sides=tuple(sides),
        )

    @cached_property
    def rows(self) -> dict[str, Compared]:
        """The optimum, and the policies that ran in all windows before the change."""
        names = [n for n in self.before[0].rows if all(n in s.rows for s in self.before)]
        found = [self._compared(name) for name in names]
        ends = {BEST: (0, 0.0), REAL: (2, 0.0)}  # the first and the last row
        return {r.name: r for r in sorted(found, key=lambda r: ends.get(r.name, (1, r.before[1])))}

    def _compared(self, name: str) -> Compared:
        rows, later = ([s.rows[name] for s in side if name in s.rows] for side in self._sides)
        before, after = _mean(rows), _mean(later) if len(later) == len(rows) else None
        change = share = interval = None
        same = float(np.mean([r.same for r in rows]))
        base = (same, same) if self.gone else before
        if after is not None and not (self.gone and name == BEST):
            apart = self._apart(name)
            change = float(apart[:, 0].mean()), float(apart[:, 1].mean())
            if base[0] > 0:
                share = (
                    max(after[0] / base[1] - 1, change[0] / base[change[0] > 0]),
                    min(after[1] / base[0] - 1, change[1] / base[change[1] < 0]),
                )
                share = share if max(share) <= MOST_SHARE else None
            if len(apart) >= FEWEST:
                around = student(apart[:, 0])[0], student(apart[:, 1])[1]
                interval = self._possible(name, around)
        above = _less(before, _mean([s.rows[BEST] for s in self.before]))
        return Compared(
            name=name,
            before=before,
            after=after,
            base=base,
            change=change,
            share=share,
            interval=interval,
            above=(max(0.0, above[0]), above[1]),  # the best schedule, or recorded on any nodes
            slowdown=(_slow(rows), _slow(later) if after else None),
            knows=rows[0].knows,
        )

    @property
    def _sides(self) -> tuple[tuple[Scenario, ...], tuple[Scenario, ...]]:
        return self.before, self.after

    def _apart(self, name: str) -> Any:
        """Return the ends of the change by window, of the jobs that both scenarios have."""
        pairs = zip(*([s.rows[name] for s in side] for side in self._sides), strict=True)
        changes = [
            _less(after.wait, (before.same, before.same) if self.gone else before.wait)
            for before, after in pairs
        ]
        return np.array([self._possible(name, change) for change in changes])

    @property
    def gone(self) -> int:
        """How many jobs are only in the scenario before the change."""
        return self._jobs() - self._jobs(after=True)

    def _jobs(self, *, after: bool = False) -> int:
        return sum(s.jobs for s in self._sides[after])

    def _possible(self, name: str, ends: Ends) -> Ends:
        """Leave out changes that cannot be: more machines do not make the optimum worse."""
        if name != BEST or not self.direction:
            return ends
        low, high = ((min if self.direction < 0 else max)(0.0, x) for x in ends)
        return low, high

    def prices(self, *, after: bool) -> dict[str, list[float]]:
        """Return the shadow price of a unit by hour of the day, h: the mean over the windows."""
        found = [s.prices for s in self._sides[after]]
        units = found[0] if all(found) else {}
        return {n: np.mean([p.get(n, (0.0,) * 24) for p in found], axis=0).tolist() for n in units}

    @property
    def usable(self) -> list[Compared]:
        """Policies that can be deployed."""
        known = (*DEPLOYABLE, "-")
        return [r for n, r in self.rows.items() if n not in (BEST, REAL) and r.knows in known]

    @property
    def early(self) -> list[str]:
        """Sentences before the search: on the policies, the model and the jobs."""
        return [*self._of_policies, *self._of_input]

    @property
    def _of_input(self) -> list[str]:
        return [*filter(None, ["" if self.pooled else self.model, self.used])]

    @property
    def _of_policies(self) -> list[str]:
        """Sentences on the policies, after what questions all numbers."""
        real, usable = self.rows.get(REAL), self.usable
        known = [n for n in self.rows if n not in (BEST, REAL)]
        kind = "" if len(usable) == len(known) else "deployable "
        best = f"the best of {len(usable)} {kind}policies"
        empty = EMPTY in self.listed and len(self.before) == 1
        seen = f" (recorded: {hours(real.before)})" if real is not None else ""
        lines = [
            "This window begins with an empty cluster: the waiting times of policies and optimum "
            f"below are too short{seen}. Use the whole log for decisions."
        ] * empty
        lines += [self.model] * bool(self.pooled)
        lines += [x for x in self.listed if _is_first(x) and not (empty and x == EMPTY)]
        first = min(usable, key=lambda r: r.before, default=None)
        if self.alike and first is not None and real is not None and real.before[0] > 0:
            saved = real.before[0] - first.before[0]
            part = f"{hours((abs(saved),) * 2)} ({100 * abs(saved) / real.before[0]:.0f} %)"
            did = f"saved {part} of" if saved >= 0 else f"added {part} to"
            if abs(saved) <= SAME * real.before[0]:
                did = "saved nothing of"
            who = f", {best} simulated on this log, in hindsight," if len(usable) > 1 else ""
            there = f"{hours(real.before)} mean waiting time"
            lines.append(
                f"Under {first.name}{who} jobs wait {hours(first.before)} on average if all "
                f"machines are up; in your cluster, as recorded, {hours(real.before)}. How "
                "much of the difference is due to the policy is not known."
                if self._down
                else f"{first.name}{who} would have {did} {there}."
            )
        moving = [r for r in usable if r.after is not None]
        if moving and self.changes:
            first = min(moving, key=lambda r: r.before)
            last = min(moving, key=lambda r: r.after or r.before)
            one = f"{best} before the change" if len(usable) > 1 else f"the only {kind}policy"
            one += " compared" * (len(usable) == 1)
            lines.append(
                f"{self._named}, {self.who} wait {hours(first.after)} on average under "
                f"{first.name} ({one}), before and after."
                if first.change == (0, 0)
                else f"{self._named}, the mean waiting time{self._of} under {first.name}, {one}, "
                f"{moved(first)}."
            )
            if last is not first:
                lines.append(
                    f"After the change, the best is {last.name}: {self.who} wait "
                    f"{hours(last.after)}, under {first.name} {hours(first.after)}."
                )
        return [*lines, *self.anomalies]

    @property
    def _down(self) -> bool:
        """Whether machines were probably down, which policies and the optimum do not have."""
        return any(DOWN in x for x in self.listed)

    @property
    def anomalies(self) -> list[str]:
        """Which policies get worse with more capacity or less work, or better, in a sentence."""
        parts = sorted(set[tuple[int, str]]().union(*(one.parts for one in self.sides)))
        signs = {sign for sign, _ in parts}
        sign = signs.pop() if len(signs) == 1 else 0
        against = [
            r.name
            for r in self.rows.values()
            if r.name != BEST and r.change and r.change[0] * sign < -SAME * r.base[0]
        ]
        if not against:
            return []
        what = " and ".join(text for _, text in parts)
        return [
            f"Waiting times under {', '.join(against)} are {'shorter' if sign > 0 else 'longer'} "
            f"with {what}: this anomaly of list scheduling (Graham, 1969) shows that small changes "
            "of nodes or jobs move these numbers."
        ]

    @property
    def _named(self) -> str:
        return f"With {', '.join(self.changes)}"

    @property
    def who(self) -> str:
        """Which jobs the scenario after the change has."""
        fewer = self.gone or any(x.startswith(SKIPPED) for x in self.listed)
        return f"the {self._jobs(after=True)} remaining jobs" if fewer else "jobs"

    @property
    def _of(self) -> str:
        return f" of {self.who}" if self.who != "jobs" else ""

    @property
    def answer(self) -> list[str]:
        """Summary, the most important sentence first."""
        best, real, lines = self.rows[BEST], self.rows.get(REAL), self._of_policies
        least = f"{self._named}, the least possible mean waiting time{self._of}"
        if not self.changes:
            lines.append(f"The least possible mean waiting time is {hours(best.before)}.")
        elif not self.gone:
            lines.append(f"{least} {moved(best)}.")
        else:
            lines.append(
                f"{least} is {hours(best.after)}; before the change, of all {self._jobs()} jobs, "
                f"it is {hours(best.before)}. These are means of different jobs."
            )
        if best.before[0] == 0 < best.before[1]:
            lines.append("No lower bound above 0 was found; a longer time limit may find one.")
        if best.interval is not None:
            verb, by, _ = _signed(best.interval)
            doubt = f" (not reliable: {self.doubt})" if self.doubt else ""
            inside = f"{verb} by {by}{doubt}"
            lines.append(f"95 % interval of that change over {len(self.before)} windows: {inside}.")
        if self.alike and real is not None:
            over = f"{hours(real.above)} more than the least possible"
            over += " if all machines are up" * self._down
            if real.before[0] < best.before[1] and any(one.starts for one in self.sides):
                over += UNCHECKED
            lines.append(f"Your cluster made jobs wait {hours(real.before)} on average, {over}.")
        shown, gap = self.telling(after=False), self._open(after=False)
        if shown:
            top = int(np.argmax(next(iter(shown.values()))))
            when = (
                f"between {top}:00 and {top + 1}:00"
                if self.clock
                else f"in hour {top} of {self.day}"
            )
            most = float(np.mean([s.rows[BEST].wait[1] * s.weight for s in self.before]))
            least = " would reduce the least total waiting time of all jobs"
            units = ", ".join(
                f"1 more {unit}{least * (k == 0)} by at most {min(most, sum(row) + gap):.3g} h"
                for k, (unit, row) in enumerate(shown.items())
            )
            lines.append(f"On the present machines, {units}. Capacity is most scarce {when}.")
        return [*lines, *self._of_input]

    @property
    def certified(self) -> str:
        """What a certificate proves, and what is only simulated."""
        low, after = self.rows[BEST].before[0], cast(Ends, self.rows[BEST].after)[0]
        ends = (
            {" before the change": low, " after the change": after} if self.changes else {"": low}
        )
        least = ", ".join(f"{x:.3g} h{when}" for when, x in ends.items() if x > 0)
        proved = f"Certified: no schedule has a mean waiting time below {least}. " if least else ""
        return f"{proved}Simulated, not certified: the policies."

    @property
    def alike(self) -> bool:
        """Whether the recorded schedule had the jobs of the others, and no more to wait for."""
        unlike = EMPTY, SKIPPED, UNFIT
        return len(self.before) == 1 and not any(x.startswith(unlike) for x in self.listed)

    @property
    def doubt(self) -> str:
        """Why the interval of the change of the optimum over windows may miss it; "": trusted."""
        if self.gone or len(self.before) == 1:
            return ""
        why = warning(*self._apart(BEST).T)
        return why.replace("ratio", "change").replace("instance", "window")

    @property
    def model(self) -> str:
        """How resources of several nodes are counted, in a sentence; "" for a single one."""
        model = resource_model(self.sides[0].instances[0]) if self.sides else ""
        return f"{model.partition(':')[0]}, since {self.pooled}." if self.pooled else model

    @property
    def pooled(self) -> str:
        """Why nodes count as a pool although jobs were to be placed on them; "": they do not."""
        return "".join(x.removeprefix(POOLED) for x in self.listed if x.startswith(POOLED))

    def telling(self, *, after: bool) -> dict[str, list[float]]:
        """Return the prices of nodes, else of units, that exceed the gap left open."""
        prices = {n: row for n, row in self.prices(after=after).items() if any(row)}
        nodes = {n: row for n, row in prices.items() if n.startswith(NODE)}
        gap = self._open(after=after)
        return {n: row for n, row in (nodes or prices).items() if sum(row) > gap}

    def _open(self, *, after: bool) -> float:
        """Return the mean gap of the total waiting time of all jobs, h."""
        gaps = [np.diff(s.rows[BEST].wait)[0] * s.weight for s in self._sides[after]]
        return float(np.mean(gaps))

    @property
    def day(self) -> str:
        """Which day hours belong to."""
        return "the day" if self.clock else "a day that begins with the first job"

    def table(self) -> list[dict[str, str]]:
        """Return the rows as they are printed."""
        found = []
        for row in self.rows.values():
            cells = {"policy": row.name, "run times known": row.knows}
            cells |= {"before" if self.changes else "mean wait": hours(row.before)}
            if not self.changes:
                apart = row.name != BEST and (self.alike or row.name != REAL)
                cells |= {"above optimum": hours(row.above) if apart else "-"}
                found.append(cells | {"slowdown": f"{row.slowdown[0]:.3g}"})
                continue
            cells |= {"after": hours(row.after)}
            same = None if row.name == BEST else row.base
            cells |= {"before, same jobs": hours(same)} if self.gone else {}
            cells |= {"change": hours(row.change, "+"), "change, %": percent(row.share)}
            cells |= {"95 % interval": hours(row.interval, "+")} if len(self.before) > 1 else {}
            apart = row.name != BEST and (self.alike or row.name != REAL)
            cells["above optimum before"] = hours(row.above) if apart else "-"
            for side, slow in zip(SIDES, row.slowdown, strict=True):
                cells[f"slowdown {side}"] = "-" if slow is None else f"{slow:.3g}"
            found.append(cells)
        return found

    @property
    def remarks(self) -> list[str]:
        """Notes on the table."""
        stated = self.rows[BEST].interval is not None  # with its doubt
        doubts = (
            [f"{UNSURE.replace('mean', 'mean change')}: {self.doubt}"]
            if self.doubt and not stated
            else []
        )
        knowing = [n for n, r in self.rows.items() if r.knows not in (*DEPLOYABLE, "-")]
        named = (
            f"named -{EXACT}"
            if all(n.endswith(f"-{EXACT}") for n in knowing)
            else f"with {EXACT} run times or statistics of your own"
            if any(self.rows[n].knows != EXACT for n in knowing)
            else f"with {EXACT} run times"
        )
        oracle = [f"Policies {named} {ORACLES}"] if knowing else []
        unknown = [UNKNOWN] if REAL in self.rows and self.changes else []
        usable = self.usable
        sides = usable, [r for r in usable if r.after is not None]
        first = [min(usable, key=lambda r: r.before).name] if sides[0] else []
        first += [min(sides[1], key=lambda r: r.after or r.before).name] if sides[1] else []
        about = get_family("rigid").rules
        rules = [f"{n}: {about[n]}." for n in dict.fromkeys(first) if n in about]
        rules += [BEGIN] * any(n in SINCE_FIRST for n in first)
        listed = [x for x in self.listed if not _is_first(x) and not x.startswith(POOLED)]
        return [*oracle, *listed, *rules, *unknown, *doubts]

    def __str__(self) -> str:
        return "\n".join([*self.answer, *self.remarks])

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        content = self.model_dump(mode="json") | {"answer": self.answer, "remarks": self.remarks}
        prices = {"before": self.prices(after=False), "after": self.prices(after=True)}
        return content | {"rows": [asdict(r) for r in self.rows.values()], "shadow_prices": prices}

    def save(self, path: Path | str) -> None:
        """Write instances, schedules and certificates, of which all rows are computed again."""
        stated = self.model_dump(mode="json", include={*STATED})
        content = stated | {"windows": [one.content() for one in self.sides]}
        write_json(Path(path), "whatif", "rigid", content)

    @classmethod
    def load(cls, path: Path | str) -> WhatIf:
        """Read such a file; schedules and certificates are checked again.

        Raises
        ------
        InputError
            The file is no what-if analysis, or its numbers are wrong.
        """
        path = Path(path)
        content = read_json(path, "whatif")
        sides = [Sides.of(window, path) for window in sides_in(content, path)]
        stated = checked(Stated, {n: content.get(n) for n in STATED}, str(path))
        return cls.of(sides, **stated.model_dump())


def recheck_content(content: Mapping[str, Any], path: Path) -> list[Recheck]:
    """Check every schedule and certificate of a what-if again, as :func:`optsched.results.result`.

    Raises
    ------
    InputError
        The file is malformed.
    """
    found = []
    for k, window in enumerate(sides_in(content, path)):
        at = f"window {k + 1}, " if len(content["windows"]) > 1 else ""
        pair = [cast(RigidInstance, instance_of(window[side], path)) for side in SIDES]
        starts = window.get("starts", [])
        wrong = _not_the_same(pair[0], pair[1], window.get("same")) or _no_starts(pair[0], starts)
        changed = window["before"] != window["after"]
        for side in SIDES if changed else SIDES[:1]:
            when = f"{at}mean waiting time in s{f' {side} the change' * changed}"
            checks = recheck_result({**window[side]}, path)
            named = [{"what": f"{when}, {c.what}"} for c in checks]
            found += [c.model_copy(update=u) for c, u in zip(checks, named, strict=True)]
        if wrong:
            found[-1] = found[-1].model_copy(update={"complaints": (wrong,)})
    starts = any(w.get("starts") for w in content["windows"])
    stated = (*found[0].unchecked, *STATED.values(), *["the recorded starts"] * starts)
    return [found[0].model_copy(update={"unchecked": stated}), *found[1:]]


def _is_first(line: str) -> bool:
    """Whether a remark comes before the summary, since it questions all numbers."""
    return any(part in line for part in FIRST)


def hours(ends: Ends | None, sign: str = "") -> str:
    """Write an interval of hours.

    >>> hours((1.5, 1.5)), hours((-2.0, 0.25), "+"), hours(None)
    ('1.5 h', '-2 to +0.25 h', '-')
    """
    texts = [f"{x + 0.0:{sign if x else ''}.3g}" for x in ends or ()]
    return f"{_between(texts)} h" if texts else "-"


def percent(ends: Ends | None, sign: str = "+") -> str:
    """Write an interval of shares.

    >>> percent((-0.5, 0.251)), percent((0.0, 0.5), "")
    ('-50.0 to +25.1 %', '0 to 50.0 %')
    """
    texts = [
        (f"{100 * x:{sign}.1f}" if round(x, 3) else f"{100 * x:{sign}.1g}") if round(x, 6) else "0"
        for x in ends or ()
    ]
    return f"{_between(texts)} %" if texts else "-"


def moved(row: Compared) -> str:
    """Return how a waiting time changes, in hours and percent."""
    assert row.change is not None
    if row.change == (0, 0) and row.after is not None:
        return f"does not change ({hours(row.after)})"
    verb, by, sign = _signed(row.change)
    falls, share, doubt = verb == "falls", row.share, ""
    if share and falls:
        share = -share[1], -share[0]
    if 0 in row.change:
        share = share and (share[1], share[1])
        doubt = f"; no {'reduction' if falls else 'increase'} is proved"
    part = f" ({percent(share, sign)})" if share else ""
    return f"{verb} by {by}{part}{doubt} (before: {hours(row.base)}, after: {hours(row.after)})"


def _signed(change: Ends) -> tuple[str, str, str]:
    """Return a verb, by how many hours, and which sign these have: none if all are of one sign."""
    if change[0] < 0 < change[1]:
        return "changes", hours(change, "+"), "+"
    least, most = sorted(map(abs, change))
    by = f"at most {hours((most, most))}" if least == 0 < most else hours((least, most))
    return "falls" if change[1] <= 0 else "rises", by, ""


def _between(ends: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys(ends))


def _mean(rows: Iterable[Row]) -> Ends:
    low, high = np.mean([r.wait for r in rows], axis=0).tolist()
    return low, high


def _slow(rows: Iterable[Row]) -> float:
    return float(np.mean([r.slowdown for r in rows]))


def _less(one: Ends, other: Ends) -> Ends:
    """Return the interval of the difference of two intervals."""
    return one[0] - other[1], one[1] - other[0]


@interrupts.remembered()
def whatif(
    source: Path | str | Instance,
    *,
    add: str | Sequence[str] = (),
    remove: str | Sequence[str] = (),
    scale_load: float | None = None,
    without: str | Sequence[str] = (),
    skip_unfit: bool = False,
    policies: Sequence[str | Policy] | None = None,
    windows: int | None = None,
    callback: Callable[[str], None] | None = None,
    shown: Callable[[WhatIf], None] | None = None,
    **options: Any,
) -> WhatIf:
    """Compare waiting times before and after a change of machines, load or jobs.

    Without a change, the policies, the recorded schedule and the optimum are compared. With a list
    of nodes, jobs are placed on them, unless ``packed=False``, a job fits on none, or each task is
    one unit of one resource (then nodes make no difference).

    Parameters
    ----------
    source : path or Instance
        A log, an instance file of family `rigid`, or an instance.
    add, remove : str or sequence of str
        Machines, such as ``"10xgpu"``: nodes of a type of the list of machines, or units of a
        resource, of which the list gives whole nodes, rounded up; or a node by its name.
    scale_load : float, optional
        Times since the first submission are divided by it.
    without : str or sequence of str
        ``"user=NAME"`` or ``"partition=NAME"``: jobs that are gone after the change.
    skip_unfit : bool
        Leave jobs that never fit, or not after the change, out of both scenarios; else they are
        an error.
    policies : sequence of str or Policy, optional
        By default all of the family.
    windows : int, optional
        Disjoint parts of the log, over which means and their 95 % intervals are taken.
    callback : callable, optional
        Called with the part that begins.
    shown : callable, optional
        Called before the search (see `WhatIf.early`): of a single window, with the policies before
        the change, without one; then with all.
    **options
        ``machines``, ``packed``, ``jobs``, ``start`` and ``min_tasks`` of a log; ``seed``, and
        ``time_limit``, ``work_limit``, ``gap``, ``threads``, ``params``, ``watch`` of every search
        (:func:`optsched.compare`).

    Returns
    -------
    WhatIf
        After Ctrl-C, the results so far: policies run first, and their best schedules are where the
        search for the optimum begins. If none ran after the change, those without a change.

    Raises
    ------
    InputError
        A change is malformed or not possible.
    PolicyError
        All policies fail.
    KeyboardInterrupt
        After Ctrl-C, before there is anything to compare.
    """
    for name, least, number in (("windows", 2, windows), ("jobs", 1, options.get("jobs"))):
        if number is not None and (type(number) is not int or number < least):
            raise InputError(f"{name} is {number!r}, expected a whole number, at least {least}")
    callback = callback or (lambda _: None)
    lists = ([x] if isinstance(x, str) else list(x or ()) for x in (add, remove, without))
    added, removed, gone = lists
    changes = Changes.of(added, removed, scale_load, gone)
    turns(get_family("rigid"), policies)  # an unknown policy is refused before the log is read
    given = {f.name: options.pop(f.name) for f in fields(Window) if f.name in options}
    window = Window(**given, skip_unfit=skip_unfit or None)
    opened, listed = _opened(source, window, windows)
    changes.must_be_found([one.inst for one in opened])
    changes = changes.on(opened[0].inst, opened[0].nodes)
    warned = changes.caps(opened[0].inst) + _scaled(changes)
    pairs = [
        changes.apply(one.inst, skip_unfit=skip_unfit, names=one.names, placed=one.placed)
        for one in opened
    ]
    reports: list[list[RatioReport]] = []  # by window: before, after
    changed = bool(changes.words)

    def at(k: int) -> str:
        return f"window {k + 1} of {len(pairs)}, " if len(pairs) > 1 else ""

    def found() -> WhatIf:
        """Return the policies and the current bounds on the optimum, as far as there are any."""
        done = [*zip(pairs, opened, reports, strict=False)]
        ran = len(reports[0]) == len(SIDES)  # after the change too
        notes = listed + warned * ran
        for k, (pair, one, both) in enumerate(done):
            real = bool(one.real or one.starts)
            n, left = len(pair.before.jobs), len(pair.after.jobs)
            other = f"; what your cluster did is the mean of the other {n}, as recorded" * real
            notes += [f"{SKIPPED}{at(k)}{pair.unfit}{other}"] if pair.unfit else []
            if pair.unfit and len(pairs) == 1:
                every = len(one.inst.jobs)
                whole, part = (f"{REAL}: {number} of {every} jobs" for number in (every, n))
                notes = [x.replace(whole, part) for x in notes]
            gone = [f"{at(k)}after the change {n - left} of {n} jobs are gone"]
            notes += gone * (left < n and ran)
            notes += [str(failed) for report in both for failed in report.failed]
        if interrupts.received() is not None:
            why = "a longer search may narrow the intervals of the optimum"
            if changed and not ran:
                why = "no policy ran after the change, so only the present is stated"
            elif len(done) < len(pairs):
                why = f"{len(done)} of {len(pairs)} windows are complete"
            notes.insert(0, f"interrupted by {interrupts.name()}: {why}")
        sides = [
            Sides(
                (pair.before, pair.after if ran else pair.before),
                (both[0], both[-1]),
                pair.same if ran else tuple(range(len(pair.before.jobs))),
                one.clock,
                tuple(one.starts[i] for i in pair.kept if one.starts),
            )
            for pair, one, both in done
        ]
        return WhatIf.of(
            sides,
            source=opened[0].inst.source if isinstance(source, RigidInstance) else str(source),
            changes=changes.words if ran else (),
            listed=tuple(dict.fromkeys(notes)),
            used=_used(opened, pairs, windows),
        )

    # policies, and the bounds before any search
    first = options | {"time_limit": 0.0, "watch": None}
    try:
        for k, (pair, one) in enumerate(zip(pairs, opened, strict=True)):
            outside = {
                n: RigidSchedule(**{f: [x[i] for i in pair.kept] for f, x in s if x})
                for n, s in one.real.items()
            }
            callback(f"{at(k)}policies before the change" if changed else f"{at(k)}policies")
            both = [compare(pair.before, policies, schedule=outside, **first)]
            reports.append(both)
            interrupts.raise_if_interrupted()
            if changed:
                if shown is not None and len(pairs) == 1:
                    shown(found())
                callback(f"{at(k)}policies after the change")
                both.append(compare(pair.after, policies, **first))
            if k:
                interrupts.raise_if_interrupted()
    except KeyboardInterrupt:
        if not reports:
            raise
        del reports[max(1, k) :]  # what is done of the first window is kept
    if shown is not None and interrupts.received() is None:
        shown(found())
    for k, (pair, both) in enumerate(zip(pairs, reports, strict=False)):
        direction = Sides((pair.before, pair.after), (both[0], both[-1]), (), None).direction
        for side, inst in enumerate((pair.before, pair.after)[: len(both)]):
            if interrupts.received() is not None:
                break
            callback(f"{at(k)}optimum {SIDES[side]} the change" if changed else f"{at(k)}optimum")
            more = side == 1 and direction < 0 and not inst.packed
            known = [r.optimum.schedule for r in (both if more else [both[side]])]
            best = solve(inst, start=[s for s in known if s is not None], **options)
            failed = both[side].failed
            rated = rate(inst, both[side].runs, best, {}, both[side].outside)
            both[side] = rated.model_copy(update={"failed": failed})
    return found()


def _scaled(changes: Changes) -> list[str]:
    factor = f"{float(changes.load):g}"
    line = f"after the change times since the first submission are divided by {factor}"
    return [line] * (changes.load != 1)


@dataclass(frozen=True)
class Submitted:
    """Which jobs of a log are in a window."""

    read: int  # of the log, in all windows
    dropped: int  # others of the log
    unfit: int
    why: str
    when: tuple[str, ...]  # each was submitted; () without dates


@dataclass(frozen=True)
class _Opened:
    """A window of a log, and what was recorded."""

    inst: RigidInstance
    real: Mapping[str, Any] = field(default_factory=dict)  # the recorded schedule, by its name
    starts: tuple[int, ...] = ()  # recorded ones, if the nodes are unknown
    clock: int | None = None  # second of the day of second 0
    placed: RigidInstance | None = None  # the same jobs on nodes, if they are pooled
    names: tuple[str, ...] = ()  # of jobs, with their submission
    nodes: Mapping[str, str] = field(default_factory=dict)  # their types, by their names
    submitted: Submitted | None = None


def _opened(
    source: Path | str | Instance, window: Window, windows: int | None
) -> tuple[list[_Opened], list[str]]:
    """Return instances, each with what was recorded; and remarks."""
    if is_named_in_file(str(source)):
        raise InputError(f"{source}: is a declared problem, expected a log or family rigid")
    if isinstance(source, Instance) or is_instance(Path(source)):
        inst = source if isinstance(source, Instance) else load_instance(Path(source))
        if not isinstance(inst, RigidInstance):
            raise InputError(f"what-if: family {inst.family}, expected family rigid")
        if windows is not None:
            raise InputError(f"{source}: is one instance, expected a log for windows")
        return [_Opened(inst)], [f"drawn: {', '.join(inst.drawn)}"] if inst.drawn else []
    from optsched.families.rigid.sources.traces import types_of_nodes
    from optsched.traces import read_jobs, reading

    found: list[_Opened] = []
    path, window = meant(Path(source), get_family("rigid"), window)
    with messages.silenced(), messages.collected_remarks() as remarks, reading(path):
        jobs = read_jobs(path)
        parts = [replace(window, start=f"{k + 1}/{windows}") for k in range(windows or 0)]
        parts = parts or [window]
        places = {line: {*range(len(parts))} for line in remarks}  # windows of each remark
        on_nodes, why = _on_nodes(path, parts, remarks)
        places |= {why: {*range(len(parts))}} if why else {}
        packed = window.packed
        if packed is None:
            # a pool would bring back the jobs that fit on no node
            packed = bool(on_nodes and window.skip_unfit)
            packed = packed or any(sum(job.need) > 1 for one in on_nodes for job in one.jobs)
        nodes = {} if window.machines is None else types_of_nodes(Path(window.machines))
        for k, part in enumerate(parts):
            seen, one = len(remarks), replace(part, packed=packed)
            inst = cast(RigidInstance, open_input(path, "rigid", one))
            remarks.append(inst.source.partition("; left out of the log")[0])  # it has a remark
            real, starts = _recorded(path, one, inst, remarks)
            clock, names, submitted = _submissions(jobs, one, inst)
            placed = on_nodes[k] if on_nodes and not inst.packed else None
            found.append(_Opened(inst, real, starts, clock, placed, names, nodes, submitted))
            for line in remarks[seen:]:
                places.setdefault(line, set()).add(k)
    return found, [_of_windows(line, among, windows or 1) for line, among in places.items()]


def _on_nodes(
    path: Path, parts: Sequence[Window], remarks: list[str]
) -> tuple[list[RigidInstance], str]:
    """Return the windows with jobs on nodes; none if there are no nodes, or why it cannot be."""
    if parts[0].packed or parts[0].machines is None:
        return [], ""
    seen, why = len(remarks), ""
    opened = list[RigidInstance]()
    try:
        for one in parts:
            skip = one.skip_unfit and one.packed is None
            nodes = replace(one, packed=True, skip_unfit=skip)
            inst = cast(RigidInstance, open_input(path, "rigid", nodes))
            opened += [inst] * (not are_pools(altered(inst, packed=False)))
    except InputError as error:
        said = str(error).removeprefix(f"{path}: ")
        why = POOLED + re.sub("; expected .*, or --skip-unfit, which", "; --skip-unfit", said)
        opened = []
    del remarks[seen:]
    return opened, why * (parts[0].packed is None)


def _recorded(
    path: Path, window: Window, inst: RigidInstance, remarks: list[str]
) -> tuple[Mapping[str, Any], tuple[int, ...]]:
    """Return the recorded schedule, or its starts where the nodes of jobs are unknown."""
    seen = len(remarks)
    real = recorded(path, window, inst)
    if real or not inst.packed:
        return real, ()
    said, pool = remarks[seen:], replace(window, packed=False)
    del remarks[seen:]
    real = recorded(path, pool, open_input(path, "rigid", pool))
    del remarks[seen:]
    if not real:
        remarks += said
        return {}, ()
    why = said[-1].rpartition("; ")[2]
    remarks.append(f"{REAL}: times are those of the log, nodes not checked: {why}")
    return {}, cast(RigidSchedule, real[REAL]).start  # type: ignore[return-value]


def _submissions(
    jobs: Any, window: Window, inst: RigidInstance
) -> tuple[int | None, tuple[str, ...], Submitted]:
    """Return the second of the day of second 0, names of jobs, and which of the log they are."""
    from optsched.families.rigid.sources.traces import beginning, window_of
    from optsched.traces import read_machines
    from optsched.traces.tables import Tables
    from optsched.traces.windows import take_window

    n = len(inst.jobs)
    taken = take_window(jobs, n, window.start or "0", window.min_tasks or 1)
    unfit = 0
    if window.skip_unfit:
        listed = None if window.machines is None else read_machines(window.machines)
        taken = window_of(Tables(jobs, listed), window)
        unfit = len(window_of(Tables(jobs, listed), replace(window, skip_unfit=False))) - n
    times, clock = [job.arrival for job in inst.jobs], None
    dates, when = [f"in second {t}" for t in times], tuple[str, ...]()
    if (begin := beginning(jobs, taken)) is not None:
        clock = begin % (24 * HOUR)
        dates = [f"{datetime.fromtimestamp(begin + t, UTC):%Y-%m-%d %H:%M:%S}" for t in times]
        when = tuple(date[:-3] for date in dates)
    users = [f"by {job.user} " * bool(job.user) for job in inst.jobs]
    names = (
        f"job {name} (submitted {user}{date}: "
        for name, user, date in zip(taken["name"], users, dates, strict=True)
    )
    dropped, why = jobs.attrs["dropped"], re.sub(r" \([^)]*\)", "", jobs.attrs["why"])
    return clock, tuple(names), Submitted(len(jobs), dropped, unfit, why, when)


def _used(opened: Sequence[_Opened], pairs: Sequence[Changed], number: int | None) -> str:
    """Return which jobs of the log are used, in a sentence; "" of an instance."""
    known = [one.submitted for one in opened if one.submitted is not None]
    if not known:
        return ""
    log, unfit = known[0], sum(one.unfit for one in known)
    n, taken = sum(len(pair.kept) for pair in pairs), sum(len(one.inst.jobs) for one in opened)
    every, rest = log.read + log.dropped, log.read - taken - unfit
    which = f"All {n} jobs of the log are used"
    if n < every:
        parts = [f"{rest} not chosen"] * bool(rest) + [f"{unfit} that never fit"] * bool(unfit)
        parts += [f"{taken - n} that no longer fit after the change"] * (n < taken)
        why = ", ".join(parts + [log.why] * bool(log.why))
        which = f"{n} of the log's {every} jobs are used ({why})"
    which += f", in {number} windows" if number else ""
    if not log.when:
        return f"{which}."
    first, last = log.when[pairs[0].kept[0]], known[-1].when[pairs[-1].kept[-1]]
    return f"{which}, submitted from {first} to {last}."


def _of_windows(line: str, among: Iterable[int], number: int) -> str:
    """Return a remark, and which windows it is about, if not all."""
    which = [str(k + 1) for k in sorted(among)]
    head = f"window{'s' * (len(which) > 1)} {', '.join(which)}: " if len(which) < number else ""
    return f"{head}{line}"


def _scenario(
    inst: RigidInstance,
    report: RatioReport,
    same: Sequence[int],
    clock: int | None,
    starts: Sequence[int],
) -> Scenario:
    """Return the rows of a comparison, whose schedules were checked, and the shadow prices."""
    best, arrays, among = report.optimum, inst.arrays, np.array(same)
    weights = arrays.weight[among]

    def row(wait: float, start: Any, known: Mapping[str, Any], low: float | None = None) -> Row:
        waits = (np.array(start) - arrays.arrival)[among]
        return Row(
            wait=((wait if low is None else low) / HOUR, wait / HOUR),
            slowdown=known["mean slowdown"],
            same=float(np.average(waits, weights=weights)) / HOUR,
            knows=known.get("run times known", "-"),
        )

    schedules = cast(dict[str, RigidSchedule], report.schedules())
    first, low = cast(RigidSchedule, best.schedule), max(0.0, best.proved or 0.0)
    rows = {BEST: row(best.value or 0.0, first.start, report.hindsight, low)}
    rows |= {x.name: row(x.value, schedules[x.name].start, x.columns) for x in report.policies}
    if starts:  # on unknown nodes, so there is no schedule to check
        known = columns(inst, (arrays.run + starts).tolist(), None, ())
        rows[REAL] = row(HOUR * float(known["mean wait, h"]), starts, known)
    return Scenario(
        size=get_family("rigid").headline(inst).replace("time, s, ", "time, h, "),
        jobs=len(inst.jobs),
        weight=inst.weight,
        rows=rows,
        prices=hourly(inst, cast(RigidCertificate | None, best.certificate), clock or 0),
    )


def _carried(before: Scenario, after: Scenario, direction: int) -> tuple[Scenario, Scenario]:
    """Carry ends of the optimum over: with fewer machines it is at least that with more.

    Prices belong to the bound of their own scenario, so one that is replaced has none.
    """
    if not direction:
        return before, after
    fewer, more = (before, after) if direction < 0 else (after, before)
    worse, better = fewer.rows[BEST], more.rows[BEST]
    if better.wait[0] > worse.wait[0]:
        wait = better.wait[0], max(worse.wait[1], better.wait[0])
        rows = fewer.rows | {BEST: worse.model_copy(update={"wait": wait})}
        fewer = fewer.model_copy(update={"rows": rows, "prices": {}})
    if worse.wait[1] < better.wait[1]:
        wait = min(better.wait[0], worse.wait[1]), worse.wait[1]
        rows = more.rows | {BEST: worse.model_copy(update={"wait": wait})}
        more = more.model_copy(update={"rows": rows})
    return (fewer, more) if direction < 0 else (more, fewer)


def hourly(
    inst: RigidInstance, certificate: RigidCertificate | None, clock: int
) -> dict[str, tuple[float, ...]]:
    """Return the shadow price of one more unit by hour of the day, hours of waiting time.

    ``clock`` is the second of the day of second 0. It is empty where the bound has no prices.
    """
    found = {}
    for name, units in units_of(inst).items():
        total = np.zeros(24)
        for first, last, seconds in () if certificate is None else saved(inst, certificate, units):
            begin, end = first + clock, last + clock
            days = (end - begin) // (24 * HOUR)  # each has every hour
            hour = np.arange(begin // HOUR, -(-(end - days * 24 * HOUR) // HOUR))
            rest = np.minimum(end - days * 24 * HOUR, (hour + 1) * HOUR)
            inside = np.full(24, days * HOUR)
            np.add.at(inside, hour % 24, rest - np.maximum(begin, hour * HOUR))
            total += seconds * inst.weight / HOUR * inside / (end - begin)
        found[name] = tuple(total.tolist())
    return found if any(map(any, found.values())) else {}
