import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hostile import bounded

import optsched
from optsched.families.bot.instance import BotInstance
from optsched.families.bot.sources.presets import BANDWIDTH, KINDS, SPEED, generate, random_tree
from optsched.families.bot.sources.traces import CORE_FLOPS, from_platform, open_trace
from optsched.numbers.streams import Streams
from optsched.problem import InputError, Window, get_family
from optsched.traces.platforms import TREE, read_platform
from optsched.traces.workflows import read_bags

SAMPLES = Path(optsched.__file__).parent / "samples"


def test_presets_have_the_printed_settings():
    inst = generate("heterogeneous", seed=1, nodes=100)
    assert len({app.master for app in inst.applications}) == 3
    assert [(a.flop, a.bytes) for a in inst.applications] == [KINDS[k] for k in KINDS]
    speed = np.array(inst.speed) * 1000  # the units of Sec. 6.5
    assert SPEED[0] <= speed.min() < speed.max() <= SPEED[1]
    assert BANDWIDTH[0] <= inst.bandwidth.min() < inst.bandwidth.max() <= BANDWIDTH[1]
    other = generate("heterogeneous", seed=1, nodes=100, units="sec6.2")
    assert np.array(other.speed) == pytest.approx(speed, rel=1e-5)
    assert {a.name for a in generate("homogeneous", seed=1).applications} == {"intermediate"}
    assert generate(seed=3) == generate(seed=3) != generate(seed=4)


@pytest.mark.parametrize(("nodes", "degree"), [(5, 3), (20, 5), (20, 15), (500, 15), (2, 1)])
def test_trees_keep_the_degree(nodes, degree):
    for seed in range(5):
        parent = random_tree(nodes, degree, Streams(seed)("tree"))
        assert parent[0] == -1
        assert all(0 <= p < n for n, p in enumerate(parent.tolist()) if n)
        count = np.bincount(parent[1:], minlength=nodes) + (np.arange(nodes) > 0)
        assert count.max() <= degree


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"preset": "none"}, "unknown preset 'none'"),
        ({"units": "furlong"}, "unknown units 'furlong', expected one of: sec6.5, sec6.2"),
        ({"nodes": 2}, r"3 applications on 2 nodes, expected 1\.\.2"),
        ({"degree": 1}, "degree 1, expected at least 2"),
    ],
)
def test_wrong_presets(how, message):
    with pytest.raises(InputError, match=message):
        generate(**({"seed": 0} | how))


def test_sample_platform_and_applications():
    family = get_family("bot")
    inst = open_trace(
        SAMPLES / family.samples["source"],
        Window(profiles=tuple(SAMPLES / p for p in family.samples["profiles"])),
    )
    assert family.headline(inst) == "11 nodes, 3 applications"
    assert "ash-switch" in inst.names  # cabinets share a link: it became a hub
    assert inst.applications[2].weight == 2
    assert inst.drawn == ("masters",)
    assert optsched.solve(inst).status == "optimal"
    assert "hops from a master" in " ".join(family.describe(inst))
    assert not family.warnings(inst)


def test_more_applications_than_profiles():
    inst = open_trace(SAMPLES / "platform.csv", Window(jobs=5, draw_seed=3))
    assert [a.name for a in inst.applications] == [
        "cpu",
        "network",
        "intermediate",
        "cpu",
        "network",
    ]
    with pytest.raises(InputError, match="option --horizon is not supported by family bot"):
        open_trace(SAMPLES / "platform.csv", Window(slots=5))
    with pytest.raises(InputError, match="20 applications on 7 nodes that compute"):
        open_trace(SAMPLES / "platform.csv", Window(jobs=20))


OPTORSIM = "#0)a\n#1)b\n10 1 500 0 1000 0\n0 0 1000 0 8\n5 0 0 8 0\n"


def test_an_optorsim_file(tmp_path):
    path = tmp_path / "grid.conf"
    path.write_text(OPTORSIM)
    platform = read_platform(path)
    assert platform.names == ["a", "b", "site 2"]
    assert platform.hosts == [10, 0, 5]
    assert platform.links == [(0, 1, 1.25e8), (1, 2, 1e6)]
    inst = open_trace(path, Window(jobs=2))
    assert inst.drawn == ("masters", "speed")
    assert inst.speed == (5e10, 0.0, 2.5e10)
    path.write_text(OPTORSIM.replace("5 0 0 8 0", "5 0 0 8"))
    with pytest.raises(InputError, match=r"grid.conf, line 5: has 4 numbers, expected 5"):
        read_platform(path)


def test_routes_on_a_grid_with_cycles(tmp_path):
    path = tmp_path / "ring.conf"
    path.write_text("1 0 0 10 10 0\n1 0 10 0 0 10\n1 0 10 0 0 99\n1 0 0 10 99 0\n")
    inst = open_trace(path, Window(jobs=2))
    assert not inst.is_tree
    for app, way in zip(inst.applications, inst.deployments, strict=True):
        assert way.order[0] == app.master
        assert len(way.order) == 4
    # of two routes of equal length the one whose last link is wider is taken
    at = next(k for k, a in enumerate(inst.applications) if a.master in (0, 1))
    far = {0: (3, 2), 1: (2, 3)}[inst.applications[at].master]
    assert inst.routes[at][far[0]] == far[1]


