"""Certificates of family `completion` by the program over time, also where prices would do."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from independent.completion import simple_job

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.certificate.bound import value_step
from optsched.families.completion.certificate.check import CompletionCertificate, check
from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    PsType,
    WorkerType,
)
from optsched.families.completion.optimum.relaxations.priced_search import Portfolio
from optsched.families.completion.optimum.timeline.prover import Prover
from optsched.numbers.resources import MachineClass


class Forced(Progress):
    """Nothing closes it, and it keeps the program's last certificate, whoever proves as much."""

    made: CompletionCertificate | None = None

    def tighten(self, bound: float, certificate: Callable[[], Any]) -> None:
        """Keep a bound."""
        made = certificate()
        if made.program is not None:
            self.made = made
        super().tighten(bound, certificate)


def forced(inst: CompletionInstance, seconds: float = 60.0) -> Forced:
    """Return what the program over time has found and proved, and nothing else."""
    progress = Forced(FAMILY, inst, time_limit=seconds, gap=-1.0)
    search = Portfolio(inst, progress, 1, 0)
    if search.begin():
        search.generate(1, seconds / 4)
        Prover(search).everything()
    return progress


def proof(progress: Forced) -> CompletionCertificate:
    """Return the certificate."""
    assert progress.made is not None
    return progress.made


def steps(inst: CompletionInstance, value: float) -> int:
    """Return a value in units of the weights' greatest common divisor."""
    number = Fraction(value) / value_step(inst)
    assert number.denominator == 1
    return int(number)


def changed(certificate: CompletionCertificate, **update: object) -> CompletionCertificate:
    """Return a certificate whose program is another one."""
    assert certificate.program is not None
    content = certificate.program.model_dump() | update
    return CompletionCertificate.model_validate(certificate.model_dump() | {"program": content})


def accepts(inst: CompletionInstance, certificate: CompletionCertificate, value: float) -> bool:
    """Return whether the checker takes a bound of at least ``value`` from a certificate."""
    try:
        return check(inst, certificate) >= value
    except ValueError:
        return False


def tight(seed: int) -> CompletionInstance:
    """Draw jobs with a type of worker of their own each, which hardly fit on three servers."""
    rng = np.random.default_rng([seed, 5])
    demands = [(1, 3), (2, 1), (2, 3), (4, 1), (3, 2), (1, 2), (5, 2)]
    jobs = []
    for k in range(len(demands)):
        times = np.full(len(demands), 60.0)
        times[k] = rng.integers(1, 4) - 0.1
        arrival, weight, chunks = rng.integers((0, 1, 1), (3, 20, 4)).tolist()
        jobs.append(job(arrival, weight, chunks, times.tolist()))
    return ring_or_ps(bool(seed % 2), demands, jobs, [(5, 4), (4, 5), (4, 5)])


def job(arrival: int, weight: float, chunks: int, times: list[float]) -> CompletionJob:
    """Return a job that takes one slot of ``times`` for every chunk."""
    return simple_job(arrival=arrival, weight=weight, chunks=chunks, batch_time=tuple(times))


def ring_or_ps(
    ring: bool,
    demands: list[tuple[int, int]],
    jobs: list[CompletionJob],
    servers: list[tuple[int, int]],
) -> CompletionInstance:
    """Return an instance whose PS take nothing."""
    return CompletionInstance(
        architecture="ring" if ring else "ps",
        horizon=12,
        resources=("gpu", "cpu"),
        servers=tuple(MachineClass(capacity=c) for c in servers),
        worker_types=tuple(WorkerType(demand=e, bandwidth=1.0) for e in demands),
        ps_types=() if ring else (PsType(demand=(0, 0), bandwidth=1.0),),
        jobs=tuple(jobs),
    )
