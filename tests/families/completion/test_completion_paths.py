"""Paths of the dynamic program over time: what stays on its servers, and their order."""

from __future__ import annotations

from functools import cache

import numpy as np
from completion_brute import optimum, solvable, tiny
from timelines import priced, program_of

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    PsType,
    WorkerType,
)
from optsched.families.completion.optimum.cpsat import Choices, Program
from optsched.families.completion.optimum.dominance import undominated
from optsched.families.completion.optimum.exact import Exact
from optsched.families.completion.optimum.prices.capacity import Jobs
from optsched.families.completion.optimum.prices.priced_search import Search
from optsched.families.completion.optimum.timeline.paths import Paths, refuted
from optsched.families.completion.optimum.timeline.slot_items import SlotItems
from optsched.families.completion.optimum.timeline.slot_kernels import NO, YES
from optsched.numbers.resources import MachineClass
from optsched.solvers import cp_solver, run_cp


@cache
def tight(seed):
    """Draw jobs with a type of worker of their own each, which hardly fit on three servers."""
    rng = np.random.default_rng([seed, 5])
    demands = [(1, 3), (2, 1), (2, 3), (4, 1), (3, 2), (1, 2), (5, 2)]
    jobs = []
    for k in range(len(demands)):
        times = np.full(len(demands), 60.0)
        times[k] = rng.integers(1, 4) - 0.1
        arrival, weight, chunks = rng.integers((0, 1, 1), (3, 20, 4)).tolist()
        jobs.append(job(arrival, weight, chunks, times.tolist()))
    return ring_or_ps(bool(seed % 2), demands, jobs, [(5, 4), (4, 5), (4, 5)])


def job(arrival, weight, chunks, times):
    return CompletionJob(
        arrival=arrival,
        weight=weight,
        epochs=1,
        chunks=chunks,
        batches_per_chunk=1,
        batch_time=tuple(times),
        update_time=(0.0,),
        gradient_mb=0.0,
    )


def ring_or_ps(ring, demands, jobs, servers):
    return CompletionInstance(
        architecture="ring" if ring else "ps",
        horizon=12,
        resources=("gpu", "cpu"),
        servers=tuple(MachineClass(capacity=c) for c in servers),
        worker_types=tuple(WorkerType(demand=e, bandwidth=1.0) for e in demands),
        ps_types=() if ring else (PsType(demand=(0, 0), bandwidth=1.0),),
        jobs=tuple(jobs),
    )


def cases():
    """Yield jobs, items, and what runs in two or three slots: (item, bits of slots, its modes)."""
    for seed in range(14):
        inst = tight(seed)
        jobs = Jobs(inst)
        modes = undominated(jobs)
        items, rng = SlotItems(jobs, modes), np.random.default_rng(seed)
        seen: dict[tuple[bool, int], int] = {}
        for _ in range(300):
            number = int(rng.integers(2, 4))
            some = np.flatnonzero(rng.random(len(modes)) < rng.uniform(0.5, 1)).tolist()
            who = []
            for j in some:
                m, d = min(items.index[j], key=lambda key: key[1])
                first, last = sorted(rng.integers(0, number, 2).tolist())
                same = modes[j][(modes[j][:, 0] == m) & (modes[j][:, 4] == d)].copy()
                same[:, 4] = last - first + 1
                bits = sum(1 << k for k in range(first, last + 1))
                who.append((items.index[j][m, d], bits, Choices(same, [[first]] * len(same))))
            who.sort(key=lambda one: one[:2])
            if who:
                kind = alone(items, who, number), stay(items, who)
                seen[kind] = seen.get(kind, 0) + 1
                if seen[kind] <= 3:
                    fewer = inst.model_copy(update={"jobs": tuple(inst.jobs[j] for j in some)})
                    yield Jobs(fewer), who, *kind


def stay(items, who):
    which, bits = (np.array(x) for x in list(zip(*who, strict=True))[:2])
    return items.packs(which.astype(np.int32), bits, 10**6)


def alone(items, who, number):
    slots = [[i for i, bits, _ in who if (bits >> k) & 1] for k in range(number)]
    return all(items.packs(np.array(one, np.int32), np.ones(len(one), np.int64), 10**6) == YES
               for one in slots)  # fmt: skip


