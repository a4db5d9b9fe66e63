"""Figures and Table III of Zhao et al., family `bipartite`, and the growth of the regret.

OGASched decides before it sees the jobs of a slot, the baselines after (and, as in the published
code, OGASched after it has stepped on them). So next to the rewards are those of the best single
decision earns (stationary) and what the best decision of every slot earns (the optimum), both
certified. A set whose best baseline reaches 99 % of the optimum cannot tell policies apart, and is
flagged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.core import Run, simulate, solve
from optsched.drawing import COLOURS, finish, legend, new_figure
from optsched.families.bipartite.instance import Slot
from optsched.families.bipartite.online import events
from optsched.families.bipartite.optimum.decision import Solver
from optsched.families.bipartite.pictures import bars, split
from optsched.families.bipartite.policies.baselines import BinPacking, Spreading
from optsched.families.bipartite.policies.paper import KNOWLEDGE, OgaSched, regret_guarantee
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.papers.estimate import MeanEstimate, differences, lead
from optsched.papers.experiment import Cell, Findings, Row, Rows, described, fresh, line, whisker
from optsched.papers.verdict import Finding, counted, effect, shown, untestable, within
from optsched.policies.loader import get_policy
from optsched.problem import Information, Instance, Policy, get_family

OURS = "ogasched"  # with the paper's step, eta 25 and decay 0.9999
THEORY = "ogasched-theory"
PUBLISHED = "ogasched-published"
BASELINES = ("drf", "fairness", "binpacking", "spreading")
PRINTED = "fairness-printed"
HALVES = ("binpacking-half", "spreading-half")
SCHEMES = (OURS, PUBLISHED, THEORY, *BASELINES, PRINTED, *HALVES)
LABELS = {
    OURS: "OGASched",
    PUBLISHED: "OGASched, order of the published code",
    THEORY: "OGASched, step of the theory",
    "drf": "DRF",
    "fairness": "Fairness",
    PRINTED: "Fairness, as printed",
    "binpacking": "BinPacking",
    "spreading": "Spreading",
    "binpacking-half": "BinPacking, half of the machines",
    "spreading-half": "Spreading, half of the machines",
    "stationary": "best stationary",
    "optimum": "best of every slot",
}
SHORT = LABELS | {PUBLISHED: "OGASched (code)"}
DRAWN = (OURS, "fairness", "drf", "spreading", "binpacking", PUBLISHED, "stationary", "optimum")
COLOUR = {
    name: COLOURS[k]
    for k, name in enumerate(
        (OURS, "drf", "fairness", "binpacking", "spreading", THEORY, PRINTED, "optimum")
    )
} | {"stationary": "#999933", PUBLISHED: "#332288"}
REFERENCES = {"stationary": "stationary", "optimum": "auto"}  # methods that find them
NEAR = 0.99  # share of the optimum from which an instance set shows nothing
NO_DIFFERENCE = f"cannot tell policies apart: a baseline has {NEAR:.0%} of the optimum"
NO_UNITS = "the units of the contention are not printed, and nothing is scarce here"
REWARD = "mean reward of a slot (95 % interval)"


class Published(OgaSched):
    """The order of the published code: a step on the jobs of a slot, then these are served."""

    information: Information = "after"

    def __init__(self) -> None:
        super().__init__()
        self.name = PUBLISHED

    def step(self, event: Slot) -> Floats:
        """Learn from the jobs of this slot; return the decision for it."""
        self._learn(event.jobs)
        return self._live.spread(self._y)


MADE: Mapping[str, Callable[[], Policy]] = {
    PUBLISHED: Published,
    "binpacking-half": lambda: BinPacking(share=0.5),
    "spreading-half": lambda: Spreading(share=0.5),
}


def policy(scheme: str) -> Policy | str:
    """Return the policy of a scheme, or its name if the family knows it by that."""
    return MADE[scheme]() if scheme in MADE else scheme


def cells(
    seeds: int,
    settings: Mapping[tuple[str, Any], dict[str, Any]],
    *,
    preset: str = "paper",
    **usual: Any,
) -> list[Cell]:
    """Return a cell per instance: by panel and label, settings of the generator."""
    return [
        {"panel": panel, "label": label, "preset": preset, "changes": usual | changes, "seed": seed}
        for (panel, label), changes in settings.items()
        for seed in fresh(seeds)
    ]


def sweep(panel: str, setting: str, values: Sequence[Any]) -> dict[tuple[str, Any], dict[str, Any]]:
    """Return the settings of a panel that sweeps one of them."""
    return {(panel, x): {setting: x} for x in values}


def instance(of: Cell) -> Any:
    """Return the instance of a cell."""
    made: Instance = get_family("bipartite").generate(
        of["preset"], seed=of["seed"], **of["changes"]
    )
    return made


def run(of: Cell, time_limit: float) -> Row:
    """Run all schemes on the instance of a cell, and find both references; rewards per slot."""
    return compared(of, time_limit)[0]


def compared(
    of: Cell, time_limit: float, references: Mapping[str, str] = REFERENCES
) -> tuple[Row, dict[str, Run]]:
    """Return the mean reward of a slot of every run, and of the references, with their bounds."""
    inst = instance(of)
    runs = {name: simulate(inst, policy(name)) for name in SCHEMES}
    rewards = {name: found.value / inst.horizon for name, found in runs.items()}
    row: Row = {
        "rewards": rewards,
        "seconds": {name: found.seconds for name, found in runs.items()},
    }
    for name, method in references.items():
        found = solve(inst, method=method, time_limit=time_limit)
        if found.value is not None and found.bound is not None:
            rewards[name] = found.value / inst.horizon
            row[f"{name}_bound"] = found.bound / inst.horizon
            row[f"{name}_level"] = str(found.bound_level)
    return row, runs


def earned(rows: Rows, name: str) -> list[float]:
    """Return the rewards of a scheme, instance by instance."""
    return rows.values("rewards", name)


def over(rows: Rows, baseline: str, *, ours: str = OURS) -> MeanEstimate | None:
    """Return the lead of OGASched over a baseline, relatively."""
    return lead(earned(rows, ours), earned(rows, baseline))


def more(one: Rows, other: Rows, name: str = OURS, than: str | None = None) -> MeanEstimate:
    """Return by how much a reward in one setting is above that in another, paired by seed."""
    return MeanEstimate.of(differences(earned(one, name), earned(other, than or name)))


def flagged(rows: Rows) -> str:
    """Return why a set cannot tell policies apart; "" if it can."""
    if not all("optimum" in row["rewards"] for row in rows):
        return ""
    best = max(rows.mean("rewards", b).mean for b in BASELINES)
    return NO_DIFFERENCE if best > NEAR * rows.mean("rewards", "optimum").mean else ""


def ahead(rows: Rows, where: str, *, paper: float | None = None, testable: bool = True) -> Finding:
    """Judge whether OGASched is ahead of the best baseline: the other ones are behind that."""
    rival = max(BASELINES, key=lambda name: rows.mean("rewards", name).mean)
    found, unit = over(rows, rival), "%"
    if found is None:  # a share of a loss means nothing
        unit, found = "reward of a slot", more(rows, rows, OURS, rival)
    claim = f"{where}: OGASched ahead of {LABELS[rival]}"
    if not testable:
        return untestable(claim, found, _no_units(rows), unit=unit)
    return effect(claim, found, paper=paper, unit=unit, note=flagged(rows))


def _no_units(rows: Rows) -> str:
    return "; ".join(filter(None, [NO_UNITS, flagged(rows)]))


def readings(rows: Rows, where: str) -> Iterator[Finding]:
    """Return what other readings give: the published order, and half of the machines."""
    fair = f"{where}, published order: lead over Fairness"
    yield shown(fair, over(rows, "fairness", ours=PUBLISHED), unit="%")
    for name in HALVES:
        yield shown(f"{where}: lead over {LABELS[name]}", over(rows, name), unit="%")


def same_packing(rows: Rows) -> str:
    """Return whether BinPacking and Spreading can be told apart."""
    if earned(rows, "binpacking") != earned(rows, "spreading"):
        return "BinPacking and Spreading differ"
    return (
        "BinPacking and Spreading are one policy where a job may use all its machines: the order "
        "of machines then changes nothing"
    )


def draw_curves(axes: Sequence[Axes], rows: Rows) -> None:
    """Draw the mean over instances of average rewards until each slot, and of cumulative ones."""
    first: Row = rows[0]["changes"]
    x = np.array(curve([0.0] * first["slots"])[0])
    for name in filter(rows[0]["curves"].__contains__, DRAWN):
        average = np.mean(rows.values("curves", name), axis=0)
        style: dict[str, Any] = {"color": COLOUR[name], "label": LABELS[name], "linewidth": 1.2}
        style["linestyle"] = "--" if name == "binpacking" else "-"  # it may lie on Spreading
        axes[0].plot(x, average, **style)
        axes[1].plot(x, x * average, **style)
    for axis, label in zip(axes, ("average reward until t", "cumulative reward"), strict=False):
        finish(axis, "slot t", label)
    axes[0].set_xscale("log")
    axes[1].ticklabel_format(axis="y", useMathText=True)


def curve(rewards: Sequence[float], points: int = 60) -> list[list[float]]:
    """Return slots, spread evenly on a log scale, and the average reward until each."""
    total = np.cumsum(np.array(rewards))
    slots = np.unique(np.geomspace(1, len(total), points).round().astype(int))
    return [slots.tolist(), (total[slots - 1] / slots).tolist()]


def curves_of(runs: Mapping[str, Run]) -> dict[str, Any]:
    """Return the average rewards of every run, at the slots of `curve`."""
    rewards: dict[str, Any] = {name: found.schedule for name, found in runs.items()}
    return {name: curve(schedule.rewards)[1] for name, schedule in rewards.items()}


# Fig. 2

EARLY = 0.01  # of the slots: the beginning
BEGIN = ("fairness", "drf")  # which is ahead then, Fig. 2(b)
LEADS = {"drf": 0.1133, "fairness": 0.0775, "binpacking": 0.1389, "spreading": 0.1344}


def run_2(of: Cell, time_limit: float) -> Row:
    """Run all schemes; keep their curves."""
    row, runs = compared(of, time_limit)
    return row | {"curves": curves_of(runs)}


def findings_2(rows: Rows) -> Findings:
    """Compare with the paper: the leads, their growth, and the best baseline."""
    first, *others = rows.by("label").values()
    for name, paper in LEADS.items():
        yield effect(f"lead over {LABELS[name]}", over(first, name), paper=paper)
    for name in LEADS:
        if name != "fairness":
            claim = f"Fairness earns more than {LABELS[name]}, per slot"
            yield effect(claim, more(first, first, "fairness", name), unit="reward")
    horizon = first[0]["changes"]["slots"]
    half, early = np.searchsorted(curve([0.0] * horizon)[0], (horizon / 2, horizon * EARLY))
    ours = first.values("curves", OURS)
    grows = MeanEstimate.of([each[-1] - each[half] for each in ours])
    yield effect("average reward at T less that at T / 2", grows, unit="reward")
    for name in BEGIN:
        pairs = zip(first.values("curves", name), ours, strict=True)
        edge = MeanEstimate.of([theirs[early] - mine[early] for theirs, mine in pairs])
        claim = f"in the beginning, up to slot {horizon * EARLY:g}, {LABELS[name]} is ahead"
        yield effect(claim, edge, unit="reward")
    yield from readings(first, "scale 1")
    for other in others:
        for name, paper in LEADS.items():
            claim = f"scale {other[0]['label']}: lead over {LABELS[name]}"
            yield shown(claim, over(other, name), paper=paper, unit="%")
    yield same_packing(rows)


def draw_2(rows: Rows) -> Figure:
    """Draw a row per scale: average and cumulative rewards, final leads next to the paper's."""
    scales = rows.by("label")
    figure = new_figure(13, 3.8 * len(scales))
    axes = figure.subplots(len(scales), 3, squeeze=False)
    for row, (scale, part) in zip(axes, scales.items(), strict=True):
        draw_curves(row[:2], part)
        row[0].set_title(f"capacities and requests times {scale:g}", fontsize=9)
        for x, (name, paper) in enumerate(LEADS.items()):
            ours = over(part, name)
            row[2].bar(x - 0.2, 100 * paper, 0.38, color="#BBBBBB")
            if ours is not None:
                row[2].bar(x + 0.2, 100 * ours.mean, 0.38, color=COLOUR[name])
                if ours.interval is not None:
                    row[2].vlines(x + 0.2, *(100 * e for e in ours.interval), color="black")
        row[2].set_xticks(range(len(LEADS)), [LABELS[name] for name in LEADS])
        row[2].set_title("grey: the paper", fontsize=9)
        finish(row[2], y="lead of OGASched at T (%, 95 % interval)")
    legend(figure, axes[0, 0])
    return figure


