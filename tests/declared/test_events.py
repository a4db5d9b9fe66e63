"""What policies are told, when, and how their decisions are taken."""

import json
import math
import random
import re
from fractions import Fraction

import numpy as np
import pytest
from independent.declared import FILES, load

from optsched.core import compare, simulate
from optsched.declared.events import WIRE, FunctionPolicy, events, public
from optsched.declared.model import Maximization, Minimization
from optsched.declared.policies import Lookahead, Posted, Rolling
from optsched.declared.problem import FAMILIES, Draws
from optsched.policies.loader import get_policy
from optsched.problem import InputError, PolicyError


def column(name, revealed, decided=None, **given):
    decided = revealed if decided is None else decided
    return {"name": name, "revealed": revealed, "decided": decided} | given


def shop():
    """Items with a common capacity, and an order of day 2 that stock of day 0 may fill."""
    return Maximization.model_validate(
        {
            "columns": [
                column("x[0]", 0, cost=3, upper=1, integer=True),
                column("x[1]", 1, cost=5, upper=1, integer=True),
                column("stock", 0, 1, cost=-1, upper=4),
                column("buy", 2, cost=-3, upper=4),
            ],
            "rows": [
                {"name": "room", "upper": 1, "entries": [(0, 1), (1, 1)]},
                {"name": "order", "lower": 2, "entries": [(2, 1), (3, 1)]},
                {"name": "loose", "entries": [(0, 1)]},
            ],
        }
    )


def test_rows_are_revealed_when_they_can_bind():
    assert shop().times == (0, 2, math.inf)
    told = {e.time: e for e in events(shop())}
    assert [c.name for c in told[0].columns] == ["x[0]", "stock"]
    assert [r.name for r in told[0].rows] == ["room"]
    assert told[0].entries == (("room", "x[0]", 1.0),)
    assert told[1].entries == (("room", "x[1]", 1.0),)
    assert told[1].decide == ("x[1]", "stock")
    assert told[2].entries == (("order", "stock", 1.0), ("order", "buy", 1.0))
    assert [r.name for r in told[2].rows] == ["order"]


@pytest.mark.parametrize(
    ("user", "limits", "time"),
    [
        ({}, {"upper": 0}, 3),  # x <= size: nothing binds before the first user
        ({}, {"upper": 2}, 3),
        ({}, {"lower": 0, "coefficients": (1, -1)}, 3),  # size - x >= 0
        ({}, {"upper": -1}, 0),  # size must be at least 1 in any case
        ({"lower": 1}, {"upper": 0}, 0),  # x needs a size
        ({"lower": -1}, {"upper": 0}, 3),  # x may help
        ({}, {"lower": 0, "upper": 0}, 3),
        ({"upper": 0}, {"upper": 0}, 0),  # nothing ever binds
    ],
)
def test_a_row_of_a_size_that_is_decided_first_waits_for_its_first_user(user, limits, time):
    size, used = limits.get("coefficients", (-1, 1))
    row = {"name": "room", "entries": [(0, size), (1, used), (2, used)]}
    row |= {side: limit for side, limit in limits.items() if side != "coefficients"}
    columns = [
        column("size", 0, upper=9, cost=1),
        column("x", 3, **{"upper": 4} | user),
        column("z", 5, upper=0),
    ]
    inst = Minimization.model_validate({"columns": columns, "rows": [row]})
    assert inst.times == (time,)


@pytest.mark.parametrize("seed", range(40))
def test_a_row_that_waits_cannot_be_broken_by_what_is_decided_meanwhile(seed):
    """Whatever the known columns are, the row holds while all others are 0, which they may be."""
    rng = random.Random(seed)
    waited = 0
    for _ in range(50):
        columns = [
            column(f"x[{j}]", t, lower=low, upper=low + rng.choice([0, 1, 4, math.inf]))
            for j, (t, low) in enumerate(
                (rng.randrange(4), rng.choice([0, 0, 0, -2, 1])) for _ in range(rng.randint(1, 4))
            )
        ]
        entries = [(j, rng.choice([-2, -1, 1, 2])) for j in range(len(columns))]
        limit = rng.choice([-1, 0, 0, 3])
        row = {"name": "r", "upper": limit, "entries": entries}
        inst = Minimization.model_validate({"columns": columns, "rows": [row]})
        parts = [
            (c["revealed"], *sorted((a * c["lower"], a * c["upper"])))
            for c, (_, a) in zip(columns, entries, strict=True)
        ]
        helpers = [t for t, least, _ in parts if least < 0]
        since = max(helpers) if helpers else min(t for t, *_ in parts)
        (time,) = inst.times
        assert time >= since
        waited += time > since
        if time > since:
            assert sum(most for t, _, most in parts if t < time) <= limit
            assert all(least == 0 for t, least, _ in parts if t >= time)
    assert waited or seed


