"""What went wrong in a policy, told by its own lines."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

PACKAGE = str(Path(__file__).parents[1])
LIBRARIES = tuple({*sysconfig.get_paths().values(), PACKAGE})
MOST = 3  # lines of the policy that are shown


def explain(err: BaseException) -> str:
    """Return what was raised, and the last lines of the policy on the way there."""
    frames = traceback.extract_tb(err.__traceback__)
    own = [f for f in frames if not f.filename.startswith(LIBRARIES) and f.filename[:1] != "<"]
    said = " ".join(str(err).split())
    head = f"{type(err).__name__}: {said}" if said else type(err).__name__
    lines = [f"{Path(f.filename).name}, line {f.lineno}, {f.name}: {f.line}" for f in own[-MOST:]]
    return "\n  ".join([head, *lines])
