"""Figures 2 to 12: totals and running times of A_online, weights that A_maxweight schedules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure

from optsched.core import simulate, solve
from optsched.drawing import colours_of, finish, legend, new_figure
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.modes import Cluster
from optsched.families.completion.policies.baselines import Fifo
from optsched.families.completion.policies.paper import AOnline, price_base, weight_bound
from optsched.families.completion.sources.presets import generate
from optsched.numbers.resources import MachineClass
from optsched.papers.completion.weight_bound import most_weight
from optsched.papers.estimate import MeanEstimate, apart, lead
from optsched.papers.experiment import (
    Cell,
    Findings,
    Parts,
    Row,
    Rows,
    curve,
    described,
    fresh,
    grid,
    whisker,
)
from optsched.papers.verdict import effect, shown, within

BOUND = "hindsight"  # the certified bound, which the paper lacks
FREE = -1  # instead of a worker type: every job chooses
SERVERS = 150  # of whose classes the capacity is made
SHARE, LARGEST_SHARE = 0.2, 0.5  # of the ideal demand for GPUs: both ends of the printed range
AMPLE = f"capacity {LARGEST_SHARE:g}"
AXES = {
    "jobs": "jobs",
    "servers": "servers, among which the same capacity is divided",
    "F": "F, bound on weight / resources",
    "worker_type": "worker type of all jobs",
    "most_workers": "most workers of a job",
    "total": "weighted completion time (weight x slots)",
    "weight": "weight that ends by the deadline",
    "seconds": "running time (s)",
}
LABELS = {
    "a_online": "A_online",
    "a_online-density": "A_online by density (ours)",
    "fifo": "FIFO, 1 to 30 workers",
    "drf": "DRF",
    "antman": "AntMan (preempts)",
    "tiresias": "Tiresias (preempts)",
    BOUND: "certified bound",
    "a_maxweight": "A_maxweight",
    "density": "A_maxweight by density (ours)",
    "jain": "Jain et al.",
    "ps": "parameter servers",
    "ring": "ring all-reduce",
}


def instance(cell: Cell, slots: int) -> CompletionInstance:
    """Return the instance of a cell: its jobs, and its servers with the capacity held.

    The classes of servers are drawn for 150; more or fewer have the same total, up to rounding.
    """
    made = generate(
        "paper",
        seed=cell["seed"],
        jobs=cell["jobs"],
        slots=slots,
        machines=SERVERS,
        architecture=cell.get("architecture", "ps"),
    )
    count = cell["servers"]
    capacity = math.fsum(c.count * c.capacity[0] for c in made.servers)
    factor = cell.get("share", SHARE) * ideal_gpus(made) / capacity * SERVERS / count
    counts = in_proportion(count, [c.count for c in made.servers])
    servers = tuple(
        MachineClass(name=c.name, count=n, capacity=_scaled(c.capacity, factor))
        for c, n in zip(made.servers, counts, strict=True)
        if n > 0
    )
    return made.model_copy(update={"servers": servers})


def in_proportion(number: int, weights: Sequence[int]) -> list[int]:
    """Divide a whole number in proportion to weights, the largest remainders first.

    >>> in_proportion(5, [1, 1, 1])
    [2, 2, 1]
    """
    total = sum(weights)
    parts, rest = zip(*(divmod(number * w, total) for w in weights), strict=True)
    order = sorted(range(len(weights)), key=lambda k: (-rest[k], k))
    more = set(order[: number - sum(parts)])
    return [part + (k in more) for k, part in enumerate(parts)]


def _scaled(capacity: Sequence[float], factor: float) -> tuple[float, ...]:
    """Return whole numbers, at least 1; a server keeps its network, which is the last resource."""
    *whole, bandwidth = capacity
    return (*(max(1, math.floor(factor * x + 0.5)) for x in whole), bandwidth)


def ideal_gpus(inst: CompletionInstance) -> int:
    """Return how many GPUs all jobs have together in their shortest modes."""
    cluster, total = Cluster(inst), 0
    for job in inst.jobs:
        modes = cluster.task(job).modes
        demand = inst.worker_types[int(modes.worker_type[0])].demand
        total += int(demand[0]) * int(modes.workers[0])
    return total


def only_type(inst: CompletionInstance, m: int) -> CompletionInstance:
    """Return the instance with one worker type; a policy refuses it if a job cannot use it."""
    content = inst.model_dump()
    content["worker_types"] = [content["worker_types"][m]]
    for job in content["jobs"]:
        job["batch_time"] = [job["batch_time"][m]]
    return CompletionInstance.model_validate(content)


def pooled(rows: Rows, policy: str, y: str) -> list[float]:
    """Return the sum of y over all swept values, instance by instance."""
    return [math.fsum(of.values(y)) for of in rows.where(policy=policy).by("seed").values()]


def over(rows: Rows, ours: str, theirs: str, y: str) -> MeanEstimate | None:
    """Return by how much one policy's sums over all swept values are above another's."""
    return lead(pooled(rows, ours, y), pooled(rows, theirs, y))


def last_over_first(rows: Rows, policy: str, x: str, y: str) -> MeanEstimate | None:
    """Return by how much y at the last value of x is above that at the first, relatively."""
    first, *_, last = rows.where(policy=policy).by(x).values()
    return lead(last.values(y), first.values(y))


def each_over(rows: Rows, ours: str, theirs: str, x: str, y: str) -> str:
    """Return the relative differences of two policies at every value of x, in words."""
    parts = []
    for at, part in rows.where(policy=ours).by(x).items():
        mine, other = part.mean(y).mean, rows.where(policy=theirs, **{x: at}).mean(y).mean
        parts.append(f"{at:g}: {100 * (mine / other - 1):+.0f} %" if other else f"{at:g}: -")
    return ", ".join(parts)


def named(policy: str, y: str = "total") -> str:
    """Return the name of a policy, or of the bound on ``y``, in words."""
    name, comma, rest = policy.partition(", ")
    labels = LABELS | ({BOUND: "bound by prices"} if y == "weight" else {})  # no certificate
    return labels.get(name, name) + comma + labels.get(rest, rest)


def draw(
    rows: Rows, *, x: str, y: str, paper: Callable[[Rows], Mapping[str, Sequence[float]]] | None
) -> Figure:
    """Draw a line per policy; the values that are swept are side by side, in their order.

    ``paper`` returns what the paper states of each of them, by what the legend calls it.
    """
    figure = new_figure(6.0, 4.2)
    axis = figure.subplots()
    swept = [*next(iter(rows.by("policy").values())).by(x)]
    placed = Rows(row | {"place": swept.index(row[x])} for row in rows)
    lines = {name: part for name, part in placed.by("policy").items() if len(part.by(x)) > 1}
    colours = colours_of([*lines])
    for k, (name, part) in enumerate(lines.items()):
        colour, label = colours[name], named(name, y)
        if x == "worker_type":  # nothing is between two of them
            means = {at + 0.2 * k: of.mean(y) for at, of in part.by("place").items()}
            axis.plot([*means], [p.mean for p in means.values()], "o", color=colour, label=label)
            for at, point in means.items():
                whisker(axis, at, point)
            continue
        curve(axis, part, "place", y, colour, label, "o--" if name.startswith(BOUND) else "o-")
    for name, ends in (paper(rows) if paper else {}).items():
        axis.plot(range(len(ends)), ends, "k_:", label=name, markersize=14, linewidth=0.8)
    axis.set_xticks(range(len(swept)), ["free" if at == FREE else f"{at:g}" for at in swept])
    finish(axis, AXES[x])
    axis.set_ylabel(f"{AXES[y]}\n(mean, 95 % interval)", fontsize=8)
    axis.set_ylim(bottom=0)
    axis.ticklabel_format(axis="y", useMathText=True)
    legend(figure, axis)
    return figure


# Figs. 2 to 7, 9, 10: total weighted completion time and running time of A_online

SLOTS = 300
KEEP, PREEMPT = ("fifo", "drf"), ("antman", "tiresias")  # to the model; leave it
ALL = ("a_online", "a_online-density", *KEEP, *PREEMPT, BOUND)
FEWEST, MOST = 1, 30  # workers of a job under FIFO
JOBS = (50, 75, 100, 125, 150)
SWEPT = (50, 100, 150, 200, 300)  # servers
WEIGHT_BOUNDS = (1.0, 10.0, 100.0, 1000.0)  # F
TYPES = (*range(8), FREE)  # one worker type for all jobs
WORKERS = (1, 2, 5, 10, 20, 50)
BOTH = ("ps", "ring")
LEAST_GAIN = 0.3  # by which the paper's algorithm is reported to win
MOST_SECONDS = 120.0


def cells_total(
    seeds: int,
    *,
    x: str,
    values: Sequence[Any],
    kinds: Sequence[str] = ("ps",),
    policies: Sequence[str] = ("a_online",),
    ample: int | None = None,
) -> list[Cell]:
    """Return one cell per instance, policy and value of ``x``.

    With ``ample`` jobs also those at the other end of the printed range of capacity.
    """
    basis = {"jobs": 100, "servers": SERVERS, "F": None, "worker_type": FREE, "most_workers": None}
    found = [
        {**basis, x: c["x"], "architecture": c["kind"], "runs": c["runs"], "seed": c["seed"],
         "policy": c["runs"] if len(kinds) == 1 else f"{c['runs']}, {c['kind']}"}
        for c in grid(kind=kinds, runs=policies, x=values, seed=fresh(seeds))
    ]  # fmt: skip
    more = [
        cell | {"policy": f"{cell['policy']}, {AMPLE}", "share": LARGEST_SHARE}
        for cell in found
        if cell[x] == ample
    ]
    return found + more


def run_total(cell: Cell, time_limit: float) -> Row:
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


def wins(rows: Rows, *, x: str, least: float | None = -LEAST_GAIN) -> Findings:
    """Judge A_online's gain over those that keep to the model; the others are shown.

    ``least`` is what the paper prints of it, if anything.
    """
    if x == "servers":
        claim = "A_online's total with 300 servers over that with 50"
        yield effect(claim, last_over_first(rows, "a_online", x, "total"))
    for at in ("", f", {AMPLE}"):
        if not rows.where(policy=f"a_online{at}"):
            continue
        for name in (*KEEP, *PREEMPT, "a_online-density", BOUND):
            claim = f"A_online's total over that of {named(name)}{at}"
            both = f"a_online{at}", name + at
            note, more = each_over(rows, *both, x, "total"), over(rows, *both, "total")
            if name in KEEP:
                yield effect(claim, more, sign=-1, paper=least, at_least=least is not None,
                             note=note)  # fmt: skip
            else:
                paper = least if name in PREEMPT else None
                yield shown(claim, more, paper=paper, unit="%", note=note)
    yield (
        "AntMan and Tiresias leave the model: they preempt, which costs nothing here, while in the "
        "paper frequent preemption makes them slowest"
    )
    yield "jobs wait for the next power of two, and prices turn away jobs that would fit"


def rises(rows: Rows) -> Findings:
    """Judge whether A_online's total rises with F."""
    more = last_over_first(rows, "a_online", "F", "total")
    yield effect("A_online's total with F = 1000 over that with F = 1", more)
    yield shown("over the certified bound", over(rows, "a_online", BOUND, "total"), unit="%")


