"""The command line with instances of family `completion`."""

import json

import pytest

from optsched.cli.app import main
from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.monolithic_mip import compact
from optsched.files.format import load_instance

LIMIT = ["--time-limit", "2"]
WINDOW = ["--family", "completion", "--jobs", "5", "--horizon", "10"]
PROFILE = {
    kind: {
        "('ResNet-18 (batch size 32)', 1)": {"null": rate},
        "('LM (batch size 5)', 1)": {"null": 2 * rate},
    }
    for kind, rate in (("k80", 5.0), ("p100", 15.0), ("v100", 25.0))
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The file of an instance."""
    target = tmp_path_factory.mktemp("completion") / "instance.json"
    args = ["generate", "completion", "--preset", "small", "--seed", "1", "-o", str(target)]
    with pytest.raises(SystemExit) as left:
        main(args)
    assert not left.value.code
    return target


def test_a_program_that_is_not_finished_says_nothing(path, caplog):
    instance = load_instance(path)
    asked = []

    class Late(Progress):
        """Has time until it is requested the twentieth time: while equations are made."""

        def left(self):
            asked.append(self)
            return float(len(asked) < 20)

    progress = Late(FAMILY, instance, time_limit=1.0, gap=1e-6)
    compact(instance, progress, threads=1, seed=0)
    assert len(asked) == 20
    assert caplog.records == []  # Pyomo would print them


def test_generate_takes_sizes(call, tmp_path):
    target = tmp_path / "x.json"
    sizes = ("--jobs", 3, "--horizon", 9, "--machines", 4)
    status, out, _ = call("generate", "completion", "--preset", "small", *sizes, "-o", target)
    assert status == 0
    assert "3 jobs" in out
    made = load_instance(target)
    assert (len(made.jobs), made.horizon, len(made.capacity)) == (3, 9, 4)


def test_show(call, path, tmp_path):
    status, out, _ = call("show", path, "--plot", tmp_path / "pictures")
    assert status == 0
    for word in ("offered load", "worker types", "jobs that can never run"):
        assert word in out
    assert (tmp_path / "pictures" / "jobs.png").exists()


def test_solve_and_verify(call, path, tmp_path):
    target = tmp_path / "result.json"
    status, out, _ = call("solve", path, *LIMIT, "--json", "-o", target)
    assert status == 0
    content = json.loads(out)
    assert content["family"] == "completion"
    found = content["reference"]
    assert found["status"] == "optimal"
    assert found["bound_level"] == "certified"
    assert found["bound"] <= found["value"] <= found["bound"] * (1 + 1e-6)
    status, out, _ = call("verify", target)
    assert status == 0
    assert "accepted" in out
    status, out, _ = call("show", target, "--plot", tmp_path)
    assert status == 0
    assert (tmp_path / "schedules.png").exists()
    content = json.loads(target.read_text())
    content["optimum"]["value"] -= 1
    target.write_text(json.dumps(content))
    status, out, _ = call("verify", target)
    assert status == 1
    assert "rejected" in out


def test_ratio(call, path, tmp_path):
    target = tmp_path / "result.json"
    status, out, _ = call("ratio", path, *LIMIT, "--json", "-o", target)
    assert status == 0
    rows = {row["name"]: row for row in json.loads(out)["policies"]}
    assert {"a_online", "a_online-density", "fifo", "drf", "antman", "tiresias"} == set(rows)
    assert rows["a_online"]["guarantee"] > rows["a_online"]["ratio"]["high"]
    assert rows["fifo"]["guarantee"] is None
    assert rows["a_online"]["ratio"]["low"] >= 1
    assert call("verify", target)[0] == 0


def test_ratio_of_the_sample(call):
    args = ("--policy", "a_online", "--policy", "fifo", "--time-limit", "1")
    status, out, _ = call("ratio", "sample", *WINDOW, *args)
    assert status == 0
    assert "a_online" in out
    assert "guarantee" in out


def test_trace_with_measured_speeds(call, tmp_path):
    (tmp_path / "jobs.csv").write_text(
        "submit_seconds,run_seconds,tasks\n"
        + "".join(f"{600 * k},{3600 * (1 + k % 3)},{1 + k % 4}\n" for k in range(8))
    )
    (tmp_path / "speeds.json").write_text(json.dumps(PROFILE))
    target = tmp_path / "window.json"
    args = ("trace", tmp_path / "jobs.csv", *WINDOW, "--profile", tmp_path / "speeds.json")
    status, out, _ = call(*args, "-o", target)
    assert status == 0, out
    made = load_instance(target)
    assert len(made.jobs) == 5
    assert "batch_time" not in made.drawn
    status, _, err = call("trace", tmp_path / "jobs.csv", *WINDOW, "--shapes", target, "-o", target)
    assert status == 2
    assert "shapes" in err


@pytest.mark.parametrize("to", ["lp", "mps"])
def test_export_cites_the_equations(call, path, tmp_path, to):
    target = tmp_path / f"program.{to}"
    assert call("export", path, "--to", to, "-o", target)[0] == 0
    text = target.read_text()
    for equation in ("eq2", "eq2a", "eq2f", "eq2h"):
        assert equation in text


def test_a_wrong_job_is_named(call, path, tmp_path):
    content = json.loads(path.read_text())
    del content["instance_sha256"]
    content["instance"]["jobs"][1]["arrival"] = 99
    (tmp_path / "x.json").write_text(json.dumps(content))
    status, _, err = call("solve", tmp_path / "x.json")
    assert status == 2
    assert "job 1: arrival 99" in err
    assert err.count("\n") == 1
