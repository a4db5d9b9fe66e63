"""Policies whose worst ratio is known, for `hunts.py`."""

from __future__ import annotations

from typing import cast

from optsched.families.bot.instance import BotSchedule
from optsched.families.bot.online import Bags
from optsched.families.bot.policies.paper import Adaptive
from optsched.families.completion.instance import CompletionJob, Piece
from optsched.families.completion.policies.baselines import Fifo
from optsched.scheduling.jobs import Arrivals

WORST = 6
LIGHT, MANY, LARGE = 4, 3, 400  # weight at most, chunks, MB of gradients at least
SLOW = 4e6  # flop/s


class Sleepy(Fifo):
    """Runs a job as fast as can be, but lets a light and large one wait.

    In a space of one job that arrives in slot a and takes d slots, its ratio is 1, or
    (a + K d) / (a + d): at most K.
    """

    name = "sleepy"

    def step(self, event: Arrivals) -> dict[int, list[Piece]]:
        """Put off what it dislikes."""
        found = super().step(event)
        for j in event.jobs:
            job = cast(CompletionJob, event.jobs[j])
            if job.weight <= LIGHT and job.chunks >= MANY and job.gradient_mb >= LARGE:
                found[j] = [
                    piece.model_copy(update={"start": piece.start + (WORST - 1) * piece.duration})
                    for piece in found[j]
                ]
        return found


class Grudging(Adaptive):
    """Fair, but gives bags of large tasks with slow masters a part of their rates.

    The ratio is the geometric mean of what is taken from the bags: at most K, if all are such.
    """

    name = "grudging"

    def step(self, event: Bags) -> BotSchedule:
        """Take the rates of some bags down."""
        fair, speed = super().step(event), self.platform.speed
        poor = {
            k
            for k, bag in enumerate(event.applications)
            if bag.name == "cpu" and speed[bag.master] < SLOW
        }
        rates = ((n, k, rate / WORST if k in poor else rate) for n, k, rate in fair.rates)
        return BotSchedule(rates=tuple(rates))
