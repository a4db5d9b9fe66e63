"""The relaxation as a method: certified, as HiGHS has it of the exported program, never worse."""

import math

import altered
import pytest
from altered import LINK, SCARCE
from sweeps import sweep

import optsched
from optsched.problem import RELAXATION, Level, Status
from optsched.results.export import Format, write_program
from optsched.results.result import recheck, save_result

CASES = {
    "oasis": ("oasis", "small", {}),
    "oasis-fine": ("oasis", "fine", {}),
    "oasis-scarce": ("oasis", "small", SCARCE),
    "dmlrs": ("dmlrs", "small", {}),
    "dmlrs-fine": ("dmlrs", "fine", {}),
    "dmlrs-link": ("dmlrs", "small", LINK),
    "completion": ("completion", "small", {}),
    "completion-ring": ("completion", "small", {"architecture": "ring"}),
    "completion-scarce": ("completion", "small", SCARCE),
    "completion-mid-scarce": ("completion", "mid", {"jobs": 3, "machines": 2, **SCARCE}),
    "completion-mid": ("completion", "mid", {"jobs": 3, "machines": 2}),
}
CONVEX = {"bipartite": {"slots": 6}, "bot": {}}
SEEDS = sweep([1, 2], quick=2)


def drawn(case, seed):
    family, preset, options = CASES[case]
    return altered.drawn(family, preset, seed, options)


def value_of(path, sense):
    """Return the optimum of a linear program in a file."""
    import highspy

    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.readModel(str(path))
    h.setOptionValue("presolve", "off")
    assert h.getNumCol() > 0
    assert not h.getLp().integrality_  # no variable is whole
    h.run()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    value = h.getInfo().objective_function_value
    return -value if sense == "max" and h.getObjectiveSense()[1].name == "kMinimize" else value


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", sweep(sorted(CASES, key=lambda case: "-" in case), quick=3))
def test_it_is_certified_the_value_of_the_exported_program_and_never_worse(case, seed, tmp_path):
    instance = drawn(case, seed)
    family = optsched.get_family(instance.family)
    found = optsched.relax(instance)
    assert (found.status, found.value, found.schedule) == (Status.BOUND_ONLY, None, None)
    assert found.bound_level is Level.CERTIFIED
    write_program(instance, tmp_path / "relaxed.mps", Format.MPS, relaxed=True)
    expected = value_of(tmp_path / "relaxed.mps", family.sense)
    assert found.certified_bound == pytest.approx(expected, rel=1e-8)
    assert family.sign * (found.certified_bound - expected) >= -1e-9 * abs(expected)
    best = optsched.solve(instance, work_limit=500)
    assert family.sign * (found.bound - best.value) >= -1e-9 * abs(best.value)


@pytest.mark.parametrize("family", CONVEX)
def test_a_convex_program_is_its_own_relaxation(family):
    instance = optsched.get_family(family).generate("small", seed=1, **CONVEX[family])
    found, best = optsched.relax(instance), optsched.solve(instance)
    assert (found.status, found.value) == (Status.BOUND_ONLY, None)
    assert found.certified_bound == pytest.approx(best.certified_bound, rel=1e-8)
    assert optsched.compare(instance, reference="both").integrality_gap == pytest.approx(
        (1.0, 1.0), rel=1e-5
    )


def test_a_limit_leaves_no_value():
    """A bound that is not the value of the relaxation is not called so."""
    instance = optsched.get_family("oasis").generate("paper", seed=1)
    found = optsched.solve(instance, method=RELAXATION, work_limit=1.0)
    assert (found.status, found.bound) == (Status.NO_SCHEDULE, None)


@pytest.mark.parametrize("family", ["bipartite", "bot"])
def test_a_bound_that_a_limit_left_open_is_not_the_value(family):
    instance = optsched.get_family(family).generate("small", seed=1)
    found = optsched.solve(instance, method=RELAXATION, work_limit=0.0)
    assert found.status is Status.NO_SCHEDULE
    made = optsched.compare(instance, ["fifo"] if family == "bot" else ["drf"])
    from optsched.core.ratios import rate

    report = rate(instance, made.runs, made.optimum, {RELAXATION: found})
    assert (report.integrality_gap, report.policies[0].to_relaxation) == (None, None)


