"""Every way in which a text file can be bad ends in one line that names the place."""

import gzip
import json
import os
from collections import deque
from pathlib import Path

import pytest

from optsched.problem import InputError
from optsched.traces import lines, read_jobs

GOOD = b"submit_seconds,run_seconds,tasks\n0,10,1\n5,20,2\n"


def refused(path, message):
    with pytest.raises(InputError) as caught:
        read_jobs(path)
    assert str(caught.value) == f"{path}{message}"


def test_plain_gzip_bom_and_windows_line_ends_read_alike(write):
    texts = [
        GOOD,
        gzip.compress(GOOD),
        b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n"),
        GOOD + b"\n \n",
    ]
    tables = [read_jobs(write(text)) for text in texts]
    assert all(t.equals(tables[0]) for t in tables)
    assert tables[0]["run_seconds"].tolist() == [10.0, 20.0]


def test_truncated_gzip(write):
    many = GOOD + b"".join(b"%d,%d,1\n" % (k, k * k % 977) for k in range(20000))
    whole = gzip.compress(many)
    with pytest.raises(InputError, match=r"line \d+: the gzip ends in the middle, expected a comp"):
        read_jobs(write(whole[: len(whole) // 2]))


def test_damaged_gzip(write):
    whole = bytearray(gzip.compress(GOOD))
    whole[-8] ^= 0xFF  # the checksum
    with pytest.raises(InputError, match="the gzip is damaged"):
        read_jobs(write(bytes(whole)))


def test_binary_file(write):
    path = write(GOOD + b"1,\0\0,3\n")
    shown = ", line 4: holds '\\x00', which cannot be shown, expected UTF-8 text (plain or gzip)"
    refused(path, shown)


@pytest.mark.parametrize("hidden", ["\x1b", "\u061c", "\u202e", "\u2028", "\u2029", "\u200b"])
def test_what_cannot_be_shown(hidden, write):
    """Else a result that names the job could be written, and not be read."""
    path = write(f"submit_seconds,run_seconds,tasks,name\n0,1,1,a{hidden}[2Jb\n".encode())
    with pytest.raises(InputError, match=r"line 2: holds '\\.*', which cannot be shown"):
        read_jobs(path)


@pytest.mark.parametrize(
    "text",
    [
        {"nb_res": 4, "jobs": [{"id": "w\u202e1", "subtime": 0, "res": 1, "profile": "p"}]},
        [{"jobid": "j\u2028", "submitted_time": "2017-10-09 07:01:55", "attempts": []}],
        [{"jobid": "j", "vc": "\x1b", "submitted_time": "2017-10-09 07:01:55", "attempts": []}],
    ],
)
def test_what_cannot_be_shown_in_json(text, write):
    extra = {"profiles": {"p": {"type": "delay", "delay": 1}}} if isinstance(text, dict) else {}
    path = write(json.dumps(text | extra if extra else text).encode())
    with pytest.raises(InputError, match=r"jobs?.0.(id|jobid|vc|jobs.0.id)?.*a control character"):
        read_jobs(path)


def test_gzip_bomb_is_refused_early(write):
    path = write(gzip.compress(GOOD + b"0,1,1\n" * 2_000_000))
    read: deque[int] = deque()
    with pytest.raises(InputError, match="unpacks to more than 50 times its size"):
        read.extend(len(line) for _, line in lines.read_lines(path))
    assert sum(read) < 2 << 20


def test_what_is_no_file_is_not_read(tmp_path):
    refused(Path("/dev/zero"), ": is a device, expected a file")
    os.mkfifo(tmp_path / "pipe.csv")
    refused(tmp_path / "pipe.csv", ": is a pipe, expected a file")


def test_wrong_encoding(write):
    path = write(b"submit_seconds,run_seconds,tasks,user\n0,1,1,J\xfcrgen\n")
    refused(path, ", line 2, byte 8: is 0xfc, expected UTF-8 text")


def test_endless_line_is_refused_without_being_read(write, monkeypatch):
    path = write(gzip.compress(b"submit_seconds" + b"x" * (64 << 20)))  # packs into 64 KB
    refused(path, ", line 1: is longer than 1048576 bytes, expected a list with short lines")
    for end in (b"\n", b"\r"):
        long = b"x" * lines.LONGEST_LINE + end + GOOD
        refused(
            write(long), ", line 1: is longer than 1048576 bytes, expected a list with short lines"
        )
    monkeypatch.setattr(lines, "LARGEST", 40)
    refused(
        write(GOOD),
        ", line 3: more than 40 bytes of text, expected at most that; cut the file",
    )


def test_missing_file_and_folder(tmp_path):
    refused(tmp_path / "no.csv", ": cannot be read: No such file or directory")
    refused(tmp_path, ": cannot be read: Is a directory")


def test_empty_file(write):
    refused(write(b""), ": is empty, expected a header line and rows")
    refused(write(b"\n \n"), ": is empty, expected a header line and rows")


def test_ragged_row(write):
    told = ", line 4: has 2 fields, expected 3 as in the header"
    refused(write(GOOD + b"7,8\n7,8,9\n"), told)
    refused(write(GOOD + b"7,8\n"), f"{told}; it is the last line: the file seems cut")


def test_open_quote(write):
    with pytest.raises(InputError, match=r"line \d: unexpected end of data, expected comma-sep"):
        read_jobs(write(GOOD + b'"7,8,9\n'))


def test_a_header_of_countless_columns(write):
    names = ",".join(map(str, range(100_000)))
    refused(write(f"a{names}\n".encode()), ", line 1: has 100000 columns, expected at most 1000")


def test_column_named_twice(write):
    refused(
        write(b"tasks,tasks\n"),
        ", line 1: two columns are called 'tasks', expected different names",
    )
