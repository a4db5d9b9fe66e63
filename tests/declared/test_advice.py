"""Policies with predictions, and the curve of their ratios."""

import json
import math
import os
import signal
from pathlib import Path

import pyomo.environ as pyo
import pytest
from typer.testing import CliRunner

import optsched
from optsched.adversarial import advice as module
from optsched.adversarial.advice import Advice, advice
from optsched.cli.app import app
from optsched.core import simulate, solve
from optsched.declared.advice import Follow, Guarded
from optsched.declared.events import FunctionPolicy
from optsched.declared.policies import Greedy, Lookahead, Posted
from optsched.declared.problem import Draws
from optsched.problem import InputError
from optsched.process import interrupts
from optsched.process.loading import load_from_file

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
NAMES = sorted(path.stem for path in GALLERY.glob("*.py"))
SKI, SMALL = 10, {"parking": {"days": 20}, "paging": {"requests": 10}}


def problem(name):
    return load_from_file(f"{GALLERY / name}.py:{name}", "problem")


def policy_of(name):
    (found,) = problem(name).policies.values()
    return found


def drawn(name, seed):
    return problem(name)(seed=seed, **SMALL.get(name, {}))


def skiing(days):
    """Rent skis for 1 a day, or buy them for 10; there is snow on some days."""
    m = pyo.ConcreteModel()
    m.D = range(len(days))
    m.rent, m.buy = pyo.Var(m.D, domain=pyo.Binary), pyo.Var(m.D, domain=pyo.Binary)
    m.pay = pyo.Objective(expr=sum(m.rent[d] + SKI * m.buy[d] for d in m.D))
    m.ski = pyo.Constraint(
        [d for d in m.D if days[d]],
        rule=lambda m, d: m.rent[d] + sum(m.buy[s] for s in range(d + 1)) >= 1,
    )
    return optsched.online(m, revealed={m.rent: lambda d: d, m.buy: lambda d: d})


def break_even(event):
    """Buy on the tenth day with snow."""
    rent, buy = event.variables
    if not any(event.residual(row) > 0 for row in rent.coefficients):
        return {}
    event.memory["days"] = event.memory.get("days", 0) + 1
    return {buy: 1} if event.memory["days"] >= SKI else {rent: 1}


def test_ctrl_c_during_the_optimum_is_no_lack_of_solutions():
    with interrupts.remembered():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            advice(skiing([True] * 3), [0.0], [0.0], seeds=1)


def selling(prices, kind=pyo.Reals):
    """Sell one unit at prices that come one by one."""
    m = pyo.ConcreteModel()
    m.D = range(len(prices))
    m.sell = pyo.Var(m.D, bounds=(0, 1), domain=kind)
    earned = sum(prices[d] * m.sell[d] for d in m.D)
    m.earn = pyo.Objective(expr=earned, sense=pyo.maximize)
    m.unit = pyo.Constraint(expr=sum(m.sell[d] for d in m.D) <= 1)
    return optsched.online(m, revealed={m.sell: lambda d: d})


@pytest.mark.parametrize("name", NAMES)
def test_a_perfect_prediction_is_followed_to_the_optimum(name):
    true = drawn(name, 1)
    best = solve(true).value
    assert simulate(true, Follow(true)).value == pytest.approx(best, rel=1e-9)
    followed = simulate(true, Guarded(true, 0, policy_of(name))).value
    assert followed == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_full_caution_is_the_baseline(name):
    true, wrong, policy = drawn(name, 1), drawn(name, 2), policy_of(name)
    alone = simulate(true, policy)
    assert simulate(true, Guarded(wrong, 1, policy)).schedule == alone.schedule


def test_who_trusts_a_wrong_prediction_rents_all_season():
    true, predicted = skiing([1] * 50), skiing([0] * 50)
    assert simulate(true, Follow(predicted)).value == 50
    guarded = simulate(true, Guarded(predicted, 0.5, FunctionPolicy(break_even))).value
    assert guarded == 38 + 10  # rents until that is twice what the baseline spends
    assert simulate(true, Guarded(predicted, 0.8, FunctionPolicy(break_even))).value == 23 + 10


@pytest.mark.parametrize("caution", [0.2, 0.5, 0.8])
def test_costs_stay_within_what_the_baseline_allows(caution):
    baseline = policy_of("parking")
    for seed in range(4):
        true, wrong = drawn("parking", seed), drawn("parking", seed + 10)
        alone = simulate(true, baseline).value
        most = alone / caution + alone  # it may begin again when it stops following
        assert simulate(true, Guarded(wrong, caution, baseline)).value <= most


def test_a_season_is_bought_as_soon_as_the_baseline_has_spent_enough():
    true = skiing([1] * 50)

    # 8 days are rented: 18 is then at most twice what the baseline has spent
    for caution, value in ((0.0, 10), (0.5, 8 + 10), (1.0, 19)):
        run = simulate(true, Guarded(true, caution, FunctionPolicy(break_even)))
        assert run.value == value, caution


