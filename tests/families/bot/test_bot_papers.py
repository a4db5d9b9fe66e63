"""The experiments of the bag-of-tasks paper on one platform each, and their verdicts."""

from itertools import product

import pytest
from sweeps import sweep
from verdicts import worst

from optsched.families.bot.sources.presets import generate
from optsched.papers import bot
from optsched.papers.bot import (
    ABSOLUTE,
    EXPERIMENTS,
    FACTORS,
    SIGNED,
    UNITS,
    Analysis,
    BestSteps,
)
from optsched.papers.experiment import Rows
from optsched.papers.verdict import Support

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
NAIVE = BY_NAME["bot-naive-heterogeneous"]


@pytest.mark.parametrize("experiment", sweep(EXPERIMENTS, 5), ids=lambda e: e.name)
def test_experiments_from_cell_to_verdict(experiment, monkeypatch):
    monkeypatch.setattr(bot, "ITERATIONS", 300)
    rows = [
        cell | experiment.run(cell, 0.0)
        for cell in experiment.cells(1 if experiment is not BY_NAME["bot-fig4"] else 2)
        if cell["nodes"] < 500 or experiment is BY_NAME["bot-fig6"]
    ]
    assert experiment.picture(rows).axes
    if experiment.name == "bot-fig7":
        return  # its verdict needs all sizes
    outcome = experiment.judge(rows)
    names = bot.READINGS if experiment.name == "bot-order" else UNITS
    for name in names:
        assert name in "; ".join([*map(str, outcome.findings), *outcome.notes])


def test_more_seeds_hold_the_same_platforms():
    for experiment in EXPERIMENTS:
        few, many = experiment.cells(1), experiment.cells(2)
        assert len(many) > len(few)
        assert all(cell in many for cell in few)


def entry(converged, first=None, margin=0.1, **sizes):
    zero = dict.fromkeys(FACTORS, 1.0)
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
    found = BestSteps.of(Rows(rows))
    assert (found.steps["rho"], found.converged) == (1.0, [1, 1])
    assert (found.times, found.all, found.runs) == ([50, 50], 5, 6)
    judged = bot.best_count(Rows(rows), 28, "share")
    assert (judged.ours, judged.paper, judged.verdict) == (1.0, 28 / 30, Support.DIRECTION)
    none = Rows([row(0, entry(False))])
    assert "0 of 1, paper 28 of 30" in bot.best_count(none, 28, "share").note
    assert bot.best_count(none, None, "share").verdict is None


def test_tables_agree_if_every_count_could_be_the_papers():
    rows = [
        row(seed, entry(seed < count, 9)) | {"nodes": n, "degree": d}
        for (n, d), count in bot.TABLE1.items()
        for seed in range(30)
    ]
    assert worst(BY_NAME["bot-tab1"].judge(rows)) is Support.HOLDS
    for r in rows:
        r["sets"] = [entry(True, 9)]  # 20 of 30 is another number than 30 of 30
    assert worst(BY_NAME["bot-tab1"].judge(rows)) is Support.DIRECTION
    for r in rows[-30:]:
        r["sets"] = [entry(False)]
    assert worst(BY_NAME["bot-tab2"].judge(rows)) is Support.FAILS


def test_one_run_that_converges_contradicts_section_66():
    grid = next(iter(bot.GRIDS))

    def runs(variation):
        return [
            row(s, entry(False, margin=m) | {"variation": variation}, grid=grid)
            for s, m in enumerate((2.0, 1e300))
        ]

    assert worst(NAIVE.judge(runs(-8.0))) is Support.DIRECTION  # two runs tell little
    (line,) = NAIVE.picture(runs(-8.0)).axes[0].lines
    assert [*line.get_xdata()] == [2.0, bot.FAR]
    assert bot.least_variation(Rows(r["sets"][0] for r in runs(-8.0))) == [8.0, 8.0]
    assert worst(NAIVE.judge(runs(1.0))) is Support.FAILS
    assert worst(NAIVE.judge(runs(None))) is Support.UNTESTABLE  # no run has a c_v
    many = [row(s, entry(s == 0, 7) | {"variation": 9.0}, grid=grid) for s in range(9)]
    assert "1 of 9, paper 0 of 480" in str(NAIVE.judge(many).findings[0])


