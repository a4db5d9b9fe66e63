"""What `verify` derives from a file, and what it does not believe."""

import json

import pytest
from independent.oasis import simple_job
from names import NO_NAMES
from patience import LONG

from optsched import simulate, solve
from optsched.core import compare
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.numbers.resources import MachineClass
from optsched.problem import InputError, families, family_of, get_family
from optsched.results.load import load_report
from optsched.results.result import recheck, save_result, save_run

FAMILIES = ["bipartite", "bot", "completion", "dmlrs", "oasis"]


@pytest.fixture(scope="module")
def solved():
    """Return an instance of a family, and its optimum."""
    known = {}

    def get(name):
        if name not in known:
            inst = get_family(name).generate("small", seed=1)
            known[name] = inst, solve(inst, time_limit=20)
        return known[name]

    return get


def tiny(value):
    """Return an instance with one job, which is worth ``value``."""
    machine = MachineClass(capacity=(1.0,))
    job = simple_job(utility={"kind": "constant", "value": value})
    return OasisInstance(
        horizon=1,
        resources=("gpu",),
        worker_machines=(machine,),
        ps_machines=(machine,),
        jobs=(job,),
    )


def checked(tmp_path, inst, optimum, **changes):
    """Write a result with changes, and look at it again."""
    path = tmp_path / "result.json"
    save_result(path, inst, optimum)
    content = json.loads(path.read_text())
    content["optimum"] |= changes
    path.write_text(json.dumps(content))
    return recheck(path)[0]


@pytest.mark.parametrize("name", FAMILIES)
def test_what_was_solved_is_derived_again(name, solved, tmp_path):
    inst, optimum = solved(name)
    found = checked(tmp_path, inst, optimum)
    assert found.accepted, found
    assert found.value == pytest.approx(optimum.value, rel=1e-9)
    assert found.bound == pytest.approx(optimum.certified_bound, rel=1e-9)
    assert found.gap == pytest.approx(optimum.certified_gap, abs=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_schedule_from_outside_is_kept_and_judged_again(name, solved, tmp_path):
    inst, optimum = solved(name)
    run = simulate(inst, next(p for p in families()[name].policies if p != "antman"))
    made = compare(inst, [], optimum=optimum, references={}, schedule={"ours": run.schedule})
    path = tmp_path / "result.json"
    save_result(path, inst, made.optimum, [run], made.references, made.outside)
    ours = recheck(path)[-1]
    assert (ours.what, ours.accepted) == ("schedule 'ours'", True)
    assert str(ours).endswith("not checked: that it is of 'ours'")
    again = load_report(path, inst)
    assert again.policies[-1] == made.policies[-1]
    assert again.schedules()["ours"] == made.outside["ours"]


def test_a_schedule_from_outside_that_breaks_the_model_is_rejected(tmp_path):
    inst = tiny(1.0)
    two = {"jobs": [{"workers": [[0, 0, 2]], "ps": [[0, 0, 1]]}]}
    schedule = family_of(inst).schedule(**two)
    path = tmp_path / "result.json"
    save_result(path, inst, solve(inst), schedules={"ours": schedule})
    assert "schedule 'ours': rejected" in str(recheck(path)[-1])


@pytest.mark.parametrize("name", FAMILIES)
def test_a_bound_without_a_certificate_is_named_as_not_checked(name, solved, tmp_path):
    inst, optimum = solved(name)
    run = simulate(inst, next(iter(families()[name].policies)))
    assert run.obeys
    trim = family_of(inst).trim
    kept = run.schedule if trim is None else trim(inst, run.schedule)
    found = checked(
        tmp_path,
        inst,
        optimum,
        value=run.value,
        bound=run.value,
        gap=0.0,
        certified_bound=None,
        certified_gap=None,
        bound_level="cross-checked",
        status="claimed optimal",
        certificate=None,
        schedule=kept.model_dump(mode="json"),
    )
    assert found.accepted
    assert (found.bound, found.gap, found.bound_level) == (None, None, None)
    assert f"not checked: bound {run.value:.9g} (cross-checked), status claimed optimal" in str(
        found
    )
    assert not found.what.startswith("optimum")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_certified_number_without_its_proof_is_refused(name, solved, tmp_path):
    inst, optimum = solved(name)
    assert not checked(tmp_path, inst, optimum, certificate=None).accepted
    assert not checked(tmp_path, inst, optimum, schedule=None).accepted
    assert not checked(tmp_path, inst, optimum, value=optimum.value * 1.001).accepted
    better = optimum.certified_bound + family_of(inst).sign * -0.01 * abs(optimum.value)
    forged = {"bound": better, "certified_bound": better, "bound_level": "certified"}
    assert not checked(tmp_path, inst, optimum, **forged).accepted


def test_small_numbers_are_no_rounding(tmp_path):
    inst = tiny(8e-10)
    optimum = solve(inst, time_limit=LONG)
    assert (optimum.status, optimum.bound_level) == ("optimal", "certified")
    assert checked(tmp_path, inst, optimum).accepted
    forged = checked(tmp_path, inst, optimum, bound=2e-10, certified_bound=2e-10)
    assert "the certificate proves the bound" in str(forged)
    empty = OasisSchedule(jobs=(None,)).model_dump(mode="json")
    forged = checked(tmp_path, inst, optimum, schedule=empty, value=5e-10)
    assert "value is 0.0, the file states 5e-10" in str(forged)


def test_a_run_of_minus_infinity_is_looked_at_again(tmp_path):
    inst = get_family("bot").generate("small", seed=1)
    for policy in get_family("bot").policies:
        path = tmp_path / f"{policy}.json"
        save_run(path, inst, simulate(inst, policy))
        assert recheck(path)[0].accepted, policy


@pytest.mark.parametrize("name", [*NO_NAMES, "oasis", "*OASIS"])  # the last: of the row before
@pytest.mark.parametrize("place", ["runs", "schedules"])
def test_a_row_has_a_name_of_its_own_that_can_be_shown(name, place, tmp_path):
    inst = tiny(2.0)
    made = compare(inst, ["oasis", "fifo"], time_limit=LONG)
    save_result(tmp_path / "good.json", inst, made.optimum, made.runs, made.references)
    assert all(part.accepted for part in recheck(tmp_path / "good.json"))
    content = json.loads((tmp_path / "good.json").read_text())
    if place == "runs":
        content["runs"][1]["policy"] = name
    else:
        content["schedules"] = {name: content["runs"][0]["schedule"]}
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(content))
    for look in (recheck, lambda path: load_report(path, inst)):
        with pytest.raises(InputError, match=r"bad\.json: .*expected") as caught:
            look(path)
        assert len(str(caught.value)) < 400
    if place == "schedules" and "oasis" not in name.lower():
        with pytest.raises(InputError, match="the name of a row"):
            compare(inst, ["oasis"], schedule={name: made.runs[0].schedule})


@pytest.mark.parametrize("name", ["", "LP relaxation", "x" * 101])
def test_the_policy_of_a_run_has_a_name_that_can_be_shown(name, tmp_path):
    inst = tiny(2.0)
    save_run(tmp_path / "run.json", inst, simulate(inst, "fifo"))
    content = json.loads((tmp_path / "run.json").read_text())
    content["run"]["policy"] = name
    (tmp_path / "run.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"run: policy: .*expected"):
        recheck(tmp_path / "run.json")
