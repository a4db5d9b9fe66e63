"""Instances that are drawn stay what they are, bit by bit; and loads that are held."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from optsched.core import open_input
from optsched.families.dmlrs.instance import usable_ps
from optsched.families.dmlrs.sources.presets import generate as dmlrs
from optsched.families.oasis.instance import ps_for, ps_table
from optsched.families.oasis.sources.presets import generate as oasis
from optsched.numbers.resources import ceil_ratio, ceil_tol, exact, units_that_fit, usable
from optsched.problem import InputError, Window, get_family

DRAWN = [
    ("oasis", "paper", 0, {}, "f1a11d23964bcf51"),
    ("oasis", "small", 7, {}, "b732fbe4f94103d5"),
    ("dmlrs", "paper", 7, {}, "c7addd4bde9b50ed"),
    ("dmlrs", "small", 0, {}, "0a8bbd4b1257058c"),
    ("completion", "mid", 7, {}, "615958fae41c982d"),
    ("completion", "small", 0, {}, "b90befcf4f84c7c4"),
    ("oasis", "earnable", 3, {"jobs": 150, "slots": 40, "machines": 9}, "093297b35bbadac2"),
    (
        "oasis",
        "paper",
        1,
        {"jobs": 50, "completable": False, "slot_seconds": 900.0},
        "1ec9771f20351aec",
    ),
    (
        "dmlrs",
        "contended",
        3,
        {"jobs": 150, "slots": 40, "machines": 9, "ratio": 7.0, "held": "outer"},
        "1af87d55dafc5d8d",
    ),
]
TRACES = [
    ("oasis", "48ee0efdf34f0b33", "aa52c958c5c87ece"),
    ("dmlrs", "d220f1c056372755", "6fc8fd0faa94dfcb"),
    ("completion", "cc6ed2433b77f1e0", "acf49e3cb71c754f"),
]
AMOUNTS = (0.0, 0.1, 0.25, 0.3, 1.0, 1.7, 2.999999999, 3.0, 7.13, 48.0, 1e-9, 999.999)


@pytest.mark.parametrize(("family", "preset", "seed", "sizes", "digest"), DRAWN)
def test_what_is_drawn(family, preset, seed, sizes, digest):
    assert get_family(family).generate(preset, seed=seed, **sizes).digest().startswith(digest)


@pytest.mark.parametrize(("family", "usual", "more"), TRACES)
def test_what_is_made_of_a_trace(family, usual, more):
    sample = Path("sample")
    assert open_input(sample, family, Window(slot="1h")).digest().startswith(usual)
    window = Window(slot="30min", jobs=300, slots=300, draw_seed=4)
    assert open_input(sample, family, window).digest().startswith(more)


@pytest.mark.parametrize("seed", range(5))
def test_whole_numbers_say_what_fractions_say(seed):
    rng = np.random.default_rng(seed)
    for _ in range(200):
        a, b = (int(x) for x in rng.integers(1, 10 ** int(rng.integers(1, 15)), 2))
        assert ceil_ratio(a, b) == ceil_tol(Fraction(a, b))
        near = a * b * 10**9 + int(rng.integers(-2, 3)) * a  # within the tolerance, or just not
        assert ceil_ratio(near, b * 10**9) == ceil_tol(Fraction(near, b * 10**9))
        capacity, demand = (tuple(map(float, rng.choice(AMOUNTS, 3))) for _ in range(2))
        quotients = [
            int(usable(c) / exact(d)) for c, d in zip(capacity, demand, strict=True) if d > 0
        ]
        assert units_that_fit(capacity, demand, 50) == min([50, *quotients])


@pytest.mark.parametrize("seed", range(3))
def test_ps_beside_workers(seed):
    rng, jobs = np.random.default_rng(seed), oasis("paper", seed=seed, jobs=5).jobs
    for job in jobs:
        assert tuple(ps_for(job, n) for n in range(job.chunks + 1)) == ps_table(job)
    for job in dmlrs("small", seed=seed, jobs=5).jobs:
        for workers in range(4):
            capacity = tuple(float(x) for x in rng.choice([*AMOUNTS, 20.0, 64.0], 3))
            left = [
                usable(c) - workers * exact(a)
                for c, a in zip(capacity, job.worker_demand, strict=True)
            ]
            beside = [int(x / exact(b)) for x, b in zip(left, job.ps_demand, strict=True) if b > 0]
            expected = -1 if min(left) < 0 else min([9, *beside])
            assert usable_ps(capacity, job, workers, 9) == expected


def load_of(inst):
    facts = get_family(inst.family).describe(inst)["offered load"]
    sides = facts.values() if isinstance(next(iter(facts.values())), dict) else [facts]
    return max(x for side in sides for x in side.values())


@pytest.mark.parametrize("family", ["oasis", "dmlrs"])
def test_the_load_is_held_as_the_size_grows(family):
    generate = get_family(family).generate
    for jobs in (60, 400):
        made = generate("paper", seed=2, jobs=jobs, load=0.8)
        assert len(made.jobs) == jobs
        assert load_of(made) == pytest.approx(0.8, rel=0.06)
        assert made.source.endswith(f"jobs={jobs}, load=0.8")


def test_the_load_of_a_preset_as_it_is():
    assert load_of(get_family("completion").generate("mid", seed=1, load=2.0)) == pytest.approx(
        2.0, rel=0.25
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"load": 1.0, "machines": 9}, "load sets the number of machines, expected one of the two"),
        ({"load": -1.0}, "load is -1.0, expected"),
        ({"load": 1e3}, r"load 1000 cannot be reached: with 2 machines it is [0-9.]+; expected"),
        ({"load": 1e-6}, "load 1e-06 requests [0-9]+ machines, expected at most 100000"),
    ],
)
def test_wrong_loads(options, message):
    with pytest.raises(InputError, match=message):
        dmlrs("small", seed=1, **options)