def test_wrong_duals_after_presolve_are_noticed():
    """HiGHS 1.13 called this program unknown, since what presolve took away had wrong duals."""
    found = optsched.relax(optsched.get_family("oasis").generate("small", seed=23))
    assert found.bound_level is Level.CERTIFIED
    assert found.bound == pytest.approx(292.291281, rel=1e-7)


def test_no_jobs():
    for name in ("oasis", "dmlrs", "completion"):
        instance = optsched.get_family(name).generate("small", seed=1)
        empty = type(instance).model_validate({**instance.model_dump(), "jobs": []})
        assert optsched.relax(empty).bound == 0.0


@pytest.mark.parametrize("case", ["oasis", "dmlrs", "completion"])
def test_the_unit_of_the_objective_changes_nothing(case):
    instance = drawn(case, 2)
    content = instance.model_dump()
    for job in content["jobs"]:
        if case == "completion":
            job["weight"] *= 1e-9
        else:
            job["utility"]["scale"] *= 1e-9
    other = type(instance).model_validate(content)
    assert optsched.relax(other).bound == pytest.approx(1e-9 * optsched.relax(instance).bound)


def test_where_no_schedule_exists_there_is_no_relaxation():
    instance = drawn("completion", 1)
    content = instance.model_dump() | {"enforce_horizon": True, "horizon": 3}
    content["jobs"] = [job | {"arrival": 2, "epochs": 1000} for job in content["jobs"]]
    found = optsched.relax(type(instance).model_validate(content))
    assert (found.status, found.bound) == (Status.INFEASIBLE, None)


def test_a_comparison_has_the_row_both_columns_and_survives_its_file(tmp_path):
    instance = optsched.get_family("dmlrs").generate("small", seed=5)
    made = optsched.compare(instance, ["fifo", "colocate"], reference="both")
    relaxed = made.references[RELAXATION]
    assert made.optimum.value == pytest.approx(3.2)
    assert relaxed.bound == pytest.approx(3.25)
    for row in made.policies:
        assert row.to_relaxation == pytest.approx(3.25 / row.value)
        assert row.ratio.low == pytest.approx(3.2 / row.value)
        assert row.regret == {}
    assert made.integrality_gap == pytest.approx((3.25 / 3.2, 3.25 / 3.2))
    assert "integrality gap: 1.0156" in str(made)
    path = tmp_path / "both.json"
    save_result(path, instance, made.optimum, made.runs, made.references)
    assert all(part.accepted for part in recheck(path))
    from optsched.results.load import load_report

    again = load_report(path, instance)
    assert again.integrality_gap == made.integrality_gap


def test_against_the_relaxation_alone_no_optimum_is_looked_for():
    instance = optsched.get_family("dmlrs").generate("small", seed=5)
    made = optsched.compare(instance, ["colocate"], reference="relaxation")
    assert made.optimum.method == RELAXATION
    (row,) = made.policies
    assert row.to_relaxation == pytest.approx(1.56)
    assert row.ratio.high == pytest.approx(1.56)
    with pytest.raises(optsched.InputError, match="unknown reference 'lp', expected one of: opt"):
        optsched.compare(instance, reference="lp")


@pytest.mark.slow
def test_a_campaign_compares_with_the_relaxation(tmp_path):
    block = {"family": "dmlrs", "preset": "small", "seeds": [5]}
    plan = {
        "instances": [block, block | {"reference": {"method": RELAXATION}}],
        "policies": [{"name": "colocate"}],
        "reference": {"effort": 4000.0},
    }
    made = optsched.campaign(plan, tmp_path / "store.sqlite", workers=1)
    groups = {s.group: s for s in made.statistics().summaries}
    (lp,) = [s for name, s in groups.items() if name.endswith("[LP relaxation]")]
    (best,) = [s for name, s in groups.items() if not name.endswith("[LP relaxation]")]
    assert (lp.open, lp.errors) == (0, 0)
    assert lp.median == pytest.approx(1.56)
    assert best.median == pytest.approx(1.536)
    assert math.isclose(lp.worst, 1.56, rel_tol=1e-6)
