"""Baselines: schedulers without prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optsched.families.bot.instance import BotInstance, BotPlatform, BotSchedule
from optsched.families.bot.loads import equal_shares, equal_turns
from optsched.families.bot.online import Bags
from optsched.families.bot.policies.paper import instance_of
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.problem import Information, Policy, Prior


class _Shared:
    """Every node and every link divides itself by a rule of its own."""

    name = ""
    information: Information = "local"
    knows: tuple[str, ...] = ()
    rule: Callable[[BotInstance], Floats]

    def start(self, public: BotPlatform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Take over the platform."""
        self.platform = public

    def step(self, event: Bags) -> BotSchedule:
        """Divide everything."""
        return BotSchedule.of(type(self).rule(instance_of(self.platform, event)))


class LocalShare(_Shared):
    """Fair shares on each node, as BOINC's clients have them.

    Each node divides its speed, and each link its bandwidth, among the applications that use it, by
    weight. Capacity that an application cannot use stays unused.
    """

    name = "local-share"
    rule = staticmethod(equal_shares)


class Fifo(_Shared):
    """Master and workers with queues served in order of arrival.

    Every worker keeps one request of each application open, so that nodes and links serve one task
    of each in turn: equal numbers of tasks, whatever they cost.
    """

    name = "fifo"
    rule = staticmethod(equal_turns)


BASELINES: Mapping[str, Callable[..., Policy]] = {LocalShare.name: LocalShare, Fifo.name: Fifo}
