"""Parameter ranges for worst-case search: all that a preset could have drawn, and fewer jobs.

Two draws are cut off: the arrival of a job, where all jobs before it could have run one after the
other, and a request, at twenty times the longest run.
"""

from __future__ import annotations

from typing import Any

from optsched.families.rigid.sources.presets import LONGEST, generate
from optsched.numbers.parameter_space import Data, ParameterSpace, Part, Path, Range, Whole

REQUESTED = 20  # times the longest run


def parameter_space(preset: str, **sizes: Any) -> ParameterSpace:
    """Return the space of a preset; ``sizes`` as in :func:`generate`. Machines are fixed."""
    first, small = generate(preset, seed=0, **sizes), preset == "small"
    longest, unit = (12, 1) if small else (LONGEST, 60)
    fields: dict[Path, Range] = {
        ("arrival",): Whole(0, longest * len(first.jobs)),
        ("run",): Whole(1, longest),
        ("request",): Whole(1, REQUESTED * longest),
        ("tasks",): Whole(1, first.total[0]),
    }
    if small:
        fields["weight",] = Whole(1, 4)

    def settle(data: Data) -> Data:
        for job in data["jobs"]:
            job["request"] = -(-max(job["request"], job["run"]) // unit) * unit
        return data

    def draw(seed: int) -> Data:
        made = generate(preset, seed=seed, **sizes).model_dump(mode="json")
        return made | {"drawn": [], "source": ""}

    jobs = Part(
        "jobs",
        fields,
        most=len(first.jobs),
        time=("arrival",),
        value=("weight",) if small else None,
        length={("run",): 1},
        width={("tasks",): 1},
    )
    fixed = ("resources", "units", "machines", "packed", "objective")
    return ParameterSpace("rigid", preset, draw, jobs, (), settle, fixed)
