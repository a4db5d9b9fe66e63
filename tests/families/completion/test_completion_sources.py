"""Generators, instances of traces, and what the data must keep to."""

import json

import pytest
from independent.completion import FILES, load

from optsched.core.inputs import _sample
from optsched.families.completion.facts import describe, offered_load, warnings
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.sources.traces import open_trace
from optsched.problem import InputError, Window
from optsched.traces.throughputs import read_throughputs


@pytest.mark.parametrize("preset", ["paper", "mid", "small"])
@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_a_seed_fixes_everything(preset, architecture):
    made = [generate(preset, seed=s, architecture=architecture, jobs=5) for s in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
    assert CompletionInstance.model_validate_json(made[0].model_dump_json()) == made[0]
    assert made[0].digest() == made[1].digest()


def test_more_jobs_leave_the_others_as_they_were():
    few, many = generate(seed=0, jobs=3), generate(seed=0, jobs=6)
    assert many.jobs[:3] == few.jobs
    assert many.servers == few.servers


def test_ranges_of_the_paper():
    inst = generate(seed=4)
    assert (len(inst.jobs), len(inst.capacity), inst.horizon) == (100, 150, 150)
    assert (len(inst.worker_types), len(inst.ps_types)) == (8, 10)
    for job in inst.jobs:
        assert 200 <= job.weight <= 5000
        assert 50 <= job.epochs <= 100
        assert 5 <= job.chunks <= 50
        assert job.arrival < 75
    assert offered_load(inst)["gpu"] > 0.5
    assert describe(inst)["servers"] == 150


def test_options_are_checked():
    with pytest.raises(InputError, match="unknown preset 'big'"):
        generate("big", seed=0)
    with pytest.raises(InputError, match="unknown architecture 'star'"):
        generate(seed=0, architecture="star")
    with pytest.raises(InputError, match="machines is 0"):
        generate(seed=0, machines=0)


def profile(tmp_path, **change):
    speeds = {
        gpu: x
        if isinstance(x, dict)
        else {"('net (batch size 8)', 1)": {"null": x}, "('net (batch size 8)', 2)": {"null": 1.0}}
        for gpu, x in {"k80": 2.0, "p100": 5.0, "v100": 8.0, **change}.items()
    }
    path = tmp_path / "speeds.json"
    path.write_text(json.dumps(speeds | {"k80_unconsolidated": {}}))
    return path


@pytest.mark.parametrize(
    ("name", "speed", "wrong"),
    [
        ("('net', 1e999)", 1.0, r"job .*1e999\)"),
        (f"('net', {'1+' * 10**5}1j)", 1.0, "job .*"),
        (f"('net', {'-' * 10**5}1)", 1.0, "job .*"),
        ("(b'net', '1')", 1.0, "job .*"),
        ("('net', 1)", 10**400, r"speed '1000*\.\.\.'"),
        ("('net', 1)", True, "speed 'true'"),
    ],
    ids=range(6),
)
def test_measured_speeds_that_are_none(tmp_path, name, speed, wrong):
    with pytest.raises(InputError, match=rf"speeds.json, k80.*: {wrong}.*, expected"):
        read_throughputs(profile(tmp_path, k80={name: {"null": speed}}))


def test_a_trace_with_measured_speeds(tmp_path):
    window = Window(profiles=(profile(tmp_path),), jobs=8, slots=20)
    inst = open_trace(_sample("jobs.csv"), window)
    assert len(inst.jobs) == 8
    assert "batch_time" not in inst.drawn
    assert "weight" in inst.drawn
    for job in inst.jobs:
        k80, p100, v100 = job.batch_time
        assert k80 == pytest.approx(v100 * 4, rel=1e-6)
        assert p100 == pytest.approx(v100 * 1.6, rel=1e-6)
    assert not [w for w in warnings(inst) if "no schedule" in w]


def test_a_trace_without_speeds_says_so():
    inst = open_trace(_sample("jobs.csv"), Window(jobs=5, slots=20))
    assert "batch_time" in inst.drawn
    with pytest.raises(InputError, match="option --shapes is not supported by family completion"):
        open_trace(_sample("jobs.csv"), Window(shapes=_sample("machines.csv")))


def test_a_profile_without_a_gpu(tmp_path):
    path = tmp_path / "speeds.json"
    path.write_text(json.dumps({"k80": {"('net', 1)": {"null": 1.0}}}))
    with pytest.raises(InputError, match="no speeds on p100"):
        open_trace(_sample("jobs.csv"), Window(profiles=(path,), jobs=3, slots=20))
    path.write_text("[1]")
    with pytest.raises(InputError, match="holds list"):
        open_trace(_sample("jobs.csv"), Window(profiles=(path,), jobs=3, slots=20))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("arrival", 99, r"job 1: arrival 99 is outside the horizon 0\.\.13"),
        ("batch_time", (0.1,), "job 1: batch_time has 1 entries, expected one per worker type: 2"),
        ("update_time", (0.1, 0.2), "job 1: update_time has 2 entries, expected one per PS type"),
        ("weight", -1, "greater than 0"),
        ("epochs", 0, "greater than 0"),
    ],
)
def test_wrong_jobs_are_named(field, value, words):
    content = load(FILES[0])[0].model_dump()
    content["jobs"][1][field] = value
    with pytest.raises(ValueError, match=words):
        CompletionInstance.model_validate(content)


def test_a_ring_has_no_ps():
    content = load(FILES[0])[0].model_dump() | {"architecture": "ring"}
    with pytest.raises(ValueError, match="expected none in a ring"):
        CompletionInstance.model_validate(content)


def test_warnings_name_jobs_that_cannot_end():
    inst, _ = load(next(p for p in FILES if p.stem == "015"))
    assert any("job 1 ends in slot 37 at the earliest" in w for w in warnings(inst))
