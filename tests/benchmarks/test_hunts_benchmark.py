"""The benchmark of hunts: searches of equal length, planted policies that are found out."""

import hunts
import pytest
from planted import WORST
from sweeps import sweep

pytestmark = pytest.mark.slow


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
    assert [target.must for target in said.targets] == [1.3, 5, 4, 0.9]
    middle, ahead, families, planted = (target.measured for target in said.targets)
    assert middle == said.lines[0][-1]
    assert ahead == families == int(middle >= hunts.MUST)
    assert planted == pytest.approx(5.4 / WORST)


def test_policies_ahead_and_their_families_are_counted():
    best = {"random": 1.0, "climb": 2.0, "annealing": 1.5}
    ours = {"oasis oasis": 2.7, "oasis fifo": 2.6, "dmlrs pd-ors": 2.5, "bot local-share": 3.0}
    rows = [
        {"policy": policy, "method": method, "best": found}
        for policy, hunted in ours.items()
        for method, found in (best | {"hunt": hunted}).items()
    ]
    assert [target.measured for target in hunts.summarize(rows).targets[1:3]] == [3, 2]


@pytest.mark.parametrize("policy", sweep(sorted(hunts.PLANTED), 1))
def test_no_search_goes_beyond_what_a_planted_policy_can_lose(policy):
    row = measured(policy, "hunt", 40)
    assert 1 < row["best"] <= WORST * (1 + 1e-6)
