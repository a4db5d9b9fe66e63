"""The distributed Lagrangian algorithms as policies.

A node is told of the applications that reach it, and knows its neighbours' last messages, nothing
else (``information = "local"``). What is judged is the state after the last iteration, all rates
divided by one factor such that nothing is overloaded.
"""

from __future__ import annotations

from typing import Any

from optsched.families.bot.instance import BotInstance, BotPlatform, BotSchedule
from optsched.families.bot.negotiation import Negotiation, Steps
from optsched.families.bot.online import Bags
from optsched.problem import Information, Prior
from optsched.streams import Streams

ITERATIONS = 1500
LARGEST_STEP = 0.05  # gamma_rho on small platforms


class _Negotiated:
    """What both algorithms share."""

    name = ""
    information: Information = "local"

    def __init__(self, iterations: int = ITERATIONS, **steps: Any) -> None:
        if iterations < 1:
            raise ValueError(f"iterations is {iterations}, expected at least 1")
        self.iterations = iterations
        self.given = steps

    def defaults(self, nodes: int) -> dict[str, Any]:
        """Return the step sizes for a platform of so many nodes."""
        raise NotImplementedError

    def prior(self, instance: BotInstance) -> Prior:
        """Choose step sizes by the number of nodes, which is all that is asked of the instance."""
        known = self.defaults(len(instance.speed)) | self.given
        steps = Steps(algorithm=self.name, **known)
        return {"iterations": self.iterations, "steps": steps.model_dump()}

    def start(self, public: BotPlatform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Take over the platform and the step sizes."""
        self.platform, self.known = public, prior

    def step(self, event: Bags) -> BotSchedule:
        """Negotiate, and scale back."""
        inst = instance_of(self.platform, event)
        negotiation = Negotiation(inst, Steps.model_validate(self.known["steps"]))
        negotiation.run(self.known["iterations"])
        return BotSchedule.of(negotiation.feasible())


class Adaptive(_Negotiated):
    """The adaptive algorithm (end of Sec. 7).

    Parameters
    ----------
    iterations : int
    rho, tilde, lam, mu, threshold, start, dual_step, order
        As in `Steps`; by default gamma_rho = min(0.05, 1 / N), about what Table 2 has, 0.05 for the
        smoothed rates and 0.7 for the prices.
    """

    name = "adaptive"

    def defaults(self, nodes: int) -> dict[str, Any]:
        """Return the step sizes for a platform of so many nodes."""
        return {"rho": min(LARGEST_STEP, 1 / nodes), "tilde": 0.05, "lam": 0.7, "mu": 0.7}


class Naive(_Negotiated):
    """The naive algorithm (11) with the normalized step (19).

    Parameters
    ----------
    iterations : int
    rho, tilde, lam, mu, start, order, prox
        As in `Steps`; by default the set of Sec. 6.5.3 that converges on 28 of 30 platforms.
    """

    name = "naive"

    def defaults(self, nodes: int) -> dict[str, Any]:  # noqa: ARG002
        """Return the step sizes of Sec. 6.5.3."""
        return {"rho": 1e-3, "tilde": 1e-3, "lam": 1e-13, "mu": 1e-15}


def instance_of(platform: BotPlatform, bags: Bags) -> BotInstance:
    """Put together what was handed over apart."""
    return BotInstance(
        **{name: getattr(platform, name) for name in BotPlatform.model_fields},
        applications=bags.applications,
        routes=bags.routes,
    )
