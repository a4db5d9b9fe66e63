"""DMLRS: training jobs whose workers and parameter servers may share machines."""

from __future__ import annotations

from functools import partial

from optsched.families import later
from optsched.families.dmlrs.certificate.check import DmlrsCertificate, check
from optsched.families.dmlrs.facts import describe, warnings
from optsched.families.dmlrs.instance import (
    DmlrsInstance,
    DmlrsJob,
    DmlrsSchedule,
    JobSchedule,
    Platform,
)
from optsched.families.dmlrs.optimum.initial_bounds import opening
from optsched.families.dmlrs.optimum.methods import METHODS, Params
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
from optsched.families.dmlrs.policies.resolving import Resolving
from optsched.families.dmlrs.sources.presets import generate
from optsched.families.dmlrs.verify import verify
from optsched.problem import Family
from optsched.scheduling.board import empty, trim
from optsched.scheduling.jobs import events, headline
from optsched.scheduling.wire import assemble, placements_wire

FAMILY = Family(
    name="dmlrs",
    title="DMLRS: utility of training jobs, workers and parameter servers on shared machines",
    paper="Yu: Toward efficient online scheduling for large-scale distributed machine learning "
    "system. Master's thesis, Iowa State University, 2019",
    sense="max",
    instance=DmlrsInstance,
    schedule=DmlrsSchedule,
    certificate=DmlrsCertificate,
    presets=("paper", "contended", "small", "fine"),
    sizes=("jobs", "slots", "machines", "load"),
    generate=generate,
    parameter_space=later("optsched.families.dmlrs.sources.parameter_space", "parameter_space"),
    open_trace=later("optsched.families.dmlrs.sources.traces", "open_trace"),
    recorded=later("optsched.families.dmlrs.sources.traces", "recorded"),
    samples={"source": "jobs.csv", "machines": "machines.csv"},
    verify=verify,
    empty=partial(empty, DmlrsSchedule),
    opening=opening,
    trim=partial(trim, verify),
    check=check,
    events=events,
    public=DmlrsInstance.platform,
    wire=placements_wire(Platform, DmlrsJob),
    knowledge={**KNOWLEDGE, **HALVES},
    playable=refuse_links,
    assemble=partial(assemble, DmlrsSchedule, JobSchedule),
    policies={
        PdOrs.name: PdOrs,
        PdOrsRandomized.name: PdOrsRandomized,
        **BASELINES,
        Resolving.name: Resolving,
    },
    on_request=(Resolving.name,),
    methods=METHODS,
    params=Params,
    program=later("optsched.models.dmlrs", "dmlrs_ilp"),
    headline=headline,
    describe=describe,
    warnings=warnings,
    guarantee=guarantee,
    pictures=later("optsched.families.dmlrs.pictures", "pictures"),
    shadow_prices=shadow_prices,
    second={"compact": "cpsat", "cpsat": "compact"},
)
