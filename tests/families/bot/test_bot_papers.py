"""The experiments of the bag-of-tasks paper on one platform each, and their verdicts."""

from __future__ import annotations

from itertools import product

import pandas as pd
import pytest
from sweeps import sweep
from verdicts import worst

from optsched.families.bot.sources.presets import generate
from optsched.papers.bot import (
    EXPERIMENTS,
    anova,
    common,
    counts,
    fig7,
    fig8,
    order,
    steps,
    tables,
)
from optsched.papers.bot.common import FACTORS, UNITS
from optsched.papers.verdict import Verdict


@pytest.mark.parametrize("experiment", sweep(EXPERIMENTS, 5), ids=lambda e: e.name)
def test_experiments_from_cell_to_verdict(experiment, monkeypatch):
    monkeypatch.setattr(steps, "SEARCHED", range(1000, 1002))
    monkeypatch.setattr(steps, "SIZES", ((20, 5),))
    for module in (common, steps, counts):
        monkeypatch.setattr(module, "ITERATIONS", 300)
    rows = [
        cell | experiment.run(cell, 0.0)
        for cell in experiment.cells(1 if experiment is not anova.FIG_4 else 2)
        if cell["nodes"] < 500 or experiment is anova.FIG_6
    ]
    summary = experiment.summarize(rows)
    assert experiment.draw(summary).axes
    if experiment.name == "bot-fig7":
        return  # its verdict needs all sizes
    outcome = experiment.judge(summary)
    names = order.READINGS if experiment.name == "bot-order" else UNITS
    for name in names:
        assert name in outcome.words


def test_more_seeds_hold_the_same_platforms():
    for experiment in EXPERIMENTS:
        if experiment.name != "bot-steps":  # its cell is a whole search
            few, many = experiment.cells(1), experiment.cells(2)
            assert len(many) > len(few)
            assert all(cell in many for cell in few)


def entry(converged, first=None, margin=0.1, **sizes):
    zero = dict.fromkeys(common.FACTORS, 1.0)
    return zero | sizes | {
        "converged": converged, "robust": True, "first_for_good": first, "margin": margin,
        "variation": 0.0,
    }  # fmt: skip


def row(seed, *sets, **more):
    cell = {"units": UNITS[0], "nodes": 20, "degree": 5, "seed": seed}
    return cell | {"sets": list(sets)} | more


def test_the_best_set_converges_most_and_then_soonest():
    rows = [
        row(0, entry(True, 50), entry(True, 40, rho=2.0), entry(True, 1, rho=3.0)),
        row(1, entry(True, 50), entry(True, 70, rho=2.0), entry(False, rho=3.0)),
    ]
    (found,) = common.best_sets(rows)
    assert (found["best"]["rho"], found["best"]["converged"]) == (1.0, 2)
    assert (found["platforms"], found["all"], found["runs"]) == (2, 5, 6)
    judged = common.best_count(found, 28)
    assert (judged.ours, judged.paper, judged.verdict) == (1.0, 28 / 30, Verdict.DIRECTION)
    (none,) = common.best_sets([row(0, entry(False))])
    assert "0 of 1, paper 28 of 30" in common.best_count(none, 28).note
    assert common.best_count(none, None).verdict is None


def test_tables_agree_if_every_count_could_be_the_papers():
    rows = [
        row(seed, entry(seed < count, 9)) | {"nodes": n, "degree": d}
        for (n, d), count in tables.TABLE1.items()
        for seed in range(30)
    ]
    assert worst(tables.judge_table1(tables.summarize(rows))) is Verdict.HOLDS
    for r in rows:
        r["sets"] = [entry(True, 9)]  # 20 of 30 is another number than 30 of 30
    assert worst(tables.judge_table1(tables.summarize(rows))) is Verdict.DIRECTION
    for r in rows[-30:]:
        r["sets"] = [entry(False)]
    assert worst(tables.judge_table2(tables.summarize(rows))) is Verdict.FAILS


