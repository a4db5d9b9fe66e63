"""Ratios: by hand, as intervals, against schedules from elsewhere, over several instances."""

import math
from dataclasses import replace
from html import escape

import pytest
from forging import written as optimum
from hypothesis import given
from hypothesis import strategies as st
from independent.oasis import FILES, load, schedule
from pydantic import ValidationError
from rich.console import Console

from optsched.cli.console import show_ratios
from optsched.core import Failed, Ratio, RatioReport, compare, mean_ratio, meaning, quotient
from optsched.experiments.ratios_by_policy import COLUMNS
from optsched.families.oasis import FAMILY
from optsched.families.oasis.instance import JobSchedule, OasisSchedule
from optsched.problem import InputError, Level, Status, get_family

POLICIES = ["fifo", "drf"]


@pytest.fixture(scope="module")
def small():
    return get_family("oasis").generate("small", seed=1)


@pytest.mark.parametrize(
    ("bound", "where"), [(9e-9, "from 0 to 9e-09"), (-9e-9, "from -9e-09 to 0"), (0.0, "0")]
)
def test_ratios_to_an_optimum_of_0_refer_to_the_values(small, bound, where):
    report = compare(small, ["fifo"], work_limit=1)
    assert "compare the values" not in str(report)
    nil = report.optimum.model_copy(update={"value": 0.0, "bound": bound})
    told = f"the optimum is {where}, where ratios mean little: compare the values"
    report = report.model_copy(update={"optimum": nil})
    assert told in str(report).splitlines()
    console = Console(record=True, width=200)
    show_ratios(console, report)
    assert told in console.export_text().splitlines()
    waits = nil.model_copy(update={"family": "rigid", "value": 3.0, "bound": 0.0})
    waits = report.model_copy(update={"optimum": waits}).nil_optimum
    assert waits.startswith("the optimum is from 0 to 3, ")
    assert waits.endswith(", or take --objective flow")


def test_interval_worked_by_hand():
    ratio = Ratio.of("max", 4.0, 5.0, 6.0, guarantee=9.0)
    assert (ratio.low, ratio.high, ratio.exact, ratio.bounded) == (1.25, 1.5, False, "high")
    assert str(ratio) == "between 1.25 and 1.5"
    ratio = Ratio.of("min", 12.0, 10.0, 8.0)
    assert (ratio.low, ratio.high, ratio.exact) == (1.2, 1.5, False)


def test_exact_ratio_rests_on_no_bound():
    ratio = Ratio.of("max", 4.0, 5.0, 5.0)
    assert (ratio.exact, ratio.bounded, str(ratio)) == (True, None, "1.25")
    assert Ratio.of("max", 4.0, 5.0, 5.0 + 1e-7).exact
    assert not Ratio.of("max", 4.0, 5.0, 5.001).exact


@pytest.mark.parametrize(
    ("earned", "value", "low"), [(0.0, 0.0, 1.0), (0.0, 2.0, math.inf), (2.0, 2.0, 1.0)]
)
def test_nothing_earned(earned, value, low):
    ratio = Ratio.of("max", earned, value, value)
    assert ratio.low == ratio.high == low
    assert ratio.exact


def test_no_bound_is_no_high_end():
    ratio = Ratio.of("max", 4.0, 5.0, None)
    assert ratio.high is None
    assert not ratio.exact
    assert str(ratio) == "at least 1.25"


def test_infinity_survives_json_and_nan_does_not():
    ratio = Ratio.of("max", 0.0, 2.0, 3.0)
    text = ratio.model_dump_json()
    assert '"low":"inf"' in text
    assert Ratio.model_validate_json(text) == ratio
    with pytest.raises(ValidationError):
        Ratio(low=math.nan, high=1.0, exact=False, bounded="high")


def test_ends_in_the_wrong_order_are_refused():
    with pytest.raises(ValidationError, match=r"low 2\.0 is above high 1\.0"):
        Ratio(low=2.0, high=1.0, exact=False, bounded="high")


@given(
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.floats(0, 1e6),
)
def test_interval_is_in_order_and_at_least_one(earned, more, slack):
    ratio = Ratio.of("max", earned, earned + more, earned + more + slack)
    assert 1 <= ratio.low <= ratio.high


def test_mean_worked_by_hand():
    ratios = [Ratio.of("max", 1.0, v, b) for v, b in ((1.0, 1.0), (2.0, 4.0), (3.0, 4.0))]
    mean = mean_ratio(ratios)
    assert (mean.low, mean.high) == (2.0, 3.0)
    assert (mean.count, mean.exact, mean.infinite) == (3, 1, 0)
    assert (mean.median, mean.worst) == (2.0, ratios[2])
    assert (mean.interval, mean.median_interval) == (None, None)  # three are too few
    assert mean.warning == "fewer than 5 instances"
    assert mean == mean_ratio(ratios)
    assert "1 exact" in str(mean)


