"""Where the workers and parameter servers of one job sit in one slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Placement:
    """Numbers by machine; machines without any are left out."""

    workers: Mapping[int, int] = field(default_factory=dict)
    ps: Mapping[int, int] = field(default_factory=dict)
