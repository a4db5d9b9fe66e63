"""Prices by small steps: bounds of either sign."""

import numpy as np
import pytest
from scipy.optimize import linprog

from optsched.engine.ascent import Ascent, AscentLevel

STEPS = 20_000  # far more than are needed


class Choices:
    """Blocks that take one of some options, or nothing; what they earn is shifted by a number."""

    def __init__(self, seed: int, shift: float) -> None:
        draw = np.random.default_rng(seed)
        self.blocks = 60
        self.earns = np.concatenate([np.zeros((60, 1)), draw.random((60, 4))], axis=1) + shift
        self.uses = draw.random((60, 5, 3))
        self.uses[:, 0] = 0.0
        self.rhs = np.full(3, 6.0)

    def sweep(self, prices, chosen, exact):  # noqa: ARG002
        value = self.earns[chosen] - self.uses[chosen] @ prices
        best = value.argmax(axis=1)
        return float(value.max(axis=1).sum()), self.uses[chosen, best].sum(axis=0)

    def optimum(self) -> float:
        """Return the value of the linear program, which is the least bound."""
        found = linprog(
            -self.earns.ravel(),
            A_ub=self.uses.reshape(-1, 3).T,
            b_ub=self.rhs,
            A_eq=np.kron(np.eye(60), np.ones(5)),
            b_eq=np.ones(60),
        )
        return -found.fun


@pytest.mark.parametrize("shift", [0.0, 2.0, -0.2, -2.0])
def test_steps_become_smaller_at_bounds_of_either_sign(shift):
    """An average that gains too little ends a step: it did not where bounds are below 0."""
    problem, left = Choices(3, shift), iter(range(STEPS))
    bounds: list[float] = []
    ascent = Ascent(
        problem,
        np.random.default_rng(0),
        stop=lambda: next(left, None) is None,
        found=lambda bound, _: bounds.append(bound),
    )
    ascent.scan(np.full(3, 1 / 18.0), 60.0)
    ascent.descend(AscentLevel(np.arange(3), first=0.05, last=0.001, gain=1e-3))
    assert next(left, None) is not None  # it ended by itself
    assert bounds == sorted(bounds, reverse=True)
    best = problem.optimum()
    assert best <= ascent.bound * (1 + 1e-9 * np.sign(ascent.bound))
    assert ascent.bound <= best + 0.02 * 60 * (0.5 + abs(shift))
    assert ascent.look(ascent.prices) == pytest.approx(ascent.bound)
