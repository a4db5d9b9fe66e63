"""What is no game is refused in one line."""

import math

import pytest
from games import matching, model, skiing

import optsched
from optsched.problem import InputError, PolicyError


def one(sense="min", rows=(), offset=0, **column):
    columns = [{"name": "x[0]", "cost": 1, "revealed": 0, "upper": 1} | column]
    return model(sense, columns, rows, offset=offset)


BUY = [(1, math.inf, [(0, 1)])]


@pytest.mark.parametrize(
    ("instances", "line"),
    [
        ([], "there are no instances"),
        ([one(rows=BUY, integer=False)], r"instance 0: variable x\[0\] is continuous"),
        ([one(rows=BUY), one(rows=BUY, upper=math.inf)], r"instance 1: variable x\[0\] has no fin"),
        ([one(lower=0.2, upper=0.8)], "no integer within its bounds"),
        ([one(rows=[(2, math.inf, [(0, 1)])])], "instance 0 is infeasible"),
        ([one(rows=[(2, math.inf, [])])], r"instance 0: constraint r\[0\] cannot be satisfied"),
        ([one("max", offset=-3)], "instance 0: its optimum is -2, expected at least 0"),
        ([one()], "the optimum of every instance is 0"),
        ([one(), one("max")], "instance 1: its sense is 'max', that of instance 0 is 'min'"),
        (
            [optsched.get_family("bot").generate("small", seed=0)],
            "is of bot, expected a declared problem",
        ),
    ],
)
def test_wrong_instances(instances, line):
    with pytest.raises(InputError, match=line) as told:
        optsched.minimax(instances)
    assert "\n" not in str(told.value)


def later(*rows):
    """Return an instance whose second event states what the first decision should have been."""
    columns = [{"name": f"x[{t}]", "cost": 1, "revealed": t} for t in range(2)]
    return model("min", columns, [(-math.inf, 0, [(1, 1)]), *rows])


FIRST, NOT_FIRST = (1, math.inf, [(0, 1), (1, 1)]), (-math.inf, 0, [(0, 1), (1, -1)])


def test_constraints_that_no_algorithm_can_satisfy():
    assert optsched.minimax([later(FIRST)]).value == 1
    with pytest.raises(InputError, match="no online algorithm satisfies the constraints of all"):
        optsched.minimax([later(FIRST), later(NOT_FIRST)])


def test_no_finite_ratio():
    with pytest.raises(InputError, match="no ratio is finite"):
        optsched.minimax([later(FIRST), later()])


def test_too_many_decisions():
    columns = [{"name": f"x[{k}]", "cost": 1, "revealed": 0} for k in range(21)]
    with pytest.raises(InputError, match="time 0: the decisions in all states take more than"):
        optsched.minimax([model("max", columns, [])])


def test_a_menu_that_tells_the_future_is_refused():
    @optsched.menu(items=[1, 2], horizon=2)
    def scaled(values):
        columns = [
            {"name": f"x[{t}]", "cost": v / sum(values), "revealed": t}
            for t, v in enumerate(values)
        ]
        return model("max", columns, [])

    line = r"menu scaled reveals what is still to come: time 0: variable x\[0\]: cost is 1.0 or 0.5"
    with pytest.raises(InputError, match=line):
        optsched.minimax(scaled)


def test_wrong_menus():
    for items, horizon, line in (([], 2, "items is empty"), ([1], 0, "horizon is 0")):
        with pytest.raises(InputError, match=line):
            optsched.menu(items=items, horizon=horizon)
    with pytest.raises(InputError, match="shortest is 3, expected 1 to horizon, 2"):
        optsched.menu(items=[1], horizon=2, shortest=3)

    @optsched.menu(items=[1], horizon=1)
    def broken(items):
        return items[5]

    with pytest.raises(PolicyError, match="menu broken, 1: IndexError"):
        optsched.minimax(broken)

    @optsched.menu(items=[1], horizon=1)
    def nothing(_items):
        return None

    with pytest.raises(InputError, match="menu nothing returned a NoneType"):
        optsched.minimax(nothing)


def test_instances_of_several_problems():
    mixed = [matching([(0,)]), matching.function(((0,),))]
    with pytest.raises(InputError, match="its problem is '', that of instance 0 is 'matching'"):
        optsched.minimax(mixed)
    assert optsched.minimax(skiing(2, 2)[:1]).value == 1
