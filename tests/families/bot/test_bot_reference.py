import numpy as np
import pytest
from independent.bot import FILES, load, utility
from sweeps import sweep

import optsched
from optsched.families.bot.certificate.check import BotCertificate, Prices, check, level_bounds
from optsched.families.bot.fairness import log_mean_rate, measure
from optsched.families.bot.gaps import distance
from optsched.families.bot.instance import Application, BotInstance, BotSchedule, Link
from optsched.families.bot.loads import filled
from optsched.families.bot.optimum import interior, methods
from optsched.families.bot.optimum.interior import solve_tree
from optsched.families.bot.sources.presets import generate
from optsched.families.bot.verify import verify
from optsched.problem import InputError

PLATFORMS, CHUNK = 200, 20
MEAN_STEPS = 13  # on 100 nodes; 12 with the corrector, 15 without its second-order term


def totals(inst, optimum):
    rho = np.zeros(inst.present.shape)
    for n, k, rate in optimum.schedule.rates:
        rho[k, n] = rate
    return rho.sum(axis=1)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
@pytest.mark.parametrize("method", ["auto", "conic"])
def test_reference_optima(path, method):
    inst, reference = load(path)
    found = optsched.solve(inst, method=method)
    assert found.status == "optimal"
    assert found.bound_level == "certified"
    assert found.value == pytest.approx(reference["log"]["value"], abs=1e-6)
    assert found.bound == pytest.approx(reference["log"]["bound"], abs=1e-6)
    assert totals(inst, found) == pytest.approx(reference["log"]["rates"], rel=2e-4)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
@pytest.mark.parametrize("method", ["auto", "conic"])
@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_reference_alpha(path, method, alpha):
    inst, reference = load(path, alpha)
    found = optsched.solve(inst, method=method)
    known = reference["alpha"][str(alpha)]
    assert found.value == pytest.approx(known["value"], rel=1e-6)
    assert found.value <= found.bound <= known["value"] + 1e-6 * abs(known["value"])


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_reference_max_min(path):
    inst, reference = load(path, "inf")
    found = optsched.solve(inst)
    rates = totals(inst, found)
    assert rates == pytest.approx(reference["maxmin"]["rates"], rel=1e-6)
    # one certificate per level, each of which closes
    bounds = level_bounds(inst, found.certificate)
    for bound, known in zip(bounds, reference["maxmin"]["levels"], strict=True):
        assert bound == pytest.approx(known["level"], rel=1e-6)


