"""The worst verdict of a figure, for tests in which one statement is bent."""

from __future__ import annotations

from optsched.papers.verdict import Outcome, Verdict

ORDER = (
    Verdict.HOLDS,
    Verdict.DIRECTION,
    Verdict.UNTESTABLE,
    Verdict.UNKNOWN,
    Verdict.FAILS,
)


def worst(outcome: Outcome) -> Verdict:
    """Return the worst of what is judged."""
    return max((f.verdict for f in outcome.findings if f.verdict is not None), key=ORDER.index)
