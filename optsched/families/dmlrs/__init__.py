"""DMLRS: training jobs whose workers and parameter servers may share machines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optsched.families.dmlrs.certificate.format import DmlrsCertificate, check
from optsched.families.dmlrs.facts import describe, warnings
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.dmlrs.online import WIRE, assemble, events
from optsched.families.dmlrs.optimum.methods import METHODS
from optsched.families.dmlrs.optimum.opening import empty, opening, trim
from optsched.families.dmlrs.optimum.shadow import shadow_prices
from optsched.families.dmlrs.policies import BASELINES
from optsched.families.dmlrs.policies.oasis import KNOWLEDGE as HALVES
from optsched.families.dmlrs.policies.paper import (
    KNOWLEDGE,
    PdOrs,
    PdOrsRandomized,
    guarantee,
    refuse_links,
)
from optsched.families.dmlrs.sources.presets import generate
from optsched.families.dmlrs.verify import verify
from optsched.problem import Family, Window


def _open_trace(source: Path, window: Window) -> DmlrsInstance:
    from optsched.families.dmlrs.sources.traces import open_trace  # here, since pandas loads slowly

    return open_trace(source, window)


def _program(inst: DmlrsInstance) -> Any:
    from optsched.models.dmlrs import dmlrs_ilp  # here, since Pyomo takes a while to import

    return dmlrs_ilp(inst)


def _headline(inst: DmlrsInstance) -> str:
    return f"{len(inst.jobs)} jobs"


def _pictures(inst: DmlrsInstance, schedules: Mapping[str, DmlrsSchedule]) -> Mapping[str, Any]:
    from optsched.families.dmlrs.pictures import pictures  # here, since drawing loads slowly

    return pictures(inst, schedules)


FAMILY = Family(
    name="dmlrs",
    title="DMLRS: utility of training jobs, workers and parameter servers on shared machines",
    paper="Yu: Online Scheduling of Distributed Machine Learning Jobs. Master's thesis, Iowa State "
    "University, 2019",
    sense="max",
    instance=DmlrsInstance,
    schedule=DmlrsSchedule,
    certificate=DmlrsCertificate,
    presets=("paper", "contended", "small"),
    sizes=("jobs", "slots", "machines"),
    generate=generate,
    open_trace=_open_trace,
    samples={"source": "jobs.csv", "machines": "machines.csv"},
    verify=verify,
    empty=empty,
    opening=opening,
    trim=trim,
    check=check,
    events=events,
    public=DmlrsInstance.platform,
    wire=WIRE,
    knowledge={**KNOWLEDGE, **HALVES},
    playable=refuse_links,
    assemble=assemble,
    policies={PdOrs.name: PdOrs, PdOrsRandomized.name: PdOrsRandomized, **BASELINES},
    methods=METHODS,
    program=_program,
    headline=_headline,
    describe=describe,
    warnings=warnings,
    guarantee=guarantee,
    pictures=_pictures,
    shadow_prices=shadow_prices,
    second={"compact": "cpsat", "cpsat": "compact"},
)