# Fig. 3

MACHINES = (32, 64, 128, 256, 512)
PORTS = (5, 10, 15, 20)
CONTENTION = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
PEAK = 1.0  # contention of the paper above which rewards fall; here nothing is scarce up to it
FIERCE = 128  # machines at which contention is fierce, in the paper's words
PANELS = {"machines": "machines", "ports": "ports (job types)", "contention": "contention"}


def findings_3(rows: Rows) -> Findings:
    """Compare with the paper: the lead, where it is largest, and what contention does."""
    points = rows.by("panel", "label")
    machines = {n: points["machines", n] for n in MACHINES}
    calm, peak, fierce = (points["contention", x] for x in (CONTENTION[0], PEAK, CONTENTION[-1]))

    def leads(part: Rows) -> list[float]:
        pairs = zip(earned(part, OURS), earned(part, "fairness"), strict=True)
        return [a / b - 1 for a, b in pairs]

    def grows(one: Rows, other: Rows) -> MeanEstimate:
        return MeanEstimate.of(differences(leads(other), leads(one)))

    def exponents(panel: str, one: float, two: float) -> list[float]:
        pairs = zip(*(earned(points[panel, x], OURS) for x in (one, two)), strict=True)
        return [math.log(b / a) / math.log(two / one) for a, b in pairs]

    yield effect("the lead over Fairness grows from 32 to 128 machines",
                 grows(machines[32], machines[FIERCE]))  # fmt: skip
    yield effect("and shrinks from 128 to 512", grows(machines[FIERCE], machines[512]), sign=-1)
    for name in (OURS, *BASELINES):
        claim = "all earn more with more machines: OGASched, 512 less 32"
        claim = claim if name == OURS else f"and {LABELS[name]}"
        yield effect(claim, more(machines[512], machines[32], name), unit="per slot")
    weaker = differences(exponents("ports", 5, 20), exponents("machines", 32, 512))
    yield effect("ports matter less than machines: exponent of the reward in either, their "
                 "difference", MeanEstimate.of(weaker), sign=-1, unit="")  # fmt: skip
    for claim, found, unit in (
        ("reward grows from contention 0.1 to 1", more(peak, calm), "per slot"),
        ("and falls from 1 to 20", more(fierce, peak), "per slot"),
        ("the lead over Fairness shrinks from contention 1 to 20", grows(peak, fierce), "%"),
    ):
        yield untestable(claim, found, NO_UNITS, unit=unit)
    for (panel, label), part in points.items():
        where = f"{label:g} {panel}".replace("contention", "times the requests")
        yield ahead(part, where, testable=panel != "contention" or label > PEAK)
    for x in CONTENTION[2:]:
        fair = over(points["contention", x], "fairness")
        yield shown(f"contention {x:g}: lead over Fairness", fair, unit="%")
    yield (
        "our contention 1 is about a tenth of the paper's, whose units are not printed: nothing is "
        "scarce below it, and the lead shrinks from 5 on"
    )
    yield same_packing(rows)


