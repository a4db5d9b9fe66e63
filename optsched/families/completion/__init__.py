"""Weighted completion time: jobs choose among kinds of workers and parameter servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optsched.families import later
from optsched.families.completion.certificate.check import CompletionCertificate, check
from optsched.families.completion.facts import describe, headline, warnings
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule
from optsched.families.completion.online import WIRE, Recorder, assemble, events
from optsched.families.completion.optimum.horizon import latest_ends
from optsched.families.completion.optimum.initial_bounds import opening
from optsched.families.completion.optimum.methods import METHODS
from optsched.families.completion.optimum.params import Params
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.optimum.shadow import shadow_prices
from optsched.families.completion.policies.baselines import BASELINES
from optsched.families.completion.policies.paper import KNOWLEDGE, AOnline, guarantee, must_run
from optsched.families.completion.policies.resolving import Resolving
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify
from optsched.problem import Family, Policy


def _program(
    inst: CompletionInstance,
    ends: Sequence[int] | None = None,
    *,
    relaxed: bool = False,
    printed: bool = False,
) -> Any:
    from optsched.models.completion import completion_ilp  # here, since Pyomo takes a while

    if ends is None:
        jobs = JobTables(inst)
        ends = None if jobs.impossible() is not None else latest_ends(jobs)
    return completion_ilp(inst, ends, relaxed=relaxed, printed=printed)


POLICIES: Mapping[str, Callable[[], Policy]] = {
    "a_online": AOnline,
    "a_online-density": lambda: AOnline(order="density"),
    **BASELINES,
    Resolving.name: Resolving,
}

FAMILY = Family(
    name="completion",
    title="Weighted completion time: jobs choose among kinds of workers and parameter servers",
    paper="Zhou, Pang, Zhang, Wu, Jiao, Zhong, Li: Online Scheduling Algorithm for Heterogeneous "
    "Distributed Machine Learning Jobs. IEEE Transactions on Cloud Computing 11(2), 2023",
    sense="min",
    instance=CompletionInstance,
    schedule=CompletionSchedule,
    certificate=CompletionCertificate,
    presets=("paper", "mid", "small"),
    sizes=("jobs", "slots", "machines", "load"),
    generate=generate,
    parameter_space=later(
        "optsched.families.completion.sources.parameter_space", "parameter_space"
    ),
    open_trace=later("optsched.families.completion.sources.traces", "open_trace"),
    samples={"source": "jobs.csv"},
    verify=verify,
    check=check,
    events=events,
    public=CompletionInstance.platform,
    wire=WIRE,
    knowledge=KNOWLEDGE,
    playable=must_run,
    assemble=assemble,
    recorder=Recorder,
    policies=POLICIES,
    on_request=(Resolving.name,),
    methods=METHODS,
    params=Params,
    program=_program,
    headline=headline,
    describe=describe,
    warnings=warnings,
    guarantee=guarantee,
    pictures=later("optsched.families.completion.pictures", "pictures"),
    second={"compact": "cpsat", "cpsat": "compact"},
    shadow_prices=shadow_prices,
    opening=opening,
)