def test_one_run_that_converges_contradicts_section_66():
    def runs(variation):
        return [
            row(s, entry(False, margin=m) | {"variation": variation}, grid=tables.GRIDS[0])
            for s, m in enumerate((2.0, 1e300))
        ]

    summary = tables.summarize_naive(runs(-8.0))
    assert worst(tables.judge_naive(summary)) is Verdict.DIRECTION  # two runs tell little
    assert summary["tables"][0]["outside"] == [2.0, tables.FAR]
    assert summary["tables"][0]["least_variation"] == [8.0, 8.0]
    low = tables.judge_naive(tables.summarize_naive(runs(1.0)))
    assert worst(low) is Verdict.FAILS
    none = tables.judge_naive(tables.summarize_naive(runs(None)))  # no run has a c_v
    assert worst(none) is Verdict.UNTESTABLE
    many = [row(s, entry(s == 0, 7) | {"variation": 9.0}, grid=tables.GRIDS[0]) for s in range(9)]
    outcome = tables.judge_naive(tables.summarize_naive(many))
    assert "1 of 9, paper 0 of 480" in outcome.words


def levels(rho_effect, mu_effect):
    """Return platforms whose variation depends on the levels of two factors, and a little noise."""
    grid = [(r, m) for r in (1.0, 2.0) for m in (1.0, 2.0)]
    return [
        row(
            seed,
            *(
                entry(True, 9, rho=r, mu=m, tilde=t, lam=1.0 + (seed + i) % 2)
                | {"variation": rho_effect * r + mu_effect * m + 0.01 * ((7 * seed + i) % 5)}
                for i, (r, m) in enumerate(grid)
                for t in (1.0, 2.0)
            ),
        )
        for seed in range(6)
    ]


def test_the_analysis_of_variance_finds_the_factor_that_matters():
    summary = anova.summarize(levels(1.0, 0.0))
    (table,) = summary["tables"]
    assert worst(anova.judge_fig4(summary)) is Verdict.HOLDS
    assert worst(anova.judge_fig6(summary)) is Verdict.FAILS  # there it must not matter
    low, high = table["c_v"]["means"]["rho"]
    assert high - low == pytest.approx(1.0, abs=0.01)
    by = {r["factor"]: r for r in table["c_v"]["anova"]}
    # 48 runs, a difference of 1 between halves: 48 / 4
    assert by["rho"]["sum_sq"] == pytest.approx(12.0, rel=0.05)
    assert by["tilde"]["p"] > 0.5
    other = anova.summarize(levels(0.0, 1.0))
    assert worst(anova.judge_fig4(other)) is Verdict.FAILS
    assert "mu has limited impact" in anova.judge_fig4(other).words
    six = [f for f in anova.judge_fig6(other).findings if f.claim.startswith("rho")]
    assert six[0].verdict is Verdict.HOLDS


def test_c_v_has_a_sign():
    rows = [
        row(s, *(e | {"variation": 4.0 * e["rho"] - 6.0} for e in r["sets"]))
        for s, r in enumerate(levels(1.0, 0.0))
    ]
    table = anova.summarize(rows)["tables"][0]
    assert table["c_v"]["means"]["rho"] == [-2.0, 2.0]
    assert table["|c_v|"]["means"]["rho"] == [2.0, 2.0]


def leaving(back, seed=0, *, computing=15, there=True):
    return {"units": UNITS[0], "nodes": 100, "degree": 5, "seed": seed, "leave": fig8.PRINTED,
            "optima": [1.0, 0.5 - seed / 100], "computing": computing, "left": computing,
            "back": back, "was_there": there, "series": [1.0, None]}  # fmt: skip


