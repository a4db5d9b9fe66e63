"""Risk-reward heuristic, a baseline of the OASiS paper (Sec. V-A).

After Irwin, Grit, Chase: Balancing Risk and Reward in a Market-Based Task Service. HPDC 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from optsched.families.oasis.instance import OasisJob, Platform
from optsched.families.oasis.policies.common import ArrivedJob, FixedNumber
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.problem import Prior
from optsched.scheduling.online.filling import unit_shares
from optsched.scheduling.online.queues import best_first


@dataclass(frozen=True, eq=False)
class _Stake:
    """Consequences of a job's fixed number of workers."""

    earn: Floats  # (T + 1,) utility if it completes in slot 0..T-1; 0 after the end
    share: float  # dominant share of the cluster that it holds while it runs


class Rrh(FixedNumber):
    """Jobs are admitted, run and paused by what they will earn less what they make others lose.

    In slot t an unfinished job i still runs L_i = ceil(missing_i / n_i) slots with its fixed number
    n_i of workers; if it does so at once, it completes in slot C_i = t + L_i - 1. What completes
    after the horizon earns nothing.

    - Reward, the present value:  R_i = f_i(C_i - a_i) / (1 + discount L_i).
    - Delay cost, what the other unfinished jobs lose if they wait until i is done, times the part
      of the cluster that i takes (s_i, the dominant share of its workers and PS):
      D_i = s_i sum_{j != i} (f_j(C_j - a_j) - f_j(C_j + L_i - a_j)).
    - Admission, once, on arrival:  R_i - D_i > threshold.
    - At every arrival and completion, unfinished jobs are placed anew in the order of
      (weight R_i - (1 - weight) D_i) / (s_i L_i), the gain per part of the cluster and slot; ties
      by index. A job runs with n_i workers, round robin, if they fit, and else pauses. A job that
      can earn nothing any more (R_i = 0) is given up.

    The original has tasks of one processor each, with values that fall linearly; s_i, and the
    differences of f_j instead of slope times delay, carry it over. Guarantee: none.

    Parameters
    ----------
    weight : float
        Of the reward, in [0, 1]; the rest is the weight of the delay cost (their alpha).
    discount : float
        Discount rate per slot, >= 0: the risk of what lies far ahead.
    threshold : float
        Least net gain for admission, in units of utility.
    fewest_workers, most_workers : int
        Range of the fixed number of workers. The paper prints [1, 30].
    """

    name = "rrh"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "weight": (0.3, 0.5, 0.7, 1.0),
        "discount": (0.0, 0.01, 0.1),
        "threshold": (0.0, 1.0, 5.0, 20.0),
    }

    def __init__(
        self,
        weight: float = 1.0,
        discount: float = 0.0,
        threshold: float = 0.0,
        fewest_workers: int = 1,
        most_workers: int = 30,
    ) -> None:
        super().__init__(fewest_workers, most_workers)
        if not (0 <= weight <= 1 and discount >= 0):
            raise ValueError(
                f"rrh: weight {weight}, discount {discount}, "
                "expected 0 <= weight <= 1 and discount >= 0"
            )
        self.weight, self.discount, self.threshold = weight, discount, threshold

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:
        """Begin with an empty cluster."""
        super().start(public, prior, streams)
        self.stakes: dict[int, _Stake] = {}

    def admit(self, i: int, task: ArrivedJob, slot: int) -> bool:
        """Admit if reward - delay cost > threshold."""
        if not super().admit(i, task, slot):
            return False
        self.stakes[i] = self._stake(task, self.number[i])
        missing = {**self.backlog.missing, i: task.work}
        reward, cost, _ = self._gains(missing, slot)
        return bool(reward[-1] - cost[-1] > self.threshold)

    def decide(self, slot: int) -> None:
        """Run the best, pause the others, if a job has come or gone."""
        if not self.backlog.changed:
            return
        self.cluster.clear()
        self.held = {}
        order = sorted(self.backlog)
        reward, cost, effort = self._gains({i: self.backlog.missing[i] for i in order}, slot)
        scores = (self.weight * reward - (1 - self.weight) * cost) / effort
        for j in best_first(scores.tolist()):
            i = order[j]
            if reward[j] == 0:
                self.backlog.drop(i)
                continue
            held = self.cluster.place(self.tasks[i], self.workers(i))
            if held is not None:
                self.held[i] = held

    def _stake(self, task: ArrivedJob, number: int) -> _Stake:
        of_worker, of_ps = unit_shares(self.cluster.workers, self.cluster.servers, task.request)
        share = float((number * of_worker + task.request.ps[number] * of_ps).max())
        return _Stake(_earnings(task.job, self.platform.horizon), share)

    def _gains(self, missing: Mapping[int, int], slot: int) -> tuple[Floats, Floats, Floats]:
        """Return reward R, delay cost D and effort s L of every job in ``missing``, shapes (J,)."""
        if not missing:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        stakes, end = [self.stakes[i] for i in missing], self.platform.horizon
        earn = np.array([s.earn for s in stakes])  # (J, T + 1)
        share = np.array([s.share for s in stakes])
        length = np.array([-(-left // self.number[i]) for i, left in missing.items()])
        done = slot + length - 1
        later = np.minimum(done + length[:, None], end)  # (J, J): j done if it waits for i
        jobs = np.arange(len(stakes))
        on_time = earn[jobs, np.minimum(done, end)]
        losses = on_time - earn[jobs, later]
        np.fill_diagonal(losses, 0.0)
        effort = np.maximum(share * length, 1e-12)  # a job may demand nothing at all
        return on_time / (1 + self.discount * length), share * losses.sum(axis=1), effort


def _earnings(job: OasisJob, horizon: int) -> Floats:
    """Return the utility by completion slot, shape (T + 1,); the last entry is after the end."""
    values = np.zeros(horizon + 1)
    values[job.arrival : horizon] = [job.utility(d) for d in range(horizon - job.arrival)]
    return values
