"""Figures of Yu's thesis on PD-ORS, family `dmlrs`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.core import simulate, solve
from optsched.drawing import COLOURS, finish, new_figure
from optsched.families.dmlrs.oracle.request import requests
from optsched.families.dmlrs.oracle.schedule import Oracle
from optsched.families.dmlrs.policies.rounding import (
    PlacementRelaxation,
    SlotProblem,
    round_until_feasible,
)
from optsched.families.dmlrs.sources.presets import generate
from optsched.numbers.streams import Streams
from optsched.papers.estimate import MeanEstimate, differences, lead
from optsched.papers.experiment import (
    Cell,
    Findings,
    Row,
    Rows,
    curve,
    described,
    fresh,
    grid,
    line,
)
from optsched.papers.verdict import Finding, about, effect, shown, within
from optsched.problem import get_family
from optsched.scheduling.oracle.schedule import PricedMachines

LABELS = {
    "pd-ors": "PD-ORS",
    "oasis": "OASiS",
    "colocate": "first machine with room",
    "value": "best schedule known",
    "bound": "certified bound",
}


def compared(cell: Cell, time_limit: float, policies: Sequence[str], **sizes: Any) -> Row:
    """Run policies on an instance, and find the optimum with hindsight, at least and at most."""
    instance = get_family("dmlrs").generate("paper", seed=cell["seed"], **sizes)
    earned: Row = {p: simulate(instance, p, seed=cell["seed"]).value for p in policies}
    found = solve(instance, time_limit=time_limit, seed=cell["seed"])
    known = {"value": found.value or 0.0, "bound": found.bound, "bound_level": found.bound_level}
    return earned | known


def lines(axis: Axes, rows: Rows, x: str, label: str, title: str, names: Sequence[str]) -> None:
    """Draw a line of utilities with its interval for every name."""
    for k, name in enumerate(names):
        style = {"value": "--", "bound": ":", "colocate": "s:"}.get(name, "o-")
        curve(axis, rows, x, name, COLOURS[k], LABELS[name], style)
    axis.set_ylim(bottom=0)
    axis.set_title(title, fontsize=9)
    finish(axis, label, "total utility (mean, 95 % interval)", legend=8)


# Fig. 3.11

JOBS = (5, 10, 15, 20, 30)
CLAIMED, AT = 7.0, 15  # times OASiS, at this many jobs
READINGS: dict[str, dict[str, Any]] = {  # of g in [50, 100], which has no unit, and of a slot
    "Mbit, slots of 5 min": {"g_unit": "Mbit", "slot_seconds": 300.0},
    "Mbit, slots of 1 h": {"g_unit": "Mbit", "slot_seconds": 3600.0},
    "MB, slots of 5 min": {"g_unit": "MB", "slot_seconds": 300.0},
}
FIRST = next(iter(READINGS))
ONLINE = ("pd-ors", "oasis", "colocate")
SAME = 0.02  # relative difference below which co-location does as well


def cells_11(seeds: int) -> list[Cell]:
    """Return one cell per reading and instance; all numbers of jobs in the first reading."""
    return [
        cell
        for reading in READINGS
        for cell in grid(reading=[reading], jobs=JOBS if reading == FIRST else (AT,),
                         seed=fresh(seeds))
    ]  # fmt: skip


def run_11(cell: Cell, time_limit: float) -> Row:
    """Run all online, and find the optimum with hindsight."""
    return compared(cell, time_limit, ONLINE, jobs=cell["jobs"], slots=100, machines=30,
                    **READINGS[cell["reading"]])  # fmt: skip


def findings_11(rows: Rows) -> Findings:
    """Compare with the thesis: more than 7 times as much at 15 jobs, whatever the unit."""
    extra, same = [], []
    for (reading, jobs), part in rows.by("reading", "jobs").items():
        where, ours = f"{reading}, {jobs} jobs", part.values("pd-ors")
        claim = f"{where}: PD-ORS's utility over OASiS's"
        more, simple, bound = (lead(ours, part.values(n)) for n in ("oasis", "colocate", "bound"))
        if jobs == AT:
            note = f"more than {CLAIMED:g} times is at least {CLAIMED - 1:+.0%}"
            yield effect(claim, more, paper=CLAIMED - 1, at_least=True, note=note)
        else:
            extra.append(shown(claim, more, unit="%"))
        extra.append(shown(f"{where}: over co-location on the first machine", simple, unit="%"))
        extra.append(shown(f"{where}: over the certified bound", bound, unit="%"))
        if simple is not None and abs(simple.mean) <= SAME:
            same.append(where)
    yield from extra
    if same:
        yield f"cannot tell policies apart, co-location does as well: {'; '.join(same)}"


def draw_11(rows: Rows) -> Figure:
    """Draw utilities against the number of jobs, and how many times OASiS's by reading."""
    figure = new_figure(9.6, 4.2)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    label = "number of jobs (30 machines, 100 slots)"
    lines(left, rows.where(reading=FIRST), "jobs", label, FIRST, (*ONLINE, "value", "bound"))
    for x, reading in enumerate(READINGS):
        at = rows.where(reading=reading, jobs=AT)
        more = lead(at.values("pd-ors"), at.values("oasis"))
        if more is not None:
            right.plot(x, more.mean + 1, "o", color="black")
            if more.interval is not None:
                right.vlines(x, *(e + 1 for e in more.interval), color="black")
    right.axhline(CLAIMED, color="black", linestyle=":", label="the thesis: more than 7")
    right.set_yscale("log")
    right.set_xticks(range(len(READINGS)), [r.replace(", ", ",\n") for r in READINGS], fontsize=8)
    right.set_xlim(-0.5, len(READINGS) - 0.5)
    right.set_ylabel(f"PD-ORS / OASiS at {AT} jobs (95 % interval)")
    right.legend(frameon=False, fontsize=8, loc="upper left")
    return figure


