"""Figures of Bao et al., family `oasis`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from math import atanh, isfinite, sqrt, tanh
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.core import Ratio, compare, mean_ratio, simulate
from optsched.drawing import COLOURS, finish, legend, new_figure
from optsched.engine.interval import CLOSED
from optsched.families.oasis.instance import OasisInstance, OasisJob
from optsched.families.oasis.policies.estimate import Estimate as Learnt
from optsched.families.oasis.policies.estimate import learn
from optsched.families.oasis.policies.paper import Oasis
from optsched.families.oasis.sources.presets import RESOURCES, UNITS, draw_utility
from optsched.numbers.resources import MachineClass
from optsched.numbers.streams import Streams, draw_whole
from optsched.papers.estimate import MeanEstimate, differences, fewer, lead
from optsched.papers.experiment import (
    Cell,
    Findings,
    Row,
    Rows,
    curve,
    described,
    fresh,
    grid,
    whisker,
)
from optsched.papers.verdict import Finding, effect, shown, within
from optsched.problem import Policy, Status, get_family
from optsched.scheduling.jobs import MB_PER_GBIT

MACHINES = 100  # H + K = 50 + 50
LITERAL, ESTIMATED = "oasis, true U and L", "oasis"
LABELS = {
    ESTIMATED: "OASiS",
    LITERAL: "OASiS, true U and L",
    "fifo": "FIFO",
    "drf": "DRF",
    "rrh": "RRH",
    "dorm": "Dorm",
}
PAPER, DRAWN, REACHABLE = "paper", "drawn", "earnable"
PRESETS = {  # the verdict is about the first
    DRAWN: "as printed",
    PAPER: "jobs that cannot finish drawn anew",
    REACHABLE: "targets moved by the shortest run",
}
OTHERS = ("fifo", "drf", "rrh", "dorm")
SCHEMES = (ESTIMATED, LITERAL, *OTHERS)
PAST = range(1000, 1010)  # seeds of the instances from which U and L are learnt
OTHER_PAST = range(10)  # if those, or later ones, are judged
LATE = "completion - target (slots)"
UTILITY = "total utility (mean, 95 % interval)"


def instance(preset: str, seed: int, **sizes: Any) -> Any:
    """Return an instance of one of `PRESETS`."""
    drawn = {"completable": False} if preset == DRAWN else {}
    name = REACHABLE if preset == REACHABLE else PAPER
    return get_family("oasis").generate(name, seed=seed, **sizes, **drawn)


@cache
def learnt(preset: str | None, sizes: tuple[tuple[str, Any], ...], past: range) -> Learnt:
    """Return what the earlier instances of a setting teach; None: those of the testbed."""
    if preset is None:
        return learn([testbed(seed) for seed in past])
    return learn([instance(preset, seed, **dict(sizes)) for seed in past])


def past(seed: int) -> range:
    """Return the seeds of the instances before that of a seed: others than those judged."""
    return PAST if seed < PAST.start else OTHER_PAST


def policy(
    scheme: str, preset: str | None, seed: int, sizes: dict[str, Any], **options: Any
) -> Policy:
    """Return the policy of a scheme, for the instance of a setting and a seed."""
    if scheme == LITERAL:
        return Oasis(**options)
    if scheme == ESTIMATED:
        return Oasis(estimate=learnt(preset, tuple(sizes.items()), past(seed)), **options)
    return get_family("oasis").policies[scheme](**options)


def best_other(rows: Rows) -> str:
    """Return the other scheme with the largest mean utility, of those that ran."""
    means = {s: rows.where(scheme=s).mean("value").mean for s in OTHERS if rows.where(scheme=s)}
    return max(means, key=means.__getitem__)


def utility(rows: Rows, ours: str, theirs: str) -> MeanEstimate | None:
    """Return the lead in utility of one scheme over another."""
    return lead(*(rows.where(scheme=s).values("value") for s in (ours, theirs)))


def boxes(axis: Axes, late: Mapping[float, Sequence[float]], colour: str, **how: Any) -> None:
    """Draw a box of each sample that is not empty: quartiles, whiskers at 5 and 95 %."""
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    known = {x: np.quantile(each, shares) for x, each in late.items() if each}
    names = ("whislo", "q1", "med", "q3", "whishi")
    parts: list[Any] = [
        dict(zip(names, found.tolist(), strict=True)) | {"fliers": []} for found in known.values()
    ]
    drawn = axis.bxp(parts, positions=[*known], patch_artist=True, manage_ticks=False, **how)
    for box in drawn["boxes"]:
        box.set_facecolor(colour)


def offs(late: Sequence[Sequence[float]]) -> list[float | None]:
    """Return the distance of the mean from the target, by instance; None where none completes."""
    return [abs(float(np.mean(each))) if each else None for each in late]


def spreads(late: Sequence[Sequence[float]]) -> list[float | None]:
    """Return the deviation by instance; None where fewer than two complete."""
    return [float(np.std(each)) if len(each) > 1 else None for each in late]


def closest(found: Mapping[str, Sequence[float | None]]) -> str:
    """Return the other scheme with the smallest mean of what is known; one of none is last."""

    def mean(each: Sequence[float | None]) -> float:
        known = [x for x in each if x is not None]
        return float(np.mean(known)) if known else float("inf")

    return min((s for s in OTHERS if s in found), key=lambda s: mean(found[s]))


def smaller(claim: str, ours: Sequence[Any], theirs: Sequence[Any], why: str) -> Finding:
    """Judge whether ours are smaller, where both have a number."""
    less = differences(ours, theirs)
    note = fewer(less, ours, why)
    return effect(claim, MeanEstimate.of(less) if less else None, sign=-1, unit="slots", note=note)


# Fig. 3

SLOTS = 300
JOBS = (50, 100, 150, 200, 250)  # the paper prints no numbers on this axis
DORM = (50,)  # jobs up to which Dorm runs: its integer programs take minutes


def cells3(seeds: int) -> list[Cell]:
    """Return one cell per instance and scheme."""
    every = grid(preset=PRESETS, jobs=JOBS, seed=fresh(seeds), scheme=SCHEMES)
    return [cell for cell in every if cell["scheme"] != "dorm" or cell["jobs"] in DORM]


def run(cell: Cell, _time_limit: float) -> Row:
    """Run one scheme on one instance, with U at a percentage of its value if the cell has one."""
    sizes = {"jobs": cell["jobs"], "slots": SLOTS, "machines": MACHINES}
    inst = instance(cell["preset"], cell["seed"], **sizes)
    wrong = {"U_factor": cell["percent"] / 100} if "percent" in cell else {}
    chosen = policy(cell["scheme"], cell["preset"], cell["seed"], sizes, **wrong)
    found = simulate(inst, chosen, seed=cell["seed"])
    return {
        "value": found.value,
        "completed": sum(c is not None for c in found.completion),
        "guarantee": found.guarantee,
        "seconds": found.seconds,
    }


def findings3(rows: Rows) -> Findings:
    """Compare with the paper: OASiS is the best, by more the more jobs there are."""
    settings = rows.by("preset", "jobs")
    presets, counts = rows.by("preset"), [*rows.by("jobs")]

    def ahead(preset: str, scheme: str, jobs: int) -> Finding:
        here = settings[preset, jobs]
        rival = best_other(here)
        medians = (np.median(here.where(scheme=s).values("value")) for s in (scheme, rival))
        claim = f"{PRESETS[preset]}, {jobs} jobs: {LABELS[scheme]} ahead of {LABELS[rival]}"
        note = "medians {:.4g}, {:.4g}".format(*medians)
        return effect(claim, utility(here, scheme, rival), note=note)

    def margins(here: Rows) -> list[float]:
        both = (here.where(scheme=s).values("value") for s in (ESTIMATED, best_other(here)))
        return differences(*both)

    first, *others = presets
    yield from (ahead(first, ESTIMATED, n) for n in counts)
    few, many = (margins(settings[first, n]) for n in (counts[0], counts[-1]))
    claim = f"its lead in utility at {counts[-1]} jobs less that at {counts[0]}"
    yield effect(claim, MeanEstimate.of(differences(many, few)), unit="utility")
    extra = [(first, LITERAL), *product(others, (ESTIMATED, LITERAL))]
    for (preset, scheme), n in product(extra, counts):
        yield replace(ahead(preset, scheme, n), verdict=None)
    yield (
        "with the true U and L, over all jobs, L is made of utilities of e^-1000 and less: prices "
        "stay near zero until a machine is full, and jobs are admitted first come, first served"
    )


def draw3(rows: Rows) -> Figure:
    """Draw a panel per preset, a line per scheme."""
    presets = rows.by("preset")
    figure = new_figure(4.4 * len(presets), 4.4)
    axes = figure.subplots(1, len(presets), squeeze=False)[0]
    for axis, (preset, part) in zip(axes, presets.items(), strict=True):
        for k, (scheme, mine) in enumerate(part.by("scheme").items()):
            style = "s--" if scheme == LITERAL else "o-"
            curve(axis, mine, "jobs", "value", COLOURS[k], LABELS[scheme], style)
        axis.set_title(PRESETS[preset], fontsize=9)
        axis.set_ylim(bottom=0)
        finish(axis, f"number of jobs in {SLOTS} slots")
    axes[0].set_ylabel(UTILITY)
    legend(figure, axes[0])
    return figure


# Fig. 4

EACH = 100  # jobs of each kind
CRITICAL = 4.0  # decay from which a job is time-critical
KINDS = ("time-sensitive", "time-critical")
MEASURES = (
    ("distance of the mean from the target", offs, "where both complete such a job"),
    ("standard deviation", spreads, "where both complete two such jobs"),
)
SIZES4 = {"jobs": 3 * EACH, "slots": 100, "machines": MACHINES, "mix": (0.0, 0.5, 0.5)}


def workload(preset: str, seed: int) -> Any:
    """Return an instance with exactly 100 jobs of each kind: the first of each among more."""
    drawn = instance(preset, seed, **SIZES4)
    kept = sorted(
        i
        for critical in (False, True)
        for i in [k for k, job in enumerate(drawn.jobs) if is_critical(job) == critical][:EACH]
    )
    return drawn.model_copy(update={"jobs": tuple(drawn.jobs[i] for i in kept)})


def is_critical(job: Any) -> bool:
    """Whether a job is time-critical."""
    return bool(job.utility.decay >= CRITICAL)


def run4(cell: Cell, _time_limit: float) -> Row:
    """Run one scheme; return completion - target of the completed jobs of each kind."""
    inst = workload(cell["preset"], cell["seed"])
    chosen = policy(cell["scheme"], cell["preset"], cell["seed"], SIZES4)
    found = simulate(inst, chosen, seed=cell["seed"])
    late: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for job, end in zip(inst.jobs, found.completion, strict=True):
        if end is not None:
            late[KINDS[is_critical(job)]].append(end - job.arrival - job.utility.target)
    return {"value": found.value, "late": late, "seconds": found.seconds}


def findings4(rows: Rows) -> Findings:
    """Compare with the paper: OASiS is closest to the target, with the smallest variance."""
    schemes = next(iter(rows.by("preset").values())).by("scheme")
    for kind, (what, measure, why) in product(KINDS, MEASURES):
        found = {s: measure(part.values("late", kind)) for s, part in schemes.items()}
        rival = closest(found)
        claim = f"{kind} jobs, {what}: OASiS less the best other, {LABELS[rival]}"
        yield smaller(claim, found[ESTIMATED], found[rival], why)
    for (preset, scheme), part in rows.by("preset", "scheme").items():
        for kind in KINDS:
            late = [x for each in part.values("late", kind) for x in each]
            claim = f"{PRESETS[preset]}, {LABELS[scheme]}, {kind}"
            note = f"{len(late)} jobs complete"
            if not late:
                yield shown(claim, None, note=note)
                continue
            note = f"median {np.median(late):+.1f}, deviation {np.std(late):.1f} slots; {note}"
            claim = f"{claim}: mean of completion less target"
            yield shown(claim, float(np.mean(late)), unit="slots", note=note)
    yield "only completed jobs count, and the schemes complete different ones"


def draw4(rows: Rows) -> Figure:
    """Draw a panel per preset, in it a box per scheme and kind: quartiles, whiskers at 5, 95 %."""
    presets = rows.by("preset")
    figure = new_figure(8.0, 2.8 * len(presets))
    axes = figure.subplots(len(presets), squeeze=False)[:, 0]
    for axis, (preset, here) in zip(axes, presets.items(), strict=True):
        schemes = here.by("scheme")
        late = {
            (s, kind): [x for each in part.values("late", kind) for x in each]
            for s, part in schemes.items()
            for kind in KINDS
        }
        for kind, shift, colour in zip(KINDS, (-0.18, 0.18), COLOURS, strict=False):
            boxes(axis, {x + shift: late[s, kind] for x, s in enumerate(schemes)}, colour,
                  widths=0.3)  # fmt: skip
            axis.plot([], [], "s", color=colour, label=kind)
        axis.axhline(0, color="black", linewidth=0.8)
        short = LABELS | {LITERAL: "OASiS,\ntrue U, L"}
        names = [f"{short[s]}\n" + ", ".join(f"{len(late[s, k])}" for k in KINDS) for s in schemes]
        axis.set_xticks(range(len(schemes)), names, fontsize=8)
        axis.set_ylabel(LATE)
        axis.set_title(PRESETS[preset], fontsize=9)
    axes[0].legend(frameon=False)
    axes[-1].set_xlabel("scheme, and how many jobs of each kind it completed")
    return figure


# Fig. 5

COMPARED = (ESTIMATED, LITERAL, "rrh", "drf")
SWEPT = (20, 40, 60, 80, 100)  # machines, half of them for workers, half for parameter servers
PRIORITIES = (10, 50, 100)  # gamma_1 is drawn between 1 and this
AROUND = (1.1, 1.5)
HARDER = {20: 2.5}  # few machines are the hard case: times the time limit
TREND = 0.3  # rank correlation from which there is a trend
NORMAL = 1.06 * 1.96  # half of a 95 % interval of a rank correlation, after the transformation


def run5(cell: Cell, time_limit: float) -> Row:
    """Find the optimum of one instance and the ratio of OASiS, and of two others."""
    sizes = {"jobs": 10, "slots": 10, "machines": cell["machines"],
             "priority": (1.0, float(cell["priority"]))}  # fmt: skip
    report = compare(
        instance(PAPER, cell["seed"], **sizes),
        [policy(scheme, PAPER, cell["seed"], sizes) for scheme in COMPARED],
        time_limit=time_limit * HARDER.get(cell["machines"], 1),
        seed=cell["seed"],
    )
    optimum = report.optimum
    named = zip(COMPARED, report.policies, strict=True)
    return {
        "value": optimum.value,
        "bound": optimum.bound,
        "status": optimum.status,
        "bound_level": optimum.bound_level,
        "seconds": optimum.seconds,
        "ratios": {name: judged.ratio.model_dump(mode="json") for name, judged in named},
    }


def mean5(rows: Rows, scheme: str) -> Any:
    """Return the mean ratio of a scheme, with its median and interval."""
    return mean_ratio([Ratio.model_validate(x) for x in rows.values("ratios", scheme)])


def closed(rows: Rows) -> int:
    """Return how many optima are proved."""
    return sum(status == Status.OPTIMAL for status in rows.values("status"))


def _trend(rows: Rows, name: str) -> MeanEstimate | None:
    """Return Spearman's rank correlation of the ratio with a parameter; None if nothing varies."""
    from scipy.stats import spearmanr  # here, since it takes a while to import

    ratios = [float(x) for x in rows.values("ratios", ESTIMATED, "low")]
    values = rows.values(name)
    if len({*values}) < 2 or len({*ratios}) < 2:
        return None
    rank, half = float(spearmanr(values, ratios).statistic), NORMAL / sqrt(len(rows) - 3)
    ends = tanh(atanh(rank) - half), tanh(atanh(rank) + half)  # Fisher's transformation
    return MeanEstimate(rank, ends, len(rows))


