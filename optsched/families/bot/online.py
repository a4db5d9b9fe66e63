"""Online process of family `bot`: all bags are present, and are negotiated in one event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from optsched.families.bot.instance import Application, BotInstance, BotPlatform, BotSchedule
from optsched.policies.serialization import typed_wire
from optsched.problem import Frozen, Information, InputError


class Bags(Frozen):
    """The applications, and the routes of each (None: the only path)."""

    applications: tuple[Application, ...]
    routes: tuple[tuple[int, ...], ...] | None


def events(inst: BotInstance, information: Information = "local") -> Iterator[Bags]:
    """Hand over all bags at once: they have no end, and rates are those of the steady state.

    Raises
    ------
    InputError
        A policy decides before them: there is nothing else.
    """
    if information == "before":
        raise InputError('information is "before", expected "after" or "local" in family bot')
    yield Bags(applications=inst.applications, routes=inst.routes)


def assemble(inst: BotInstance, played: Sequence[tuple[Bags, BotSchedule]]) -> BotSchedule:  # noqa: ARG001
    """Return the rates that were agreed on."""
    return played[-1][1]


WIRE = typed_wire(BotPlatform, Bags, BotSchedule)
