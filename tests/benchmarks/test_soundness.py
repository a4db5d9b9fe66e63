"""The benchmark of soundness notices every kind of mistake."""

from dataclasses import replace

import pytest
import soundness
from independent.cases import AXES, Truth, case

from optsched import solve
from optsched.problem import Level

pytestmark = pytest.mark.slow

KINDS = ("wrong_optimum", "wrong_bound", "false_level")


@pytest.fixture(scope="module")
def solved():
    """Return a case, and its optimum."""
    here = case("oasis", "utilities", 1e3, 0)
    best = solve(here.instance, time_limit=20)
    assert best.value > 0
    return here, best


def said(here, best):
    return sorted({kind for kind, _ in soundness._levels(here, best)})


def known(here, factor):
    low = here.truth.low * factor
    return replace(here, truth=Truth(here.truth.sense, low, low))


def test_what_is_right_is_not_noticed(solved):
    assert said(*solved) == []


def test_a_better_schedule_is_noticed(solved):
    here, best = solved
    assert said(known(here, 1 + 2e-6), best) == sorted(KINDS)


def test_an_impossible_value_is_noticed(solved):
    here, best = solved
    assert "wrong_optimum" in said(known(here, 1 - 2e-6), best)


def test_a_claim_that_is_wrong_is_no_false_level(solved):
    here, best = solved
    claimed = best.model_copy(update={"bound_level": Level.CLAIMED, "certified_bound": None})
    assert said(known(here, 1.01), claimed) == ["wrong_bound", "wrong_optimum"]


def test_a_bound_beyond_its_own_value_is_noticed(solved):
    here, best = solved
    assert "wrong_bound" in said(here, best.model_copy(update={"bound": best.value * 0.999}))


def test_a_second_look_that_differs_is_noticed(solved):
    here, best = solved
    assert soundness._again(here, best) == []
    other = best.model_copy(update={"value": best.value * (1 + 1e-8)})
    assert {kind for kind, _ in soundness._again(here, other)} == {"recheck_differs"}
    loose = best.model_copy(
        update={"certificate": type(best.certificate).root(here.instance, None, 8)}
    )
    assert "false_level" in {kind for kind, _ in soundness._again(here, loose)}


def test_a_crash_is_counted(solved, monkeypatch):
    def broken(*_args, **_options):
        raise OverflowError("too large")

    monkeypatch.setattr(soundness.optsched, "solve", broken)
    assert [kind for kind, _ in soundness.examine(solved[0], "auto", 1.0)] == ["crash"]


def test_all_batches_together_are_all_instances():
    options = soundness.parse(soundness.parser("", time_limit=1.0), "soundness.py", [])
    options.seeds, options.families, options.scales = 120, list(AXES), None
    found = list(soundness.cells(options))
    main = [c for c in found if (c["family"], c["axis"]) == ("bot", "weights")]
    assert sum(c["instances"] for c in main) == 120 * 8
    assert {c["axis"] for c in found if c["family"] == "bot"} == set(AXES["bot"])
