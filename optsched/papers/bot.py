"""Tables and figures of the bag-of-tasks paper: sets of step sizes on many platforms."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.special import fdtrc

from optsched.core import solve
from optsched.core.intervals import clopper_pearson, student
from optsched.drawing import COLOURS, finish, legend, new_figure
from optsched.families.bot.instance import BotInstance, BotSchedule
from optsched.families.bot.policies.convergence import PRECISION, Convergence, convergence
from optsched.families.bot.policies.negotiation import Negotiation, Steps, without
from optsched.families.bot.sources.presets import generate
from optsched.numbers.arrays import Floats
from optsched.papers.estimate import MeanEstimate, apart, differences
from optsched.papers.experiment import Cell, Findings, Row, Rows, described, grid, line, whisker
from optsched.papers.verdict import (
    Finding,
    about,
    counted,
    effect,
    shown,
    stated,
    untestable,
    within,
)

ITERATIONS = 1500
LABEL = 0.6  # inches from one bar to the next, from which on a label fits above it
PLATFORMS = 30
UNITS = ("sec6.5", "sec6.2")  # the verdicts are about the first
UNIT_NAMES = {
    "sec6.5": "here, 13.81 GFLOP a task (Sec. 6.5)",
    "sec6.2": "here, 13.81 MFLOP a task (Sec. 6.2)",
}
FACTORS = ("rho", "tilde", "lam", "mu")  # step sizes, as `Steps` calls them
Levels = dict[str, tuple[float, ...]]
NAIVE_LEVELS: Levels = {
    "rho": (1e-3, 0.1), "tilde": (1e-3, 0.1), "lam": (1e-15, 1e-13), "mu": (1e-15, 1e-13),
}  # fmt: skip
PRICES = (0.7, 1.3)
ADAPTIVE_LEVELS: dict[tuple[int, int], Levels] = {  # the last factorial of each size, Sec. 8.2
    (20, 5): {"rho": (0.05, 0.15), "tilde": (0.05, 0.15), "lam": PRICES, "mu": PRICES},
    **{
        size: {"rho": (0.01, 0.05), "tilde": (0.05, 0.15), "lam": PRICES, "mu": PRICES}
        for size in ((20, 15), (40, 5), (100, 5))
    },
    (500, 15): {"rho": (0.001, 0.002), "tilde": (0.01, 0.05), "lam": (0.1, 0.7), "mu": (0.1, 0.7)},
}
BEST_NAIVE = {"rho": 1e-3, "tilde": 1e-3, "lam": 1e-13, "mu": 1e-15}  # Sec. 6.5.3
BEST_ADAPTIVE = {  # the best sets of Table 2
    20: {"rho": 0.05, "tilde": 0.05, "lam": 1.3, "mu": 0.7},
    40: {"rho": 0.01, "tilde": 0.05, "lam": 1.3, "mu": 0.7},
    100: {"rho": 0.01, "tilde": 0.05, "lam": 0.7, "mu": 0.7},
    500: {"rho": 0.002, "tilde": 0.05, "lam": 0.7, "mu": 0.7},
}


def platforms(sizes: Collection[tuple[int, int]], seeds: int, **axes: Iterable[Any]) -> list[Cell]:
    """Return one cell per combination of the axes, reading of the units, size and platform."""
    return [
        {"units": units, "nodes": nodes, "degree": degree, "seed": seed, **more}
        for more in grid(**axes)
        for units, (nodes, degree), seed in product(UNITS, sizes, range(seeds))
    ]


def platform(cell: Cell, preset: str) -> BotInstance:
    """Return the platform of a cell, with the applications of a preset."""
    sizes = {name: cell[name] for name in ("nodes", "degree", "units")}
    return generate(preset, seed=cell["seed"], **sizes)


def optimum(inst: BotInstance) -> tuple[float, BotSchedule]:
    """Return the best objective and the rates that have it."""
    found = solve(inst)
    if found.value is None or not isinstance(found.schedule, BotSchedule):
        raise RuntimeError("no optimum was found")
    if found.gap is None or found.gap > 1e-5:
        raise RuntimeError(f"the optimum is not certified: {found}")
    return found.value, found.schedule


def negotiate(
    inst: BotInstance, algorithm: str, best: float, **steps: Any
) -> tuple[Floats, Convergence]:
    """Return the objectives of all iterations, and how well they converge to the best."""
    chosen = Steps.model_validate({"algorithm": algorithm, **steps})
    series, _ = Negotiation(inst, chosen).run(ITERATIONS)
    return series, convergence(series, best)


def factorial(cell: Cell, preset: str, algorithm: str, levels: Levels) -> Row:
    """Run every combination of the levels on the platform of a cell.

    A cell may name the dual steps, the order of updates and what is left out of the adaptive
    algorithm; else they are the defaults of `Steps`.
    """
    names = ("dual_step", "order", "newton", "stability", "factor")
    reading = {name: cell[name] for name in names if name in cell}
    inst = platform(cell, preset)
    best, _ = optimum(inst)
    sets = []
    for chosen in product(*(levels[f] for f in FACTORS)):
        sizes = dict(zip(FACTORS, chosen, strict=True))
        _, found = negotiate(inst, algorithm, best, **reading, **sizes)
        sets.append({**sizes, **found.model_dump(), "robust": found.robust})
    return {"optimum": best, "sets": sets}


def run_naive(cell: Cell, _limit: float) -> Row:
    """Run the 16 sets of the naive algorithm on homogeneous applications."""
    return factorial(cell, "homogeneous", "naive", NAIVE_LEVELS)


def run_adaptive(cell: Cell, _limit: float) -> Row:
    """Run the last factorial of a size: the adaptive algorithm, heterogeneous applications."""
    levels = ADAPTIVE_LEVELS[cell["nodes"], cell["degree"]]
    return factorial(cell, "heterogeneous", "adaptive", levels)


@dataclass(frozen=True)
class BestSteps:
    """The set of step sizes that converges most often, and then soonest."""

    steps: dict[str, float]
    converged: list[int]  # 1 or 0, platform by platform
    times: list[int]  # of those that converge, sorted
    all: int  # runs that converge, with any set
    runs: int

    @classmethod
    def of(cls, rows: Rows) -> BestSteps:
        """Choose among the sets of all rows."""
        columns = list(zip(*rows.values("sets"), strict=True))
        found = [
            cls(
                {f: column[0][f] for f in FACTORS},
                [int(s["converged"]) for s in column],
                sorted(s["first_for_good"] for s in column if s["converged"]),
                sum(s["converged"] for of in columns for s in of),
                len(columns) * len(rows),
            )
            for column in columns
        ]
        return max(found, key=lambda best: (len(best.times), -sum(best.times)))

    @property
    def share(self) -> MeanEstimate:
        """The share of platforms that converge."""
        return MeanEstimate.share(len(self.times), len(self.converged))

    def __str__(self) -> str:
        steps = ", ".join(f"{f} {x:g}" for f, x in self.steps.items())
        return f"with {steps}, median iteration {median(self.times)}" if self.times else ""


def median(sample: Sequence[float]) -> float | None:
    """Return the median; None of nothing."""
    return statistics.median(sample) if sample else None


def best_count(rows: Rows, paper: int | None, claim: str, note: str | None = None) -> Finding:
    """Judge how often the best set of step sizes converges; without the paper's count, show it."""
    best = BestSteps.of(rows)
    note, count, of = str(best) if note is None else note, len(best.times), len(rows)
    if paper is not None:
        return counted(claim, count, of, paper, PLATFORMS, note=note)
    return shown(claim, count / of, note="; ".join(filter(None, [f"{count} of {of}", note])))


