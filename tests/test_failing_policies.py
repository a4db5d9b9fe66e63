"""A policy of one's own that fails: its own lines, the equation broken, the others' rows stand."""

from __future__ import annotations

import json
import sys

import pytest
from terminal import piped

from optsched.files.envelope import save_instance
from optsched.problem import get_family
from optsched.process import talk

MINE = '''
from optsched.families.oasis.policies import Fifo
from optsched.scheduling.placement import Placement


class Bug(Fifo):
    name = "bug"

    def step(self, event):
        return self.helper(event)

    def helper(self, event):
        return event.slot / 0


class Greedy(Fifo):
    """Puts a thousand workers of every new job on one machine."""

    name = "greedy"

    def step(self, event):
        return {job: Placement(workers={0: 1000}, ps={0: 1}) for job in event.jobs}


class Odd(Fifo):
    name = "odd"

    def step(self, event):
        return "everything"


class Unmade(Fifo):
    def __init__(self):
        self.table = {}["missing"]


class Leaving(Fifo):
    name = "leaving"

    def start(self, public, prior, streams):
        raise SystemExit(0)
'''
FAILURES = {
    "mine:Bug": [
        "optsched: policy bug: event 0: ZeroDivisionError: division by zero",
        "  mine.py, line 10, step: return self.helper(event)",
        "  mine.py, line 13, helper: return event.slot / 0",
    ],
    "mine:Odd": [
        "optsched: policy odd: event 0: the decision is a str, expected a mapping from jobs"
    ],
    "mine:Unmade": [
        "optsched: policy 'mine:Unmade' cannot be loaded: KeyError: 'missing'",
        '  mine.py, line 34, __init__: self.table = {}["missing"]',
    ],
    "mine:Leaving": [
        "optsched: policy leaving: start: SystemExit: 0",
        "  mine.py, line 41, start: raise SystemExit(0)",
    ],
    "broken:X": [
        "optsched: policy 'broken:X' cannot be loaded: NameError: name 'undefined' is not defined",
        "  broken.py, line 1, <module>: undefined",
    ],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder in which a command is run, and whose modules nobody has imported."""
    save_instance(get_family("oasis").generate("small", seed=1), tmp_path / "small.json")
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("undefined\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("mine", "broken"):
        sys.modules.pop(name, None)
    talk.settle(quiet=False, verbose=False)


@pytest.mark.parametrize("policy", FAILURES)
@pytest.mark.usefixtures("folder")
def test_a_policy_that_fails_is_told_by_its_own_lines(call, policy):
    status, out, err = call("run", "small.json", "-p", policy, "-q")
    assert (status, out) == (1, "")
    assert err.splitlines() == FAILURES[policy]


@pytest.mark.usefixtures("folder")
def test_an_infeasible_decision_names_the_equation_in_a_few_lines(call):
    status, out, err = call("run", "small.json", "-p", "mine:Greedy", "-q")
    assert (status, out) == (1, "")
    first, *lines = err.splitlines()
    assert first.startswith("optsched: policy greedy broke the model: rejected: ")
    assert 1 <= len(lines) <= 4
    assert "broken by" in lines[0]
    assert lines[0].strip().startswith("(")


@pytest.mark.usefixtures("folder")
def test_the_rows_of_the_others_stand(call):
    assert call("solve", "small.json", "-o", "result.json", "-q")[0] == 0
    args = ("ratio", "small.json", "--optimum", "result.json", "-q")
    mixed = [a for name in ("mine:Bug", "fifo", "mine:Greedy", "drf") for a in ("-p", name)]
    status, out, err = call(*args, *mixed)
    assert status == 1
    assert [line.split()[1] for line in out.splitlines() if line.startswith("│")] == [
        "fifo",
        "drf",
    ]
    assert "mine:Bug has no row: policy bug: event 0: ZeroDivisionError" in out
    assert "mine:Greedy has no row: policy greedy broke the model" in out
    assert FAILURES["mine:Bug"][2] in err
    assert len(err.splitlines()) < 10
    content = json.loads(call(*args, *mixed, "--json")[1])
    assert [row["name"] for row in content["policies"]] == ["fifo", "drf"]
    assert [failed["name"] for failed in content["failed"]] == ["mine:Bug", "mine:Greedy"]


def test_where_all_fail_nothing_is_solved(folder):
    found = piped("ratio", "small.json", "-p", "mine:Bug", "--time-limit", 10**6, folder=folder)
    assert (found.status, found.out) == (1, "")
    assert found.err.splitlines()[-3:] == FAILURES["mine:Bug"]