def draw_3(rows: Rows) -> Figure:
    """Draw a panel per sweep: a line per scheme and reference, with intervals."""
    panels = rows.by("panel")
    figure = new_figure(4.4 * len(panels), 4.2)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (panel, part) in zip(axes, panels.items(), strict=True):
        points = part.by("label")
        for name in filter(part[0]["rewards"].__contains__, DRAWN):
            style = {"stationary": "o--", "optimum": "o--", "binpacking": "o:"}.get(name, "o-")
            means = [of.mean("rewards", name) for of in points.values()]
            line(axis, [*points], means, COLOUR[name], LABELS[name], style)
        finish(axis, PANELS[panel])
        if panel != "ports":
            axis.set_xscale("log")
            axis.set_xticks([*points], [f"{x:g}" for x in points], fontsize=7)
            axis.minorticks_off()
    axes[0].set_ylabel(REWARD)
    legend(figure, axes[0])
    return figure


# Fig. 4

ETA = (0.1, 0.3, 1.0, 3.0, 10.0, 25.0, 50.0, 100.0)
DECAY = (0.99, 0.995, 0.999, 0.9999, 1.0, 1.0001)
BEST = ("0.995", "0.999", "0.9999")  # decays of the printed range
SETS = {  # the verdict is about the first
    "mixed": "mixed utilities",
    "log": "logarithms",
    "mixed, scale 10": "mixed utilities, all times 10",
}