@pytest.mark.parametrize(
    ("backs", "more", "agrees"),
    [
        (range(40, 61, 4), {}, True),
        (range(4, 10), {}, False),
        (range(40, 61, 4), {"computing": 100}, False),
        ((None, None, None), {}, False),
    ],
)
def test_how_soon_a_platform_is_back(backs, more, agrees):
    rows = [leaving(back, seed, **more) for seed, back in enumerate(backs)]
    assert (worst(fig8.judge(fig8.summarize(rows))) is Verdict.HOLDS) is agrees


def test_masters_and_the_nodes_between_them_stay():
    inst = generate("heterogeneous", seed=1, nodes=30)
    masters = {app.master for app in inst.applications}
    stay = fig8.between(inst)
    assert masters <= stay
    parent = {link.b: link.a for link in inst.links}
    tops = [n for n in stay if parent.get(n) not in stay]
    assert len(tops) == 1  # they hang together
    leaves = stay - {parent.get(n) for n in stay}
    assert leaves <= masters  # and nobody stays in vain
    assert tops[0] in masters or sum(parent.get(n) == tops[0] for n in stay) > 1


def test_larger_platforms_take_longer():
    def lines(times):
        def one(algorithm, mix, nodes, degree, seed, first):
            return {"units": UNITS[0], "algorithm": algorithm, "mix": mix, "nodes": nodes,
                    "degree": degree, "seed": seed, "converged": first is not None,
                    "first": first, "margin": 1.0}  # fmt: skip

        return [
            one(*kind, *size, s, first)
            for size, t in zip(fig7.SIZES, times, strict=True)
            for s in range(3)
            for kind, first in (
                (("adaptive", "heterogeneous"), t + s),
                (("naive", "heterogeneous"), None),
                (("adaptive", "homogeneous"), 10 + s),
                (("naive", "homogeneous"), 100 + s),
            )
        ]

    assert worst(fig7.judge(fig7.summarize(lines((10, 20, 30, 400))))) is Verdict.HOLDS
    assert worst(fig7.judge(fig7.summarize(lines((10, 20, 30, 1600))))) is Verdict.FAILS
    assert worst(fig7.judge(fig7.summarize(lines((500, 20, 30, 400))))) is Verdict.FAILS


def test_step_sizes_must_serve_other_platforms():
    def line(count, mix="heterogeneous"):
        side = {"steps": dict.fromkeys(common.FACTORS, 1.0), "times": list(range(1, count + 1))}
        return {"units": UNITS[0], "nodes": 20, "degree": 5, "algorithm": "adaptive", "mix": mix,
                "seeds": 10, "tried": 3, "printed": side, "searched": side}  # fmt: skip

    assert worst(steps.judge(steps.summarize([line(9)]))) is Verdict.HOLDS
    outcome = steps.judge(steps.summarize([line(10), line(2)]))
    assert worst(outcome) is Verdict.FAILS
    assert "searched 2 of 10" in outcome.words


def test_the_analysis_of_variance_is_that_of_statsmodels():
    response = [1.0, 2, 0, 7, 3, 9, 4, 4, 1000, 512, 3, 88, 7.5, 1, 6, 2]
    data = pd.DataFrame(product((-1.0, 1.0), repeat=4), columns=FACTORS).assign(cv=response)
    known = {  # anova_lm(ols("cv ~ rho + tilde + lam + mu", data).fit()), statsmodels 0.14
        "rho": [157906.890625, 2.66976787024, 0.130538395567],
        "tilde": [155334.515625, 2.62627613851, 0.133395683418],
        "lam": [126291.390625, 2.13523738986, 0.171917842719],
        "mu": [9975.015625, 0.16864986775, 0.689200542524],
    }
    for row in anova._anova(data):
        assert [row["sum_sq"], row["F"], row["p"]] == pytest.approx(known[row["factor"]], rel=1e-9)


def test_a_response_that_never_varies_has_no_significance():
    data = pd.DataFrame(product((-1.0, 1.0), repeat=4), columns=FACTORS).assign(cv=1000.0)
    assert all((row["sum_sq"], row["F"], row["p"]) == (0, None, None) for row in anova._anova(data))
