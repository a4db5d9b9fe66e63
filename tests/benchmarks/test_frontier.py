"""The benchmark of the frontier: how far climbs go, what counts as closed, the picture."""

from __future__ import annotations

import json

import frontier
import pytest
from oasis_brute import random_instance
from patience import LONG

from optsched.optimum import solve


def step(size, closed):
    return {"size": size, "closed": closed, "seconds": 1.0, "gap": 0.0}


def row(family, limit, size, *, ended=True):
    return {"family": family, "limit": limit, "frontier": size, "ended": ended}


def test_a_climb_is_stored_and_drawn(tmp_path):
    options = ["--families", "bot", "--limits", str(LONG), "--seeds", "1", "--largest", "4"]
    content = frontier.main([*options, "--results", str(tmp_path)])
    assert content["complete"]
    (climb,) = content["rows"]
    assert [s["size"] for s in climb["steps"]] == [2, 4]
    assert all(s["closed"] and s["gap"] <= 1e-6 for s in climb["steps"])
    assert (climb["frontier"], climb["ended"]) == (4, False)
    assert content["table"]["lines"] == [["bot", f"{LONG:g}", 1, "at least 4", 4, 4]]
    assert json.loads((tmp_path / "frontier.json").read_text())["benchmark"] == "frontier"
    assert (tmp_path / "frontier.png").read_bytes().startswith(b"\x89PNG")


def test_a_climb_ends_after_two_sizes_that_do_not_close():
    cell = {"family": "oasis", "limit": 0.0, "seed": 0, "largest": 1000, "threads": 1}
    climb = frontier.measure(cell)
    assert len(climb["steps"]) >= frontier.MISSES
    assert [s["closed"] for s in climb["steps"][-2:]] == [False, False]
    assert climb["ended"]
    assert climb["frontier"] == frontier.frontier(climb["steps"])


def test_what_is_only_claimed_does_not_count():
    inst = random_instance(6)
    assert frontier.closes(solve(inst, time_limit=LONG))
    assert not frontier.closes(solve(inst, method="compact", time_limit=LONG))


def test_the_frontier_by_hand():
    assert frontier.frontier([step(2, True), step(4, False), step(6, True), step(8, False)]) == 6
    assert frontier.frontier([step(2, False), step(4, False)]) == 0
    rows = [row("oasis", 60.0, n) for n in (10, 8, 15)] + [row("bot", 60.0, 1000, ended=False)]
    found = frontier.summarize(rows)
    expected = [["10", 8, 15], ["at least 1000", 1000, 1000]]
    assert [line[3:] for line in found.lines] == expected
    figure = frontier.picture(found.figures["frontier"])
    said = {text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))}
    assert {"10", "≥ 1000", "oasis", "bot", "60 s"} <= said


@pytest.mark.parametrize("family", frontier.KINDS)
def test_every_family_grows(family):
    small, large = (frontier.draw(family, n, 0) for n in frontier.LADDER[:2])
    assert len(small.model_dump_json()) < len(large.model_dump_json())
