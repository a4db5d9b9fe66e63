"""Values of games: known ones, and those of a linear program over unmerged strategies."""

import math
from fractions import Fraction

import pytest
from games import brute, building, draw, matching, paging, skiing, trading
from sweeps import sweep

import optsched
from optsched.problem import InputError


@pytest.mark.parametrize("price", sweep(range(2, 21), quick=5))
def test_ski_rental(price):
    game = optsched.minimax(skiing(price, 3 * price))
    exact = 1 / (1 - (1 - Fraction(1, price)) ** price)
    assert game.value == pytest.approx(float(exact), rel=1e-9)
    assert game.bound == pytest.approx(float(exact), rel=1e-9)
    assert game.proof.proved <= exact <= game.proof.reached
    assert game.proof.deterministic == 2 - Fraction(1, price)


def test_who_must_build_first_does_not_know_for_how_long():
    """Building costs 2 and renting up to 4: half of both is 3 / 2 times the optimum, for all."""
    game = optsched.minimax(building(2, 4))
    assert game.proof.proved <= Fraction(3, 2) <= game.proof.reached
    assert (game.value, game.proof.deterministic) == (pytest.approx(1.5), 2)


def test_bipartite_matching():
    game = optsched.minimax(matching)
    assert (game.proof.proved, game.proof.reached) == (Fraction(3, 4), Fraction(3, 4))
    assert game.proof.deterministic == Fraction(1, 2)


@pytest.mark.slow
def test_paging_with_a_page_more_than_fits():
    values, pure = [], []
    for horizon in range(1, 6):
        game = optsched.minimax(paging(3, horizon))
        values.append(game.proof.reached)
        pure.append(game.proof.deterministic)
        assert game.value == pytest.approx(game.bound, rel=1e-9)
    assert values == sorted(values)
    assert pure == sorted(pure)
    assert values[2:] == [1, Fraction(7, 6), Fraction(7, 6)]
    assert pure[2:] == [1, Fraction(4, 3), Fraction(4, 3)]
    assert max(values) <= Fraction(3, 2)  # the harmonic number of 2
    assert max(pure) <= 2


@pytest.mark.parametrize("prices", [(1, 2, 4), (1, 2, 3, 5), (1, 3, 9)])
def test_one_way_trading(prices):
    game = optsched.minimax(trading(prices, len(prices)))
    _, first, *others = map(Fraction, prices)
    steps = zip((first, *others), others, strict=False)
    parts = first / (first - 1) + sum((high - low) / (high - 1) for low, high in steps)
    ratio = parts / (1 + 1 / (first - 1))
    assert game.value == pytest.approx(float(1 / ratio), rel=1e-9)
    assert game.bound == pytest.approx(float(1 / ratio), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sweep(range(100), quick=25))
def test_random_games(seed):
    instances = draw(seed)
    expected = brute(instances)
    if expected is None:
        with pytest.raises(InputError):
            optsched.minimax(instances)
        return
    game = optsched.minimax(instances)
    assert game.value == pytest.approx(expected[0], rel=1e-9, abs=1e-9)
    assert game.bound == pytest.approx(expected[0], rel=1e-9, abs=1e-9)
    assert game.proof.deterministic == expected[1]


@pytest.mark.slow
def test_most_random_games_have_a_value():
    assert sum(brute(draw(seed)) is not None for seed in range(25)) >= 13


def test_a_superset_is_no_easier():
    few, many = optsched.minimax(skiing(4, 6)), optsched.minimax(skiing(4, 12))
    assert few.proof.proved <= many.proof.reached
    assert math.isclose(few.value, 1 / (1 - (3 / 4) ** 4)) is False
