"""Partitions of a log as resources, for `traces`: a job runs on the nodes of its partition only.

A partition is a resource that its nodes have and its jobs need. Partitions that share nodes also
need what all their nodes have together: by Hall's theorem, jobs of a pool have units on nodes of
their own partitions if and only if no such union is overloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from optsched.problem import InputError

MOST_SHARES = 256


@dataclass(frozen=True)
class Share:
    """Nodes that limit the jobs which use no others."""

    rows: frozenset[int]  # of the list of machines
    labels: tuple[str, ...]  # partitions of these jobs, as they name them

    def __str__(self) -> str:
        return " + ".join(label or "any" for label in self.labels)


def shares(labels: Sequence[str], nodes: Sequence[str]) -> list[Share]:
    """Return the sets of nodes that limit the jobs.

    Parameters
    ----------
    labels : sequence of str
        Partition of each job; of several, with commas between, it may use the nodes of all; of
        none (""), every node.
    nodes : sequence of str
        Partitions of each row of machines, likewise; where none has any, labels mean nothing.

    Raises
    ------
    InputError
        A row or a partition of jobs has no partition or nodes, or too many partitions overlap.
    """
    there = [split(text) for text in nodes]
    every = frozenset(range(len(nodes)))
    if not any(there):
        return [Share(every, tuple(dict.fromkeys(labels)))]
    if not all(there):
        raise InputError(
            f"list of machines, row {there.index(set()) + 1}: has no partition and others have "
            "one, expected one in every row"
        )
    known = sorted(set().union(*there))
    rows = {}
    for label in dict.fromkeys(labels):
        wanted = split(label)
        if lost := sorted(wanted - {*known}):
            raise InputError(
                f"partition {lost[0]!r} of the log has no nodes in the list of machines, expected "
                f"one of: {', '.join(known)}; add its nodes to the list, or remove its jobs from "
                "the log"
            )
        rows[label] = frozenset(h for h in every if not wanted or wanted & there[h])
    found = [*dict.fromkeys(rows.values())]
    for one in found:  # which grows by the unions of those that overlap
        for other in found:
            if one & other and one | other not in found:
                found.append(one | other)
        if len(found) > MOST_SHARES:
            raise InputError(
                f"partitions that share nodes have more than {MOST_SHARES} unions, expected fewer "
                "that overlap"
            )
    return [Share(one, tuple(p for p in rows if rows[p] <= one)) for one in found]


def split(text: str) -> set[str]:
    """Return the partitions that a text names, with commas between."""
    return {name.strip() for name in text.split(",")} - {""}
