import numpy as np
import pytest
from independent.bot import FILES, load, utility

import optsched
from optsched.families.bot.policies import negotiation as negotiation_module
from optsched.families.bot.policies.convergence import convergence
from optsched.families.bot.policies.negotiation import Negotiation, Steps, without
from optsched.families.bot.policies.waves import Mail, _deliver, new_price
from optsched.families.bot.sources.presets import generate

ADAPTIVE = Steps(algorithm="adaptive", rho=0.05, tilde=0.05, lam=0.7, mu=0.7)


def steps_of(run):
    gamma = run["gamma"]
    return Steps(
        algorithm=run["algorithm"],
        rho=gamma["rho"],
        tilde=gamma["tilde"],
        lam=gamma["lambda"],
        mu=gamma["mu"],
        start=run["rho0"],
        **{n: run[n] for n in ("threshold", "dual_step", "prox") if n in run},
        order=run.get("order", "equations"),
    )


def relative(found, known):
    known = np.array(known)
    return np.max(np.abs(found - known) / np.maximum(np.abs(known), 1e-9))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_reference_iterates_and_verdicts(path):
    inst, reference = load(path)
    compared = 0
    for known in reference["runs"]:
        negotiation = Negotiation(inst, steps_of(known["run"]))
        series = []
        for at, snapshot in known["snapshots"].items():
            objective, overload = negotiation.run(int(at) - negotiation.rounds)
            series += objective.tolist()
            if known["rounding"][at] >= 1e-9:
                continue  # chaotic: another rounding is another run
            compared += 1
            assert relative(negotiation.rho, snapshot["rho"]) < 1e-6
            assert relative(negotiation.tilde, snapshot["tilde"]) < 1e-6
            assert negotiation.lam == pytest.approx(snapshot["lambda"], rel=1e-6, abs=1e-18)
            assert overload[-1] == pytest.approx(snapshot["overload"], rel=1e-6)
            if snapshot["objective"] is not None:
                assert objective[-1] == pytest.approx(snapshot["objective"], abs=1e-6)
                scaled = utility(1.0, inst.weights, negotiation.feasible().sum(axis=1))
                assert scaled == pytest.approx(snapshot["scaled_value"], abs=1e-6)
        assert negotiation.sent == 1500 * known["messages_per_iteration"]
        if known["rounding"]["1500"] >= 1e-9:
            continue
        found = convergence(np.array(series), reference["log"]["value"])
        assert found.converged == known["converged"]
        assert found.first_for_good == known["first_for_good"]
        assert found.margin == pytest.approx(known["tube_margin"], abs=1e-6)
        if known["cv"] is None:
            assert found.variation is None
        else:
            assert found.variation == pytest.approx(known["cv"], rel=1e-3, abs=1e-10)
    assert compared >= 30


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_messages_that_are_neither_late_nor_lost_change_nothing(path):
    inst, reference = load(path)
    for known in reference["runs"]:
        if known["run"].get("order") != "waves":
            continue
        steps = steps_of(known["run"])
        fast, slow = Negotiation(inst, steps), Negotiation(inst, steps, messages=True)
        (a, load_a), (b, load_b) = fast.run(300), slow.run(300)
        assert np.array_equal(a, b, equal_nan=True)
        assert load_a == pytest.approx(load_b, rel=1e-12)
        assert np.array_equal(fast.rho, slow.rho)
        assert fast.sent == slow.sent


def test_a_run_can_go_on():
    inst = generate("heterogeneous", seed=2, nodes=20)
    for messages in (False, True):
        whole, parts = (Negotiation(inst, ADAPTIVE, messages=messages) for _ in range(2))
        series, _ = whole.run(120)
        joined = np.concatenate([parts.run(n)[0] for n in (1, 49, 70)])
        assert np.array_equal(series, joined)


