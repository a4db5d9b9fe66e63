"""Statistics: intervals stay intervals, cover the truth, and tell no more than they know."""

import math
from dataclasses import replace

import numpy as np
import pandas
import pytest
from scipy.stats import binomtest, bootstrap, false_discovery_control

from optsched.core import Ratio, mean_ratio
from optsched.core.intervals import mean_interval, median_interval, share_above, warning
from optsched.experiments.export import COLUMNS_OF_TABLE, latex
from optsched.experiments.ratios_by_policy import KNOWN, NUMBERS, Cells, RatioSample, samples
from optsched.experiments.statistics import (
    Statistics,
    ecdf,
    holm,
    pairs,
    statistics,
    summary,
)
from optsched.papers.bot import median as iterations
from optsched.scheduling.jobs import spread


def cell(instance, policy, value, *, optimum=10.0, bound=10.0, known=True, family="oasis"):
    """Return what a store states of a cell; the policy was compared with the search's optimum."""
    ratio = None if optimum is None else Ratio.of("max", value, optimum, bound)
    source = f'{{"family":"{family}","parameters":{{"preset":"small"}}}}'
    return {
        "case": (instance, source, '{"method":"auto"}'),
        "policy": f'{{"policy":"{policy}"}}',
        "status": 0 if optimum == bound else 1,
        "value": value,
        "known": value if known else None,
        "low": None if ratio is None else ratio.low,
        "high": None if ratio is None else ratio.high,
        "optimum": optimum,
        "bound": bound,
        "certified_bound": bound,
    }


def taken(rows):
    """Return the cells, as they are read from a store."""
    cases, case = _numbered([row["case"] for row in rows])
    policies, policy = _numbered([row["policy"] for row in rows])
    first = {row["case"]: row for row in reversed(rows)}
    numbers = {name: _floats([row[name] for row in rows]) for name in NUMBERS}
    numbers |= {name: _floats([first[c][name] for c in cases]) for name in KNOWN}
    status = np.array([row["status"] for row in rows])
    seeds = {number: (number, f"{number:x}") for number, *_ in cases}
    return Cells(case, policy, status, numbers, policies, cases, seeds)


def _numbered(values):
    there = list(dict.fromkeys(values))
    return there, np.array([there.index(value) for value in values])


def _floats(values):
    return np.array(values, dtype=float)


def sample(low, high=None, policy="a"):
    low = np.asarray(low, dtype=float)
    names = tuple((k, str(k)) for k in range(len(low)))
    high = low if high is None else np.asarray(high, dtype=float)
    return RatioSample("group", policy, names, low, high, 0, 0, 0)


def test_a_policy_that_finds_more_than_the_search_is_what_others_are_measured_by():
    rows = [
        cell(0, "good", 9.0, optimum=8.0, bound=12.0),
        cell(0, "bad", 4.0, optimum=8.0, bound=12),
    ]
    bad, good = samples(taken(rows))
    assert (bad.policy, bad.low[0], bad.high[0]) == ("bad", 9 / 4, 12 / 4)
    assert (good.low[0], good.high[0]) == (1.0, pytest.approx(12 / 9))
    assert good.open == 1


def test_a_policy_that_leaves_the_model_sets_no_standard():
    rows = [cell(0, "free", 20.0, known=False), cell(0, "bad", 5.0)]
    bad, free = samples(taken(rows))
    assert bad.low[0] == 2.0
    assert free.low[0] == 0.5
    assert (bad.least, free.least) == (1.0, 0.0)


def test_infinite_ratios_and_nothing_to_gain_are_counted():
    rows = [
        cell(0, "p", 0.0),
        cell(1, "p", 0.0, optimum=0.0, bound=0.0),
        cell(2, "p", 5.0),
        cell(3, "p", 5.0, bound=None),
    ]
    found = summary(*samples(taken(rows)))
    assert (found.infinite, found.nothing, found.unbounded, found.instances) == (1, 1, 1, 4)
    flags = statistics(samples(taken(rows))).flags()
    assert any(line.endswith(": cells with ratio 0/0, which counts as 1: p 1") for line in flags)
    assert not any("--objective flow" in line for line in flags)
    waits = [replace(s, group="rigid objective=wait") for s in samples(taken(rows))]
    assert statistics(waits).flags()[-1].endswith("those of --objective flow are finite")
    assert found.low == found.high == math.inf
    assert found.interval is None
    assert found.warning == "fewer than 5 instances"
    assert (found.median, found.worst, found.worst_seed) == (2.0, math.inf, 0)


