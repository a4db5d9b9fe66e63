"""OGASched and the baselines: known trajectories, hand-made slots, what a policy may see."""

import numpy as np
import pytest
from independent.bipartite import FILES, load
from knowing import prior_of

from optsched.core import simulate
from optsched.families.bipartite.instance import BipartiteInstance, Machine, Port, Slot
from optsched.families.bipartite.online import POLICIES, Recorder, events
from optsched.families.bipartite.policies.baselines import BinPacking, Drf, Fairness, Spreading
from optsched.families.bipartite.policies.paper import (
    OgaSched,
    diameter,
    gradient_bound,
    regret_guarantee,
)
from optsched.families.bipartite.sources.presets import generate
from optsched.numbers.streams import Streams
from optsched.problem import InputError

OGA = {
    "decay": lambda s: {"step": "decay", "eta": s["eta0"], "decay": s["lambda"]},
    "constant": lambda s: {"step": "constant", "eta": s["eta"]},
    "theory": lambda _: {"step": "theory"},
    "theory55": lambda _: {"step": "adaptive"},
}
BASELINES = {
    "drf": Drf,
    "fairness_arrived": Fairness,
    "fairness_printed": lambda: Fairness("all"),
    "binpacking": lambda: BinPacking(share=0.5),
    "spreading": lambda: Spreading(share=0.5),
    "binpacking_fit": lambda: BinPacking(share=0.5, whole=True),
    "spreading_fit": lambda: Spreading(share=0.5, whole=True),
}


def played(inst, policy):
    """Return the decisions of all slots, the rewards and the value."""
    policy.start(inst.platform(), prior_of(inst, policy), Streams(0))
    recorder, decisions = Recorder(inst, policy), []
    told = events(inst, policy.information)
    for event, true_event in zip(told, events(inst), strict=True):
        decisions.append(policy.step(event))
        recorder.take(true_event, decisions[-1])
    schedule, verdict = recorder.finish()
    assert verdict.feasible, verdict
    return decisions, np.array(schedule.rewards), verdict.value


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_known_trajectories(path):
    inst, known = load(path)
    start_at = np.array(known["y1"])
    for run in known["oga"]:
        options = OGA[run["step"]["kind"]](run["step"])
        decisions, rewards, value = played(inst, OgaSched(**options, start_at=start_at))
        np.testing.assert_allclose(rewards, run["rewards"], rtol=1e-9, atol=1e-9)
        assert value == pytest.approx(run["total"], rel=1e-10)
        for slot, y in run["y"].items():
            np.testing.assert_allclose(decisions[int(slot)], y, rtol=0, atol=1e-9)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
