"""What a figure says: statements of the paper, each beside our number, and one of three verdicts.

The rules are the same for all figures, so that none is bent to its result:

1. An effect is told from noise by the 95 % interval of its paired differences over instances. If
   that holds 0 there is no effect that we can tell, and a statement that there is one does not
   agree.
2. If all instances give the same number, so that nothing is compared, nothing agrees.
3. An effect that the paper has too, but another size, agrees in direction. A size is the paper's if
   the paper's number lies in our interval, or ours is between half and twice of it.
4. A figure agrees as well as the worst of its statements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np

from optsched.intervals import student

SAME_SIZE = 2.0  # a number within this factor of the paper's has its size
LARGE = 1000.0  # per cent, which are printed whole
NEAR_ONE = 1.1  # below it a ratio is printed with a digit more
LEVEL = 0.05  # p from which two counts may be the same
SAME = "nothing is compared: all instances give the same number"
NOISE = "no effect that we can tell"
CUT, TOO_WIDE = "†", "nothing is below it: the interval is too wide to say how much"


class Verdict(StrEnum):
    """How far our numbers bear out a statement."""

    AGREES = "agrees"
    DIRECTION = "agrees in direction, not in size"
    DIFFERS = "does not agree"


WORST_LAST = tuple(Verdict)


@dataclass(frozen=True)
class Estimate:
    """A mean over instances."""

    mean: float
    interval: tuple[float, float] | None  # 95 %; None for one number
    count: int
    same: bool = False  # all instances gave exactly `nothing`: neither more nor less
    difference: tuple[float, float] | None = None  # of a ratio: interval of the paired difference
    least: float | None = None  # nothing below it can be; its interval may be

    @classmethod
    def of(cls, sample: Sequence[float], *, nothing: float | None = 0.0) -> Estimate:
        """Return the mean of ``sample``; ``nothing`` is what no effect would give."""
        interval = None
        if len(sample) > 1 and all(map(math.isfinite, sample)):
            low, high = student(np.asarray(sample, dtype=float))
            interval = float(low), float(high)
        same = nothing is not None and all(x == nothing for x in sample)
        return cls(sum(sample) / len(sample), interval, len(sample), same)


def lead(ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
    """Return by how much the mean of ``ours`` is above that of ``theirs``, relatively.

    The numbers are paired: of the same instances, in the same order. The interval is that of a
    ratio of means, which is wide where the mean of ``theirs`` is small; whether there is a lead at
    all is told by the paired differences. None where the mean of ``theirs`` is not positive: a
    share of it means nothing. Where no number of ``ours`` is negative, there is no lead below -1.

    >>> found = lead([3.0, 3.0], [2.0, 2.0])
    >>> found.mean, found.interval, found.difference
    (0.5, (0.5, 0.5), (1.0, 1.0))
    """
    a, b = (np.asarray(x, dtype=float) for x in (ours, theirs))
    if not b.mean() > 0:
        return None
    ratio = float(a.mean() / b.mean())
    found = Estimate.of((ratio - 1 + (a - ratio * b) / b.mean()).tolist(), nothing=None)
    apart = Estimate.of((a - b).tolist(), nothing=None).interval
    least = -1.0 if (a >= 0).all() else None
    return Estimate(ratio - 1, found.interval, len(a), bool((a == b).all()), apart, least)


def differences(ours: Sequence[float | None], theirs: Sequence[float | None]) -> list[float]:
    """Return by how much each of ``ours`` is above its pair, where both have a number.

    >>> differences([3.0, 2.0, None], [1.0, 2.5, 1.0])
    [2.0, -0.5]
    """
    pairs = zip(ours, theirs, strict=True)
    return [a - b for a, b in pairs if a is not None and b is not None]


def fewer(pairs: Sequence[float], of: Sequence[object], why: str) -> str:
    """Say why there are fewer pairs than instances; "" if there are as many.

    >>> fewer([1.0, 2.0], range(3), "where both have one")
    '2 of 3 instances: where both have one'
    >>> fewer([1.0, 2.0], range(2), "where both have one")
    ''
    """
    return "" if len(pairs) == len(of) else f"{len(pairs)} of {len(of)} instances: {why}"


Number = float | tuple[float, float] | None


@dataclass(frozen=True)
class Finding:
    """One statement of the paper, what it prints, what we found."""

    claim: str
    paper: Number  # a number or a range; None where none is printed
    ours: float | None
    verdict: Verdict | None  # None: shown, but not judged
    interval: tuple[float, float] | None = None
    count: int | None = None  # instances
    unit: str = ""  # "%": numbers are shares
    bound: Literal["", "at least ", "at most "] = ""  # of the paper's number
    note: str = ""
    least: float | None = None  # below it no interval is printed

    def summary(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return {
            "claim": self.claim,
            "paper": self.paper,
            "bound": self.bound.strip(),
            "ours": self.ours,
            "interval": self.interval,
            "least": self.least,
            "instances": self.count,
            "unit": self.unit,
            "verdict": self.verdict,
            "note": self.note,
        }

    @property
    def printed(self) -> str:
        """What the paper prints, in words."""
        if self.paper is None:
            return ""
        ends = self.paper if isinstance(self.paper, tuple) else (self.paper,)
        return self.bound + " to ".join(self._number(x) for x in ends)

    @property
    def found(self) -> str:
        """What we found, in words."""
        if self.ours is None:
            return "-"
        ends = ""
        if self.interval is not None:
            low, high = (self._number(x, unit=False) for x in self.interval)
            ends = f" [{low}, {high}]"
            if self.least is not None and self.interval[0] < self.least:
                ends = f" [{self._number(self.least, unit=False)}{CUT}, {high}] ({CUT} {TOO_WIDE})"
        return self._number(self.ours) + ends

    def _number(self, x: float, *, unit: bool = True) -> str:
        if self.unit == "%":
            share = round(100 * x, 6) + 0.0  # and no -0
            text = f"{share:+.0f}" if abs(share) >= LARGE else f"{share:+.3g}"
            return text + (" %" if unit else "")
        return f"{x:{'.5g' if 1 <= abs(x) < NEAR_ONE else '.4g'}}" + (
            f" {self.unit}" if unit and self.unit else ""
        )

    def __str__(self) -> str:
        paper = f"paper {self.printed}, " if self.printed else ""
        end = f" - {self.note}" if self.note else ""
        judged = "not judged" if self.verdict is None else self.verdict
        return f"{self.claim}: {paper}here {self.found}: {judged}{end}"


@dataclass(frozen=True)
class Outcome:
    """Findings on a figure, and what else is to be said."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of what is judged."""
        return max(
            (f.verdict for f in self.findings if f.verdict is not None), key=WORST_LAST.index
        )

    @property
    def words(self) -> str:
        """All in one line."""
        return "; ".join([*map(str, self.findings), *self.notes])