def run_4(of: Cell, time_limit: float) -> Row:
    """Run every first step with the paper's decay, and every decay with the paper's first step."""
    inst = instance(of)
    best = solve(inst, method="stationary", time_limit=time_limit)
    assert best.bound is not None

    def share(**options: Any) -> float:
        assert best.value is not None
        return simulate(inst, OgaSched(**options)).value / best.value

    return {
        "eta": {str(eta): share(eta=eta) for eta in ETA},
        "decay": {str(decay): share(decay=decay) for decay in DECAY},
        "theory": {"theory": share(step="theory"), "adaptive": share(step="adaptive")},
        "stationary": best.value,
        "stationary_bound": best.bound,
    }


def findings_4(rows: Rows) -> Findings:
    """Compare with the paper: decay in 0.995 .. 0.9999 is best, 1.0001 is worse than 0.9999."""
    first = rows[0]["label"]
    extra: list[Finding] = []
    for name, part in rows.by("label").items():
        decays = {key: part.mean("decay", key).mean for key in part[0]["decay"]}
        inside = max(BEST, key=decays.__getitem__)
        outside = max((key for key in decays if key not in BEST), key=decays.__getitem__)
        for claim, one, two in (
            ("decay 0.9999 earns more than 1.0001", "0.9999", "1.0001"),
            (f"the best decay from 0.995 to 0.9999 ({inside}) earns more than any other "
             f"({outside})", inside, outside),
        ):  # fmt: skip
            less = MeanEstimate.of(differences(*(part.values("decay", key) for key in (one, two))))
            if name == first:
                yield effect(claim, less)
            else:
                extra.append(shown(f"{name}: {claim}", less, unit="%"))
    yield from extra
    of_best = "of the best stationary decision"
    for name, part in rows.by("label").items():
        for what in ("eta", "decay"):
            worst = min(part[0][what], key=lambda key: part.mean(what, key).mean)
            claim = f"{name}: reward with the worst {what} ({worst}), {of_best}"
            yield shown(claim, MeanEstimate.of(part.values(what, worst)), unit="%")
        for rule in part[0]["theory"]:
            claim = f"{name}: reward with the step {rule}, {of_best}"
            yield shown(claim, MeanEstimate.of(part.values("theory", rule)), unit="%")


