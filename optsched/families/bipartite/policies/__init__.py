"""The policies that the paper compares with; all see the jobs of a slot before they decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optsched.families.bipartite.policies.drf import Drf
from optsched.families.bipartite.policies.fairness import Fairness
from optsched.families.bipartite.policies.packing import BinPacking, Spreading
from optsched.problem import Policy

BASELINES: Mapping[str, Callable[..., Policy]] = {
    "drf": Drf,
    "fairness": Fairness,
    "fairness-printed": lambda **options: Fairness(**{"among": "all", **options}),
    "binpacking": BinPacking,
    "spreading": Spreading,
}

__all__ = ["BASELINES", "BinPacking", "Drf", "Fairness", "Spreading"]