def effect(
    claim: str,
    found: Estimate | None,
    *,
    sign: int = 1,
    paper: float | None = None,
    at_least: bool = False,
    unit: str = "%",
    note: str = "",
) -> Finding:
    """Judge a difference that the paper says is there.

    Parameters
    ----------
    claim : str
    found : Estimate or None
        Of paired differences; None where they mean nothing.
    sign : {1, -1}
        Which way it goes in the paper.
    paper : float, optional
        What the paper prints, with its sign; by default it prints no number.
    at_least : bool
        Whether the paper's number is a bound that any larger effect meets.
    unit, note : str
    """
    bound: Literal["", "at least "] = "at least " if at_least else ""
    if found is None:
        return Finding(claim, paper, None, Verdict.DIFFERS, unit=unit, bound=bound, note=note)
    verdict, why = _effect(found, sign, paper, at_least=at_least)
    return Finding(
        claim, paper, found.mean, verdict, found.interval, found.count, unit, bound,
        "; ".join(filter(None, [why, _told(found), note])), found.least,
    )  # fmt: skip


def _told(found: Estimate) -> str:
    """Return the differences that tell an effect from noise, where the interval says otherwise."""
    if found.difference is None or found.interval is None:
        return ""
    low, high = found.difference
    if (low <= 0 <= high) == (found.interval[0] <= 0 <= found.interval[1]):
        return ""
    return f"the paired differences, {low:.4g} to {high:.4g}, tell"


def _effect(
    found: Estimate, sign: int, paper: float | None, *, at_least: bool
) -> tuple[Verdict, str]:
    if found.same:
        return Verdict.DIFFERS, SAME
    if found.interval is None:
        return Verdict.DIFFERS, "one instance tells no effect from noise"
    low, high = sorted(sign * x for x in found.difference or found.interval)
    if low <= 0 <= high:
        return Verdict.DIFFERS, NOISE
    if high < 0:
        return Verdict.DIFFERS, "the other way round"
    if paper is None or (sign * found.mean >= sign * paper and at_least):
        return Verdict.AGREES, ""
    near = 1 / SAME_SIZE <= found.mean / paper <= SAME_SIZE
    if not at_least and (near or found.interval[0] <= paper <= found.interval[1]):
        return Verdict.AGREES, ""
    return Verdict.DIRECTION, ""