def levels(rho_effect, mu_effect):
    """Return platforms whose variation depends on the levels of two factors, and a little noise."""
    grid = [dict(zip(FACTORS, x, strict=True)) for x in product((1.0, 2.0), repeat=4)]
    return [
        row(
            seed,
            *(
                entry(True, 9, **x)
                | {"variation": rho_effect * x["rho"] + mu_effect * x["mu"]
                   + 0.01 * ((7 * seed + i) % 5)}
                for i, x in enumerate(grid)
            ),
        )
        for seed in range(6)
    ]  # fmt: skip


def test_the_analysis_of_variance_finds_the_factor_that_matters():
    rows = levels(1.0, 0.0)
    assert worst(BY_NAME["bot-fig4"].judge(rows)) is Support.HOLDS
    assert worst(BY_NAME["bot-fig6"].judge(rows)) is Support.FAILS  # there it must not matter
    found = Analysis.of(Rows(rows), SIGNED)
    low, high = found.means("rho")
    assert high.mean - low.mean == pytest.approx(1.0, abs=0.01)
    assert found.effects("rho") == pytest.approx([1.0] * 6, abs=0.01)
    assert found.significance()["tilde"][1] > 0.05
    other = levels(0.0, 1.0)
    assert worst(BY_NAME["bot-fig4"].judge(other)) is Support.FAILS
    assert "mu has limited impact" in " ".join(map(str, BY_NAME["bot-fig4"].judge(other).findings))
    six = [f for f in BY_NAME["bot-fig6"].judge(other).findings if f.claim.startswith("rho")]
    assert six[0].verdict is Support.HOLDS


def test_c_v_has_a_sign():
    rows = Rows(
        row(s, *(e | {"variation": 4.0 * e["rho"] - 6.0} for e in r["sets"]))
        for s, r in enumerate(levels(1.0, 0.0))
    )
    for response, means in ((SIGNED, [-2.0, 2.0]), (ABSOLUTE, [2.0, 2.0])):
        assert [m.mean for m in Analysis.of(rows, response).means("rho")] == means


def leaving(back, seed=0, *, computing=15, there=True):
    return {"units": UNITS[0], "nodes": 100, "degree": 5, "seed": seed, "leave": bot.LEAVE,
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
    assert (worst(BY_NAME["bot-fig8"].judge(rows)) is Support.HOLDS) is agrees


def test_masters_and_the_nodes_between_them_stay():
    inst = generate("heterogeneous", seed=1, nodes=30)
    masters = {app.master for app in inst.applications}
    stay = bot.between(inst)
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
            for size, t in zip(bot.ORDERED, times, strict=True)
            for s in range(3)
            for kind, first in (
                (("adaptive", "heterogeneous"), t + s),
                (("naive", "heterogeneous"), None),
                (("adaptive", "homogeneous"), 10 + s),
                (("naive", "homogeneous"), 100 + s),
            )
        ]

    assert worst(BY_NAME["bot-fig7"].judge(lines((10, 20, 30, 400)))) is Support.HOLDS
    assert worst(BY_NAME["bot-fig7"].judge(lines((10, 20, 30, 1600)))) is Support.FAILS
    assert worst(BY_NAME["bot-fig7"].judge(lines((500, 20, 30, 400)))) is Support.FAILS


def one_platform(response):
    sets = [
        dict(zip(FACTORS, x, strict=True)) | {"variation": c}
        for x, c in zip(product((-1.0, 1.0), repeat=4), response, strict=True)
    ]
    return Analysis.of(Rows([{"sets": sets}]), SIGNED).significance()


def test_the_analysis_of_variance_is_that_of_statsmodels():
    known = {  # anova_lm(ols("cv ~ rho + tilde + lam + mu", data).fit()), statsmodels 0.14
        "rho": (2.66976787024, 0.130538395567),
        "tilde": (2.62627613851, 0.133395683418),
        "lam": (2.13523738986, 0.171917842719),
        "mu": (0.16864986775, 0.689200542524),
    }
    found = one_platform([1.0, 2, 0, 7, 3, 9, 4, 4, 1000, 512, 3, 88, 7.5, 1, 6, 2])
    for factor, (ratio, p) in known.items():
        assert found[factor] == pytest.approx((ratio, p), rel=1e-9)


def test_a_response_that_never_varies_has_no_significance():
    assert one_platform([1000.0] * 16) == dict.fromkeys(FACTORS, (None, None))
