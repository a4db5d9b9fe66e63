"""Proportionally fair throughput of bags of tasks on heterogeneous platforms."""

from __future__ import annotations

from optsched.families import later
from optsched.families.bot.certificate.check import BotCertificate, check
from optsched.families.bot.facts import describe, headline, shadow_prices, warnings
from optsched.families.bot.fairness import measure
from optsched.families.bot.gaps import distance
from optsched.families.bot.instance import BotInstance, BotSchedule
from optsched.families.bot.online import WIRE, assemble, events
from optsched.families.bot.optimum.initial_bounds import modest, opening
from optsched.families.bot.optimum.methods import METHODS
from optsched.families.bot.policies.baselines import BASELINES
from optsched.families.bot.policies.paper import KNOWLEDGE, Adaptive, Naive
from optsched.families.bot.sources.presets import PRESETS, generate
from optsched.families.bot.verify import verify
from optsched.problem import Family

FAMILY = Family(
    name="bot",
    title="Fair bags of tasks: steady-state throughput on heterogeneous platforms",
    paper="Bertin, Hunold, Legrand, Touati: Fair scheduling of bag-of-tasks applications using "
    "distributed Lagrangian optimization. JPDC 2013, hal-00872473",
    sense="max",
    instance=BotInstance,
    schedule=BotSchedule,
    certificate=BotCertificate,
    presets=PRESETS,
    sizes=("nodes", "applications"),
    generate=generate,
    parameter_space=later("optsched.families.bot.sources.parameter_space", "parameter_space"),
    open_trace=later("optsched.families.bot.sources.traces", "open_trace"),
    samples={"source": "platform.csv", "profiles": ("applications.csv",)},
    verify=verify,
    check=check,
    events=events,
    public=BotInstance.platform,
    wire=WIRE,
    knowledge=KNOWLEDGE,
    assemble=assemble,
    policies={Adaptive.name: Adaptive, Naive.name: Naive, **BASELINES},
    methods=METHODS,
    program=later("optsched.models.bot", "bot_program"),
    program_note=later("optsched.models.bot", "note"),
    headline=headline,
    describe=describe,
    warnings=warnings,
    pictures=later("optsched.families.bot.pictures", "pictures"),
    second={"interior": "conic"},
    measure=measure,
    distance=distance,
    empty=modest,
    opening=opening,
    shadow_prices=shadow_prices,
)
