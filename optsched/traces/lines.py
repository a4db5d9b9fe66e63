"""Text files, plain or gzip, read bit by bit: a bad file costs one message, not the memory."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from optsched.base import unprintable
from optsched.files.atomic_io import open_file
from optsched.problem import InputError

LONGEST_LINE = 1 << 20  # bytes
LARGEST = 1 << 28  # bytes of a file, unpacked
MOST_UNPACKED = 50  # bytes of text in one byte of gzip; lists of jobs have up to 17
UNSUSPECTED = 1 << 20  # bytes of text that no limit of that kind is put on
PIECE = 1 << 16
MOST_ROWS = 5_000_000
MOST_COLUMNS = 1000
GZIP = b"\x1f\x8b"
BOM = "\ufeff"


@dataclass(frozen=True)
class TextLine:
    """The fields of one line, and the line's number, counted from 1."""

    line: int
    fields: Sequence[str]


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers, from 1, and lines without their ends: LF, CR LF, or CR alone.

    Raises
    ------
    InputError
        The file cannot be read, is no UTF-8 text, is a damaged gzip, or a line or the whole is too
        long.
    """
    number = 0
    with _opened(path, lambda: f"{path}, line {number + 1}") as (file, count):
        rest = b""
        while piece := file.read(PIECE):
            *whole, rest = _split(rest + piece)
            for line in whole:
                count(len(line))
                number += 1
                yield number, _text(path, number, line)
            _must_be_short(path, number + 1, rest)
        if rest:
            count(len(rest))
            number += 1
            yield number, _text(path, number, rest)


def _split(text: bytes) -> list[bytes]:
    """Return the lines of ``text``; the last one has no end yet, or a CR that an LF may follow."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[-1].endswith(b"\n"):
        lines.append(b"")
    return lines


def read_bytes(path: Path) -> bytes:
    """Return all that is in a file, unpacked.

    Raises
    ------
    InputError
        The file cannot be read, is a damaged gzip, or too long.
    """
    pieces = []
    with _opened(path, lambda: str(path)) as (file, count):
        while piece := file.read(PIECE):
            count(len(piece))
            pieces.append(piece)
    return b"".join(pieces).removeprefix(BOM.encode())


def begins(path: Path) -> bytes:
    """Return the first byte of a file, unpacked, that is no white space; nothing of an empty one.

    Raises
    ------
    InputError
        As `read_bytes`.
    """
    with _opened(path, lambda: str(path)) as (file, _):
        return file.read(PIECE).removeprefix(BOM.encode()).lstrip()[:1]


@contextmanager
def _opened(
    path: Path, place: Callable[[], str]
) -> Iterator[tuple[IO[bytes], Callable[[int], None]]]:
    """Open a file, and count what is read of it; what goes wrong is reported with its place."""
    size = 0

    def count(length: int) -> None:
        nonlocal size
        size += length
        if size > LARGEST:
            raise InputError(
                f"{place()}: more than {LARGEST} bytes of text, expected at most that; cut the file"
            )
        if size > UNSUSPECTED and size > MOST_UNPACKED * raw.tell():
            raise InputError(
                f"{place()}: the gzip unpacks to more than {MOST_UNPACKED} times its size, "
                "expected at most that"
            )

    with open_file(path) as raw, _unpacked(raw) as file:
        try:
            yield file, count
        except EOFError as err:
            raise InputError(
                f"{place()}: the gzip ends in the middle, expected a complete file"
            ) from err
        except (gzip.BadGzipFile, zlib.error) as err:
            raise InputError(
                f"{place()}: the gzip is damaged ({err}), expected a valid one"
            ) from err


def _unpacked(raw: BinaryIO) -> IO[bytes]:
    packed = raw.read(2) == GZIP
    raw.seek(0)
    return cast(IO[bytes], gzip.open(raw, "rb")) if packed else raw


def _must_be_short(path: Path, number: int, line: bytes) -> None:
    if len(line) > LONGEST_LINE:
        raise InputError(
            f"{path}, line {number}: is longer than {LONGEST_LINE} bytes, expected a list with "
            "short lines"
        )


def _text(path: Path, number: int, line: bytes) -> str:
    _must_be_short(path, number, line)
    try:
        text = line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as err:
        raise InputError(
            f"{path}, line {number}, byte {err.start + 1}: is {line[err.start]:#04x}, expected "
            "UTF-8 text"
        ) from err
    text = text.removeprefix(BOM) if number == 1 else text
    wrong = unprintable(text.replace("\t", " "))
    if wrong is not None:
        raise InputError(
            f"{path}, line {number}: holds {wrong!r}, which cannot be shown, "
            "expected UTF-8 text (plain or gzip)"
        )
    return text


def read_fields(
    path: Path, split: Callable[[str], list[str]], least: int, expected: str
) -> Iterator[TextLine]:
    """Yield the fields of every line that has some, and is no comment, which begins with ";".

    Raises
    ------
    InputError
        As `read_lines`; also where a line has fewer than ``least`` fields.
    """
    for number, line in read_lines(path):
        fields = split(line)
        if not any(fields) or line.lstrip().startswith(";"):
            continue
        if len(fields) < least:
            raise InputError(
                f"{path}, line {number}: has {len(fields)} fields, expected {expected}"
            )
        yield TextLine(number, fields)


SEPARATORS = ",\t;|"
QUOTED = re.compile('"[^"]*"')


def separator(path: Path) -> str:
    """Return what separates the fields of a file: what its first line has most of."""
    first = QUOTED.sub("", next((line for _, line in read_lines(path) if line.strip()), ""))
    return max(SEPARATORS, key=first.count)


def read_csv(path: Path) -> Iterator[TextLine]:
    """Yield the rows of a table in text, the header first; empty lines are left out.

    Raises
    ------
    InputError
        As `read_lines`; also where the quoting is wrong or a row is longer or shorter than the
        header.
    """
    lines = (line + "\n" for _, line in read_lines(path))
    reader = csv.reader(lines, delimiter=separator(path), strict=True)
    header: list[str] = []
    try:
        for fields in reader:
            fields = [f.strip() for f in fields]
            if not any(fields):
                continue
            header = header or fields
            width = len(header)
            if width > MOST_COLUMNS:
                raise InputError(
                    f"{path}, line {reader.line_num}: has {width} columns, expected at most "
                    f"{MOST_COLUMNS}"
                )
            if len(fields) != width:
                line, why = reader.line_num, ""
                if len(fields) > width and "JobName" in header and reader.dialect.delimiter == "|":
                    why = "; a name may contain |: leave JobName out of --format of sacct"
                elif any("=" in f for f in fields[width:]):
                    why = "; AllocTRES of sacct contains commas: use --parsable2 (|)"
                elif len(fields) < width and next(reader, None) is None:
                    why = "; it is the last line: the file seems cut"
                raise InputError(
                    f"{path}, line {line}: has {len(fields)} fields, expected {width} as in the "
                    f"header{why}"
                )
            yield TextLine(reader.line_num, fields)
    except csv.Error as err:
        raise InputError(
            f"{path}, line {reader.line_num}: {err}, expected comma-separated values"
        ) from err


def first_row(path: Path) -> TextLine:
    """Return the first row of a table in text.

    Raises
    ------
    InputError
        As `read_csv`; also where the file is empty.
    """
    for row in read_csv(path):
        return row
    raise InputError(f"{path}: is empty, expected a header line and rows")


def is_number(text: str) -> bool:
    """Return whether ``text`` is a number, as in a row; names of columns are none."""
    try:
        float(text)
    except ValueError:
        return False
    return True
