"""The worst verdict of a figure, for tests in which one statement is bent."""

from optsched.papers.verdict import Outcome, Support

ORDER = (
    Support.HOLDS,
    Support.DIRECTION,
    Support.UNTESTABLE,
    Support.UNKNOWN,
    Support.FAILS,
)


def worst(outcome: Outcome) -> Support:
    """Return the worst of what is judged."""
    return max((f.verdict for f in outcome.findings if f.verdict is not None), key=ORDER.index)
