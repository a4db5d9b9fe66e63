"""Versions side by side: what is requested of them, and what is reported of their answers."""

import json
from pathlib import Path

import pytest
import side_by_side
import side_tasks

from optsched.families.bot.instance import Application, BotInstance, Link

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[2]
SAMPLE = {
    "oracle oasis classes": ("small", {}),
    "oracle dmlrs distinct": ("small", {}),
    "oracle completion classes": ("small", {}),
    "policy bot adaptive": ("small", {}),
    "small bot auto": ("small", {}),
}


class InProcess:
    """A side that runs tasks here, and of which one may be wrong."""

    wrong = ""

    def __init__(self, _python, checkout, folder, _stack):
        self.folder, self.late = folder, checkout.name == "other"

    def run(self, task):
        answer = side_tasks.task(task, self.folder)()
        if self.late and task == self.wrong:
            answer["values"][0] *= 1.001
        return answer | {"seconds": 1.0 + self.late}


def run(folder, *more):
    argv = ["--other", str(folder / "other"), "--repeats", "1", "--processes", "1", *more]
    side_by_side.main([*argv, "--results", str(folder)])
    return json.loads((folder / "side_by_side.json").read_text())


@pytest.mark.parametrize("wrong", ["", "oracle oasis classes"])
def test_times_and_results_stand_side_by_side(tmp_path, monkeypatch, wrong):
    monkeypatch.setattr(side_by_side, "TASKS", SAMPLE)
    monkeypatch.setattr(side_by_side, "Side", InProcess)
    monkeypatch.setattr(InProcess, "wrong", wrong)
    content = run(tmp_path)
    assert [line[:3] for line in content["table"]["lines"]] == [task.split() for task in SAMPLE]
    assert all(line[5] == "0.500" for line in content["table"]["lines"])
    measured = {target["what"]: target["measured"] for target in content["targets"]}
    assert measured == {
        "oracle, the largest ratio of times": 0.5,
        "policy, the largest ratio of times": 0.5,
        "results that differ": len({wrong} - {""}),
    }


@pytest.mark.parametrize(
    ("task", "apart", "agree"),
    [
        ("optimum bot auto", 5e-6, True),  # a sum of logarithms: what counts is the mean rate
        ("optimum bot auto", 5e-5, False),
        ("policy bot adaptive", 5e-6, False),
    ],
)
def test_optima_agree_if_their_gap_is_closed_and_others_if_they_are_equal(task, apart, agree):
    """The values are near 0, so that both are relatively far apart."""
    two = BotInstance(speed=(2.0, 1.0), links=(Link(a=0, b=1, forward=1.0, backward=1.0),),
        applications=(Application(master=0, flop=1.0, bytes=1.0),) * 2)  # fmt: skip

    class Fixed:
        def __init__(self, value):
            self.value = value

        def run(self, _task):
            return {"seconds": 1.0, "values": [self.value], "gap": 0.0}

    for first, second in ((1e-3, 1e-3 + apart), (1e-3 + apart, 1e-3)):
        sides = {"this": [Fixed(first)], "other": [Fixed(second)]}
        assert side_by_side.compared(sides, task, 1, two)["different"] is not agree


@pytest.mark.exhaustive
def test_each_version_answers_in_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(side_by_side, "TASKS", SAMPLE)
    (tmp_path / "other").symlink_to(CHECKOUT)
    content = run(tmp_path, "--tasks", "policy")
    (line,) = content["table"]["lines"]
    assert line[-1] == "same"
