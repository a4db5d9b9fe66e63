"""What stands below a picture: the statement of the paper, its numbers, ours, the verdict."""

from __future__ import annotations

from optsched.papers.verdict import Outcome

MOST = 16  # findings; all of them are in the file


def caption(claim: str, outcome: Outcome) -> list[str]:
    """Return the lines below a picture."""
    lines = [f"The paper: {claim}.", f"Here: {outcome.verdict}."]
    lines += [f"- {finding}" for finding in outcome.findings[:MOST]]
    if len(outcome.findings) > MOST:
        lines.append(f"- and {len(outcome.findings) - MOST} more, in the file")
    return lines
