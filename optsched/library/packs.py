"""Packs: many results in one file, a line each, compressed.

    benchmarks/instances/
      oasis/small-drawn.jsonl.xz     each line is a complete result file
      oasis/table.csv                derived from the packs: status, interval, features

The entry on line 17 of this pack is named ``oasis-small-drawn-0017``.
"""

from __future__ import annotations

import io
import lzma
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import optsched
from optsched.core import Optimum
from optsched.files.atomic_io import open_file, write_whole
from optsched.files.format import LARGEST, envelope
from optsched.problem import InputError, Instance
from optsched.results.result import whole_content

SUFFIX = ".jsonl.xz"
NAME = re.compile(r"([a-z]+(?:-[a-z]+)?)-([a-z]+-[a-z]+)-([0-9]{4,9})")
SMALLEST = lzma.PRESET_EXTREME | 9
MEMORY = 1 << 27  # bytes that unpacking may take; `SMALLEST` needs half of them
MOST_UNPACKED = 100  # bytes of text in one byte of a pack; results have up to 25
UNSUSPECTED = 1 << 20  # bytes of text that no limit of that kind is put on
MOST_ENTRIES = 20_000  # of a pack
LONGEST = 1 << 25  # bytes of an entry; its certificate has 20 million characters at most


@dataclass(frozen=True)
class Pack:
    """One file of results of a family, of a size and an origin."""

    path: Path

    @property
    def family(self) -> str:
        """The folder's name."""
        return self.path.parent.name

    @property
    def kind(self) -> str:
        """Size and origin: ``small-drawn``."""
        return self.path.name.removesuffix(SUFFIX)

    def entry(self, line: int) -> str:
        """Return the name of the entry on a line, counted from 1."""
        return f"{self.family}-{self.kind}-{line:04d}"

    def lines(self, first: int = 1, last: int | None = None) -> Iterator[tuple[str, bytes]]:
        """Yield (name, text of its result) from line ``first`` to ``last``; none are kept.

        Raises
        ------
        InputError
            The file cannot be read or unpacked, or is too large: its text as a whole, its text
            next to its size, an entry, or the number of entries.
        """
        with open_file(self.path) as raw:
            unpacked = io.BufferedReader(_Unpacked(self.path, raw))
            line = partial(unpacked.readline, LONGEST + 1)
            try:
                texts = enumerate(map(self._short, iter(line, b"")), start=1)
                for number, text in islice(texts, first - 1, last):
                    if number > MOST_ENTRIES:
                        raise InputError(
                            f"{self.path}: more than {MOST_ENTRIES} entries, expected at most that"
                        )
                    yield self.entry(number), text
            except (lzma.LZMAError, EOFError) as err:
                raise InputError(f"{self.path}: cannot be unpacked: {err}") from err

    def _short(self, text: bytes) -> bytes:
        if len(text) > LONGEST:
            raise InputError(
                f"{self.path}: has an entry of more than {LONGEST} bytes, expected at most that"
            )
        return text

    def write(self, texts: Sequence[bytes]) -> None:
        """Write the pack anew, whole or not at all."""
        write_whole(self.path, lzma.compress(b"".join(texts), preset=SMALLEST))


class _Unpacked(io.RawIOBase):
    """The text of a pack, unpacked piece by piece, so that one that is too large is refused."""

    def __init__(self, path: Path, packed: BinaryIO) -> None:
        self._path, self._packed = path, packed
        self._unpack = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)
        size = os.fstat(packed.fileno()).st_size
        self._left = min(LARGEST, max(UNSUSPECTED, MOST_UNPACKED * size))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = b""
        while not piece and not self._unpack.eof:
            more = self._packed.read(len(buffer)) if self._unpack.needs_input else b""
            if self._unpack.needs_input and not more:
                raise EOFError("it ends in the middle")
            piece = self._unpack.decompress(more, len(buffer))
        if not piece and (self._unpack.unused_data or self._packed.read(1)):
            raise EOFError("there is more behind its end")
        self._left -= len(piece)
        if self._left < 0:
            raise InputError(
                f"{self._path}: unpacks to more than {MOST_UNPACKED} times its size, or to more "
                f"than {LARGEST} bytes, expected at most that"
            )
        buffer[: len(piece)] = piece
        return len(piece)


@dataclass(frozen=True)
class Library:
    """A folder of packs."""

    folder: Path

    @property
    def packs(self) -> tuple[Pack, ...]:
        """All packs, by family and name."""
        return tuple(Pack(path) for path in sorted(self.folder.glob(f"*/*{SUFFIX}")))

    @property
    def families(self) -> tuple[str, ...]:
        """The families that have packs."""
        return tuple(dict.fromkeys(pack.family for pack in self.packs))

    def place(self, name: str) -> tuple[Pack, int]:
        """Return the pack and the line of an entry.

        Raises
        ------
        InputError
            There is no such pack, or the name is none.
        """
        found = NAME.fullmatch(name)
        if found is None:
            raise InputError(f"{name!r} is no name, expected one such as oasis-small-drawn-0001")
        pack = Pack(self.folder / found[1] / f"{found[2]}{SUFFIX}")
        if pack not in self.packs or int(found[3]) < 1:
            known = ", ".join(f"{p.family}-{p.kind}" for p in self.packs)
            raise InputError(f"{name}: there is no such entry, expected one of: {known}, -0001 ...")
        return pack, int(found[3])

    def text(self, name: str) -> bytes:
        """Return the result file of an entry.

        Raises
        ------
        InputError
            There is no such entry.
        """
        pack, line = self.place(name)
        for _, text in pack.lines(line, line):
            return text
        there = sum(1 for _ in pack.lines())
        raise InputError(
            f"{name}: the pack {pack.path} has {there} entries, expected a number up to that"
        )


def open_library(folder: Path | None) -> Library:
    """Return the library in ``folder``, by default that of the source tree.

    Raises
    ------
    InputError
        There is none.
    """
    place = Path(optsched.__file__).parents[1] / "benchmarks" / "instances"
    found = Library(place if folder is None else folder)
    if folder is None and not found.packs:
        raise InputError(
            "the library is not installed with the package, expected --library FOLDER, the folder "
            "benchmarks/instances of a copy of the repository"
        )
    if not found.packs:
        raise InputError(
            f"{found.folder}: holds no packs (FAMILY/*{SUFFIX}), expected the folder "
            "benchmarks/instances of a copy of the repository (--library)"
        )
    return found


def result_text(instance: Instance, optimum: Optimum) -> bytes:
    """Return the line of a pack: a result file, without the course of the search."""
    lean = optimum.model_copy(
        update={"history": (), "shadow_prices": (), "seconds": round(optimum.seconds, 3)}
    )
    return envelope("result", instance.family, whole_content(instance, lean)).encode()