# Fig. 3.12

RATIOS = (1, 2, 5, 10, 20, 30, 40, 60)
HELD = {"outer": "outer rate held", "inner": "inner rate held"}  # the verdict is about the first


def run_12(cell: Cell, time_limit: float) -> Row:
    """Run PD-ORS, and find the optimum with hindsight."""
    return compared(
        cell, time_limit, ("pd-ors",), jobs=15, slots=50, machines=20, ratio=cell["ratio"],
        held=cell["held"], g_unit="Mbit", slot_seconds=60.0, completable=False,
    )  # fmt: skip


def findings_12(rows: Rows) -> Findings:
    """Compare with the thesis: it rises, and less above a ratio of 30."""

    def slope(held: str, low: int, high: int) -> list[float]:
        """Return the rise per unit of the ratio, instance by instance."""
        ends = (rows.where(held=held, ratio=r).values("pd-ors") for r in (high, low))
        return [more / (high - low) for more in differences(*ends)]

    unit = "per unit of the ratio"
    before, after = slope("outer", 1, 30), slope("outer", 30, 60)
    less = MeanEstimate.of(differences(after, before))
    yield effect("utility rises up to a ratio of 30", MeanEstimate.of(before), unit=unit)
    yield effect("and from 30 to 60", MeanEstimate.of(after), unit=unit)
    yield effect("by less above 30 than below", less, sign=-1, unit=unit)
    yield shown("inner rate held: slope from 1 to 60", MeanEstimate.of(slope("inner", 1, 60)))
    yield "with the inner rate held a larger ratio means slower links, and utility falls"


def draw_12(rows: Rows) -> Figure:
    """Draw a panel for each rate that is held."""
    figure, held = new_figure(9.6, 4.0), rows.by("held")
    for axis, (name, part) in zip(figure.subplots(1, len(held)), held.items(), strict=True):
        names = ("pd-ors", "value", "bound")
        lines(axis, part, "ratio", "inner rate / outer rate", HELD[name], names)
    return figure


# Figs. 3.13, 3.14: queries to Algorithm 4, for one job in one slot, part of the machines in use

GAINS = (1.0, 1.002, 1.004, 1.006, 1.008, 1.01, 1.1, 1.5)
MOST_GAIN = 1.01  # of the thesis
LOADS = (0.0, 0.5, 1.0)  # machines are used up to this share, each at random
QUERIES = 30  # jobs per instance, with a third of their workers and with all
MOST_ROUNDS = 5000
SPAN = 8.0  # ln of the price of a full machine over that of an empty one


def cells_13(seeds: int) -> list[Cell]:
    """Return one cell per gain, load and instance."""
    return grid(gain=GAINS, load=LOADS, seed=fresh(seeds))


