"""Packs: many results in one file, a line each, compressed.

    benchmarks/instances/
      oasis/small-drawn.jsonl.xz     each line is a result file as it stands
      oasis/table.csv                derived from the packs: status, interval, features

The entry on line 17 of this pack is named ``oasis-small-drawn-0017``.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import optsched
from optsched.files.disk import open_file, write_whole
from optsched.files.envelope import LARGEST, envelope, parse_json
from optsched.optimum import Optimum
from optsched.problem import InputError, Instance
from optsched.results.result import result_content

SUFFIX = ".jsonl.xz"
NAME = re.compile(r"([a-z]+)-([a-z]+-[a-z]+)-(\d{4,})")
SMALLEST = lzma.PRESET_EXTREME | 9


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
            The file cannot be read or unpacked, or a line has no end within the largest file.
        """
        with open_file(self.path) as raw:
            try:
                with lzma.open(raw) as unpacked:
                    texts = iter(lambda: unpacked.readline(LARGEST + 1), b"")
                    for number, text in islice(enumerate(texts, start=1), first - 1, last):
                        if len(text) > LARGEST:
                            raise InputError(
                                f"{self.path}, line {number}: above {LARGEST} bytes, expected less"
                            )
                        yield self.entry(number), text
            except (lzma.LZMAError, EOFError) as err:
                raise InputError(f"{self.path}: cannot be unpacked: {err}") from err

    def write(self, texts: Sequence[bytes]) -> None:
        """Write the pack anew, whole or not at all."""
        write_whole(self.path, lzma.compress(b"".join(texts), preset=SMALLEST))


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


def read_entry(text: bytes, name: str) -> dict[str, Any]:
    """Return the content of a result; ``name`` stands in messages."""
    return parse_json(text, Path(name), "result")


def result_text(instance: Instance, optimum: Optimum) -> bytes:
    """Return the line of a pack: a result file, without the course of the search."""
    lean = optimum.model_copy(
        update={"history": (), "shadow_prices": (), "seconds": round(optimum.seconds, 3)}
    )
    content: dict[str, Any] = {"instance_sha256": instance.digest()}
    content |= {"instance": instance.model_dump(mode="json")} | result_content(lean)
    return envelope("result", instance.family, content).encode()
