"""The policy `re-solve`: what it plans again, what stays, and where it is refused."""

import pytest

import optsched
from optsched.experiments.plan import make_plan
from optsched.policies.loader import turns
from optsched.problem import InputError, PolicyError, get_family

FAMILIES = ["oasis", "dmlrs", "completion"]
SEEDS = {"oasis": 2, "dmlrs": 3, "completion": 2}  # solved in a blink


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_optimal_where_all_jobs_are_there_at_once(family):
    drawn = get_family(family).generate("small", seed=SEEDS[family])
    jobs = [job.model_copy(update={"arrival": 0}) for job in drawn.jobs[:3]]
    inst = type(drawn).model_validate(drawn.model_dump() | {"jobs": [j.model_dump() for j in jobs]})
    best = optsched.solve(inst)
    run = optsched.simulate(inst, "re-solve")
    assert best.status.closed
    assert run.obeys
    assert run.value == pytest.approx(best.value, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_a_row_next_to_the_others(family):
    inst = get_family(family).generate("small", seed=SEEDS[family])
    report = optsched.compare(inst, ["fifo", "re-solve"])
    simple, again = report.policies
    assert (simple.name, again.name) == ("fifo", "re-solve")
    assert again.obeys
    assert 1 - 1e-9 <= again.ratio.low <= simple.ratio.low


def test_a_job_that_has_begun_is_completed_and_what_has_not_begun_gives_way():
    """The prototype of declared problems earned the same."""
    values = []
    for seed in (1, 2, 3):
        run = optsched.simulate(get_family("oasis").generate("small", seed=seed), "re-solve")
        started = [job is not None for job in run.schedule.jobs]
        assert [end is not None for end in run.completion] == started
        values.append(run.value)
    assert values == pytest.approx([81.8176, 65.6529, 131.8516], abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_program_that_is_too_large_is_refused_in_a_line(family):
    inst = get_family(family).generate("small", seed=1)
    policy = get_family(family).policies["re-solve"](most=10)
    with pytest.raises(PolicyError, match=r"re-solve: slot \d+: the program of .* at most 10") as e:
        optsched.simulate(inst, policy)
    assert "\n" not in str(e.value)


def test_without_work_the_last_solution_stays():
    inst = get_family("oasis").generate("small", seed=1)
    policy = get_family("oasis").policies["re-solve"](effort=1e-9)
    assert optsched.simulate(inst, policy).value == 0


@pytest.mark.parametrize("given", [{"most": 0}, {"effort": 0}, {"gap": -1}])
def test_wrong_parameters(given):
    with pytest.raises(InputError, match="expected most >= 1, effort > 0, gap >= 0"):
        get_family("oasis").policies["re-solve"](**given)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_runs_where_it_is_named(family, tmp_path):
    record = get_family(family)
    assert "re-solve" not in [name for _, name in turns(record)]
    assert "re-solve" in record.policies
    plan = {"instances": [{"family": family, "preset": "small"}]}
    assert "re-solve" not in {c.contender.name for c in _contenders(plan, tmp_path)}
    named = plan | {"policies": [{"name": "fifo"}, {"name": "re-solve"}]}
    assert {c.contender.name for c in _contenders(named, tmp_path)} == {"fifo", "re-solve"}


def _contenders(plan, folder):
    return [cell for case in make_plan(plan, folder).cases() for cell in case.cells]


def test_where_not_all_jobs_can_end_by_the_deadline_some_end_after_it():
    drawn = get_family("completion").generate("small", seed=2)
    last = max(job.arrival for job in drawn.jobs)
    changed = {"enforce_horizon": True, "horizon": last + 1}
    inst = type(drawn).model_validate(drawn.model_dump() | changed)
    run = optsched.simulate(inst, "re-solve")
    assert not run.obeys
    assert None not in run.completion
