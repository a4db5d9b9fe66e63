"""The exact projection: its optimality conditions, and plain bisection next to it."""

import numpy as np
import pytest

from optsched.families.bipartite.policies.projection import project

ROWS = 10_000


def rows():
    """Random rows of 1 to 12 numbers; zero requests and capacities, whole numbers and ties too."""
    rng = np.random.default_rng(0)
    for _ in range(ROWS):
        n = int(rng.integers(1, 13))
        a = rng.uniform(0, 10, n) * (rng.random(n) > 0.2)
        c = float(rng.uniform(0, 30) * (rng.random() > 0.1))
        z = rng.uniform(-20, 60, n)
        if rng.random() < 0.3:
            a, c = np.round(a), float(round(c))
        if rng.random() < 0.3:
            z = np.round(z)
        yield z, a, c


def rounding(z, a, c):
    """Return how much rounding may move the sum of a projection, and any number of it, at most.

    A sum of n numbers, added up in any order and in any number of parts, is off by at most n u
    times the sum of their sizes, u = 2**-53. The projection adds up z and a, divides what is beyond
    c among the free numbers, and takes that from each of them: four such errors at most.
    """
    return 4 * len(z) * 2.0**-53 * (np.abs(z).sum() + a.sum() + c)


def violation(z, a, c, y):
    """Return how far the best rho >= 0 is from the conditions y = clip(z - rho, 0, a), ...

    In units of what rounding may do: more than 1 is wrong.
    """
    small = rounding(z, a, c)
    feasible = max(0.0, y.sum() - c, -y.min(), (y - a).max())
    moved = z - y
    free = a > 0
    at_most = moved[free & (y > small)].min(initial=np.inf)  # rho <= z - y unless y = 0
    at_least = moved[free & (y < a - small)].max(initial=0.0)  # rho >= z - y unless y = a
    slack = at_least if y.sum() < c - small else 0.0  # rho = 0 unless the capacity is used up
    return max(feasible, at_least - at_most, slack) / small


def test_conditions_of_optimality_on_random_rows():
    worst = max(violation(z, a, c, project(z, a, c)) for z, a, c in rows())
    assert worst <= 1


def bisected(z, a, c):
    """The projection by 200 halvings of rho, in numpy."""
    if np.clip(z, 0, a).sum() <= c:
        return np.clip(z, 0, a)
    low, high = 0.0, max(z.max(), 0.0)
    for _ in range(200):
        middle = (low + high) / 2
        if np.clip(z - middle, 0, a).sum() > c:
            low = middle
        else:
            high = middle
    return np.clip(z - high, 0, a)


@pytest.mark.slow
def test_bisection_agrees():
    for z, a, c in list(rows())[:2000]:
        difference = np.abs(project(z, a, c) - bisected(z, a, c)).max()
        assert difference <= rounding(z, a, c)


@pytest.mark.parametrize(
    ("z", "a", "c", "y"),
    [
        ([3.0], [5.0], 2.0, [2.0]),  # capacity
        ([7.0], [5.0], 9.0, [5.0]),  # request
        ([4.0, 2.0], [9.0, 9.0], 4.0, [3.0, 1.0]),  # both lose the same
        ([9.0, 2.0], [3.0, 9.0], 4.0, [3.0, 1.0]),  # one stays at its request
        ([-1.0, 5.0, 5.0], [9.0, 9.0, 9.0], 6.0, [0.0, 3.0, 3.0]),
        ([5.0, 5.0, 5.0], [9.0, 9.0, 9.0], 0.0, [0.0, 0.0, 0.0]),
        ([5.0, 4.0, 3.0, 2.0], [9.0, 9.0, 9.0, 9.0], 6.0, [3.0, 2.0, 1.0, 0.0]),
        ([5.0, 4.0, 3.0, 2.0], [1.0, 1.0, 9.0, 9.0], 4.0, [1.0, 1.0, 1.5, 0.5]),
    ],
)
def test_by_hand(z, a, c, y):
    np.testing.assert_allclose(project(np.array(z), np.array(a), c), y, atol=1e-15)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_long_rows(unit):
    rng = np.random.default_rng(1)
    for _ in range(50):
        z, a = unit * rng.uniform(-5, 30, 300), unit * rng.uniform(0, 10, 300)
        y = project(z, a, 40.0 * unit)
        assert violation(z, a, 40.0 * unit, y) <= 1


def test_a_wrong_projection_is_noticed():
    z, a = np.array([5.0, 4.0, 3.0, 2.0]), np.full(4, 9.0)
    right = np.array([3.0, 2.0, 1.0, 0.0])
    assert violation(z, a, 6.0, right) <= 1
    for wrong in ([3 + 1e-9, 2, 1, 0], [3 + 1e-9, 2 - 1e-9, 1, 0], [2.0, 2.0, 1.0, 1.0]):
        assert violation(z, a, 6.0, np.array(wrong)) > 1e3


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9])
def test_the_sum_is_the_capacity_however_large_the_numbers_are(n):
    """To 1e-10, where the judge forgives 1e-9; of a capacity of 0, to the last digit."""
    rng = np.random.default_rng(n)
    for _ in range(2000):
        c = 0.0 if rng.random() < 0.2 else 10.0 ** rng.uniform(-12, 12)
        a = np.where(rng.random(n) < 0.2, 0.0, max(c, 1e-12) * rng.uniform(0, 3, n))
        z = 10.0 ** rng.uniform(-14, 14, n) * rng.choice([-1, 1, 1, 1], n)
        if rng.random() < 0.5:
            z = 10.0 ** rng.uniform(0, 14) * (1 + rng.uniform(0, 1e-9, n))
        y = project(z, a, c)
        assert (y >= 0).all()
        assert (y <= a).all()
        assert y.sum() <= c * (1 + 1e-10)
        if np.clip(z, 0, a).sum() >= c:
            assert y.sum() >= c * (1 - 1e-10)