def workflow(tasks):
    return {
        "workflow": {
            "specification": {
                "tasks": [
                    {
                        "id": f"t_ID{i}",
                        "inputFiles": ["common", f"in{i}"],
                        "outputFiles": [f"out{i}"],
                    }
                    for i in range(tasks)
                ],
                "files": [{"id": "common", "sizeInBytes": 10**6}]
                + [{"id": f"in{i}", "sizeInBytes": 100 + i} for i in range(tasks)]
                + [{"id": f"out{i}", "sizeInBytes": 7} for i in range(tasks)],
            },
            "execution": {
                "tasks": [{"id": f"t_ID{i}", "runtimeInSeconds": 2.0 + i} for i in range(tasks)]
            },
        }
    }


def test_a_workflow(tmp_path):
    path = tmp_path / "flow.json"
    path.write_text(json.dumps(workflow(3)))
    (bag,) = read_bags(path, 5)
    # files that several tasks read are not counted
    assert (bag.seconds, bag.bytes, bag.return_bytes, bag.tasks) == (3.0, 101, 7, 3)
    inst = from_platform(read_platform(SAMPLES / "platform.csv"), [bag])
    assert inst.applications[0].flop == 3 * CORE_FLOPS
    path.write_text('{"workflow": {}}')
    with pytest.raises(
        InputError, match=r"flow.json: .*: Field required; expected a WfCommons workflow"
    ):
        read_bags(path, 5)


def named_tasks(tasks):
    """Return a workflow of (id, name, program, running time)."""
    return {
        "workflow": {
            "specification": {
                "tasks": [{"id": i, "name": name} for i, name, _, _ in tasks],
                "files": [],
            },
            "execution": {
                "tasks": [
                    {"id": i, "runtimeInSeconds": seconds, "command": {"program": program}}
                    for i, _, program, seconds in tasks
                ]
            },
        }
    }


def script(k):
    return f"align --sample s{k}\n cat > v.yml"


ALIGNED = range(2, 10)


@pytest.mark.parametrize("first", [3.0, 0.0])
@pytest.mark.parametrize(
    "align",
    [
        [(f"ALIGN_{k}", "ALIGN", script(k)) for k in ALIGNED],  # Nextflow
        [(f"ALIGN_{k}", f"ALIGN_{k}", script(k)) for k in ALIGNED],
        [(str(k), f"ALIGN (sample {k})", script(k)) for k in ALIGNED],
        [(f"{k}", f"N:ALIGN__s{k}__ID{k:07}", "bash") for k in ALIGNED],
        [(f"N:ALIGN__a__b{k}__ID{k:07}",) * 2 + ("bash",) for k in ALIGNED],
        [(f"ALIGN_ID{k:07}",) * 2 + ("align",) for k in ALIGNED],  # Pegasus, Makeflow
        [(f"{k}", "", "align") for k in ALIGNED],
        [(f"task_{k}",) * 2 + ("align",) for k in ALIGNED],
    ],
)
def test_tasks_of_a_workflow_are_grouped_by_their_kind(tmp_path, first, align):
    path = tmp_path / "flow.json"
    tasks = [(*three, 600.0 + k) for k, three in zip(ALIGNED, align, strict=True)]
    tasks = [("CHECK_1", "CHECK", "check --in x\n cat > v.yml", first), *tasks]
    path.write_text(json.dumps(named_tasks(tasks)))
    (bag,) = read_bags(path, 5)
    assert (bag.tasks, bag.seconds) == (8, 605.5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"runtimeInSeconds": 2.0', '"runtimeInSeconds": Infinity', "runtimeInSeconds: is inf"),
        ('"runtimeInSeconds": 2.0', '"runtimeInSeconds": NaN', "runtimeInSeconds: is nan"),
        ('"runtimeInSeconds": 2.0', '"runtimeInSeconds": -1', "runtimeInSeconds: is -1"),
        ('"runtimeInSeconds": 2.0', '"runtimeInSeconds": "long"', "runtimeInSeconds: is 'long'"),
        ('"runtimeInSeconds": 2.0', '"runtimeInSeconds": 1e-300', "flop: is 5e-291"),
        ('"sizeInBytes": 100', '"sizeInBytes": -5', "sizeInBytes: is -5"),
        ('"sizeInBytes": 7', '"sizeInBytes": Infinity', "sizeInBytes: is inf"),
        ('"out0"]', '"lost"]', "'lost' is not specified"),
        ("t_ID0", "", "'t_ID0' is not specified"),
    ],
)
def test_a_wrong_number_of_a_profile_is_named_with_its_file(tmp_path, old, new, message):
    path = tmp_path / "flow.json"
    text = json.dumps(workflow(1))
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"^[^ ]*flow.json: .*({message})"):
        open_trace(SAMPLES / "platform.csv", Window(profiles=(path,)))


