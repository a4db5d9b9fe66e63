import numpy as np
import pytest
from independent.bot import two_nodes
from knowing import prior_of

import optsched
from optsched.families.bot.instance import BotInstance
from optsched.families.bot.loads import equal_shares, equal_turns
from optsched.families.bot.policies.negotiation import Negotiation, Steps
from optsched.families.bot.policies.paper import Adaptive, Naive
from optsched.families.bot.sources.presets import generate
from optsched.families.bot.verify import verify
from optsched.problem import get_family

POLICIES = get_family("bot").policies


@pytest.fixture
def pair():
    """Two nodes behind one link; a task of application 1 is three times as large."""
    return two_nodes((8.0, 4.0), 2.0, (1.0, 1.0), (3.0, 3.0))


def test_shares_by_hand(pair):
    # half of each node; half of the link: 1 and 1/3 task per second pass
    assert equal_shares(pair) == pytest.approx(np.array([[4.0, 1.0], [4 / 3, 1 / 3]]))
    # one task of each in turn: 8 / 4 of both at node 0, 2 / 4 of both over the link
    assert equal_turns(pair) == pytest.approx(np.array([[2.0, 0.5], [2.0, 0.5]]))


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("preset", ["heterogeneous", "homogeneous"])
def test_no_policy_beats_hindsight(name, preset):
    for seed in range(3):
        inst = generate(preset, seed=seed)
        run = optsched.simulate(inst, name)
        assert run.value <= optsched.solve(inst).bound
        assert run.information == "local"


@pytest.mark.parametrize("name", POLICIES)
def test_policies_differ(name):
    inst = generate("heterogeneous", seed=1)
    others = [optsched.simulate(inst, other).value for other in POLICIES if other != name]
    assert optsched.simulate(inst, name).value not in others


def test_the_adaptive_algorithm_comes_near():
    inst = generate("homogeneous", seed=1)
    assert optsched.solve(inst).value - optsched.simulate(inst, "adaptive").value < 0.2


def test_a_policy_is_the_negotiation_scaled_back():
    inst = generate("homogeneous", seed=2)
    run = optsched.simulate(inst, Naive(iterations=700, rho=0.002))
    steps = Steps(algorithm="naive", rho=0.002, tilde=1e-3, lam=1e-13, mu=1e-15)
    negotiation = Negotiation(inst, steps)
    negotiation.run(700)
    rho = np.zeros(inst.present.shape)
    for n, k, rate in run.schedule.rates:
        rho[k, n] = rate
    assert np.array_equal(rho, negotiation.feasible())
    usual = {"rho": 1e-3, "tilde": 1e-3, "lam": 1e-13, "mu": 1e-15}
    assert run.prior == {"steps(algorithm=naive)": usual}


def test_step_sizes_depend_on_the_number_of_nodes_only():
    for nodes, rho in ((10, 0.05), (100, 0.01), (500, 0.002)):
        steps = prior_of(generate(seed=0, nodes=nodes), Adaptive())["steps(algorithm=adaptive)"]
        assert steps["rho"] == rho


def test_no_policy_sees_another_number_than_that_of_its_platform():
    # the same negotiation on the same platform, whatever was run before
    inst, other = generate("small", seed=1), generate("small", seed=2)
    policy = Adaptive()
    first = optsched.simulate(inst, policy).schedule
    optsched.simulate(other, policy)
    assert optsched.simulate(inst, policy).schedule == first


@pytest.mark.parametrize("name", ["local-share", "fifo"])
def test_baselines_are_feasible_with_return_traffic_and_restrictions(name):
    inst = generate("heterogeneous", seed=5, nodes=15)
    apps = tuple(
        app.model_copy(update={"return_bytes": 5e7, "allowed": tuple(range(k, 15, 2))})
        for k, app in enumerate(inst.applications)
    )
    inst = BotInstance.model_validate(inst.model_dump() | {"applications": apps})
    run = optsched.simulate(inst, name)
    assert verify(inst, run.schedule).value == run.value


def test_wrong_parameters():
    with pytest.raises(ValueError, match="iterations is 0, expected at least 1"):
        Adaptive(iterations=0)
    with pytest.raises(ValueError, match="greater than 0"):
        optsched.simulate(generate("small", seed=0), Adaptive(rho=-1.0))
