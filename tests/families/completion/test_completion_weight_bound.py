"""The maximum weighted schedule problem: heuristics, brute force and bound in their order."""

import pytest
from independent.completion import most_weight as by_trying_everything
from independent.completion import tiny

from optsched.families.completion.instance import CompletionSchedule
from optsched.families.completion.modes import Cluster
from optsched.families.completion.policies.max_weight import jain, max_weight
from optsched.families.completion.policies.paper import price_base
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify
from optsched.models.completion import max_weight_ilp
from optsched.papers.completion.weight_bound import most_weight, weight_of
from optsched.solvers import solve_pyomo


def part(inst, made):
    """Return the instance of the scheduled jobs alone, all of them present in slot 0."""
    jobs = tuple(inst.jobs[j].model_copy(update={"arrival": 0}) for j in made)
    return inst.model_copy(update={"jobs": jobs, "enforce_horizon": False})


def judged(inst, made):
    return verify(part(inst, made), CompletionSchedule(jobs=tuple((p,) for p in made.values())))


@pytest.mark.slow
@pytest.mark.parametrize("tau", [1, 2, 3, 4])  # 3: the last span of 2 slots is short
def test_bound_above_optimum_above_heuristics(tau):
    tight = attained = below = left_out = 0
    for seed in range(24):
        inst = tiny(seed)
        best = by_trying_everything(inst, tau)
        assert solve_pyomo(max_weight_ilp(inst, tau)).objective == pytest.approx(best), seed
        for span in (1, 2, 4):
            found = most_weight(inst, tau, price_base(inst, 1.0), span=span)
            assert best <= found.bound, (seed, span)
            assert max(found.by_method.values()) == found.value <= best, (seed, span)
        tight += found.bound <= best * (1 + 1e-6)
        attained += found.value == best
        below += found.by_method["a_maxweight"] < best
        if found.schedule:
            verdict = judged(inst, found.schedule)
            assert verdict.feasible, verdict
            assert max(verdict.completion) <= tau
        assert sum(inst.jobs[j].weight for j in found.schedule) == found.value
        left_out += 0 < best < sum(job.weight for job in inst.jobs)
    assert tight >= 12
    assert attained >= 12
    assert below >= 1
    assert left_out > 0 or tau == 1


@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_bound_at_a_larger_size(architecture):
    inst = generate("mid", seed=1, jobs=20, machines=3, architecture=architecture)
    quick, long = (
        most_weight(inst, 16, price_base(inst, 3.0), seconds=seconds, span=2)
        for seconds in (0.0, 10.0)
    )
    assert long.value <= long.bound <= quick.bound <= sum(job.weight for job in inst.jobs)
    assert long.bound < 0.999 * sum(job.weight for job in inst.jobs)
    assert long.bound < 2 * long.value
    assert long.ratio("a_maxweight") == long.bound / long.by_method["a_maxweight"]
    verdict = judged(inst, long.schedule)
    assert verdict.feasible, verdict
    assert max(verdict.completion) <= 16


def test_a_deadline_before_anything_can_end():
    inst = generate("paper", seed=0, jobs=5, machines=10)
    found = most_weight(inst, 1, price_base(inst, 1.0))
    assert found.value == found.bound == 0
    assert found.ratio("jain") == float("inf")


def test_the_greedy_takes_the_dense_jobs_and_asks_no_price():
    inst = generate("mid", seed=1, jobs=12, machines=2)
    cluster = Cluster(inst)
    tasks = {j: cluster.task(job) for j, job in enumerate(inst.jobs)}
    made = jain(cluster, tasks, range(12), 16)
    verdict = judged(inst, made)
    assert verdict.feasible, verdict
    assert max(verdict.completion) <= 16

    def density(j):
        return inst.jobs[j].weight / (tasks[j].modes.workers[0] * tasks[j].modes.duration[0])

    assert list(made) == sorted(made, key=density, reverse=True)
    first = max(tasks, key=density)
    assert made[first].start == 0
    assert made[first].end == tasks[first].modes.shortest
    priced = max_weight(cluster, tasks, range(12), 16, price_base(inst, 1.0))
    assert made != priced


def test_a_schedule_that_ends_too_late_is_rejected():
    inst = tiny(3)
    made = most_weight(inst, 4, price_base(inst, 1.0)).schedule
    assert weight_of(inst, 4, made) > 0
    with pytest.raises(RuntimeError, match="breaks the model"):
        weight_of(inst, max(piece.end for piece in made.values()) - 1, made)
