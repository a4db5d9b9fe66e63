"""OGASched, Fig. 3: rewards by number of machines, number of ports, and contention."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.figure import Figure

from optsched.papers.bipartite import common
from optsched.papers.estimate import Estimate, differences
from optsched.papers.experiment import Cell, Setting, Summary
from optsched.papers.verdict import Finding, Outcome, effect, shown, untestable

MACHINES = (32, 64, 128, 256, 512)
PORTS = (5, 10, 15, 20)
CONTENTION = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
PEAK = 1.0  # contention of the paper above which rewards fall; here nothing is scarce up to it
FIERCE = 128  # machines at which contention is fierce, in the paper's words
SLOTS = 2000


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    panels = {
        "machines": ("machines", MACHINES),
        "ports": ("ports", PORTS),
        "contention": ("contention", CONTENTION),
    }
    return common.sweeps(seeds, panels, slots=SLOTS)


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: the lead, where it is largest, and what contention does."""
    found = [
        common.ahead(
            p, f"{p['label']:g} {p['panel']}".replace("contention", "times the requests"),
            testable=p["panel"] != "contention" or p["label"] > PEAK,
        )
        for p in summary["points"]
    ]  # fmt: skip

    def at(panel: str, label: float) -> Any:
        return common.point_of(summary, panel, label)

    def lead_grows(panel: str, one: float, two: float, sign: int, what: str) -> Finding:
        more = differences(*(common.leads(at(panel, x)) for x in (two, one)))
        return effect(what, Estimate.of(more), sign=sign)

    claims = [
        lead_grows("machines", MACHINES[0], FIERCE, 1,
                   "the lead over Fairness grows from 32 to 128 machines"),
        lead_grows("machines", FIERCE, MACHINES[-1], -1, "and shrinks from 128 to 512"),
        effect("all earn more with more machines: OGASched, 512 less 32",
               common.difference(at("machines", 512), at("machines", 32), common.OURS),
               unit="per slot"),
        *(
            effect(f"and {common.LABELS[name]}",
                   common.difference(at("machines", 512), at("machines", 32), name),
                   unit="per slot")
            for name in common.BASELINES
        ),
        _weaker(summary),
        untestable("reward grows from contention 0.1 to 1",
                   common.difference(at("contention", 1.0), at("contention", 0.1), common.OURS),
                   common.NO_UNITS, unit="per slot"),
        untestable("and falls from 1 to 20",
                   common.difference(at("contention", 20.0), at("contention", 1.0), common.OURS),
                   common.NO_UNITS, unit="per slot"),
        untestable("the lead over Fairness shrinks from contention 1 to 20",
                   Estimate.of(differences(*(common.leads(at("contention", x))
                                             for x in (20.0, 1.0)))),
                   common.NO_UNITS, unit="%"),
    ]  # fmt: skip
    beside = [
        shown(f"contention {x:g}: lead over Fairness", common.over(at("contention", x), "fairness"),
              unit="%")
        for x in CONTENTION[2:]
    ]  # fmt: skip
    why = (
        "our contention 1 is about a tenth of the paper's, whose units are not printed: nothing is "
        "scarce below it, and the lead shrinks from 5 on"
    )
    return Outcome((*claims, *found, *beside), (why, common.same_packing(summary["points"])))


def _weaker(summary: Summary) -> Finding:
    """Judge whether ports matter less than machines: exponents of the reward in either."""

    def exponents(panel: str, one: float, two: float) -> list[float]:
        first, last = (
            common.values(common.point_of(summary, panel, x), common.OURS) for x in (one, two)
        )
        times = math.log(two / one)
        return [math.log(b / a) / times for a, b in zip(first, last, strict=True)]

    ports = exponents("ports", PORTS[0], PORTS[-1])
    machines = exponents("machines", MACHINES[0], MACHINES[-1])
    claim = "ports matter less than machines: exponent of the reward in either, their difference"
    return effect(claim, Estimate.of(differences(ports, machines)), sign=-1, unit="")


def draw(summary: Summary) -> Figure:
    """Draw the three sweeps."""
    names = {"machines": "machines", "ports": "ports (job types)", "contention": "contention"}
    return common.draw(summary, names, log=("machines", "contention"))


TITLE = "OGASched, Fig. 3: rewards by machines, ports and contention, T = 2000"
CLAIM = (
    "OGASched is ahead everywhere; its lead over the baselines first grows and then shrinks with "
    "the number of machines; all earn more with more machines, and ports matter less; more "
    "contention than 1 lowers rewards and the lead"
)
SETTINGS = (
    *common.COMMON,
    Setting("slots", "2000", "Table II"),
    Setting("machines", "32 to 512", 'Fig. 3(a); "fierce when |R| in [128, 256]"'),
    Setting("contention", "0.1 to 20", 'Sec. 4.2: "moving contention level from 0.1 to 1"'),
)
