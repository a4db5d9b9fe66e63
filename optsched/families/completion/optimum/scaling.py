"""Objective scaling: weights times a power of ten for all methods, and results scaled back exactly.

Solvers have absolute tolerances (Gleixner et al., 2016). So every method solves the instance with
its weights multiplied by a power of ten, so that the greatest has four digits before the point.
Results are mapped back: schedules unchanged, values and bounds divided, certificates with their
prices divided. The base is ten because weights are decimals: 7e-13 is read as 7000, and nothing is
rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

from optsched.engine.progress import Progress
from optsched.families.completion.certificate.check import CompletionCertificate
from optsched.families.completion.instance import CompletionInstance, CompletionJob
from optsched.families.completion.optimum.initial_bounds import one_by_one
from optsched.families.completion.optimum.large import large
from optsched.numbers.resources import exact
from optsched.problem import Method
from optsched.scheduling.units import InUnits

DIGITS = 4  # of the greatest weight
MOST_CELLS = 2**25  # of what is free on servers


def at_any_scale(method: Method) -> Method:
    """Return the method for weights of any size; it begins with the jobs one by one.

    Where they are many, a better schedule comes as soon.
    """

    def run(inst: CompletionInstance, progress: Progress, *, threads: int, seed: int) -> None:
        quick = None if large(inst) else one_by_one(inst)
        if quick is not None:
            ends = (pieces[-1].end for pieces in quick.jobs)
            value = math.fsum(job.weight * end for job, end in zip(inst.jobs, ends, strict=True))
            progress.incumbent(value, quick)
        if progress.stop() or (too_long(inst) and not large(inst)):
            return
        power = power_of(inst)
        if power == 0:
            method(inst, progress, threads=threads, seed=seed)
            return
        twin, back = scaled(inst, power), partial(unscaled, inst, power=power)
        inner: Any = _InWeights(progress, twin, -power, back)
        method(twin, inner, threads=threads, seed=seed)

    return run


def too_long(inst: CompletionInstance) -> bool:
    """Whether what is free on all servers in all slots does not fit into memory."""
    slots = inst.deadline or 2 * inst.horizon + max((_least_time(j) for j in inst.jobs), default=0)
    servers, resources = inst.arrays.capacity.shape
    return bool(servers * (resources + len(inst.worker_types)) * slots > MOST_CELLS)


def _least_time(job: CompletionJob) -> int:
    """Return how many slots the mini-batches of a job take at least."""
    return int(job.batches * exact(min(job.batch_time)) / job.chunks)


def power_of(inst: CompletionInstance) -> int:
    """Return by which power of ten the weights are to be multiplied."""
    heaviest = max((exact(job.weight) for job in inst.jobs), default=Fraction(1))
    digits = len(str(int(heaviest))) if heaviest >= 1 else 1 - len(str(int(1 / heaviest)))
    power = DIGITS - digits
    while heaviest * Fraction(10) ** power < 10 ** (DIGITS - 1):
        power += 1
    while heaviest * Fraction(10) ** power >= 10**DIGITS:
        power -= 1
    return power


def scaled(inst: CompletionInstance, power: int) -> CompletionInstance:
    """Return the instance with its weights times a power of ten."""
    factor = Fraction(10) ** power
    jobs = tuple(
        job.model_copy(update={"weight": float(exact(job.weight) * factor)}) for job in inst.jobs
    )
    return inst.model_copy(update={"jobs": jobs})


def unscaled(
    inst: CompletionInstance, certificate: CompletionCertificate, power: int
) -> CompletionCertificate:
    """Return the certificate of the scaled instance for the instance itself.

    A program proves a value of its weights alone: it is left out where the last digit of one was
    rounded.
    """
    factor = Fraction(10) ** -power  # of all prices
    weights = [exact(job.weight) / factor for job in inst.jobs]
    program = certificate.program if all(w == exact(float(w)) for w in weights) else None
    bits = math.ceil(math.log2(factor))  # so that no number becomes larger
    factor /= Fraction(2) ** bits
    lists = tuple(
        tuple((t, c, r, new) for t, c, r, price in entries if (new := round(price * factor)))
        for entries in certificate.prices
    )
    return CompletionCertificate(
        instance_sha256=inst.digest(),
        grid_bits=certificate.grid_bits - bits,
        prices=lists,
        nodes=certificate.nodes,
        program=program,
        relaxed=certificate.relaxed,
    )


class _InWeights(InUnits):
    """The progress of the instance, for a method that works on one with 10**-exponent its weights.

    Values and bounds are multiplied exactly, then rounded once.
    """

    def times(self, x: float, exponent: int) -> float:
        """Return x * 10**exponent."""
        return float(Fraction(x) * Fraction(10) ** exponent) if math.isfinite(x) else x