def test_nothing_unrevealed_reaches_a_policy():
    for path in FILES:
        inst, _ = load(path)
        by_name = {c.name: c for c in inst.columns}
        seen, told = set(), json.dumps(WIRE.public.model_dump(public(inst)))
        assert set(json.loads(told)) == {"sense", "problem"}
        for event in events(inst):
            seen |= {c.name for c in event.columns}
            assert all(by_name[c].revealed <= event.time for c in seen)
            assert {c for _, c, _ in event.entries} <= seen
            assert {*event.decide} <= seen
            again = WIRE.read_event(public(inst), json.loads(json.dumps(WIRE.event(event))))
            assert again == event


def played(function, inst=None):
    return simulate(inst or shop(), FunctionPolicy(function))


def test_a_function_sees_what_is_left_of_known_rows():
    seen = []

    def careful(event):
        seen.append((event.time, event.residual("room"), event.value("x[0]")))
        if event.time == 2:
            return {"buy": event.residual("order")}
        return event.best(lambda x: x.cost if x.integer else 0)

    assert played(careful).value == 3 - 6
    assert seen == [(0, 1.0, None), (1, 0.0, 1.0), (2, 0.0, 1.0)]


def test_indices_and_memory_and_random_numbers():
    drawn = []

    def counting(event):
        event.memory["events"] = event.memory.get("events", 0) + 1
        drawn.append((event.memory["events"], event.random.random()))
        assert event.revealed[0].index in ((0,), (1,), ())
        assert event.revealed[0].component in ("x", "buy")
        return {"buy": 2} if event.time == 2 else {}

    policy = FunctionPolicy(counting)
    for _ in range(2):
        simulate(shop(), policy, seed=3)
    assert drawn[:3] == drawn[3:]
    assert [n for n, _ in drawn[:3]] == [1, 2, 3]


@pytest.mark.parametrize(
    ("decision", "complaint"),
    [
        ({"q": 1}, "time 0: variable 'q' is not known: it is revealed later, or there is none"),
        ({"x[1]": 1}, "time 0: variable 'x[1]' is not known: it is revealed later, or there is"),
        ({"stock": 1}, "time 0: variable 'stock' is not to be decided now"),
        ({"x[0]": 0.5}, "variable x[0]: value 0.5, expected an integer"),
        ({"x[0]": 2}, "variable x[0]: value 2, upper bound 1"),
        ({"x[0]": math.nan}, "variable x[0]: value nan, expected a number"),
        ([1], "expected a mapping from variables"),
        (None, "returned None, expected a mapping from variables"),
        ({"x[0]": 1, ("x", 0): 0}, "variable x[0] is decided twice, expected one value"),
        ({"x[0]": "one"}, "variable x[0]: value 'one', expected a number"),
        ({"x[0]": "1"}, "variable x[0]: value '1', expected a number"),
        ({0: 1}, "key 0 is no name, expected a variable of the event, its name, or (component, i"),
        ({("x", 7): 1}, "time 0: variable 'x[7]' is not known"),
    ],
)
def test_wrong_decisions_are_refused_at_once(decision, complaint):
    with pytest.raises(PolicyError, match=re.escape(complaint)):
        played(lambda _event: decision)


def test_a_decided_variable_stays_decided():
    def again(event):
        return {"x[0]": 0.0} if event.time == 1 else {}

    with pytest.raises(PolicyError, match=re.escape("time 1: variable 'x[0]' is already decided")):
        played(again)


