"""Generators, pods and nodes, facts and warnings, pictures."""

import numpy as np
import pandas as pd
import pytest

from optsched.core import simulate, solve
from optsched.families.bipartite.facts import describe, headline, offered_load, warnings
from optsched.families.bipartite.instance import BipartiteInstance
from optsched.families.bipartite.pictures import pictures, rewards_of, split
from optsched.families.bipartite.sources.presets import PRESETS, generate
from optsched.families.bipartite.sources.traces import from_trace, open_trace
from optsched.problem import InputError, Window
from optsched.traces.pods import read_pods

HEAD = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time"
)
PODS = """
a,4000,8192,1,1000,B|A,LS,Running,50,100,50
b,2000,4096,1,500,,LS,Running,20,90,20
c,8000,2048,0,0,,BE,Pending,30,90,
d,16000,4096,4,1000,A,BE,Running,60,90,60
e,2000,8192,1,1000,A|B,LS,Running,120,130,120
"""
NODES = """sn,cpu_milli,memory_mib,gpu,model
n0,32000,65536,8,A
n1,32000,65536,1,B
n2,64000,65536,0,
"""


@pytest.fixture
def files(tmp_path):
    pods, nodes = tmp_path / "pods.csv", tmp_path / "nodes.csv"
    pods.write_text(HEAD + PODS.rstrip() + "\n")
    nodes.write_text(NODES)
    return pods, nodes


def test_pods(files):
    pods = read_pods(files[0])
    assert pods["name"].tolist() == ["b", "c", "a", "d", "e"]
    assert pods["submit_seconds"].tolist() == [0, 10, 30, 40, 100]
    assert pods["gpu"].tolist() == [0.5, 0, 1, 4, 1]
    assert pods["gpus"].tolist() == [1, 0, 1, 4, 1]
    assert pods["models"].tolist() == ["", "", "A|B", "A", "A|B"]
    assert pods["memory_gb"].tolist() == [4, 2, 8, 4, 8]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("z,4000,8192,1,2000,,LS,Running,5,10,5", r"line 7, gpu_milli: is '2000'"),
        ("z,4000,8192,1.5,1000,,LS,Running,5,10,5", r"line 7, num_gpu: is '1.5'"),
        ("z,4000,8192,1,1000,,LS,Running,5,1,5", r"line 7, deletion_time: is '1', expected at"),
    ],
)
def test_wrong_pods_are_named(tmp_path, line, message):
    path = tmp_path / "pods.csv"
    path.write_text(HEAD + PODS.rstrip() + "\n" + line + "\n")
    with pytest.raises(InputError, match=message):
        read_pods(path)


def test_a_list_without_device_restrictions_is_refused(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("timestamp,duration,num_gpus\n2017-10-09 07:01:55,66,1\n")
    with pytest.raises(InputError, match="gpu_spec"):
        read_pods(path)


def test_edges_follow_the_device_restrictions(files):
    inst = open_trace(files[0], Window(machines=files[1], slots=10, load=1.0))
    names = [port.name for port in inst.ports]
    assert names == [  # the most frequent type first, then in order of appearance
        "one GPU on A, B",
        "part of a GPU on any model",
        "no GPU on any model",
        "several GPUs on A",
    ]
    by_name = {m.name: m.ports for m in inst.machines}
    assert by_name == {"8 x A": (0, 1, 2, 3), "1 x B": (0, 1, 2), "no GPU": (2,)}
    assert len(inst.machines) == 128
    assert np.argwhere(np.array(inst.arrivals)).tolist() == [[0, 1], [1, 2], [3, 0], [4, 3], [9, 0]]
    assert max(offered_load(inst).values()) == pytest.approx(1.0, rel=1e-3)
    requests = np.array([port.request for port in inst.ports])
    level = requests[0, 0]  # one GPU
    np.testing.assert_allclose(requests[0], level * np.array([1, 3, 8]), rtol=1e-3)
    np.testing.assert_allclose(requests[3], level * np.array([4, 16, 4]), rtol=1e-3)
    assert inst.drawn == ("utility", "overhead")


def test_more_than_one_job_of_a_type_may_count(files):
    pods = read_pods(files[0])
    again = pd.concat([pods, pods], ignore_index=True).sort_values("submit_seconds", kind="stable")
    inst = from_trace(again.reset_index(drop=True), slots=10, most_jobs=3)
    assert max(port.most_jobs for port in inst.ports) == 2
    assert describe(inst)["jobs"] == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 9}, r"has 5 jobs .* expected 9"),
        ({"load": 0.0}, r"load is 0.0, expected a positive number"),
        ({"machines": 0}, r"machines is 0"),
        ({"start": "noon"}, r"start is 'noon'"),
    ],
)
def test_wrong_options(files, options, message):
    with pytest.raises(InputError, match=message):
        from_trace(read_pods(files[0]), **options)


