"""A stored result serves again: as the optimum next to other policies, and as a table of ratios."""

import json

import pytest
from terminal import refused

from optsched.core import compare
from optsched.files.format import load_instance
from optsched.problem import InputError, get_family
from optsched.results.load import load_known, load_report
from optsched.results.result import save_result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reuse")
    for name, family, seed in (("small", "oasis", 1), ("other", "oasis", 2), ("b", "bipartite", 1)):
        instance = get_family(family).generate("small", seed=seed)
        text = instance.model_dump(mode="json")
        envelope = {"format": 1, "kind": "instance", "family": family, "instance": text}
        (path / f"{name}.json").write_text(json.dumps(envelope))
        report = compare(instance, time_limit=30)
        result = path / f"{name}-result.json"
        save_result(result, instance, report.optimum, report.runs, report.references)
    return path


def damaged(folder, change):
    content = json.loads((folder / "small-result.json").read_text())
    change(content)
    path = folder / "damaged.json"
    path.write_text(json.dumps(content))
    return path


def test_the_optimum_of_a_file_is_not_solved_again(call, folder):
    args = ("ratio", folder / "small.json", "--optimum", folder / "small-result.json", "--json")
    # a method that would not end shows that none is requested
    status, out, _ = call(*args, "-p", "drf", "--time-limit", 10**6, "--gap", 0, "-m", "search")
    assert status == 0
    found = json.loads(out)
    said = json.loads((folder / "small-result.json").read_text())["optimum"]
    for name in ("value", "bound", "method", "seconds", "status"):
        assert found["reference"][name] == said[name]
    assert [row["name"] for row in found["policies"]] == ["drf"]


def test_further_references_come_from_the_file_too(folder):
    instance = load_instance(folder / "b.json")
    optimum, references = load_known(folder / "b-result.json", instance)
    assert list(references) == ["stationary"]
    report = compare(instance, ["drf"], optimum=optimum, references=references)
    assert report.references == references
    assert report.optimum.value == optimum.value


def test_optima_of_other_schedules_are_refused(folder):
    instance = load_instance(folder / "b.json")
    optimum, references = load_known(folder / "b-result.json", instance)
    stationary = references["stationary"]
    for refused_ones, said in (
        ({"optimum": stationary}, "the optimum is the best stationary schedule, expected the best"),
        (
            {"optimum": optimum, "references": {"stationary": optimum}},
            "stationary is the best of all, expected the best stationary schedule",
        ),
        (
            {"optimum": optimum, "references": {"relaxation": optimum}},
            "relaxation is a schedule, expected the value of the relaxation",
        ),
    ):
        with pytest.raises(InputError, match=said):
            compare(instance, ["drf"], **refused_ones)


def test_the_optimum_of_another_instance_is_refused(call, folder):
    args = ("ratio", folder / "small.json", "--optimum")
    refused(call(*args, folder / "other-result.json"), "other-result.json", "another instance")
    refused(call(*args, folder / "b-result.json"), "'bipartite', expected 'oasis'")
    refused(call(*args, folder / "small.json"), "holds 'instance', expected 'result'")
    refused(call(*args, folder / "none.json"), "none.json: cannot be read")


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["optimum"].update(value=c["optimum"]["value"] * 1.01),
        lambda c: c["optimum"].update(bound=c["optimum"]["bound"] * 0.99, certified_bound=None),
        lambda c: c["optimum"].update(certificate=None),
        lambda c: c["optimum"]["schedule"].update(jobs=[None] * 6),
        lambda c: c["optimum"].update(instance_sha256="0" * 64),
    ],
)
def test_what_a_file_says_is_checked_again(call, folder, change):
    path = damaged(folder, change)
    refused(call("ratio", folder / "small.json", "--optimum", path), "damaged.json", "rejected")


def test_levels_and_gaps_are_derived_and_not_read(folder):
    instance = load_instance(folder / "small.json")
    known, _ = load_known(folder / "small-result.json", instance)

    def claim(content):
        best = content["optimum"]
        best |= {"bound_level": "cross-checked", "bound": best["bound"] * 1.5, "gap": None}
        best |= {"status": "feasible", "certified_bound": None, "certificate": None}
        best["certified_gap"] = None

    found, _ = load_known(damaged(folder, claim), instance)
    assert (found.bound_level, found.proved) == ("claimed", None)
    assert found.gap == pytest.approx(0.5)
    assert found.value == known.value


def test_show_prints_the_table_of_a_result(call, folder):
    path = folder / "small-result.json"
    status, out, _ = call("show", path)
    assert status == 0
    for run in json.loads(path.read_text())["runs"]:
        assert f"│ {run['policy']} " in out
        assert f"{run['value']:.6g}" in out
    report = load_report(path, load_instance(folder / "small.json"))
    assert f"{report.policies[0].ratio.low:.4g}" in out
    status, out, _ = call("show", path, "--json")
    assert status == 0
    assert json.loads(out)["comparison"] == json.loads(json.dumps(report.summary()))


def test_show_computes_ratios_from_schedules(call, folder):
    path = damaged(folder, lambda c: c["runs"][1].update(value=c["runs"][1]["value"] + 1))
    status, out, _ = call("show", path)
    assert status == 0
    assert "warning: not to be relied on" in out
    assert "run of fifo: rejected: value is" in " ".join(out.split())
    assert "┏" not in out  # no table of what cannot be true


def test_show_of_a_result_without_runs(call, folder, tmp_path):
    content = json.loads((folder / "small-result.json").read_text())
    del content["runs"]
    (tmp_path / "r.json").write_text(json.dumps(content))
    status, out, _ = call("show", tmp_path / "r.json")
    assert status == 0
    assert "checked again: oasis: " in out
