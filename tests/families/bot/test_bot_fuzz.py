"""Prices that nobody would write: the checker refuses, or proves a bound that is true."""

import numpy as np
import pytest
from independent.bot import wild
from known_optima import ALPHAS, bot_prices, of_bot

from optsched.core import solve
from optsched.families.bot.certificate.bound import attained, log_mean
from optsched.families.bot.certificate.check import BotCertificate, Prices, check
from optsched.families.bot.certificate.check import levels as levels_of
from optsched.families.bot.verify import totals


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [alpha for alpha in ALPHAS if alpha != 100.0])
def test_no_prices_are_below_the_optimum(alpha):
    # of platforms whose numbers span many orders of magnitude, at prices that span more
    refused = 0
    for seed in range(40):
        inst = wild(seed, alpha)
        found = solve(inst)
        rng = np.random.default_rng([seed, 9])
        for width in (1, 8, 60):
            nodes, arcs = (
                10.0 ** rng.uniform(-width, width, n) * (rng.random(n) < 0.8)
                for n in (len(inst.speed), 2 * len(inst.links))
            )
            levels = (Prices.of(nodes, arcs),)
            random_proof = BotCertificate(instance_sha256=inst.digest(), levels=levels)
            try:
                bound = check(inst, random_proof)
            except ValueError:
                refused += 1
                continue
            assert bound >= found.value - abs(found.value) * 1e-15, (seed, width)
            if alpha != "inf":
                priced = log_mean(inst, *inside(inst, random_proof))
                assert priced >= attained(inst, totals(inst, found.schedule))
    assert refused < 80


def inside(inst, certain):
    (level,) = levels_of(inst, certain)
    return level.pay, level.task


def test_what_a_file_asks_for_is_bounded_by_its_instance():
    inst = of_bot(1.0, 1.0)
    many = [[i, 1.0] for i in range(10**5)]
    for nodes in (many, [[10**300, 1.0]], [[0, 10**400]], [[0, 1e301]]):
        content = bot_prices(inst, 1.0)
        content["levels"][0]["nodes"] = nodes
        with pytest.raises(ValueError, match=r"does not exist|nodes"):
            check(inst, BotCertificate.model_validate(content))
    content = bot_prices(inst, 1.0)
    content["levels"] *= 1000
    with pytest.raises(ValueError, match="1000 levels, expected at most 1"):
        check(inst, BotCertificate.model_validate(content))