def findings5(rows: Rows) -> Findings:
    """Compare with the paper: between 1.1 and 1.5, no clear trend."""
    means = {name: mean5(rows, name) for name in COMPARED}
    mean = means[ESTIMATED]
    between = Ratio.of("max", 1.0, mean.low, mean.high)
    ends = mean.interval and (mean.interval[0] - 1, mean.interval[1] - 1)
    yield effect(
        "OASiS: how far the optimum is ahead, the mean ratio less 1",
        MeanEstimate(mean.low - 1, ends, mean.count),
        paper=(AROUND[0] - 1, AROUND[1] - 1),
        note=f"mean ratio {between}; {mean.infinite} of {mean.count} earn nothing",
    )
    for name in ("machines", "priority"):
        claim = f"no clear trend: rank correlation of the ratio with {name}"
        yield within(claim, _trend(rows, name), low=-TREND, high=TREND)
    for name, mean in means.items():
        note = f"worst {mean.worst.low:.3g}"
        yield shown(f"{LABELS[name]}: median ratio", float(mean.median), paper=AROUND, note=note)
        if name != ESTIMATED:
            note = f"{mean.infinite} of {mean.count} earn nothing" * bool(mean.infinite)
            yield shown(f"{LABELS[name]}: mean ratio, at least", float(mean.low), paper=AROUND,
                        note=note)  # fmt: skip
    yield (
        f"{closed(rows)} of {len(rows)} optima proved within {CLOSED:g}, the slowest took "
        f"{max(rows.values('seconds')):.1f} s"
    )
    yield "as printed and without redraws no job can earn anything in 10 slots"


