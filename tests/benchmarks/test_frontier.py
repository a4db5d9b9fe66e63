"""The benchmark of the frontier: how far climbs go, what counts as closed, the picture."""

import json

import frontier
import pytest
from independent.oasis import random_instance
from patience import LONG

from optsched.core import solve

pytestmark = pytest.mark.slow


def step(size, closed):
    return {"size": size, "closed": closed, "seconds": 1.0, "gap": 0.0}


def row(family, limit, size, *, ended=True):
    climb = {"limit": limit, "frontier": size, "ended": ended}
    return {"family": family, "limits": [limit], "climbs": [climb]}


def test_a_climb_is_stored_and_drawn(tmp_path):
    options = ["--families", "bot", "--limits", str(LONG), "--seeds", "1", "--largest", "4"]
    content = frontier.main([*options, "--results", str(tmp_path)])
    assert content["complete"]
    ((climb,),) = (row["climbs"] for row in content["rows"])
    assert [s["size"] for s in climb["steps"]] == [2, 4]
    assert all(s["closed"] and s["gap"] <= 1e-6 for s in climb["steps"])
    assert (climb["frontier"], climb["ended"]) == (4, False)
    assert content["table"]["lines"] == [["bot", f"{LONG:g}", 1, "at least 4", 4, 4]]
    assert json.loads((tmp_path / "frontier.json").read_text())["benchmark"] == "frontier"
    assert (tmp_path / "frontier.png").read_bytes().startswith(b"\x89PNG")


def test_a_climb_ends_after_two_sizes_that_do_not_close():
    cell = {"family": "oasis", "seed": 0, "largest": 1000, "threads": 1}
    steps = frontier.climb(cell, 0.0, 2)
    assert len(steps) >= frontier.MISSES
    assert [s["closed"] for s in steps[-2:]] == [False, False]


def test_the_longer_limit_goes_on_where_the_shorter_one_ended():
    cell = {"family": "completion", "limits": [0.0, LONG], "seed": 0, "largest": 2, "threads": 1}
    short, long = frontier.measure(cell)["climbs"]
    assert [(s["size"], s["closed"]) for s in short["steps"]] == [(2, False)]
    assert [(s["size"], s["closed"]) for s in long["steps"]] == [(2, True)]
    assert (short["frontier"], short["ended"], long["frontier"], long["ended"]) == (
        0,
        True,
        2,
        False,
    )


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
    one, other = rows[0]["climbs"][0], {"limit": 600.0, "frontier": 12, "ended": True}
    climbed = {**rows[0], "limits": [60.0, 600.0], "climbs": [one, other]}
    assert [frontier.reached(climbed, limit)["frontier"] for limit in (60.0, 600.0)] == [10, 12]
    assert frontier.reached({**climbed, "climbs": [one]}, 600.0) is one


@pytest.mark.parametrize("family", frontier.KINDS)
def test_every_family_grows(family):
    small, large = (frontier.draw(family, n, 0) for n in frontier.LADDER[:2])
    assert len(small.model_dump_json()) < len(large.model_dump_json())
