"""Figures 8, 11 and 12: the weight that A_maxweight schedules by a deadline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from optsched.families.completion.policies.paper import price_base, weight_bound
from optsched.papers.completion.common import (
    BOUND,
    SETTINGS,
    each_over,
    experiment,
    instance,
    last_over_first,
    named,
    pooled,
)
from optsched.papers.completion.weight_bound import most_weight
from optsched.papers.estimate import lead
from optsched.papers.experiment import OPEN, Cell, Row, Setting, Summary, fresh
from optsched.papers.verdict import Outcome, effect, shown

TAU = 64
SLOTS = 150
METHODS = ("a_maxweight", "density", "jain", BOUND)
JOBS = (50, 100, 150, 200)
SWEPT = (50, 100, 150, 200, 300)  # servers
MANY = (100, 200)  # jobs, where servers are swept
WEIGHT_BOUNDS = (1.0, 10.0, 100.0, 1000.0)  # F


def cells(x: str, values: Sequence[Any], jobs: Sequence[int], seeds: int) -> list[Cell]:
    """Return one cell per instance, method, number of jobs and value of ``x``."""
    return [
        {"servers": 100, "F": None, "jobs": n, x: value, "runs": method,
         "policy": method if len(jobs) == 1 else f"{method}, {n} jobs", "seed": seed}
        for method in METHODS
        for n in jobs
        for value in values
        for seed in fresh(seeds)
    ]  # fmt: skip


def run(cell: Cell, time_limit: float) -> Row:
    """Return the weight that a method schedules, or the bound."""
    inst = instance(cell, SLOTS)
    f = weight_bound(inst) if cell["F"] is None else cell["F"]
    bound = cell["runs"] == BOUND
    found = most_weight(inst, TAU, price_base(inst, f), seconds=time_limit if bound else 0.0)
    return {"weight": found.bound if bound else found.by_method[cell["runs"]]}


def beats_jain(summary: Summary) -> Outcome:
    """Judge whether A_maxweight schedules more weight than the greedy."""
    mine = pooled(summary, "a_maxweight")
    found = [
        effect("A_maxweight's weight over that of Jain et al.", lead(mine, pooled(summary, "jain")),
               note=each_over(summary, "a_maxweight", "jain")),
    ]  # fmt: skip
    for name in ("density", BOUND):
        claim = f"A_maxweight's weight over that of {named(name, 'weight')}"
        found.append(shown(claim, lead(mine, pooled(summary, name)), unit="%"))
    return Outcome(tuple(found))


def falls_with_f(summary: Summary) -> Outcome:
    """Judge whether a larger F schedules less weight."""
    more = last_over_first(summary, "a_maxweight")
    return Outcome((effect("weight with F = 1000 over that with F = 1", more, sign=-1),))


def falls_with_servers(summary: Summary) -> Outcome:
    """Judge whether dividing the same capacity costs weight, and more jobs bring more."""
    few, many = (f"a_maxweight, {n} jobs" for n in MANY)
    found = [
        effect(f"{n} jobs: weight with 300 servers over that with 50",
               last_over_first(summary, f"a_maxweight, {n} jobs"), sign=-1)
        for n in MANY
    ]  # fmt: skip
    more = lead(pooled(summary, many), pooled(summary, few))
    found.append(effect("weight with 200 jobs over that with 100", more))
    for n in MANY:
        over = lead(pooled(summary, f"a_maxweight, {n} jobs"), pooled(summary, f"jain, {n} jobs"))
        found.append(shown(f"{n} jobs: weight over that of Jain et al.", over, unit="%"))
    return Outcome(tuple(found))


TIMES = (
    Setting("slots", "150; all jobs present, the deadline tau is 64",
            "Sec. 7: default T = 150; tau is " + OPEN),
)  # fmt: skip
SERVERS_100 = Setting("servers", "100", OPEN)
DEMAND = Setting(
    "capacity where jobs are swept", "0.2 of what those jobs ask",
    'Sec. 7: "fraction of the respective overall job resource demand"',
)  # fmt: skip
HELD = Setting(
    "total capacity", "held, divided among 50 to 300 servers",
    'Sec. 7.2: "the total amount of fragment resources increases with the increase of the number '
    'of servers"',
)  # fmt: skip
_experiment = partial(
    experiment, cells=cells, run=run, y="weight", usual=(*SETTINGS, *TIMES), time_limit=2.0
)
WEIGHTS = (
    _experiment(8, "Fig. 8: A_maxweight and Jain et al.'s greedy", "A_maxweight has far more",
                ("jobs", JOBS, (0,)), beats_jain, SERVERS_100, DEMAND),
    _experiment(11, "Fig. 11: A_maxweight and F", "a smaller F schedules more weight",
                ("F", WEIGHT_BOUNDS, (100,)), falls_with_f, SERVERS_100),
    _experiment(12, "Fig. 12: A_maxweight and servers",
                "more servers of the same total capacity schedule less weight, more jobs more",
                ("servers", SWEPT, MANY), falls_with_servers, HELD, DEMAND),
)  # fmt: skip
