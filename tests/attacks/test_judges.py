"""No schedule and no certificate makes a judge end in anything but a verdict or a clear error."""

import copy
from functools import partial
from itertools import product

import pytest
from independent import dmlrs, oasis
from independent.cases import AXES, case
from pydantic import ValidationError

from optsched import solve
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.problem import family_of

NUMBERS = (-1, 0, 1, 2**31, 2**53 + 1, 2**63, 10**30, 10**400, 0.5, 5e-324, 1e308, "1", None, True)


@pytest.fixture(scope="module")
def solved():
    """Return two instances of a family, with an optimum each."""
    known = {}

    def get(family):
        if family not in known:
            axis = next(iter(AXES[family]))
            scale = 1.0 if family == "bipartite" else 1e3
            found = [case(family, axis, scale, seed).instance for seed in (1, 2, 3, 4)]
            known[family] = [(i, solve(i, time_limit=60)) for i in found]
        return known[family]

    return get


def places(content, path=()):
    """Yield the paths of all lists and numbers."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from places(value, (*path, name))
    elif isinstance(content, list):
        yield path
        for k, value in enumerate(content[:3]):
            yield from places(value, (*path, k))
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield path


def put(content, path, value):
    """Return a copy with ``value`` in a place; a function is requested what to put there."""
    whole = copy.deepcopy(content)
    if not path:
        return value(whole) if callable(value) else value
    inside = whole
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value(inside[path[-1]]) if callable(value) else value
    return whole


LISTS = (lambda x: x[:0], lambda x: x * 2, lambda x: x[:-1], lambda x: [x], lambda x: x[::-1])


def hostile(content):
    """Yield damaged contents: every number replaced, every list emptied, doubled or cut."""
    for path in places(content):
        inside = content
        for step in path:
            inside = inside[step]
        for value in LISTS if isinstance(inside, list) else NUMBERS:
            yield path, put(content, path, value)


def answers(model, good, judge):
    """Yield what a judge states of every damaged content that can be read, but for clear errors."""
    for path, content in hostile(good.model_dump(mode="json")):
        try:
            made = model.model_validate(content)
        except ValidationError:
            continue
        try:
            said = judge(made)
        except ValueError:
            said = None
        except Exception as err:
            raise AssertionError(f"{path}: {made}: {err!r}") from err
        yield path, said


@pytest.mark.slow
@pytest.mark.parametrize("family", AXES)
@pytest.mark.parametrize("unfinished", [False, True])
def test_judges_answer(family, unfinished, solved):
    judged = 0
    for inst, best in solved(family):
        known = family_of(inst)
        if best.schedule is None:
            continue
        judge = partial(known.verify, inst, unfinished=unfinished)
        for path, verdict in answers(known.schedule, best.schedule, judge):
            judged += 1
            if verdict is not None and verdict.value is not None and not unfinished:
                better = known.sign * (verdict.value - best.value) > 1e-6 * abs(best.value)
                assert not better, (path, verdict)
    assert judged > 20


@pytest.mark.parametrize("family", AXES)
def test_checkers_answer(family, solved):
    checked = 0
    for inst, best in solved(family)[:2]:
        known = family_of(inst)
        if best.certificate is None:
            continue
        judge = partial(known.check, inst)
        for path, bound in answers(known.certificate, best.certificate, judge):
            checked += 1
            if bound is not None:
                assert known.sign * (best.value - bound) <= 1e-6 * abs(best.value), (path, bound)
    assert checked > 10


SLOTS = (0, 1, 2, 3, 4, 2**62)
ENTRIES = [()] + [((t, h, n),) for t, h, n in product(SLOTS, (0, 1), (1, 2**62))]


def one_job(family, utility):
    """Return a job that arrives in slot 2."""
    make = dmlrs.simple_job if family == "dmlrs" else oasis.simple_job
    job = make(arrival=2, ps_demand=(0.0,), utility=utility)
    sides = ("machines",) if family == "dmlrs" else ("worker_machines", "ps_machines")
    platform = dict.fromkeys(sides, ({"capacity": (1.0,)},))
    kind = DmlrsInstance if family == "dmlrs" else OasisInstance
    return kind(horizon=4, resources=("gpu",), jobs=(job,), **platform)


UTILITIES = (
    {"kind": "inverse"},
    {"kind": "inverse", "scale": 1e300},
    {"kind": "table", "values": [3.0, 2.0]},
    {"kind": "sigmoid", "scale": 1.0, "decay": 1e308, "target": 1.0},
    {"kind": "sigmoid", "scale": 1.0, "decay": 1e308, "target": -1e308},
    {"kind": "sigmoid", "scale": 5e-324, "decay": 800.0, "target": 0.0},
    {"kind": "sigmoid", "scale": 1.0, "decay": 400.0, "target": 1e3},
    {"kind": "constant", "value": 1e308},
)


@pytest.mark.parametrize("family", ["dmlrs", "oasis"])
@pytest.mark.parametrize("utility", UTILITIES, ids=str)
@pytest.mark.parametrize("unfinished", [False, True])
def test_delays_of_any_sign(family, utility, unfinished):
    """A job before its arrival has a delay below 0: of 1 / (1 + d), and of e^(decay d)."""
    try:
        inst = one_job(family, utility)
    except ValueError:  # refused
        return
    kind = DmlrsSchedule if family == "dmlrs" else OasisSchedule
    for workers, ps in product(ENTRIES, ENTRIES[:9]):
        job = {"workers": workers, "ps": ps}
        try:
            schedule = kind.model_validate({"jobs": [job]})
        except ValueError:  # refused
            continue
        verdict = family_of(inst).verify(inst, schedule, unfinished=unfinished)
        early = [t for t, *_ in (*workers, *ps) if t < 2]
        assert not (early and verdict.feasible), (schedule, verdict)


@pytest.mark.parametrize("family", ["dmlrs", "oasis"])
@pytest.mark.parametrize("utility", UTILITIES, ids=str)
def test_utilities_at_the_ends_of_floats_are_solved(family, utility):
    try:
        inst = one_job(family, utility)
    except ValueError:  # refused
        return
    best = solve(inst, time_limit=60)
    truth = inst.jobs[0].utility(0)
    assert best.value is not None
    assert best.bound is None or best.bound >= best.value
    if best.status == "optimal":
        assert best.value == pytest.approx(truth, rel=1e-6)
