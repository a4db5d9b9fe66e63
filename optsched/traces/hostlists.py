"""Slurm's host lists: several names of nodes in one text, such as ``node[01-04,07],gpu3``."""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import product

NO_HOST = ("", "None assigned", "None", "Unknown", "(null)")
PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")  # between commas outside of brackets
PIECE = re.compile(r"\[[^\[\]]*\]|[^\[]+")
SPANS = re.compile(r"\[\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*\]")
MOST_HOSTS = 10**5  # of one job
LONGEST_NAME = 255


@cache
def hosts_in(text: str) -> tuple[str, ...]:
    """Return the names in a host list; () if there is none, or if there are too many.

    >>> hosts_in("node[01-03,07],gpu3"), hosts_in("r[1-2]n[1,4]"), hosts_in("None assigned")
    (('node01', 'node02', 'node03', 'node07', 'gpu3'), ('r1n1', 'r1n4', 'r2n1', 'r2n4'), ())
    """
    found: list[str] = []
    for part in () if text in NO_HOST else PART.findall(text):
        choices = [_choices(piece) for piece in PIECE.findall(part)]
        length = sum(len(max(some, key=len, default="")) for some in choices)
        left = MOST_HOSTS - len(found)
        if length > LONGEST_NAME or not 0 < math.prod(map(len, choices)) <= left:
            return ()
        found += map("".join, product(*choices))
    return tuple(dict.fromkeys(found))


def _choices(piece: str) -> list[str]:
    """Return what a piece of a part may be: itself, or numbers; [] if they are too many."""
    if not SPANS.fullmatch(piece):
        return [piece]
    found: list[str] = []
    for span in piece[1:-1].split(","):
        first, _, last = span.partition("-")
        numbers = range(int(first), int(last or first) + 1)
        if len(found) + len(numbers) > MOST_HOSTS:
            return []
        found += [str(n).zfill(len(first)) for n in numbers]
    return found