def test_rows_that_are_not_revealed_cannot_be_asked_for():
    for name in ("order", "nope"):  # which of them there will be is not told
        line = f"time 0: InputError: constraint '{name}' is not known: it is revealed later, or the"
        with pytest.raises(PolicyError, match=line):
            played(lambda event, name=name: {"x[0]": event.residual(name)})
    line = "time 0: InputError: variable 'x[1]' is not known: it is revealed later, or there is"
    with pytest.raises(PolicyError, match=re.escape(line)):
        played(lambda event: {"x[0]": event.value(("x", 1))})


def test_a_misspelt_attribute_of_an_event_is_told_the_right_ones():
    message = "an event has no 'residul', expected one of: best, .*, residual, .*, variables"
    with pytest.raises(PolicyError, match=message):
        played(lambda event: {"x[0]": event.residul("room")})


def test_a_variable_that_cannot_be_0_must_be_decided():
    inst = Minimization.model_validate({"columns": [column("n", 0, lower=1, cost=1)], "rows": []})
    with pytest.raises(PolicyError, match="variable n is not decided, and cannot be 0"):
        played(lambda _event: {}, inst)
    assert simulate(inst, "greedy").value == 1.0


def test_broken_rows_are_reported_by_their_names():
    with pytest.raises(PolicyError, match=re.escape("(order) broken by 2 at activity 0, lower")):
        played(lambda _event: {})


@pytest.mark.parametrize("name", sorted(FAMILIES["max"].policies))
def test_built_in_policies_play_the_references(name):
    reached = 0
    for path in FILES:
        inst, known = load(path)
        if name not in FAMILIES[inst.sense].policies or known["status"] != "optimal":
            continue
        best = float(Fraction(known["optimum"]))
        try:
            run = simulate(inst, name, seed=1)
        except PolicyError:
            continue
        reached += 1
        sign = 1 if inst.sense == "max" else -1
        assert sign * run.value <= sign * best + 1e-6
        assert simulate(inst, name, seed=1).schedule == run.schedule
    assert reached


def test_foresight_of_everything_is_as_good_as_hindsight():
    for path in FILES:
        inst, known = load(path)
        if known["status"] == "optimal":
            value = simulate(inst, Lookahead(1000)).value
            assert value == pytest.approx(float(Fraction(known["optimum"])), rel=1e-7)


def test_foresight_buys_ahead_and_a_short_horizon_does_not():
    inst = shop()
    assert simulate(inst, Lookahead(2)).value == 5 - 2
    assert simulate(inst, "re-solve").value == 3 - 6
    late = Minimization.model_validate(
        {
            "columns": [column("a", 0, 0, cost=1, upper=9), column("b", 0, 5, cost=3, upper=9)],
            "rows": [{"name": "need", "lower": 4, "entries": [(0, 1), (1, 1)]}],
        }
    )
    assert simulate(late, "re-solve").value == 4
    assert simulate(late, Rolling(5)).value == 4
    with pytest.raises(PolicyError, match="no values satisfy constraint need, after"):
        simulate(
            Minimization.model_validate(
                late.model_dump()
                | {"columns": [late.columns[0].model_copy(update={"upper": 3.0}), late.columns[1]]}
            ),
            Rolling(1),
        )


def test_posted_prices_keep_room_for_later():
    entries = [(k, 1) for k in range(6)]
    costs = [1, 1, 1, 20, 20, 20]
    inst = Maximization.model_validate(
        {
            "columns": [
                column(f"x[{k}]", k, cost=c, upper=1, integer=True) for k, c in enumerate(costs)
            ],
            "rows": [{"name": "room", "upper": 3, "entries": entries}],
        }
    )
    assert simulate(inst, "greedy").value == 3
    assert simulate(inst, Posted(1 * 3, 20 * 3)).value > 20
    assert simulate(inst, "posted").value > 20
    with pytest.raises(InputError, match="expected 0 < low <= high"):
        Posted(3, 1)
    with pytest.raises(InputError, match="only maximizes, expected one of: greedy, "):
        simulate(Minimization.model_validate({"columns": [], "rows": []}), "posted")


