"""Verdicts: statements of the paper, each with our number, and one of five verdicts.

One function, `decide`, judges them all:

1. With no number, a single instance, or no difference on any instance, we *cannot tell*.
2. An effect is separated from noise by the 95 % interval of its paired differences over instances.
   If that holds 0 we *cannot tell*; if it lies on the other side the statement *does not hold*.
3. A statement *holds* if our number is the paper's: it is between half and twice of it, the paper's
   number is in our interval, or the whole interval keeps the paper's limit; and if the interval is
   not wider than a factor of 4. An effect that the paper has too, but of another size or less
   exactly known, *holds in direction*.
4. A number without a direction, or a limit, *does not hold* where the whole interval states it.

A significance that the paper states is judged by its own test, at its level (`stated`).

Statements whose units or data are not printed are shown, and *not testable*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

from optsched.papers.estimate import MeanEstimate

SAME_SIZE = 2.0  # a number within this factor of the paper's has its size
LARGE = 1000.0  # per cent, which are printed whole
NEAR_ONE = 1.1  # below it a ratio is printed with a digit more
LEVEL = 0.05  # p from which two counts may be the same
MOST_JUDGED, MOST_OTHERS = 14, 3  # findings below a picture; all of them are in the file
SAME = "nothing is compared: all instances give the same number"
NOISE = "no effect that we can tell"
NO_NUMBER = "no instance gives a number"
ONE = "too few instances for an interval"
OTHER_WAY = "the other way round"
WIDE = "the interval is wider than a factor of 4"
CUT, TOO_WIDE = "†", "nothing is below it: the interval is too wide to tell how much"


class Support(StrEnum):
    """How far our numbers support a statement."""

    HOLDS = "holds"
    DIRECTION = "holds in direction"
    UNKNOWN = "cannot tell"
    FAILS = "does not hold"
    UNTESTABLE = "not testable"


Number = float | tuple[float, float] | None
Bound = Literal["", "at least ", "at most "]


@dataclass(frozen=True)
class Finding:
    """One statement of the paper, what it prints, what we found."""

    claim: str
    paper: Number  # a number or a range; None where none is printed
    ours: float | None
    verdict: Support | None  # None: shown, but not judged
    interval: tuple[float, float] | None = None
    count: int | None = None  # instances
    unit: str = ""  # "%": numbers are shares
    bound: Bound = ""  # of the paper's number
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
        """Value of the paper, in words."""
        if self.paper is None:
            return ""
        ends = self.paper if isinstance(self.paper, tuple) else (self.paper,)
        return self.bound + " to ".join(self._number(x) for x in ends)

    @property
    def found(self) -> str:
        """Our value, in words."""
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
        return f"{self.claim}: {paper}here {self.found}: {self.judged}{end}"

    @property
    def judged(self) -> str:
        """The verdict in words; where we cannot tell, of how many instances."""
        if self.verdict is None:
            return "not judged"
        if self.verdict is Support.UNKNOWN:
            return f"{self.verdict} (n = {self.count or 0})"
        return str(self.verdict)


@dataclass(frozen=True)
class Outcome:
    """Findings on a figure, and what else is to be reported."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def tally(self) -> dict[Support, int]:
        """How many statements have each verdict."""
        judged = [f.verdict for f in self.findings if f.verdict is not None]
        return {verdict: judged.count(verdict) for verdict in Support}

    @property
    def score(self) -> str:
        """How many of the statements hold, in direction at least."""
        return score(self.tally)

    @property
    def words(self) -> str:
        """All in one line."""
        return "; ".join([*map(str, self.findings), *self.notes])

    def caption(self, claim: str) -> list[str]:
        """Return the lines below a picture: the paper's statement, and the first findings."""
        judged = [f for f in self.findings if f.verdict is not None]
        others = [f for f in self.findings if f.verdict is None]
        kept = [*judged[:MOST_JUDGED], *others[:MOST_OTHERS]]
        lines = [f"The paper: {claim}.", f"Here: {self.score}.", *(f"- {f}" for f in kept)]
        left = len(self.findings) - len(kept)
        return lines + [f"- and {left} more, in the file"] * bool(left)


