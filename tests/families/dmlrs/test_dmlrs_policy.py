"""PD-ORS and the baselines: known runs, the theorem, and the contract of every policy."""

import math
from dataclasses import replace

import numpy as np
import pytest
from independent.dmlrs import FILES, load
from knowing import prior_of

from optsched.core import simulate
from optsched.families.dmlrs import FAMILY
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.policies import BASELINES
from optsched.families.dmlrs.policies.common import ArrivedJob
from optsched.families.dmlrs.policies.common import SharedMachines as Pool
from optsched.families.dmlrs.policies.paper import PdOrs, PdOrsRandomized
from optsched.families.dmlrs.policies.prior import theorem_gain
from optsched.families.dmlrs.policies.rounding import (
    PlacementRelaxation,
    SlotProblem,
    round_until_feasible,
)
from optsched.families.dmlrs.sources.presets import generate
from optsched.numbers.resources import MachineClass
from optsched.numbers.streams import Streams
from optsched.problem import InputError

POLICIES = FAMILY.compared


@pytest.fixture(scope="module")
def contended():
    """Twenty jobs on four machines, some of which run faster on more than one."""
    return generate("contended", seed=3, jobs=20, slots=30, machines=4, ratio=3, g_unit="Mbit")


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_known_runs(file):
    inst, reference = load(file)
    policy = PdOrs(U="printed")
    prior = prior_of(inst, policy)
    assert prior["ln_U(price=printed)"] == [
        u if u is None else pytest.approx(u) for u in reference["lnU"]
    ]
    lower = reference["lnL"]
    assert prior["ln_L"] == (lower if lower is None else pytest.approx(lower))
    run = simulate(inst, policy)
    outcomes = [o["completion"] for o in reference["tie_outcomes"]]
    assert list(run.completion) in outcomes
    if reference["tie_robust"]:
        assert list(run.completion) == reference["online"]["completion"]
        assert run.value == pytest.approx(reference["online"]["value"])


def test_the_ratio_of_the_theorem():
    inst, reference = load(FILES[0])
    exact = simulate(inst, "pd-ors")
    spans = [u - exact.prior["ln_L"] for u in exact.prior["ln_U"]]
    theorem = exact.prior["theorem_3"]
    assert theorem == pytest.approx(2 * max(1.0, *spans))  # the maximum, not the minimum
    assert exact.guarantee is None  # a job may fill a machine
    assert 2 * reference["alpha"] <= theorem  # the safe U is above the printed one
    assert simulate(inst, PdOrs(L_scale=10.0)).guarantee is None
    assert simulate(inst, PdOrs(U="printed")).guarantee is None
    assert simulate(inst, "pd-ors-randomized").guarantee is None  # the gain is too small
    gain = theorem_gain(1.0)
    assert gain == pytest.approx(5.4, abs=0.05)
    randomized = simulate(inst, PdOrsRandomized(gain=gain))
    (most_runs,) = (randomized.prior[n] for n in randomized.prior if n.startswith("theorem_3"))
    assert most_runs == pytest.approx(3 * gain * theorem)
    assert randomized.guarantee is None  # that is about most runs, not about this one


def test_l_scale_raises_the_lowest_price():
    inst, _ = load(FILES[0])
    lower = []
    for scale in (1.0, 100.0, 1e300):
        policy = PdOrs(L_scale=scale)
        prior = prior_of(inst, policy)
        policy.start(inst.platform(), prior, Streams(0))
        lower.append(policy.prices.lower[0, 0])
    assert lower[1] == pytest.approx(lower[0] + math.log(100))
    assert lower[2] == pytest.approx(min(prior["ln_U"]))  # no higher than U


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"U": "large"}, "U is 'large', expected 'safe' or 'printed'"),
        ({"L_scale": 0.0}, "L_scale 0.0"),
        ({"gain": 0.5}, "gain 0.5"),
        ({"delta": 2.0}, "delta 2.0"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        PdOrs(**options)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_obeys_the_model(contended, name):
    assert simulate(contended, name).value > 0  # raises if the judge rejects it


def test_the_exact_oracle_places_what_rounding_cannot(contended):
    policy = PdOrsRandomized(most_rounds=3)
    first, again = simulate(contended, policy, seed=1), simulate(contended, policy, seed=1)
    assert first.schedule == again.schedule
    tally = policy.tally
    assert tally.solved > 0
    assert tally.failed > 0
    assert tally.rounds >= tally.solved


def test_rounding_keeps_the_rules():
    rng = np.random.default_rng(0)
    free = np.array([[6.0, 3.0, 2.0], [9.0, 9.0, 9.0]])
    problem = SlotProblem(
        np.array([1.0, 2.0, 4.0]),
        np.array([1.0, 1.0, 1.0]),
        free,
        np.array([2.0, 1.0]),
        np.array([1.0, 1.0]),
        np.array([0, 1, 2, 3, 4]),
        np.array([0, 1, 1, 2, 2]),
    )
    relaxation = PlacementRelaxation(problem)
    for n in (1, 2, 3, 4):
        fractional = relaxation.solve(n)
        assert fractional is not None
        assert fractional[0].sum() == pytest.approx(n)
        found = round_until_feasible(problem, fractional, n, 1.05, 5000, rng)
        if isinstance(found, int):
            continue
        w, s, rounds = found
        assert rounds >= 1
        assert (2 * w + s <= free[0]).all()
        assert w.sum() >= n
        assert problem.ps_outer[n] <= s.sum() <= w.sum()
    assert PlacementRelaxation(replace(problem, free=free / 4)).solve(4) is None


def test_baselines_differ(contended):
    values = {name: simulate(contended, name).value for name in BASELINES}
    assert len({round(v, 6) for v in values.values()}) == len(values), values


def test_what_lands_on_one_machine_gets_the_servers_it_needs_there():
    inst, _ = load(FILES[0])
    job = inst.jobs[0].model_copy(
        update={
            "chunks": 3,
            "inner_bandwidth": 3.0,
            "outer_bandwidth": 1.0,
            "ps_bandwidth": 3.0,
            "worker_demand": (1.0,),
            "ps_demand": (1.0,),
        }
    )
    task = ArrivedJob.of(job, inst.slot_seconds)
    pool = Pool([(5.0,)])
    held = pool.deal(task, 3)  # 3 workers want 3 PS inside, and there is room for 2
    assert (held.workers.tolist(), held.ps.tolist()) == ([2], [2])
    assert pool.free[0, 0] == pytest.approx(10**9, rel=1e-7)


def test_oasis_keeps_workers_and_servers_apart(contended):
    run = simulate(contended, "oasis")
    assert run.value > 0
    for plan in filter(None, run.schedule.jobs):
        assert all(h % 2 == 0 for _, h, _ in plan.workers)
        assert all(h % 2 == 1 for _, h, _ in plan.ps)


@pytest.mark.parametrize("name", POLICIES)
def test_links_are_refused(name):
    inst, _ = load(FILES[0], "link")
    with pytest.raises(InputError, match='locality is "link"'):
        simulate(inst, name)


@pytest.mark.parametrize("name", POLICIES)
def test_odd_instances_are_survived(name):
    inst, _ = load(FILES[0])
    data = inst.model_dump()
    simulate(DmlrsInstance.model_validate(data | {"jobs": ()}), name)
    one = MachineClass(capacity=(9.0, 9.0))
    simulate(DmlrsInstance.model_validate(data | {"machines": (one,)}), name)
    nothing = MachineClass(capacity=(0.0, 0.0))
    assert simulate(DmlrsInstance.model_validate(data | {"machines": (nothing,)}), name).value == 0