def test_what_cannot_stay_is_certain_and_mostly_found():
    agree, looked, moving = 0, 0, 0
    for jobs, who, fits_alone, how in cases():
        assert how in (YES, NO)
        solver = cp_solver(time_limit=30.0, threads=1, seed=0, gap=0.0)
        status = run_cp(solver, Program(jobs, [choice for *_, choice in who]).model)
        assert status in ("optimal", "infeasible")
        possible = status == "optimal"
        assert how == YES or not possible
        looked, agree = looked + 1, agree + ((how == YES) == possible)
        moving += fits_alone and how == NO
    # workers that should be apart may count as fitting on one server
    assert agree >= 0.9 * looked
    assert moving > 5


@cache
def best_of(inst):
    """Return what CP-SAT alone finds and proves."""
    monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
    FAMILY.methods["cpsat"](inst, monitor, threads=1, seed=0)
    assert max(bound for _, bound in monitor.claimed) == monitor.value
    return monitor.value


def graph_of(inst, seed, limit):
    """Return the program of a small instance with its steps, and the graph of all paths."""
    program = program_of(*priced(inst, seed), limit + 3)
    assert program.least(limit, lambda: False, keep=True).finished
    return program, program.graph()


def every_path(program, graph, limit):
    """Return the values of all paths without any merging, each with its starts."""
    out = []

    def go(state, value, begun):
        if state < 0:
            out.append((value, frozenset(begun)))
            return
        for k in graph.order[graph.first[state] : graph.first[state + 1]]:
            if value + graph.cost[k] + graph.rest[graph.target[k]] < limit:
                further = [*begun, *program.started(int(k))]
                go(int(graph.target[k]), value + graph.cost[k], further)

    go(0, 0.0, [])
    return out


def test_all_paths_that_pass_are_handed_out_the_least_value_first():
    many, left_out = 0, 0
    for seed in range(10):
        inst = tight(seed)
        limit = best_of(inst) + 9.5
        program, graph = graph_of(inst, seed, limit)
        values = [path.value for path in Paths(program, graph, limit).best_first(lambda: False)]
        assert values == sorted(values)
        everything = every_path(program, graph, limit)
        passing = []
        for value, begun in everything:
            path = program.path(value, sorted(begun))
            if all(program.slot_items.stays(pair) for pair in neighbours(path)):
                passing.append(value)
        assert values == sorted(passing), seed
        many += len(values) > 3
        left_out += len(everything) - len(passing)
    assert many >= 3
    assert left_out > 0


def neighbours(path):
    """Yield what runs in two slots, one after the other, in which jobs start."""
    for one, two in zip(path.lists, path.lists[1:], strict=False):
        bits = {who: (who in one) + 2 * (who in two) for who in {*one, *two}}
        yield tuple(sorted((item, b) for (item, _), b in bits.items()))


def test_paths_that_differ_only_in_what_ran_before_are_told_apart():
    """Beside the large job the long one is on the server that the last one needs."""
    demands = [(2, 0), (4, 0), (2, 0), (2, 1)]
    jobs = []
    for k, (arrival, weight, length) in enumerate(((0, 2, 1), (0, 1, 1), (0, 1, 10), (2, 20, 1))):
        times = [60.0] * 4
        times[k] = length - 0.1
        jobs.append(job(arrival, weight, 1, times))
    inst = ring_or_ps(True, demands, jobs, [(4, 0), (3, 1)])
    program, graph = graph_of(inst, 0, 75.5)
    paths = list(Paths(program, graph, 75.5).best_first(lambda: False))
    starts = {tuple(choice.starts[0][0] for choice in path.choices) for path in paths}
    assert (1, 0, 0, 2) in starts  # the large job first: 75
    assert (0, 1, 0, 2) not in starts  # the same a slot later: 74, but it cannot stay


def test_the_first_path_that_can_be_placed_is_the_optimum():
    for seed in solvable(60)[::2]:
        inst = tiny(seed)
        best = optimum(inst)
        program, graph = graph_of(inst, seed, best + 0.5)
        monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
        for path in Paths(program, graph, best + 0.5).best_first(lambda: False):
            status = Program(Jobs(inst), path.choices).solve(monitor, threads=1, seed=0)
            if refuted(path, program.slot_items):
                assert status == "infeasible"
            if status != "infeasible":
                break
        assert monitor.value == best, seed


def test_paths_bring_the_optimum_where_the_least_path_cannot_be_placed():
    looked = 0
    for seed in range(16):
        inst = tight(seed)
        monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
        search = Search(inst, monitor, 1, 0)
        if not search.begin():
            continue
        search.generate(1, 2.0)
        exact = Exact(search)
        exact.sequence(20.0)
        if exact.sequencing.choosing:
            looked += 1
            assert exact.closed
            assert monitor.value == best_of(inst), seed
    assert looked > 3
