"""Types of GPUs as resources, for `traces`: a job that requested a type runs on nodes that have it.

Such a resource is called ``gpu:TYPE``, next to `gpu`, of which nodes with types have as many.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from optsched.numbers.arrays import Floats
from optsched.process import messages
from optsched.traces.tables import tell_types

GRES = re.compile(r"gpu:([^:,()]+):(\d+)")


def with_types(
    taken: pd.DataFrame, listed: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame | None, list[str]]:
    """Return jobs and machines with a column for each type, and its name.

    Types that the list of machines does not have are not distinguished, which a remark states.
    """
    asked = taken["gpu_type"].where(taken["gpu"] > 0, "")
    found, lost = list[str](), list[str]()
    for kind in sorted({*asked} - {""}):
        there = None if listed is None else _offered(kind, listed)
        if listed is None or there is None or not there.any():
            lost.append(kind)
            continue
        found.append(f"gpu:{kind}")
        listed = listed.assign(**{found[-1]: there})
        taken = taken.assign(**{found[-1]: taken["gpu"].where(asked == kind, 0.0)})
    why = "expected a list of machines with a column gres, as gpu:a100:8"
    if listed is not None and (listed["gpu_type"] != "").any():
        why = "no node of the list has such GPUs"
    tell_types(asked, lost, why)
    if found and listed is not None:
        counts = [int(listed["count"][listed[x] > 0].sum()) for x in found]
        nodes = [
            f"{n} {('node ', 'nodes ')[n > 1] * (k == 0)}{('has', 'have')[n > 1]} {x[4:]}"
            for k, (n, x) in enumerate(zip(counts, found, strict=True))
        ]
        number = sum((taken[x] > 0).sum() for x in found)
        messages.remark(
            f"{number} of {len(taken)} jobs requested a type of GPU, and run on nodes that have "
            f"it ({', '.join(nodes)})"
        )
    return taken, listed, found


def _offered(kind: str, listed: pd.DataFrame) -> Floats:
    """Return how many GPUs of a type one machine of each row has.

    Names of models or machines are, or else contain, that of the type.
    """
    texts = [str(text).lower() for text in listed["gpu_type"]]
    gpus = listed["gpu"].to_numpy(dtype=np.float64)
    part = re.compile(rf"(?<![a-z]){re.escape(kind)}(?!\d)")
    named = [kind == text if kind in texts else bool(part.search(text)) for text in texts]
    exact = [GRES.findall(text) for text in texts]
    counts = [sum(int(n) for x, n in some if x == kind) for some in exact]
    return np.where([bool(some) for some in exact], counts, named * gpus)