def test_medians_and_worst_ratios_are_intervals_while_optima_are_open():
    low, high = [1.0, 2.0, 4.0], [1.0, 3.0, 9.0]
    found = summary(sample(low, high))
    assert (found.half, found.most, found.greatest) == ("2 .. 3", "4 .. 9", "4 .. 9")
    row = latex(Statistics(summaries=(found,), pairs=())).splitlines()[7]
    assert " & 2.000--3.000 & " in row
    assert row.endswith(r" & 4.000--9.000 \\")
    assert " & -- & " in row  # without a star: it has no interval
    table = latex(Statistics(summaries=(found, summary(sample([1.0] * 9 + [9.0]))), pairs=()))
    rows = table.partition(r"\bottomrule")[2].partition(r"\end{tabular}")[0].splitlines()[1:]
    notes = " ".join(line.partition("}{")[2] for line in rows)
    for note in ("a--b: the value lies between", "*: perhaps not reliable", "--: no interval"):
        assert note in notes
    closed = summary(sample(low))
    assert (closed.half, closed.most, closed.greatest) == ("2", "4", "4")
    ratios = [Ratio.of("max", 1.0, *ends) for ends in zip(low, high, strict=True)]
    assert "; median between 2 and 3, worst between 4 and 9" in str(mean_ratio(ratios))


def test_a_table_for_latex_names_instances_above_their_policies():
    rows = [summary(sample([1.0, 2.0, 4e16, 1.5, 3.0], policy=p)) for p in ("a", "b_c")]
    lines = latex(Statistics(summaries=tuple(rows), pairs=())).splitlines()
    assert lines[4] == r"policy & mean ratio & 95\,\% & median & 95\,\% & worst \\"
    assert lines[6] == rf"\multicolumn{{6}}{{@{{}}l@{{}}}}{{{rows[0].group}: 5 instances}} \\"
    assert lines[8].startswith(r"b\_c & $8\cdot10^{15}$ & ")
    posing = summary(sample([1.0, 2.0], policy="[0pt]fifo"))  # LaTeX would take it for an option
    assert latex(Statistics(summaries=(posing,), pairs=())).splitlines()[7].startswith("{[}0pt{]}")
    fewer = summary(sample([1.0, 2.0], policy="c"))  # then the numbers have a column
    lines = latex(Statistics(summaries=(*rows, fewer), pairs=())).splitlines()
    assert lines[4].startswith("policy & $n$ & open & mean ratio & ")
    assert lines[6].endswith(rf"{{{rows[0].group}}} \\")
    assert lines[9].startswith("c & 2 & 0 & 1.500 & ")


@pytest.mark.parametrize(
    ("name", "high", "columns", "said"),
    [
        ("mine", 0.0, ["mean ratio", r"95\,\%", "median", r"95\,\%", "worst"], "ratios above 2\n"),
        ("mine", 0.012, ["mean ratio", r"95\,\%", "median", "worst"], "interval of the median"),
        ("aged-area(age=2.0)", 0.012, ["mean ratio", r"95\,\%", "median"], "above 2, worst"),
        (
            "Aged area (age=2.0, x=3.5)",
            0.012,
            ["mean ratio", r"95\,\%"],
            "one column: median, 95 % interval of the median",
        ),
        ("x" * 60, 0.0, [*COLUMNS_OF_TABLE[3:6], r"95\,\%", *COLUMNS_OF_TABLE[7:]], "table*"),
    ],
)
def test_a_table_for_latex_leaves_out_what_does_not_fit_into_a_column(name, high, columns, said):
    low = np.linspace(1.012, 1.234, 20)
    rows = tuple(summary(sample(low, low + high, policy=p)) for p in ("easy", name))
    comments, _, table = latex(Statistics(summaries=rows, pairs=())).partition(r"\begin{tabular}")
    assert r"\usepackage{booktabs}" in comments
    assert f"{' & '.join(['policy', *columns])} \\\\" in table
    assert {line.count("&") for line in table.splitlines() if "&" in line[1:]} == {len(columns)}
    assert said in comments
    assert ("to fit" in comments) == (len(columns) < 6)
    assert ("above 2: " in table) == (len(columns) == 6)
    assert "1.234 " in table or "worst" not in columns or high


