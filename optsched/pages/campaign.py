"""The content of a campaign's store, as a page. Its size depends on the plan, not on the cells."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from optsched.core import meaning
from optsched.experiments.campaign import AS_STORED, Campaign, CampaignStatus
from optsched.experiments.cell_keys import canonical, contender_of, digest_of
from optsched.experiments.plan import Plan
from optsched.experiments.ratios_by_policy import RatioSample, group_of, plan_names
from optsched.experiments.run import duration
from optsched.experiments.statistics import Statistics, Summary, between, statistics
from optsched.experiments.store import LEVELS, CellState, Store
from optsched.experiments.store.schema import COMPARED
from optsched.pages import curves, words
from optsched.pages.blocks import (
    Block,
    ColumnHeader,
    FactList,
    Page,
    Section,
    SortableTable,
    TableCell,
    Words,
    count,
    ends,
    number,
)
from optsched.pages.repeat import of_campaign
from optsched.pages.schedules import Artist, NotDrawnError
from optsched.problem import Family, InputError, get_family
from optsched.process import interrupts

MOST_GROUPS = 24  # that have figures of their own; tables have more
WORST = 3  # instances per policy in the table of the worst
OPEN = 50  # optima in the table of the open ones
MOST_FACTS = 60
WORSE = 1.01  # ratio from which a worst instance of the best policy is drawn
OF_CELLS = "(i.id, o.reference) IN (SELECT instance, reference FROM cell)"
EXPORT = "optsched campaign export has all of them."


@dataclass(frozen=True)
class Reading:
    """Totals of a store."""

    path: Path
    plan: Plan
    status: CampaignStatus
    samples: Sequence[RatioSample]
    statistics: Statistics

    def family(self, group: str) -> Family:
        """Return the family of a group."""
        return get_family(next(s.family for s in self.samples if s.group == group))


def page_of_store(path: Path, policies: Sequence[str], callback: Callable[[str], None]) -> Page:
    """Return the page of a campaign's store.

    Raises
    ------
    InputError
        It is none, or has no plan.
    """
    made = Campaign(path)
    plan = made.plan()
    callback("reading the cells")
    state, samples = made.status(), made.samples()
    interrupts.raise_if_interrupted()
    callback("means and intervals")
    found = Reading(path, plan, state, samples, statistics(samples))
    families = [found.family(group) for group in found.statistics.groups]
    with Store.open(path) as store:
        sections = [
            *_figures(found),
            Section("Numbers", [_means(found), _pairs(found), _times(store, found)]),
            Section(
                "Worst instances", [_worst(found), *_pictures(store, found, policies, callback)]
            ),
            *_open(store),
            *_provenance(store, found),
        ]
    return Page(
        title=found.plan.name,
        subtitle=f"A campaign: {found.status.head}",
        answer=words.of_campaign(found.statistics, families),
        remarks=[*found.statistics.flags(), *found.status.remarks(), f"Not verified: {AS_STORED}."],
        sections=sections,
    )


def _figures(found: Reading) -> list[Section]:
    colour = curves.colours(s.policy for s in found.samples)
    shown = dict(list(found.statistics.groups.items())[:MOST_GROUPS])
    sections = []
    for group, inside in shown.items():
        label = f"ratio, {meaning(found.family(group))}"
        samples = [s for s in found.samples if s.group == group and s.count]
        bars = curves.mean_bars(inside, label, colour)
        sections.append(Section(group, [bars, curves.distributions(samples, label, colour)]))
    left = len(found.statistics.groups) - len(shown)
    if left:
        text = f"{left} more groups of instances have no figures here; the table has their numbers."
        sections.append(Section("Further groups", [Words([text])]))
    return sections


def _means(found: Reading) -> SortableTable:
    rows = [
        [
            *(TableCell(s.named), TableCell(s.group), ends(s.mean, s.low, s.high)),
            *(_interval(s.inside, s.interval), ends(s.half, s.median, s.median_high)),
            *(_interval(s.middle, s.median_interval), ends(s.beyond, *s.far)),
            ends(s.most, s.quantile90, s.quantile90_high),
            *(ends(s.greatest, s.worst, s.worst_high), count(s.worst_seed)),
            *(count(s.instances), count(s.open), count(s.errors), count(s.infinite)),
        ]
        for s in found.statistics.summaries
    ]
    columns = [
        *(ColumnHeader("policy"), ColumnHeader("instances")),
        ColumnHeader("mean ratio", "between the mean of the low ends and that of the high ends"),
        ColumnHeader("95 % interval", "of the mean ratio; *: it may not hold, see the remarks"),
        ColumnHeader("median", "between the median of the low ends and that of the high ends"),
        ColumnHeader("its 95 %", "exact interval of the median, for any distribution"),
        ColumnHeader(
            "above 2, 95 %", "exact interval of the share of instances with a ratio above 2"
        ),
        ColumnHeader("90 % quantile", "between that of the low ends and that of the high ends"),
        ColumnHeader("worst", "between the largest low end and the largest high end"),
        ColumnHeader("its seed"),
        ColumnHeader("n", "instances with a ratio"),
        ColumnHeader("open", "instances whose optimum is not closed"),
        ColumnHeader("errors", "cells without a ratio"),
        ColumnHeader("inf", "instances with an infinite ratio"),
    ]
    return SortableTable("means", "Every policy", columns, rows, where=EXPORT)


def _interval(text: str, inside: tuple[float, float] | None) -> TableCell:
    return TableCell(text) if inside is None else ends(text, *inside)


def _pairs(found: Reading) -> SortableTable:
    rows = [
        [
            *(TableCell(p.first), TableCell(p.second), TableCell(p.group), number(p.median)),
            *(count(p.better), count(p.worse), count(p.instances), number(p.holm, ".2g")),
            TableCell("differ" if p.differ else "cannot be told apart"),
        ]
        for p in found.statistics.pairs
    ]
    columns = [
        *(ColumnHeader("A"), ColumnHeader("B"), ColumnHeader("instances")),
        ColumnHeader("A / B", "median of A's ratio over B's: the best schedule cancels"),
        ColumnHeader("A better", "instances on which A is better"),
        ColumnHeader("B better", "instances on which B is better"),
        ColumnHeader("of", "instances that both have"),
        ColumnHeader(
            "p", "Wilcoxon's signed-rank test, Holm's correction over all pairs of the group"
        ),
        ColumnHeader("verdict"),
    ]
    return SortableTable(
        "pairs", "Policies in pairs, instance by instance", columns, rows, where=EXPORT
    )


def _times(store: Store, found: Reading) -> SortableTable:
    """Return how long the policies took, added up by SQL."""
    rows_of = store.rows(
        "SELECT s.text, r.text, p.text, n, mean, most FROM (SELECT i.source AS source, "
        "c.reference AS reference, c.policy AS policy, count(*) AS n, avg(c.micros) AS mean, "
        "max(c.micros) AS most FROM cell c JOIN instance i ON i.id = c.instance "
        "WHERE c.status <> ? GROUP BY 1, 2, 3) JOIN word s ON s.id = source JOIN word r ON "
        "r.id = reference JOIN word p ON p.id = policy",
        (CellState.ERROR,),
    )
    group = _groups(store)
    names = {s.requested: s.policy for s in found.samples}
    rows = sorted(
        (group(source, reference), names.get(label, label), n, mean / 1e6, most / 1e6)
        for source, reference, policy, n, mean, most in rows_of
        for label in [contender_of(policy)]
    )
    columns = [
        *(ColumnHeader("policy"), ColumnHeader("instances")),
        ColumnHeader("mean, s", "for all decisions on an instance"),
        *(ColumnHeader("longest, s", "for all decisions on an instance"), ColumnHeader("cells")),
    ]
    return SortableTable(
        "times",
        "Time of the policies",
        columns,
        [
            [TableCell(p), TableCell(g), number(mean, ".3g"), number(most, ".3g"), count(n)]
            for g, p, n, mean, most in rows
        ],
        where=EXPORT,
    )


def _groups(store: Store) -> Callable[[str, str], str]:
    """Return what names the group of a source and a reference, as they are stored."""
    references = {
        text
        for (text,) in store.rows("SELECT text FROM word WHERE id IN (SELECT reference FROM cell)")
    }
    names = plan_names(store)
    return lambda source, reference: group_of(source, reference, references, names)


def _worst(found: Reading) -> SortableTable:
    rows = []
    for s in found.samples:
        order = np.argsort(-s.low, kind="stable")[:WORST]
        rows += [(s.group, s.policy, *s.instances[k], s.low[k], s.high[k]) for k in order]
    rows.sort(key=lambda row: (-row[4], row[:4]))
    columns = [
        *(
            ColumnHeader("policy"),
            ColumnHeader("instances"),
            ColumnHeader("ratio", "of its cells, averaged"),
        ),
        *(ColumnHeader("seed"), ColumnHeader("instance", "beginning of its SHA-256")),
    ]
    return SortableTable(
        "worst",
        f"The {WORST} instances on which each policy is worst",
        columns,
        [
            [
                *(
                    TableCell(policy),
                    TableCell(group),
                    ends(between(low, high), float(low), float(high)),
                ),
                *(count(seed), TableCell(str(digest)[:12], code=True)),
            ]
            for group, policy, seed, digest, low, high in rows
        ],
        where=EXPORT,
    )


def _pictures(
    store: Store, found: Reading, requested: Sequence[str], callback: Callable[[str], None]
) -> list[Block]:
    """Return pictures of the worst instances of some policies, or why there are none."""
    known = {s.requested or s.policy for s in found.statistics.summaries}
    for name in requested:
        if name not in known:
            raise InputError(f"no policy {name!r} has a ratio, expected {', '.join(sorted(known))}")
    blocks: list[Block] = []
    with closing(Artist(requested=bool(requested))) as artist:
        for s in _chosen(found, requested):
            interrupts.raise_if_interrupted()
            callback(f"the worst instance of {s.policy}")
            try:
                blocks += artist.pictures_of_worst(store, found.plan, s)
            except NotDrawnError as err:
                where = f"{s.policy} on {s.group}, seed {s.worst_seed}"
                blocks.append(Words([f"There is no picture of {where}: {err}."]))
    return blocks


def _chosen(found: Reading, requested: Sequence[str]) -> list[Summary]:
    """Return whose worst instances are drawn.

    If none is requested: of each family that of the worst policy, and in the same group that of
    the best one, if that is ever worse than the best with hindsight.
    """
    summaries = found.statistics.summaries
    if requested:
        return [
            max((s for s in summaries if name == (s.requested or s.policy)), key=lambda s: s.worst)
            for name in dict.fromkeys(requested)
        ]
    families: dict[str, Summary] = {}
    for s in summaries:
        name = found.family(s.group).name
        if name not in families or s.worst > families[name].worst:
            families[name] = s
    chosen = []
    for worst in families.values():
        best = found.statistics.groups[worst.group][0]
        chosen += [best] if best is not worst and best.worst > WORSE else []
        chosen.append(worst)
    return chosen


def _open(store: Store) -> list[Section]:
    """Return the optima that are open, those first whose bounds are farthest."""
    rows = store.rows(
        "SELECT s.text, r.text, i.seed, o.value, o.bound, o.level, o.certified, o.effort, "
        "lower(hex(i.digest)) FROM optimum o JOIN instance i ON i.digest = o.digest "
        "JOIN word s ON s.id = i.source JOIN word r ON r.id = o.reference WHERE o.status = ? "
        f"AND {OF_CELLS} "
        "ORDER BY abs(o.value - coalesce(o.certified, o.bound)) / abs(o.value) DESC, i.id LIMIT ?",
        (CellState.LIMIT, OPEN),
    )
    if not rows:
        return []
    (total,) = store.rows(
        "SELECT count(*) FROM optimum o JOIN instance i ON i.digest = o.digest WHERE o.status = ? "
        f"AND {OF_CELLS}",
        (CellState.LIMIT,),
    )[0]
    group = _groups(store)
    columns = [
        *(ColumnHeader("instances"), ColumnHeader("seed"), ColumnHeader("search found")),
        ColumnHeader("bound", "no schedule is better"),
        *(ColumnHeader("level", "how far the bound was checked"), ColumnHeader("certified bound")),
        *(
            ColumnHeader("effort", "units of work"),
            ColumnHeader("instance", "beginning of its SHA-256"),
        ),
    ]
    table = SortableTable(
        "open",
        "Optima that are open, the widest gap first",
        columns,
        [
            [
                *(TableCell(group(source, reference)), count(seed), number(value, ".6g")),
                *(number(bound, ".6g"), TableCell("-" if level is None else str(LEVELS[level]))),
                *(
                    number(certified, ".6g"),
                    number(effort, ".6g"),
                    TableCell(digest[:12], code=True),
                ),
            ]
            for source, reference, seed, value, bound, level, certified, effort, digest in rows
        ],
        total=total,
        where=EXPORT,
    )
    return [Section("Open optima", [table])]


def _provenance(store: Store, found: Reading) -> list[Section]:
    sets = store.rows(
        "SELECT text FROM word WHERE id IN (SELECT versions FROM cell UNION SELECT versions FROM "
        f"{COMPARED}) ORDER BY id"
    )
    versions = [json.loads(text) for (text,) in sets]
    listed = [", ".join(f"{name} {version}" for name, version in v.items()) for v in versions]
    (wall,) = store.rows(
        "SELECT (SELECT coalesce(sum(wall), 0) FROM cell) + (SELECT coalesce(sum(wall), 0) FROM "
        f"{COMPARED})"
    )[0]
    plan, clock = found.plan, "seconds" in found.status.limits
    references = store.rows(f"SELECT text FROM word WHERE id IN (SELECT reference FROM {COMPARED})")
    requested = {f"{k} {v}" for (text,) in references for k, v in json.loads(text).items() if v}
    facts = [
        ("store", f"{found.path.name}, SHA-256 {digest_of(found.path)}"),
        ("plan, SHA-256", hashlib.sha256(canonical(plan.content()).encode()).hexdigest()),
        ("cells", found.status.head),
        ("verified", f"nothing but what is drawn: {AS_STORED}"),
        ("work", f"{duration(wall / 1e6)} of one process"),
        *((f"versions {k + 1}" if k else "versions", text) for k, text in enumerate(listed)),
        (
            "machine",
            "the store does not name it; "
            + (
                "open optima were ended by the clock, and may come out otherwise elsewhere"
                if clock
                else "limits count work, so that the numbers are the same on any"
            ),
        ),
        ("optima", "; ".join(sorted(requested)) or "none yet"),
        *((f"seeds {k}" if k > 1 else "seeds", seeds) for k, seeds in enumerate(_seeds(plan), 1)),
        ("seeds of policies", f"{plan.replications} per instance, drawn from its key"),
        *((f"SHA-256 of {name}", digest) for name, digest in plan.digests.items()),
    ]
    return [
        Section("Provenance", [FactList("provenance", facts[:MOST_FACTS])]),
        Section("How to repeat it", of_campaign(found.path, plan, versions[0] if versions else {})),
    ]


def _seeds(plan: Plan) -> Iterator[str]:
    for block in plan.instances:
        if block.files is not None:
            yield f"{block.family} {block.files}: {len(block.numbers(plan.digests))} files"
            continue
        seeds = block.numbers({})
        first, last, n = seeds[0], seeds[-1], len(seeds)
        source = block.trace or block.preset or "first preset"
        yield f"{block.family} {source}: {n} from {first} to {last}"
