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
