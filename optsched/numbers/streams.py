"""Random numbers: one stream for every (seed, attribute, job).

More jobs, or one more attribute, leave all other draws as they were, on any number of processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.random import Generator, default_rng

from optsched.numbers.arrays import Floats, Ints


@dataclass(frozen=True)
class Streams:
    """The random streams of one seed.

    >>> a, b = Streams(1), Streams(1)
    >>> a("arrival", 0).random() == b("arrival", 0).random() != b("arrival", 1).random()
    True
    """

    seed: int

    def __call__(self, attribute: str, job: int = 0) -> Generator:
        """Return the stream of ``attribute`` for ``job``, always from its beginning."""
        return default_rng([self.seed, crc32(attribute.encode()), job])

    def each(self, attribute: str, jobs: range) -> Iterator[Generator]:
        """Yield the stream of every job."""
        return (self(attribute, job) for job in jobs)

    def randoms(self, attribute: str, jobs: range, number: int) -> Floats:
        """Return the first numbers of [0, 1) in the stream of every job, shape (J, number).

        >>> Streams(1).randoms("arrival", range(2), 1).round(3).tolist()
        [[0.543], [0.69]]
        """
        drawn = [rng.random(number) for rng in self.each(attribute, jobs)]
        return np.array(drawn).reshape(len(jobs), number)

    def uniforms(
        self, attribute: str, jobs: range, low: float | Floats, high: float | Floats
    ) -> Floats:
        """Return the first draw of `uniform` from the stream of every job, shape (J,)."""
        return np.asarray(low + (high - low) * self.randoms(attribute, jobs, 1)[:, 0])

    def wholes(self, attribute: str, jobs: range, low: int, high: int | Ints) -> Ints:
        """Return the first draw of `draw_whole` from the stream of every job, shape (J,)."""
        highs = np.broadcast_to(np.asarray(high, dtype=np.int64), len(jobs)).tolist()
        streams = self.each(attribute, jobs)
        drawn = [draw_whole(rng, (low, most)) for rng, most in zip(streams, highs, strict=True)]
        return np.array(drawn, dtype=np.int64)


def draw_whole(rng: Generator, limits: tuple[float, float]) -> int:
    """Draw a whole number, both ends included."""
    return int(rng.integers(int(limits[0]), int(limits[1]), endpoint=True))