def within(
    claim: str,
    found: Estimate,
    *,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    note: str = "",
) -> Finding:
    """Judge a mean of which the paper says that it is at least, at most, or between numbers."""
    inside = (low is None or found.mean >= low) and (high is None or found.mean <= high)
    paper: Number = (
        (low, high) if low is not None and high is not None else high if low is None else low
    )
    bound: Literal["", "at least ", "at most "] = ""
    if not isinstance(paper, tuple):
        bound = "at most " if low is None else "at least "
    verdict = Verdict.AGREES if inside and not found.same else Verdict.DIFFERS
    why = SAME if found.same else ""
    return Finding(
        claim, paper, found.mean, verdict, found.interval, found.count, unit, bound,
        "; ".join(filter(None, [why, note])),
    )  # fmt: skip


def apart(ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
    """Return how far the mean of ``ours`` is above that of ``theirs``, which are not paired.

    None where one has no numbers.
    """
    if not ours or not theirs:
        return None
    both = [Estimate.of(x, nothing=None) for x in (ours, theirs)]
    mean, ends = both[0].mean - both[1].mean, None
    halves = [(e.interval[1] - e.interval[0]) / 2 for e in both if e.interval is not None]
    if len(halves) == len(both):
        half = math.hypot(*halves)
        ends = mean - half, mean + half
    return Estimate(mean, ends, min(e.count for e in both), False)


def overlap(claim: str, sample: Sequence[float], paper: tuple[float, float]) -> Finding:
    """Judge a mean of which the paper prints a 95 % interval: the same if ours meets it."""
    if len(sample) < 2:
        return Finding(claim, paper, None, Verdict.DIFFERS, count=len(sample))
    found = Estimate.of(sample, nothing=None)
    low, high = found.interval or (found.mean, found.mean)
    verdict = Verdict.DIFFERS
    if low <= paper[1] and paper[0] <= high:
        verdict = Verdict.AGREES
    elif paper[0] / SAME_SIZE <= found.mean <= paper[1] * SAME_SIZE:
        verdict = Verdict.DIRECTION
    return Finding(claim, paper, found.mean, verdict, found.interval, found.count)


def about(
    claim: str, found: Estimate | float | None, paper: float, *, unit: str = "", note: str = ""
) -> Finding:
    """Judge a number that the paper prints: the same within a factor of two, or in our interval."""
    if found is None:
        return Finding(claim, paper, None, Verdict.DIFFERS, unit=unit, note=note)
    e = found if isinstance(found, Estimate) else Estimate(found, None, 1)
    low, high = e.interval or (e.mean, e.mean)
    near = 1 / SAME_SIZE <= e.mean / paper <= SAME_SIZE or low <= paper <= high
    verdict = Verdict.AGREES if near else Verdict.DIFFERS
    count = e.count if isinstance(found, Estimate) else None
    return Finding(claim, paper, e.mean, verdict, e.interval, count, unit, note=note)


def counted(
    claim: str, ours: int, of: int, paper: int, paper_of: int, *, note: str = ""
) -> Finding:
    """Judge a count: the same unless Fisher's exact test tells the two apart.

    Two that differ, but are on the same side of one half, agree in direction.
    """
    if ours == paper == 0 or fisher(ours, of, paper, paper_of) >= LEVEL:
        verdict = Verdict.AGREES
    elif (2 * ours > of) == (2 * paper > paper_of):
        verdict = Verdict.DIRECTION
    else:
        verdict = Verdict.DIFFERS
    return Finding(
        claim, paper / paper_of, ours / of, verdict, count=of,
        note="; ".join(filter(None, [f"{ours} of {of}, paper {paper} of {paper_of}", note])),
    )  # fmt: skip


def fisher(a: int, n: int, b: int, m: int) -> float:
    """Return the two-sided p that a of n and b of m have the same probability.

    >>> round(fisher(3, 3, 0, 3), 3)
    0.1
    """

    def ways(k: int) -> int:
        return math.comb(n, k) * math.comb(m, a + b - k)

    seen = ways(a)
    fewest, most = max(0, a + b - m), min(n, a + b)
    return sum(w for w in map(ways, range(fewest, most + 1)) if w <= seen) / math.comb(n + m, a + b)


def stated(claim: str, holds: bool, *, note: str = "", ours: float | None = None) -> Finding:
    """Judge a statement that is true or not, and about which no noise is possible."""
    verdict = Verdict.AGREES if holds else Verdict.DIFFERS
    return Finding(claim, None, ours, verdict, note=note)


def shown(
    claim: str,
    found: Estimate | float | None,
    *,
    paper: Number = None,
    unit: str = "",
    note: str = "",
) -> Finding:
    """Return what is shown beside, and not judged: another reading, or a number of ours."""
    if not isinstance(found, Estimate):
        return Finding(claim, paper, found, None, unit=unit, note=note)
    return Finding(
        claim, paper, found.mean, None, found.interval, found.count, unit, "", note, found.least
    )
