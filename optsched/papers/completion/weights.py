"""Figures 8, 11 and 12: the weight that A_maxweight schedules by a deadline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from optsched.families.completion.policies.paper import price_base, weight_bound
from optsched.families.completion.sources.presets import generate
from optsched.papers.completion.common import BOUND, draw, means, summarize_by
from optsched.papers.completion.weight_bound import most_weight
from optsched.papers.experiment import Cell, Experiment, Outcome, Row, Summary

TAU = 64
METHODS = ("a_maxweight", "density", "jain", BOUND)
JOBS = (50, 100, 150, 200)
SERVERS = (50, 100, 150, 200)
WEIGHT_BOUNDS = (1.0, 10.0, 100.0, 1000.0)  # F


def cells(x: str, values: Sequence[Any], seeds: int) -> list[Cell]:
    """Return one cell per instance, method and value of ``x``."""
    basis = {"jobs": 100, "servers": 100, "F": None}
    return [
        {**basis, x: value, "policy": method, "seed": seed}
        for method in METHODS
        for value in values
        for seed in range(seeds)
    ]


def run(cell: Cell, time_limit: float) -> Row:
    """Return the weight that a method schedules, or the bound."""
    inst = generate("paper", seed=cell["seed"], jobs=cell["jobs"], machines=cell["servers"])
    f = weight_bound(inst) if cell["F"] is None else cell["F"]
    seconds = time_limit if cell["policy"] == BOUND else 0.0
    found = most_weight(inst, TAU, price_base(inst, f), seconds=seconds)
    bound = cell["policy"] == BOUND
    return {"weight": found.bound if bound else found.by_method[cell["policy"]]}


def beats_jain(summary: Summary) -> Outcome:
    """Whether A_maxweight schedules more weight than the greedy."""
    ours, theirs = means(summary, "a_maxweight"), means(summary, "jain")
    ratio = [_over(a, b) for a, b in zip(ours, theirs, strict=True)]
    far = max(_over(b, a) for a, b in zip(ours, means(summary, BOUND), strict=True))
    words = f"{min(ratio):.2f} to {max(ratio):.2f} times the greedy's; the bound is {far:.2f} times"
    if min(ratio) <= 1:
        gain = [_over(a, b) for a, b in zip(means(summary, "density"), ours, strict=True)]
        words += (
            "; it takes the jobs as they are numbered, and its prices turn away jobs that would "
            "fit: in the order of weight per area, and turning nobody away, it has "
            f"{min(gain):.2f} to {max(gain):.2f} times as much"
        )
    return Outcome(min(ratio) > 1, words)


def _over(a: float, b: float) -> float:
    """Return a / b; where nothing has any weight they are equal."""
    if b > 0:
        return a / b
    return math.inf if a > 0 else 1.0


def changes(sign: int, words: str, why: str) -> Callable[[Summary], Outcome]:
    """Return a judge of whether A_maxweight's line rises (1) or falls (-1), and why not."""

    def judge(summary: Summary) -> Outcome:
        line = means(summary, "a_maxweight")
        agrees = sign * (line[-1] - line[0]) > 0
        found = f"{words}: from {line[0]:.4g} to {line[-1]:.4g}"
        return Outcome(agrees, found if agrees else f"{found}; {why}")

    return judge


def _experiment(
    number: int,
    title: str,
    claim: str,
    sweep: tuple[str, Sequence[Any]],
    judge: Callable[[Summary], Outcome],
) -> Experiment:
    return Experiment(
        name=f"completion-fig{number}",
        title=title,
        claim=claim,
        time_limit=5.0,
        cells=partial(cells, *sweep),
        run=run,
        summarize=summarize_by(sweep[0], "weight"),
        judge=judge,
        draw=draw,
    )


WEIGHTS = (
    _experiment(8, "Fig. 8: A_maxweight and Jain et al.'s greedy", "A_maxweight has far more",
                ("jobs", JOBS), beats_jain),
    _experiment(11, "Fig. 11: A_maxweight and F", "a smaller F schedules more weight",
                ("F", WEIGHT_BOUNDS),
                changes(-1, "with F, the weight goes",
                        "F moves the first price by a constant factor, and prices span many orders "
                        "of magnitude")),
    _experiment(12, "Fig. 12: A_maxweight and servers", "more servers schedule less weight",
                ("servers", SERVERS),
                changes(-1, "with more servers, the weight goes",
                        "all jobs are there from the start, and more room admits more of them")),
)  # fmt: skip