def score(tally: Mapping[Support, int]) -> str:
    """Return how many statements of those that can be tested hold, in direction at least.

    >>> score({Support.HOLDS: 3, Support.DIRECTION: 1, Support.UNKNOWN: 2, Support.UNTESTABLE: 5})
    '4 of 6 statements hold (1 in direction; cannot tell 2; not testable 5)'
    """
    held = tally.get(Support.HOLDS, 0) + tally.get(Support.DIRECTION, 0)
    of = sum(n for verdict, n in tally.items() if verdict is not Support.UNTESTABLE)
    parts = [f"{tally[Support.DIRECTION]} in direction"] * bool(tally.get(Support.DIRECTION))
    for verdict in (Support.UNKNOWN, Support.FAILS, Support.UNTESTABLE):
        if tally.get(verdict):
            parts.append(f"{verdict} {tally[verdict]}")
    if not of:
        parts = [f"{verdict} {tally[verdict]}" for verdict in Support if tally.get(verdict)]
        return "; ".join(parts) or "no statement"
    text = f"{held} of {of} statement{'s' * (of != 1)} {'holds' if of == 1 else 'hold'}"
    return text + (f" ({'; '.join(parts)})" if parts else "")


Region = tuple[float, float]
ANYWHERE: Region = (-math.inf, math.inf)


def decide(
    found: MeanEstimate | None,
    *,
    region: Region = ANYWHERE,
    printed: Region | None = None,
    beyond: tuple[int, float] | None = None,
    whole: bool = False,
) -> tuple[Support, str]:
    """Judge a number of ours by what the paper states of it: the one rule for all statements.

    Parameters
    ----------
    found : Estimate or None
        None where there is no number.
    region : (float, float)
        Where our number must be.
    printed : (float, float), optional
        What the paper prints; our interval may meet it instead.
    beyond : (sign, float), optional
        The direction: above (1) or below (-1) a number.
    whole : bool
        Whether all of the interval must be in the region: of limits.

    Returns
    -------
    verdict, why
    """
    if found is None:
        return Support.UNKNOWN, NO_NUMBER
    if found.same:
        return Support.UNKNOWN, SAME
    if found.interval is None:
        return Support.UNKNOWN, ONE
    low, high = found.interval
    if beyond is not None:
        sign, nothing = beyond
        least, most = sorted(sign * (x - nothing) for x in found.difference or found.interval)
        if least <= 0 <= most:
            return Support.UNKNOWN, NOISE
        if most < 0:
            return Support.FAILS, OTHER_WAY
    inside = region[0] <= low and high <= region[1]
    if not whole:
        meets = printed is not None and low <= printed[1] and printed[0] <= high
        inside = region[0] <= found.mean <= region[1] or meets
    if inside:
        return (Support.DIRECTION, WIDE) if found.wide else (Support.HOLDS, "")
    if beyond is not None:
        return Support.DIRECTION, ""
    outside = high < region[0] or region[1] < low
    return (Support.FAILS, "") if outside else (Support.UNKNOWN, "the limit is in our interval")


def effect(
    claim: str,
    found: MeanEstimate | None,
    *,
    sign: int = 1,
    paper: Number = None,
    at_least: bool = False,
    unit: str = "%",
    note: str = "",
) -> Finding:
    """Judge a difference that the paper states is there.

    Parameters
    ----------
    claim : str
    found : Estimate or None
        Of paired differences; None where they mean nothing.
    sign : {1, -1}
        Which way it goes in the paper.
    paper : float or (float, float), optional
        The number or range that the paper prints, with its sign; by default it prints none.
    at_least : bool
        Whether the paper's number is a bound that any larger effect meets: "at least" its number,
        "at most" where ``sign`` is -1.
    unit, note : str
    """
    region, printed = ANYWHERE, None
    if paper is not None:
        ends = sorted(paper if isinstance(paper, tuple) else (paper, paper), key=abs)
        if at_least:
            region = (ends[0], math.inf) if sign > 0 else (-math.inf, ends[0])
        else:
            low, high = sorted((ends[0] / SAME_SIZE, ends[1] * SAME_SIZE))
            region, printed = (low, high), (min(ends), max(ends))
    decided = decide(found, region=region, printed=printed, beyond=(sign, 0.0))
    made = shown(claim, found, paper=paper, unit=unit, note=_and(_stated(found), note))
    bound: Bound = "at least " if sign > 0 else "at most "
    return _judged(made, decided, bound if at_least else "")