@pytest.mark.parametrize("name", BASELINES)
def test_known_baselines(path, name):
    inst, known = load(path)
    decisions, rewards, value = played(inst, BASELINES[name]())
    assert value == pytest.approx(known["baselines"][name]["total"], rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(rewards, known["baselines"][name]["rewards"], atol=1e-11)
    for slot, y in known["baselines"][name]["y"].items():
        np.testing.assert_allclose(decisions[int(slot)], y, atol=1e-12)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_known_constants_of_the_theory(path):
    inst, known = load(path)
    assert diameter(inst) == pytest.approx(known["constants"]["diam"], rel=1e-14)
    assert gradient_bound(inst) == pytest.approx(known["constants"]["grad"], rel=1e-14)
    assert regret_guarantee(inst) == pytest.approx(known["regret_bound"], rel=1e-14)


def platform(requests, capacity, arrivals, kind="linear"):
    """One resource, one machine, one port per request."""
    utility = ({"kind": kind, "alpha": 1.0},)
    machine = Machine(capacity=(capacity,), ports=tuple(range(len(requests))), utility=utility)
    return BipartiteInstance(
        horizon=len(arrivals),
        resources=("cpu",),
        overhead=(0.25,),
        ports=tuple(Port(request=(a,)) for a in requests),
        machines=(machine,),
        arrivals=arrivals,
    )


def test_ogasched_by_hand():
    # gradient 1 - 0.25 where a job came: z = (0.75, 0), then (1.5, 0.75) on x + y <= 2
    inst = platform((4, 4), 2, ((1, 0), (1, 1), (0, 0)))
    decisions, rewards, _ = played(inst, OgaSched("constant", eta=1.0))
    np.testing.assert_allclose(decisions, [[0, 0], [0.75, 0], [1.375, 0.625]])
    np.testing.assert_allclose(rewards, [0, 0.75 * 0.75, 0])


def test_drf_serves_the_smallest_share_first():
    decisions, _, _ = played(platform((4, 3, 2), 6, ((1, 1, 1), (1, 0, 1))), Drf())
    np.testing.assert_allclose(decisions, [[1, 3, 2], [4, 0, 2]])


def test_two_readings_of_fairness():
    inst = platform((6, 3, 3), 6, ((1, 1, 0),))
    np.testing.assert_allclose(played(inst, Fairness())[0], [[4, 2, 0]])
    np.testing.assert_allclose(played(inst, Fairness("all"))[0], [[3, 1.5, 0]])


def test_packing_and_spreading_choose_other_machines():
    utility = ({"kind": "linear", "alpha": 1.0},)
    inst = BipartiteInstance(
        horizon=1,
        resources=("cpu",),
        overhead=(0.0,),
        ports=(Port(request=(2,)), Port(request=(2,))),
        machines=tuple(Machine(capacity=(8,), ports=(0, 1), utility=utility) for _ in range(2)),
        arrivals=((1, 1),),
    )
    # one task per port; the second goes where the first is, or elsewhere
    np.testing.assert_allclose(played(inst, BinPacking(0.5))[0], [[2, 2, 0, 0]])
    np.testing.assert_allclose(played(inst, Spreading(0.5))[0], [[2, 0, 0, 2]])
    # by default a task for every machine: both are one policy
    for policy in (BinPacking(), Spreading()):
        np.testing.assert_allclose(played(inst, policy)[0], [[2, 2, 2, 2]])


def test_scores_are_means_over_the_resources_that_a_machine_has():
    # used: machine 0 has 2 of 8 cores and 2 of 8 GPUs, mean 1/4; machine 1 has 3 of 8 cores, no GPU
    utility = ({"kind": "linear", "alpha": 1.0},) * 2
    inst = BipartiteInstance(
        horizon=1,
        resources=("cpu", "gpu"),
        overhead=(0.0, 0.0),
        ports=(Port(request=(2, 2)), Port(request=(3, 0)), Port(request=(1, 0))),
        machines=(
            Machine(capacity=(8, 8), ports=(0, 2), utility=utility),
            Machine(capacity=(8, 0), ports=(1, 2), utility=utility),
        ),
        arrivals=((1, 1, 1),),
    )
    np.testing.assert_allclose(played(inst, BinPacking(0.5))[0], [[2, 0, 2, 0, 3, 1, 0, 0]])
    np.testing.assert_allclose(played(inst, Spreading(0.5))[0], [[2, 1, 2, 0, 3, 0, 0, 0]])


@pytest.mark.parametrize("name", POLICIES)
def test_policies_leave_their_decisions_alone(name):
    inst = generate("small", seed=0)
    policy = POLICIES[name]()
    policy.start(inst.platform(), prior_of(inst, policy), Streams(0))
    decisions, copies = [], []
    for event in events(inst, policy.information):
        decisions.append(policy.step(event))
        copies.append(decisions[-1].copy())
    np.testing.assert_array_equal(decisions, copies)


def test_regret_stays_below_the_guarantee_beside_the_theory_step_only():
    from optsched.core import solve

    inst = generate("small", seed=1, slots=400)
    best = solve(inst, method="stationary")
    run = simulate(inst, "ogasched-theory")
    assert best.bound - run.value <= run.prior["regret_guarantee"]
    for other in ("ogasched", "ogasched-adaptive", "ogasched-constant"):
        assert "regret_guarantee" not in simulate(inst, other).prior


def test_no_move_where_the_gradient_is_zero():
    inst = platform((4, 4), 2, ((0, 0), (0, 0), (1, 0)))
    decisions, _, _ = played(inst, OgaSched("adaptive"))
    np.testing.assert_array_equal(decisions, np.zeros((3, 2)))


def test_dominant_resource_is_the_lowest_of_equals():
    from optsched.families.bipartite.policies.projection import dominant

    chosen = np.zeros(2, np.int64)
    dominant(np.array([[1.0, 2.0], [1.0 + 1e-10, 3.0]]), np.array([0.5, 0.5]), chosen)
    np.testing.assert_array_equal(chosen, [0, 1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OgaSched("newton"), r"step is 'newton', expected one of: decay"),
        (lambda: OgaSched(eta=-1.0), r"eta is -1.0"),
        (lambda: Fairness("some"), r"among is 'some'"),
        (lambda: BinPacking(0.0), r"share is 0.0"),
    ],
)
def test_wrong_parameters(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_start_of_another_shape_is_refused():
    inst = generate("small", seed=0)
    with pytest.raises(InputError, match=r"start_at has the shape \(3,\), expected \(30,\)"):
        simulate(inst, OgaSched(start_at=np.zeros(3)))


def test_slots_cannot_be_changed_by_a_policy():
    (first, *_) = events(generate("small", seed=0))
    assert isinstance(first, Slot)
    with pytest.raises(ValueError, match="read-only"):
        first.jobs[0] = True
