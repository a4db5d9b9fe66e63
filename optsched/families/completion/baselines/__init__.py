"""The schedulers that the paper compares with (Sec. 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optsched.families.completion.baselines.antman import AntMan
from optsched.families.completion.baselines.common import Baseline
from optsched.families.completion.baselines.drf import Drf
from optsched.families.completion.baselines.fifo import Fifo
from optsched.families.completion.baselines.tiresias import Tiresias

BASELINES: Mapping[str, Callable[[], Baseline]] = {c.name: c for c in (Fifo, Drf, AntMan, Tiresias)}
