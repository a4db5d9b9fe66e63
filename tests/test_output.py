"""What commands print: one JSON object on stdout, files, versions, how much is reported."""

import json

import pytest
from terminal import piped

import optsched
from optsched.problem import families, get_family
from optsched.results.load import load_schedule
from optsched.results.result import save_schedule

pytestmark = pytest.mark.slow

WINDOW = ("--jobs", 6, "--horizon", 8, "--load", 0.4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("output")
    small = optsched.get_family("oasis").generate("small", seed=1)
    optsched.save_instance(small, path / "small.json")
    args = ("ratio", path / "small.json", "--time-limit", 5)
    assert piped(*args, "-o", path / "result.json").status == 0
    schedule = load_schedule(path / "result.json", small)
    save_schedule(path / "schedule.json", small, schedule)
    return path


COMMANDS = {
    "generate": ("oasis", "--preset", "small", "-o", "{new}"),
    "trace": ("sample", *WINDOW, "-o", "{new}"),
    "show": ("{small}",),
    "solve": ("{small}", "--time-limit", 5),
    "run": ("{small}", "-p", "fifo"),
    "ratio": ("{small}", "-p", "fifo", "--time-limit", 5),
    "verify": ("{result}",),
    "info": (),
}
HEADS = {
    "generate": {"file", "family", "instance_sha256", "facts", "warnings"},
    "trace": {"file", "family", "instance_sha256", "facts", "warnings"},
    "show": {"file", "kind", "family", "facts", "warnings", "found", "comparison"},
    "solve": {"family", "reference", "policies"},
    "run": {"family", "policy", "value", "information", "seal", "jobs", "completed", "slowest"},
    "ratio": {"family", "facts", "reference", "references", "policies", "failed"},
    "verify": {"accepted", "checks"},
    "info": {"versions", "families", "cite"},
}


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_one_object_and_nothing_else(call, folder, tmp_path, command):
    names = {"small": folder / "small.json", "result": folder / "result.json"}
    args = [str(a).format(new=tmp_path / "new.json", **names) for a in COMMANDS[command]]
    status, out, err = call(command, *args, "--json", "-q")
    assert (status, err) == (0, "")
    assert HEADS[command] <= set(json.loads(out))


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("show", ("result.json",)),
        ("verify", ("result.json",)),
        ("verify", ("small.json", "schedule.json")),
    ],
)
def test_what_is_derived_can_be_stored(call, folder, tmp_path, command, args):
    files = [folder / name for name in args]
    status, out, _ = call(command, *files, "--json")
    assert status == 0
    status, said, _ = call(command, *files, "-o", tmp_path / "found.json")
    assert status == 0
    assert not said.startswith("{")
    assert (tmp_path / "found.json").read_text() == out


def test_a_rejected_file_is_rejected_in_json_too(call, folder, tmp_path):
    content = json.loads((folder / "result.json").read_text())
    content["optimum"]["value"] += 1
    (tmp_path / "bad.json").write_text(json.dumps(content))
    status, out, _ = call("verify", tmp_path / "bad.json", "--json")
    assert status == 1
    found = json.loads(out)
    assert not found["accepted"]
    assert "value is" in found["checks"][0]["complaints"][0]


def test_reproduce_says_in_json_where_the_numbers_are(call, tmp_path):
    args = ("--seeds", 1, "--time-limit", 0.5, "--workers", 1, "--json", "-q")
    status, out, err = call("reproduce", "bot-tab1", "-o", tmp_path, *args)
    assert (status, err) == (0, "")
    assert {"name", "score", "findings", "results", "picture"} <= set(json.loads(out))


def test_verbose_has_all_columns_and_prices(call, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    args = ("ratio", folder / "small.json", "--optimum", folder / "result.json", "-p", "fifo")
    _, brief, _ = call(*args)
    _, full, _ = call(*args, "-v")
    assert "No policy has a proven guarantee on this instance.\n" in brief
    assert "all policies: information after; sandbox no\n" in brief
    assert "all policies" not in full
    for heading in ("guarantee", "information", "sandbox", "max decision time"):
        assert f"┃ {heading}" in full or f" {heading} ┃" in full
    prices = json.loads((folder / "result.json").read_text())["optimum"]["shadow_prices"]
    assert brief.count("shadow price: ") == 3 < full.count("shadow price: ") == len(prices)


def test_what_a_file_states_of_policies_is_not_checked(call, folder, tmp_path):
    path = tmp_path / "r.json"
    content = json.loads((folder / "result.json").read_text())
    content["runs"][0] |= {"guarantee": 1000.0, "sealed": True}
    path.write_text(json.dumps(content))
    for verbosity in ((), ("-v",)):
        out = call("show", path, *verbosity)[1]
        assert "not checked: that policies decided so, what they knew" in out
        assert "guarantee" not in out
    run = content["runs"][0]
    alone = {k: content[k] for k in ("format", "family", "instance", "instance_sha256")}
    (tmp_path / "run.json").write_text(json.dumps(alone | {"kind": "run", "run": run}))
    shown = json.loads(call("show", tmp_path / "run.json", "--json")[1])
    assert shown["found"]["guarantee"] is None
    assert any(line.startswith("not checked: that policies") for line in shown["warnings"])
    assert "what it knew, its times, its sandbox, its guarantee 1000" in call("verify", path)[1]


def test_version_and_short_help(call):
    for asked in (["--version"],):
        status, out, _ = call(*asked)
        assert (status, out) == (0, f"optsched {optsched.__version__}\n")
    for command in ((), ("ratio",), ("verify",)):
        assert call(*command, "-h") == call(*command, "--help")
        assert call(*command, "-h")[0] == 0


@pytest.mark.parametrize("family", families())
def test_what_python_shows_is_one_short_line(family):
    made = get_family(family)
    instance = made.generate("small", seed=1)
    assert repr(instance) == str(instance)
    assert made.headline(instance) in repr(instance)
    assert instance.source in repr(instance)
    policy = next(iter(made.policies))
    report = optsched.compare(instance, [policy], time_limit=1)
    assert policy in repr(report)
    assert f"{report.policies[0].ratio.low:.4g}" in repr(report)
    assert f"{report.optimum.value:.6g}" in repr(report.optimum)
    assert f"{report.runs[0].value:.6g}" in repr(report.runs[0])
    shown = (instance, report, report.optimum, report.runs[0], report.optimum.schedule)
    for found in shown:
        assert repr(found).startswith("<")
        assert "\n" not in repr(found)
        assert len(repr(found)) < 250


@pytest.mark.parametrize("family", families())
def test_the_source_names_what_differs_from_the_preset(family):
    made = get_family(family)
    size = "applications" if family == "bot" else made.sizes[0]
    assert f"{size}=5" not in made.generate("small", seed=1).source
    assert made.generate("small", seed=1, **{size: 5}).source.endswith(f", {size}=5")
    assert made.generate("small", seed=1, **{size: 5}).digest() == (
        made.generate("small", seed=1, **{size: 5}).digest()
    )


def test_the_source_leaves_out_what_is_usual():
    made = get_family("oasis").generate("small", seed=1, completable=True, priority=(1.0, 50.0))
    assert made.source == "generated: preset small, seed 1, priority=(1.0, 50.0)"
