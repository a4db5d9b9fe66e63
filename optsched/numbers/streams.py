"""Random numbers: one stream for every (seed, attribute, job).

More jobs, or one more attribute, leave all other draws as they were, on any number of processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from numpy.random import PCG64, Generator, default_rng
from numpy.typing import NDArray

from optsched.numbers.arrays import Floats, Ints, Unsigned

Words = Unsigned
Long = NDArray[np.uint64]

WORD, LONG = 2**32 - 1, 2**128 - 1
MIX = (0x43B0D7E5, 0x931E8875)  # constants of numpy's SeedSequence, and of PCG64
SPREAD = (0x8B51F9DD, 0x58F38DED)
LEFT, RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
STEP = 0x2360ED051FC65DA44385DF649FCCF645
POOL = 4
HALF = np.uint64(32)
AT_ONCE = 1024  # jobs


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
        """Yield the stream of every job, as a call does, but many times as fast.

        All are one generator: a stream ends where the next one begins.

        >>> [round(rng.random(), 3) for rng in Streams(1).each("arrival", range(2))]
        [0.543, 0.69]
        """
        bits = PCG64(0)
        rng = Generator(bits)
        words = _words([*_split(self.seed), crc32(attribute.encode())], jobs)
        for w in words.tolist():
            start, twice = w[0] << 64 | w[1], (w[2] << 65 | w[3] << 1 | 1) & LONG
            first = ((twice + start) * STEP + twice) & LONG
            bits.state = {
                "bit_generator": "PCG64",
                "state": {"state": first, "inc": twice},
                "has_uint32": 0,
                "uinteger": 0,
            }
            yield rng

    def randoms(self, attribute: str, jobs: range, number: int) -> Floats:
        """Return the first numbers of [0, 1) in the stream of every job, shape (J, number).

        >>> Streams(1).randoms("arrival", range(2), 1).round(3).tolist()
        [[0.543], [0.69]]
        """
        drawn = self._first(attribute, jobs, number) >> np.uint64(11)
        return np.asarray(drawn.astype(np.float64) / 2.0**53)

    def uniforms(
        self, attribute: str, jobs: range, low: float | Floats, high: float | Floats
    ) -> Floats:
        """Return what `uniform` draws first from the stream of every job, shape (J,)."""
        return np.asarray(low + (high - low) * self.randoms(attribute, jobs, 1)[:, 0])

    def wholes(self, attribute: str, jobs: range, low: int, high: int | Ints) -> Ints:
        """Return what `draw_whole` draws first from the stream of every job, shape (J,)."""
        sizes = np.broadcast_to(np.asarray(high, dtype=np.int64) - low + 1, len(jobs))
        if not len(jobs) or sizes.min() < 1 or sizes.max() > WORD:
            each = zip(jobs, sizes.tolist(), strict=True)
            return np.array(
                [draw_whole(self(attribute, j), (low, low + n - 1)) for j, n in each],
                dtype=np.int64,
            )
        size = sizes.astype(np.uint64)
        product = (self._first(attribute, jobs, 1)[:, 0] & np.uint64(WORD)) * size
        drawn = low + (product >> HALF).astype(np.int64)
        # numpy draws again where so few of the 2**32 are left that some numbers were more likely
        for k in np.flatnonzero((product & np.uint64(WORD)) < size):
            drawn[k] = draw_whole(self(attribute, jobs[k]), (low, low + int(sizes[k]) - 1))
        return drawn

    def _first(self, attribute: str, jobs: range, number: int) -> Long:
        """Return the first words of the stream of every job, shape (J, number)."""
        words = _words([*_split(self.seed), crc32(attribute.encode())], jobs)
        one = np.uint64(1)
        twice = words[:, 2] << one | words[:, 3] >> np.uint64(63), words[:, 3] << one | one
        state = _sum(_stepped(_sum((words[:, 0], words[:, 1]), twice)), twice)
        out = np.empty((len(words), number), dtype=np.uint64)
        for k in range(number):
            high, low = state = _sum(_stepped(state), twice)
            mixed, turn = high ^ low, high >> np.uint64(58)
            out[:, k] = mixed >> turn | mixed << (-turn & np.uint64(63))
        return out


@dataclass(frozen=True)
class Ahead(Streams):
    """The same streams, many times as fast for those who ask for one job after the other.

    A stream ends where that of the next job, of the same attribute, begins.
    """

    _each: dict[str, tuple[int, Iterator[Generator]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __call__(self, attribute: str, job: int = 0) -> Generator:
        """Return the stream of ``attribute`` for ``job``, always from its beginning."""
        place, rest = self._each.get(attribute, (-1, iter(())))
        if job <= place:
            return super().__call__(attribute, job)
        for _ in range(job - place - 1):
            next(rest, None)
        rng = next(rest, None)
        if rng is None:
            rest = self.each(attribute, range(job, job + AT_ONCE))
            rng = next(rest)
        self._each[attribute] = (job, rest)
        return rng


def _split(number: int) -> list[int]:
    """Return the 32-bit words of a number, the lowest first."""
    words = [number & WORD]
    while number := number >> 32:
        words.append(number & WORD)
    return words


def _words(before: list[int], jobs: range) -> NDArray[np.uint64]:
    """Return what numpy's SeedSequence makes of the entropy ``before`` + [job]; shape (J, 4)."""
    number = np.array(jobs, dtype=np.uint32)
    entropy = [np.full(len(number), word, dtype=np.uint32) for word in before] + [number]
    entropy += [np.zeros_like(number)] * (POOL - len(entropy))
    scramble = _Hash(*MIX)
    pool = [scramble(word) for word in entropy[:POOL]]
    for source in range(POOL):
        for into in range(POOL):
            if source != into:
                pool[into] = _mixed(pool[into], scramble(pool[source]))
    for word in entropy[POOL:]:
        for into in range(POOL):
            pool[into] = _mixed(pool[into], scramble(word))
    scramble = _Hash(*SPREAD)
    out = np.stack([scramble(pool[k % POOL]) for k in range(2 * POOL)], axis=1)
    return out[:, ::2].astype(np.uint64) | out[:, 1::2].astype(np.uint64) << np.uint64(32)