def quick(rows: Rows) -> Findings:
    """Judge whether running times grow with the jobs, and stay below two minutes."""
    for policy, part in rows.by("policy").items():
        first, *_, last = (of.values("seconds") for of in part.by("jobs").values())
        claim, most = f"{named(policy)}: seconds with 150 jobs", MeanEstimate.of(last, nothing=None)
        yield effect(f"{claim} less those with 50", apart(last, first), unit="s")
        yield within(claim, most, high=MOST_SECONDS, unit="s")


def free_choice(rows: Rows) -> Findings:
    """Judge whether the free choice of worker types is better than any single type."""
    for policy, part in rows.by("policy").items():
        *single, free = part.by("worker_type").values()
        best = min(single, key=lambda of: of.mean("total").mean)
        claim = f"{named(policy)}: total by free choice over that of the best type"
        more = lead(free.values("total"), best.values("total"))
        yield effect(claim, more, sign=-1, note=f"type {best[0]['worker_type']}")


def falls(rows: Rows) -> Findings:
    """Judge whether more workers make the total smaller."""
    claim = "A_online's total with at most 50 workers over that with 1"
    yield effect(claim, last_over_first(rows, "a_online", "most_workers", "total"), sign=-1)
    for (a, few), (b, many) in pairwise(rows.by("most_workers").items()):
        more = lead(many.values("total"), few.values("total"))
        yield shown(f"with {b} over that with {a}", more, unit="%")


