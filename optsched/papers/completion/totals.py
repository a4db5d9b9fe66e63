"""Figures 2 to 7, 9 and 10: total weighted completion time and running time of A_online."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure

from optsched.core import simulate, solve
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.policies.baselines import Fifo
from optsched.families.completion.policies.paper import AOnline
from optsched.papers.completion.common import (
    BOUND,
    FREE,
    SERVERS,
    SETTINGS,
    draw,
    each_over,
    experiment,
    instance,
    last_over_first,
    named,
    points,
    pooled,
)
from optsched.papers.estimate import Estimate, apart, lead
from optsched.papers.experiment import Cell, Experiment, Row, Setting, Summary, fresh
from optsched.papers.verdict import Finding, Outcome, effect, shown, within

SLOTS = 300
KEEP, PREEMPT = ("fifo", "drf"), ("antman", "tiresias")  # to the model; leave it
POLICIES = ("a_online", "a_online-density", *KEEP, *PREEMPT)
FEWEST, MOST = 1, 30  # workers of a job under FIFO
JOBS = (50, 75, 100, 125, 150)
SWEPT = (50, 100, 150, 200, 300)  # servers
WEIGHT_BOUNDS = (1.0, 10.0, 100.0, 1000.0)  # F
TYPES = (*range(8), FREE)  # one worker type for all jobs
WORKERS = (1, 2, 5, 10, 20, 50)
LARGEST_SHARE = 0.5  # of the ideal demand: the other end of the printed range
AMPLE = f"capacity {LARGEST_SHARE:g}"
LEAST_GAIN = 0.3  # by which the paper's algorithm is said to win
MOST_SECONDS = 120.0


def cells(
    x: str, values: Sequence[Any], architectures: Sequence[str], policies: Sequence[str], seeds: int
) -> list[Cell]:
    """Return one cell per instance, policy and value of ``x``."""
    basis = {"jobs": 100, "servers": SERVERS, "F": None, "worker_type": FREE, "most_workers": None}
    return [
        {**basis, x: value, "architecture": kind, "policy": _label(policy, kind, architectures),
         "runs": policy, "seed": seed}
        for kind in architectures
        for policy in policies
        for value in values
        for seed in fresh(seeds)
    ]  # fmt: skip


def both_capacities(
    x: str, values: Sequence[Any], architectures: Sequence[str], policies: Sequence[str], seeds: int
) -> list[Cell]:
    """Return `cells`, and for 100 jobs those at the other end of the printed range of capacity."""
    (kind,), at = architectures, 100
    more = [
        {**cell, "policy": f"{cell['policy']}, {AMPLE}", "share": LARGEST_SHARE}
        for cell in cells(x, (at,), (kind,), policies, seeds)
    ]
    return cells(x, values, architectures, policies, seeds) + more


def _label(policy: str, kind: str, architectures: Sequence[str]) -> str:
    return policy if len(architectures) == 1 else f"{policy}, {kind}"


def run(cell: Cell, time_limit: float) -> Row:
    """Run a policy on an instance, or bound the best with hindsight."""
    inst = instance(cell, SLOTS)
    if cell["worker_type"] != FREE:
        inst = only_type(inst, cell["worker_type"])
    if cell["runs"] == BOUND:
        found = solve(inst, method="colgen", time_limit=time_limit)
        return {"total": found.bound, "seconds": found.seconds}
    policy: Any = cell["runs"]
    if policy == "a_online":
        policy = AOnline(cell["F"], most_workers=cell["most_workers"])
    elif policy == "fifo":
        policy = Fifo(MOST, fewest=FEWEST)
    made = simulate(inst, policy, seed=cell["seed"])
    return {"total": made.value, "seconds": made.seconds}


def only_type(inst: CompletionInstance, m: int) -> CompletionInstance:
    """Return the instance with one worker type; a policy refuses it if a job cannot use it."""
    content = inst.model_dump()
    content["worker_types"] = [content["worker_types"][m]]
    for job in content["jobs"]:
        job["batch_time"] = [job["batch_time"][m]]
    return CompletionInstance.model_validate(content)


def wins(summary: Summary) -> Outcome:
    """Judge A_online's gain over those that keep to the model; the others are shown."""
    found = _gains(summary)
    if any(line["policy"] == f"a_online, {AMPLE}" for line in summary["lines"]):
        found += _gains(summary, at=f", {AMPLE}")
    return Outcome(tuple(found), (PREEMPTION, WAITS))


