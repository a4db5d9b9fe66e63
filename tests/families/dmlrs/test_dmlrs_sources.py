"""Instances from generators and traces."""

from pathlib import Path

import pytest

import optsched
from optsched.families.dmlrs.facts import describe, offered_load, warnings
from optsched.families.dmlrs.sources.presets import PRESETS, generate
from optsched.families.dmlrs.sources.traces import open_trace
from optsched.problem import InputError, Window
from optsched.traces.profiles import read_profiles

SAMPLES = Path(optsched.__file__).parent / "samples"
JOBS, MACHINES = (next(iter(sorted(SAMPLES.glob(f"{n}.csv*")))) for n in ("jobs", "machines"))
MEASURED = """model,local_comp_time_s,model_size_mb,mini_batches_per_epoch,inter_bw_mb_s,\
intra_bw_mb_s,worker_cpu_slots,worker_gpu_slots,ps_cpu_slots,ps_gpu_slots
good,0.4,100,120,90,300,2,4,2,0
slow inside,0.5,6,300,92,65,2,4,2,0
no gpu,0.5,24,190,60,160,2,0,2,0
"""


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_follow_their_settings(preset):
    inst, settings = generate(preset, seed=5), PRESETS[preset]
    assert inst == generate(preset, seed=5) != generate(preset, seed=6)
    assert (len(inst.jobs), inst.horizon) == (settings.jobs, settings.slots)
    assert len(inst.capacity) == settings.machines
    for job in inst.jobs:
        for name in ("epochs", "chunks", "batches_per_chunk", "ps_bandwidth"):
            low, high = getattr(settings, name)
            assert low <= getattr(job, name) <= high, name
        assert job.inner_bandwidth / job.outer_bandwidth == pytest.approx(40, rel=1e-6)
        assert job.arrival < max(1, settings.slots // 2)
    assert all(end is not None for end in inst.earliest)


def test_more_jobs_leave_the_others_as_they_were():
    few, many = generate("paper", seed=2, jobs=3), generate("paper", seed=2, jobs=6)
    assert few.jobs == many.jobs[:3]


def test_which_rate_is_held():
    jobs = [
        generate("paper", seed=1, jobs=1, ratio=r, held="outer", g_unit="Mbit").jobs[0]
        for r in (1, 60)
    ]
    assert jobs[0].outer_bandwidth == jobs[1].outer_bandwidth == jobs[0].inner_bandwidth
    assert jobs[1].inner_bandwidth == pytest.approx(60 * jobs[1].outer_bandwidth)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "huge"}, "unknown preset 'huge', expected one of: paper"),
        ({"jobs": 0}, "jobs is 0, expected a whole number of at least 1"),
        ({"ratio": 0.5}, "ratio is 0.5, expected inner rate / outer rate of at least 1"),
        ({"held": "both"}, "unknown held 'both'"),
        ({"g_unit": "GB"}, "unknown g_unit 'GB'"),
        ({"slot_seconds": 0.0}, "slot_seconds is 0.0"),
        ({"slots": 1, "slot_seconds": 0.001, "jobs": 1}, "job 0: none of 1000 draws can finish"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        generate(**{"preset": "paper", "seed": 0, **options})


def test_a_trace_with_its_models(tmp_path):
    models = tmp_path / "models.csv"
    models.write_text(MEASURED)
    window = Window(machines=MACHINES, profiles=(models,), jobs=30, slots=40)
    inst = open_trace(JOBS, window)
    assert inst == open_trace(JOBS, window)
    assert (len(inst.jobs), inst.horizon) == (30, 40)
    assert "slow inside: inner bandwidth below the outer one" in inst.source
    assert "no gpu: without a GPU" in inst.source
    assert "model of each job" in inst.drawn
    assert "constants of the models" not in inst.drawn
    for job in inst.jobs:
        assert job.inner_bandwidth == pytest.approx(2.4)
        assert job.outer_bandwidth == pytest.approx(0.72)
        assert job.gradient_mb == 100
        assert job.ps_bandwidth >= job.inner_bandwidth
    assert max(j.arrival for j in inst.jobs) == 39
    loads = offered_load(inst)
    assert 0.5 < max(loads.values()) < 5
    assert describe(inst)["machines"] == len(inst.capacity)
    assert isinstance(warnings(inst), list)
    made_up = open_trace(JOBS, Window(jobs=5, slots=5))
    assert "constants of the models" in made_up.drawn


def test_bad_models_are_named(tmp_path):
    path = tmp_path / "models.csv"
    path.write_text("model,speed\na,1\n")
    with pytest.raises(InputError, match="line 1"):
        read_profiles(path)
    path.write_text(MEASURED.replace("good,0.4", "good,-1"))
    with pytest.raises(InputError, match="line 2, local_comp_time_s: is '-1'"):
        read_profiles(path)
    path.write_text("\n".join(MEASURED.splitlines()[::3]) + "\n")
    with pytest.raises(InputError, match=r"no model is left \(no gpu: without a GPU\)"):
        read_profiles(path)


def test_wrong_options_of_a_trace_are_named():
    with pytest.raises(InputError, match="jobs is 0"):
        open_trace(JOBS, Window(jobs=0))
    with pytest.raises(InputError, match="load is -1"):
        open_trace(JOBS, Window(load=-1.0))


def test_what_can_never_run_is_told():
    inst = generate("small", seed=0)
    data = inst.model_dump()
    data["jobs"][0]["worker_demand"] = (99.0, 1.0, 1.0)
    data["jobs"][1]["epochs"] = 10**6
    told = warnings(type(inst).model_validate(data))
    assert any("job 0: a worker fits on no machine, it requests 99 gpu" in w for w in told)
    assert any(w.startswith("job 1 can never finish: needs") for w in told)