def draw_4(rows: Rows) -> Figure:
    """Draw a panel per sweep, a line per instance set."""
    figure = new_figure(9, 3.8)
    axes = figure.subplots(1, 2)
    for axis, what in zip(axes, ("eta", "decay"), strict=True):
        for k, (name, part) in enumerate(rows.by("label").items()):
            means = {float(key): part.mean(what, key) for key in part[0][what]}
            line(axis, [*means], [*means.values()], COLOURS[k], SETS[name])
        axis.axhline(1, color="black", linewidth=0.8)
        finish(axis, y="reward / best stationary (95 % interval)")
    axes[0].set_xscale("log")
    axes[0].set_xlabel("first step (decay 0.9999)")
    axes[1].set_xlabel("decay (first step 25)")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


# Fig. 5

SAMPLE = 40  # slots of which the best decision is found, to estimate the optimum of all


def run_5(of: Cell, time_limit: float) -> Row:
    """Run all schemes; the optimum of every slot is estimated from some slots."""
    row, runs = compared(of, time_limit, {"stationary": REFERENCES["stationary"]})
    inst = instance(of)
    solver = Solver(inst)
    chosen = np.linspace(0, inst.horizon - 1, SAMPLE).astype(int)
    best = [solver.solve(inst.jobs[t], 1e-6).value for t in chosen]
    row["rewards"]["optimum"] = float(np.mean(best))
    return row | {"curves": curves_of(runs)}


def findings_5(rows: Rows) -> Findings:
    """Compare with the paper: OGASched is ahead of all baselines."""
    for name in BASELINES:
        yield untestable(f"lead over {LABELS[name]}", over(rows, name), _no_units(rows), unit="%")
    yield from readings(rows, "100 x 1024")
    yield same_packing(rows)


def draw_5(rows: Rows) -> Figure:
    """Draw average and cumulative rewards."""
    figure = new_figure(9, 4)
    axes = figure.subplots(1, 2)
    draw_curves(axes, rows)
    legend(figure, axes[0])
    return figure


# Fig. 6

LEVELS = (0.1, 1.0, 5.0, 10.0, 20.0)
EVERY = 50  # slots between two that are looked at


def run_6(of: Cell, _time_limit: float) -> Row:
    """Run all schemes; return mean gain and overhead."""
    inst = instance(of)
    parts = {}
    for name in SCHEMES:
        made = policy(name)
        chosen = get_policy(get_family("bipartite"), made) if isinstance(made, str) else made
        known = {name: KNOWLEDGE[name](inst) for name in chosen.knows}
        chosen.start(inst.platform(), known, Streams(0))
        seen = []
        for event in events(inst, chosen.information):
            decision = chosen.step(event)
            if event.slot % EVERY == EVERY - 1:
                seen.append(split(inst, decision, inst.jobs[event.slot]))
        parts[name] = np.mean(seen, axis=0).tolist()
    return {"parts": parts}


def findings_6(rows: Rows) -> Findings:
    """Compare with the paper: the overhead grows with the contention, but slowly."""
    levels = {level: of.values("parts", OURS) for level, of in rows.by("label").items()}
    (low, first), *_, (high, last) = levels.items()
    times = math.log(high / low)
    each = [math.log(b[1] / a[1]) / times for a, b in zip(first, last, strict=True)]
    power = MeanEstimate.of(each)
    yield effect(f"the overhead grows from contention {low} to {high}: exponent of the contention",
                 power, unit="")  # fmt: skip
    yield within("slowly, which is less than in proportion: the same exponent", power, high=1.0)
    for level, parts in levels.items():
        for k, name in enumerate(("gain", "overhead")):
            found = MeanEstimate.of([of[k] for of in parts])
            yield shown(f"contention {level}: {name} of OGASched per slot", found)