def draw5(rows: Rows) -> Figure:
    """Draw a group of bars per number of machines, one bar per range of priorities."""
    figure = new_figure(7.2, 4.2)
    axis = figure.subplots()
    axis.axhspan(*AROUND, color="#DDDDDD", zorder=0, label="the paper: 1.1 to 1.5")
    machines, tops = (sorted(rows.by(name)) for name in ("machines", "priority"))
    for at, ((m, top), part) in enumerate(rows.by("machines", "priority").items()):
        k = tops.index(top)
        x = machines.index(m) + 0.25 * (k - (len(tops) - 1) / 2)
        mean = mean5(part, ESTIMATED)
        name = f"OASiS, priorities [1, {top}]" if m == machines[0] else None
        if isfinite(mean.low):
            axis.bar(x, mean.low, width=0.22, color=COLOURS[k], label=name)
        if mean.interval is not None:
            axis.vlines(x, *mean.interval, color="black", linewidth=1)
        for scheme, mark, what in ((ESTIMATED, "o", "median"), (LITERAL, "D", "median, true U, L")):
            axis.plot(x, mean5(part, scheme).median, mark, color="white", markeredgecolor="black",
                      ms=4, label=None if at else what)  # fmt: skip
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_xticks(range(len(machines)), [str(m) for m in machines])
    axis.set_xlabel("machines")
    axis.set_ylabel("optimum / OASiS (mean, 95 % interval)")
    axis.legend(frameon=False, fontsize=8)
    return figure


