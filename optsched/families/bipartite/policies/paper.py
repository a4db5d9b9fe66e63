"""OGASched (Algorithm 1): online gradient ascent with the exact projection.

    y(t+1) = Proj_Y( y(t) + eta_t grad q(x(t), y(t)) )                      (31)

A decision is made before the jobs of its slot are known (``information = "before"``): the event of
a slot shows the jobs of the slot before, from which it learns. Step sizes:

    decay       eta_1 = eta, eta_{t+1} = decay eta_t           Table II: 25 and 0.9999
    constant    eta
    theory      diam (53) / (gradient bound (50) sqrt(T)), for which the regret is at most (41)
    adaptive    (55): diam / (norm of the current gradient, sqrt(T)); no move where the norm is 0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from optsched.families.bipartite.instance import Platform, Slot
from optsched.families.bipartite.policies.projection import (
    Live,
    ProjectedAscent,
    ascend,
    ascend_long,
    gradient_norm,
)
from optsched.numbers.arrays import Flags, Floats
from optsched.numbers.kernels import plain
from optsched.numbers.streams import Streams
from optsched.problem import Information, InputError, Prior

Step: TypeAlias = Literal["decay", "constant", "theory", "adaptive"]
STEPS = ("decay", "constant", "theory", "adaptive")


class OgaSched:
    """Online gradient ascent.

    Parameters
    ----------
    step : {"decay", "constant", "theory", "adaptive"}
        Rule of the step size.
    eta : float
        First step (decay) or every step (constant).
    decay : float
        Factor from slot to slot.
    start_at : array of shape (N,), optional
        y(1), a decision in Y; by default all amounts are 0.
    """

    information: Information = "before"

    def __init__(
        self,
        step: Step = "decay",
        *,
        eta: float = 25.0,
        decay: float = 0.9999,
        start_at: Floats | None = None,
    ) -> None:
        if step not in STEPS:
            raise InputError(f"step is {step!r}, expected one of: {', '.join(STEPS)}")
        if not 0 < eta < math.inf or not 0 < decay < math.inf:
            raise InputError(f"eta is {eta}, decay is {decay}, expected positive numbers")
        self.name = "ogasched" if step == "decay" else f"ogasched-{step}"
        self.options: dict[str, Any] = {"step": step, "eta": eta, "decay": decay}
        self._first = start_at

    @property
    def knows(self) -> tuple[str, ...]:
        """Constants of the theory, of which only the platform and the number of slots know."""
        return {
            "theory": ("diameter", "gradient_bound", "regret_guarantee"),
            "adaptive": ("diameter",),
        }.get(self.options["step"], ())

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Take y(1)."""
        a = public.arrays
        first = np.zeros(a.channels) if self._first is None else np.array(self._first, float)
        if first.shape != (a.channels,):
            raise InputError(
                f"start_at has the shape {first.shape}, expected ({a.channels},), one amount "
                "per channel"
            )
        self._live = Live(a)
        self._channels = plain(self._live.channels)
        self._y = first[self._live.where]
        self._after = self._y.copy()  # the two take turns
        self._ascent = ProjectedAscent(
            totals=np.zeros((a.resources, a.copies)),
            chosen=np.zeros(a.copies, np.int64),
            step=np.zeros(a.copies),
            price=np.zeros((a.resources, a.copies)),
            rho=np.zeros(len(self._live.order)),
        )
        self._known = plain(self._ascent)
        step = self.options["step"]
        self._eta, self._factor = float(self.options["eta"]), 1.0
        if step == "decay":
            self._factor = float(self.options["decay"])
        elif step == "theory":
            steepest = prior["gradient_bound"] * math.sqrt(public.horizon)
            self._eta = prior["diameter"] / steepest if steepest > 0 else 0.0
        nobody = Slot.without_jobs(a.copies).jobs
        self._ascend(nobody, 0.0)  # compiled before decisions are timed
        self._ascent.totals[:], self._ascent.rho[:] = self._live.add_up(self._y), 0.0
        self._scale = prior["diameter"] / math.sqrt(public.horizon) if step == "adaptive" else None
        if self._scale is not None:
            self._norm(nobody)

    def step(self, event: Slot) -> Floats:
        """Learn from the jobs of the slot before, which the event shows; return the next y."""
        if event.slot > 0:
            self._learn(event.jobs)
        return self._live.spread(self._y)

    def _learn(self, jobs: Flags) -> None:
        """Go one step up the gradient at the last decision."""
        if self._scale is not None:
            norm = self._norm(jobs)
            self._eta = self._scale / norm if norm > 0 else 0.0
        self._ascend(jobs, self._eta)
        self._y, self._after = self._after, self._y
        self._eta *= self._factor

    def _norm(self, jobs: Flags) -> float:
        rest, ascent = self._live.rest, self._ascent
        return float(
            gradient_norm(self._y, jobs, ascent.totals, rest, ascent.chosen, self._channels)
        )

    def _ascend(self, jobs: Flags, eta: float) -> None:
        y, after = self._y, self._after
        ascend(y, after, jobs, eta, self._known, self._channels)
        if self._live.has_long:
            ascend_long(y, after, self._known, self._channels)


def diameter(platform: Platform) -> float:
    """Return the bound (53) on the diameter of Y."""
    a = platform.arrays
    largest = a.request.max(axis=0)  # (K,)
    capacity = a.capacity.reshape(-1, a.resources).sum(axis=0)
    return math.sqrt(2.0 * float(largest @ capacity))


def gradient_bound(platform: Platform) -> float:
    """Return the bound (50) on the norm of the gradient."""
    a = platform.arrays
    steepest = [max(u.slope(0.0) for u in machine.utility) for machine in platform.machines]
    degrees = np.diff(a.start)[:: a.resources]
    each = float(a.beta.max()) ** 2 + a.resources * np.array(steepest) ** 2
    return math.sqrt(float(degrees @ each))


def regret_guarantee(platform: Platform) -> float:
    """Return H_G sqrt(T), (41) and (54): holds for the constant step of the theory only."""
    return diameter(platform) * gradient_bound(platform) * math.sqrt(platform.horizon)


KNOWLEDGE: Mapping[str, Callable[..., Any]] = {
    "diameter": diameter,
    "gradient_bound": gradient_bound,
    "regret_guarantee": regret_guarantee,
    "jobs": lambda inst: int(inst.counts.sum()),
    "jobs_per_port": lambda inst: np.array(inst.arrivals).sum(axis=0).tolist(),
}
"""The bounds (53), (50) and (41), and how many jobs come."""
