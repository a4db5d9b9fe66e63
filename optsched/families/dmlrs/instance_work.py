"""When a job is trained: the one definition of work, and how kernels count it.

A worker trains 1 / (tau + 2 g / b) mini-batches in a slot, b the inner or the outer rate. With A
worker-slots at the inner rate and B at the outer one, a job is trained if and only if

    A / (tau + 2 g / b_in) + B / (tau + 2 g / b_ex) >= E K M (1 - 1e-9),

all numbers being the decimals that are written, as fractions. `exact_work` is this inequality in
whole numbers, which may have hundreds of digits. `small_work` is the same inequality in small ones:
equivalent for every A and B up to a limit, not rounded. So code that counts in `small_work`
(kernels, models, policies) states what the feasibility check computes, also on the very edge.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from optsched.numbers.resources import EPS

MOST_WORKER_SLOTS = 2**27  # of a job in an instance: its chunks times the horizon
WORK_BITS = 56  # binary digits of a job's whole work in `kernel_work`


class Work(NamedTuple):
    """A x inner + B x outer >= total states that A inner and B outer worker-slots are enough."""

    total: int
    inner: int
    outer: int


class _Step(NamedTuple):
    """Effect (in size) of fewer inner and more outer worker-slots."""

    inner: int
    outer: int
    change: int


def exact_work(batches: int, inner_time: Fraction, outer_time: Fraction) -> Work:
    """Return the definition as whole numbers of one unit.

    Parameters
    ----------
    batches : int
        E K M.
    inner_time, outer_time : Fraction
        Slots that a worker takes for a mini-batch; the inner one is not the longer one.

    Examples
    --------
    >>> work = exact_work(6, Fraction(1, 2), Fraction(2))
    >>> small_work(work, 100)  # 3 slots of one worker, or 12 at the outer rate
    Work(total=12, inner=4, outer=1)
    """
    a, c, one = inner_time, outer_time, EPS.denominator
    common = math.gcd(batches, one)
    needed, unit = batches // common * (one - 1), one // common  # the quotient: batches (1 - 1e-9)
    return Work(
        needed * a.numerator * c.numerator,
        a.denominator * c.numerator * unit,
        c.denominator * a.numerator * unit,
    )


def small_work(work: Work, most: int) -> Work:
    """Return the same inequality in the smallest numbers, for A and B up to ``most``.

    The rates are at most 2 ``most``, the total at most 4 ``most``**2. Between two neighbouring
    fractions with terms up to ``most`` lies outer / inner. Any other ratio between them orders all
    (A, B) up to ``most`` in the same way, strictly: that of the sum of numerators and denominators
    is taken. The total is what the least (A, B) that is enough comes to.

    >>> small_work(Work(10**20 + 70, 10**19 + 7, 10**18), 50)  # only 10 inner ones, and no less
    Work(total=510, inner=51, outer=5)
    """
    unit = math.gcd(work.inner, work.outer)
    total, inner, outer = -(-work.total // unit), work.inner // unit, work.outer // unit
    if total > inner * most:
        return Work(most + 1, 1, 1)  # never
    if inner <= 2 * most:
        return Work(total, inner, outer)
    a, b = _least_enough(total, inner, outer, most)
    inner, outer = _small_rates(inner, outer, most)
    return Work(inner * a + outer * b, inner, outer)


@lru_cache(maxsize=2**10)  # jobs that train the same model have the same rates
def _small_rates(inner: int, outer: int, most: int) -> tuple[int, int]:
    """Return a ratio between the neighbours of outer / inner with terms up to ``most``."""
    down, up = _Step(1, 0, inner), _Step(0, 1, outer)
    k = j = 1
    while k or j:
        k = min((down.change - 1) // up.change, _fit(down, up, most))
        down = _plus(down, up, k)
        j = min((up.change - 1) // down.change, _fit(up, down, most))
        up = _plus(up, down, j)
    return down.outer + up.outer, down.inner + up.inner


def kernel_work(work: Work) -> Work:
    """Return the same inequality, for every job of an instance, with a total near 2**56.

    Rates are at most the total: a job with a worker that does all has enough.
    """
    total, inner, outer = small_work(work, MOST_WORKER_SLOTS)
    shift = WORK_BITS - total.bit_length()
    return Work(*(min(x, total) << shift for x in (total, inner, outer)))


def _least_enough(total: int, inner: int, outer: int, most: int) -> tuple[int, int]:
    """Return the (A, B) up to ``most`` that is enough with the least work.

    Starts with inner worker-slots alone, and takes the shortest steps that lower the work and keep
    it enough, as Euclid's algorithm finds them; ``inner`` and ``outer`` have no common divisor.
    """
    a, b = -(-total // inner), 0
    excess = a * inner - total
    down, up = _Step(1, 0, inner), _Step(0, 1, outer)
    while excess:
        k = max(0, -(-(down.change - excess) // up.change))
        if k * up.change >= down.change:  # no such step lowers the work as little as that
            down = _plus(down, up, (down.change - 1) // up.change)
            up = _plus(up, down, (up.change - 1) // down.change)
            continue
        down = _plus(down, up, k)
        times = min(excess // down.change, a // down.inner)
        if down.outer:
            times = min(times, (most - b) // down.outer)
        if not times:
            break
        a, b = a - times * down.inner, b + times * down.outer
        excess -= times * down.change
    return a, b


def _fit(step: _Step, other: _Step, most: int) -> int:
    """Return how many times ``other`` can be added to ``step`` within ``most``."""
    pairs = ((step.inner, other.inner), (step.outer, other.outer))
    return min((most - x) // y for x, y in pairs if y)


def _plus(step: _Step, other: _Step, times: int) -> _Step:
    """Return a step and ``times`` a step of the other direction."""
    return _Step(
        step.inner + times * other.inner,
        step.outer + times * other.outer,
        step.change - times * other.change,
    )