# Fig. 6

PLENTY, SCARCE = 50, 250  # jobs
PERCENT = (10, 25, 50, 100, 200, 400, 1000)  # of U / L


def findings6(rows: Rows) -> Findings:
    """Compare with the paper: where resources are scarce, too low is better than too high."""
    extra: list[Finding] = []
    for (preset, n, scheme), part in rows.by("preset", "jobs", "scheme").items():
        earned = {percent: of.values("value") for percent, of in part.by("percent").items()}
        low, high = (
            np.mean([x for p, x in earned.items() if (p - 100) * side > 0], axis=0).tolist()
            for side in (-1, 1)
        )
        more, true = lead(low, high), MeanEstimate.of(earned[100]).mean
        claim = f"{PRESETS[preset]}, {LABELS[scheme]}, {n} jobs: too low over too high"
        note = (
            f"{np.mean(low):.4g} when too low, {true:.4g} at 100 %, {np.mean(high):.4g} when too "
            "high"
        )
        if (preset, n, scheme) == (DRAWN, SCARCE, ESTIMATED):
            yield effect(claim, more, note=note)
        else:
            note += "; exactly the same on all instances" * (more is not None and more.same)
            extra.append(shown(claim, more, unit="%", note=note))
    yield from extra
    yield "with the true U and L, ln U - ln L is above 1000, so no factor moves a price by much"


