"""FIFO, DRF, RRH and Dorm: by hand, by the judge, by what they may know."""

from itertools import combinations

import numpy as np
import pytest
from independent.oasis import FILES, load, simple_job

from optsched.core import simulate
from optsched.families.oasis import FAMILY
from optsched.families.oasis.instance import OasisInstance, ps_table
from optsched.families.oasis.policies import BASELINES, Dorm, Drf, Fifo, Rrh
from optsched.families.oasis.sources.traces import generate
from optsched.numbers.resources import MachineClass


def job(arrival=0, workers=1, work=1, worker=(1,), ps=(1,), share=1.0, **utility):
    """Return a job of ``work`` worker-slots; its n workers need n ``share`` PS, rounded up."""
    return simple_job(
        arrival=arrival,
        chunks=workers,
        batch_time=work / workers,
        worker_bandwidth=share,
        worker_demand=worker,
        ps_demand=ps,
        utility=utility or {"kind": "constant", "value": 1},
    )


def instance(horizon, workers, servers, *jobs):
    return OasisInstance(
        horizon=horizon,
        resources=("cpu", "memory", "gpu")[: len(workers[0])],
        worker_machines=tuple(MachineClass(capacity=c) for c in workers),
        ps_machines=tuple(MachineClass(capacity=c) for c in servers),
        jobs=jobs,
    )


def rows(run, i):
    """Return the workers of job ``i`` as (slot, machine, number)."""
    plan = run.schedule.jobs[i]
    return [] if plan is None else list(plan.workers)


# --- by hand ---


