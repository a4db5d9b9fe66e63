"""Large neighborhood search with a diving heuristic on the configuration LP.

The neighborhood (Shaw, 1998) frees the decisions of a few jobs: whether they run, and when they
complete. A dive re-decides them on the linear program of `SlotProgram`, with column generation
after every decision (Sadykov et al., 2019): completions are postponed to where little completes
later, and jobs that lack most work stay out. The decisions are kept if they earn no less. At the
end every slot gets one of its packings. Parallel searches start from the same schedule; in the
last part of their time they continue from the best decisions of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.random import Generator

from optsched.families.oasis.instance import OasisSchedule
from optsched.families.oasis.optimum.prices.tightening import Guide
from optsched.families.oasis.optimum.prices.workers import UnitBlocks
from optsched.families.oasis.optimum.slotwise.meeting import Decisions, Meeting
from optsched.families.oasis.optimum.slotwise.program import Point, SlotProgram
from optsched.families.oasis.optimum.slotwise.rounding import choose
from optsched.families.oasis.optimum.slotwise.slots import Slot, Slots
from optsched.numbers.arrays import Floats, Ints
from optsched.process import effort
from optsched.scheduling.board import Plan

LIKELY = 0.05  # share of a job that completes in a slot, from which on that is an option
AFTER, BEFORE = 3, (1, 2, 4)  # slots from there that are options, too, and from known completions
LEVELS = (0.995, 0.97, 0.9, 0.8, 0.6, 0.4, 0.2)  # shares of the best: the last slot of each is one
FEW = 0.01  # share of a job that runs, from which on it takes part
FIRST, AGAIN = 6, 3  # rounds of packings at the first prices, and with the schedule
OPEN = 2, 20  # jobs that are opened at a time: from, below
NEAR = 0.7  # of the times they can run in one slot
LATER = 0.35  # share that completes later, from which on a completion is put off
LAST = 0.1, 0.02, 0.003  # the same for those that were put off before
WHOLE = 0.99  # share of a job from which on it runs
SURE = 0.9  # that no more than a tenth completes later: then all such decisions are made at once
DECISIONS = 2  # else, a share of all
TRIED = 3  # jobs, one of which stays out
NONE = 0.02  # share of a job below which it stays out at once
LOSS = 0.003  # of the value, that a dive may recover from at its beginning
PATIENCE = 5  # rounds of packings in which it has to, at its end
KEPT, FORGET = 500, 1000  # packings after there are so many
EQUAL = 1e-9  # values, relatively
TRIES, MOVES = 3, 400_000  # of choosing a packing for every slot
SOON, HEAT = 0.005, 0.1  # see `rounding.choose`
STEPS = 100  # elementary ones of such a move
SHARED = 0.25  # of the time, at its end: the best decisions of others are taken over
ROUNDS = 20  # of packings take as long as choosing a packing for every slot
LONGEST = 0.2  # of the time is kept for that, until it was done once
REPORT = 0.005  # of the value: less is not put into slots before the end


class SlotSearch:
    """The decisions of a search, and the program that says what they earn.

    Parameters
    ----------
    blocks : UnitBlocks
    guide : Guide
    schedule : OasisSchedule
        Where it begins.
    rng : Generator
    meeting : Meeting
        With other searches, whose best decisions it takes over in the end.
    """

    def __init__(
        self,
        blocks: UnitBlocks,
        guide: Guide,
        schedule: OasisSchedule,
        rng: Generator,
        meeting: Meeting,
    ) -> None:
        self.blocks, self.rng, self.meeting = blocks, rng, meeting
        self.slots = Slots(blocks, guide.prices, rng)
        ends = _completions(schedule)
        options = meeting.options(lambda: self._options(guide, ends))
        self.program = SlotProgram(self.slots, options)
        self.jobs = list(options)
        self.decided: set[int] = set()
        self.ending = 0.0  # seconds that a choice of packings takes, as far as is known
        self._begin(schedule, ends)

    def _begin(self, schedule: OasisSchedule, ends: Mapping[int, int]) -> None:
        """Begin with a schedule, packings at the first prices, and those that others know."""
        program, others = self.program, self.meeting.best
        for _ in range(FIRST):
            program.add(self.slots.price_some(program.every, self.slots.price, program.last, {}))
        program.add(self.slots.of(schedule))
        if others is not None:
            program.add(others.known)
        for i, c in program.options.items():
            if i in ends:
                program.open(i, int(np.searchsorted(c, ends[i])))
                self.decided.add(i)
            else:
                program.close(i)

    def _options(self, guide: Guide, ends: Mapping[int, int]) -> dict[int, Ints]:
        """Return in which slots jobs may complete: where the relaxation does, and a little on."""
        blocks, utility = self.blocks, self.blocks.arrays.utility
        out = {}
        for i, job in enumerate(blocks.inst.jobs):
            most = int(blocks.most[i])
            first = job.arrival - (-blocks.inst.work[i] // max(most, 1)) - 1
            takes_part = guide.near[i] or guide.share[i] > FEW or i in ends
            if not takes_part or most == 0 or first >= blocks.slots or utility[i, first] <= 0:
                continue
            likely = np.flatnonzero(guide.completed[i] > LIKELY)
            found = {int(c) + k for c in likely for k in range(AFTER + 1)}
            found |= {
                int(np.flatnonzero(utility[i] >= level * utility[i, first])[-1]) for level in LEVELS
            }
            if i in ends:
                found |= {ends[i] + k for k in range(AFTER + 1)} | {ends[i] - k for k in BEFORE}
            some = [c for c in sorted(found) if first <= c < blocks.slots and utility[i, c] > 0]
            if some:
                out[i] = np.array(some, np.int64)
        return out

    def search(self, left: Callable[[], float], found: Callable[[dict[int, Plan]], float]) -> None:
        """Search until no time is left; hand over plans that may be better.

        Parameters
        ----------
        left : callable
            Seconds that are left.
        found : callable
            Takes plans; returns the value of the best schedule that is known.
        """
        if not self.jobs:
            return
        program, began = self.program, left()
        whole = began
        self.meeting.show(found({}))
        best, taken = program.improve(AGAIN), None
        self._tell(best)
        self.ending = min(ROUNDS * (began - left()) / AGAIN, LONGEST * left())
        while left() > self.ending:
            before = dict(program.lowest), set(self.decided)
            for i in self._choose():
                program.open(i)
                self.decided.discard(i)
            point = self._dive(best.value, left)
            if point is None or point.value < best.value * (1 - EQUAL):
                self._back(*before)
            else:
                best = point
                self._tell(best)
                if self.meeting.show(best.value, REPORT):
                    began = left()
                    found(self.plans(best))
                    self.ending = began - left()  # the first rounds may have been far slower
            other = self.meeting.best if left() < SHARED * whole else None
            if other is not None and other is not taken and other.value > best.value * (1 + EQUAL):
                self._take(other)
                best, taken = program.solve()[0], other
            if len(program.packings) > FORGET:
                program.forget(KEPT)
                best = program.solve()[0]
        if left() > 0:
            found(self.plans(program.solve()[0]))

    def _tell(self, point: Point) -> None:
        """Leave the decisions for others."""
        program = self.program
        decided, known = frozenset(self.decided), list(program.packings)
        used = program.in_use(point)
        self.meeting.tell(Decisions(point.value, dict(program.lowest), decided, used, known))

    def _take(self, decisions: Decisions) -> None:
        """Go on from decisions of others."""
        self.program.add(decisions.used)
        self._back(decisions.lowest, set(decisions.decided))

    def _choose(self) -> list[int]:
        """Draw jobs to open: as a rule, some that can run in the same slot."""
        size, slot = int(self.rng.integers(*OPEN)), int(self.rng.integers(self.blocks.slots))
        near = self.jobs
        if self.rng.random() < NEAR:
            options = self.program.options
            near = [i for i in self.jobs if self.slots.arrival[i] <= slot <= options[i][-1]]
        some = self.rng.choice(len(near), size=min(size, len(near)), replace=False)
        return [near[k] for k in some.tolist()]

    def _back(self, lowest: Mapping[int, int], decided: set[int]) -> None:
        self.decided = decided
        for i, k in lowest.items():
            if self.program.lowest[i] != k:
                self.program.open(i, k)

    def _dive(self, least: float, left: Callable[[], float]) -> Point | None:
        """Decide what is open; None if that earns less than ``least``, or takes too long."""
        program, level = self.program, 0
        point = program.improve(1)
        while True:
            if left() <= self.ending or point.value < least * (1 - LOSS):
                return None
            share = {
                i: float(point.x[program.row[i]].sum()) for i in self.jobs if not program.closed(i)
            }
            later = {i: self._put_off(i, point.x, level) for i, s in share.items() if s > WHOLE}
            moves = {i: k for i, (k, _) in later.items() if k is not None}
            order = sorted(moves, key=lambda i: -later[i][1])
            sure = [i for i in order if later[i][1] > SURE]
            lacking = [i for i, s in share.items() if s <= WHOLE]
            # nothing is put off for a job that may stay out in the end
            decisions = sure if sure or lacking else order[: max(1, len(order) // DECISIONS)]
            for i in decisions:
                program.open(i, moves[i])
                self.decided.add(i)
            if len(decisions) < 2 and lacking:
                out = [i for i in lacking if share[i] < NONE]
                for i in out or [self._least_missed(lacking, point.x)]:
                    program.close(i)
                    self.decided.discard(i)
            elif not decisions:
                level += 1
                if level == len(LAST):
                    return self._recover(point, least, left)
                continue
            point = program.improve(1)

    def _least_missed(self, lacking: Sequence[int], x: Floats) -> int:
        """Return the job without which most is earned, of those that earn least as things stand."""
        program, utility = self.program, self.blocks.arrays.utility
        earned = {i: float(utility[i, program.options[i]] @ x[program.row[i]]) for i in lacking}
        some = sorted(lacking, key=lambda i: earned[i])[:TRIED]
        value = dict.fromkeys(some, 0.0)
        for i in some if len(some) > 1 else []:
            lowest = program.lowest[i]
            program.close(i)
            value[i] = program.solve()[0].value
            program.open(i, lowest)
        return max(some, key=lambda i: value[i])

    def _recover(self, point: Point, least: float, left: Callable[[], float]) -> Point:
        """Add packings for what was decided, as long as that may earn ``least`` soon."""
        while least * (1 - LOSS) < point.value < least * (1 - EQUAL) and left() > self.ending:
            before, point = point.value, self.program.improve(1)
            if PATIENCE * (point.value - before) < least - point.value:
                break
        return point

    def _put_off(self, i: int, x: Floats, level: int) -> tuple[int | None, float]:
        """Return the option to which job i goes, None if it stays, and what completes by then."""
        mine = x[self.program.row[i]]
        tail = np.cumsum(mine[::-1])[::-1] / mine.sum()
        enough = LAST[level] if i in self.decided else LATER
        k = int(np.flatnonzero(tail >= enough)[-1])
        settled = i in self.decided and k <= self.program.lowest[i]
        return None if settled else k, 1.0 - float(tail[k + 1 :].max(initial=0.0))

    def plans(self, point: Point) -> dict[int, Plan]:
        """Choose a packing for every slot; return where the jobs run whose work is done."""
        program, blocks = self.program, self.blocks
        point = program.settle(point)
        order = sorted(range(len(program.packings)), key=lambda k: program.packings[k].slot)
        packings = [program.packings[k] for k in order]
        slot = np.array([p.slot for p in packings])
        first = np.searchsorted(slot, np.arange(blocks.slots + 1))
        number = np.array([p.numbers(blocks.jobs) for p in packings])
        due, worth = np.full(blocks.jobs, -1), np.zeros(blocks.jobs)
        utility, work = blocks.arrays.utility, np.array(blocks.inst.work, np.int64)
        for i, c in program.options.items():
            if not program.closed(i):
                due[i] = c[program.lowest[i]]
                worth[i] = utility[i, due[i]]
        z = point.z[order]
        most = np.full(blocks.slots, -1)
        for t in range(blocks.slots):
            if first[t + 1] > first[t]:
                most[t] = first[t] + int(z[first[t] : first[t + 1]].argmax())
        best: dict[int, Plan] = {}
        for _ in range(TRIES):
            choice = most.copy()
            effort.steps(STEPS * MOVES)
            lost = choose(first, number, due, work, worth, SOON, MOVES, HEAT, self.rng, choice)
            plans = self._plans([packings[p] for p in choice[choice >= 0].tolist()])
            if sum(p.value for p in plans.values()) > sum(p.value for p in best.values()):
                best = plans
            if lost == 0.0:
                break
        return best

    def _plans(self, chosen: list[Slot]) -> dict[int, Plan]:
        """Return where jobs run whose work the packings do, one for each slot, ascending."""
        rows: dict[int, list[tuple[int, int, int, int]]] = {}
        left = list(self.blocks.inst.work)
        end: dict[int, int] = {}
        for p in chosen:
            for k, i in enumerate(p.jobs.tolist()):
                n = min(left[i], int(p.number[k]))
                if not n or i not in self.program.options:
                    continue
                left[i] -= n
                end[i] = p.slot
                for side, most in enumerate((n, int(self.blocks.needed[i][n]))):
                    hosted = p.hosted[side][:, k]
                    before = np.cumsum(hosted) - hosted
                    kept = np.minimum(hosted, np.maximum(most - before, 0))
                    rows.setdefault(i, []).extend(
                        (side, p.slot, int(h), int(kept[h])) for h in np.flatnonzero(kept)
                    )
        utility = self.blocks.arrays.utility
        return {
            i: Plan(float(utility[i, t]), t, np.array(rows[i], np.int64))
            for i, t in end.items()
            if left[i] == 0 and utility[i, t] > 0
        }


def _completions(schedule: OasisSchedule) -> dict[int, int]:
    """Return when the jobs complete that run."""
    return {
        i: max(t for t, _, _ in job.workers)
        for i, job in enumerate(schedule.jobs)
        if job is not None and job.workers
    }