def test_gains_are_those_of_both_runs_combined():
    true, wrong = selling([1.0, 3.0, 2.0]), selling([5.0, 3.0, 2.0])
    alone, trusted = simulate(true, "greedy").value, simulate(true, Follow(wrong)).value
    late = selling([1.0, 3.0, 2.5])
    assert (alone, trusted, simulate(true, Follow(late)).value) == (1, 1, 3)
    assert simulate(true, Guarded(late, 0.25, "greedy")).value == pytest.approx(2.5, abs=1e-9)


def test_of_integers_one_of_the_runs_is_drawn():
    true = selling([1.0, 3.0, 2.0], pyo.Integers)
    found = [simulate(true, Guarded(true, 0.25, "greedy"), seed=k).value for k in range(60)]
    assert set(found) == {1, 3}
    assert 5 <= found.count(1) <= 26  # 15 are expected


def test_what_does_not_fit_is_repaired_at_the_least_distance():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 9)), pyo.Var(bounds=(0, 9))
    m.z = pyo.Objective(expr=m.x + 2 * m.y, sense=pyo.maximize)
    m.room = pyo.Constraint(expr=m.x + m.y <= 6)
    predicted = optsched.online(m, {"x": 0, "y": 0})
    m.room.deactivate()
    m.less = pyo.Constraint(expr=m.x + m.y <= 4)
    m.atmost = pyo.Constraint(expr=m.y <= 3.5)
    true = optsched.online(m, {"x": 0, "y": 0})
    run = simulate(true, Follow(predicted))  # planned: 0 and 6; 3.5 is nearest, and x stays
    assert run.schedule.values == (0.0, 3.5)


def test_variables_without_a_prediction_are_optimized():
    true, short = selling([1.0, 3.0, 2.0]), selling([1.0])
    assert simulate(true, Follow(short)).value == 1
    assert simulate(true, Follow(selling([0.0]))).value == 3


def test_a_prediction_without_a_solution_is_as_none():
    m = pyo.ConcreteModel()
    m.sell = pyo.Var([0, 1, 2], bounds=(0, 1))
    m.earn = pyo.Objective(expr=m.sell[0], sense=pyo.maximize)
    m.unit = pyo.Constraint(expr=m.sell[0] + m.sell[1] >= 3)
    impossible = optsched.online(m, {m.sell: lambda d: d})
    true = selling([1.0, 3.0, 2.0])
    assert simulate(true, Follow(impossible)).value == simulate(true, "re-solve").value


@pytest.mark.parametrize("name", ["parking", "trading"])
def test_nothing_of_the_true_future_reaches_the_policies(name):
    made, wrong, cut = problem(name), drawn(name, 7), 8
    sizes = SMALL.get(name, {})
    pair = [
        made.draw(Draws(1, cut, other), None, None, sizes) for other in (2, 3)
    ]  # alike before the cut
    for make in (
        lambda: Follow(wrong),
        lambda: Guarded(wrong, 0.5, policy_of(name)),
    ):
        decided = []
        for true in pair:
            values = simulate(true, make()).schedule.values
            early = [v for c, v in zip(true.columns, values, strict=True) if c.decided < cut]
            decided.append(early)
        assert decided[0] == decided[1]
    assert pair[0].digest() != pair[1].digest()


def test_what_is_no_prediction_or_baseline_is_refused():
    true = skiing([1, 0, 1])
    with pytest.raises(InputError, match=r"caution is 1\.5, expected 0 to 1"):
        Guarded(true, 1.5)
    with pytest.raises(InputError, match="baseline lookahead cannot be one"):
        Guarded(true, 0.5, Lookahead(3))
    with pytest.raises(InputError, match="sense max, expected min"):
        simulate(true, Follow(selling([1.0])))
    assert Guarded(selling([1.0]), 0.5, Posted()).knows == ("rates",)
    assert Guarded(true, 0.5, Greedy).name == "guarded(0.5)"


@pytest.fixture(scope="module")
def found():
    """The curves of skiing: seasons are long, and predictions may be anything."""
    return advice(
        problem("parking"),
        [0, 0.5, 1],
        [0, 0.5, 1],
        seeds=2,
        baseline=policy_of("parking"),
        work_limit=600,
        **SMALL["parking"],
    )


@pytest.mark.slow
def test_curves(found):
    at = {(p.errors, p.caution, p.error): p.ratio.low for p in found.points}
    assert len(at) == 2 * 3 * 3
    assert at["random", 0, 0] == pytest.approx(1, abs=1e-9)
    for caution in (0, 0.5, 1):
        random, worst = (
            [at[kind, caution, e] for e in (0, 0.5, 1)] for kind in ("random", "adversarial")
        )
        assert all(r <= w + 1e-9 for r, w in zip(random, worst, strict=True))
        assert worst == sorted(worst)
    assert len({at[kind, 1, e] for kind in ("random", "adversarial") for e in (0, 0.5, 1)}) == 1
    assert at["adversarial", 0, 1] > at["random", 0, 1]  # chance does not find the worst
    assert found.certified == 2