def size_of(rows: Rows) -> str:
    """Return what the rows of a reading and size share, as a statement about them."""
    return "{units}, {nodes} nodes, degree {degree}: share converged".format(**rows[0])


def mean_share(sample: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean of shares, one for each platform.

    >>> mean_share([0.25, 0.75, 0.5])[0] > 0
    False
    """
    if all(x in (0.0, 1.0) for x in sample):
        return clopper_pearson(int(sum(sample)), len(sample))
    if len(sample) < 2:
        return None
    low, high = student(np.asarray(sample, dtype=float))
    return max(0.0, float(low)), min(1.0, float(high))


def draw_shares(
    groups: Mapping[str, Sequence[MeanEstimate | None]], ticks: Sequence[str], y: str, x: str = "",
    title: str = "",
) -> Figure:  # fmt: skip
    """Draw groups of bars, a colour per name; with their intervals where all of a name have one."""
    figure = new_figure(2.8 * max(3, len(groups)), 3.8)
    axis = figure.subplots()
    step = min(0.27, 0.9 / len(groups))
    roomy = figure.get_figwidth() * step / len(ticks) > LABEL
    for k, (name, shares) in enumerate(groups.items()):
        known = {i + step * k: s for i, s in enumerate(shares) if s is not None}
        reach = [
            (s.mean - s.interval[0], s.interval[1] - s.mean) for s in known.values() if s.interval
        ]
        ends = np.maximum(reach, 0.0).T if len(reach) == len(known) > 0 else None
        drawn = axis.bar(
            [*known], [s.mean for s in known.values()], step - 0.02, yerr=ends, label=name,
            color=COLOURS[k], error_kw={"linewidth": 1, "capsize": 2},
        )  # fmt: skip
        labels = [f"{s.mean * s.count:.0f} / {s.count}" for s in known.values()]
        axis.bar_label(drawn, labels, fontsize=7, padding=3, rotation=0 if roomy else 90)
    middle = step * (len(groups) - 1) / 2
    axis.set_xticks([i + middle for i in range(len(ticks))], ticks, fontsize=8)
    axis.set_ylim(0, 1.3)
    axis.set_yticks(np.linspace(0, 1, 6))
    finish(axis, grid="y")
    axis.set_xlabel(x)
    axis.set_title(title, fontsize=9)
    axis.set_ylabel(f"{y}\n(95 % interval)", fontsize=8)
    legend(figure, axis)
    return figure


# Tables 1 and 2

TABLE1 = {(20, 5): 28, (20, 15): 29, (40, 5): 27, (100, 5): 24, (500, 15): 20}
TABLE2 = {(20, 5): 24, (20, 15): 30, (40, 5): 28, (100, 5): 27, (500, 15): 29}
SIZE = "nodes, largest degree"


def findings_table(rows: Rows, *, paper: Mapping[tuple[int, int], int]) -> Findings:
    """Compare how often the best set converges with Table 1 or 2."""
    for (units, *size), part in rows.by("units", "nodes", "degree").items():
        count = paper[size[0], size[1]] if units == UNITS[0] else None
        yield best_count(part, count, size_of(part))
    yield "the platforms of the paper are not published"


def draw_table(rows: Rows, *, paper: Mapping[tuple[int, int], int], kind: str) -> Figure:
    """Draw on which share of the platforms of each size the best set converges."""
    known = {at: BestSteps.of(of).share for at, of in rows.by("units", "nodes", "degree").items()}
    groups: dict[str, list[MeanEstimate | None]]
    groups = {"paper": [MeanEstimate.share(count, PLATFORMS) for count in paper.values()]}
    for units in UNITS:
        groups[UNIT_NAMES[units]] = [known.get((units, *size)) for size in paper]
    sizes = [f"{nodes}, {degree}" for nodes, degree in paper]
    return draw_shares(groups, sizes, "share of platforms that converge", SIZE, kind)


# Sec. 6.6

LOWER: Levels = {  # the second factorial of Sec. 6.6: all but rho decreased
    "rho": (1e-3, 0.1), "tilde": (1e-4, 1e-2), "lam": (1e-17, 1e-15), "mu": (1e-17, 1e-15),
}  # fmt: skip
GRIDS = {"as homogeneous": NAIVE_LEVELS, "lower": LOWER}  # the first is judged
LEAST_VARIATION = 7.0  # c_v of any combination, Sec. 6.6
RUNS = 480  # of each factorial: 30 platforms, 16 sets
FAR = 1e3  # a distance above it, or of an objective without a number, counts as this


def run_hopeless(cell: Cell, _limit: float) -> Row:
    """Run the naive algorithm on heterogeneous applications, at one of two grids."""
    return factorial(cell, "heterogeneous", "naive", GRIDS[cell["grid"]])


def least_variation(sets: Rows) -> list[float]:
    """Return |c_v| of the combination of step sizes with the least mean, of runs that have one."""
    known = [
        [abs(c) for c in of.values("variation") if c is not None]
        for of in sets.by(*FACTORS).values()
    ]
    return min(filter(None, known), key=lambda each: sum(each) / len(each), default=[])


def _sets(rows: Rows) -> dict[tuple[str, str], Rows]:
    """Return the runs of all platforms by reading and grid."""
    return {
        at: Rows(entry for sets in part.values("sets") for entry in sets)
        for at, part in rows.by("units", "grid").items()
    }


def findings_hopeless(rows: Rows) -> Findings:
    """Compare with Sec. 6.6: nothing converges, and every combination varies much."""
    for (units, levels), sets in _sets(rows).items():
        where, runs = f"{units}, grid {levels}", len(sets)
        converged = sum(sets.values("converged"))
        yield counted(f"{where}: runs that converge", converged, runs, 0, RUNS)
        least, claim = least_variation(sets), f"{where}: least mean |c_v| of a combination"
        seen = MeanEstimate.of(least, nothing=None) if least else None
        note = f"{sum(c is not None for c in sets.values('variation'))} of {runs} runs have a c_v"
        if (units, levels) != (UNITS[0], next(iter(GRIDS))):
            yield shown(claim, seen, note=note)
        elif seen is None:
            yield untestable(claim, None, f"{note}; what else counts is not printed")
        else:
            yield within(claim, seen, low=LEAST_VARIATION, note=note)


def draw_hopeless(rows: Rows) -> Figure:
    """Draw how far from the edge of the tube the objectives of all runs end."""
    figure = new_figure(8.4, 4.4)
    axis = figure.subplots()
    for k, ((units, levels), sets) in enumerate(_sets(rows).items()):
        outside = sorted(min(e["margin"], FAR) for e in sets if not e["converged"])
        share = [(i + 1) / len(sets) for i in range(len(outside))]
        inside = f"{len(sets) - len(outside)} of {len(sets)} inside"
        name = f"{UNIT_NAMES[units]}, grid {levels}: {inside}"
        axis.step(outside, share, where="post", label=name, color=COLOURS[k])
    axis.set_xscale("log")
    axis.set_title("naive, heterogeneous, 20 nodes", fontsize=9)
    x = "edge of the tube to the nearest of the last objectives (ln(tasks / s))"
    finish(axis, x, "share of runs", grid="y")
    legend(figure, axis)
    return figure


# Figs. 4 and 6: an analysis of variance of a factorial design

LARGEST = 1e3  # a coefficient of variation farther from 0, or none, counts as this
SIGNIFICANT = 0.05
SIGNED, ABSOLUTE = "c_v", "|c_v|"  # responses; the first is the paper's
CLAIMED = 1e-4  # p of rho in Fig. 4
CONVERGED = 29  # of 30, Fig. 6
STABLE, PRINTED = "stable", "printed"  # readings of the dual steps; the first is drawn and judged
FACTOR_NAMES = {
    "rho": "rates",
    "tilde": "smoothed rates",
    "lam": "prices of nodes",
    "mu": "prices of arcs",
}


@dataclass(frozen=True)
class Analysis:
    """A linear model of all four factors: what each explains of c_v in a full factorial design."""

    y: Floats  # shape (P, S): platforms, sets
    x: Floats  # shape (S, F): -1 at the low level, 1 at the high one

    @classmethod
    def of(cls, rows: Rows, response: str) -> Analysis:
        """Take the response of all runs of a reading."""
        y = [[s["variation"] for s in sets] for sets in rows.values("sets")]
        y = np.clip(np.nan_to_num(np.array(y, dtype=float), nan=LARGEST), -LARGEST, LARGEST)
        sizes = np.array([[s[f] for f in FACTORS] for s in rows[0]["sets"]])
        x = np.where(sizes == sizes.max(axis=0), 1.0, -1.0)
        return cls(np.abs(y) if response == ABSOLUTE else y, x)

    def means(self, f: str) -> list[MeanEstimate]:
        """Return the mean at the low and at the high level: runs on a platform are no sample."""
        level = self.x[:, FACTORS.index(f)]
        return [MeanEstimate.of(self.y[:, level == at].mean(axis=1).tolist()) for at in (-1, 1)]

    def effects(self, f: str) -> list[float]:
        """Return what the high level adds to the mean of a platform, platform by platform."""
        found: list[float] = (self.y @ self.x[:, FACTORS.index(f)] * 2 / len(self.x)).tolist()
        return found

    def significance(self) -> dict[str, tuple[float | None, float | None]]:
        """Return F and p of each factor; None where nothing varies."""
        centred = self.y - self.y.mean()
        squares = (centred @ self.x).sum(axis=0) ** 2 / centred.size
        rest = max(0.0, float((centred**2).sum() - squares.sum()))
        left = centred.size - len(FACTORS) - 1  # degrees of freedom
        with np.errstate(divide="ignore", invalid="ignore"):  # all alike, or all explained
            ratios = squares / (rest / left)
        return {
            f: (None, None) if np.isnan(ratio) else (float(ratio), float(fdtrc(1, left, ratio)))
            for f, ratio in zip(FACTORS, ratios, strict=True)
        }


def _ranked(by: Mapping[str, tuple[float | None, float | None]]) -> str:
    ranked = sorted(by, key=lambda f: -(by[f][0] or 0.0))
    return "F " + ", ".join(f"{f} {by[f][0] or 0.0:.4g}" for f in ranked)


def _p(
    claim: str, of: tuple[float | None, float | None], limit: float, *, below: bool = False
) -> Finding:
    """Judge a p: none, where nothing varies, is not significant."""
    p, note = 1.0 if of[1] is None else of[1], f"F {of[0] or 0.0:.4g}"
    if below:
        return stated(claim, p < limit, ours=p, paper=limit, bound="at most ", note=note)
    return stated(claim, p >= limit, ours=p, note=f"{note}; significant is p < {limit:g}")


def _readings(rows: Rows) -> dict[tuple[str, str], Rows]:
    """Return rows by units and dual steps; the naive algorithm has one reading of them only."""
    return Rows({"dual_step": STABLE, **row} for row in rows).by("units", "dual_step")


def _others(rows: Rows) -> Iterator[Finding]:
    """Return what other readings of c_v, dual steps and units give."""
    for k, ((units, dual_step), part) in enumerate(_readings(rows).items()):
        best = BestSteps.of(part)
        for response in (SIGNED, ABSOLUTE)[k == 0 :]:
            by = Analysis.of(part, response).significance()
            note = f"{_ranked(by)}; best set {len(best.times)} of {len(part)}"
            claim = f"{units}, dual steps {dual_step}, {response}: p of rho"
            yield shown(claim, by["rho"][1], note=note)


def findings_4(rows: Rows) -> Findings:
    """Compare with Fig. 4: rho matters most, its low level varies less, prices hardly matter.

    F ranks the factors by the size of their mean effect over platforms; so does the comparison of
    rho with the largest other one, by paired differences.
    """
    first = Analysis.of(next(iter(_readings(rows).values())), SIGNED)
    by = first.significance()
    rival = max((f for f in FACTORS if f != "rho"), key=lambda f: by[f][0] or 0.0)
    ours, theirs = (
        [math.copysign(1.0, sum(found)) * x for x in found]
        for found in (first.effects("rho"), first.effects(rival))
    )
    larger = MeanEstimate.of(differences(ours, theirs))
    low, high = first.means("rho")
    yield effect(f"rho matters most: size of its mean effect on c_v less that of {rival}",
                 larger, unit="", note=_ranked(by))  # fmt: skip
    yield _p("p of rho", by["rho"], CLAIMED, below=True)
    yield effect("c_v is lower at the low level of rho: what the high one adds",
                 MeanEstimate.of(first.effects("rho")), unit="",
                 note=f"{low.mean:.4g} at the low level, {high.mean:.4g} at the high one"
                 )  # fmt: skip
    for name in ("lam", "mu"):
        yield _p(f"{name} has limited impact, so that its p is not small", by[name], SIGNIFICANT)
    yield from _others(rows)


def findings_6(rows: Rows) -> Findings:
    """Compare with Fig. 6: a set that converges on nearly all platforms, rho no longer matters."""
    part = next(iter(_readings(rows).values()))
    yield best_count(part, CONVERGED, size_of(part))
    p = Analysis.of(part, SIGNED).significance()["rho"]
    yield _p("rho is not significant: its p", p, SIGNIFICANT)
    yield from _others(rows)


def draw_variance(rows: Rows) -> Figure:
    """Draw the mean c_v at both levels of each factor, and when platforms converge."""
    drawn = {units: part for (units, step), part in _readings(rows).items() if step == STABLE}
    figure = new_figure(4.2 * len(drawn), 6.0)
    axes = figure.subplots(2, len(drawn), squeeze=False)
    for (axis, below), (units, part) in zip(axes.T, drawn.items(), strict=True):
        found = Analysis.of(part, SIGNED)
        for k, f in enumerate(FACTORS):
            at, means = (-1 + 3 * k, 1 + 3 * k), found.means(f)
            levels = [m.mean for m in means]
            axis.plot(at, levels, "o-", color=COLOURS[k], label=FACTOR_NAMES[f])
            for x, mean in zip(at, means, strict=True):
                whisker(axis, x, mean)
        places = [x + 3 * k for k in range(len(FACTORS)) for x in (-1, 1)]
        axis.set_xticks(places, ["low", "high"] * len(FACTORS), fontsize=7)
        axis.set_title(UNIT_NAMES[units], fontsize=9)
        finish(axis, "level of the step size", grid="y")
        axis.set_ylabel("mean c_v = SD / MEAN\n(no unit; 95 % interval over platforms)", fontsize=8)
        times = BestSteps.of(part).times
        if times:
            below.hist(times, bins=15, color=COLOURS[0])
            below.set_xlabel("iteration from which on it stays in the tube")
            below.set_ylabel("platforms, best set")
        else:
            below.text(0.5, 0.5, "no set converges", ha="center", transform=below.transAxes)
            below.set_axis_off()
    legend(figure, axes[0, 0])
    return figure


# Fig. 5

ZERO, HALF = 0.0, 0.5  # Fig. 5(a), and the paper's alpha
PROJECTIONS = (ZERO, 0.25, HALF, 0.75)
PART = 50  # iterations that are looked at together
LATE = 500  # iterations after which the objective should have settled


def run_5(cell: Cell, _limit: float) -> Row:
    """Run the adaptive algorithm; note when its objective is out of the tube."""
    inst = platform(cell, "heterogeneous")
    best, _ = optimum(inst)
    sizes = BEST_ADAPTIVE[cell["nodes"]]
    series, found = negotiate(inst, "adaptive", best, factor=cell["factor"], **sizes)
    outside = ~(np.abs(np.nan_to_num(series, nan=np.inf) - best) <= -np.log(PRECISION))
    return {
        "outside": outside.reshape(-1, PART).mean(axis=1).tolist(),
        "converged": found.converged,
        "margin": found.margin,
    }


def findings_5(rows: Rows) -> Findings:
    """Compare how often the objective is out of the tube without the projection and with it."""
    lines = rows.by("units", "factor")
    late = {
        at: [float(np.mean(x[LATE // PART :])) for x in part.values("outside")]
        for at, part in lines.items()
    }
    for units, factor in product(UNITS, PROJECTIONS[1:]):
        less = MeanEstimate.of(differences(late[units, ZERO], late[units, factor]))
        claim = (
            f"{units}: share of iterations above {LATE} out of the tube, prices set to zero less "
            f"geometric projection with {factor:g}"
        )
        found = effect(claim, less)
        judged = (units, factor) == (UNITS[0], HALF)
        yield found if judged else shown(claim, less, unit="%")
    for (units, factor), part in lines.items():
        claim = f"{units}, factor {factor:g}: share of platforms that converge"
        yield shown(claim, MeanEstimate.share(sum(part.values("converged")), len(part)))


def draw_5(rows: Rows) -> Figure:
    """Draw the share of platforms out of the tube by iteration, a line per factor."""
    figure = new_figure(8.4, 3.8)
    axes = figure.subplots(1, len(UNITS), sharey=True)
    at = [PART * (k + 0.5) for k in range(ITERATIONS // PART)]
    for axis, units in zip(axes, UNITS, strict=True):
        for k, (factor, part) in enumerate(rows.where(units=units).by("factor").items()):
            label = f"factor {factor:g}" if factor else "set to zero"
            means = [MeanEstimate.of(each) for each in zip(*part.values("outside"), strict=True)]
            line(axis, at, means, COLOURS[k], label, "-")
        axis.set_title(UNIT_NAMES[units], fontsize=9)
        axis.set_xlabel("iteration")
        finish(axis, grid="y")
    axes[0].set_ylabel("share out of the tube (95 % interval)", fontsize=8)
    legend(figure, axes[0])
    return figure


# Sec. 7: each ingredient left out

ALL = "all three"
WITHOUT: dict[str, dict[str, Any]] = {  # what is left out, and what `Steps` calls it
    ALL: {},
    "Newton's step": {"newton": False},
    "the stability condition": {"stability": False},
    "the geometric projection": {"factor": 0.0},
}
OF_NAIVE = {"newton": ("rho",), "stability": ("lam", "mu")}  # step sizes in the naive one's units


def run_without(cell: Cell, _limit: float) -> Row:
    """Run the 16 sets of the last factorial, with levels of the naive algorithm where it steps."""
    left_out = WITHOUT[cell["without"]]
    naive = {f for name in left_out for f in OF_NAIVE.get(name, ())}
    levels: Levels = {
        f: (NAIVE_LEVELS if f in naive else ADAPTIVE_LEVELS[20, 5])[f] for f in FACTORS
    }
    return factorial(cell | left_out, "heterogeneous", "adaptive", levels)


def findings_without(rows: Rows) -> Findings:
    """Compare how many platforms converge with all ingredients and without each."""
    for units, name in product(UNITS, WITHOUT):
        whole, best = (BestSteps.of(rows.where(units=units, without=x)) for x in (ALL, name))
        steps = ", ".join(f"{f} {x:g}" for f, x in best.steps.items())
        note = (
            f"{len(best.times)} of {len(best.converged)} with {steps}; all 16 sets: {best.all} of "
            f"{best.runs} runs"
        )
        if name == ALL:
            yield shown(f"{units}, all three: share converged", whole.share, note=note)
            continue
        less = MeanEstimate.of(differences(whole.converged, best.converged))
        claim = f"{units}: share converged with all three less that without {name}"
        found = effect(claim, less, note=note)
        yield found if units == UNITS[0] else replace(found, verdict=None)


def draw_without(rows: Rows) -> Figure:
    """Draw the shares that converge, a bar per reading of the units."""
    groups = {
        UNIT_NAMES[units]: [BestSteps.of(of).share for of in part.by("without").values()]
        for units, part in rows.by("units").items()
    }
    ticks = [ALL, *(f"without\n{name}" for name in WITHOUT if name != ALL)]
    return draw_shares(groups, ticks, "share of platforms that converge, best set")


# Counts that are in the text

SMALL = ((5, 3), (10, 3), (10, 5), (10, 7), (20, 5), (20, 10), (20, 20))
THREE = (5, 3)  # the size of which there are three platforms
SOON = 200  # iterations
SMALL_STEPS = {"rho": 0.01, "tilde": 0.1, "lam": 1e-14, "mu": 1e-14}
TOO_LARGE, SMALLER, SIZES = "too large", "lower", "small platforms"
COUNTS = {TOO_LARGE: (7, 480), SMALLER: (232, 240), SIZES: (9, 9)}  # the paper's
COUNTED = {
    TOO_LARGE: "40 nodes, step sizes of 20 nodes: runs that converge",
    SMALLER: "40 nodes, gamma_rho = 0.01: runs that converge",
    SIZES: f"platforms of 5 to 20 nodes in the tube within {SOON} iterations",
}


def cells_counts(seeds: int) -> list[Cell]:
    """Return 40 nodes with two grids of step sizes, and the small platforms."""
    grids = platforms([(40, 5)], seeds, kind=(TOO_LARGE, SMALLER))
    small = [platforms([size], 3 if size == THREE else 1, kind=[SIZES]) for size in SMALL]
    return sum(small, grids)


def run_counts(cell: Cell, _limit: float) -> Row:
    """Return how many sets converge on a platform, of how many."""
    if cell["kind"] == SIZES:
        inst = platform(cell, "homogeneous")
        _, found = negotiate(inst, "naive", optimum(inst)[0], **SMALL_STEPS)
        soon = found.converged and (found.first_for_good or 0) <= SOON
        return {"converged": int(soon), "of": 1, "first": found.first_for_good}
    levels = ADAPTIVE_LEVELS[(20, 5) if cell["kind"] == TOO_LARGE else (40, 5)]
    sets = factorial(cell, "heterogeneous", "adaptive", levels)["sets"]
    if cell["kind"] == SMALLER:
        sets = [s for s in sets if s["rho"] == min(levels["rho"])]
    return {"converged": sum(s["converged"] for s in sets), "of": len(sets)}


def findings_counts(rows: Rows) -> Findings:
    """Compare every count, in the units that the step sizes fit."""
    for (kind, units), part in rows.by("kind", "units").items():
        claim, count, of = f"{units}, {COUNTED[kind]}", *map(sum, map(part.values, COUNT))
        if units == UNITS[0]:
            yield counted(claim, count, of, *COUNTS[kind])
        else:
            yield shown(claim, count / of, note=f"{count} of {of}")


COUNT = ("converged", "of")


def draw_counts(rows: Rows) -> Figure:
    """Draw the shares, the paper's next to ours."""

    def share(part: Rows) -> MeanEstimate:
        count, of = map(sum, map(part.values, COUNT))
        each = mean_share([row["converged"] / row["of"] for row in part])
        return MeanEstimate(count / of, each, of)

    paper = [MeanEstimate(count / of, None, of) for count, of in COUNTS.values()]
    groups = {"paper (no interval: runs by platform are not printed)": paper} | {
        UNIT_NAMES[units]: [share(rows.where(kind=kind, units=units)) for kind in COUNTS]
        for units in UNITS
    }
    ticks = (
        "40 nodes,\nstep sizes of 20 nodes", "40 nodes,\nsmaller step",
        f"5 to 20 nodes, naive,\nwithin {SOON} iterations",
    )  # fmt: skip
    return draw_shares(groups, ticks, "share of runs that converge, over platforms")


# The order of updates

ORDERED = ((20, 5), (40, 5), (100, 5), (500, 15))
LARGE = 10  # platforms of 500 nodes
READINGS = {  # order of updates, dual steps
    "waves, stable": ("waves", "stable"),
    "at once, printed": ("equations", "printed"),
    "waves, printed": ("waves", "printed"),
    "at once, stable": ("equations", "stable"),
}
JUDGED = [*READINGS][:2]  # what Sec. 7.3 derives, and what the equations print


def cells_order(seeds: int) -> list[Cell]:
    """Return every platform in all four readings."""
    return [
        c
        for order, dual_step in READINGS.values()
        for size in ORDERED
        for n in [seeds if size[0] < 500 else min(seeds, LARGE)]
        for c in platforms([size], n, order=[order], dual_step=[dual_step])
        if c["units"] == UNITS[0]
    ]


def _by_reading(rows: Rows) -> dict[str, dict[int, Rows]]:
    return {
        name: rows.where(order=order, dual_step=dual_step).by("nodes")
        for name, (order, dual_step) in READINGS.items()
    }


def findings_order(rows: Rows) -> Findings:
    """Compare with Table 2: a reading could be the paper's where it converges as often."""
    for name, sizes in _by_reading(rows).items():
        for nodes, part in sizes.items():
            best = BestSteps.of(part)
            paper = TABLE2[nodes, part[0]["degree"]] if name in JUDGED else None
            note = f"all 16 sets: {best.all} of {best.runs} runs"
            yield best_count(part, paper, f"{name}, {nodes} nodes: share converged", note)


def draw_order(rows: Rows) -> Figure:
    """Draw the shares by size, a bar per reading."""
    groups = {"paper": [MeanEstimate.share(TABLE2[size], PLATFORMS) for size in ORDERED]}
    for name, sizes in _by_reading(rows).items():
        groups[f"here, {name}"] = [BestSteps.of(part).share for part in sizes.values()]
    ticks = [f"{nodes}, {degree}" for nodes, degree in ORDERED]
    return draw_shares(groups, ticks, "share of platforms that converge, best set", SIZE)


# Fig. 7

MEAN_500 = (373, 531)  # the paper's 95 % interval of the mean at 500 nodes
COLOURED = ("medianprops", "boxprops", "whiskerprops", "capprops")
ALGORITHMS, MIXES = ("naive", "adaptive"), ("homogeneous", "heterogeneous")


def run_7(cell: Cell, _limit: float) -> Row:
    """Run one algorithm with its best set."""
    inst = platform(cell, cell["mix"])
    sizes = BEST_NAIVE if cell["algorithm"] == "naive" else BEST_ADAPTIVE[cell["nodes"]]
    _, found = negotiate(inst, cell["algorithm"], optimum(inst)[0], **sizes)
    return {"converged": found.converged, "first": found.first_for_good, "margin": found.margin}


def times(rows: Rows, **of: Any) -> list[int]:
    """Return the times of those that converge."""
    return sorted(row["first"] for row in rows.where(**of) if row["converged"])


def findings_7(rows: Rows) -> Findings:
    """Compare: which converge, how long it takes by size, and next to the naive algorithm."""
    first = rows.where(units=UNITS[0])
    sizes = [n for n, _ in ORDERED]
    smallest, largest = (
        times(first, algorithm="adaptive", mix="heterogeneous", nodes=n)
        for n in (sizes[0], sizes[-1])
    )
    yield about("adaptive, heterogeneous, 500 nodes: mean iteration",
                MeanEstimate.of(largest, nothing=None) if largest else None, MEAN_500)  # fmt: skip
    yield effect("adaptive, heterogeneous: iterations at 500 nodes less those at 20",
                 apart(largest, smallest), unit="iterations")  # fmt: skip
    for n in sizes:
        naive = first.where(algorithm="naive", mix="heterogeneous", nodes=n)
        claim = f"naive, heterogeneous, {n} nodes: platforms that converge"
        yield counted(claim, len(times(naive)), len(naive), 0, len(naive))
    for n in sizes:
        here = first.where(mix="homogeneous", nodes=n)
        both = (times(here, algorithm=a) for a in ("adaptive", "naive"))
        claim = f"homogeneous, {n} nodes: iterations of the adaptive algorithm less the naive one's"
        yield effect(claim, apart(*both), sign=-1, unit="iterations")
    adaptive = rows.where(algorithm="adaptive")
    for (units, mix, n), part in adaptive.by("units", "mix", "nodes").items():
        done = times(part)
        mean = MeanEstimate.of(done, nothing=None) if done else None
        found = shown(f"{units}, adaptive, {mix}, {n} nodes: mean iteration", mean,
                      note=f"{len(done)} of {len(part)} converge")  # fmt: skip
        yield replace(found, count=len(done))


def draw_7(rows: Rows) -> Figure:
    """Draw boxes of times: a row per algorithm, a column per mix, a colour per reading."""
    figure = new_figure(8.4, 6.0)
    axes = figure.subplots(2, 2, sharex=True)
    for axis, (algorithm, mix) in zip(axes.flat, product(ALGORITHMS, MIXES), strict=True):
        here = rows.where(algorithm=algorithm, mix=mix)
        for k, units in enumerate(UNITS):
            axis.plot([], [], "s", color=COLOURS[k], label=UNIT_NAMES[units])
            for at, (nodes, _) in enumerate(ORDERED):
                mine = times(here, units=units, nodes=nodes)
                if mine:
                    axis.boxplot(
                        mine, positions=[at + 0.35 * k], widths=0.3,
                        **{part: {"color": COLOURS[k]} for part in COLOURED},
                        flierprops={"markeredgecolor": COLOURS[k], "markersize": 3},
                    )  # fmt: skip
        if (algorithm, mix) == ("adaptive", "heterogeneous"):
            axis.vlines(len(ORDERED) - 0.3, *MEAN_500, color="black", linewidth=3, label="paper")
        if not times(here):
            axis.text(0.5, 0.5, "none converges", ha="center", transform=axis.transAxes)
        axis.set_xticks([i + 0.17 for i in range(len(ORDERED))], [str(n) for n, _ in ORDERED])
        axis.set_xlim(-0.5, len(ORDERED))
        axis.set_ylim(0, ITERATIONS)
        axis.set_title(f"{algorithm}, {mix}", fontsize=9)
        finish(axis, grid="y")
    for axis in axes[:, 0]:
        axis.set_ylabel("iterations")
    for axis in axes[-1]:
        axis.set_xlabel("nodes")
    legend(figure, axes[1, 1])
    return figure


# Fig. 8

NODES = 100
LEAVE, LATER = 140, 1500  # iterations until they leave: the paper's, and when sec6.2 is there
SHOWN = 260  # iterations after that, in the picture
WORKS = 0.01  # of its speed, from which a node computes
BACK, COMPUTE = 50, 0.15  # iterations until it is back; share of the nodes that compute


def run_8(cell: Cell, _limit: float) -> Row:
    """Remove all nodes that compute, but for masters and the nodes between them."""
    inst = platform(cell, "heterogeneous")
    steps = Steps.model_validate({"algorithm": "adaptive", **BEST_ADAPTIVE[NODES]})
    negotiation = Negotiation(inst, steps)
    first, _ = negotiation.run(cell["leave"])
    before, rates = optimum(inst)
    computing = in_use(inst, rates) >= WORKS
    staying = between(inst)
    leaving = [n for n in np.flatnonzero(computing).tolist() if n not in staying]
    after = without(inst, nodes=leaving)
    negotiation.adapt(after)
    second, _ = negotiation.run(ITERATIONS)
    optima = [before, optimum(after)[0]]
    back = convergence(second, optima[1])
    seen = np.concatenate((first[-LEAVE:], second[:SHOWN]))
    return {
        "optima": optima,
        "computing": int(computing.sum()),
        "left": len(leaving),
        "back": back.first_for_good if back.converged else None,
        "was_there": convergence(first, before, check=1).converged,
        "series": [float(x) if np.isfinite(x) else None for x in seen],
    }


def in_use(inst: BotInstance, schedule: BotSchedule) -> Floats:
    """Return how much of its speed every node uses, shape (N,)."""
    used = np.zeros(len(inst.speed))
    for node, app, rate in schedule.rates:
        used[node] += rate * inst.applications[app].flop / inst.speed[node]
    return used


def between(inst: BotInstance) -> set[int]:
    """Return the masters, and the nodes on the routes from one to another."""
    parent = {link.b: link.a for link in inst.links}

    def upwards(node: int) -> list[int]:
        way = [node]
        while way[-1] in parent:
            way.append(parent[way[-1]])
        return way

    ways = [upwards(app.master) for app in inst.applications]
    common = set(ways[0]).intersection(*ways[1:])
    last = max(common, key=lambda n: len(upwards(n)))  # where all routes have met
    return {last}.union(*(set(way) - common for way in ways))


def findings_8(rows: Rows) -> Findings:
    """Compare: the nodes that compute, the new optimum, and when it is reached."""
    others: list[Finding] = []
    for (leave, units), part in rows.by("leave", "units").items():
        where, runs = f"{units}, they leave at {leave}", len(part)
        back = sorted(x for x in part.values("back") if x is not None)
        share = MeanEstimate.of([x / NODES for x in part.values("computing")], nothing=None)
        note = f"{len(back)} of {runs} come back"
        claims: list[tuple[str, MeanEstimate | None, float, str]] = [
            (f"{where}: share of the nodes that compute", share, COMPUTE, ""),
            (
                f"{where}: median iteration at which it is back",
                MeanEstimate.median(back),
                BACK,
                note,
            ),
        ]
        if (leave, units) != (LEAVE, UNITS[0]):
            others += [shown(claim, x, note=why) for claim, x, _, why in claims]
            continue
        for claim, x, paper, why in claims:
            yield about(claim, x, paper, note=why)
        falls = MeanEstimate.of([after - before for before, after in part.values("optima")])
        there = sum(part.values("was_there"))
        yield effect(f"{where}: the optimum falls", falls, sign=-1, unit="")
        yield counted(f"{where}: had converged when they left", there, runs, 1, 1)
        yield counted(f"{where}: platforms that come back", len(back), runs, 1, 1)
    yield from others
    yield (
        "the units of Sec. 6.5, which the step sizes fit, make nearly all nodes compute; with "
        "those of Sec. 6.2 fewer compute, but it has not converged at iteration 140: nothing "
        "satisfies all that is printed"
    )


def draw_8(rows: Rows) -> Figure:
    """Draw the objective of one platform per reading, with both tubes."""
    from optsched.families.bot.pictures import draw_tube

    readings = rows.by("leave", "units")
    figure = new_figure(5.2 * len(UNITS), 3.4 * len(readings) / len(UNITS))
    panels = np.ravel(figure.subplots(len(readings) // len(UNITS), len(UNITS)))
    for axis, ((leave, units), part) in zip(panels, readings.items(), strict=True):
        example = part[0]
        series = np.array([np.nan if x is None else x for x in example["series"]])
        before, after = example["optima"]
        parts = [(1, LEAVE, before), (LEAVE, LEAVE + SHOWN, after)]
        draw_tube(axis, {"adaptive": series}, parts, "objective (sum of ln(tasks / s))")
        axis.axvline(LEAVE + BACK, color="black", linewidth=0.8, linestyle=":")
        axis.set_title(
            f"{UNIT_NAMES[units]},\nthey leave at iteration {leave} (platform {example['seed']})",
            fontsize=9,
        )
        axis.set_xlabel("iteration (they leave at 140; dotted: the paper is back)")
        if leave != LEAVE:
            axis.set_xlabel(f"iteration less {leave - LEAVE}")
    return figure


EXPERIMENTS = described(
    "bot",
    tab1=(
        partial(platforms, TABLE1), run_naive, partial(findings_table, paper=TABLE1),
        partial(draw_table, paper=TABLE1, kind="naive, homogeneous"),
    ),
    tab2=(
        partial(platforms, TABLE2), run_adaptive, partial(findings_table, paper=TABLE2),
        partial(draw_table, paper=TABLE2, kind="adaptive, heterogeneous"),
    ),
    **{
        "naive-heterogeneous": (
            partial(platforms, [(20, 5)], grid=GRIDS),
            run_hopeless, findings_hopeless, draw_hopeless,
        )
    },
    fig4=(partial(platforms, [(20, 5)]), run_naive, findings_4, draw_variance),
    fig5=(
        partial(platforms, [(20, 5)], factor=PROJECTIONS), run_5, findings_5, draw_5,
    ),
    fig6=(
        partial(platforms, [(500, 15)], dual_step=(STABLE, PRINTED)),
        run_adaptive, findings_6, draw_variance,
    ),
    ablation=(
        partial(platforms, [(20, 5)], without=WITHOUT),
        run_without, findings_without, draw_without,
    ),
    counts=(cells_counts, run_counts, findings_counts, draw_counts),
    order=(cells_order, run_adaptive, findings_order, draw_order),
    fig7=(partial(platforms, ORDERED, algorithm=ALGORITHMS, mix=MIXES), run_7, findings_7, draw_7),
    fig8=(
        partial(platforms, [(NODES, 5)], leave=(LEAVE, LATER)), run_8, findings_8, draw_8,
    ),
)  # fmt: skip