def run_13(cell: Cell, _time_limit: float) -> Row:
    """Round the relaxation of every query; compare with the exact placements."""
    inst = generate("paper", seed=cell["seed"], jobs=QUERIES, slots=100, machines=50)
    streams = Streams(cell["seed"])
    used = streams("use of machines").random((len(inst.capacity), 1)) * cell["load"]
    free = np.floor(inst.arrays.capacity * (1 - used)).T[None].copy()  # (1, R, H)
    whole = np.maximum(inst.arrays.capacity.astype(float), 1.0).T
    price = np.exp(SPAN * np.broadcast_to(used.T, whole.shape))[None] / whole[None]
    cluster = PricedMachines(
        np.ascontiguousarray(price), free, np.ones(len(inst.capacity), np.int64)
    )
    oracle = Oracle(1, len(inst.capacity), max(job.chunks for job in inst.jobs))
    rounds: list[int] = []
    outer: list[float] = []
    both: list[float] = []
    failed = 0
    for i, request in enumerate(requests(inst)):
        worker, ps = (price[0].T @ d for d in (request.worker_demand, request.ps_demand))
        demands = request.worker_demand, request.ps_demand
        problem = SlotProblem(worker, ps, free[0], *demands, request.ps_inner, request.ps_outer)
        relaxation = PlacementRelaxation(problem)
        most = inst.jobs[i].chunks
        for n in sorted({max(1, most // 3), most}):
            exact = _cost(oracle.slot(request, cluster, 0, 2 * n + 1), worker, ps)
            fractional = relaxation.solve(n)
            if exact is None or fractional is None:
                continue
            rng = streams(f"rounding {cell['gain']} {cell['load']} {n}", i)
            found = round_until_feasible(problem, fractional, n, cell["gain"], MOST_ROUNDS, rng)
            if isinstance(found, int):
                failed += 1
                rounds.append(MOST_ROUNDS)
                continue
            cost = problem.cost(found[0], found[1])
            rounds.append(found[2])
            outer.append(cost / exact)
            enough = -(-min(request.work, n * request.outer) // request.inner)
            inner = _cost(oracle.slot(request, cluster, 0, 2 * int(enough)), worker, ps)
            cheap = float("inf") if inner is None else inner
            both.append(min(cost, cheap) / min(exact, cheap))
    return {"asked": len(rounds), "failed": failed, "rounds": rounds, "outer": outer, "both": both}


def _cost(rows: Any, worker: Any, ps: Any) -> float | None:
    """Return the price of a placement; None if there is none."""
    if not len(rows):
        return None
    machine, workers, servers = rows.T
    return float(workers @ worker[machine] + servers @ ps[machine])


BEST_GAIN, FEWEST, MOST = 1.006, 570, 1000  # the thesis's
JUDGED = 0.5  # the load of the verdict
CAPPED = f"at most {MOST_ROUNDS}"


def success(part: Rows) -> MeanEstimate:
    """Return the share of queries that are ever rounded."""
    each = [1 - row["failed"] / max(row["asked"], 1) for row in part]
    return MeanEstimate.of(each)


def mean_rounds(part: Rows) -> list[float]:
    """Return the mean number of roundings by instance; a failure counts as the limit."""
    return [float(np.mean(x)) if x else 0.0 for x in part.values("rounds")]


def findings_13(rows: Rows) -> Findings:
    """Compare with the thesis: fewest roundings, 570, at G = 1.006."""
    at = {gain: mean_rounds(part) for gain, part in rows.where(load=JUDGED).by("gain").items()}
    worst = max((g for g in at if g <= MOST_GAIN), key=lambda g: sum(at[g]))

    def more(one: float, two: float) -> MeanEstimate:
        return MeanEstimate.of(differences(at[two], at[one]))

    unit = "roundings"
    yield effect("fewer roundings at G = 1.006 than at 1", more(1.0, BEST_GAIN), sign=-1, unit=unit)
    yield effect("more at 1.01 than at 1.006", more(BEST_GAIN, MOST_GAIN), unit=unit)
    yield about(
        "mean at G = 1.006", MeanEstimate.of(at[BEST_GAIN], nothing=None), FEWEST, unit=unit
    )
    yield within(f"mean at the worst G up to 1.01, {worst:g}",
                 MeanEstimate.of(at[worst], nothing=None), high=MOST, unit=unit)  # fmt: skip
    for (load, gain), part in rows.by("load", "gain").items():
        if gain in (BEST_GAIN, 1.5):
            all_ = [r for of in part.values("rounds") for r in of]
            claim = (
                f"in use up to {load:.0%}, G = {gain:g}: share that is ever rounded within "
                f"{MOST_ROUNDS}"
            )
            note = f"median {np.median(all_) if all_ else 0.0:g} roundings"
            yield shown(claim, success(part), note=note)
    yield (
        "a query either succeeds at once or nearly never: a number that must be rounded down on a "
        "full machine stays short of its total, whatever G up to 1.01; so means hang on the limit"
    )


def draw_13(rows: Rows) -> Figure:
    """Draw success rate and capped mean against the gain."""
    figure = new_figure(9.6, 4.0)
    left, right = figure.subplots(1, 2)
    for k, load in enumerate(LOADS):
        gains, name = rows.where(load=load).by("gain"), f"machines in use up to {load:.0%}"
        x = [*map(str, gains)]
        line(left, x, [success(part) for part in gains.values()], COLOURS[k], name)
        rounds = [MeanEstimate.of(mean_rounds(part)) for part in gains.values()]
        line(right, x, rounds, COLOURS[k], name)
    right.axhline(FEWEST, color="black", linestyle=":", label="the thesis: 570 at G = 1.006")
    for axis in (left, right):
        axis.set_ylim(bottom=0)
    finish(left, "gain G", f"share rounded within {MOST_ROUNDS} (95 % interval)")
    finish(right, "gain G", f"roundings (mean, {CAPPED}; 95 % interval)", legend=8)
    return figure


RATIO = 1.0025  # the thesis's
OUTER = "outer"  # judged: what Algorithm 4 rounds
KINDS = {OUTER: "outer placements alone", "both": "with placements on one machine"}


def findings_14(rows: Rows) -> Findings:
    """Compare with the thesis: at most 1.0025 for G from 1 to 1.01, where rounding decides."""
    extra: list[Finding] = []
    for (kind, name), load in product(KINDS.items(), LOADS):
        each = {
            gain: [float(np.mean(x)) for x in part.values(kind) if x]
            for gain, part in rows.where(load=load).by("gain").items()
            if gain <= MOST_GAIN and any(part.values(kind))
        }
        if not each:
            continue
        gain = max(each, key=lambda g: MeanEstimate.of(each[g]).mean)
        mean = MeanEstimate.of(each[gain], nothing=1.0)
        worst = max(r for of in rows.where(load=load, gain=gain).values(kind) for r in of)
        claim = f"{name}, in use up to {load:.0%}: mean ratio at the worst G, {gain:g}"
        note = f"worst query {worst:.3f}"
        if kind == OUTER:
            note += "; below 1 where the rounding lands on one machine" * (mean.mean < 1)
            yield within(claim, mean, high=RATIO, note=note)
        else:
            note += "; vacuous: nothing of what is rounded is taken" * mean.same
            extra.append(shown(claim, mean, paper=RATIO, note=note))
    yield from extra
    yield (
        "where one machine can do the work it is cheapest at a ratio of 40, which makes the ratio "
        "with such placements 1 whatever is rounded"
    )


def draw_14(rows: Rows) -> Figure:
    """Draw the mean ratio against the gain, a panel per kind."""
    figure = new_figure(9.6, 4.0)
    for axis, (kind, title) in zip(figure.subplots(1, len(KINDS)), KINDS.items(), strict=True):
        for k, load in enumerate(LOADS):
            each = {
                str(gain): MeanEstimate.of([float(np.mean(x)) for x in part.values(kind) if x])
                for gain, part in rows.where(load=load).by("gain").items()
                if any(part.values(kind))
            }
            label = f"machines in use up to {load:.0%}"
            line(axis, [*each], [*each.values()], COLOURS[k], label)
        axis.axhline(1.0, color="black", linewidth=0.8)
        axis.axhline(RATIO, color="black", linestyle=":", label="the thesis: 1.0025")
        axis.set_title(title, fontsize=9)
        finish(axis, "gain G", "cost / exact cost (mean, 95 % interval)", legend=8)
    return figure


EXPERIMENTS = described(
    "dmlrs",
    **{
        "fig3.11": (cells_11, run_11, findings_11, draw_11),
        "fig3.12": (
            lambda n: grid(held=HELD, ratio=RATIOS, seed=fresh(n)),
            run_12,
            findings_12,
            draw_12,
        ),
        "fig3.13": (cells_13, run_13, findings_13, draw_13),
        "fig3.14": (cells_13, run_13, findings_14, draw_14),
    },
)
