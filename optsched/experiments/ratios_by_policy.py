"""From cells to ratios: to the best known schedule of each instance.

All cells of a store are rated at once, column by column: a million of them take some seconds.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from optsched.base import renamed_names
from optsched.core import quotient
from optsched.experiments.cell_keys import (
    AHEAD,
    CALLED,
    IN_SANDBOX,
    WINDOWS,
    Reference,
    canonical,
    contender_of,
    known_of,
    knows_future,
    missing_guards,
    source_of,
)
from optsched.experiments.plan import stored_plan
from optsched.experiments.store import LEVELS, CellState, Store
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.problem import RELAXATION, Family, InputError, get_family
from optsched.process.messages import printable

Cell = dict[str, Any]
NUMBERS = ("value", "known", "low", "high")  # of a cell
COLUMNS = [
    *("key", "family", "source", "instance_seed", "instance_sha256", "policy", "replication"),
    *("seed", "status", "value", "ratio_low", "ratio_high", "best", "optimum", "bound"),
    *("bound_level", "certified_bound", "method", "limit", "limited_to", "effort", "seconds"),
    *("optimum_seconds", "schedule_sha256", "optimum_schedule_sha256", "certificate_sha256"),
    *("versions", "optimum_versions", "message"),
]
KNOWN = ("optimum", "bound", "certified_bound")  # of its optimum


@dataclass(frozen=True)
class Cells:
    """Cells with their optima, column by column: arrays of shape (n,), or one entry per case.

    A case is an instance with a reference. A number that is NaN is unknown.
    """

    case: Ints  # of each cell
    policy: Ints  # of each cell: its number among ``policies``
    status: Ints  # of each cell, as far as its optimum ended too
    numbers: dict[str, Floats]  # `NUMBERS` of each cell, `KNOWN` of each case
    policies: list[str]  # as they are stored
    cases: list[tuple[Any, str, str]]  # instance, source and reference, as they are stored
    instances: dict[Any, tuple[int, str]]  # seed and digest
    known: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by policies, beforehand
    called: Mapping[str, str] = field(default_factory=dict)  # policies from outside: own names
    given: Mapping[str, str] = field(default_factory=dict)  # names of sources: `plan_names`
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)  # guards of sandboxes

    @classmethod
    def read(cls, store: Store) -> Self:
        """Read all cells of a store, in the order of their keys."""
        words = dict(store.rows("SELECT id, text FROM word"))
        cells = np.array(
            store.rows(
                "SELECT instance, reference, policy, status, value, known, low, high FROM cell "
                "ORDER BY key"
            ),
            dtype=float,
        ).reshape(-1, 8)
        instance, reference, policy, status = cells[:, :4].astype(np.int64).T
        cases, case = np.unique(np.column_stack((instance, reference)), axis=0, return_inverse=True)
        policies, policy = np.unique(policy, return_inverse=True)
        known = {
            number: (key if digest is None else digest, source, seed, digest)
            for number, key, source, seed, digest in store.rows(
                "SELECT id, key, source, seed, digest FROM instance"
            )
        }
        optima = {
            (digest, reference): numbers
            for digest, reference, *numbers in store.rows(
                "SELECT digest, reference, status, value, bound, certified FROM optimum"
            )
        }
        missing = [int(CellState.LIMIT), None, None, None]
        pairs = [(number, spec) for number, spec in cases.tolist()]
        found = [optima.get((known[i][0], r), missing) for i, r in pairs]
        best = np.array(found, dtype=float).reshape(-1, 4)
        case = case.reshape(-1)
        said = store.rows(
            "SELECT DISTINCT p.text, m.text FROM cell JOIN word p ON p.id = policy "
            f"JOIN word m ON m.id = message WHERE status = {int(CellState.DONE)}"
        )
        said_of: dict[str, list[str]] = {}
        for text, message in said:
            said_of.setdefault(text, []).append(message)
        return cls(
            case,
            policy,
            np.maximum(status, best[case, 0].astype(np.int64)),
            dict(zip(NUMBERS, cells[:, 4:].T, strict=True))
            | dict(zip(KNOWN, best[:, 1:].T, strict=True)),
            [words[number] for number in policies.tolist()],
            [(i, words[known[i][1]], words[r]) for i, r in pairs],
            {i: (row[2], "" if row[3] is None else row[3].hex()) for i, row in known.items()},
            {
                text: frozenset(chain.from_iterable(map(known_of, messages)))
                for text, messages in said_of.items()
            },
            {text: message.partition(CALLED)[2] for text, message in said if CALLED in message},
            plan_names(store),
            {text: missing_guards(messages) for text, messages in said_of.items()},
        )

    def names(self) -> list[str]:
        """Return the name of every policy: its own, or as requested where another one has it."""
        labels = [contender_of(content) for content in self.policies]
        families = {family.name: family for family, _ in self.groups()}.values()
        own = {text: contender_of(text, name) for text, name in self.called.items()}
        uses = Counter([*own.values(), *labels, *(p for f in families for p in f.policies)])
        mine = [own.get(content, "") for content in self.policies]
        found = [m if uses[m] == 1 else label for m, label in zip(mine, labels, strict=True)]
        return [self._guarded(*each) for each in zip(found, self.policies, strict=True)]

    def _guarded(self, name: str, content: str) -> str:
        """Return the name of a policy with the guards that were missing."""
        missing, data = self.missing.get(content), json.loads(content)
        if not missing or not (data.get("sealed") or data["policy"].startswith("exec:")):
            return name
        return (
            f"{name.removesuffix(IN_SANDBOX)}{IN_SANDBOX} (partial, without {', '.join(missing)})"
        )

    def groups(self) -> list[tuple[Family, str]]:
        """Return family and group of every case."""
        references = {reference for *_, reference in self.cases}
        found = {
            (source, reference): (
                get_family(source_of(source)[0]),
                group_of(source, reference, references, self.given),
            )
            for source, reference in {case[1:] for case in self.cases}
        }
        return [found[case[1:]] for case in self.cases]


def plan_names(store: Store) -> dict[str, str]:
    """Return names that the plan of a store gives: labels of sources by their content.

    And those of its traces, without folders, by SHA-256.
    """
    try:
        plan = stored_plan(store.facts().get("plan", ""), store.path)
    except InputError:
        return {}
    found = {plan.digests[b.trace]: b.trace for b in plan.instances if b.trace in plan.digests}
    uses = Counter(Path(name).name for name in found.values())
    short = {d: Path(n).name if uses[Path(n).name] == 1 else n for d, n in found.items()}
    labelled = (b.sources(plan.digests, plan.folder) for b in plan.instances if b.label)
    return short | {canonical(source.content): source.label for each in labelled for source in each}


def _numbered(values: Sequence[Any]) -> tuple[list[Any], Ints, Ints]:
    """Return the distinct values, the index of each value among them, and their first positions."""
    place = {value: k for k, value in enumerate(dict.fromkeys(values))}
    numbers = np.array([place[value] for value in values], dtype=np.int64)
    return list(place), numbers, np.unique(numbers, return_index=True)[1]


@dataclass(frozen=True)
class PolicyRatios:
    """Results of the cells: arrays of shape (n,); cells without a ratio have NaN."""

    best: Floats  # the best known schedule of the instance
    low: Floats
    high: Floats


def rate(cells: Cells) -> PolicyRatios:
    """Return the ratio of every cell.

    Where a policy has found more than the search, the low ends are those to its schedule; a
    relaxation is no search, and its value stays the reference of the policies.
    """
    n, case = len(cells.cases), cells.case
    families = [family for family, _ in cells.groups()]
    value, known, low, high = (cells.numbers[name] for name in NUMBERS)
    optimum, bound, certified = (cells.numbers[name] for name in KNOWN)
    sign = np.array([family.sign for family in families], dtype=float)
    measured = np.array([family.measure is not None for family in families], dtype=bool)

    has = ~np.isnan(known)
    top = np.full(n, -math.inf)
    np.maximum.at(top, case[has], sign[case[has]] * known[has])
    found = np.zeros(n, dtype=bool)
    found[case[has]] = True
    found &= ~np.array([is_relaxation(reference) for *_, reference in cells.cases], dtype=bool)
    with np.errstate(invalid="ignore"):
        ahead = found & (np.isnan(optimum) | (top - sign * optimum > 0))
        best = np.where(ahead, sign * top, optimum)[case]

    refuted = np.zeros(n, dtype=bool)
    refuted[case[~np.isnan(low) & np.isnan(high)]] = True
    # where ratios are no quotients: how much nearer to the best the best policy is
    factor = np.ones(n)
    nearer = has & ~np.isnan(low) & (low != 0)
    np.minimum.at(factor, case[nearer], low[nearer])

    low = low.copy()
    passed = ahead[case]
    low[passed & measured[case]] /= factor[case[passed & measured[case]]]
    for k in np.flatnonzero(passed & ~measured[case] & ~np.isnan(value)).tolist():
        low[k] = quotient(families[case[k]].sense, float(value[k]), float(best[k]))
    low[np.isnan(value)] = math.nan
    unbounded = refuted | np.isnan(np.where(np.isnan(certified), bound, certified))
    ends = np.where(unbounded[case] | np.isnan(high), math.inf, high)
    return PolicyRatios(best, low, np.where(np.isnan(low), math.nan, np.maximum(low, ends)))


def is_relaxation(reference: str) -> bool:
    """Return whether a reference, as it is stored, is the relaxation."""
    return bool(json.loads(reference)["method"] == RELAXATION)


def rated(store: Store) -> Iterator[Cell]:
    """Yield the cells of `Store.view`.

    With ``best``, ``ratio`` (low, high) or None, ``group``, and labels of ``source`` and ``policy``
    as ``source_label`` and ``policy_name``.
    """
    cells, rows = Cells.read(store), store.view()  # both by key
    found, groups, names = rate(cells), cells.groups(), cells.names()
    labels = {source: source_of(source, cells.given)[1] for _, source, _ in cells.cases}
    columns_of = (cells.case, cells.policy, found.best, found.low, found.high)
    ends = zip(*(x.tolist() for x in columns_of), strict=True)
    for cell, (case, policy, best, low, high) in zip(rows, ends, strict=True):
        cell["best"] = None if math.isnan(best) else best
        cell["ratio"] = None if math.isnan(low) else (low, high)
        named = {"source_label": labels[cell["source"]], "policy_name": names[policy]}
        yield cell | named | {"group": groups[case][1]}


@dataclass(frozen=True)
class RatioSample:
    """The ratios of one policy on the instances of one source (averaged over its seeds)."""

    group: str
    policy: str
    instances: tuple[tuple[int, str], ...]  # seed and digest of each
    low: Floats  # (n,)
    high: Floats  # (n,), infinite where there is no bound
    open: int  # instances whose optimum is not closed
    errors: int  # cells without a ratio
    nothing: int  # ratios 0/0
    least: float = 0.0  # no ratio is below: 1 where the policy keeps to the model
    drawn: bool = False  # all instances are the same window of a trace: seeds draw attributes only
    foresight: bool = False  # the policy knew the future
    own: tuple[str, ...] = ()  # statistics from outside that it knew
    claimed: int = 0  # ratios whose high end no certificate proves
    requested: str = ""  # as the plan names it, if that is another name
    family: str = ""

    @property
    def count(self) -> int:
        """How many instances have a ratio."""
        return len(self.low)


__getattr__ = renamed_names(__name__, Sample="RatioSample")


def samples(cells: Cells) -> list[RatioSample]:
    """Return the ratios by source and policy, in a fixed order."""
    rated_cells, of_cases = rate(cells), cells.groups()
    groups = [group for _, group in of_cases]
    names, case_group, _ = _numbered(groups)
    label_names, policy_label, _ = _numbered(cells.names())
    of = case_group[cells.case] * len(label_names) + policy_label[cells.policy]
    order = np.argsort(of, kind="stable")
    starts = np.flatnonzero(np.diff(of[order], prepend=-1))
    made = []
    for inside in np.split(order, starts[1:]) if len(order) else []:
        group, label = divmod(int(of[inside[0]]), len(label_names))
        sample = _sample(names[group], label_names[label], cells, rated_cells, inside)
        family, content = (
            of_cases[cells.case[inside[0]]][0],
            cells.policies[cells.policy[inside[0]]],
        )
        known = cells.known.get(content, frozenset())
        ahead = AHEAD in known or knows_future(family, content)
        plain = contender_of(content)
        requested = plain if plain != sample.policy else ""
        own = tuple(sorted(known - {AHEAD}))
        made.append(
            replace(sample, foresight=ahead, own=own, requested=requested, family=family.name)
        )
    return sorted(made, key=lambda s: (s.group, s.policy))


def _sample(
    group: str, policy: str, cells: Cells, found: PolicyRatios, inside: Ints
) -> RatioSample:
    """Average over the seeds of a policy on each instance; ``inside`` are its cells."""
    case = cells.case[inside].tolist()
    instances, of, first = _numbered([cells.cases[k][0] for k in case])
    low, high, has = found.low[inside], found.high[inside], ~np.isnan(found.low[inside])
    count = np.bincount(of[has], minlength=len(instances))
    kept = np.flatnonzero(count)
    names = [cells.instances[instances[k]] for k in kept.tolist()]
    order = sorted(range(len(names)), key=names.__getitem__)

    def mean(ends: Floats) -> Floats:
        total = np.bincount(of[has], weights=ends[has], minlength=len(instances))
        averages: Floats = (total[kept] / count[kept])[order]
        return averages

    windows = [json.loads(source).get("window") for source in {cells.cases[c][1] for c in case}]
    status, known = cells.status[inside], cells.numbers["known"][inside]
    bounded = ~np.isnan(cells.numbers["bound"]) & np.isnan(cells.numbers["certified_bound"])
    zero: Flags = has & (cells.numbers["value"][inside] == 0) & (found.best[inside] == 0)
    return RatioSample(
        group=group,
        policy=policy,
        instances=tuple(names[k] for k in order),
        low=mean(low),
        high=mean(high),
        open=int((status[first] == CellState.LIMIT).sum()),
        errors=int((~has | (status == CellState.ERROR)).sum()),
        nothing=int(zero.sum()),
        least=float(not np.isnan(known[has]).any()),
        drawn=all(w is not None and WINDOWS not in w for w in windows),
        claimed=int((bounded[cells.case[inside]] & np.isfinite(low)).sum()),
    )


def group_of(source: str, reference: str, references: set[str], names: Mapping[str, str]) -> str:
    """Name a group as it is stored; with its reference where the source alone is ambiguous."""
    _, label = source_of(source, names)
    if len(references) == 1:
        return label
    if is_relaxation(reference):
        return f"{label} [LP relaxation]"
    spec = json.loads(reference)
    limit = f"{spec['time_limit']:g} s" if spec["effort"] is None else f"{spec['effort']:g} units"
    return f"{label} [{spec['method']}, {limit}]"


def cells(path: Path) -> list[list[Any]]:
    """Return the rows of the table, in the order of `COLUMNS`, by key.

    Digests of schedules and certificates are the first 16 bytes. Ratios are those of the
    statistics: to the best schedule that is known.
    """
    with Store.open(path) as store:
        return [_row(cell) for cell in rated(store)]


def _row(cell: Cell) -> list[Any]:
    family, _ = source_of(cell["source"])
    spec = Reference(**json.loads(cell["reference"]))
    low, high = cell["ratio"] or (None, None)
    level = cell["bound_level"]
    spent = cell["optimum_micros"]
    return [
        *(
            cell["key"].hex(),
            family,
            cell["source_label"],
            cell["instance_seed"],
            cell["instance_sha256"],
        ),
        *(cell["policy_name"], cell["replication"], cell["seed"]),
        *(CellState(cell["status"]).name.lower(), cell["value"], low, high, cell["best"]),
        *(cell["optimum"], cell["bound"], None if level is None else str(LEVELS[level])),
        *(cell["certified_bound"], spec.method, spec.limit),
        *(spec.time_limit if spec.effort is None else spec.effort, cell["effort"]),
        *(cell["micros"] / 1e6, None if spent is None else spent / 1e6),
        *(cell["schedule"], cell["optimum_schedule"], cell["certificate"]),
        *(cell["versions"], cell["optimum_versions"]),
        cell["message"] and printable(cell["message"]),
    ]
