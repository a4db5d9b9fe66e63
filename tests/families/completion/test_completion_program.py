"""The program over time: it proves every optimum, and never one step more."""

import math
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from completion_programs import accepts, changed, forced, job, proof, ring_or_ps, steps, tight
from independent.completion import optimum, tiny

from optsched.core import solve
from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.certificate.bound import BoundEvaluator, value_step
from optsched.families.completion.certificate.check import check
from optsched.families.completion.certificate.choices import Comparison, menu_of
from optsched.families.completion.certificate.conflicts import refuted
from optsched.families.completion.certificate.timeline import (
    Timeline,
    TimelineGrid,
    UnfinishedError,
)
from optsched.families.completion.instance import PsType
from optsched.families.completion.optimum.cpsat import Choices, CpSatProgram
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.optimum.scaling import power_of, scaled, unscaled
from optsched.families.completion.optimum.timeline.packing import conflict_in_time, conflict_of
from optsched.families.completion.sources.presets import generate
from optsched.problem import Level, Status
from optsched.solvers import cp_solver, run_cp

SEEDS = 40


@cache
def proved(seed):
    return forced(tiny(seed))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_optimum_is_proved_and_no_step_more(seed):
    inst, best, found = tiny(seed), optimum(tiny(seed)), proved(seed)
    if best is None:
        assert found.infeasible
        assert check(inst, found.certificate()) == math.inf
        return
    made = proof(found)
    assert found.value == best == check(inst, made)
    more = changed(made, value=steps(inst, best) + 1)
    assert not accepts(inst, more, np.nextafter(best, math.inf))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 4, 5])
def test_conflicts_prove_what_prices_do_not_see(seed):
    inst = tight(seed)
    found, known = forced(inst), best_of(inst)
    made = proof(found)
    assert found.value == known == check(inst, made)
    assert made.program.conflicts
    assert not accepts(inst, changed(made, value=steps(inst, known) + 1), known + 0.5)
    assert not accepts(inst, changed(made, conflicts=()), known)


@cache
def best_of(inst):
    """Return what CP-SAT alone finds and proves."""
    monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
    FAMILY.methods["cpsat"](inst, monitor, threads=1, seed=0)
    assert max(bound for _, bound in monitor.claimed) == monitor.value
    return monitor.value


@pytest.mark.parametrize("seed", range(SEEDS))
def test_an_optimum_needs_no_dominated_modes(seed):
    inst, best = tiny(seed), optimum(tiny(seed))
    if best is None:
        pytest.skip("no schedule exists")
    jobs, evaluation = JobTables(inst), BoundEvaluator(inst)
    most = max(job.chunks for job in inst.jobs)
    choices = []
    for j, rows in enumerate(evaluation.modes):
        d, m, p, q, n = Comparison(evaluation.platform, most).undominated(rows).T
        ends = inst.jobs[j].arrival + d <= inst.horizon
        kept = np.stack([m, p, q, n, d], axis=1)[ends]
        first = inst.jobs[j].arrival
        choices.append(Choices(kept, [range(first, inst.horizon - x + 1) for x in kept[:, 4]]))
    monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
    CpSatProgram(jobs, choices).solve(monitor, threads=1, seed=0)
    assert monitor.value == best


def standing(jobs, rng, slots):
    """Draw what runs in one or two slots: runs (E, 7), and the modes and starts they stand for."""
    runs, choices = [], []
    for modes in BoundEvaluator(jobs.inst).modes:
        d, m, p, q, n = modes[int(rng.integers(len(modes)))].tolist()
        first = int(rng.integers(slots))
        last = int(rng.integers(first, slots))
        sides = (0, 0, n, 1 << p) if q else (n, 1 << p, 0, 0)
        runs.append([m, *sides, first, last])
        row = np.array([[m, p, q, n, last - first + 1]])
        choices.append(Choices(row, [[first]]))
        assert d > 0
    return np.array(runs, np.int64), choices


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_conflict_is_never_placed(seed):
    inst = tight(seed) if seed % 3 else tiny(seed)
    jobs, rng = JobTables(inst), np.random.default_rng(seed)
    platform = BoundEvaluator(inst).platform
    looked, missed = 0, 0
    for _ in range(12):
        runs, choices = standing(jobs, rng, 1 + seed % 2)
        solver = cp_solver(time_limit=30.0, threads=1, seed=0, gap=0.0)
        status = run_cp(solver, CpSatProgram(jobs, choices).model)
        found = conflict_of(platform, runs, bool)
        assert status in ("optimal", "infeasible")
        assert found is None or status == "infeasible"
        if found is not None:
            shown = np.array(found.runs, np.int64), np.array(found.credits, np.int64)
            assert refuted(platform, *shown, np.array([10**7], np.int64))
            assert len(found.runs) <= len(runs)
        missed += found is None and status == "infeasible"
        looked += found is not None
    assert looked or not seed % 3
    assert missed <= 1


def test_a_run_fits_wherever_a_heavier_one_does():
    platform = BoundEvaluator(generate("mid", seed=0, jobs=3, machines=4)).platform
    comparison = Comparison(platform, 4)
    light = np.array([[0, 2, 1, 1, 1]])
    heavy = np.array([[0, 3, 1, 1, 1], [0, 2, 1, 0, 0], [0, 0, 0, 2, 1], [0, 1, 1, 1, 1]])
    assert comparison.covers(light, heavy).tolist() == [[True, True, True, False]]
    apart = np.array([[0, 2, 1, 0, 0]])
    assert comparison.covers(apart, heavy).tolist() == [[False, True, False, False]]