@pytest.mark.parametrize("name", ["grid.conf.gz", "GRID.CONF", "grid.Conf.GZ"])
def test_an_optorsim_file_is_known_by_its_ending(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(
        gzip.compress(OPTORSIM.encode()) if name.lower().endswith("gz") else OPTORSIM.encode()
    )
    assert read_platform(path).hosts == [10, 0, 5]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("10 1", "nan 1", "line 3: holds 'nan', expected numbers of at least 0"),
        ("10 1", "inf 1", "line 3: holds 'inf'"),
        ("10 1", "1.5 1", "line 3: has 1.5 worker nodes, expected a whole number"),
        ("10 1", "-1 1", "line 3: holds '-1'"),
        ("10 1", "ten 1", "line 3: holds 'ten'"),
        ("10 1", "10 0.5", "line 3: has 0.5 storage elements, expected a whole number"),
        ("10 1", "10 nan", "line 3: holds 'nan'"),
        ("10 1", "10 1e300", "line 3: holds '1e300'"),
        ("10 1", "10 1000000", "line 3: has 6 numbers, expected 1000005"),
        ("0 8\n5", "0 inf\n5", "line 4: holds 'inf'"),
        ("0 8\n5", "0 nan\n5", "line 4: holds 'nan'"),
    ],
)
def test_wrong_numbers_of_an_optorsim_file(tmp_path, old, new, message):
    path = tmp_path / "grid.conf"
    assert old in OPTORSIM
    path.write_text(OPTORSIM.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read_platform(path)


def test_long_platforms_and_names_are_read_in_no_time(tmp_path):
    tree, grid, flow = tmp_path / "tree.csv", tmp_path / "grid.conf", tmp_path / "flow.json"
    nodes = "".join(f"n{i},r,1,1e9,1e8,u{i // 2},1e9\n" for i in range(30_000))
    tree.write_text(f"{','.join(TREE)}\nr,,0,,,,\n{nodes}")
    rows = [[str((i < j) * (i + j) % 2) for j in range(400)] for i in range(400)]
    grid.write_text("#" + "1" * 5000 + ")a\n" + "".join(f"1 0 {' '.join(r)}\n" for r in rows))
    names = ["_" * 10**5, "a (" * 10**5, "a__" * 10**5 + "x_ID7", "a__" * 10**5 + "__ID7"]
    flow.write_text(json.dumps(named_tasks([(name, name, "a b", 1.0) for name in names])))
    with bounded():
        assert len(read_platform(tree).names) == 45_001
        assert read_platform(grid).names[0] == "site 0"
        (bag,) = read_bags(flow, 1)
    assert bag.tasks == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node,parent\na,\n", "lacks columns"),
        ("HEAD\na,,1,1e9,1,,\na,a,1,1e9,1,u,1\n", "line 3: node 'a' is listed twice"),
        ("HEAD\na,,1,1e9,1,,\nb,c,1,1e9,1,u,1\n", "line 3: parent 'c' is not above it"),
        ("HEAD\na,,1,1e9,1,,\nb,a,1,1e9,1,u,\n", "line 3: has no uplink bandwidth"),
        (
            "HEAD\na,,1,1e9,1,,\nb,,1,1e9,1,u,1\n",
            "line 3: node 'b' has no parent, expected one root",
        ),
        ("HEAD\na,,x,1e9,1,,\n", "line 2, hosts: is 'x', expected a whole number"),
        ("HEAD\n", "has no rows"),
    ],
)
def test_a_bad_platform_file_is_named(tmp_path, text, message):
    path = tmp_path / "platform.csv"
    head = ",".join(TREE)
    path.write_text(text.replace("HEAD", head))
    with pytest.raises(InputError, match=message):
        read_platform(path)


def test_pictures():
    family = get_family("bot")
    inst = generate("heterogeneous", seed=1)
    found = {
        "hindsight": optsched.solve(inst).schedule,
        "fifo": optsched.simulate(inst, "fifo").schedule,
    }
    assert set(family.pictures(inst, {})) == {"platform"}
    figures = family.pictures(inst, found)
    assert set(figures) == {"platform", "rates", "prices"}
    assert len(figures["platform"].axes) == 4  # two platforms, each with its scale of loads


def test_the_picture_of_prices_shows_what_limits_the_optimum():
    inst = generate("heterogeneous", seed=1)
    best = optsched.solve(inst)
    (axis,) = get_family("bot").pictures(inst, {"hindsight": best.schedule})["prices"].axes
    drawn = {
        label.get_text(): bar.get_width()
        for label, bar in zip(axis.get_yticklabels(), axis.patches, strict=True)
    }
    for row in best.shadow_prices[:10]:
        name = f"node {row['node']}" if "node" in row else row["link"]
        assert drawn[name] == pytest.approx(row["share"], abs=1e-3)
    # where the prices would need a conic solver there is no such picture
    worst = BotInstance.model_validate(inst.model_dump() | {"alpha": "inf"})
    assert "prices" not in get_family("bot").pictures(worst, {"hindsight": best.schedule})
