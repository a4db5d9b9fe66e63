"""OASiS: training jobs with workers and parameter servers on two separate sets of machines."""

from __future__ import annotations

from typing import Any

from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.online import assemble, events
from optsched.families.oasis.verify import verify
from optsched.problem import Family, Frozen

FAMILY = Family(
    name="oasis",
    title="OASiS: utility of training jobs, workers and parameter servers apart",
    paper="Bao, Peng, Wu, Li: Online Job Scheduling in Distributed Machine Learning Clusters. INFOCOM 2018",
    sense="max",
    instance=OasisInstance,
    schedule=OasisSchedule,
    certificate=Frozen,
    presets=("paper", "earnable", "small"),
    generate=lambda *a, **k: None,  # type: ignore[arg-type,return-value]
    from_trace=lambda *a, **k: None,  # type: ignore[arg-type,return-value]
    verify=verify,
    check=lambda i, c: 0.0,
    events=events,
    public=OasisInstance.platform,
    assemble=assemble,
    policies={},
    methods={},
    program=lambda i: None,
    describe=lambda i: {},
    warnings=lambda i: (),
    guarantee=lambda i, p, prior: None,
)