@pytest.mark.parametrize("first", sweep(range(0, PLATFORMS, CHUNK), 2))
def test_the_conic_program_and_our_own_agree_on_random_platforms(first):
    for seed in range(first, first + CHUNK):
        kind = ("heterogeneous", "homogeneous")[seed % 2]
        units = ("sec6.5", "sec6.2")[seed // 2 % 2]
        inst = generate(kind, seed=seed, nodes=5 + seed % 16, units=units)
        own = optsched.solve(inst)
        assert own.status == "optimal", seed
        other = optsched.solve(inst, method="conic")
        off = abs(measure(inst, other.value, own.value) - 1)
        assert off <= (other.gap + own.gap) * (1 + 1e-6) + 1e-12, seed


def test_alpha_fairness_tends_to_both_ends():
    inst = generate("heterogeneous", seed=3, nodes=12)
    changed = {
        alpha: inst.model_copy(update={"alpha": alpha})
        for alpha in (0.0, 1e-3, 0.1, 20.0, 50.0, "inf")
    }
    rates = {alpha: totals(i, optsched.solve(i, gap=1e-4)) for alpha, i in changed.items()}
    most = rates[0.0].sum()
    assert rates[0.1].sum() <= rates[1e-3].sum() * (1 + 1e-6) <= most * (1 + 2e-6)
    assert rates[1e-3].sum() == pytest.approx(most, rel=5e-3)
    least = rates["inf"].min()
    assert rates[20.0].min() <= rates[50.0].min() * (1 + 1e-6)
    assert rates[50.0].min() == pytest.approx(least, rel=0.05)


def test_return_traffic_weights_and_restricted_nodes():
    inst = generate("heterogeneous", seed=5, nodes=15)
    apps = tuple(
        app.model_copy(
            update={"return_bytes": 1e6 * k, "weight": 1.0 + k, "allowed": tuple(range(k, 15, 2))}
        )
        for k, app in enumerate(inst.applications)
    )
    inst = BotInstance.model_validate(inst.model_dump() | {"applications": apps})
    own, conic = optsched.solve(inst), optsched.solve(inst, method="conic")
    assert own.status == "optimal"
    assert own.value == pytest.approx(conic.value, abs=1e-6)


def test_prices_times_capacity_add_up_to_the_weights():
    inst = generate("heterogeneous", seed=1, nodes=30)
    prices = optsched.solve(inst).shadow_prices
    assert sum(row["share"] for row in prices) == pytest.approx(1, abs=1e-3)
    nodes = sum(r["price"] * inst.speed[r["node"]] for r in prices if "node" in r)
    arcs = {inst.arc_name(a): w for a, w in enumerate(inst.bandwidth)}
    worth = nodes + sum(r["price"] * arcs[r["link"]] for r in prices if "link" in r)
    assert worth == pytest.approx(3, abs=1e-3)


def test_a_shadow_price_is_a_derivative():
    inst = generate("heterogeneous", seed=1, nodes=30)
    before = optsched.solve(inst)
    dearest = next(row for row in before.shadow_prices if "node" in row)
    n, more = dearest["node"], 1e-3
    speed = list(inst.speed)
    speed[n] *= 1 + more
    after = optsched.solve(inst.model_copy(update={"speed": tuple(speed)}))
    gained = (after.value - before.value) / (more * inst.speed[n])
    assert gained == pytest.approx(dearest["price"], rel=1e-2)


def test_cycles_go_to_the_conic_program():
    inst = BotInstance(
        speed=(2.0, 5.0, 7.0),
        links=tuple(
            Link(a=a, b=b, forward=w, backward=w)
            for a, b, w in ((0, 1, 1.0), (1, 2, 2.0), (2, 0, 3.0))
        ),
        applications=(
            Application(master=0, flop=1.0, bytes=1.0),
            Application(master=1, flop=2.0, bytes=1.0),
        ),
        routes=((-1, 0, 0), (1, -1, 0)),
    )
    assert optsched.solve(inst).status == "optimal"
    with pytest.raises(InputError, match="method interior needs a tree"):
        optsched.solve(inst, method="interior")


@pytest.mark.parametrize(("method", "alpha"), [("simplex", 2.0), ("conic", "inf")])
def test_a_method_for_other_utilities_is_named(method, alpha):
    inst = generate("small", seed=0, alpha=alpha)
    with pytest.raises(InputError, match=rf"alpha is {alpha}, .*expected method (conic|simplex)"):
        optsched.solve(inst, method=method)


def test_a_single_node_needs_no_iterations():
    inst = BotInstance(speed=(6.0,), applications=(Application(master=0, flop=2.0, bytes=0.0),))
    found = solve_tree(inst, 1e-12)
    assert found.rho == pytest.approx(np.array([[3.0]]))


def test_the_mean_rate_of_every_utility():
    weights, rates = [1.0, 3.0], [2.0, 5.0]
    for alpha in (0.0, 0.5, 1.0, 2.0, 7.0):
        value = utility(alpha, weights, rates)
        mean = np.exp(log_mean_rate(alpha, weights, value))
        assert utility(alpha, weights, [mean, mean]) == pytest.approx(value)


def test_the_measure_is_the_mean_rate_that_is_lost():
    inst = generate("small", seed=0)
    assert measure(inst, -3.0, 0.0) == pytest.approx(np.e)
    assert measure(inst.model_copy(update={"alpha": 0.0}), 2.0, 5.0) == pytest.approx(2.5)
    assert measure(inst.model_copy(update={"alpha": "inf"}), 2.0, 5.0) == pytest.approx(2.5)
    assert measure(inst, -np.inf, 0.0) > 1e300


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_the_gap_of_the_interior_method_is_what_its_prices_prove(alpha):
    inst = generate("heterogeneous", seed=3, nodes=20, alpha=alpha)
    found = solve_tree(inst, 1e-2)  # stopped early, so that there is a gap to speak of
    assert 1e-4 < found.log_gap <= 1e-2
    schedule = BotSchedule.of(filled(inst, found.rho))
    value = verify(inst, schedule).value
    levels = (Prices.of(found.nodes, found.arcs),)
    proof = BotCertificate(instance_sha256=inst.digest(), levels=levels)
    apart = distance(inst, schedule, value, proof, check(inst, proof))
    assert apart == pytest.approx(np.expm1(found.log_gap), rel=1e-6)


def test_the_interior_method_asks_whether_to_stop():
    inst = generate("heterogeneous", seed=3, nodes=20)
    asked = iter([False, False, True])
    stopped = solve_tree(inst, 1e-12, stop=lambda: next(asked))
    three = solve_tree(inst, 1e-12, limit=3)
    assert stopped.iterations == three.iterations == 3
    np.testing.assert_array_equal(stopped.rho, three.rho)  # the last point has been looked at


def test_slow_progress_is_progress(monkeypatch):
    # 40 applications: less than a tenth per step for four steps; with 200 it was so for 26
    inst = generate("heterogeneous", applications=40, nodes=60, seed=0)
    monkeypatch.setattr(interior, "STALL", -3)  # three steps that do not even add up to a tenth
    assert solve_tree(inst, 1e-8).log_gap <= 1e-8


def test_what_memory_does_not_hold_is_left_to_others(monkeypatch):
    inst = generate("heterogeneous", seed=4, nodes=30)
    monkeypatch.setattr(methods, "MOST_NUMBERS", 100)
    with pytest.raises(InputError, match="at most 50; expected method conic or auto"):
        optsched.solve(inst, method="interior")
    assert optsched.solve(inst).status == "optimal"


def test_the_interior_method_needs_few_steps():
    platforms = [generate("heterogeneous", seed=s, nodes=100) for s in range(10)]
    steps = [solve_tree(inst, 1e-9).iterations for inst in platforms]
    assert np.mean(steps) <= MEAN_STEPS
