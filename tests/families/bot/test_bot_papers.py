"""The experiments of the bag-of-tasks paper on one platform each, and their verdicts."""

from __future__ import annotations

from itertools import product

import pandas as pd
import pytest
from sweeps import sweep

from optsched.papers.bot import EXPERIMENTS, anova, common, fig7, fig8, steps, tables
from optsched.papers.bot.common import FACTORS, UNITS


@pytest.mark.parametrize("experiment", sweep(EXPERIMENTS, 5), ids=lambda e: e.name)
def test_experiments_from_cell_to_verdict(experiment, monkeypatch):
    monkeypatch.setattr(steps, "SEARCHED", range(1000, 1002))
    monkeypatch.setattr(steps, "SIZES", ((20, 5),))
    for module in (common, steps):
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
    for units in UNITS:
        assert units in outcome.words


def test_more_seeds_hold_the_same_platforms():
    for experiment in EXPERIMENTS:
        if experiment.name != "bot-steps":  # its cell is a whole search
            few, many = experiment.cells(1), experiment.cells(2)
            assert len(many) == 2 * len(few)
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
    assert common.words(found, 28).startswith("sec6.5, 20 nodes, degree 5: 2 / 2 (paper 28 / 30)")
    (none,) = common.best_sets([row(0, entry(False))])
    assert "0 / 1 (paper 28 / 30) with any set" in common.words(none, 28)


def test_tables_agree_if_most_platforms_of_every_size_converge():
    rows = [
        row(seed, entry(seed < count, 9)) | {"nodes": n, "degree": d}
        for (n, d), count in zip(tables.TABLE1, (10, 10, 10, 10, 6), strict=True)
        for seed in range(10)
    ]
    assert tables.judge_table1(tables.summarize(rows)).agrees
    assert tables.judge_table2(tables.summarize(rows)).agrees
    rows[-5:] = [r | {"sets": [entry(False)]} for r in rows[-5:]]
    rows[-6]["sets"] = rows[-7]["sets"] = [entry(False)]
    assert not tables.judge_table1(tables.summarize(rows)).agrees


def test_one_run_that_converges_contradicts_section_66():
    never = [row(s, entry(False, margin=2.0), entry(False, margin=1e300), grid="g") for s in (0, 1)]
    summary = tables.summarize_naive(never)
    assert tables.judge_naive(summary).agrees
    assert summary["tables"][0]["outside"] == [2.0, 2.0, tables.FAR, tables.FAR]
    once = [*never, row(2, entry(True, 7), entry(False), grid="g")]
    outcome = tables.judge_naive(tables.summarize_naive(once))
    assert not outcome.agrees
    assert "1 of 6 runs converge" in outcome.words


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
    summary = anova.summarize(levels(1.0, 0.1))
    (table,) = summary["tables"]
    assert anova.judge_fig4(summary).agrees
    assert not anova.judge_fig6(summary).agrees  # there it must not matter
    low, high = table["means"]["rho"]
    assert high - low == pytest.approx(1.0, abs=0.01)
    by = {r["factor"]: r for r in table["anova"]}
    # 48 runs, a difference of 1 between halves: 48 / 4
    assert by["rho"]["sum_sq"] == pytest.approx(12.0, rel=0.05)
    assert by["tilde"]["p"] > 0.5
    other = anova.summarize(levels(0.0, 1.0))
    assert not anova.judge_fig4(other).agrees
    assert anova.judge_fig6(other).agrees


def test_how_soon_a_platform_is_back():
    def known(back, seed=0):
        return {"units": UNITS[0], "nodes": 100, "degree": 5, "seed": seed, "optima": [1.0, 0.5],
                "back": back, "was_there": True, "series": [1.0, None]}  # fmt: skip

    assert fig8.judge(fig8.summarize([known(10), known(50), known(400)])).agrees
    assert not fig8.judge(fig8.summarize([known(10), known(51), known(400)])).agrees
    assert not fig8.judge(fig8.summarize([known(None)])).agrees


def test_larger_platforms_take_longer():
    def lines(times):
        return [
            {"units": UNITS[0], "algorithm": "adaptive", "mix": "heterogeneous", "nodes": n,
             "degree": d, "seed": s, "converged": True, "first": t + s, "margin": 1.0}
            for (n, d), t in zip(fig7.SIZES, times, strict=True)
            for s in (0, 1)
        ]  # fmt: skip

    assert fig7.judge(fig7.summarize(lines((10, 20, 30, 400)))).agrees
    assert not fig7.judge(fig7.summarize(lines((10, 20, 30, 25)))).agrees


def test_step_sizes_must_serve_other_platforms():
    def line(count, mix="heterogeneous"):
        side = {"steps": dict.fromkeys(common.FACTORS, 1.0), "times": list(range(1, count + 1))}
        return {"units": UNITS[0], "nodes": 20, "degree": 5, "algorithm": "adaptive", "mix": mix,
                "seeds": 10, "tried": 3, "printed": side, "searched": side}  # fmt: skip

    assert steps.judge(steps.summarize([line(9)])).agrees
    outcome = steps.judge(steps.summarize([line(10), line(8)]))
    assert not outcome.agrees
    assert "searched 8 / 10, median iteration 5" in outcome.words


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
