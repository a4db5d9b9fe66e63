"""Settings that the figures of the OASiS paper share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optsched.problem import Policy, get_family

MACHINES = 100  # H + K = 50 + 50
FLOOR = 0.01
FLOORED = f"oasis, L floor {FLOOR}"  # utilities below 1 % of the best do not count in L
LABELS = {"oasis": "OASiS", "fifo": "FIFO", "drf": "DRF", "rrh": "RRH", "dorm": "Dorm"}
PRESETS = {  # the verdict is about the first; the second moves targets by the shortest runs
    "paper": "as printed",
    "earnable": "targets within reach",
}
SCHEMES = ("oasis", FLOORED, "fifo", "drf", "rrh", "dorm")


def policy(scheme: str, **options: Any) -> Policy:
    """Return the policy of a scheme."""
    known = get_family("oasis").policies
    if scheme == FLOORED:
        return known["oasis"](L_floor=FLOOR, **options)
    return known[scheme](**options)


def label(scheme: str) -> str:
    """Return the name of a scheme as the paper writes it."""
    return LABELS.get(scheme, scheme.replace("oasis", "OASiS"))


def listed(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