def test_a_policy_whose_cells_all_failed_is_in_no_pair():
    low = [1.0 + k / 10 for k in range(8)]
    two = [sample(low), sample([2 * x for x in low], policy="b")]
    (alone,) = pairs(two)
    (pair,) = pairs([*two, sample([], policy="failed")])
    assert (pair.first, pair.second, pair.holm) == (alone.first, alone.second, alone.holm)


@pytest.mark.parametrize("values", [[1, 2, 4], [1, 2, 4, 9], [1, math.inf], [3, 3, math.inf, 9]])
def test_medians_are_those_of_pandas(values):
    middle = pandas.Series(values, dtype=float).median()
    assert summary(sample(values)).median == middle
    assert mean_ratio([Ratio.of("max", 1.0, v, v) for v in values]).median == middle
    (pair,) = pairs([sample(values), sample([1.0] * len(values), policy="b")])
    assert pair.median == pytest.approx(middle)
    if all(map(math.isfinite, values)):
        assert spread(values)["median"] == middle == iterations(values)


def test_cells_without_a_ratio_are_counted():
    failed = cell(1, "p", 5.0) | {"status": 2, "value": None}
    (found,) = samples(taken([cell(0, "p", 5.0), failed]))
    assert (found.count, found.errors) == (1, 1)
    assert summary(found).interval is None


def test_seeds_of_a_policy_are_averaged_first():
    rows = [cell(0, "p", 5.0), cell(0, "p", 2.5), cell(1, "p", 10.0)]
    (found,) = samples(taken(rows))
    assert found.low.tolist() == [3.0, 1.0]


def test_the_interval_holds_both_means():
    rng = np.random.default_rng(0)
    low = 1 + rng.exponential(0.3, 40)
    high = low * 1.2
    first, last = mean_interval(low, high)
    assert first < low.mean() < high.mean() < last
    exact = mean_interval(low, low)
    assert (exact[0], last) == (first, mean_interval(high, high)[1])
    assert mean_interval(low, high) == (first, last)


def test_the_interval_is_near_that_of_scipy_where_ratios_are_not_skewed():
    x = 1 + np.random.default_rng(1).random(400)
    theirs = bootstrap((x,), np.mean, rng=np.random.default_rng(0)).confidence_interval
    assert mean_interval(x, x) == pytest.approx((theirs.low, theirs.high), rel=0.003)


@pytest.mark.parametrize("value", [1.0, 1.5, 0.1 + 0.2])
def test_equal_ratios_have_no_interval(value):
    # one instance in twenty with ratio 20 would be missed in 60 % of all samples of ten
    found = summary(sample(np.full(60, value)))
    assert found.interval is None
    assert found.warning == "all ratios are equal"
    assert found.median_interval == (value, value)
    assert found.far == (0.0, pytest.approx(1 - 0.025 ** (1 / 60)))
    closed = 1.0 + 1e-7 * np.random.default_rng(0).random(60)  # as a closed optimum is
    assert warning(closed, closed) == "all ratios are equal"
    spread_high = np.linspace(1, 2, 9)
    assert mean_interval(np.ones(9), spread_high, least=1.0)[0] == 1.0
    assert mean_interval(np.full(9, 1.5), np.full(9, 1.5) + spread_high, least=1.0) is None