def test_late_and_lost_messages():
    inst = generate("homogeneous", seed=2, nodes=20)
    best = optsched.solve(inst).value
    quiet = Negotiation(inst, ADAPTIVE, messages=True)
    quiet.run(1500)
    rough = [
        Negotiation(inst, ADAPTIVE, messages=True, loss=0.02, delay=1, seed=s) for s in (1, 1, 2)
    ]
    series = [n.run(1500)[0] for n in rough]
    assert np.array_equal(series[0], series[1])  # the seed fixes what is late or lost
    assert not np.array_equal(series[0], series[2])
    assert rough[0].sent == quiet.sent
    assert rough[0].lost == pytest.approx(0.02 * rough[0].sent, rel=0.1)
    assert rough[0].late == pytest.approx(0.49 * rough[0].sent, rel=0.1)
    # what was agreed on with stale numbers is feasible once it is scaled back
    value = utility(1.0, inst.weights, rough[0].feasible().sum(axis=1))
    assert -np.inf < value <= best + 1e-9


def test_a_late_message_does_not_replace_a_newer_one():
    for sent, expected in ((3, [1.0, 2.0]), (6, [8.0, 9.0])):
        mail = Mail.of(1, 1, delay=2)
        mail.known[0, 0], mail.stamp[0, 0] = (1.0, 2.0), 5
        mail.post[7 % 3, 0, 0], mail.due[7 % 3] = (8.0, 9.0), sent
        _deliver(7, 2, 0, 0, mail)
        assert mail.known[0, 0].tolist() == expected
        assert mail.stamp[0, 0] == max(5, sent)
        assert not mail.due.any()  # whatever arrived has left the post


def test_a_message_that_is_always_lost_would_be_an_error():
    inst = generate("small", seed=0)
    with pytest.raises(ValueError, match=r"loss 1\.0, delay 0: expected a share below 1"):
        Negotiation(inst, ADAPTIVE, messages=True, loss=1.0)
    with pytest.raises(ValueError, match="expected messages=True"):
        Negotiation(inst, ADAPTIVE, delay=2)


@pytest.mark.parametrize("messages", [False, True])
def test_nodes_leave_and_come_back(messages):
    inst = generate("heterogeneous", seed=4, nodes=20)
    masters = {app.master for app in inst.applications}
    gone = [n for n in range(20) if n not in masters][:5]
    less = without(inst, nodes=gone)
    negotiation = Negotiation(inst, ADAPTIVE, messages=messages)
    negotiation.run(1000)
    for now in (less, inst):
        negotiation.adapt(now)
        series, _ = negotiation.run(1000)
        assert not negotiation.rho[~now.present].any()
        assert convergence(series, optsched.solve(now).value).converged


def test_links_and_applications_leave_and_arrive():
    inst = generate("heterogeneous", seed=4, nodes=20)
    active = np.array([True, False, True])
    negotiation = Negotiation(inst, ADAPTIVE, active=active)
    alone, _ = negotiation.run(1000)
    assert not negotiation.rho[1].any()
    there = tuple(app for app, here in zip(inst.applications, active, strict=True) if here)
    pair = inst.model_copy(update={"applications": there})
    fresh = type(inst).model_validate(pair.model_dump())
    assert convergence(alone, optsched.solve(fresh).value).converged
    negotiation.adapt(inst)
    series, _ = negotiation.run(1500)
    assert convergence(series, optsched.solve(inst).value).converged
    cut = without(inst, arcs=[2 * len(inst.links) - 2])
    negotiation.adapt(cut)
    series, _ = negotiation.run(1500)
    assert convergence(series, optsched.solve(cut).value).converged


def test_another_shape_is_refused():
    negotiation = Negotiation(generate("small", seed=0), ADAPTIVE)
    with pytest.raises(ValueError, match="3 applications, 7 nodes, 6 links, expected 3, 6, 5"):
        negotiation.adapt(generate("small", seed=0, nodes=7))


def test_general_utilities_converge_too():
    inst = generate("homogeneous", seed=1, nodes=12, alpha=2.0)
    negotiation = Negotiation(inst, ADAPTIVE)
    negotiation.run(3000)
    value = utility(2.0, inst.weights, negotiation.feasible().sum(axis=1))
    assert value == pytest.approx(optsched.solve(inst).value, rel=0.05)


