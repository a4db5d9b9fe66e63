"""Random numbers: one stream for every (seed, attribute, job).

More jobs, or one more attribute, leave all other draws as they were, on any number of processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from numpy.random import Generator, default_rng


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


def draw_whole(rng: Generator, limits: tuple[float, float]) -> int:
    """Draw a whole number, both ends included."""
    return int(rng.integers(int(limits[0]), int(limits[1]), endpoint=True))
