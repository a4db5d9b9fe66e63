"""OASiS: training jobs with workers and parameter servers on two separate sets of machines."""

from __future__ import annotations

from functools import partial

from optsched.families import later
from optsched.families.oasis.certificate.check import OasisCertificate, check
from optsched.families.oasis.facts import describe, warnings
from optsched.families.oasis.instance import (
    JobSchedule,
    OasisInstance,
    OasisJob,
    OasisSchedule,
    Platform,
)
from optsched.families.oasis.optimum.initial_bounds import opening
from optsched.families.oasis.optimum.methods import METHODS
from optsched.families.oasis.optimum.params import Params
from optsched.families.oasis.optimum.shadow import shadow_prices
from optsched.families.oasis.policies import BASELINES
from optsched.families.oasis.policies.paper import KNOWLEDGE, Oasis, guarantee
from optsched.families.oasis.policies.resolving import Resolving
from optsched.families.oasis.sources.presets import generate
from optsched.families.oasis.verify import verify
from optsched.problem import Family
from optsched.scheduling.board import empty, trim
from optsched.scheduling.jobs import events, headline
from optsched.scheduling.wire import assemble, placements_wire

FAMILY = Family(
    name="oasis",
    title="OASiS: utility of training jobs, workers and parameter servers apart",
    paper="Bao, Peng, Wu, Li: Online Job Scheduling in Distributed Machine Learning Clusters. "
    "INFOCOM 2018, arXiv:1801.00936",
    sense="max",
    instance=OasisInstance,
    schedule=OasisSchedule,
    certificate=OasisCertificate,
    presets=("paper", "earnable", "small", "fine"),
    sizes=("jobs", "slots", "machines", "load"),
    generate=generate,
    parameter_space=later("optsched.families.oasis.sources.parameter_space", "parameter_space"),
    open_trace=later("optsched.families.oasis.sources.traces", "open_trace"),
    recorded=later("optsched.families.oasis.sources.traces", "recorded"),
    samples={"source": "jobs.csv", "machines": "machines.csv"},
    verify=verify,
    empty=partial(empty, OasisSchedule),
    opening=opening,
    trim=partial(trim, verify),
    check=check,
    events=events,
    public=OasisInstance.platform,
    wire=placements_wire(Platform, OasisJob),
    knowledge=KNOWLEDGE,
    assemble=partial(assemble, OasisSchedule, JobSchedule),
    policies={Oasis.name: Oasis, **BASELINES, Resolving.name: Resolving},
    on_request=(Resolving.name,),
    slow=("dorm",),  # it solves an integer program whenever a job comes or goes
    methods=METHODS,
    params=Params,
    program=later("optsched.models.oasis", "oasis_ilp"),
    headline=headline,
    describe=describe,
    warnings=warnings,
    guarantee=guarantee,
    pictures=later("optsched.families.oasis.pictures", "pictures"),
    second={"compact": "cpsat", "cpsat": "compact"},
    shadow_prices=shadow_prices,
)