def gain(rows: Rows, *, x: str) -> Mapping[str, Sequence[float]]:
    """Return below which totals A_online's would have to be for the gain that the paper has."""
    most = [
        (1 - LEAST_GAIN) * min(of.where(policy=name).mean("total").mean for name in KEEP)
        for of in rows.by(x).values()
    ]
    return {f"paper: A_online {100 * LEAST_GAIN:g} % below FIFO and DRF": most}


BY_JOBS, BY_SERVERS = (
    partial(cells_total, x=x, values=values, policies=ALL)
    for x, values in (("jobs", JOBS), ("servers", SWEPT))
)

# Figs. 8, 11, 12: the weight that A_maxweight schedules by a deadline

TAU, WEIGHT_SLOTS = 64, 150
METHODS = ("a_maxweight", "density", "jain", BOUND)
MANY = (100, 200)  # jobs, where servers are swept


def cells_weight(
    seeds: int, *, x: str, values: Sequence[Any], jobs: Sequence[int] = (100,)
) -> list[Cell]:
    """Return one cell per instance, method, number of jobs and value of ``x``."""
    return [
        {"servers": 100, "F": None, "jobs": c["jobs"], x: c["x"], "runs": c["runs"],
         "policy": c["runs"] if len(jobs) == 1 else f"{c['runs']}, {c['jobs']} jobs",
         "seed": c["seed"]}
        for c in grid(runs=METHODS, jobs=jobs, x=values, seed=fresh(seeds))
    ]  # fmt: skip


