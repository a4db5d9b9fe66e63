"""Text files read line by line, plain or gzip: a bad file costs one message, not the memory."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, cast

from optsched.problem import InputError

LONGEST_LINE = 1 << 20  # bytes
LARGEST = 1 << 28  # bytes of a file, unpacked
MOST_ROWS = 5_000_000
GZIP = b"\x1f\x8b"
BOM = "\ufeff"


@dataclass(frozen=True)
class Row:
    """The fields of one line, and the line's number, counted from 1."""

    line: int
    fields: Sequence[str]


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers, from 1, and lines without their ends.

    Raises
    ------
    InputError
        The file cannot be read, is no UTF-8 text, is a damaged gzip, or a line or the whole is too
        long.
    """
    number = 0
    try:
        with path.open("rb") as raw, _unpacked(raw) as file:
            size = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                size += len(line)
                if len(line) > LONGEST_LINE:
                    raise InputError(
                        f"{path}, line {number}: is longer than {LONGEST_LINE} bytes, expected a "
                        "list with short lines"
                    )
                if size > LARGEST:
                    raise InputError(
                        f"{path}, line {number}: more than {LARGEST} bytes of text, expected at "
                        "most that; cut the file"
                    )
                yield number, _text(path, number, line)
    except EOFError as err:
        raise InputError(
            f"{path}, line {number + 1}: the gzip ends in the middle, expected a complete file"
        ) from err
    except (gzip.BadGzipFile, zlib.error) as err:
        raise InputError(
            f"{path}, line {number + 1}: the gzip is damaged ({err}), expected a valid one"
        ) from err
    except OSError as err:
        raise InputError(f"{path}: cannot be read: {err.strerror or err}") from err


def _unpacked(raw: BufferedReader) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(raw, "rb")) if raw.peek(2)[:2] == GZIP else raw


def _text(path: Path, number: int, line: bytes) -> str:
    if b"\0" in line:
        raise InputError(
            f"{path}, line {number}: holds a zero byte, expected UTF-8 text (plain or gzip)"
        )
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as err:
        raise InputError(
            f"{path}, line {number}, byte {err.start + 1}: is {line[err.start]:#04x}, expected "
            "UTF-8 text"
        ) from err
    return text.removeprefix(BOM).rstrip("\r\n") if number == 1 else text.rstrip("\r\n")


def read_csv(path: Path) -> Iterator[Row]:
    """Yield the rows of a comma-separated file, the header first; empty lines are left out.

    Raises
    ------
    InputError
        As `read_lines`; also where the quoting is wrong or a row is longer or shorter than the
        header.
    """
    reader = csv.reader((line + "\n" for _, line in read_lines(path)), strict=True)
    width = 0
    try:
        for fields in reader:
            fields = [f.strip() for f in fields]
            if not any(fields):
                continue
            width = width or len(fields)
            if len(fields) != width:
                raise InputError(
                    f"{path}, line {reader.line_num}: has {len(fields)} fields, expected {width} "
                    "as in the header"
                )
            yield Row(reader.line_num, fields)
    except csv.Error as err:
        raise InputError(
            f"{path}, line {reader.line_num}: {err}, expected comma-separated values"
        ) from err


def header(path: Path) -> tuple[str, ...]:
    """Return the column names of a comma-separated file.

    Raises
    ------
    InputError
        As `read_csv`; also where the file is empty or names a column twice.
    """
    for row in read_csv(path):
        doubled = [name for k, name in enumerate(row.fields) if name in row.fields[:k]]
        if doubled:
            raise InputError(
                f"{path}, line {row.line}: two columns are called {doubled[0]!r}, expected "
                "different names"
            )
        return tuple(row.fields)
    raise InputError(f"{path}: is empty, expected a header line and rows")
