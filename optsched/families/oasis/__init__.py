"""OASiS: training jobs with workers and parameter servers on two separate sets of machines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optsched.families.oasis.certificate.format import OasisCertificate, check
from optsched.families.oasis.facts import describe, warnings
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.online import WIRE, assemble, events
from optsched.families.oasis.optimum.methods import METHODS
from optsched.families.oasis.optimum.opening import empty, opening, trim
from optsched.families.oasis.optimum.shadow import shadow_prices
from optsched.families.oasis.policies import BASELINES
from optsched.families.oasis.policies.paper import KNOWLEDGE, Oasis, guarantee
from optsched.families.oasis.sources.presets import generate
from optsched.families.oasis.verify import verify
from optsched.problem import Family, Window


def _open_trace(source: Path, window: Window) -> OasisInstance:
    from optsched.families.oasis.sources.traces import open_trace  # here, since pandas loads slowly

    return open_trace(source, window)


def _program(inst: OasisInstance) -> Any:
    from optsched.models.oasis import oasis_ilp  # here, since Pyomo takes a while to import

    return oasis_ilp(inst)


def _headline(inst: OasisInstance) -> str:
    return f"{len(inst.jobs)} jobs"


def _pictures(inst: OasisInstance, schedules: Mapping[str, OasisSchedule]) -> Mapping[str, Any]:
    from optsched.families.oasis.pictures import pictures  # here, since drawing loads slowly

    return pictures(inst, schedules)


FAMILY = Family(
    name="oasis",
    title="OASiS: utility of training jobs, workers and parameter servers apart",
    paper="Bao, Peng, Wu, Li: Online Job Scheduling in Distributed Machine Learning Clusters. "
    "INFOCOM 2018, arXiv:1801.00936",
    sense="max",
    instance=OasisInstance,
    schedule=OasisSchedule,
    certificate=OasisCertificate,
    presets=("paper", "earnable", "small"),
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
    public=OasisInstance.platform,
    wire=WIRE,
    knowledge=KNOWLEDGE,
    assemble=assemble,
    policies={Oasis.name: Oasis, **BASELINES},
    slow=("dorm",),  # it solves an integer program whenever a job comes or goes
    methods=METHODS,
    program=_program,
    headline=_headline,
    describe=describe,
    warnings=warnings,
    guarantee=guarantee,
    pictures=_pictures,
    second={"compact": "cpsat", "cpsat": "compact"},
    shadow_prices=shadow_prices,
)
