"""The methods of family `rigid` by name, and `auto`.

`auto` begins with list scheduling and EASY backfilling with exact run times, then takes turns: the
subgradient method on prices of capacity and of sizes, whose intervals are halved again and again,
and a large neighborhood search (Shaw, 1998). A few jobs are closed by a tree over start times. For
the makespan, deadlines are excluded by the same prices (a bisection over deadlines, each a
Lagrangian bound without costs).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy

import numpy as np

from optsched.engine.budget import Span
from optsched.engine.progress import Progress
from optsched.families.rigid.certificate.check import (
    MOST_FILLED,
    MOST_WALKED,
    RigidCertificate,
)
from optsched.families.rigid.facts import RUN_TIMES, run_times
from optsched.families.rigid.instance import RigidInstance
from optsched.families.rigid.online import assemble, events
from optsched.families.rigid.optimum.cpsat import cpsat
from optsched.families.rigid.optimum.params import AutoParams
from optsched.families.rigid.optimum.prices import Steps, adapt, ascend, steps_from
from optsched.families.rigid.optimum.problem import SLICE, RigidProblem, grid_bits, written
from optsched.families.rigid.optimum.relaxation import relaxation
from optsched.families.rigid.optimum.search import DRAWS, Walk, shake, total
from optsched.families.rigid.optimum.tree import StartTree
from optsched.families.rigid.policies.orders import Ordered
from optsched.families.rigid.policies.queue import Easy
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.streams import Streams
from optsched.problem import Method, Policy
from optsched.process import work_units

PLAYED = 0.06  # work units of an event
LOOKED = 8  # elementary steps of a start that pricing looks at
PASSED = 6  # elementary steps of an event that is passed
CLOSED = 1e-7  # relative: a slowdown is no whole number
TASK = 0.1  # seconds of a thread until it hands over prices or a schedule


class Portfolio:
    """Prices and schedules of an instance, improved in turns.

    Parameters
    ----------
    inst : RigidInstance
    progress : Progress
    seed : int
    threads : int, optional
        Above 1, the subgradient method has its own thread; once prices are fine enough, a second
        search.
    """

    def __init__(
        self,
        inst: RigidInstance,
        progress: Progress,
        seed: int,
        threads: int = 1,
    ) -> None:
        self.threads = threads
        self.params: AutoParams = progress.params.auto
        self.inst, self.progress = inst, progress
        self.problem = problem = RigidProblem(inst)
        self.streams = Streams(seed)
        self.rng = self.streams("search")
        starts, allocation = (
            np.zeros(problem.n, np.int64),
            np.zeros((problem.n, len(problem.bins)), np.int64),
        )
        self.walk = Walk(starts, allocation, starts.copy(), allocation.copy(), np.full(2, math.inf))
        self.passed = 40 * problem.n + 1  # events that a round of the search passes, on all nodes
        self.checked_cost = math.inf
        self.checking = 0.0  # seconds that the last check took
        self.proved = -math.inf
        self.bound = -math.inf
        self.looked = 7.0 * problem.n  # starts that pricing looked at in the last step

    # --- schedules ---

    @property
    def cost(self) -> float:
        """The cost of the best schedule."""
        return float(self.walk.cost[1])

    def keep(self, start: Ints, allocation: Ints) -> None:
        """Go on from a schedule, if it is the best."""
        walk, cost = self.walk, total(self.problem.jobs, self.problem.late, start)
        if cost < self.cost:
            walk.start[:], walk.allocation[:], walk.cost[:] = start, allocation, cost
            walk.best_start[:], walk.best_allocation[:] = start, allocation

    def list(self, key: Floats | Ints, low: Ints | None = None) -> None:
        """Keep the list schedule of an order of priority, if it is the best.

        No job starts before ``low``, by default its arrival.
        """
        made = self.problem.listed(key, self.progress.stop, self.params.depth, low)
        if made is not None:
            self.keep(*made)

    def play(self, policy: Policy) -> None:
        """Keep the schedule of a policy that knows run times, if it is the best."""
        policy.start(self.inst.platform(), {RUN_TIMES: run_times(self.inst)}, Streams(0))
        revealed, played = events(self.inst), []
        event = next(revealed, None)
        while event is not None:
            if self.progress.stop():
                return
            played.append((event, policy.step(event)))
            work_units.spend(PLAYED)
            try:
                event = revealed.send(played[-1][1])
            except StopIteration:
                event = None
        made = assemble(self.inst, played)
        start = np.array(made.start, np.int64)
        allocation = np.ones_like(self.walk.allocation)
        if self.inst.packed:
            allocation[:] = 0
            for i, placed in enumerate(made.nodes):
                for h, tasks in placed:
                    allocation[i, h] = tasks
        self.keep(start, allocation)

    def cool(self, share: float) -> None:
        """Go on with the large neighborhood search for a turn, at a share of the time."""
        hot, cold = self.params.hot, self.params.cold
        self.shake(hot * (cold / hot) ** share if share < self.params.frozen else 0.0)

    def second(self) -> Portfolio:
        """Return one that shares all but the search, which begins hot with other random numbers."""
        other = copy(self)
        other.rng, other.walk = self.streams("second search"), deepcopy(self.walk)
        return other

    def cool_alone(self, span: Span) -> None:
        """Go on with the search for some turns, while another thread searches as well."""
        end = self.progress.seconds() + TASK
        while self.progress.seconds() < end:
            self.cool(span.share())

    def shake(self, heat: float) -> None:
        """Go on with the large neighborhood search for a turn."""
        p = self.problem
        rounds = max(1, min(self.params.rounds, SLICE // (PASSED * self.passed)))
        draws = self.rng.random((rounds, DRAWS))
        heat *= (self.cost + p.running) / p.n
        passed = shake(p.jobs, p.load, p.late, self.walk, self.params.behind, draws, heat)
        self.passed = 1 + passed * len(p.bins) // rounds
        work_units.steps(rounds * (PASSED * self.passed + DRAWS))

    def report(self) -> None:
        """Report the best schedule, if it is new."""
        if self.cost < self.checked_cost:
            self.checked_cost = self.cost
            self.progress.offer(
                self.problem.schedule(self.walk.best_start, self.walk.best_allocation), sure=True
            )

    # --- bounds ---

    def begin(self) -> None:
        """Begin with coarse prices of nothing."""
        p = self.problem
        end = int((self.walk.best_start + p.jobs.run).max(initial=1))
        self.times = p.grid(end, self.params.coarse)
        self.price = np.zeros((len(p.capacity), len(self.times)))
        self.mean, self.spread = self.walk.best_start.astype(float), np.zeros(p.n)
        self.state = np.array([-math.inf, 1.0, 0.0])
        self.steps: Steps | None = None  # after the coarse prices
        self.sized = p.sized() if self.params.sizes else None
        self.rest = self.rounded = False

    def ascend(self) -> None:
        """Improve the prices for a turn; refine them where that stalls."""
        p = self.problem
        each = 12 * self.price.size
        if self.steps is not None:
            self.adapt(each)
            return
        steps = self.fitting(each)
        self.bound, looked = ascend(
            p.jobs, self.times, self.price, p.room, self.cost, steps, self.state,
            self.mean, self.spread,
        )  # fmt: skip
        self.count(steps, each, looked)
        if self.state[1] < self.params.shortest_step:
            self.refine()

    def fitting(self, each: int) -> int:
        """Return the number of steps of a turn, each of this much work besides pricing."""
        return max(1, int(SLICE / (each + LOOKED * self.looked)))

    def count(self, steps: int, each: int, looked: int) -> None:
        """Count the work of steps that looked at this many starts."""
        self.looked = looked / steps
        work_units.steps(steps * each + LOOKED * looked)

    def ascend_alone(self) -> None:
        """Improve the prices for some turns, while another thread searches for schedules."""
        end = self.progress.seconds() + TASK
        while not self.rest and self.progress.seconds() < end:
            self.ascend()

    def round(self) -> None:
        """Keep the list schedules of alpha points of the average starts, if they are the best."""
        self.rounded = True
        for share in self.params.alphas:
            self.list(self.mean + share * self.problem.jobs.run)

    def adapt(self, each: int) -> None:
        """Improve the prices by adaptive steps, each of this much work besides pricing."""
        assert self.steps is not None
        jobs, room = self.problem.jobs, self.problem.room
        if self.sized:
            jobs, room = self.sized.jobs, self.sized.room
        each += len(self.times) * (self.sized.steps if self.sized else 0)
        steps, share = self.fitting(each), int(self.steps.number[0]) / self.params.steps
        first, last = self.params.first_rate, self.params.last_rate
        rate = first * (last / first) ** min(share, 1.0)
        self.bound, looked = adapt(
            jobs, self.times, self.now, room, rate, steps, self.steps, self.bound, self.price
        )
        self.count(steps, each, looked)
        if share >= 1:
            self.refine()

    def refine(self) -> None:
        """Halve the intervals of the prices; first of all, let every size have its own."""
        busy = np.any(self.price[:, :-1] > 0, axis=0)
        busy[1:] |= busy[:-1].copy()
        middle = ((self.times[1:] + self.times[:-1]) // 2)[busy]
        times = np.unique(np.concatenate([self.times, middle]))
        p, sized = self.problem, self.sized
        room = sized.room if sized else p.room
        rows = room.capacity.size + room.sizes.size
        self.rest = (
            len(times) > self.params.fine
            or len(times) * (sized.steps if sized else 0) > MOST_FILLED
            or len(times) * p.n > MOST_WALKED
            or len(times) * rows > self.params.most_prices
            or len(times) == len(self.times)
        )
        if self.rest:
            return
        price = self.price[:, np.searchsorted(self.times, times, side="right") - 1].copy()
        if sized and self.steps is None:
            more = [needs[:, None] * price[k] for k, needs in sized.needs.items()]
            price[[*sized.needs]] = 0.0
            price = np.vstack([price, *more])
        self.times, self.price, self.now = times, price, price.copy()
        self.steps = steps_from(price)

    def certify(self) -> None:
        """Report the bound that the prices prove."""
        if self.bound <= self.proved:
            return
        began = self.progress.seconds()
        bits = grid_bits(self.problem, self.times, self.price)
        sized = self.sized if self.steps else None
        prices = written(self.times, self.price, bits, sized)
        self.progress.prove(RigidCertificate.root(self.inst, prices, bits))
        work_units.spend(work_units.HANDLED * (self.price.size + 30 * self.problem.n))
        self.checking = self.progress.seconds() - began
        self.proved = self.bound

    # --- all together ---

    def run(self) -> None:
        """Take turns until stopped."""
        progress, p = self.progress, self.problem
        if not p.n:
            progress.offer(p.schedule(self.walk.best_start, self.walk.best_allocation), sure=True)
            return
        for key in (p.jobs.arrival, p.key, p.jobs.run, p.area, p.jobs.arrival + p.jobs.run):
            self.list(key)
            self.report()
            if progress.stop():
                return
        if p.n > self.params.small:
            for policy in (Ordered("sjf", exact=True), Easy(exact=True)):
                self.play(policy)
                self.report()
        else:
            for k in range(self.params.turns):
                self.cool(k / self.params.turns)
            self.report()
            if self.close():
                return
        if self.inst.objective == "makespan":
            self.deadlines()
            return
        self.begin()
        span, reported, task = progress.span(), 0.0, None
        second: tuple[Portfolio, Span] | None = None
        with ThreadPoolExecutor(1) as pool:
            while not progress.stop():
                if task is None or task.done():
                    if task is not None:
                        task.result()
                    if second is not None:
                        self.keep(second[0].walk.best_start, second[0].walk.best_allocation)
                    if self.steps is not None and not self.rounded:
                        self.round()
                    if progress.seconds() - reported > 1.0 or self.ending():
                        self.report()
                        self.certify()
                        reported = progress.seconds()
                        self.rest |= self.ending()
                    if not self.rest:
                        if self.threads > 1:
                            task = pool.submit(self.ascend_alone)
                        else:
                            self.ascend()
                    elif self.threads > 1:
                        second = second or (self.second(), progress.span())
                        task = pool.submit(second[0].cool_alone, second[1])
                self.cool(span.share())
        self.report()

    def ending(self) -> bool:
        """Whether little more time is left than a check takes."""
        return self.progress.left() < 2 * self.checking + 0.3

    def close(self) -> bool:
        """Close a few jobs by a tree over start times; return whether that is done."""
        p, whole = self.problem, self.inst.objective in ("flow", "wait")
        if self.inst.objective == "makespan":
            low, deadline = int((p.jobs.arrival + p.jobs.run).max()) - 1, round(self.cost) - 1
            while low < deadline and self.exclude(middle := (low + deadline + 1) // 2):
                low = middle
            if low >= deadline:
                return True
            tree = StartTree(p, self.progress, 1e-6, self.walk.best_start, deadline)
        else:
            target = self.cost - 1 + 1e-3 if whole else self.cost * (1 - CLOSED)
            tree = StartTree(p, self.progress, target, self.walk.best_start)
        done = tree.grow()
        if done or self.inst.objective != "makespan":
            self.progress.prove(tree.certificate())
        if tree.starts is None:
            return done
        before = self.cost
        self.list(tree.starts, tree.starts)
        self.report()
        return self.cost < before and (self.progress.stop() or self.close())

    def deadlines(self) -> None:
        """Exclude deadlines by prices, and look for shorter schedules, in turns."""
        p, progress = self.problem, self.progress
        first = int((p.jobs.arrival + p.jobs.run).max())
        low, high = first - 1, round(self.cost) - 1  # the greatest excluded; what might be
        while not progress.stop():
            self.shake(0.0)
            self.report()
            high = min(high, round(self.cost) - 1)
            if low >= high:
                return
            deadline = (low + high + 1) // 2
            if self.exclude(deadline):
                low = deadline
                continue
            high = deadline - 1
            if low >= high:
                break
        while not progress.stop():
            self.shake(0.0)
            self.report()

    def exclude(self, deadline: int) -> bool:
        """Prove by prices that no schedule ends by a deadline, if they do."""
        p = self.problem
        jobs = p.windows(p.jobs.low, deadline - p.jobs.run)
        times = p.grid(deadline, 8 * self.params.coarse)
        price = np.zeros((len(p.capacity), len(times)))
        state = np.array([-math.inf, 1.0, 0.0])
        mean, spread = self.walk.best_start.astype(float), np.zeros(p.n)
        price[:, :-1] = 1e-3 / p.capacity[:, None].clip(1.0)
        each = 12 * price.size
        while state[1] > self.params.shortest_step and not self.progress.stop():
            steps = min(50, self.fitting(each))
            found, looked = ascend(jobs, times, price, p.room, 1.0, steps, state, mean, spread)
            self.count(steps, each, looked)
            if found > 1e-6:
                bits = grid_bits(p, times, price)
                made = RigidCertificate.root(self.inst, written(times, price, bits), bits)
                self.progress.prove(made.model_copy(update={"deadline": deadline}))
                return True
        return False


def auto(inst: RigidInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Improve prices and schedules until stopped; close a few jobs."""
    Portfolio(inst, progress, seed, threads).run()


METHODS: Mapping[str, Method] = {"auto": auto, "cpsat": cpsat, "relaxation": relaxation}