def test_a_trivial_policy_that_fails_does_not_end_a_comparison():
    inst = Maximization.model_validate(
        {
            "columns": [
                column("a", 0, cost=1, upper=1, integer=True),
                column("b", 1, cost=0, upper=0.4),
            ],
            "rows": [{"name": "both", "upper": 0.5, "entries": [(0, 1), (1, -1)]}],
        }
    )
    with pytest.raises(
        PolicyError, match="greedy: time 1: no values satisfy constraint both, after"
    ):
        simulate(inst, "greedy")

    def nothing(_event):
        return {}

    report = compare(inst, [FunctionPolicy(nothing)])
    assert [row.name for row in report.policies] == ["nothing"]


def test_wrong_parameters_of_policies_are_refused():
    for make in (Lookahead, Rolling):
        with pytest.raises(InputError, match="window -1"):
            make(-1)
    assert get_policy(FAMILIES["max"], "lookahead", window=3).window == 3


def test_draws_belong_to_times():
    def drawn(cut):
        random = Draws(1, cut, 2)
        at = random.at([0, 0, 3, 5]).integers(0, 99, 4)
        return (
            random.integers(0, 99, (6, 2)).tolist(),
            at.tolist(),
            [int(random[t].integers(99)) for t in range(6)],
            int(random.public.integers(10**6)),
        )

    whole, cut = drawn(math.inf), drawn(3)
    assert whole[0][:3] == cut[0][:3]
    assert whole[0][3:] != cut[0][3:]
    assert whole[1][:2] == cut[1][:2]
    assert whole[1][2:] != cut[1][2:]
    assert whole[2][:3] == cut[2][:3]
    assert whole[2][3:] != cut[2][3:]
    assert whole[3] == cut[3]
    assert Draws(1).integers(0, 99, (3, 2)).tolist() == whole[0][:3]
    with pytest.raises(InputError, match="draws one number"):
        Draws(1).integers(9)
    with pytest.raises(
        InputError, match=r"draws no rows of times, expected random\[t\].permutation"
    ):
        Draws(1).permutation(5)
    assert sorted(Draws(1)[0].permutation(5)) == [*range(5)]
    for rows in (2, 4):
        line = f"random.integers draws {rows} rows for 3 times, expected a row for every time"
        with pytest.raises(InputError, match=line):
            Draws(1).at([0, 0.5, 2]).integers(0, 99, (rows, 2))


def test_arguments_of_a_draw_mean_what_they_mean_to_numpy():
    values = np.array([10, 20, 30])
    assert {*Draws(1).choice(values, 3).tolist()} <= {*values.tolist()}
    assert Draws(1).choice(5, 4, True, [0, 0, 0, 0, 1]).tolist() == [4] * 4
    assert {*Draws(1).integers(1, 2, 40, np.int64, True).tolist()} == {1, 2}
    assert Draws(1).dirichlet(np.ones(3), 3).shape == (3, 3)
    far = np.array([0.0, 1e6, 2e6])
    by_name, by_place = Draws(1).normal(loc=far, size=3), Draws(1).normal(far, 1, 3)
    assert np.abs(by_name - far).max() < 9
    assert by_name.tolist() == by_place.tolist()
    for given in ((5, 4, False), (5, (2, 2), False)):
        with pytest.raises(InputError, match="replace=False has no effect"):
            Draws(1).choice(*given)


def test_every_time_has_a_stream_of_its_own():
    random = Draws(1, 0.5, 2)
    times = (-1, 0, 0.25, 0.5, 0.75, 1)
    drawn = [random[t].random() for t in times]
    assert len({*drawn}) == len(times)
    assert random.at([0, 1])[0].random() not in drawn  # the same stream goes on
    alike = [a == Draws(1)[t].random() for t, a in zip(times, drawn, strict=True)]
    assert alike == [t < 0.5 for t in times]


def test_decisions_name_variables_by_component_and_index():
    def by_index(event):
        x = event.variables[0]
        assert event.value(x) is None
        if event.time == 2:
            return {"buy": 2}
        return {(x.component, x.index): 1.0} if x.component == "x" and event.fits(x) else {}

    assert played(by_index).value == 3 - 6


def test_a_table_and_a_run_state_that_a_policy_knew_the_future():
    inst = shop()
    assert "knows future" in str(simulate(inst, "lookahead"))
    report = compare(inst, ["lookahead", "re-solve"])
    known = {row.name: row.information for row in report.policies}
    assert known == {"lookahead": "after, future", "re-solve": "after"}
    assert "knows future" in str(report.policies[0])