def test_convergence_by_hand():
    series = np.concatenate((np.full(3, -np.inf), np.full(47, 0.0), np.full(150, 1.0)))
    found = convergence(series, 1.1)
    assert found.converged
    assert found.first_for_good == 51
    assert found.variation == 0
    assert found.margin == pytest.approx(-np.log(0.85) - 0.1)
    assert found.robust
    never = convergence(series, 5.0)
    assert (never.converged, never.first_for_good) == (False, None)
    assert convergence(np.full(200, -np.inf), 0.0).variation is None
    spread = convergence(np.tile([1.0, 3.0], 100), 2.0)
    assert spread.variation == pytest.approx(0.5)


@pytest.mark.parametrize("how", [{}, {"messages": True, "loss": 0.1, "delay": 2}, {"order": 1}])
def test_portions_of_a_run_change_nothing(how, monkeypatch):
    # a signal is heeded between two portions
    inst = generate("heterogeneous", seed=3, nodes=12)
    steps = ADAPTIVE.model_copy(update={"order": "equations"}) if "order" in how else ADAPTIVE
    how = {k: v for k, v in how.items() if k != "order"}
    whole = Negotiation(inst, steps, **how).run(50)
    monkeypatch.setattr(negotiation_module, "PORTION", 7 * 3 * 12)
    parts = Negotiation(inst, steps, **how).run(50)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def by_hand(steps, rounds):
    """The equations of Sec. 7 for one application on its master alone, in waves."""
    rate = tilde = total = steps.start
    price, work, speed = 0.0, 2.0, 8.0
    dual = 1 / steps.rho if steps.stability else 1.0
    for _ in range(rounds):
        gain = steps.rho * (1 - total * work * price) * (total if steps.newton else 1)
        smooth = (1 - steps.tilde) * tilde + steps.tilde * rate
        rate = max(steps.factor * rate, rate + steps.tilde * (tilde - rate) + gain)
        tilde = max(steps.factor * tilde, smooth)
        below = (work * total) ** 2 if steps.stability and rate > steps.threshold else 1.0
        price = max(steps.factor * price, price + steps.lam * dual * (work * rate - speed) / below)
        total = rate
    return rate, tilde, price


@pytest.mark.parametrize("messages", [False, True])
@pytest.mark.parametrize(
    "left_out",
    [{}, {"newton": False}, {"stability": False}, {"factor": 0.0}, {"factor": 0.9}],
    ids=str,
)
def test_each_ingredient_of_the_adaptive_algorithm_can_be_left_out(left_out, messages):
    app = {"master": 0, "flop": 2.0, "bytes": 1.0}
    inst = optsched.get_family("bot").instance(speed=(8.0,), applications=(app,))
    sizes = {"rho": 0.2, "tilde": 0.1, "lam": 0.05, "mu": 0.05, "start": 3.0}
    steps = Steps(algorithm="adaptive", **sizes, **left_out)
    negotiation = Negotiation(inst, steps, messages=messages)
    for rounds in (1, 2, 30):
        negotiation.run(rounds - negotiation.rounds)
        rate, tilde, price = by_hand(steps, rounds)
        assert negotiation.rho[0, 0] == pytest.approx(rate, rel=1e-9)
        assert negotiation.tilde[0, 0] == pytest.approx(tilde, rel=1e-9)
        assert negotiation.lam[0] == pytest.approx(price, rel=1e-9)


@pytest.mark.parametrize(("factor", "price"), [(0.0, 0.0), (0.5, 0.5), (0.75, 0.75)])
def test_the_price_of_what_nobody_uses(factor, price):
    """Fig. 5: set to zero, or diminished by a factor."""
    rules = ADAPTIVE.model_copy(update={"factor": factor}).rules(1.0)
    assert new_price(rules, 0.7, 1.0, -5.0, 0.0) == price
