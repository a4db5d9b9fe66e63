"""The family of docs/examples, through the real command line, and the page that shows it."""

import json
import os
import re
from itertools import product

import pytest
from plugged import HOME, installed, plugged
from terminal import piped

from optsched.core import solve
from optsched.problem import get_family

DOCS = HOME.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which processes have made files, where the example is installed."""
    made = tmp_path_factory.mktemp("work")
    path = os.pathsep.join(map(str, installed(tmp_path_factory.mktemp("site"))))
    for words in (
        ("generate", "intervals", "--seed", "1", "-o", "mine.json"),
        ("ratio", "mine.json", "-o", "result.json"),
    ):
        found = piped(*words, folder=made, PYTHONPATH=path)
        assert found.status == 0, found.err
    return made


@pytest.fixture
def command(call, folder, tmp_path, monkeypatch):
    """Run optsched here as if the example were installed; return status, stdout and stderr."""
    monkeypatch.chdir(folder)
    with plugged(tmp_path):
        yield call


def test_the_page_shows_the_file():
    page = (DOCS / "tutorials" / "own-family.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert "\n\n".join(shown) == (HOME / "intervals.py").read_text(encoding="utf-8")


def test_ratios_to_a_certified_optimum(command):
    status, said, _ = command("ratio", "mine.json", "--json")
    found = json.loads(said)
    assert status == 0
    assert found["reference"]["status"] == "optimal"
    assert found["reference"]["bound_level"] == "certified"
    assert {row["name"] for row in found["policies"]} == {"greedy", "posted"}
    assert all(row["ratio"]["low"] >= 1 for row in found["policies"])


def test_the_default_preset_is_the_first(folder):
    shown = json.loads((folder / "mine.json").read_text())["instance"]
    assert shown["horizon"] == 40  # "small"; the other one has 15


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("info",), "family intervals: Interval scheduling"),
        (("show", "mine.json"), "intervals │ 60"),
        (("show", "result.json"), "posted"),
        (("solve", "mine.json"), "is optimal (certified)"),
        (("run", "mine.json", "--policy", "posted"), "intervals: posted reaches"),
        (("verify", "result.json"), "optimum: accepted"),
        (("info", "--schema", "instance", "--family", "intervals"), '"machines"'),
    ],
)
def test_commands_know_the_family(command, words, said):
    status, out, err = command(*words)
    assert status == 0, err
    assert said in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("export", "mine.json"), "family intervals has no program to export"),
        (
            ("show", "sample", "--family", "intervals"),
            "sample: family intervals reads no traces, expected an instance file, NAME.json",
        ),
        (
            ("generate", "intervals", "--nodes", "3", "-o", "x.json"),
            "option --nodes is not supported by family intervals, "
            "expected one of: --jobs, --machines",
        ),
    ],
)
def test_what_it_does_not_have_is_said_in_one_line(command, words, said):
    status, out, err = command(*words)
    assert status not in (0, None)
    assert out == ""
    assert err == f"optsched: {said}\n"


def test_there_are_no_pictures_of_it_but_of_its_ratios(command, folder):
    status, _, err = command("show", "mine.json", "--plot", "instance")
    assert (status, err) == (0, "family intervals draws no pictures\n")
    assert command("ratio", "mine.json", "--plot", "ratios")[0] == 0
    drawn = {path.name for path in (folder / "ratios").iterdir()}
    assert "ratios.png" in drawn


def test_the_optimum_is_that_of_trying_everything(tmp_path):
    with plugged(tmp_path):
        family = get_family("intervals")
        for seed in range(4):
            inst = family.generate("crowded", seed=seed, jobs=9, machines=2)
            tried = product((False, True), repeat=9)
            values = [family.verify(inst, family.schedule(accepted=x)).value for x in tried]
            assert None in values  # not all can be accepted
            best = max(value for value in values if value is not None)
            found = solve(inst)
            assert (found.value, found.bound, found.certified_bound) == (best, best, best)


@pytest.mark.parametrize("price", [(1,) * 14, (-1,) * 15])
def test_prices_that_prove_nothing_are_refused(tmp_path, price):
    with plugged(tmp_path):
        family = get_family("intervals")
        with pytest.raises(ValueError, match="expected 15 prices that are not negative"):
            family.check(family.generate("crowded"), family.certificate(price=price))
