"""Boxes: what presets draw lies inside, and moves do not lead out."""

import numpy as np
import pytest
from spaces import is_inside

from optsched.adversarial.evaluation import Evaluation
from optsched.adversarial.moves import AIMED, PLAIN, STRUCTURAL, Evaluated, MoveContext, block
from optsched.numbers.parameter_space import (
    Either,
    OneOf,
    Real,
    Some,
    Whole,
    copied,
    put,
    value_at,
)
from optsched.problem import get_family

SIZES = {
    "oasis": {"jobs": 4},
    "dmlrs": {"jobs": 4},
    "completion": {"jobs": 3},
    "bipartite": {"slots": 6},
    "bot": {},
    "rigid": {"jobs": 4},
}
MOVES = [*PLAIN, *STRUCTURAL, *AIMED]


def box_of(name):
    return get_family(name).parameter_space("small", **SIZES[name])


def test_all_families_declare_a_box():
    assert [name for name in SIZES if get_family(name).parameter_space is None] == []


@pytest.mark.parametrize("name", SIZES)
def test_what_a_preset_draws_is_in_its_box(name):
    space = box_of(name)
    drawn = [space.draw(seed) for seed in range(6)]
    assert all(is_inside(space, data) for data in drawn)
    assert len({str(data) for data in drawn}) == 6
    assert get_family(name).instance.model_validate(drawn[0]).model_dump(mode="json") == drawn[0]


@pytest.mark.parametrize(("name", "policy"), [("oasis", "oasis"), ("dmlrs", "pd-ors")])
@pytest.mark.parametrize("jobs", [1, 32])
def test_the_theorems_speak_of_all_fine_instances(name, policy, jobs):
    family = get_family(name)
    space = family.parameter_space("fine", jobs=jobs)
    for seed in range(4):
        inst = family.instance.model_validate(space.draw(seed))
        known = {"alpha": "alpha", "theorem_3": "theorem_3"}
        prior = {key: family.knowledge[key](inst) for key in known if key in family.knowledge}
        assert family.guarantee(inst, policy, prior) < 100


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_moves_stay_in_the_box(name):
    family, space = get_family(name), box_of(name)
    rng = np.random.default_rng(1)
    data, other = space.draw(1), space.draw(2)
    made = set()
    for k in range(6 * len(MOVES)):
        move = MOVES[k % len(MOVES)]
        jobs = len(data[space.jobs.name])
        ends = tuple(int(end) for end in rng.integers(3, size=2 * jobs))
        found = Evaluation(low=2, share=1, earned=0.5, mine=ends[:jobs], best=ends[jobs:])
        hand = MoveContext(space, rng, [Evaluated(other, found, 1.0)])
        before = copied(data)
        moved = move(hand, copied(data), found)
        assert data == before, "expected a move to change its own copy alone"
        settled = None if moved is None else space.settle(moved)
        if settled is not None:
            assert is_inside(space, settled), move.__name__
            family.instance.model_validate(settled)
            made |= {move.__name__} if settled != data else set()
            data = settled
    assert made >= {"redraw", "nudge", "drop", "add", "to_the_end", "alike", "exchange", "cross"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_what_is_outside_is_known(name):
    space = box_of(name)
    for part in (space.jobs, *space.others):
        for path, values in part.fields.items():
            if isinstance(values, Whole | Real):
                data = space.draw(0)
                put(data[part.name], 0, path, values.ends()[1] + 7)
                assert not is_inside(space, data)
    crowded = space.draw(0)
    crowded[space.jobs.name] *= 2
    assert not is_inside(space, crowded)


@pytest.mark.parametrize(
    "values",
    [
        Whole(3, 9),
        Real(0.5, 2.5, 3),
        OneOf(("a", "b")),
        Either((Whole(0, 0), Real(4.0, 6.0, 3))),
        Some(5, 1, 3),
    ],
)
def test_ranges_hold_what_they_give(values):
    rng = np.random.default_rng(0)
    value = values.draw(rng)
    seen = set()
    for _ in range(200):
        assert values.holds(value)
        value = values.near(value, rng) if rng.random() < 0.7 else values.draw(rng)
        seen.add(str(value))
    assert all(map(values.holds, values.ends()))
    assert len(seen) > 1


def test_a_preferred_job_is_made_long_and_others_dense():
    space = box_of("dmlrs")
    part, found = space.jobs, Evaluation(low=2, share=1, earned=0.5, mine=(9, 3), best=(1, 3))
    data = space.draw(1)
    data["jobs"] = data["jobs"][:2]
    ways = set()
    for seed in range(40):
        first, other = block(MoveContext(space, np.random.default_rng(seed)), copied(data), found)[
            "jobs"
        ]
        for now, before, signs in ((first, 1, part.length), (other, 0, part.width)):
            for path, sign in signs.items():
                way = value_at(now, path) - value_at(data["jobs"][before], path)
                ways.add((before, np.sign(sign * way)))
    assert ways == {(0, 0), (0, 1), (1, 0), (1, 1)}
