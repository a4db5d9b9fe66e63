"""The schedulers that the paper compares with (Sec. 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optsched.families.completion.policies.antman import AntMan
from optsched.families.completion.policies.common import Baseline
from optsched.families.completion.policies.drf import Drf
from optsched.families.completion.policies.fifo import Fifo
from optsched.families.completion.policies.tiresias import Tiresias

BASELINES: Mapping[str, Callable[[], Baseline]] = {c.name: c for c in (Fifo, Drf, AntMan, Tiresias)}