def draw6(rows: Rows) -> Figure:
    """Draw a row per preset, a panel per number of jobs, a line per variant of OASiS."""
    presets, counts = rows.by("preset"), [*rows.by("jobs")]
    figure = new_figure(4.6 * len(counts), 3.4 * len(presets))
    axes = figure.subplots(len(presets), len(counts), squeeze=False)
    for (i, preset), (j, n) in product(enumerate(presets), enumerate(counts)):
        axis = axes[i, j]
        for k, (scheme, part) in enumerate(rows.where(preset=preset, jobs=n).by("scheme").items()):
            curve(axis, part, "percent", "value", COLOURS[k], LABELS[scheme])
        axis.set_title(f"{n} jobs in {SLOTS} slots\n{PRESETS[preset]}", fontsize=8)
        axis.axvline(100, color="black", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xticks(PERCENT)
        axis.xaxis.set_major_formatter("{x:g}")
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.grid(color="#EEEEEE")
        axes[i, 0].set_ylabel(UTILITY, fontsize=8)
        axes[-1, j].set_xlabel("U / L that is handed in, % of the one in the legend")
    axes[0, 0].legend(frameon=False, fontsize=8)
    return figure


# Figs. 8 and 9: the testbed

TESTBED_JOBS, TESTBED_SLOTS, MINUTES = 12, 10, 20
ARRIVE = (0, 8)  # slots
RUN = (2, 6)  # slots, on half of the workers that its chunks allow
PER_BATCH = 10  # images
CHUNKS = ((20, 10), (30, 7))  # images, and how many chunks hold the 200 of the data set
EPOCHS = (4, 30)
TARGET = (1.0, 15.0)
GRADIENTS = (233, 98, 170, 230, 507, 43)  # MB: AlexNet, ResNet-50, -101, -152, VGG-11, Inception-BN
CORES, MEMORY, RATE = (1, 5), (2, 10), (1.0, 3.0)
LEAST_BATCH = 1e-6  # slots
WORKER_MACHINES = (
    MachineClass(name="32 cores, GPU", count=4, capacity=(1, 32, 80, 600, 20)),
    MachineClass(name="32 cores", count=3, capacity=(0, 32, 80, 600, 20)),
)
PS_MACHINES = (MachineClass(name="8 cores", count=2, capacity=(0, 8, 32, 1500, 20)),)


def testbed(seed: int) -> OasisInstance:
    """Draw the jobs of one experiment on the testbed."""
    streams = Streams(seed)
    return OasisInstance(
        slot_seconds=60.0 * MINUTES,
        horizon=TESTBED_SLOTS,
        resources=RESOURCES,
        units=UNITS,
        worker_machines=WORKER_MACHINES,
        ps_machines=PS_MACHINES,
        jobs=tuple(_job(streams, i) for i in range(TESTBED_JOBS)),
        source=f"generated: testbed, seed {seed}",
    )


def _job(streams: Streams, i: int) -> OasisJob:
    def whole(name: str, limits: tuple[int, int]) -> int:
        return draw_whole(streams(name, i), limits)

    def rate(name: str, least: float) -> float:
        return round(float(streams(name, i).uniform(least, RATE[1])), 2)

    images, chunks = CHUNKS[whole("chunk", (0, 1))]
    epochs, b = whole("epochs", EPOCHS), rate("worker rate", RATE[0])
    big_b = rate("ps rate", b)
    gradient = GRADIENTS[whole("model", (0, len(GRADIENTS) - 1))]
    batches = images // PER_BATCH
    work = float(streams("run", i).uniform(*RUN)) * -(-chunks // 2)
    sending = 2 * float(MB_PER_GBIT) * gradient / (b * 60 * MINUTES)
    batch = work / (epochs * chunks * batches) - sending
    demand = {
        side: (gpu, whole(f"{side} cores", CORES), whole(f"{side} memory", MEMORY), 1, bandwidth)
        for side, gpu, bandwidth in (("worker", whole("gpu", (0, 1)), b), ("ps", 0, big_b))
    }
    return OasisJob(
        arrival=whole("arrival", ARRIVE),
        epochs=epochs,
        chunks=chunks,
        batches_per_chunk=batches,
        batch_time=max(batch, LEAST_BATCH),
        gradient_mb=gradient,
        worker_bandwidth=b,
        ps_bandwidth=big_b,
        worker_demand=demand["worker"],
        ps_demand=demand["ps"],
        utility=draw_utility(streams("utility", i), TARGET),
    )


def run8(cell: Cell, _time_limit: float) -> Row:
    """Run one scheme; return its utility, and completion - target of the completed jobs."""
    inst: Any = testbed(cell["seed"])
    found = simulate(inst, policy(cell["scheme"], None, cell["seed"], {}), seed=cell["seed"])
    late = [
        end - job.arrival - job.utility.target
        for job, end in zip(inst.jobs, found.completion, strict=True)
        if end is not None
    ]
    return {"value": found.value, "late": late, "seconds": found.seconds}


def findings8(rows: Rows) -> Findings:
    """Compare with the paper: as in Figs. 3 and 4, OASiS earns most and is nearest to targets."""
    late = {scheme: part.values("late") for scheme, part in rows.by("scheme").items()}
    off = {scheme: offs(each) for scheme, each in late.items()}
    best, near = best_other(rows), closest(off)
    yield effect(f"utility: OASiS ahead of {LABELS[best]}", utility(rows, ESTIMATED, best))
    claim = f"distance of the mean completion from the target: OASiS less {LABELS[near]}"
    yield smaller(claim, off[ESTIMATED], off[near], "where both complete a job")
    for scheme in (LITERAL, *OTHERS):
        if scheme != best:
            more = utility(rows, ESTIMATED, scheme)
            yield shown(f"utility: OASiS over {LABELS[scheme]}", more, unit="%")
    for scheme, each in late.items():
        all_ = [x for of in each for x in of]
        mean, note = float(np.mean(all_)) if all_ else None, f"{len(all_)} jobs complete"
        claim = f"{LABELS[scheme]}: mean of completion less target"
        yield shown(claim, mean, unit="slots", note=note)
    yield "the testbed is simulated: workers run as the model states"


def draw8(rows: Rows) -> Figure:
    """Draw utilities, and how late completed jobs are: quartiles, whiskers at 5 and 95 %."""
    figure = new_figure(9.0, 3.8)
    left, right = figure.subplots(1, 2)
    schemes = rows.by("scheme")
    for x, part in enumerate(schemes.values()):
        left.bar(x, part.mean("value").mean, color=COLOURS[0])
        whisker(left, x, part.mean("value"))
    late = [[x for each in part.values("late") for x in each] for part in schemes.values()]
    boxes(right, dict(enumerate(late)), COLOURS[0])
    right.axhline(0, color="black", linewidth=0.8)
    names = [LABELS[s].replace(", ", ",\n") for s in schemes]
    for axis, y in ((left, UTILITY), (right, LATE)):
        axis.set_xticks(range(len(names)), names, fontsize=7)
        finish(axis, y=y, grid="y")
    return figure


EXPERIMENTS = described(
    "oasis",
    fig3=(cells3, run, findings3, draw3),
    fig4=(
        lambda n: grid(preset=PRESETS, seed=fresh(n), scheme=[s for s in SCHEMES if s != "dorm"]),
        run4, findings4, draw4,
    ),
    fig5=(
        lambda n: grid(machines=SWEPT, priority=PRIORITIES, seed=fresh(n)),
        run5, findings5, draw5,
    ),
    fig6=(
        lambda n: grid(preset=PRESETS, jobs=(PLENTY, SCARCE), scheme=(ESTIMATED, LITERAL),
                       percent=PERCENT, seed=fresh(n)),
        run, findings6, draw6,
    ),
    fig8=(lambda seeds: grid(seed=fresh(seeds), scheme=SCHEMES), run8, findings8, draw8),
)  # fmt: skip
