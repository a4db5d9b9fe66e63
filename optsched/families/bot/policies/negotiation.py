"""Runs of the distributed algorithm, also while the platform changes (Sec. 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat

from optsched.families.bot.fairness import utilities
from optsched.families.bot.instance import BotInstance
from optsched.families.bot.loads import feasible
from optsched.families.bot.policies.waves import (
    GRADIENT,
    LATE,
    LOST,
    MIX,
    NONE,
    SENT,
    Mail,
    NegotiationState,
    Network,
    Positions,
    Rules,
    WaveState,
    exchange,
    iterate,
)
from optsched.numbers.arrays import Flags, Floats
from optsched.problem import Frozen

PORTION = 2**22  # pairs times iterations in one call of a kernel
PROX = {"mix": MIX, "gradient": GRADIENT, "none": NONE}


class Steps(Frozen):
    """An algorithm and its step sizes."""

    algorithm: Literal["naive", "adaptive"]
    rho: PositiveFloat = Field(description="gamma of the rates")
    tilde: NonNegativeFloat = Field(description="gamma of the smoothed rates")
    lam: NonNegativeFloat = Field(description="gamma_lambda, prices of nodes")
    mu: NonNegativeFloat = Field(description="gamma_mu, prices of arcs")
    threshold: NonNegativeFloat = Field(
        default=1e-9, description="a rate above this (tasks/s) counts in the denominators"
    )
    start: PositiveFloat = Field(default=1e-2, description="rate of every pair at first, tasks/s")
    dual_step: Literal["stable", "printed"] = Field(
        default="stable",
        description="whether the dual steps of the adaptive algorithm are divided by gamma_rho, as "
        "the stability condition of Sec. 7.3 requires, or not, as (21) and (22) are printed",
    )
    factor: float = Field(
        default=0.5,
        ge=0,
        lt=1,
        description="alpha of Sec. 7.4: no variable of the adaptive "
        "algorithm falls below this share of itself in one iteration; 0 is max(0, ...)",
    )
    newton: bool = Field(
        default=True, description="whether rates of the adaptive algorithm follow (20), or (19)"
    )
    stability: bool = Field(
        default=True,
        description="whether prices of the adaptive algorithm follow (21) and (22), "
        "or (17) and (18)",
    )
    order: Literal["waves", "equations"] = Field(
        default="waves",
        description="each update from what the waves have brought, or all from the state before",
    )
    prox: Literal["mix", "gradient", "none"] = Field(
        default="mix", description="proximal term of the naive algorithm: as in Sec. 7, as the "
        "gradient of (11), or none, as (19) is printed",
    )  # fmt: skip

    def rules(self, alpha: float) -> Rules:
        """Return the applied rates, for the utility ``alpha``."""
        adaptive = self.algorithm == "adaptive"
        stability = adaptive and self.stability
        dual = 1 / self.rho if stability and self.dual_step == "stable" else 1.0
        return Rules(
            newton=adaptive and self.newton,
            stability=stability,
            factor=self.factor if adaptive else 0.0,
            prox=MIX if adaptive else PROX[self.prox],
            simultaneous=self.order == "equations",
            alpha=alpha,
            rho=self.rho,
            tilde=self.tilde,
            lam=self.lam * dual,
            mu=self.mu * dual,
            threshold=self.threshold,
        )


class Negotiation:
    """A negotiation that goes on: rates, prices, and the knowledge of each node.

    Parameters
    ----------
    inst : BotInstance
    steps : Steps
    active : array of bool, optional
        Applications that are there, by default all.
    messages : bool
        Whether single messages are simulated, so that they can be late or lost.
    loss : float
        Probability that a message is lost.
    delay : int
        A message arrives up to this many rounds late, each number being as likely.
    seed : int
        Seed of delays and losses.
    """

    def __init__(
        self,
        inst: BotInstance,
        steps: Steps,
        *,
        active: Flags | None = None,
        messages: bool = False,
        loss: float = 0.0,
        delay: int = 0,
        seed: int = 0,
    ) -> None:
        if not 0 <= loss < 1 or delay < 0:
            raise ValueError(f"loss {loss}, delay {delay}: expected a share below 1, and 0 or more")
        if (loss or delay) and not messages:
            raise ValueError("only messages can be late or lost, expected messages=True")
        if messages and steps.order != "waves":
            raise ValueError('messages come in waves, expected order="waves"')
        self.steps, self.messages = steps, messages
        self.rng = np.random.default_rng(seed)
        self.rounds = 0
        self._network = Network(float(loss), delay, np.zeros(3, np.int64))
        shape = (len(inst.applications), len(inst.speed))
        self._rho, self._tilde = np.zeros(shape), np.zeros(shape)  # by node
        self.lam, self.mu = np.zeros(shape[1]), np.zeros(2 * len(inst.links))
        self.totals = np.zeros(shape[0])
        self._was = np.zeros(shape, bool)
        self.positions = Positions.of(inst, active)
        self.adapt(inst, active=active)
        if messages:
            self._down, self._upward = Mail.of(*shape, delay), Mail.of(*shape, delay)
            self._down.known[:, :, 0] = self.totals[:, None]  # all know it at first

    def adapt(self, inst: BotInstance, *, active: Flags | None = None) -> None:
        """Go on with changed numbers: nodes, links or applications left, came or changed.

        The platform keeps its shape: a node that leaves has speed or bandwidth 0, or is not
        ``active``. Pairs that are new begin at the start rate, those that are gone have none.

        Raises
        ------
        ValueError
            The shape, or the routes, are others.
        """
        shape = (len(inst.applications), len(inst.speed))
        if shape != self._rho.shape or 2 * len(inst.links) != len(self.mu):
            raise ValueError(
                f"{shape[0]} applications, {shape[1]} nodes, {len(inst.links)} links, expected "
                f"{self._rho.shape[0]}, {self._rho.shape[1]}, {len(self.mu) // 2} as before"
            )
        positions = Positions.of(inst, active)
        if self.rounds and not np.array_equal(positions.node, self.positions.node):
            raise ValueError("the routes have changed, expected those with which it began")
        self.inst = inst
        self.active = np.ones(shape[0], bool) if active is None else np.asarray(active, bool)
        self.positions = positions
        here = positions.by_node(positions.present.astype(float)) > 0
        fresh = here & ~self._was
        for values in (self._rho, self._tilde):
            values[fresh] = self.steps.start
            values[~here] = 0.0
        self._was = here
        came = fresh.any(axis=1) & (self.totals == 0)
        self.totals[came] = self._rho[came].sum(axis=1)
        if self.messages and self.rounds:
            self._down.known[came, :, 0] = self.totals[came, None]

    def run(self, iterations: int) -> tuple[Floats, Floats]:
        """Go on for some iterations.

        Returns
        -------
        objective, overload : arrays of shape (iterations,)
            After each: the utility of the rates (which may overload; -inf is possible), and the
            largest load / capacity.
        """
        totals = np.zeros((iterations, len(self.positions.size)))
        overload = np.zeros(iterations)
        portion = max(1, PORTION // self._rho.size)  # a signal waits until a kernel returns
        for begin in range(0, iterations, portion):
            part = slice(begin, begin + portion)
            self._go_on(totals[part], overload[part])
        return utilities(
            self.inst.alpha, self.inst.weights[self.active], totals[:, self.active]
        ), overload

    def _go_on(self, totals: Floats, overload: Floats) -> None:
        """Run as many iterations as there is place for their totals (T, K) and overload (T,)."""
        p, iterations = self.positions, len(overload)
        state = NegotiationState(
            p.by_place(self._rho), p.by_place(self._tilde), self.lam, self.mu, self.totals
        )
        rules = self.steps.rules(1.0 if self.inst.alpha == "inf" else float(self.inst.alpha))
        if self.messages:
            exchange(
                p, rules, self._network, self.rng, self.rounds + 1, self._down, self._upward,
                state, totals, overload,
            )  # fmt: skip
        else:
            iterate(p, rules, state, totals, overload, WaveState.of(p))
            self._network.tally[SENT] += iterations * int(2 * (p.size - 1)[self.active].sum())
        self._rho, self._tilde = p.by_node(state.rho), p.by_node(state.tilde)
        self.rounds += iterations
        self.totals = totals[-1].copy()

    @property
    def sent(self) -> int:
        """Messages so far."""
        return int(self._network.tally[SENT])

    @property
    def lost(self) -> int:
        """Messages that never arrived."""
        return int(self._network.tally[LOST])

    @property
    def late(self) -> int:
        """Messages that took longer than a round."""
        return int(self._network.tally[LATE])

    @property
    def rho(self) -> Floats:
        """Rates by node, shape (K, N); they may overload the platform."""
        return self._rho.copy()

    @property
    def tilde(self) -> Floats:
        """Smoothed rates by node, shape (K, N)."""
        return self._tilde.copy()

    def feasible(self) -> Floats:
        """Return the rates, divided by one factor such that nothing is overloaded, (K, N)."""
        return feasible(self.inst, self._rho)


def without(
    inst: BotInstance, *, nodes: Sequence[int] = (), arcs: Sequence[int] = ()
) -> BotInstance:
    """Return ``inst`` where some nodes compute nothing and some arcs carry nothing any more."""
    speed = [0.0 if n in set(nodes) else w for n, w in enumerate(inst.speed)]
    links = [
        link.model_copy(
            update={
                side: 0.0
                for side, arc in (("forward", 2 * number), ("backward", 2 * number + 1))
                if arc in set(arcs)
            }
        )
        for number, link in enumerate(inst.links)
    ]
    return inst.model_copy(update={"speed": tuple(speed), "links": tuple(links)})
