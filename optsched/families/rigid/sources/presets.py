"""Random instances.

Preset `lublin` resembles the batch jobs of the model of Lublin and Feitelson (2003): a quarter of
the jobs is serial; the logarithm of the size of the others is uniform in two stages, and three
quarters of them are powers of two; the logarithm of the run time is hyper-gamma, with a mixture
that depends on the size. Arrivals are those of a Poisson process whose rate gives the offered load;
the model's daily cycle is left out. Preset `small` has few short jobs, for trying everything.
Requested times are run times stretched by a drawn factor, rounded up to whole minutes in `lublin`.

One stream per (seed, attribute, job): more jobs leave the other draws as they were.
"""

from __future__ import annotations

import math

from optsched.families.rigid.instance import LATEST, Machine, Objective, RigidInstance, RigidJob
from optsched.files.provenance import names_changes
from optsched.numbers import settings
from optsched.numbers.streams import Streams

PRESETS = ("lublin", "small")
SERIAL, POWER_OF_TWO, SMALLER = 0.244, 0.75, 0.86
LOW, SPLIT = 0.8, 2.5  # log2 of the size: least, and from the largest down to where stages meet
SHORT, LONG = (4.2, 0.94), (312.0, 0.03)  # shape and scale of the two gammas
LONGEST = 2 * 86400  # seconds
DRAWN = ("arrival", "run", "request", "tasks", "user")
USERS = 8


@names_changes()
def generate(
    preset: str,
    *,
    seed: int = 0,
    jobs: int | None = None,
    machines: int | None = None,
    load: float = 0.9,
    objective: Objective = "flow",
    packed: bool = False,
) -> RigidInstance:
    """Draw an instance.

    Parameters
    ----------
    preset : str
        ``lublin`` or ``small``.
    seed : int
    jobs : int, optional
        By default 200 (``small``: 8).
    machines : int, optional
        Nodes of one processor, by default 128 (``small``: 4); ``packed``: nodes of four.
    load : float
        Offered load, which sets the rate of arrivals.
    objective : str
    packed : bool
        Whether each task runs on one node; else processors are one pool.

    Raises
    ------
    InputError
        Unknown preset, or a size that is not positive.
    """
    settings.one_of("preset", preset, PRESETS)
    small = preset == "small"
    jobs = (8 if small else 200) if jobs is None else jobs
    machines = (4 if small else 128) if machines is None else machines
    settings.whole(jobs=jobs, machines=machines)
    settings.positive(load=load)
    streams, each = Streams(seed), 4 if packed else 1
    width = machines * each
    sizes, runs = [], []
    for i in range(jobs):
        draw = streams("size", i)
        if small:
            sizes.append(int(draw.integers(1, width, endpoint=True)))
            runs.append(int(streams("run", i).integers(1, 13)))
            continue
        sizes.append(_size(draw, width))
        runs.append(_run(streams("run", i), sizes[-1]))
    mean = sum(s * r for s, r in zip(sizes, runs, strict=True)) / (jobs * width * load)
    when, listed = 0.0, []
    for i, (size, run) in enumerate(zip(sizes, runs, strict=True)):
        when += streams("arrival", i).exponential(mean) if i else 0.0
        factor = 1.0 + streams("request", i).exponential(1.0)
        unit = 1 if small else 60
        listed.append(
            RigidJob(
                arrival=min(int(when), LATEST),
                run=run,
                request=math.ceil(run * factor / unit) * unit,
                tasks=size,
                need=(1,),
                weight=int(streams("weight", i).integers(1, 4, endpoint=True)) if small else 1,
                user=f"user {streams('user', i).integers(USERS)}",
            )
        )
    return RigidInstance(
        resources=("processors",),
        machines=(Machine(name="node", count=machines, capacity=(each,)),),
        packed=packed,
        objective=objective,
        jobs=tuple(listed),
        drawn=(*DRAWN, "weight") if small else DRAWN,
        source=f"generated: preset {preset}, seed {seed}",
    )


def _size(draw: object, width: int) -> int:
    """Draw the size of a job."""
    a, b, c, d = draw.random(4)  # type: ignore[attr-defined]
    top = math.log2(width)
    if a < SERIAL or top <= LOW:
        return 1
    middle = max(LOW, top - SPLIT)
    low, high = (LOW, middle) if b < SMALLER else (middle, top)
    log = low + (high - low) * c
    size = 2 ** round(log) if d < POWER_OF_TWO else round(2**log)
    return min(width, max(1, int(size)))


def _run(draw: object, size: int) -> int:
    """Draw the run time of a job, s."""
    short = draw.random() < -0.0054 * size + 0.78  # type: ignore[attr-defined]
    log = draw.gamma(*(SHORT if short else LONG))  # type: ignore[attr-defined]
    return max(1, min(LONGEST, round(math.exp(log))))