Wide = tuple[Long, Long]  # numbers of 128 bits: their high and their low halves


def _sum(a: Wide, b: Wide) -> Wide:
    low = a[1] + b[1]
    return a[0] + b[0] + (low < b[1]), low


def _stepped(a: Wide) -> Wide:
    """Return `STEP` times a number."""
    high, low = a
    step = np.uint64(STEP >> 64), np.uint64(STEP & (2**64 - 1))
    word = np.uint64(WORD)
    ends, tops = (low & word, low >> HALF), (step[1] & word, step[1] >> HALF)
    middle = ends[1] * tops[0] + (ends[0] * tops[0] >> HALF)
    carried = ends[0] * tops[1] + (middle & word)
    over = ends[1] * tops[1] + (middle >> HALF) + (carried >> HALF)
    return high * step[1] + low * step[0] + over, low * step[1]


class _Hash:
    """Scrambles words; its constant is another one at every call."""

    def __init__(self, constant: int, factor: int) -> None:
        self._constant, self._factor = constant, factor

    def __call__(self, words: Words) -> Words:
        mixed = words ^ np.uint32(self._constant)
        self._constant = self._constant * self._factor & WORD
        mixed = mixed * np.uint32(self._constant)
        return _folded(mixed)


def _mixed(a: Words, b: Words) -> Words:
    return _folded(a * LEFT - b * RIGHT)


def _folded(words: Words) -> Words:
    folded: Words = words ^ words >> np.uint32(16)
    return folded


def draw_whole(rng: Generator, limits: tuple[float, float]) -> int:
    """Draw a whole number, both ends included."""
    return int(rng.integers(int(limits[0]), int(limits[1]), endpoint=True))
