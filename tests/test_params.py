"""Parameters of methods: stated in Python, in a file and by command, refused where wrong, kept."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing

import pytest

from optsched import get_family, solve
from optsched.base import InputError
from optsched.engine.params import changes, described, read_params
from optsched.experiments.plan import SearchLimits
from optsched.files.format import save_instance
from optsched.problem import families

OASIS = get_family("oasis")
NO_TREE = {"auto": {"small": 0}}  # no branch and price, which closes this instance
TOML = "[auto]\nsmall = 0\nrestart = 60  # as by default\n"
LIMIT = 300.0


@pytest.fixture(scope="module")
def small():
    return OASIS.generate("small", seed=1)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "params.toml"
    path.write_text(TOML)
    return path


@pytest.mark.parametrize("name", ["oasis", "dmlrs", "completion", "rigid", "declared-max"])
def test_every_default_is_in_its_range_and_has_a_meaning(name):
    family = get_family(name)
    rows = list(described(family.params))
    assert rows
    for row in rows:
        value = row["default"]
        given = {row["component"]: {row["field"]: value}}
        assert read_params(family, given) == family.params(), row
        assert row["meaning"].endswith("."), row
        assert row["meaning"][0].isupper(), row


def test_a_mechanism_that_is_switched_off_is_missed(small):
    found = solve(small, work_limit=LIMIT)
    assert found.status == "optimal"
    assert "params" not in found.model_dump(mode="json")
    without = solve(small, work_limit=LIMIT, params=NO_TREE)
    assert without.status == "feasible"
    assert without.model_dump(mode="json")["params"] == NO_TREE


def test_all_ways_to_state_them_are_one(small, file):
    made = read_params(OASIS, NO_TREE)
    assert made == OASIS.params(auto=type(made.auto)(small=0))
    assert made == read_params(OASIS, made) == read_params(OASIS, file)
    assert made == read_params(OASIS, str(file)) != OASIS.params()
    assert changes(made) == NO_TREE
    assert solve(small, work_limit=1, params=file).params == NO_TREE


def test_a_command_reads_a_file_and_its_result_states_it(small, file, call, tmp_path):
    save_instance(small, tmp_path / "small.json")
    place = tmp_path / "result.json"
    words = ("--work-limit", str(LIMIT), "--params", file, "-o", place, "--json")
    status, out, _ = call("solve", tmp_path / "small.json", *words)
    assert status == 0
    assert json.loads(out)["reference"]["status"] == "feasible"
    assert json.loads(out)["reference"]["params"] == NO_TREE
    assert json.loads(place.read_text())["optimum"]["params"] == NO_TREE
    assert call("verify", place)[0] == 0


@pytest.mark.slow
def test_a_comparison_over_windows_is_about_them(file, call, tmp_path):
    words = ("sample", "--family", "rigid", "--jobs", 6, "--windows", 2, "-p", "fcfs")
    file.write_text("[auto]\nsmall = 0\n")
    status, _, err = call(
        "ratio", *words, "--work-limit", 50, "--params", file, "-o", tmp_path / "r.sqlite"
    )
    assert status == 0, err
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as store:
        words = [json.loads(text) for (text,) in store.execute("SELECT text FROM word")]
    assert [w["params"] for w in words if "effort" in w] == [NO_TREE]


def test_a_change_is_measured_under_them(file, call, tmp_path):
    path = tmp_path / "queue.json"
    parameters = {"jobs": 12, "machines": 16, "load": 3.0}
    save_instance(get_family("rigid").generate("lublin", seed=1, **parameters), path)
    words = ("--add", "1xnode", "-p", "fcfs", "--work-limit", 100, "--json")
    file.write_text("[auto]\nsmall = 0\n")  # no branch and bound, which closes this instance
    for more, is_open in ((), False), (("--params", file), True):
        status, out, err = call("whatif", path, *words, *more)
        assert status == 0, err
        low, high = json.loads(out)["rows"][0]["before"]
        assert (low < high) == is_open


def test_a_certified_model_states_them(file, call, tmp_path):
    (tmp_path / "m.lp").write_text("min\n x\nst\n c: x >= 1\nend\n")
    file.write_text("[tree]\npatience = 7\n")
    place = tmp_path / "m.json"
    assert call("certify", tmp_path / "m.lp", "--params", file, "-o", place)[0] == 0
    assert json.loads(place.read_text())["optimum"]["params"] == {"tree": {"patience": 7}}


def test_an_optimum_is_kept_for_equal_parameters(small, file, call, tmp_path, monkeypatch):
    monkeypatch.setenv("OPTSCHED_CACHE", str(tmp_path / "optima"))
    path = tmp_path / "small.json"
    save_instance(small, path)

    def known(text):
        file.write_text(text)
        words = ("-p", "fifo", "--work-limit", str(LIMIT), "--params", file)
        status, _, err = call("ratio", path, *words)
        assert status == 0
        return "cached optimum" in err

    other = "[branch]\ndive = 7\n"  # closes it as well
    assert [known(text) for text in (TOML, TOML, "", other, other, "[branch]\ndive = 8\n")] == [
        False,
        True,
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"neighborhod": {}}, "oasis has no section 'neighborhod', expected one of: auto, branch"),
        ({"branch": {"sise": 3}}, "oasis.branch has no field 'sise', expected one of: exact, tail"),
        ({"auto": 3}, "oasis.auto is 3, expected a section of fields"),
        ({"auto": {"small": "3"}}, "oasis.auto.small is '3'; Input should be a valid integer"),
        ({"auto": {"small": True}}, "oasis.auto.small is True; Input should be a valid integer"),
        ({"auto": {"dives": 1}}, "oasis.auto.dives is 1; Input should be a valid boolean"),
        ({"auto": {"quick": 1.5}}, "oasis.auto.quick is 1.5; Input should be less than or equal"),
        ({"auto": {"restart": float("inf")}}, "oasis.auto.restart is inf; Input should be a fin"),
        ({"neighborhood": {"cooling": [1, 0]}}, "oasis.neighborhood.cooling is [1, 0]; item 1: In"),
        ({"neighborhood": {"cooling": [1]}}, "oasis.neighborhood.cooling is [1]; item 1: Field r"),
        ({"auto": {"small": 1j}}, "oasis.auto.small is 1j; expected a number, true, false or an"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(small, given, complaint):
    with pytest.raises(InputError, match=re.escape(f"params: {complaint}")) as refused:
        solve(small, params=given)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("[auto", "is no TOML"), ("auto = 1\n", "oasis.auto is 1"), (None, "cannot be read")],
)
def test_a_file_that_is_wrong_is_refused(small, file, text, complaint):
    file.unlink() if text is None else file.write_text(text)
    with pytest.raises(InputError, match=complaint):
        solve(small, params=file)


def test_a_campaign_has_them_in_its_key_where_they_differ():
    usual, stated, other = (
        SearchLimits(params=params).reference("oasis")
        for params in ({}, {"auto": {"small": 1500}}, NO_TREE)
    )
    assert usual == stated
    assert "params" not in usual.content
    assert other.content["params"] == NO_TREE
    assert usual.key == stated.key != other.key
    with pytest.raises(InputError, match=r"params: rigid\.auto has no field 'restart'"):
        SearchLimits(params={"auto": {"restart": 1.0}}).reference("rigid")
    with pytest.raises(InputError, match="params: family bot has no parameters"):
        SearchLimits(params=NO_TREE).reference("bot")


def test_a_command_lists_them(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    status, out, _ = call("info", "--params", "--json")
    assert status == 0
    listed = json.loads(out)
    assert set(listed) == {name for name, family in families().items() if family.params}
    (row,) = [r for r in listed["oasis"] if (r["component"], r["field"]) == ("auto", "restart")]
    assert (row["default"], row["unit"]) == (60.0, "s")
    status, out, _ = call("info", "--params", "--family", "rigid")
    assert status == 0
    assert "alphas" in out
    assert "[0.0, 0.25, 0.5, 0.75, 1.0]" in out
