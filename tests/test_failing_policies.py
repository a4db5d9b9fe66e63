"""A policy of one's own that fails: its own lines, the equation broken, the others' rows stand."""

from __future__ import annotations

import json

import pytest
from terminal import piped

from optsched.files.envelope import save_instance
from optsched.problem import get_family

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("failing")
    save_instance(get_family("oasis").generate("small", seed=1), path / "small.json")
    (path / "mine.py").write_text(MINE)
    (path / "broken.py").write_text("undefined\n")
    assert piped("solve", "small.json", "-o", "result.json", "-q", folder=path).status == 0
    return path


@pytest.mark.parametrize("policy", FAILURES)
def test_a_policy_that_fails_is_told_by_its_own_lines(folder, policy):
    found = piped("run", "small.json", "-p", policy, "-q", folder=folder)
    assert (found.status, found.out) == (1, "")
    assert found.err.splitlines() == FAILURES[policy]


def test_an_infeasible_decision_names_the_equation_in_a_few_lines(folder):
    found = piped("run", "small.json", "-p", "mine:Greedy", "-q", folder=folder)
    assert (found.status, found.out) == (1, "")
    first, *lines = found.err.splitlines()
    assert first.startswith("optsched: policy greedy broke the model: rejected: ")
    assert 1 <= len(lines) <= 4
    assert "broken by" in lines[0]
    assert lines[0].strip().startswith("(")


def test_the_rows_of_the_others_stand(folder):
    args = ("ratio", "small.json", "--optimum", "result.json", "-q")
    mixed = [a for name in ("mine:Bug", "fifo", "mine:Greedy", "drf") for a in ("-p", name)]
    found = piped(*args, *mixed, folder=folder)
    assert found.status == 1
    assert [line.split()[1] for line in found.out.splitlines() if line.startswith("│")] == [
        "fifo",
        "drf",
    ]
    assert "mine:Bug has no row: policy bug: event 0: ZeroDivisionError" in found.out
    assert "mine:Greedy has no row: policy greedy broke the model" in found.out
    assert FAILURES["mine:Bug"][2] in found.err
    assert len(found.err.splitlines()) < 10
    content = json.loads(piped(*args, *mixed, "--json", folder=folder).out)
    assert [row["name"] for row in content["policies"]] == ["fifo", "drf"]
    assert [failed["name"] for failed in content["failed"]] == ["mine:Bug", "mine:Greedy"]


def test_where_all_fail_nothing_is_solved(folder):
    found = piped("ratio", "small.json", "-p", "mine:Bug", "--time-limit", 10**6, folder=folder)
    assert (found.status, found.out) == (1, "")
    assert found.err.splitlines()[-3:] == FAILURES["mine:Bug"]
