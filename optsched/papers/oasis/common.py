"""Settings that the figures of the OASiS paper share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from optsched.families.oasis.policies.estimate import Estimate, learn
from optsched.families.oasis.policies.paper import Oasis
from optsched.papers.experiment import OPEN, Setting
from optsched.problem import Policy, get_family

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
SCHEMES = (ESTIMATED, LITERAL, "fifo", "drf", "rrh", "dorm")
OTHERS = ("fifo", "drf", "rrh", "dorm")
PAST = range(1000, 1010)  # seeds of the instances from which U and L are learnt
OTHER_PAST = range(10)  # if those, or later ones, are judged
LATE = "completion - target, slots"
COMMON: tuple[Setting, ...] = (
    Setting(
        "U, L",
        "judged: estimated from the jobs of ten earlier instances (seeds 1000 to 1009) of the same "
        "setting, by (23)-(26), where utilities below 1 % of that without delay do not count; "
        "shown too: the true ones of the instance",
        'Sec. IV: "exact values are not known before all jobs have arrived. Instead, we adopt '
        'their estimated values (based on past experience)"',
    ),
    Setting("jobs, utilities, machines", "preset paper", "Sec. V-A, Settings"),
    Setting(
        "jobs that cannot finish on the empty machines",
        "judged: kept, as printed; shown too: drawn anew, and targets moved by the shortest run",
        OPEN + ": the targets of 1 to 15 slots are below most jobs' shortest runs",
    ),
    Setting("arrivals", "bursts on a steady background", 'Sec. V-A: "according to the Google '
            'cluster data", whose part and rate are ' + OPEN),
)  # fmt: skip


def instance(preset: str, seed: int, **sizes: Any) -> Any:
    """Return an instance of one of `PRESETS`."""
    drawn = {"completable": False} if preset == DRAWN else {}
    name = REACHABLE if preset == REACHABLE else PAPER
    return get_family("oasis").generate(name, seed=seed, **sizes, **drawn)


@cache
def learnt(preset: str, sizes: tuple[tuple[str, Any], ...], past: range) -> Estimate:
    """Return what the earlier instances of a setting teach."""
    return learn([instance(preset, seed, **dict(sizes)) for seed in past])


def past(seed: int) -> range:
    """Return the seeds of the instances before that of a seed: others than those judged."""
    return PAST if seed < PAST.start else OTHER_PAST


def policy(scheme: str, preset: str, seed: int, sizes: dict[str, Any], **options: Any) -> Policy:
    """Return the policy of a scheme, for the instance of a setting and a seed."""
    if scheme == LITERAL:
        return Oasis(**options)
    if scheme == ESTIMATED:
        return Oasis(estimate=learnt(preset, tuple(sizes.items()), past(seed)), **options)
    return get_family("oasis").policies[scheme](**options)


def quantiles(late: Sequence[float]) -> list[float] | None:
    """Return what a box shows: whiskers at 5 and 95 %, quartiles; None of nothing."""
    return np.quantile(late, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist() if late else None


def known_mean(each: Sequence[float | None]) -> float:
    """Return the mean of what is known; infinity of nothing."""
    known = [x for x in each if x is not None]
    return float(np.mean(known)) if known else float("inf")


def boxes(axis: Axes, shown: Mapping[Any, list[float] | None], colour: str, **how: Any) -> None:
    """Draw a box of `quantiles` at every place that has any."""
    known = {x: found for x, found in shown.items() if found is not None}
    names = ("whislo", "q1", "med", "q3", "whishi")
    parts: list[Any] = [
        dict(zip(names, found, strict=True)) | {"fliers": []} for found in known.values()
    ]
    drawn = axis.bxp(parts, positions=[*known], patch_artist=True, manage_ticks=False, **how)
    for box in drawn["boxes"]:
        box.set_facecolor(colour)


def listed(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