def _judged(made: Finding, decided: tuple[Support, str], bound: Bound = "") -> Finding:
    """Return a finding with its verdict, and first of all why."""
    verdict, why = decided
    note = _and(why, made.note)
    return replace(made, verdict=verdict, bound=bound, note=note, count=made.count or 0)


def _and(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _stated(found: MeanEstimate | None) -> str:
    """Return differences that separate an effect from noise where the interval does not."""
    if found is None or found.difference is None or found.interval is None:
        return ""
    low, high = found.difference
    if (low <= 0 <= high) == (found.interval[0] <= 0 <= found.interval[1]):
        return ""
    return f"the paired differences, {low:.4g} to {high:.4g}, decide"


def within(
    claim: str,
    found: MeanEstimate | None,
    *,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    note: str = "",
) -> Finding:
    """Judge a mean of which the paper states that it is at least, at most, or between numbers."""
    region = (-math.inf if low is None else low, math.inf if high is None else high)
    paper: Number = (
        (low, high) if low is not None and high is not None else high if low is None else low
    )
    bound: Bound = ""
    if not isinstance(paper, tuple):
        bound = "at most " if low is None else "at least "
    made = shown(claim, found, paper=paper, unit=unit, note=note)
    return _judged(made, decide(found, region=region, whole=True), bound)


def about(
    claim: str, found: MeanEstimate | None, paper: float | Region, *, unit: str = "", note: str = ""
) -> Finding:
    """Judge a number, or an interval, that the paper prints and that is not a difference."""
    low, high = paper if isinstance(paper, tuple) else (paper, paper)
    region = low / SAME_SIZE, high * SAME_SIZE
    made = shown(claim, found, paper=paper, unit=unit, note=note)
    return _judged(made, decide(found, region=region, printed=(low, high)))


def counted(
    claim: str, ours: int, of: int, paper: int, paper_of: int, *, note: str = ""
) -> Finding:
    """Judge a count: it is the paper's unless Fisher's exact test separates the two.

    The direction is the side of one half. A share near 1 is known as exactly as its complement.
    """
    from scipy.stats import fisher_exact  # here, since it takes a while to import

    found = MeanEstimate.share(ours, of)
    both = [[ours, of - ours], [paper, paper_of - paper]]
    if fisher_exact(both).pvalue >= LEVEL:
        share = min(found, MeanEstimate.share(of - ours, of), key=lambda e: e.wide)
        verdict, why = decide(share)
    else:
        sign = 1 if 2 * paper > paper_of else -1
        at = replace(found, difference=(found.mean, found.mean))
        verdict, why = decide(at, region=(1.0, 0.0), beyond=(sign, 0.5))
    note = _and(f"{ours} of {of}, paper {paper} of {paper_of}", why, note)
    return replace(shown(claim, found, paper=paper / paper_of, note=note), verdict=verdict)


def stated(
    claim: str,
    holds: bool,
    *,
    note: str = "",
    ours: float | None = None,
    paper: float | None = None,
    bound: Bound = "",
) -> Finding:
    """Judge what is true or not: no noise is possible, or the paper's own test judges it."""
    verdict = Support.HOLDS if holds else Support.FAILS
    return Finding(claim, paper, ours, verdict, bound=bound, note=note)


def untestable(claim: str, found: MeanEstimate | None, why: str, **shown_as: Any) -> Finding:
    """Return a statement of which the paper does not print what it takes to repeat it."""
    made = shown(claim, found, note=why, **shown_as)
    return replace(made, verdict=Support.UNTESTABLE)


def shown(
    claim: str,
    found: MeanEstimate | float | None,
    *,
    paper: Number = None,
    unit: str = "",
    note: str = "",
) -> Finding:
    """Return a finding without a verdict: another reading, or a number of ours."""
    if not isinstance(found, MeanEstimate):
        return Finding(claim, paper, found, None, unit=unit, note=note)
    return Finding(
        claim, paper, found.mean, None, found.interval, found.count, unit, "", note, found.least
    )