def test_infinite_ratio_is_not_dropped_from_a_mean():
    mean = mean_ratio([Ratio.of("max", 0.0, 2.0, 3.0), Ratio.of("max", 1.0, 1.0, 1.0)])
    assert mean.low == mean.high == math.inf
    assert (mean.infinite, mean.interval) == (1, None)
    assert type(mean).model_validate_json(mean.model_dump_json()) == mean


def test_mean_of_one_has_no_interval_and_of_none_is_refused():
    assert mean_ratio([Ratio.of("max", 1.0, 1.0, 1.0)]).interval is None
    with pytest.raises(InputError, match="at least one ratio"):
        mean_ratio([])


def test_report_against_a_known_optimum():
    instance, known = load(FILES[0])
    best = optimum(
        instance,
        status=Status.OPTIMAL,
        value=known["optimum"],
        bound=known["optimum"],
        value_level=Level.CERTIFIED,
        bound_level=Level.CERTIFIED,
        schedule=schedule(known["optimum_schedule"]),
    )
    report = compare(instance, POLICIES, optimum=best)
    assert [row.name for row in report.policies] == POLICIES
    for row, run in zip(report.policies, report.runs, strict=True):
        assert row.ratio.exact
        assert row.value == run.value
        expected = known["optimum"] / run.value if run.value else math.inf
        assert row.ratio.low == pytest.approx(expected)
    assert report.improved_by is None
    assert RatioReport.model_validate_json(report.model_dump_json()) == report
    assert str(report.optimum) in str(report)


def test_better_policy_becomes_the_reference(small):
    report = compare(small, POLICIES, optimum=optimum(small, value=0.0, bound=1e6))
    best = max(report.runs, key=lambda run: run.value)
    assert report.improved_by == best.policy
    assert report.optimum.value == best.value
    assert report.optimum.schedule == FAMILY.trim(small, best.schedule)
    assert min(row.ratio.low for row in report.policies) == 1
    assert f"that of {best.policy}" in str(report)


def test_policy_beyond_a_bound(small):
    wrong = optimum(small, bound=1e-3, bound_level=Level.CLAIMED)
    report = compare(small, POLICIES, optimum=wrong)
    assert report.optimum.bound is None  # one schedule refutes a solver's word
    assert all(row.ratio.high is None for row in report.policies)
    certain = wrong.model_copy(update={"bound_level": Level.CERTIFIED})
    with pytest.raises(RuntimeError, match="beyond the certified"):
        compare(small, POLICIES, optimum=certain)


def test_a_ratio_beyond_its_guarantee_is_an_error(small, monkeypatch):
    wrong = replace(FAMILY, guarantee=lambda _instance, _policy, _prior: 1.0)
    monkeypatch.setattr("optsched.core.ratios.family_of", lambda _: wrong)
    monkeypatch.setattr("optsched.core.simulation.family_of", lambda _: wrong)
    with pytest.raises(
        RuntimeError, match=r"policy fifo has ratio .*, beyond the 1\.0 that theory"
    ):
        compare(small, ["fifo"], optimum=optimum(small, value=1e3, bound=1e3))


def test_schedule_from_elsewhere_is_a_row():
    instance, known = load(FILES[0])
    report = compare(
        instance,
        ["fifo"],
        optimum=optimum(instance),
        schedule=schedule(known["optimum_schedule"]),
    )
    assert [row.name for row in report.policies] == ["fifo", "schedule"]
    assert report.policies[-1].value == pytest.approx(known["optimum"])
    assert report.policies[-1].ratio.low == 1
    assert report.policies[-1].seconds is None


def test_broken_schedule_is_refused(small):
    beyond = JobSchedule(workers=((0, 999, 1),), ps=())
    plan = OasisSchedule(jobs=(beyond,) + (None,) * (len(small.jobs) - 1))
    with pytest.raises(InputError, match="breaks the model"):
        compare(small, ["fifo"], optimum=optimum(small), schedule=plan)


def test_optimum_of_another_instance_is_refused(small):
    other = get_family("oasis").generate("small", seed=2)
    with pytest.raises(InputError, match="another instance"):
        compare(small, ["fifo"], optimum=optimum(other))


def test_the_callback_is_accepted_under_its_old_name(small):
    told = []
    with pytest.warns(DeprecationWarning, match=r"compare\(tell=\) is deprecated, use callback="):
        compare(small, ["drf"], optimum=optimum(small), tell=told.append)
    assert told


