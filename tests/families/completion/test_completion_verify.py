"""The judge: known schedules, damaged ones by their equation, rules for policies."""

import json

import pytest
from independent.completion import FILES, load, piece, schedule
from pydantic import ValidationError

from optsched.families.completion.instance import CompletionSchedule
from optsched.families.completion.verify import verify

MADE = ("counts", "duration", "(2j)")  # such a schedule cannot even be written down


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_known_optima_are_accepted(path):
    inst, known = load(path)
    if known["optimum"] is None:
        pytest.skip("no schedule exists")
    verdict = verify(inst, schedule(known["optimum_schedule"]))
    assert verdict.value == known["optimum"]
    assert list(verdict.completion) == known["optimum_completion"]
    assert verdict.obeys


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_damaged_schedules_are_rejected_for_the_right_reason(path):
    inst, known = load(path)
    for mutant in (known["mutants"] or {}).get("rejected", ()):
        reason = mutant["reason"]
        try:
            made = schedule(mutant["schedule"])
        except ValidationError:
            assert any(word in reason for word in MADE), reason
            continue
        verdict = verify(inst, made)
        assert verdict.value is None, reason
        if "(2h)" in reason and inst.ring:
            reason = reason.replace("(2h)", "(15b)")
        if "(" in reason:
            assert any(f"({v.equation})" in reason for v in verdict.violations), (reason, verdict)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_harmless_changes_are_accepted(path):
    inst, known = load(path)
    for mutant in (known["mutants"] or {}).get("accepted", ()):
        verdict = verify(inst, schedule(mutant["schedule"]))
        assert verdict.value == mutant["value"]
        assert list(verdict.completion) == mutant["completion"]


@pytest.fixture
def solved():
    inst, known = load(FILES[0])
    return inst, known["optimum_schedule"]


def test_a_job_left_out_is_named(solved):
    inst, raw = solved
    jobs = [(piece(j),) for j in raw]
    jobs[1] = ()
    verdict = verify(inst, CompletionSchedule(jobs=tuple(jobs)))
    assert str(verdict.violations[0]) == "(2a) broken by 1 at job 1, runs in 0 pieces, expected 1"


def test_too_few_jobs(solved):
    inst, raw = solved
    verdict = verify(inst, schedule(raw[:-1]))
    assert "schedule of 4 jobs, expected 5" in str(verdict)


def test_two_pieces_are_for_policies_that_preempt(solved):
    inst, raw = solved
    whole = piece(raw[0])
    first = whole.model_copy(update={"duration": 2})
    second = whole.model_copy(update={"start": whole.start + 2, "duration": whole.duration - 2})
    jobs = [(piece(j),) for j in raw]
    jobs[0] = (first, second)
    cut = CompletionSchedule(jobs=tuple(jobs))
    assert verify(inst, cut).violations[0].equation == "2a"
    judged = verify(inst, cut, unfinished=True)
    assert judged.value == verify(inst, schedule(raw)).value
    assert not judged.obeys


def test_pieces_that_do_too_little(solved):
    inst, raw = solved
    whole = piece(raw[0])
    jobs = [(piece(j),) for j in raw]
    late = whole.model_copy(update={"start": 12, "duration": 1})
    jobs[0] = (whole.model_copy(update={"duration": 1}), late)
    verdict = verify(inst, CompletionSchedule(jobs=tuple(jobs)), unfinished=True)
    assert [v.equation for v in verdict.violations] == ["2f"]


def test_only_policies_may_end_after_the_horizon(solved):
    inst, raw = solved
    late = json.loads(json.dumps(raw))
    late[4]["start"] = inst.horizon
    assert [v.equation for v in verify(inst, schedule(late)).violations] == ["2a"]
    judged = verify(inst, schedule(late), unfinished=True)
    assert judged.value is not None
    assert not judged.obeys
    free, _ = load(FILES[0], enforce_horizon=False)
    assert verify(free, schedule(late)).value == judged.value
    assert verify(free, schedule(late), unfinished=True).obeys


def test_what_does_not_exist_is_named(solved):
    inst, raw = solved
    for field, value, words in (
        ("worker_type", 7, "worker type 7 does not exist"),
        ("ps_type", 3, "PS type 3 does not exist"),
        ("ps_type", None, "PS type None does not exist"),
    ):
        wrong = json.loads(json.dumps(raw))
        wrong[2][field] = value
        assert words in str(verify(inst, schedule(wrong)))