def wins_by_any(summary: Summary) -> Outcome:
    """Judge whether A_online is ahead: of the ring the paper prints no percentage."""
    return Outcome(tuple(_gains(summary, least=None)), (PREEMPTION, WAITS))


def wins_and_rises(summary: Summary, *, least: float | None = -LEAST_GAIN) -> Outcome:
    """Judge also whether totals rise with the number of servers."""
    rise = effect(
        "A_online's total with 300 servers over that with 50", last_over_first(summary, "a_online")
    )
    return Outcome((rise, *_gains(summary, least=least)), (PREEMPTION, WAITS))


wins_by_any_and_rises = partial(wins_and_rises, least=None)
PREEMPTION = (
    "AntMan and Tiresias leave the model: they preempt, which costs nothing here, while in the "
    "paper frequent preemption makes them slowest"
)
WAITS = "jobs wait for the next power of two, and prices turn away jobs that would fit"


def _gains(summary: Summary, *, least: float | None = -LEAST_GAIN, at: str = "") -> list[Finding]:
    mine = pooled(summary, f"a_online{at}")
    found = [
        effect(
            f"A_online's total over that of {named(name)}{at}",
            lead(mine, pooled(summary, name + at)), sign=-1, paper=least,
            at_least=least is not None, note=each_over(summary, "a_online" + at, name + at),
        )
        for name in KEEP
    ]  # fmt: skip
    for name in (*PREEMPT, "a_online-density", BOUND):
        claim = f"A_online's total over that of {named(name)}{at}"
        paper = least if name in PREEMPT else None
        note = each_over(summary, "a_online" + at, name + at)
        more = lead(mine, pooled(summary, name + at))
        found.append(shown(claim, more, paper=paper, unit="%", note=note))
    return found


def rises(summary: Summary) -> Outcome:
    """Judge whether A_online's total rises with F."""
    more = last_over_first(summary, "a_online")
    found = effect("A_online's total with F = 1000 over that with F = 1", more)
    rest = shown("over the certified bound", lead(*_ends(summary)), unit="%")
    return Outcome((found, rest))


def _ends(summary: Summary) -> tuple[list[float], list[float]]:
    return pooled(summary, "a_online"), pooled(summary, BOUND)


def quick(summary: Summary) -> Outcome:
    """Judge whether running times grow with the jobs, and stay below two minutes."""
    found = []
    for of in summary["lines"]:
        first, *_, last = of["points"]
        name = named(of["policy"])
        more, most = (
            apart(last["values"], first["values"]),
            Estimate.of(last["values"], nothing=None),
        )
        found += [
            effect(f"{name}: seconds with 150 jobs less those with 50", more, unit="s"),
            within(f"{name}: seconds with 150 jobs", most, high=MOST_SECONDS, unit="s"),
        ]
    return Outcome(tuple(found))


def free_choice(summary: Summary) -> Outcome:
    """Judge whether the free choice of worker types is better than any single type."""
    found = []
    for of in summary["lines"]:
        *single, free = of["points"]
        best = min(single, key=lambda p: float(p["mean"]))
        claim = f"{named(of['policy'])}: total by free choice over that of the best type"
        more = lead(free["values"], best["values"])
        found.append(effect(claim, more, sign=-1, note=f"type {best['x']}"))
    return Outcome(tuple(found))


def falls(summary: Summary) -> Outcome:
    """Judge whether more workers make the total smaller."""
    claim = "A_online's total with at most 50 workers over that with 1"
    down = [
        effect(claim, last_over_first(summary, "a_online"), sign=-1),
        *_steps(summary),
    ]
    return Outcome(tuple(down))


def draw_gain(summary: Summary) -> Figure:
    """Draw totals, and below which A_online's would have to be for the gain that the paper has."""
    each = zip(*(points(summary, name) for name in KEEP), strict=True)
    most = [(1 - LEAST_GAIN) * min(p["mean"] for p in of) for of in each]
    return draw(summary, {f"paper: A_online {100 * LEAST_GAIN:g} % below FIFO and DRF": most})


