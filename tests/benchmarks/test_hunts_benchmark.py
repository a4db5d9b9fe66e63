"""The benchmark of hunts: searches of equal length, planted policies that are found out."""

from __future__ import annotations

import hunts
import pytest
from planted import WORST


def measured(policy, method, evaluations):
    cell = {"policy": policy, "method": method, "seed": 0, "evaluations": evaluations}
    return cell | hunts.measure(cell)


def test_a_row_of_every_search_and_the_targets():
    rows = [measured("bot local-share", method, 6) for method in hunts.METHODS]
    assert all(1 <= row["when"] <= 6 >= row["counting"] for row in rows)
    assert all(row["best"] >= 1 for row in rows)
    rows += [row | {"policy": policy, "best": 5.4} for policy in hunts.PLANTED for row in rows[-1:]]
    said = hunts.summarize(rows)
    assert [line[0] for line in said.lines] == ["bot local-share", *hunts.PLANTED]
    assert [target.must for target in said.targets] == [1.3, 1.3, 0.9]
    assert said.targets[0].measured == said.targets[1].measured == said.lines[0][-1]
    assert said.targets[2].measured == pytest.approx(5.4 / WORST)


@pytest.mark.parametrize("policy", hunts.PLANTED)
def test_no_search_goes_beyond_what_a_planted_policy_can_lose(policy):
    row = measured(policy, "hunt", 40)
    assert 1 < row["best"] <= WORST * (1 + 1e-6)
