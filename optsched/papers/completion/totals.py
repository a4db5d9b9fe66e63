"""Figures 2 to 7, 9 and 10: total weighted completion time and running time of A_online."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.policies import BASELINES
from optsched.families.completion.policies.paper import AOnline
from optsched.families.completion.sources.presets import generate
from optsched.optimum import solve
from optsched.papers.completion.common import BOUND, FREE, draw, means, summarize_by
from optsched.papers.experiment import Cell, Experiment, Outcome, Row, Summary
from optsched.simulation import simulate

SLOTS = 300
POLICIES = ("a_online", "a_online-density", *BASELINES)
JOBS = (50, 75, 100, 125, 150)
SERVERS = (50, 100, 150, 200)
WEIGHT_BOUNDS = (1.0, 10.0, 100.0, 1000.0)  # F
TYPES = (*range(8), FREE)  # one worker type for all jobs
WORKERS = (1, 2, 5, 10, 20, 50)
LEAST_GAIN = 0.3  # by which the paper's algorithm is said to win
MOST_SECONDS = 120.0


def cells(
    architectures: Sequence[str], x: str, values: Sequence[Any], policies: Sequence[str], seeds: int
) -> list[Cell]:
    """Return one cell per instance, policy and value of ``x``."""
    basis = {"jobs": 100, "servers": 150, "F": None, "worker_type": FREE, "most_workers": None}
    return [
        {**basis, x: value, "architecture": kind, "policy": _label(policy, kind, architectures),
         "runs": policy, "seed": seed}
        for kind in architectures
        for policy in policies
        for value in values
        for seed in range(seeds)
    ]  # fmt: skip


def _label(policy: str, kind: str, architectures: Sequence[str]) -> str:
    return policy if len(architectures) == 1 else f"{policy}, {kind}"


def run(cell: Cell, time_limit: float) -> Row:
    """Run a policy on an instance, or bound the best with hindsight."""
    inst = generate(
        "paper",
        seed=cell["seed"],
        jobs=cell["jobs"],
        slots=SLOTS,
        machines=cell["servers"],
        architecture=cell["architecture"],
    )
    if cell["worker_type"] != FREE:
        inst = only_type(inst, cell["worker_type"])
    if cell["runs"] == BOUND:
        found = solve(inst, method="colgen", time_limit=time_limit)
        return {"total": found.bound, "seconds": found.seconds}
    policy = cell["runs"]
    if policy == "a_online":
        made = simulate(
            inst, AOnline(cell["F"], most_workers=cell["most_workers"]), seed=cell["seed"]
        )
    else:
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
    """Whether A_online is better than every baseline by as much as the paper says."""
    mine = means(summary, "a_online")
    best = [min(values) for values in zip(*(means(summary, p) for p in BASELINES), strict=True)]
    shares = [a / b for a, b in zip(mine, best, strict=True)]
    bounds = means(summary, BOUND)
    ratio = max(a / b for a, b in zip(mine, bounds, strict=True))
    words = (
        f"A_online's total is {min(shares):.2f} to {max(shares):.2f} times the best baseline's; "
        f"at most {ratio:.2f} times the certified bound"
    )
    agrees = max(shares) <= 1 - LEAST_GAIN
    if not agrees:
        dense = [b / a for a, b in zip(mine, means(summary, "a_online-density"), strict=True)]
        words += (
            "; jobs wait for the next power of two, blocks end half empty, and prices turn "
            "away jobs that would fit: taken by weight per area, with nobody turned away, the "
            f"total is {min(dense):.2f} to {max(dense):.2f} times as large"
        )
    return Outcome(agrees, words)


def rises(policy: str, words: str, why: str) -> Callable[[Summary], Outcome]:
    """Return a judge of whether a line rises from its first to its last point, and why not."""

    def judge(summary: Summary) -> Outcome:
        line = means(summary, policy)
        found = f"{words}: from {line[0]:.4g} to {line[-1]:.4g}"
        agrees = line[-1] > line[0]
        return Outcome(agrees, found if agrees else f"{found}; {why}")

    return judge


def quick(summary: Summary) -> Outcome:
    """Whether running times grow with the jobs, and stay below two minutes."""
    lines = [[p["mean"] for p in line["points"]] for line in summary["lines"]]
    worst = max(max(line) for line in lines)
    grows = all(line[-1] > line[0] for line in lines)
    words = f"at most {worst:.3g} s on average; the time {'grows' if grows else 'does not grow'}"
    return Outcome(grows and worst < MOST_SECONDS, words)


def free_choice(summary: Summary) -> Outcome:
    """Whether the free choice of worker types is the best."""
    lines = [[p["mean"] for p in line["points"]] for line in summary["lines"]]
    good = all(line[-1] <= min(line) * (1 + 1e-9) for line in lines)
    return Outcome(good, f"free choice over the best single type: {_over(lines)}")


def _over(lines: Sequence[Sequence[float]]) -> str:
    return ", ".join(f"{line[-1] / min(line[:-1]):.2f}" for line in lines)


def falls(summary: Summary) -> Outcome:
    """Whether more workers make all faster."""
    line = means(summary, "a_online")
    return Outcome(line[-1] < line[0], f"from {line[0]:.4g} to {line[-1]:.4g}")


def _experiment(
    number: int,
    title: str,
    claim: str,
    sweep: tuple[Sequence[str], str, Sequence[Any], Sequence[str]],
    judge: Callable[[Summary], Outcome],
    *,
    y: str = "total",
    time_limit: float = 0.0,
) -> Experiment:
    return Experiment(
        name=f"completion-fig{number}",
        title=title,
        claim=claim,
        time_limit=time_limit,
        cells=partial(cells, *sweep),
        run=run,
        summarize=summarize_by(sweep[1], y),
        judge=judge,
        draw=draw,
    )


ALL = (*POLICIES, BOUND)
WINS = "A_online has the least total weighted completion time, by at least 30 %"
TOTALS = (
    _experiment(2, "Fig. 2: jobs, parameter servers", WINS,
                (("ps",), "jobs", JOBS, ALL), wins, time_limit=15.0),
    _experiment(3, "Fig. 3: servers, parameter servers", WINS,
                (("ps",), "servers", SERVERS, ALL), wins, time_limit=15.0),
    _experiment(4, "Fig. 4: F, parameter servers", "a larger F makes the total larger",
                (("ps",), "F", WEIGHT_BOUNDS, ("a_online", BOUND)),
                rises("a_online", "with F, A_online's total goes",
                      "F moves the first price by a constant factor, and prices span many orders "
                      "of magnitude"), time_limit=15.0),
    _experiment(5, "Fig. 5: jobs, ring", WINS,
                (("ring",), "jobs", JOBS, ALL), wins, time_limit=15.0),
    _experiment(6, "Fig. 6: servers, ring", WINS,
                (("ring",), "servers", SERVERS, ALL), wins, time_limit=15.0),
    _experiment(7, "Fig. 7: running time", "the running time grows, and stays below 2 minutes",
                (("ps", "ring"), "jobs", JOBS, ("a_online",)), quick, y="seconds"),
    _experiment(9, "Fig. 9: worker types", "choosing the type per job beats any single type",
                (("ps", "ring"), "worker_type", TYPES, ("a_online",)), free_choice),
    _experiment(10, "Fig. 10: number of workers", "more workers make the total smaller",
                (("ps",), "most_workers", WORKERS, ("a_online",)), falls),
)  # fmt: skip