def test_what_begins_when_another_run_is_over_does_not_conflict():
    platform = BoundEvaluator(tight(1)).platform
    runs = np.array([[6, 0, 0, 1, 1, 0, 2], [6, 0, 0, 1, 1, 2, 3]], np.int64)
    assert conflict_of(platform, runs, bool) is not None
    runs[1, 5] = 3
    assert conflict_of(platform, runs, bool) is None
    given = np.array([[0, 1], [0, 1]], np.int64)
    nodes = np.array([10**6], np.int64)
    assert refuted(platform, runs, given, nodes) is False


def test_a_conflict_of_a_path_is_in_few_slots():
    """Two of the runs cannot stand together, in one slot: no more is found."""
    platform = BoundEvaluator(tight(1)).platform
    large, small = [6, 0, 0, 1, 1], [0, 0, 0, 1, 1]
    lasting = [[*small, 0, 9], [*large, 1, 2], [*large, 5, 7], [*small, 6, 6], [*large, 7, 8]]
    runs = np.array(lasting)
    found = conflict_in_time(platform, runs, bool)
    assert found is not None
    assert [run[:5] for run in found.runs] == [tuple(large)] * 2
    assert {run[5:] for run in found.runs} == {(7, 7)}
    runs[2, 6] = 6
    assert conflict_in_time(platform, runs, bool) is None


@pytest.mark.parametrize("search", [conflict_of, conflict_in_time])
def test_a_search_for_a_conflict_ends_when_told(search):
    platform = BoundEvaluator(tight(1)).platform
    runs = np.array([[6, 0, 0, 1, 1, 0, 2], [6, 0, 0, 1, 1, 2, 3]], np.int64)
    asked = iter([False, True])
    with pytest.raises(UnfinishedError):
        search(platform, runs, lambda: next(asked))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 4, 5])
def test_a_run_that_leaves_states_out_says_so(seed):
    inst = tight(seed)
    made = proof(forced(inst))
    evaluation = BoundEvaluator(inst)
    value = made.program.value
    menu = menu_of(evaluation, (value - 1) * value_step(inst))
    units = TimelineGrid(evaluation, menu, made.program.grid_bits)
    slots = 1 + max(t for one in made.program.prices for t, *_ in one)
    lists = [units.priced(one, slots, "") for one in made.program.prices]
    limit = int((value - 1) * value_step(inst) / units.unit)
    timeline = Timeline(units, lists)
    assert timeline.run(limit, lambda: False)
    states = int(timeline.pool.size[0])
    assert not timeline.run(limit, lambda: False, width=1)
    assert timeline.pool.size[0] < states
    assert not timeline.run(limit, lambda: False, most=states // 2)


def equal_servers(ring):
    jobs = [job(k % 2, 3 + k, 1 + k % 2, [2.5, 1.5]) for k in range(5)]
    return ring_or_ps(ring, [(1, 1), (2, 1)], jobs, [(3, 3)] * 3)


def one_server(ring):
    jobs = [job(k % 3, 1 + 2 * k, 2, [1.5, 0.9]) for k in range(5)]
    return ring_or_ps(ring, [(1, 2), (2, 1)], jobs, [(4, 4)])


def job_per_slot(ring):
    jobs = [job(k, 1 + (7 * k) % 5, 1, [1.5, 2.5]) for k in range(7)]
    return ring_or_ps(ring, [(2, 1), (1, 2)], jobs, [(3, 2), (2, 3)])


def weights_apart(ring):
    jobs = [job(k % 2, 1e9 if k % 2 else 1.0, 2, [2.5, 1.5]) for k in range(5)]
    return ring_or_ps(ring, [(1, 1), (2, 1)], jobs, [(3, 2), (2, 2)])


def ties_everywhere(ring):
    jobs = [job(0, 1.0, 2, [2.0, 2.0]) for _ in range(5)]
    return ring_or_ps(ring, [(1, 1), (1, 1)], jobs, [(2, 2), (1, 1)])


KINDS = (equal_servers, one_server, job_per_slot, weights_apart, ties_everywhere)


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_degenerate_kinds_close(kind, ring):
    inst = kind(ring)
    found = forced(inst)
    made = proof(found)
    assert check(inst, made) == found.value
    more = changed(made, value=steps(inst, found.value) + 1)
    assert not accepts(inst, more, np.nextafter(found.value, math.inf))


@pytest.mark.slow
def test_a_ring_and_ps_of_the_same_jobs():
    """In a ring no server is a host: a conflict with credits for one would be too strong."""
    ring = tight(1)
    kinds = {"architecture": "ps", "ps_types": (PsType(demand=(1, 1), bandwidth=1.0),)}
    ps = type(ring).model_validate(ring.model_dump() | kinds)
    values = [forced(inst).value for inst in (ring, ps)]
    assert values[0] < values[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [31, 40])
def test_auto_certifies_what_a_tree_leaves_open(seed):
    found = solve(generate("small", seed=seed), time_limit=30)
    assert found.status is Status.OPTIMAL
    assert found.bound_level is Level.CERTIFIED


def weighing(factor):
    """Return a small instance with other weights."""
    inst = generate("small", seed=31)
    jobs = [one.model_copy(update={"weight": factor(one.weight)}) for one in inst.jobs]
    return inst.model_copy(update={"jobs": tuple(jobs)})


def test_a_unit_of_the_weights_changes_no_proof():
    inst = weighing(lambda w: float(Decimal(str(w)) * Decimal("7e-13")))
    power = power_of(inst)
    found = forced(scaled(inst, power))
    made = unscaled(inst, proof(found), power)
    assert made.program == proof(found).program
    assert check(inst, made) == pytest.approx(found.value * 10.0**-power, rel=1e-15)
