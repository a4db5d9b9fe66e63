"""The benchmarks of solvers run on tiny settings, and nothing that they see is wrong."""

import masters
import presolve
import pytest
from independent.cases import Truth


def test_presolve_changes_no_answer(tmp_path):
    argv = ["--seeds", "2", "--families", "oasis", "--kinds", "tiny", "--results", str(tmp_path)]
    content = presolve.main(argv)
    assert [t["measured"] for t in content["targets"]] == [0] * len(presolve.SETTINGS)
    assert {line[2] for line in content["table"]["lines"]} == set(presolve.SETTINGS)
    assert all(line[3] for line in content["table"]["lines"])


def test_a_wrong_claim_is_counted():
    known, here = presolve.instance({"family": "oasis", "kind": "tiny"}, 0)
    found = {"HiGHS, presolve": presolve.optsched.solve(known, method="compact")}
    assert list(presolve.contradictions((known, here), found, 5.0)) == []
    twice = Truth("max", 2 * here.truth.low, 2 * here.truth.high)
    wrong = presolve.Case(here.instance, twice, {})
    (said,) = presolve.contradictions((known, wrong), found, 5.0)
    assert said.startswith("HiGHS, presolve: ")


@pytest.mark.parametrize("name", ["IPX", "simplex"])
def test_masters_reach_the_same_bound(name):
    size = {"jobs": 4, "slots": 6, "machines": 8}
    cell = {"family": "dmlrs", "preset": "contended", "seed": 0, "limit": 60.0, **size}
    row = masters.measure(cell | {"master": name})
    best = masters.measure(cell | {"master": "simplex"})
    assert row["converged"]
    assert row["bound"] == pytest.approx(best["bound"], rel=1e-4)