def test_infinite_ratios_have_an_infinite_mean_with_certainty():
    found = summary(sample([1.0, 2.0, 3.0, 4.0, 5.0, math.inf]))
    assert found.interval == (math.inf, math.inf)
    assert found.median_interval == (1.0, math.inf)


@pytest.mark.parametrize(
    ("ratios", "why"),
    [
        ([1.0], "fewer than 5 instances"),
        ([1.0, 1.1, 1.2], "fewer than 5 instances"),
        ([1.0 + 0.1 * k for k in range(10)], "fewer than 50 instances"),
        (
            [*[1.0] * 19, 20.0],
            "one instance accounts for half of the total excess over the least ratio",
        ),
        (
            [*[1.0] * 95, *[20.0] * 5],
            "3 of 100 instances account for half of the total excess over the least ratio",
        ),
        ([1.0 + 0.1 * k for k in range(60)], ""),
        ([1.0 + 0.1 * k for k in range(59)] + [math.inf], ""),
    ],
)
def test_a_doubtful_interval_is_marked(ratios, why):
    found = statistics([sample(ratios), sample(np.linspace(1, 2, 60), policy="b")])
    (mine,) = (s for s in found.summaries if s.policy == "a")
    assert mine.warning == why
    assert mine.inside.endswith("*") == bool(why)
    told = [line for line in found.flags() if "perhaps not reliable" in line]
    assert told == (
        [f"group: * 95 % interval of the mean missing, or perhaps not reliable: {why} (a)"]
        if why
        else []
    )


def test_a_bound_that_dominates_is_a_doubt_too():
    high = np.ones(60)
    high[7] = 20.0
    assert warning(np.ones(60), high).startswith("one instance accounts for half of the total")


def test_the_interval_of_the_median_is_exact():
    x = np.arange(1.0, 21.0)
    # scipy's test that the median is some number, inverted
    kept = [m for m in x if binomtest(int((x <= m).sum()), 20, 0.5).pvalue > 0.05]
    assert median_interval(x, x) == (min(kept), max(kept) + 1)
    assert median_interval(x, 2 * x) == (min(kept), 2 * (max(kept) + 1))
    assert median_interval(x[:5], x[:5]) is None
    assert median_interval(x[:6], x[:6]) == (1.0, 6.0)
    many = np.arange(1e6)
    first, last = median_interval(many, many)
    assert (first, last) == pytest.approx((5e5 - 980, 5e5 + 980), abs=2)


def test_the_interval_of_a_share_is_exact():
    low, high = np.array([1.0, 1.5, 2.0, 2.5]), np.array([1.0, 2.1, 3.0, math.inf])
    theirs = [binomtest(k, 4).proportion_ci(method="exact") for k in (1, 3)]
    assert share_above(low, high, 2.0) == pytest.approx((theirs[0].low, theirs[1].high))


def one_in_twenty(rng, n):
    return np.where(rng.random(n) < 0.05, 20.0, 1.0)


@pytest.mark.parametrize(
    ("draw", "mean", "median", "far"),
    [
        (lambda rng, n: 1 + rng.lognormal(0, 1.5, n), 1 + math.exp(1.125), 2.0, 0.5),
        (one_in_twenty, 1.95, 1.0, 0.05),
    ],
)
@pytest.mark.parametrize("n", [10, 20])
def test_skewed_ratios_are_marked_and_their_exact_intervals_hold(draw, mean, median, far, n):
    rng, repetitions = np.random.default_rng(n), 200
    missed = holds = shares = 0
    for k in range(repetitions):
        x = draw(rng, n)
        ends = mean_interval(x, x, least=1.0, seed=k)
        missed += ends is not None and not warning(x, x) and not ends[0] <= mean <= ends[1]
        first, last = median_interval(x, x)
        holds += first <= median <= last
        first, last = share_above(x, x, 2.0)
        shares += first <= far <= last
    assert missed == 0
    least = 0.95 * repetitions - 2.5 * math.sqrt(repetitions * 0.05 * 0.95)
    assert min(holds, shares) >= least