def test_fifo_by_hand():
    """Two workers each, on machines that hold 2 and 1.

    Slots 0, 1: job 0 has a worker on both machines. Job 1 needs two, one fits: it waits, and job
    2 waits behind it though its single worker would fit. Slot 2: job 0 misses 1 worker-slot and
    gives back machine 1; job 1 starts round robin on both. Slot 3: job 0 is gone, job 2 runs.
    Utilities 12 / 3 + 10 / 4 + 6 / 3.
    """
    inst = instance(
        6,
        [(2,), (1,)],
        [(2,)],
        job(workers=3, work=5, share=0.5, kind="inverse", scale=12),
        job(workers=2, work=4, share=0.5, kind="inverse", scale=10),
        job(arrival=1, kind="inverse", scale=6),
    )
    run = simulate(inst, Fifo(2, 2))
    assert rows(run, 0) == [(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (2, 0, 1)]
    assert rows(run, 1) == [(2, 0, 1), (2, 1, 1), (3, 0, 1), (3, 1, 1)]
    assert rows(run, 2) == [(3, 0, 1)]
    assert run.completion == (2, 3, 3)
    assert run.value == pytest.approx(4 + 2.5 + 2)


def test_fifo_takes_what_the_empty_cluster_holds_and_turns_away_what_never_fits():
    # 30 are requested; the worker machines hold 4, the PS machine 3, and a PS serves one worker.
    # A worker of job 0 fits nowhere: it must not block the line.
    inst = instance(4, [(2,), (2,)], [(3,)], job(worker=(3,)), job(workers=9, work=6))
    run = simulate(inst, Fifo(30, 30))
    assert run.schedule.jobs[0] is None
    assert rows(run, 1) == [(0, 0, 2), (0, 1, 1), (1, 0, 2), (1, 1, 1)]


def test_drf_by_hand():
    """The example of the DRF paper: 9 CPU, 18 GB; a worker of A takes (1, 4), one of B (3, 1).

    Slots 0, 1: A has 3 workers, B 2. A's 6 worker-slots are done. Slot 2: B is alone; 3 workers
    fit, and 3 worker-slots are missing. Utilities 4 / 2 + 6 / 3.
    """
    inst = instance(
        5,
        [(9, 18)],
        [(1000, 1000)],
        job(workers=6, work=6, worker=(1, 4), ps=(1, 1), kind="inverse", scale=4),
        job(workers=7, work=7, worker=(3, 1), ps=(1, 1), kind="inverse", scale=6),
    )
    run = simulate(inst, Drf())
    assert rows(run, 0) == [(0, 0, 3), (1, 0, 3)]
    assert rows(run, 1) == [(0, 0, 2), (1, 0, 2), (2, 0, 3)]
    assert run.value == pytest.approx(4)


def test_drf_decides_only_when_a_job_comes_or_goes():
    # Nobody does in slots 1 and 2, so the job stays on machines 0 and 1; else it would move on.
    inst = instance(5, [(1,)] * 3, [(9,)], job(workers=2, work=6))
    run = simulate(inst, Drf())
    assert rows(run, 0) == [(t, h, 1) for t in range(3) for h in range(2)]


RRH_JOBS = (
    job(work=2, kind="constant", value=4),
    job(arrival=1, kind="table", values=[10, 1]),
    job(arrival=1, kind="constant", value=8),
)


def test_rrh_by_hand():
    """One worker fits at a time, so s = 1 for everybody; weight 1/2, no discount, threshold 0.

    Slot 0: job 0 runs. Slot 1: job 1 has R = 10, and job 0 loses nothing by waiting: admitted.
    Job 2 has R = 8, but job 1 would lose 10 - 1 = 9 by waiting for it: 8 - 9 < 0, turned away. Job
    1 gains (10 - 0) / 2 = 5, job 0 (4 - 9) / 2: it pauses. Slot 2: job 0 goes on. Value 4 + 10.
    """
    run = simulate(instance(4, [(1,)], [(1,)], *RRH_JOBS), Rrh(0.5, 0.0, 0.0))
    assert [rows(run, i) for i in range(3)] == [[(0, 0, 1), (2, 0, 1)], [(1, 0, 1)], []]
    assert run.completion == (2, 1, None)
    assert run.value == pytest.approx(14)


def test_rrh_counts_the_part_of_the_cluster_that_a_job_takes():
    # Two fit: s = 1/2. Job 2 now costs 9 / 2 and is admitted; in slot 1 it gains 8 - 9 / 2, job 0
    # 4 - (9 + 0) / 2: that one pauses.
    run = simulate(instance(4, [(2,)], [(2,)], *RRH_JOBS), Rrh(0.5, 0.0, 0.0))
    assert run.completion == (2, 1, 1)
    assert run.value == pytest.approx(22)


def test_rrh_threshold_discount_and_weight():
    inst = instance(4, [(1,)], [(1,)], *RRH_JOBS)
    # R - D of job 0 is 4: not above 4. Job 1 has 10, and then job 2 8 - 9.
    assert simulate(inst, Rrh(0.5, 0.0, 4.0)).completion == (None, 1, None)
    # A discount of 2 per slot: job 0 has R = 4 / (1 + 2 * 2) = 0.8, not above 1.
    assert simulate(inst, Rrh(0.5, 2.0, 1.0)).completion[0] is None
    # Without weight on the reward, job 0 (cost 9) still comes after job 1 (cost 0).
    assert simulate(inst, Rrh(0.0, 0.0, 0.0)).completion == (2, 1, None)


def test_rrh_gives_up_what_cannot_finish():
    # Two slots are left of three when job 1 comes, and it would need three.
    inst = instance(3, [(1,)], [(1,)], job(kind="constant", value=1), job(arrival=1, work=3))
    assert simulate(inst, Rrh(threshold=-1.0)).schedule.jobs[1] is None


@pytest.mark.parametrize(
    ("theta1", "theta2", "completion"),
    [
        (3.0, 0.0, (2, 4)),  # A may not be touched: B waits for its end
        (2.4, 1.0, (4, 2)),  # B's two workers use 4 of 4 CPU, A's one only 3: A goes
        (2.3, 1.0, (2, 4)),  # B's two workers would be too unfair
        (0.0, 1.0, (2, 4)),  # exactly what DRF gives: one worker of A, then none of B fits
    ],
)
def test_dorm_by_hand(theta1, theta2, completion):
    """4 CPU; A has one worker of 3, B two of 2. B comes in slot 1.

    DRF gives A its worker (3/4), after which none of B (1/2 each) fits. Two of B instead are a
    loss of 3/4 + 2/2 = 7/4 of a sum of 3/4, so that theta1 must be at least 7/3.
    """
    inst = instance(
        6,
        [(4,)],
        [(1000,)],
        job(workers=1, work=3, worker=(3,)),
        job(arrival=1, workers=2, work=4, worker=(2,)),
    )
    assert simulate(inst, Dorm(theta1, theta2, gap=0.0)).completion == completion


def test_dorm_lets_nobody_grow_who_may_not_be_touched():
    # B has 2 of 4 CPU when A comes and gets the others. B ends in slot 1, but A stays at 2, though
    # two more of its workers would use more than the one of C.
    inst = instance(
        6,
        [(4,)],
        [(1000,)],
        job(arrival=1, workers=4, work=8),
        job(workers=2, work=4),
        job(arrival=2, worker=(1.5,)),
    )
    run = simulate(inst, Dorm(theta1=9.0, theta2=0.0, gap=0.0))
    assert rows(run, 1) == [(0, 0, 2), (1, 0, 2)]
    assert rows(run, 0) == [(t, 0, 2) for t in range(1, 5)]
    assert rows(run, 2) == [(2, 0, 1)]


def test_dorm_counts_the_ps():
    # 4 CPU for workers, room for 2 PS. A needs a PS for every worker, B one for four. Four of A
    # would use all CPU, but need 4 PS; two leave half idle. One of A and three of B use 3.7.
    a = job(workers=4, work=8)
    b = job(workers=4, work=8, worker=(0.9,), share=0.25)
    run = simulate(instance(3, [(4,)], [(2,)], a, b), Dorm(theta1=9.0, theta2=1.0, gap=0.0))
    assert (rows(run, 0)[0], rows(run, 1)[0]) == ((0, 0, 1), (0, 0, 3))


@pytest.mark.parametrize("seed", [333, 483])
def test_dorm_is_told_whole_numbers(seed):
    """HiGHS answers 0.999999 workers, which is too far from 1 for a row of large coefficients."""
    inst = generate("small", seed=seed)
    run = simulate(inst, Dorm(theta1=1.0))
    assert FAMILY.verify(inst, run.schedule, unfinished=True).value == run.value > 0


def test_dorm_keeps_what_runs_if_both_bounds_cannot_be_kept():
    # A has all 4 CPU when B comes. DRF would give 2 and 2, but nobody may be touched. In slot 2 A
    # needs only 2, but nobody comes or goes, so nothing is decided; B runs from slot 3 on.
    inst = instance(
        6, [(4,)], [(1000,)], job(workers=4, work=10), job(arrival=1, workers=4, work=6)
    )
    run = simulate(inst, Dorm(theta1=0.0, theta2=0.0, gap=0.0))
    assert rows(run, 0) == [(0, 0, 4), (1, 0, 4), (2, 0, 2)]
    assert rows(run, 1) == [(3, 0, 4), (4, 0, 2)]
    assert run.completion == (2, 4)


def test_dorm_places_on_single_machines_what_the_classes_only_hold_together():
    # Two machines of 3 CPU are a class of 6, enough for all three workers of 2; but each holds one.
    inst = instance(
        3,
        [(3,)] * 2,
        [(1000,)],
        job(workers=2, work=2, worker=(2,)),
        job(workers=1, work=1, worker=(2,)),
    )
    run = simulate(inst, Dorm(theta1=9.0, theta2=1.0, gap=0.0))
    assert sorted(run.completion) == [0, 1]  # three in one slot would break the model


# --- whatever the instance ---


def random_instance(seed):
    """Return 5 jobs on few machines, with decimals of which floats make mistakes."""
    draw = np.random.default_rng(seed)

    def amounts(low, high):
        return tuple(int(x) / 10 for x in draw.integers(low, high, 2))

    jobs = [
        job(
            arrival=int(draw.integers(0, 6)),
            workers=(n := int(draw.integers(1, 6))),
            work=n * int(draw.integers(1, 12)) / 4,
            worker=amounts(0, 4),
            ps=amounts(0, 4),
            share=int(draw.integers(1, 11)) / 10,
            kind="sigmoid",
            scale=float(draw.integers(1, 50)),
            decay=float(draw.choice([0, 0.5, 5])),
            target=float(draw.integers(0, 6)),
        )
        for _ in range(5)
    ]
    machines = [[amounts(1, 10) for _ in range(int(draw.integers(1, 4)))] for _ in range(2)]
    return instance(8, *machines, *sorted(jobs, key=lambda j: j.arrival))


@pytest.mark.parametrize("policy", BASELINES.values(), ids=BASELINES)
@pytest.mark.parametrize("seed", range(12))
def test_the_judge_accepts_and_nothing_is_wasted(policy, seed):
    inst = random_instance(seed)
    run = simulate(inst, policy(), seed=seed)  # raises if the judge rejects
    for i, plan in enumerate(run.schedule.jobs):
        if plan is None:
            continue
        workers, ps = np.zeros((2, inst.horizon), int)
        for t, _, n in plan.workers:
            workers[t] += n
        for t, _, m in plan.ps:
            ps[t] += m
        assert ps.tolist() == [ps_table(inst.jobs[i])[n] for n in workers]
        assert workers.sum() <= inst.work[i]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_no_baseline_beats_hindsight(path):
    inst, known = load(path)
    for policy in BASELINES.values():
        assert simulate(inst, policy()).value <= known["optimum"] * (1 + 1e-9)


def test_the_seed_draws_the_number_of_workers():
    inst = instance(9, [(9,)], [(9,)], job(workers=9, work=27))
    assert len({simulate(inst, Fifo(), seed=s).schedule.model_dump_json() for s in range(6)}) > 1
    assert len({simulate(inst, Rrh(), seed=s).schedule.model_dump_json() for s in range(6)}) > 1


def test_not_degenerate():
    values, done = {name: [] for name in BASELINES}, dict.fromkeys(BASELINES, 0)
    for seed in range(10):
        inst = generate("small", seed=seed)
        for name, policy in BASELINES.items():
            run = simulate(inst, policy(), seed=seed)
            values[name].append(run.value)
            done[name] += sum(c is not None for c in run.completion)
    assert all(done.values()), done
    assert all(values[a] != values[b] for a, b in combinations(BASELINES, 2))


@pytest.mark.parametrize("policy", BASELINES.values(), ids=BASELINES)
def test_defaults_are_in_the_grid(policy):
    made = policy()
    assert all(getattr(made, name) in tried for name, tried in policy.grid.items())


@pytest.mark.parametrize(
    ("policy", "wrong", "message"),
    [
        (Fifo, {"fewest_workers": 0}, "fifo: workers from 0 to 30, expected 1 <= fewest_workers"),
        (Rrh, {"weight": 2.0}, "rrh: weight 2.0, .* expected 0 <= weight <= 1"),
        (Dorm, {"theta2": -0.1}, r"dorm: .* theta2 -0\.1, .* expected theta1 >= 0"),
    ],
)
def test_wrong_parameters_are_named(policy, wrong, message):
    with pytest.raises(ValueError, match=message):
        policy(**wrong)