@pytest.mark.slow
def test_ratios_are_those_of_runs(found):
    made, baseline = problem("parking"), policy_of("parking")
    trues = [made(seed=k, **SMALL["parking"]) for k in (0, 1)]
    ratios = [simulate(t, baseline).value / solve(t).value for t in trues]
    point = found.curve("random", 1)[0]
    assert point.ratio.low == pytest.approx(sum(ratios) / 2)
    assert point.ratio.worst.low == pytest.approx(max(ratios))


def test_errors_of_draws_change_at_most_a_share_of_the_times():
    made = problem("trading")
    true = made(seed=3, days=10)
    for error, most in ((0.0, 0), (0.3, 3), (1.0, 11)):
        space = module._draws(made, None, {"days": 10}, true, 3, error)
        data = space.draw(5)
        assert sum(map(bool, data["errors"])) == most
        data["errors"] = [1] * len(data["errors"])  # what a move may make of it
        predicted = space.instance(None, data)
        assert [c.name for c in predicted.columns] == [c.name for c in true.columns]
        if not error:
            assert predicted.columns == true.columns


def test_errors_of_numbers_are_as_large_as_stated():
    true = drawn("battery", 1)
    assert module._numbers(true, 0.0).instance(None, module._numbers(true, 0.0).draw(1)) == true
    space = module._numbers(true, 0.1)
    predicted = space.instance(None, space.draw(1))
    off = [
        p.cost / t.cost - 1 for p, t in zip(predicted.columns, true.columns, strict=True) if t.cost
    ]
    assert 0.05 < max(map(abs, off)) <= 0.1 + 1e-6
    for one, other in zip(predicted.rows, true.rows, strict=True):
        kept = [(j, a) for j, a in other.entries if a in (1, -1)]
        assert {*kept} <= {*one.entries}


def test_a_prediction_from_outside():
    true, predicted = skiing([1, 0] * 12), skiing([1] * 24)
    for given in (predicted, lambda _: predicted):
        curves = advice(true, [0], [0, 1], predictions=given, seeds=1, work_limit=0)
        assert [p.policy for p in curves.points] == ["follow", "re-solve"]
        assert curves.points[0].ratio.low == 1  # it buys, and 12 days cost more than that
    assert curves.noise == "numbers"
    with pytest.raises(InputError, match='expected "numbers"'):
        advice(true, noise="draws")
    with pytest.raises(InputError, match="a preset or a size is given for an instance"):
        advice(true, days=3)
    with pytest.raises(InputError, match="errors has 2, expected numbers from 0 to 1"):
        advice(true, [2])
    with pytest.raises(InputError, match=r"expected an optsched\.problem"):
        advice("parking")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c["points"].clear(), "points: is []"),
        (lambda c: c.update(certified=99), "there are 2 instances, expected no more"),
        (lambda c: c["points"][0].update(failed=99), "there are 2 instances, expected no more"),
        (lambda c: c["points"][0].update(error=1e308), "points.0.error: is 1e+308"),
        (lambda c: c["points"].append(c["points"][0]), "two are of the same errors and caution"),
        (
            lambda c: c.update(points=[c["points"][0] | {"caution": k / 99} for k in range(99)]),
            "1 errors and 99 lambdas, expected at most 50 of each",
        ),
        (lambda c: c.update(baseline="x" * 1001), "String should have at most 1000 characters"),
        (
            lambda c: c["points"][0].update(policy="a\nb"),
            "'a\\nb' holds a control",
        ),
        (lambda c: c.update(problem="a $\\frac{$ b"), ""),
        (lambda c: [p.update(ratio=None, failed=2) for p in c["points"]], ""),
    ],
)
def test_edited_curves_are_a_page_or_one_line(edit, message, tmp_path, found):
    found.save(tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    edit(content["advice"])
    (tmp_path / "a.json").write_text(json.dumps(content))
    if not message:
        optsched.report(tmp_path / "a.json", tmp_path / "a.html")
        return
    with pytest.raises(InputError) as err:
        optsched.report(tmp_path / "a.json", tmp_path / "a.html")
    assert message in str(err.value)


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch, found):
    monkeypatch.chdir(tmp_path)
    named = f"{GALLERY / 'trading'}.py:trading"
    words = ["advice", named, "--preset", "weeks", "--errors", "0,1", "--lambdas", "0,1"]
    words += ["--seeds", "2", "--work-limit", "0", "-o", "a.json", "--plot", "."]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "follow" in done.stdout
    content = json.loads(Path("a.json").read_text())
    read = Advice.model_validate(content["advice"])
    assert read.points[0].ratio.low == pytest.approx(1, abs=1e-9)
    assert not math.isnan(read.points[1].ratio.low)
    assert Path("advice.png").stat().st_size > 10_000
    done = CliRunner().invoke(app, ["report", "a.json", "-o", "a.html"])
    assert done.exit_code == 0, done.output
    page = Path("a.html").read_text()
    assert "follow: mean ratio 1 at best" in page
    assert "data:image/png" in page
    assert "Not checked: the ratios" in page
    done = CliRunner().invoke(app, ["advice", named, "--errors", "much"])
    assert done.exit_code != 0
    found.save(tmp_path / "b.json")
    assert CliRunner().invoke(app, ["report", "b.json", "-p", "follow"]).exit_code != 0
