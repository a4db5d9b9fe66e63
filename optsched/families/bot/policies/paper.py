"""The distributed Lagrangian algorithms as policies.

A node receives the applications that reach it, and knows its neighbours' last messages, nothing
else (``information = "local"``). The state after the last iteration is evaluated, all rates
divided by one factor such that nothing is overloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from optsched.families.bot.instance import BotInstance, BotPlatform, BotSchedule
from optsched.families.bot.online import Bags
from optsched.families.bot.policies.negotiation import Negotiation, Steps
from optsched.numbers.streams import Streams
from optsched.policies.knowledge import prior_name
from optsched.problem import Information, Prior

ITERATIONS = 1500
LARGEST_STEP = 0.05  # gamma_rho on small platforms


class _Negotiated:
    """Code shared by both algorithms."""

    name = ""
    algorithm = ""  # of `steps`; a subclass may have another name
    information: Information = "local"

    def __init__(self, iterations: int = ITERATIONS, **steps: Any) -> None:
        if iterations < 1:
            raise ValueError(f"iterations is {iterations}, expected at least 1")
        self.iterations = iterations
        self.given = steps

    @property
    def knows(self) -> tuple[str, ...]:
        """The step sizes for a platform of this size."""
        return (prior_name("steps", algorithm=self.algorithm),)

    def start(self, public: BotPlatform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Take over the platform and the step sizes."""
        self.platform = public
        (known,) = (prior[name] for name in self.knows)
        self.steps = Steps(algorithm=self.algorithm, **(known | self.given))

    def step(self, event: Bags) -> BotSchedule:
        """Negotiate, and scale back."""
        inst = instance_of(self.platform, event)
        negotiation = Negotiation(inst, self.steps)
        negotiation.run(self.iterations)
        return BotSchedule.of(negotiation.feasible())


class Adaptive(_Negotiated):
    """The adaptive algorithm (end of Sec. 7).

    Parameters
    ----------
    iterations : int
    rho, tilde, lam, mu, threshold, start, dual_step, order, factor, newton, stability
        As in `Steps`; by default gamma_rho = min(0.05, 1 / N), about what Table 2 has, 0.05 for the
        smoothed rates and 0.7 for the prices.
    """

    name = algorithm = "adaptive"


class Naive(_Negotiated):
    """The naive algorithm (11) with the normalized step (19).

    Parameters
    ----------
    iterations : int
    rho, tilde, lam, mu, start, order, prox
        As in `Steps`; by default the set of Sec. 6.5.3 that converges on 28 of 30 platforms.
    """

    name = algorithm = "naive"


def usual_steps(inst: BotInstance, algorithm: str = Adaptive.name) -> dict[str, float]:
    """Return the usual step sizes of an algorithm, by the number of nodes.

    Raises
    ------
    ValueError
        No such algorithm.
    """
    if algorithm == Adaptive.name:
        return {"rho": min(LARGEST_STEP, 1 / len(inst.speed)), "tilde": 0.05, "lam": 0.7, "mu": 0.7}
    if algorithm == Naive.name:
        return {"rho": 1e-3, "tilde": 1e-3, "lam": 1e-13, "mu": 1e-15}
    raise ValueError(f"algorithm is {algorithm!r}, expected 'adaptive' or 'naive'")


KNOWLEDGE: Mapping[str, Callable[..., Any]] = {
    "steps": usual_steps,
    "applications": lambda inst: len(inst.applications),
}
"""Step sizes of both algorithms, and how many applications there are."""


def instance_of(platform: BotPlatform, bags: Bags) -> BotInstance:
    """Put together what was handed over apart."""
    return BotInstance(
        **{name: getattr(platform, name) for name in BotPlatform.model_fields},
        applications=bags.applications,
        routes=bags.routes,
    )