def test_the_seeds_of_a_trace_draw_attributes_only():
    rows = [cell(k, "p", 5.0 + k) for k in range(3)]
    assert not any(s.drawn for s in samples(taken(rows)))
    window = '{"family":"oasis","files":{"trace":"jobs.csv"},"window":{"slots":9}}'
    for row in rows:
        row["case"] = (row["case"][0], window, row["case"][2])
    found = statistics(samples(taken(rows)))
    assert found.summaries[0].drawn
    assert "the intervals cover the drawn attributes only" in found.flags()[-1]
    for row in rows:
        parts = window.replace('"slots":9', '"slots":9,"windows":3')
        row["case"] = (row["case"][0], parts, row["case"][2])
    assert not any(s.drawn for s in samples(taken(rows)))  # they differ in the workload as well


@pytest.mark.parametrize("open_share", [0.0, 0.3, 0.6])
def test_the_interval_covers_the_truth(open_share):
    # ratios 1 + Exp(0.3), optima open by up to 20 %: the whole table is benchmarks' business
    rng = np.random.default_rng(int(10 * open_share))
    repetitions, covered = 200, 0
    for k in range(repetitions):
        truth = 1 + rng.exponential(0.3, 15)
        is_open = rng.random(15) < open_share
        low = np.where(is_open, np.maximum(1, truth * (1 - 0.2 * rng.random(15))), truth)
        high = np.where(is_open, truth * (1 + 0.2 * rng.random(15)), truth)
        first, last = mean_interval(low, high, least=1.0, seed=k)
        covered += first <= 1.3 <= last
    assert covered >= 0.93 * repetitions - 2.5 * math.sqrt(repetitions * 0.05 * 0.95)


def test_policies_that_are_equal_are_rarely_told_apart():
    rng = np.random.default_rng(5)
    repetitions, told = 200, 0
    for _ in range(repetitions):
        common = 1 + rng.exponential(0.5, 20)  # some instances are hard for everybody
        rows = [sample(common * np.exp(0.1 * rng.standard_normal(20)), policy=p) for p in "abc"]
        told += any(pair.differ for pair in pairs(rows))
    assert told <= 0.05 * repetitions + 2.5 * math.sqrt(repetitions * 0.05 * 0.95)


def test_policies_that_differ_are_told_apart_though_optima_are_open():
    low = 1 + np.random.default_rng(2).exponential(0.5, 20)
    (pair,) = pairs([sample(low, low * 9), sample(1.05 * low, low * 9, policy="b")])
    assert pair.differ
    assert (pair.better, pair.worse) == (20, 0)
    assert pair.median == pytest.approx(1 / 1.05)


def test_what_cannot_be_told_apart_is_said():
    low = np.array([1.0, 1.2, 1.5])
    found = statistics([sample(low), sample(low, policy="b")])
    few = "group: 3 instances are too few to rank policies"
    assert found.flags()[0] == few
    more = np.linspace(1, 2, 6)
    found = statistics([sample(more), sample(more, policy="b")])
    assert found.flags()[0] == "group: cannot tell policies apart"
    many = 1 + np.random.default_rng(3).exponential(0.5, 20)
    three = [sample(many), sample(many, policy="b"), sample(many * 2, policy="c")]
    assert statistics(three).flags()[0] == "group: cannot tell apart: a/b"


def test_infinite_ratios_can_be_compared():
    many = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    (pair,) = pairs([sample([*many, math.inf]), sample([math.inf] * 8, policy="b")])
    assert (pair.better, pair.worse, pair.differ) == (7, 0, True)


def test_holm_is_no_milder_than_the_control_of_false_discoveries():
    p = np.random.default_rng(0).random(9) / 20
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert np.all(np.array(holm(list(p))) >= false_discovery_control(p) - 1e-12)


def test_the_distribution_is_an_interval_too():
    found = ecdf(sample([1.0, 2.0], [1.5, math.inf]))
    assert found["ratio"].tolist() == [1.0, 1.5, 2.0]
    assert found["at_least"].tolist() == [0.0, 0.5, 0.5]
    assert found["at_most"].tolist() == [0.5, 0.5, 1.0]