def test_options_of_other_families_are_refused(files):
    with pytest.raises(
        InputError, match=r"option --min-tasks is not supported by family bipartite"
    ):
        open_trace(files[0], Window(min_tasks=2))


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset):
    few = {"slots": 20, "machines": 12, "ports": 6}
    inst = generate(preset, seed=1, **few)
    assert inst == generate(preset, seed=1, **few)
    assert inst != generate(preset, seed=2, **few)
    assert (len(inst.ports), len(inst.machines), inst.horizon) == (6, 12, 20)


def test_table_ii():
    inst = generate("paper", seed=0)
    assert (len(inst.ports), len(inst.machines), len(inst.resources)) == (10, 128, 6)
    assert inst.horizon == 2000
    assert all(0.3 <= b <= 0.5 for b in inst.overhead)
    assert all(1 <= u.alpha <= 1.5 for m in inst.machines for u in m.utility)
    assert all(len(m.ports) == 3 for m in inst.machines)
    assert np.mean(inst.arrivals) == pytest.approx(0.7, abs=0.01)
    doubled = generate("paper", seed=0, contention=20.0)
    for one, two in zip(inst.ports, doubled.ports, strict=True):
        np.testing.assert_allclose(two.request, np.multiply(2, one.request), atol=1e-3)
    more = generate("paper", seed=0, machines=130)
    assert more.machines[:128] == inst.machines  # more machines leave the others as they were


def test_density_and_kinds():
    inst = generate("paper", seed=0, density=2.5, utilities=("log",), slots=5)
    degrees = [len(m.ports) for m in inst.machines]
    assert set(degrees) == {2, 3}
    assert np.mean(degrees) == pytest.approx(2.5, abs=0.2)
    assert {u.kind for m in inst.machines for u in m.utility} == {"log"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": 3}, r"unknown setting in \['speed'\]"),
        ({"density": 11.0}, r"density is 11.0, expected 0..10"),
        ({"slots": 0}, r"slots is 0"),
        ({"utilities": ("cubic",)}, r"utilities is \('cubic',\)"),
        ({"contention": -1.0}, r"contention is -1.0"),
        ({"arrival_probability": 2.0}, r"arrival_probability is 2.0"),
    ],
)
def test_wrong_settings(changes, message):
    with pytest.raises(InputError, match=message):
        generate("paper", **changes)


def test_facts_and_warnings():
    inst = generate("small", seed=0)
    assert headline(inst) == "4 ports, 5 machines, 40 slots"
    facts = describe(inst)
    assert facts["edges"] == 10
    assert facts["patterns of jobs"] == len(inst.patterns[0])
    content = inst.model_dump()
    alone = [m | {"ports": [p for p in m["ports"] if p]} for m in content["machines"]]
    lonely = BipartiteInstance.model_validate(content | {"machines": alone})
    assert "port 0: connected to no machine, its jobs earn nothing" in warnings(lonely)
    still = BipartiteInstance.model_validate(content | {"arrivals": [[0] * 4] * 40})
    assert any("no job arrives" in w for w in warnings(still))
    linear = generate("small", seed=0, utilities=("linear",))
    assert any("all utilities are linear" in w for w in warnings(linear))


def test_pictures():
    inst = generate("small", seed=0)
    assert list(pictures(inst, {})) == ["graph"]
    schedules = {"hindsight": solve(inst).schedule, "drf": simulate(inst, "drf").schedule}
    assert list(pictures(inst, schedules)) == ["rewards", "gain-and-overhead", "allocations"]


def test_gain_less_overhead_is_the_reward():
    inst = generate("counts", seed=0)
    run = simulate(inst, "fairness")
    rewards = rewards_of(inst, run.schedule)
    for t in range(0, inst.horizon, 7):
        gain, overhead = split(
            inst, np.array(run.schedule.decisions[run.schedule.used[t]]), inst.jobs[t]
        )
        assert gain - overhead == pytest.approx(rewards[t], rel=1e-12, abs=1e-12)
