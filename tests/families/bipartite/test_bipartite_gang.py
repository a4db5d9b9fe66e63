"""Gangs: data, judge, integer program by hand, and the order bound >= optimum >= online."""

import numpy as np
import pytest
from pydantic import ValidationError

from optsched.families.bipartite.gang import GangJudge, GangOga, run_gangs
from optsched.families.bipartite.gang_optimum import gang_optimum, tangent_error, tangent_points
from optsched.families.bipartite.instance import BipartiteInstance, Machine, Port
from optsched.families.bipartite.instance_gang import Component, Gang, GangInstance
from optsched.families.bipartite.instance_utilities import KINDS, Utility
from optsched.families.bipartite.policy import OgaSched
from optsched.families.bipartite.presets import generate
from optsched.families.bipartite.program import Solver


def gangs_of(seed, *, parts=2, at_least=2, minimum=0.5, slots=30):
    """Each port's request split into equal components, each of which needs a share of it."""
    base = generate("small", seed=seed, slots=slots, ports=3, machines=3)
    gangs = []
    for port in base.ports:
        share = tuple(round(a / parts, 6) for a in port.request)
        least = tuple(round(minimum * a, 6) for a in share)
        gangs.append(
            Gang(components=(Component(request=share, minimum=least),) * parts, at_least=at_least)
        )
    ports = tuple(
        Port(request=tuple(round(parts * a, 9) for a in gang.components[0].request))
        for gang in gangs
    )
    return GangInstance(base=base.model_copy(update={"ports": ports}), gangs=tuple(gangs))


def pair(capacity, minimum, at_least=2):
    """One port of two components, each asks for 2 cores; one machine, linear utility."""
    part = Component(request=(2,), minimum=(minimum,))
    base = BipartiteInstance(
        horizon=2,
        resources=("cpu",),
        overhead=(0.5,),
        ports=(Port(request=(4,)),),
        machines=(
            Machine(capacity=(capacity,), ports=(0,), utility=({"kind": "linear", "alpha": 1.0},)),
        ),
        arrivals=((1,), (0,)),
    )
    return GangInstance(base=base, gangs=(Gang(components=(part, part), at_least=at_least),))


@pytest.mark.parametrize(
    ("capacity", "minimum", "at_least", "value"),
    [
        (3.0, 1.5, 2, 1.5),  # both run, with 1.5 each: gain 3, overhead 1.5
        (3.0, 1.6, 2, 0.0),  # both would need 3.2
        (3.0, 1.6, 1, 1.5),  # one runs, the other takes the rest
        (9.0, 2.0, 2, 2.0),
    ],
)
def test_optimum_by_hand(capacity, minimum, at_least, value):
    inst = pair(capacity, minimum, at_least)
    found = gang_optimum(inst, inst.base.jobs[0])
    assert found.value == pytest.approx(value, abs=1e-7)
    assert found.bound == pytest.approx(value, abs=1e-6)
    assert found.outer == 0
    assert gang_optimum(inst, inst.base.jobs[1]).value == 0


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ([[1.5], [1.0]], r"\(3.5\) broken by 1 at port 0, slot 0: 1 components"),
        ([[2.5], [0.5]], r"\(5\) broken by 0.5 at component 0 of port 0"),
        ([[2.0], [2.0]], r"\(6\) broken by 1 at machine 0, cpu, slot 0"),
        ([[-1.0], [2.0]], r"\(5\) broken by 1 at component 0 of port 0"),
        ([[1.5]], r"shape \(1, 1\), expected \(2, 1\)"),
    ],
)
def test_damage_is_named(decision, message):
    inst = pair(3.0, 1.5)
    judge = GangJudge(inst)
    judge.slot(0, inst.base.jobs[0], np.array(decision))
    assert judge.verdict().value is None
    import re

    assert re.search(message, str(judge.verdict())), str(judge.verdict())


@pytest.mark.parametrize("seed", range(4))
def test_bound_optimum_online(seed):
    inst = gangs_of(seed)
    solver, total, bound = Solver(inst.base), 0.0, 0.0
    patterns, which = inst.base.patterns
    for pattern, times in zip(patterns, np.bincount(which), strict=True):
        best = gang_optimum(inst, pattern)
        free = solver.solve(pattern, 1e-8)  # without gangs
        assert best.value <= best.bound + 1e-6
        assert best.bound - best.value <= best.outer + 1e-6
        assert best.value <= free.bound + 1e-6
        total, bound = total + times * best.value, bound + times * best.bound
    for learner in (OgaSched("theory"), OgaSched()):
        verdict, rewards = run_gangs(inst, GangOga(learner))
        assert verdict.feasible, verdict
        assert verdict.value == pytest.approx(sum(rewards))
        assert verdict.value <= bound


def test_online_earns_something_and_launches_whole_gangs():
    inst = gangs_of(1, minimum=0.1, slots=200)
    verdict, _ = run_gangs(inst, GangOga(OgaSched("adaptive")))
    assert verdict.value > 0


@pytest.mark.parametrize("kind", KINDS)
def test_tangents_lie_above_by_what_is_stated(kind):
    utility = Utility(kind=kind, alpha=1.3)
    points = tangent_points(utility, 20.0)
    error = tangent_error(utility, points)
    x = np.linspace(0, 20, 5001)
    least = np.min([utility(p) + utility.slope(p) * (x - p) for p in points], axis=0)
    above = least - [utility(v) for v in x]
    assert above.min() >= -1e-12
    assert above.max() <= error + 1e-12
    assert above.max() >= 0.9 * error - 1e-12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at_least": 3}, "at_least is 3, expected at most its 2 components"),
        ({"components": [{"request": (4,), "minimum": (0,)}], "at_least": 1}, "minimum is 0"),
        ({"components": [{"request": (3,), "minimum": (1,)}], "at_least": 1}, "request is"),
        ({"components": [{"request": (4, 1), "minimum": (1,)}], "at_least": 1}, "has 2 entries"),
    ],
)
def test_wrong_gangs_are_refused(change, message):
    good = pair(3.0, 1.5)
    gang = good.gangs[0].model_dump() | change
    with pytest.raises(ValidationError, match=message):
        GangInstance(base=good.base, gangs=(gang,))


def test_json_round_trip():
    inst = gangs_of(0)
    assert GangInstance.model_validate_json(inst.model_dump_json()) == inst
