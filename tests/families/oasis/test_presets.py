"""Generated instances: repeatable job by job, within the printed ranges, and able to finish."""

import pytest

from optsched.families.oasis.facts import fastest, offered_load
from optsched.families.oasis.sources.traces import generate
from optsched.problem import InputError

PRESETS = ["paper", "earnable", "small", "fine"]
RANGES = {
    "epochs": (50, 200),
    "chunks": (5, 100),
    "batches_per_chunk": (10, 100),
    "batch_time": (0.001, 0.1),
    "gradient_mb": (30, 575),
    "worker_bandwidth": (0.1, 5),
    "ps_bandwidth": (5, 20),
}


@pytest.mark.parametrize("preset", PRESETS)
def test_more_jobs_leave_the_first_ones_alone(preset):
    few, many = generate(preset, seed=1, jobs=5), generate(preset, seed=1, jobs=9)
    assert many.jobs[:5] == few.jobs
    assert many.worker_machines == few.worker_machines


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seed", range(3))
def test_every_job_can_finish_on_the_empty_machines(preset, seed):
    inst = generate(preset, seed=seed)
    for job, slots in zip(inst.jobs, fastest(inst), strict=True):
        assert slots is not None
        assert job.arrival + slots <= inst.horizon


def test_paper_has_the_printed_settings():
    inst = generate(seed=0, completable=False)
    assert (len(inst.jobs), inst.horizon, inst.slot_seconds) == (100, 100, 3600)
    assert len(inst.worker_capacity) == len(inst.ps_capacity) == 50
    assert inst.redrawn == 0
    for name, (low, high) in RANGES.items():
        values = [getattr(job, name) for job in inst.jobs]
        assert low <= min(values) < low + (high - low) / 4, name
        assert high >= max(values) > high - (high - low) / 4, name
    gpu, bandwidth = inst.resources.index("gpu"), inst.resources.index("bandwidth")
    assert {job.worker_demand[gpu] for job in inst.jobs} == {0, 1, 2, 3, 4}
    assert {job.ps_demand[gpu] for job in inst.jobs} == {0}
    assert all(c.capacity[gpu] > 0 for c in inst.worker_machines)
    assert all(20 <= c.capacity[bandwidth] <= 50 for c in inst.worker_machines + inst.ps_machines)
    kinds = [job.utility.decay for job in inst.jobs]
    assert 2 <= kinds.count(0) <= 20
    assert 20 <= sum(k >= 4 for k in kinds) <= 50
    assert all(k == 0 or 0.01 <= k <= 1 or 4 <= k <= 6 for k in kinds)
    assert all(1 <= job.utility.scale <= 100 and 1 <= job.utility.target <= 15 for job in inst.jobs)


def test_arrivals_fill_the_horizon_and_come_in_bursts():
    slots = [job.arrival for job in generate(seed=2, jobs=300, completable=False).jobs]
    assert min(slots) < 5
    assert max(slots) > 94
    assert max(slots.count(t) for t in range(100)) > 10  # a steady stream has 3 per slot


def test_redrawn_jobs_are_counted():
    inst = generate(seed=0)
    assert 300 < inst.redrawn < 2000  # about one draw in ten can finish
    assert max(offered_load(inst)["worker"].values()) > 2


def test_earnable_moves_the_target_to_the_shortest_run():
    paper, earnable = generate(seed=3), generate("earnable", seed=3)
    assert paper.worker_machines == earnable.worker_machines
    for before, after, slots in zip(paper.jobs, earnable.jobs, fastest(paper), strict=True):
        moved = after.utility.target - before.utility.target
        assert moved == pytest.approx(slots - 1)
        assert before.model_copy(update={"utility": after.utility}) == after


@pytest.mark.parametrize("seed", range(20))
def test_small_is_small_and_not_trivial(seed):
    inst = generate("small", seed=seed)
    assert (len(inst.jobs), inst.horizon) == (6, 6)
    assert len(inst.worker_capacity) == len(inst.ps_capacity) == 2
    assert max(inst.work) <= 24
    assert max(offered_load(inst)["worker"].values()) > 0.3


@pytest.mark.parametrize(
    ("machines", "h", "k"), [(20, 10, 10), (7, 4, 3), ((3, 9), 3, 9), (100, 50, 50)]
)
def test_machines_are_spread_over_the_classes(machines, h, k):
    inst = generate(seed=0, jobs=2, slots=10, machines=machines)
    assert len(inst.worker_capacity) == h
    assert len(inst.ps_capacity) == k
    counts = [c.count for c in inst.worker_machines]
    assert max(counts) - min(counts) <= 1


def test_figure_5_sizes_and_priorities():
    for total in (20, 100):
        inst = generate(seed=1, jobs=10, slots=10, machines=total, priority=(1, 10))
        assert all(1 <= job.utility.scale <= 10 for job in inst.jobs)
        assert all(s is not None and s <= 10 for s in fastest(inst))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "huge"}, "unknown preset 'huge', expected one of: paper, earnable, small"),
        ({"jobs": 0}, "jobs is 0, expected a whole number of at least 1"),
        ({"slots": -3}, "slots is -3, expected a whole number of at least 1"),
        ({"seed": -1}, "seed is -1, expected a whole number of at least 0"),
        ({"machines": 1}, "machines is 1, expected at least one for each of the two sides"),
        ({"priority": (5, 1)}, r"priority is \(5, 1\), expected 0 < lowest <= highest"),
        ({"mix": (1, 1, 1)}, r"mix is \(1, 1, 1\), expected three shares that add up to 1"),
        ({"slot_seconds": 0}, "slot_seconds is 0, expected a positive number"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InputError, match=message):
        generate(**{"seed": 0, **options})


def test_a_cluster_on_which_nothing_finishes(monkeypatch):
    monkeypatch.setattr("optsched.families.oasis.sources.presets.MOST_DRAWS", 500)
    with pytest.raises(InputError, match=r"job 0: none of \d+ draws can finish .* 1 slots"):
        generate(seed=0, slots=1, machines=2)
