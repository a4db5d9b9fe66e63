"""Slurm's host lists: several names of nodes in one text, such as ``node[01-04,07],gpu3``."""

from __future__ import annotations

import re
from functools import cache

NO_HOST = ("", "None assigned", "None", "Unknown", "(null)")
PART = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")  # between commas outside of brackets
BRACKET = re.compile(r"([^\[]*)\[(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)\](.*)")
MOST_HOSTS = 10**5  # of one job


@cache
def hosts_in(text: str) -> tuple[str, ...]:
    """Return the names in a host list; () if there is none, or if there are too many.

    >>> hosts_in("node[01-03,07],gpu3"), hosts_in("r[1-2]n[1,4]"), hosts_in("None assigned")
    (('node01', 'node02', 'node03', 'node07', 'gpu3'), ('r1n1', 'r1n4', 'r2n1', 'r2n4'), ())
    """
    found: list[str] = []
    for part in () if text in NO_HOST else PART.findall(text):
        names = [part]
        while match := BRACKET.fullmatch(names[0]):
            numbers = [n for span in match[2].split(",") for n in _numbers(span)]
            if not 0 < len(names) * len(numbers) <= MOST_HOSTS:
                return ()
            ends = [BRACKET.fullmatch(name) for name in names]
            names = [f"{m[1]}{n}{m[3]}" for m in ends if m for n in numbers]
        found += names
    return tuple(dict.fromkeys(found)) if len(found) <= MOST_HOSTS else ()


def _numbers(span: str) -> list[str]:
    """Return the numbers of a span such as 01-04, with leading zeros; [] if they are too many."""
    first, _, last = span.partition("-")
    if int(last or first) - int(first) >= MOST_HOSTS:
        return []
    return [str(n).zfill(len(first)) for n in range(int(first), int(last or first) + 1)]
