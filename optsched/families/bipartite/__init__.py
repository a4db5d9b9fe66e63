"""Bipartite reward maximization and OGASched: jobs of several types on connected machines."""

from __future__ import annotations

from optsched.families import later
from optsched.families.bipartite.certificate.check import BipartiteCertificate, check, scope
from optsched.families.bipartite.facts import describe, headline, shadow_prices, warnings
from optsched.families.bipartite.instance import BipartiteInstance, BipartiteSchedule
from optsched.families.bipartite.online import POLICIES, WIRE, Recorder, assemble, events, verify
from optsched.families.bipartite.optimum.initial_bounds import empty, opening
from optsched.families.bipartite.optimum.methods import METHODS
from optsched.families.bipartite.policies.paper import KNOWLEDGE
from optsched.families.bipartite.sources.presets import PRESETS, generate
from optsched.families.bipartite.verify import is_stationary
from optsched.problem import Family

FAMILY = Family(
    name="bipartite",
    title="Bipartite reward maximization: parallel gain less communication overhead",
    paper="Zhao, Deng, Xiang, Yan, Yin, Dustdar, Zomaya: Scheduling Multi-Server Jobs with "
    "Sublinear Regrets via Online Learning. arXiv:2305.06572",
    sense="max",
    instance=BipartiteInstance,
    schedule=BipartiteSchedule,
    certificate=BipartiteCertificate,
    presets=tuple(PRESETS),
    sizes=("ports", "machines", "slots"),
    generate=generate,
    parameter_space=later("optsched.families.bipartite.sources.parameter_space", "parameter_space"),
    open_trace=later("optsched.families.bipartite.sources.traces", "open_trace"),
    samples={"source": "pods.csv", "machines": "pod-nodes.csv"},
    verify=verify,
    check=check,
    events=events,
    public=BipartiteInstance.platform,
    wire=WIRE,
    knowledge=KNOWLEDGE,
    assemble=assemble,
    policies=POLICIES,
    methods=METHODS,
    program=later("optsched.models.bipartite", "bipartite_program"),
    headline=headline,
    describe=describe,
    warnings=warnings,
    pictures=later("optsched.families.bipartite.pictures", "pictures"),
    second={"auto": "conic"},
    trivial=("drf", "fairness", "binpacking", "spreading"),
    references={"stationary": "stationary"},
    scope=scope,
    scopes={"stationary": is_stationary},
    empty=empty,
    opening=opening,
    recorder=Recorder,
    shadow_prices=shadow_prices,
)
