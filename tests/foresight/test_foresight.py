"""The value of foresight: curves against brute force, what windows show, options, refusals."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from independent import foresight as independent
from pages import Page
from sweeps import sweep

import optsched
from optsched.core import simulate, solve
from optsched.declared.events import events
from optsched.declared.policies import Duals, Lookahead
from optsched.declared.problem import Draws
from optsched.experiments.foresight import Foresight, share, shares
from optsched.problem import InputError, PolicyError, get_family
from optsched.process import interrupts
from optsched.process.loading import load_from_file

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
HOURS, WINDOWS = 14, [0, 1, 3, 6, 20]


@pytest.fixture(scope="module")
def battery():
    return load_from_file(f"{GALLERY / 'battery.py'}:battery", "problem")


@optsched.problem(sizes={"small": {"days": 8}})
def lots(random, days):
    """Order for several days, at a fixed cost."""
    demand = random.integers(0, 9, days)
    m = pyo.ConcreteModel()
    m.D = range(days)
    m.order, m.stock = pyo.Var(m.D, bounds=(0, 30)), pyo.Var(m.D, bounds=(0, 30))
    m.setup = pyo.Var(m.D, domain=pyo.Binary)
    m.cost = pyo.Objective(expr=sum(9 * m.setup[d] + 1.1 * m.stock[d] for d in m.D))
    m.level = pyo.Constraint(
        m.D,
        rule=lambda m, d: m.stock[d] == (m.stock[d - 1] if d else 0) + m.order[d] - int(demand[d]),
    )
    m.paid = pyo.Constraint(m.D, rule=lambda m, d: m.order[d] <= 30 * m.setup[d])
    return optsched.online(m, revealed={v: lambda d: d for v in (m.order, m.stock, m.setup)})


def decided(inst, policy):
    """Return what a policy decides, by variable."""
    made = simulate(inst, policy).schedule
    return dict(zip([c.name for c in inst.columns], made.values, strict=True))


def test_the_curve_of_the_battery_is_that_of_brute_force(battery):
    found = optsched.foresight(battery, WINDOWS, seeds=3, hours=HOURS)
    for seed in range(3):
        inst = battery(seed=seed, hours=HOURS)
        prices = [c.cost for c in inst.columns if c.name.startswith("sell")]
        expected = [independent.battery(prices, w) for w in WINDOWS]
        assert [row[seed] for row in found.values] == pytest.approx(expected, abs=1e-6)
    assert found.points[0].low == 0.0
    assert found.points[1].low < found.points[3].low
    shares = [point.low for point in found.points]
    assert found.knee == next(
        w for w, s in zip(WINDOWS, shares, strict=True) if s >= 0.99 * shares[-1]
    )


def test_ctrl_c_during_the_optimum_is_no_lack_of_time():
    with interrupts.remembered():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            optsched.foresight(lots, [0], seeds=1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("terminal", ["none", "duals"])
def test_a_window_over_the_whole_horizon_is_the_optimum(battery, seed, terminal):
    for problem, sizes in ((battery, {"hours": 30}), (lots, {})):
        best = solve(problem(seed=seed, **sizes)).value
        found = optsched.foresight(problem, [40], seeds=[seed], terminal=terminal, **sizes)
        assert found.values[0][0] == pytest.approx(best, rel=1e-9)
        assert found.points[0].high == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("name", ["battery", "lots"])
@pytest.mark.parametrize(
    "options",
    sweep(
        [{"forecast": 0.3}, {"commit": 2}, {"terminal": lambda x, _end: x.cost / 9}, {}], quick=2
    ),
)
def test_windows_reveal_nothing_beyond_their_end(battery, name, options):
    problem, sizes = (battery, {"hours": 16}) if name == "battery" else (lots, {"days": 10})
    shown = []
    for window in (0, 1, 3):
        for now in (2, 5):
            cut = now + window + 1  # the two are alike before
            pair = [problem.draw(Draws(4, cut, other), 4, None, sizes) for other in (4, 1_000_003)]
            sides = [decided(inst, Lookahead(window, **options)) for inst in pair]
            for c in pair[0].columns:
                if c.decided <= now:
                    assert sides[0][c.name] == sides[1][c.name]
            shown.append(sides[0] != sides[1])
    assert any(shown)  # what comes later does matter


def test_committed_decisions_are_not_reconsidered(battery):
    inst = battery(seed=1, hours=24)
    coming = list(events(inst))
    seen = []

    def end_of_window(_variable, end):
        seen.append(end)
        return 0.0

    for window in (6, 30):
        seen.clear()
        simulate(inst, Lookahead(window, commit=4, terminal=end_of_window, future=coming))
        assert sorted(set(seen)) == [window + t for t in range(0, 24, 4)]
    always = optsched.foresight(inst, [6])
    rarely = optsched.foresight(inst, [6], commit=5)
    assert rarely.points[0].low < always.points[0].low


def test_forecasts_are_believed_and_not_judged(battery):
    inst = battery(seed=1, hours=24)
    asked = []

    def flat(variable, lead, _random):
        asked.append((variable.revealed, lead))
        return -45.0 if variable.name.startswith("buy") else 45.0

    blind = optsched.foresight(inst, [6], forecast=flat)
    perfect = optsched.foresight(inst, [6])
    assert blind.points[0].low < perfect.points[0].low
    assert all(0 < lead <= 6 for _, lead in asked)
    known = optsched.foresight(inst, [6], forecast=lambda x, _lead, _random: x.cost)
    assert known.values[0] == pytest.approx(perfect.values[0])
    closed = optsched.foresight(inst, [6], forecast=lambda _x, _lead, _random: {"upper": 0.0})
    assert closed.values[0] == pytest.approx(optsched.foresight(inst, [0]).values[0])
    noisy = [optsched.foresight(inst, [6], forecast=0.5, seeds=4) for _ in range(2)]
    assert noisy[0].values == noisy[1].values
    assert len(set(noisy[0].values[0])) == 4


def test_duals_price_what_reaches_beyond_the_window(battery):
    inst = battery(seed=1, hours=24)
    worth = Duals(inst)
    buy = next(c for c in inst.columns if c.name == "buy[3]")
    sell = next(c for c in inst.columns if c.name == "sell[3]")
    assert worth(sell, 8.0) < 0 < worth(buy, 8.0)  # in units of what is stored
    assert worth(buy, 8.0) == pytest.approx(-independent.KEPT * worth(sell, 8.0))
    assert worth(buy, 23.0) == 0.0
    plain = optsched.foresight(inst, [1, 3])
    own = optsched.foresight(inst, [1, 3], terminal=inst)
    assert own.terminal == "duals"
    assert all(b.low > a.low for a, b in zip(plain.points, own.points, strict=True))
    other = optsched.foresight(battery, [1], seeds=[0, 1], hours=24, terminal="duals")
    next_seed = battery(seed=2, hours=24)
    assert other.values[0][1] == optsched.foresight(inst, [1], terminal=next_seed).values[0][0]


def test_shares_have_the_sign_of_what_is_reached():
    assert [share("max", v, 4.0) for v in (4.0, 1.0, 0.0, -2.0)] == [1.0, 0.25, 0.0, -0.5]
    assert [share("min", v, 4.0) for v in (4.0, 8.0)] == [1.0, 0.5]
    assert [share("max", v, -4.0) for v in (-4.0, -8.0)] == [1.0, 0.5]
    assert [share("min", v, -4.0) for v in (-4.0, -1.0, 2.0)] == [1.0, 0.25, -0.5]
    assert [share("max", 0.0, 0.0), share("max", -1.0, 0.0), share("min", 3.0, 0.0)] == [1, 0, 0]


@pytest.mark.parametrize(
    ("value", "best", "bound", "ends"),
    [
        (3.0, 4.0, 6.0, (0.5, 0.75)),
        (-1.0, 4.0, 6.0, (-1 / 4, -1 / 6)),
        (-8.0, 1.0, 3.0, (-8.0, -8 / 3)),
        (-8.0, -4.0, 1.0, (-np.inf, 0.5)),
        (-8.0, 0.0, 3.0, (-np.inf, 0.0)),
        (0.0, 0.0, 3.0, (0.0, 1.0)),
        (-8.0, -4.0, -2.0, (0.25, 0.5)),
    ],
)
def test_shares_lie_between_those_of_all_optima_that_the_interval_allows(value, best, bound, ends):
    for sense, sign in (("max", 1), ("min", -1)):
        low, high = shares(sense, sign * value, sign * best, sign * bound)
        assert (low, high) == ends
        for optimum in np.linspace(best, bound, 50):
            assert low - 1e-12 <= share(sense, sign * value, sign * optimum) <= high + 1e-12


def test_a_share_without_a_lower_end_is_written_and_read_again(tmp_path):
    given = {"problem": "p", "family": "declared-max", "sense": "max", "windows": (0.0,)}
    given |= {"commit": 0.0, "terminal": "none", "forecast": "perfect", "seeds": (0,)}
    found = Foresight(**given, optima=((-4.0, 1.0),), values=((-8.0,),), seconds=0.0)
    assert found.points[0].share == "-inf .. 0.5000"
    found.save(tmp_path / "curve.json")
    assert Foresight.load(tmp_path / "curve.json").points == found.points


def test_a_share_without_a_lower_end_is_at_most_something(tmp_path):
    """Nothing is within 1 % of it but the largest window itself."""
    given = {"problem": "p", "family": "declared-max", "sense": "max", "windows": (0.0, 1.0)}
    given |= {"commit": 0.0, "terminal": "none", "forecast": "perfect", "seeds": (0,)}
    found = Foresight(**given, optima=((-4.0, 1.0),), values=((-8.0,), (-5.0,)), seconds=0.0)
    assert found.knee == 1.0
    found.save(tmp_path / "curve.json")
    page = Page(optsched.report(tmp_path / "curve.json", tmp_path / "p.html"))
    assert "a rolling horizon reaches at most 80.00% of the optimum" in page.words
    assert "inf%" not in page.words


@pytest.mark.parametrize(
    ("family", "sizes"),
    [
        ("oasis", {"jobs": 4, "slots": 6}),
        pytest.param("dmlrs", {"jobs": 3, "slots": 5}, marks=pytest.mark.slow),
        pytest.param("completion", {"jobs": 3}, marks=pytest.mark.slow),
    ],
)
def test_families_foresee_arrivals(family, sizes):
    record = get_family(family)
    inst = record.generate("small", seed=3, **sizes)
    found = optsched.foresight(inst, [0, 50], time_limit=20)
    simple = simulate(inst, "re-solve").value
    assert found.values[0][0] == pytest.approx(simple)
    assert record.sign * found.values[1][0] >= record.sign * simple - 1e-9
    assert found.points[1].high == pytest.approx(1.0, abs=2e-3)  # its gap


def test_what_is_wrong_is_refused_in_one_line(battery):
    inst = battery(seed=1, hours=6)

    def refused(match, *given, error=InputError, **options):
        with pytest.raises(error, match=match) as caught:
            optsched.foresight(*given, **options)
        assert "\n" not in str(caught.value)

    refused("windows", inst, [])
    refused("windows", inst, [1, -1])
    refused("expected an optsched.problem", 7)
    refused("an instance alone", inst, hours=9)
    refused("no further seed", inst, terminal="duals")
    refused("commit -1", inst, commit=-1)
    refused("relative standard error", inst, forecast=-0.5)
    refused("3 seeds and 2 instances", [inst, inst], seeds=3)
    refused("has no policy re-solve", get_family("bot").generate("small", seed=1))
    refused("no commitment", get_family("oasis").generate("small", seed=1), commit=2)
    with pytest.raises(PolicyError, match="window 3, seed 0: ZeroDivisionError"):
        optsched.foresight(inst, [3], terminal=lambda _x, _end: 1 / 0)


@pytest.fixture
def folder(folder):
    (folder / "battery.py").write_text((GALLERY / "battery.py").read_text())
    return folder


@pytest.mark.slow
def test_the_command_writes_a_curve_and_its_page(folder, call):
    words = ["battery.py:battery", "--seeds", "2", "--seed", "5", "--windows", "0,24"]
    status, out, _ = call("foresight", *words, "-o", "curve.json", "--plot", ".")
    assert status == 0
    assert "24 (knee)" in out
    assert (folder / "foresight.png").stat().st_size > 1000
    status, out, _ = call("foresight", *words, "--json")
    told = json.loads(out)
    assert told["seeds"] == [5, 6]
    found = Foresight.load("curve.json")
    assert told["values"] == [list(row) for row in found.values]
    assert told["knee"] == found.knee == 24.0
    assert call("report", "curve.json", "-o", "curve.html")[0] == 0
    page = (folder / "curve.html").read_text()
    assert "data:image/svg+xml" in page
    assert "Not checked: the values and bounds" in page
    assert "certified" not in page.split("</style>")[1]  # a file holds no certificates


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ({"values": [[1.0], [1.0, 1.0]]}, "as many optima and values"),
        ({"values": [[1.0, 1.0], [1.0, 9.0]]}, "seed 6: the value 9 is better than the bound 2"),
        ({"optima": [[3.0, 2.0], [2.0, 2.0]]}, "seed 5: the value 3 is better than the bound 2"),
        ({"windows": [1e300, 1.7e308]}, "the largest window is 1.7e+308, expected at most 1e+12"),
        ({"windows": [-1.0, 24.0]}, "windows.0: is -1.0"),
        (
            {"windows": [*range(201)], "values": [[1.0, 1.0]] * 201},
            "there are 201 windows and 2 instances, expected at most 200 windows",
        ),
        ({"forecast": "x" * 1001}, "String should have at most 1000 characters"),
        ({"problem": "a $\\frac{$ b", "terminal": "$x_{"}, ""),
    ],
)
def test_an_edited_curve_is_a_page_or_one_line(edits, message, tmp_path, call):
    kept = Foresight(
        problem="p", family="declared-max", sense="max", windows=(0.0, 24.0), commit=0.0,
        terminal="none", forecast="perfect", seeds=(5, 6), optima=((2.0, 2.0), (2.0, 2.0)),
        values=((0.0, 1.0), (1.0, 2.0)), seconds=1.0,
    )  # fmt: skip
    path = tmp_path / "curve.json"
    kept.save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | edits))
    status, _, err = call("report", str(path), "-o", str(tmp_path / "p.html"))
    assert (status, "a defect" in err) == (2 if message else 0, False), err
    assert message in err


def test_more_windows_than_a_page_shows_are_refused_at_once():
    with pytest.raises(InputError, match="300 windows and 2 instances, expected at most 200"):
        optsched.foresight(lots, range(300), seeds=2)


@pytest.mark.usefixtures("folder")
def test_the_command_reads_instances_and_programs_with_times(call):
    assert call("generate", "battery.py:battery", "--seed", "1", "-o", "one.json")[0] == 0
    assert call("export", "one.json", "-o", "one.mps")[0] == 0
    curves = []
    for words in (["one.json"], ["one.mps", "--times", "one.times.csv"]):
        status, out, _ = call("foresight", *words, "--windows", "3", "--json")
        assert status == 0
        curves.append(json.loads(out)["values"])
    assert np.abs(np.ravel(curves[0])) == pytest.approx(np.abs(np.ravel(curves[1])))
    assert call("foresight", "one.mps")[0] == 2
    assert call("foresight", "one.json", "--windows", "3,x")[0] == 2
    assert call("foresight", "one.json", "--forecast", "good")[0] == 2


@optsched.problem(sizes={"day": {"hours": 24}})
def ice(random, hours):
    """A store loses a twentieth of its level in every hour, so that values have many digits."""
    price, need = random.integers(10, 60, hours), random.integers(0, 5, hours)
    m = pyo.ConcreteModel()
    m.H = range(hours)
    m.make, m.level = pyo.Var(m.H, bounds=(0, 8)), pyo.Var(m.H, bounds=(0, 20))
    m.short = pyo.Var(m.H, bounds=(0, 100))
    m.cost = pyo.Objective(expr=sum(int(price[h]) * m.make[h] + 200 * m.short[h] for h in m.H))

    def balance(m, h):
        before = 0.95 * m.level[h - 1] if h else 0
        return m.level[h] == before + m.make[h] + m.short[h] - int(need[h])

    m.balance = pyo.Constraint(m.H, rule=balance)
    return optsched.online(m, {v: lambda h: h for v in (m.make, m.level, m.short)})


def test_values_of_many_digits_keep_constraints():
    found = optsched.foresight(ice, windows=[0, 3, 6], seeds=4)
    assert 0 < found.points[0].low <= found.points[-1].low <= 1
