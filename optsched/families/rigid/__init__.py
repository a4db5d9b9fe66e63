"""Rigid parallel jobs as clusters run them: waiting, flow time, slowdown, makespan."""

from __future__ import annotations

from optsched.families import later
from optsched.families.rigid.certificate.check import RigidCertificate, check
from optsched.families.rigid.facts import (
    RUN_TIMES,
    columns,
    describe,
    headline,
    in_words,
    run_times,
    shadow_prices,
    warnings,
)
from optsched.families.rigid.instance import RigidInstance, RigidSchedule
from optsched.families.rigid.online import WIRE, assemble, events
from optsched.families.rigid.optimum.initial_bounds import opening
from optsched.families.rigid.optimum.methods import METHODS
from optsched.families.rigid.optimum.params import Params
from optsched.families.rigid.policies.orders import POLICIES, RULES
from optsched.families.rigid.sources.presets import PRESETS, generate
from optsched.families.rigid.verify import verify
from optsched.problem import Family

FAMILY = Family(
    name="rigid",
    title="Rigid parallel jobs: waiting, flow time, slowdown or makespan on a cluster",
    paper="Feitelson, Rudolph, Schwiegelshohn: Parallel Job Scheduling - A Status Report. "
    "JSSPP 2004",
    sense="min",
    instance=RigidInstance,
    schedule=RigidSchedule,
    certificate=RigidCertificate,
    presets=PRESETS,
    sizes=("jobs", "machines", "load"),
    generate=generate,
    open_trace=later("optsched.families.rigid.sources.traces", "open_trace"),
    recorded=later("optsched.families.rigid.sources.traces", "recorded"),
    parameter_space=later("optsched.families.rigid.sources.parameter_space", "parameter_space"),
    samples={"source": "jobs.csv"},
    verify=verify,
    check=check,
    events=events,
    public=RigidInstance.platform,
    wire=WIRE,
    knowledge={RUN_TIMES: run_times},
    ahead=(RUN_TIMES,),
    assemble=assemble,
    reactive=True,
    policies=POLICIES,
    rules=RULES,
    trivial=("fcfs",),
    methods=METHODS,
    params=Params,
    program=later("optsched.models.rigid", "rigid_ilp"),
    headline=headline,
    in_words=in_words,
    describe=describe,
    columns=columns,
    warnings=warnings,
    pictures=later("optsched.families.rigid.pictures", "pictures"),
    shadow_prices=lambda inst, certificate: [*shadow_prices(inst, certificate)],
    opening=opening,
)
