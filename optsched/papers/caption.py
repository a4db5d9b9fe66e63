"""What stands below a picture: the statement of the paper, its numbers, ours, the verdict."""

from __future__ import annotations

from optsched.papers.verdict import Outcome

MOST = 14  # findings that are judged
OTHERS = 3  # that are only shown; all of them are in the file


def caption(claim: str, outcome: Outcome) -> list[str]:
    """Return the lines below a picture."""
    judged = [f for f in outcome.findings if f.verdict is not None]
    others = [f for f in outcome.findings if f.verdict is None]
    lines = [f"The paper: {claim}.", f"Here: {outcome.score}."]
    lines += [f"- {finding}" for finding in (*judged[:MOST], *others[:OTHERS])]
    left = len(outcome.findings) - len(judged[:MOST]) - len(others[:OTHERS])
    if left:
        lines.append(f"- and {left} more, in the file")
    return lines