def test_facts_and_an_instance_that_tells_nothing(small):
    told = []
    report = compare(small, ["drf"], optimum=optimum(small), callback=told.append)
    facts = report.facts
    assert facts.jobs == len(small.jobs)
    assert facts.size == f"{facts.jobs} jobs"
    assert facts.trivial_policy == "fifo"  # runs for the facts, though nobody requested it
    assert [row.name for row in report.policies] == ["drf"]
    assert [getattr(found, "policy", "the optimum") for found in told] == [
        "fifo",  # those that need no thought come first
        "drf",
        "the optimum",
    ]
    share = sum(job.chunks > 1 for job in small.jobs) / len(small.jobs)
    assert facts.parallel_share == pytest.approx(share)
    assert facts.offered_load > 0
    alone = compare(small, ["fifo"], optimum=optimum(small))
    assert not alone.facts.telling  # nothing better than fifo is known
    assert "fifo, a baseline, is within 2 % of the optimum" in str(alone)
    (fifo,) = alone.policies
    wide = compare(small, ["fifo"], optimum=optimum(small, value=fifo.value, bound=9 * fifo.value))
    assert wide.facts.telling  # the optimum may be far above
    assert "baseline fifo with ratio 1 .. 9" in str(wide)


def test_unknown_policy(small):
    with pytest.raises(InputError, match="unknown policy 'nobody'"):
        compare(small, ["nobody"], optimum=optimum(small))


def test_unknown_option_before_any_policy_runs(small):
    with pytest.raises(TypeError, match="unexpected keyword argument 'time'"):
        compare(small, ["nobody"], time=3)


def test_a_table_has_the_numbers_of_the_rows(small):
    own = OasisSchedule(jobs=(None,) * len(small.jobs))
    report = compare(
        small,
        POLICIES,
        optimum=optimum(small, value=1e3, bound=2e3),
        schedule={"<b>R&D</b>": own},
    )
    table = report.table()
    assert table["policy"].tolist() == [*POLICIES, "<b>R&D</b>"]
    for row, (_, cells) in zip(report.policies, table.iterrows(), strict=True):
        assert cells["value"] == row.value
        assert (cells["ratio_low"], cells["ratio_high"]) == (row.ratio.low, row.ratio.high)
        assert cells["completed"] == row.completed
        assert cells["information"] == row.information
    assert table["seconds"].notna().tolist() == [True, True, False]  # nobody ran the schedule
    assert table["guarantee"].isna().all()
    shared = {"policy", "value", "ratio_low", "ratio_high", "seconds"}
    assert shared <= {*table.columns} & {*COLUMNS}  # names as in the table of a campaign


def test_a_table_has_the_columns_of_further_references():
    dmlrs = get_family("dmlrs").generate("small", seed=5)
    both = compare(dmlrs, ["fifo"], reference="both", work_limit=500).table()
    assert 1 <= both["ratio_low"][0] <= both["ratio_to_lp"][0]
    bipartite = get_family("bipartite").generate("small", seed=1)
    report = compare(bipartite, ["fairness"], work_limit=500)
    (row,), table = report.policies, report.table()
    assert row.regret
    for name, regret in row.regret.items():
        assert table[f"regret_to_{name}_low"][0] == regret.low


@pytest.mark.parametrize(
    ("family", "earned", "best", "text"),
    [
        ("completion", 4.0, 3.0, "policy / optimum"),
        ("oasis", 3.0, 4.0, "optimum / policy"),
        ("declared-min", -3.0, -4.0, "optimum / policy (negative values)"),
        ("declared-max", -4.0, -3.0, "policy / optimum (negative values)"),
    ],
)
def test_the_ratio_of_negative_values_is_the_inverse(family, earned, best, text):
    assert meaning(get_family(family), best) == text
    assert quotient(get_family(family).sense, earned, best) == pytest.approx(4 / 3)


def test_ratios_of_several_declared_instances_may_be_of_negative_values():
    assert meaning(get_family("declared-min")) == (
        "policy / optimum (the inverse where both are negative)"
    )
    assert meaning(get_family("oasis")) == "optimum / policy"


def test_notebooks_show_a_report_with_names_escaped(small):
    name = "<b>" + "R&D-" * 20
    own = OasisSchedule(jobs=(None,) * len(small.jobs))
    report = compare(small, ["drf"], optimum=optimum(small), schedule={name: own})
    page = report._repr_html_()
    assert f"<td>{escape(name)}</td>" in page  # whole
    assert "<b>" not in page
    assert page.startswith(report.optimum._repr_html_())
    failed = Failed(name="own", why="policy own: <b>event 0")
    page = report.model_copy(update={"failed": (failed,)})._repr_html_()
    assert "<p>failed: policy own: &lt;b&gt;event 0</p>" in page
    odd = report.optimum.model_copy(update={"scope": "<b>"})
    assert odd._repr_html_() == f"<p>{escape(str(odd))}</p>"


@pytest.mark.parametrize("sense", ["max", "min"])
def test_no_worse_policy_has_a_ratio_below_1(sense):
    order = sorted([-12.0, -3.0, -1e-9, 0.0, 2.0, 7.0], reverse=sense == "max")
    for k, best in enumerate(order):
        ratios = [quotient(sense, earned, best) for earned in order[k:]]
        assert ratios == sorted(ratios)
        assert [ratio == 1.0 for ratio in ratios] == [True] + [False] * (len(ratios) - 1)
