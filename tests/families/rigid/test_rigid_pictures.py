"""Pictures of family `rigid`: every word can be read, and shares in use are at most 1."""

import numpy as np
import pytest
from legible import faults

from optsched import compare, simulate, solve
from optsched.cli import plots
from optsched.families.rigid import FAMILY
from optsched.families.rigid.pictures import over_time, pictures

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("names", [(), ("easy",), ("fcfs", "easy", "conservative", "sjf")])
def test_every_word_can_be_read(names):
    inst = FAMILY.generate("small", seed=1)
    drawn = pictures(inst, {name: simulate(inst, name).schedule for name in names})
    assert set(drawn) == ({"over-time", "gantt"} if names else {"over-time"})
    for name, figure in drawn.items():
        assert faults(figure) == [], name


def test_what_ends_makes_space_for_what_starts_in_the_same_second():
    inst = FAMILY.generate("small", seed=1, jobs=20, load=2.0)
    figure = over_time(inst, {"easy": simulate(inst, "easy").schedule}, named=True)
    (line,) = figure.axes[1].get_lines()
    assert figure.axes[1].get_title() == f"share of {inst.resources[0]} in use"
    assert 0.5 < np.max(line.get_ydata()) <= 1.0
    assert line.get_ydata()[-1] == 0


def test_the_axis_of_convergence_names_what_is_minimized(monkeypatch, tmp_path):
    inst = FAMILY.generate("small", seed=1)
    drawn = {}
    monkeypatch.setattr(plots, "save", lambda figure, path: drawn.setdefault(path.stem, figure))
    plots.save_report(inst, compare(inst, ["fcfs"], optimum=solve(inst, work_limit=500)), tmp_path)
    assert drawn["convergence"].axes[0].get_ylabel() == "weighted mean flow time, s"
