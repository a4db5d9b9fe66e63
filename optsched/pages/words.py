"""The answer in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from optsched.core import Optimum, RatioReport, meaning, shown_gap
from optsched.core.reports import EvaluatedPolicy
from optsched.experiments.statistics import Statistics, Summary
from optsched.experiments.whatif import ORACLES
from optsched.problem import REAL, RELAXATION, Family, Level, Status

SPOKEN = 8  # groups of which each has sentences of its own; of more the policies are counted


def of_campaign(found: Statistics, families: Sequence[Family]) -> list[str]:
    """Return what a campaign states: which policy is nearest to the optimum, and how sure it is.

    ``families`` are those of the groups.
    """
    groups = found.groups
    if not groups:
        return ["No cell has a ratio yet."]
    summary = []
    if len(groups) > SPOKEN:
        names = [inside[0].policy for inside in groups.values()]
        wins = sorted(((names.count(n), n) for n in set(names)), key=lambda w: (-w[0], w[1]))
        counted = ", ".join(f"{name} in {n}" for n, name in wins[:SPOKEN])
        summary.append(
            f"In {len(groups)} groups of instances the lowest mean ratio has: {counted}."
        )
    else:
        summary += [_of_group(group, inside, found) for group, inside in groups.items()]
    summary.append(_openness(found.summaries))
    return [*summary, _meanings(families)]


def _mean(s: Summary) -> str:
    text = "infinite" if math.isinf(s.low) else s.mean.replace(" .. ", " to ")
    if text.startswith(">= "):
        text = "at least " + text[3:]
    if s.interval is not None and math.isfinite(s.interval[1]):
        text += f" (95 %: {s.inside.replace('..', 'to')})"
    return text


def _of_group(group: str, inside: Sequence[Summary], found: Statistics) -> str:
    """Return the best and the worst policy, and those that the best cannot be told apart from."""
    first, *others = inside
    many = f"{first.instances} instance{'s' * (first.instances != 1)}"
    summary = f"{group}, {many}: {first.named} has the lowest mean ratio, {_mean(first)}"
    if not others:
        return summary.replace("has the lowest mean ratio,", "has the mean ratio") + "."
    last = others[-1]
    summary += f"; {last.named} has the highest, {_mean(last)}."
    alike = [
        pair.second if pair.first == first.policy else pair.first
        for pair in found.pairs
        if pair.group == group and first.policy in (pair.first, pair.second) and not pair.differ
    ]
    if len(alike) == len(others):
        return f"{summary} These instances cannot tell {first.policy} from any other policy."
    if alike:
        return f"{summary} {first.policy} cannot be told apart from {', '.join(alike)}."
    return f"{summary} {first.policy} can be told apart from every other policy."


def _meanings(families: Sequence[Family], best: float | None = None) -> str:
    texts: dict[str, list[str]] = {}
    for family in {f.name: f for f in families}.values():
        texts.setdefault(meaning(family, best), []).append(family.name)
    summary = [
        f"{text} (of {', '.join(names)})" if len(texts) > 1 else text
        for text, names in texts.items()
    ]
    hindsight = "1 is the offline optimum, the best schedule in hindsight."
    return f"A ratio is {', '.join(summary)}; {hindsight}"


def _openness(summaries: Sequence[Summary]) -> str:
    most: dict[str, tuple[int, int]] = {}
    for s in summaries:
        most[s.group] = max(most.get(s.group, (0, 0)), (s.open, s.instances))
    opened, all_ = (sum(column) for column in zip(*most.values(), strict=True))
    if not opened:
        return "All optima are closed: every ratio is a number."
    of = f"{opened} of {all_} optima" if all_ >= opened else f"{opened} optima"
    return f"{of} are open: there ratios are intervals, and so are the means."


def of_optimum(optimum: Optimum) -> str:
    """Return the interval of the best with hindsight."""
    best = f"{optimum.scope} schedule" if optimum.scope else "schedule"
    if optimum.status is Status.INFEASIBLE:
        return f"No {best} exists ({optimum.bound_level})."
    if optimum.method == RELAXATION and optimum.value is None:
        if optimum.bound is None:
            return "The relaxation gives a bound only, and it was not reached."
        return f"The relaxation gives a bound only: {optimum.bound:.6g} ({optimum.bound_level})."
    if optimum.value is None:
        return f"No {best} was found; one may exist."
    if optimum.bound is None:
        return f"The best {best} known reaches {optimum.value:.6g}; no bound is known."
    if optimum.status.closed:
        claimed = "claimed, " if optimum.bound_level is Level.CROSS_CHECKED else ""
        summary = f"The best {best} reaches {optimum.value:.6g}: no other is better"
        summary += f" ({claimed}{optimum.bound_level})."
    else:
        side = "more" if optimum.sense == "max" else "less"
        summary = (
            f"The best {best} known reaches {optimum.value:.6g}, none reaches {side} than "
            f"{optimum.bound:.6g} ({optimum.bound_level}): a gap of {shown_gap(optimum.gap)}."
        )
    if optimum.bound_level is not Level.CERTIFIED and optimum.certified_bound is not None:
        summary += f" The certified bound is {optimum.certified_bound:.6g}."
    return summary


def _reached(row: EvaluatedPolicy) -> str:
    wait, value = row.columns.get("mean wait, h"), f"{row.value:.6g}"
    hours = f"a mean wait of {wait:.3g} h (value {value})" if isinstance(wait, float) else value
    return f"it reaches {hours}, ratio {row.ratio}"


def of_ratios(report: RatioReport, family: Family) -> list[str]:
    """Return what a comparison states, and first of all what the recorded schedule reached."""
    order = sorted(report.policies, key=lambda row: (row.ratio.low, row.name))
    real = [row for row in order if row.name == REAL]
    order = [row for row in order if row not in real] or order
    known = [row.columns.get("run times known") for row in order]
    nearest = ""
    if "requested" in known:  # exact run times are not known in a cluster
        usable = [row for row, times in zip(order, known, strict=True) if times != "exact"]
        nearest = "Of the policies that can be deployed, " * (len(usable) < len(order))
        order = usable
    first, last = order[0], order[-1]
    summary = [f"{REAL[0].upper()}{REAL[1:]}: {_reached(row)}." for row in real]
    summary.append(f"{nearest}{first.name} comes nearest: {_reached(first)}.")
    summary += [report.rule] if report.rule else []
    if last is not first:
        summary.append(f"{last.name} is farthest: {_reached(last)}.")
    summary += [f"Policies with exact run times {ORACLES}"] if nearest else []
    summary += [of_optimum(report.optimum), *report.in_words]
    if report.hindsight:
        parts = [(*name.partition(", "), x) for name, x in report.hindsight.items()]
        measures = " and ".join(
            f"a {name} of {x:.4g} {unit}".rstrip() for name, _, unit, x in parts
        )
        summary.append(f"The best schedule known has {measures}.")
    if report.improved_by is not None:
        summary.append(f"The best schedule known is that of {report.improved_by}.")
    return [*summary, _meanings([family], report.optimum.value)]