def _steps(summary: Summary) -> list[Finding]:
    line = points(summary, "a_online")
    return [
        shown(f"with {b['x']} over that with {a['x']}", lead(b["values"], a["values"]), unit="%")
        for a, b in pairwise(line)
    ]


ALL = (*POLICIES, BOUND)
BEST = "A_online has the least total weighted completion time with the ring, too"
WINS = "A_online has the least total weighted completion time, by at least 30 %"
MAY_RISE = "it may rise with the number of servers among which the same capacity is divided"
RISES = f"{WINS}; {MAY_RISE}"
SLOTS_300 = Setting("slots", "300", 'Sec. 7.1: "where T = 300"')
SERVERS_150 = Setting("servers", "150", 'Sec. 7: "The default number of servers is 150"')
HELD = Setting(
    "total capacity", "held, divided among 50 to 300 servers",
    'Sec. 7.1: "when the overall resource capacities nearly remain the same"',
)  # fmt: skip
FIFO = Setting(
    "FIFO", "a number of workers per job, drawn from 1 to 30",
    'Sec. 7: "fixed to a number within [1,30]"',
)  # fmt: skip
PREEMPTIVE = Setting(
    "AntMan, Tiresias", "preempt at no cost, shown beside; judged are those who keep to the model",
    'Sec. 7.1: "job execution duration is lengthened due to frequent preemption", by how much is '
    "not printed",
)  # fmt: skip
EIGHT_TYPES = Setting(
    "types", "each of the eight drawn worker types alone, or all",
    'Sec. 7.1 has four EC2 types: "p3.4xlarge, p2.2xlarge, p3.2xlarge and p2.xlarge"; EC2 lists no '
    "p3.4xlarge and no p2.2xlarge, and how fast a job runs on each is not printed",
)  # fmt: skip
_experiment = partial(experiment, cells=cells, run=run, y="total", usual=(*SETTINGS, SLOTS_300))


def _winning(*what: Any, **more: Any) -> Experiment:
    return replace(_experiment(*what, **more), draw=draw_gain)


TOTALS = (
    _winning(2, "Fig. 2: jobs, parameter servers", WINS,
             ("jobs", JOBS, ("ps",), ALL), wins, SERVERS_150, FIFO, PREEMPTIVE,
             time_limit=5.0, cells=both_capacities),
    _winning(3, "Fig. 3: servers, parameter servers", RISES,
             ("servers", SWEPT, ("ps",), ALL), wins_and_rises, HELD, FIFO, PREEMPTIVE,
             time_limit=5.0),
    _experiment(4, "Fig. 4: F, parameter servers", "a larger F makes the total larger",
                ("F", WEIGHT_BOUNDS, ("ps",), ("a_online", BOUND)), rises, SERVERS_150,
                time_limit=5.0),
    _experiment(5, "Fig. 5: jobs, ring", BEST,
             ("jobs", JOBS, ("ring",), ALL), wins_by_any, SERVERS_150, FIFO, PREEMPTIVE,
             time_limit=5.0),
    _experiment(6, "Fig. 6: servers, ring", f"{BEST}; {MAY_RISE}",
             ("servers", SWEPT, ("ring",), ALL), wins_by_any_and_rises,
             HELD, FIFO, PREEMPTIVE, time_limit=5.0),
    _experiment(7, "Fig. 7: running time", "the running time grows, and stays below 2 minutes",
                ("jobs", JOBS, ("ps", "ring"), ("a_online",)), quick, SERVERS_150, y="seconds"),
    _experiment(9, "Fig. 9: worker types", "choosing the type per job beats any single type",
                ("worker_type", TYPES, ("ps", "ring"), ("a_online",)), free_choice, SERVERS_150,
                EIGHT_TYPES),
    _experiment(10, "Fig. 10: number of workers", "more workers make the total smaller",
                ("most_workers", WORKERS, ("ps",), ("a_online",)), falls, SERVERS_150),
)  # fmt: skip