def draw_6(rows: Rows) -> Figure:
    """Draw a panel per level, two bars per scheme."""
    levels, names = rows.by("label"), [name for name in DRAWN if name in SCHEMES]
    figure = new_figure(2.8 * len(levels), 4.4)
    axes = figure.subplots(1, len(levels), squeeze=False)[0]
    for axis, (level, of) in zip(axes, levels.items(), strict=True):
        gains, overheads = np.mean([of.values("parts", name) for name in names], axis=1).T
        bars(axis, [SHORT[name] for name in names], gains, overheads)
        for row, name in enumerate(names):
            for part, shift in enumerate((-0.2, 0.2)):
                each = MeanEstimate.of([parts[part] for parts in of.values("parts", name)])
                if each.interval is not None:
                    axis.hlines(row + shift, *each.interval, color="black", linewidth=1)
        if axis is not axes[0]:
            axis.set_yticklabels([])
        axis.set_xlabel("")
        axis.set_title(f"contention {level:g}", fontsize=9)
    axes[len(axes) // 2].set_xlabel("reward of a slot (mean, 95 % interval)", fontsize=8)
    legend(figure, axes[0])
    return figure


# Fig. 7

KINDS = ("linear", "poly", "log", "reciprocal")


def findings_7(rows: Rows) -> Findings:
    """Compare with the paper: the lead, and which kind earns most."""
    by = rows.by("label")
    for kind in KINDS:
        yield ahead(by[kind], f"all {kind}")
    for kind in KINDS[1:]:
        found = more(by["linear"], by[kind])
        yield effect(f"all linear earns more than all {kind}", found, unit="per slot")
    for kind in KINDS:
        claim = f"all {kind}, published order: reward less that of Fairness"
        yield shown(claim, more(by[kind], by[kind], PUBLISHED, "fairness"), unit="per slot")
        best = MeanEstimate.of(earned(by[kind], "stationary"))
        yield shown(f"all {kind}: best stationary decision", best, unit="per slot")
    yield same_packing(rows)


def draw_7(rows: Rows) -> Figure:
    """Draw a group of bars per kind."""
    kinds, names = rows.by("label"), [name for name in DRAWN if name in rows[0]["rewards"]]
    figure = new_figure(3.2 * len(kinds), 4)
    axes = figure.subplots(1, len(kinds), squeeze=False)[0]
    for axis, (kind, part) in zip(axes, kinds.items(), strict=True):
        means = [part.mean("rewards", name) for name in names]
        axis.bar(range(len(names)), [m.mean for m in means], color=[COLOUR[n] for n in names])
        for x, mean in enumerate(means):
            whisker(axis, x, mean)
        axis.set_xticks(range(len(names)), [SHORT[n] for n in names], rotation=90, fontsize=7)
        axis.set_title(f"all {kind}", fontsize=9)
        finish(axis)
    axes[0].set_ylabel(REWARD)
    return figure


# Table III

SWEEPS = {"T": (1000, 2000, 5000, 10_000), "rho": (0.3, 0.5, 0.7, 0.9), "density": (2.0, 2.5, 3.0)}
COLUMNS = [(panel, x) for panel, values in SWEEPS.items() for x in values]
SETTING = {"T": "slots", "rho": "arrival_probability", "density": "density"}
PAPER = {
    OURS: (2578.53, 2886.33, 2911.37, 3104.98, 1904.87, 2154.18, 3117.29, 2938.22, 2816.18, 2904.51,
           3127.47),
    "drf": (2422.47, 2493.02, 2449.23, 2497.85, 1364.53, 2086.59, 2503.01, 2755.41, 2417.08,
            2786.94, 2795.42),
    "fairness": (2532.24, 2582.80, 2552.41, 2436.22, 1295.53, 1997.19, 2628.02, 2873.84, 2501.54,
                 2857.60, 2918.98),
    "binpacking": (2386.01, 2449.15, 2444.32, 2365.13, 1246.39, 1897.79, 2518.98, 2740.19, 2374.31,
                   2757.71, 2829.19),
    "spreading": (2382.01, 2466.71, 2436.60, 2362.88, 1250.67, 1888.06, 2519.37, 2737.93, 2382.87,
                  2766.07, 2836.37),
}  # fmt: skip
TRENDS = (
    ("T", 1000, 10_000, 1, "the reward grows with the horizon"),
    ("rho", 0.7, 0.9, -1, "it falls from probability 0.7 to 0.9"),
    ("density", 2.0, 3.0, 1, "it grows with the density"),
)


def findings_tab3(rows: Rows) -> Findings:
    """Compare with the paper: every lead, and what horizon, probability and density do."""
    points = rows.by("panel", "label")
    printed = {name: dict(zip(COLUMNS, numbers, strict=True)) for name, numbers in PAPER.items()}
    for panel, one, two, sign, claim in TRENDS:
        paper = printed[OURS][panel, two] / printed[OURS][panel, one] - 1
        found = lead(*(earned(points[panel, x], OURS) for x in (two, one)))
        yield effect(claim, found, sign=sign, paper=paper)
    for panel, label in COLUMNS:
        for name in BASELINES:
            paper = printed[OURS][panel, label] / printed[name][panel, label] - 1
            claim = f"{panel} {label:g}: lead over {LABELS[name]}"
            yield effect(claim, over(points[panel, label], name), paper=paper)
    yield from readings(points["T", 2000], "T 2000")
    for name, numbers in printed.items():
        both = f"{LABELS[name]}: relative difference of two printed columns, T 2000, rho 0.7"
        yield shown(both, numbers["rho", 0.7] / numbers["T", 2000] - 1, unit="%")
    yield "columns T 2000 and rho 0.7 are the same setting: the paper's own noise is 8 %"
    yield same_packing(rows)


def draw_tab3(rows: Rows) -> Figure:
    """Draw the table: in every cell the paper's number, and ours with its interval."""
    figure = new_figure(13, 4.6)
    axis = figure.subplots()
    axis.set_axis_off()
    points = rows.by("panel", "label")
    ours = [[points[at].mean("rewards", name) for at in COLUMNS] for name in PAPER]

    def text(paper: float, mean: MeanEstimate) -> str:
        ends = mean.interval
        half = f"\n± {(ends[1] - ends[0]) / 2:.0f}" if ends else ""
        return f"{paper:.0f}\n{mean.mean:.0f}{half}"

    names = {"T": "T =\n", "rho": "rho =\n", "density": "density\n"}
    table = axis.table(
        [list(map(text, *of)) for of in zip(PAPER.values(), ours, strict=True)],
        rowLabels=[LABELS[name] for name in PAPER],
        colLabels=[f"{names[panel]}{label:g}" for panel, label in COLUMNS],
        loc="center", cellLoc="center",
    )  # fmt: skip
    table.auto_set_font_size(value=False)
    table.set_fontsize(8)
    table.scale(1.0, 3.4)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor("#CCCCCC")
        if row > 0 and column >= 0:
            means = [of[column].mean for of in ours]
            if means[row - 1] == max(means):
                cell.set_text_props(weight="bold")
    figure.supxlabel("mean reward of a slot: the paper's above, ours with its 95 % interval below "
                     "(bold: our largest)", fontsize=9)  # fmt: skip
    return figure


# Theorem 1

HORIZONS = (250, 500, 1000, 2000, 4000, 8000, 16_000)
MIDDLE = 1000  # slots where sizes are swept
SQUARE_ROOT = 0.5
DENSITY = 0.3  # share of the ports that a machine has, as in the preset: 3 of 10
SIZES = {"ports": "L", "machines": "R"}  # as the paper writes them


def cells_regret(seeds: int) -> list[Cell]:
    """Return one cell per instance; more ports are more channels, as machines keep their share."""
    horizons = {
        (name, t): {"slots": t} | changes
        for name, changes in (("mixed", {}), ("log", {"utilities": ["log"]}))
        for t in HORIZONS
    }
    ports = {("ports", n): {"ports": n, "density": DENSITY * n} for n in (5, 10, 20, 40)}
    sizes = ports | sweep("machines", "machines", (32, 64, 128, 256))
    return cells(seeds, horizons) + cells(seeds, sizes, slots=MIDDLE)


def run_regret(of: Cell, time_limit: float) -> Row:
    """Return the regret to the best stationary decision, certified, and the bound (41)."""
    inst = instance(of)
    best = solve(inst, method="stationary", time_limit=time_limit)
    assert best.bound is not None
    steps = {name: simulate(inst, name).value for name in (THEORY, OURS)}
    return {
        "regret": {name: best.bound - value for name, value in steps.items()},
        "guarantee": regret_guarantee(inst),
    }


def bounds(rows: Rows) -> dict[Any, float]:
    """Return the mean bound (41) by what is swept."""
    return {x: float(np.mean(of.values("guarantee"))) for x, of in rows.by("label").items()}


def exponent(swept: Sequence[float], regrets: Sequence[float]) -> float | None:
    """Return e of regret = c T^e, by least squares of the logarithms; None where one is <= 0."""
    if min(regrets) <= 0:
        return None
    return float(np.polyfit(np.log(swept), np.log(regrets), 1)[0])


def exponents(rows: Rows, step: str) -> list[float | None]:
    """Return the exponent of what is swept, instance by instance."""
    points = rows.by("label")
    regrets = (of.values("regret", step) for of in points.values())
    return [exponent([*points], each) for each in zip(*regrets, strict=True)]


def findings_regret(rows: Rows) -> Findings:
    """Compare with the theory: at most the bound, and no faster than the square root."""
    for name, part in rows.by("panel").items():
        kept = sum(row["regret"][THEORY] <= row["guarantee"] for row in part)
        what = name if name in SIZES else f"{name} utilities"
        of_what = "their number" if name in SIZES else "T"
        yield counted(f"{what}: runs within the bound (41)", kept, len(part), len(part), len(part))
        claim, found = f"{what}: exponent of {of_what}", exponents(part, THEORY)
        known = [e for e in found if e is not None]
        if name == "machines":  # on which the paper is silent
            yield shown(claim, MeanEstimate.of(known))
        else:  # "the regret grows sublinearly with the number of job types"
            all_ = MeanEstimate.of(known, nothing=None) if len(known) == len(found) else None
            yield within(claim, all_, high=SQUARE_ROOT)
        limits = bounds(part)
        if name in SIZES:
            limit = exponent([*limits], [*limits.values()])
            if limit is not None:
                yield shown(f"{name}: exponent of their number in the bound", limit)
            continue
        last = max(limits)
        loose = limits[last] / part.where(label=last).mean("regret", THEORY).mean
        yield shown(f"{what}: ratio of the bound to the regret at T = {last}", loose)
        other = [e for e in exponents(part, OURS) if e is not None]
        if other:
            claim = f"{what}, step of Table II: exponent of T"
            yield shown(claim, MeanEstimate.of(other))


def draw_regret(rows: Rows) -> Figure:
    """Draw a panel per instance set: regrets, bound, and a line of slope 1/2."""
    panels = rows.by("panel")
    figure = new_figure(4.6 * 2, 4 * -(-len(panels) // 2))
    axes = list(np.ravel(figure.subplots(-(-len(panels) // 2), 2, squeeze=False)))
    for unused in axes[len(panels) :]:
        unused.set_axis_off()
    for axis, (name, part) in zip(axes, panels.items(), strict=False):
        limits = bounds(part)
        swept = np.array([*limits])
        for k, step in enumerate((THEORY, OURS)):
            points = [of.mean("regret", step) for of in part.by("label").values()]
            known = [e for e in exponents(part, step) if e is not None]
            power = f": {SIZES.get(name, 'T')}^{np.mean(known):.2f}" if known else ""
            line(axis, swept.tolist(), points, COLOURS[k], LABELS[step] + power)
            if k == 0 and name not in SIZES:
                axis.plot(swept, points[0].mean * np.sqrt(swept / swept[0]), "k:", label="T^0.5")
        axis.plot(swept, [*limits.values()], "--", color=COLOURS[6],
                  label="bound (41), theory's step only")  # fmt: skip
        axis.set_xscale("log")
        axis.set_yscale("log")
        if name in SIZES:
            axis.set_xticks(swept, [f"{x:g}" for x in swept])
            axis.minorticks_off()
        finish(axis, name if name in SIZES else "slots T")
        axis.set_title(f"T = {MIDDLE}" if name in SIZES else f"{name} utilities", fontsize=9)
        axis.set_ylim(top=100 * max(limits.values()))  # space for the legend
        axis.legend(frameon=False, fontsize=7, loc="upper left")
    for axis in axes[::2]:
        axis.set_ylabel("regret to the best stationary decision")
    return figure


BASE = partial(cells, slots=2000)
SWEPT_3 = sweep("machines", "machines", MACHINES) | sweep("ports", "ports", PORTS)
EXPERIMENTS = described(
    "bipartite",
    fig2=(  # capacities and requests scale; utilities do not
        partial(cells, settings=sweep("scale", "scale", (1.0, 0.5)), slots=8000, beta=(0.4, 0.6),
                contention=11.0),
        run_2, findings_2, draw_2,
    ),
    fig3=(
        partial(BASE, settings=SWEPT_3 | sweep("contention", "contention", CONTENTION)),
        run, findings_3, draw_3,
    ),
    fig4=(
        partial(BASE, settings={("", "mixed"): {}, ("", "log"): {"utilities": ["log"]},
                                ("", "mixed, scale 10"): {"scale": 10.0}}),
        run_4, findings_4, draw_4,
    ),
    fig5=(
        partial(cells, settings={("", "100 x 1024"): {}}, preset="large", slots=10_000),
        run_5, findings_5, draw_5,
    ),
    fig6=(partial(BASE, settings=sweep("", "contention", LEVELS)), run_6, findings_6, draw_6),
    fig7=(
        partial(BASE, settings={("", kind): {"utilities": [kind]} for kind in KINDS}),
        run, findings_7, draw_7,
    ),
    tab3=(
        partial(BASE, settings={at: {SETTING[at[0]]: at[1]} for at in COLUMNS}),
        run, findings_tab3, draw_tab3,
    ),
    regret=(cells_regret, run_regret, findings_regret, draw_regret),
)  # fmt: skip