def run_weight(cell: Cell, time_limit: float) -> Row:
    """Return the weight that a method schedules, or the bound."""
    inst = instance(cell, WEIGHT_SLOTS)
    f = weight_bound(inst) if cell["F"] is None else cell["F"]
    bound = cell["runs"] == BOUND
    found = most_weight(inst, TAU, price_base(inst, f), seconds=time_limit if bound else 0.0)
    return {"weight": found.bound if bound else found.by_method[cell["runs"]]}


def beats_jain(rows: Rows) -> Findings:
    """Judge whether A_maxweight schedules more weight than the greedy."""
    for name in ("jain", "density", BOUND):
        claim = f"A_maxweight's weight over that of {named(name, 'weight')}"
        more = over(rows, "a_maxweight", name, "weight")
        if name == "jain":
            yield effect(claim, more, note=each_over(rows, "a_maxweight", name, "jobs", "weight"))
        else:
            yield shown(claim, more, unit="%")


def falls_with_f(rows: Rows) -> Findings:
    """Judge whether a larger F schedules less weight."""
    more = last_over_first(rows, "a_maxweight", "F", "weight")
    yield effect("weight with F = 1000 over that with F = 1", more, sign=-1)


def falls_with_servers(rows: Rows) -> Findings:
    """Judge whether dividing the same capacity costs weight, and more jobs bring more."""
    few, many = (f"a_maxweight, {n} jobs" for n in MANY)
    for n in MANY:
        more = last_over_first(rows, f"a_maxweight, {n} jobs", "servers", "weight")
        yield effect(f"{n} jobs: weight with 300 servers over that with 50", more, sign=-1)
    yield effect("weight with 200 jobs over that with 100", over(rows, many, few, "weight"))
    for n in MANY:
        more = over(rows, f"a_maxweight, {n} jobs", f"jain, {n} jobs", "weight")
        yield shown(f"{n} jobs: weight over that of Jain et al.", more, unit="%")


def total(
    cells: Callable[[int], Sequence[Cell]], findings: Callable[[Rows], Findings], x: str,
    y: str = "total", paper: Any = None,
) -> Parts:  # fmt: skip
    """Return the parts of a figure of A_online: y by x."""
    return cells, run_total, findings, partial(draw, x=x, y=y, paper=paper)


def weight(
    findings: Callable[[Rows], Findings], x: str, values: Sequence[Any], **jobs: Any
) -> Parts:
    """Return the parts of a figure of A_maxweight: the weight by x."""
    cells = partial(cells_weight, x=x, values=values, **jobs)
    return cells, run_weight, findings, partial(draw, x=x, y="weight", paper=None)


EXPERIMENTS = described(
    "completion",
    fig2=total(
        partial(BY_JOBS, ample=100), partial(wins, x="jobs"), "jobs", paper=partial(gain, x="jobs")
    ),
    fig3=total(BY_SERVERS, partial(wins, x="servers"), "servers", paper=partial(gain, x="servers")),
    fig4=total(
        partial(cells_total, x="F", values=WEIGHT_BOUNDS, policies=("a_online", BOUND)), rises, "F"
    ),
    fig5=total(partial(BY_JOBS, kinds=("ring",)), partial(wins, x="jobs", least=None), "jobs"),
    fig6=total(
        partial(BY_SERVERS, kinds=("ring",)), partial(wins, x="servers", least=None), "servers"
    ),
    fig7=total(partial(cells_total, x="jobs", values=JOBS, kinds=BOTH), quick, "jobs", y="seconds"),
    fig8=weight(beats_jain, "jobs", (50, 100, 150, 200)),
    fig9=total(
        partial(cells_total, x="worker_type", values=TYPES, kinds=BOTH), free_choice, "worker_type"
    ),
    fig10=total(partial(cells_total, x="most_workers", values=WORKERS), falls, "most_workers"),
    fig11=weight(falls_with_f, "F", WEIGHT_BOUNDS),
    fig12=weight(falls_with_servers, "servers", SWEPT, jobs=MANY),
)
