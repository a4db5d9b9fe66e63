import json
import math
import os
import re
import resource
import stat
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest
from independent.oasis import FILES, load

from optsched.base import unprintable
from optsched.files.atomic_io import writable, write_whole, writing
from optsched.files.format import (
    checked,
    load_instance,
    plain,
    read_json,
    save_instance,
    write_json,
)
from optsched.problem import InputError, get_family


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let no file be longer than ``size``, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def saved(tmp_path):
    """Return the path of a good instance file."""
    inst, _ = load(FILES[0])
    save_instance(inst, tmp_path / "cluster.json")
    return tmp_path / "cluster.json"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_round_trip(path, tmp_path):
    inst, _ = load(path)
    save_instance(inst, tmp_path / "a.json")
    again = load_instance(tmp_path / "a.json")
    assert again == inst
    assert again.digest() == inst.digest()
    save_instance(again, str(tmp_path / "b.json"))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_envelope(saved):
    content = json.loads(saved.read_text())
    assert list(content) == ["format", "kind", "family", "instance_sha256", "instance"]
    assert (content["format"], content["kind"], content["family"]) == (1, "instance", "oasis")
    assert content["instance_sha256"] == load_instance(saved).digest()


def test_infinities_are_words():
    found = plain({"ratio": math.inf, "all": [1, -math.inf, None, (2.5,)]})
    assert found == {"ratio": "inf", "all": [1, "-inf", None, [2.5]]}


def test_a_file_appears_complete_or_not_at_all(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("before")
    with pytest.raises(TypeError):
        write_json(path, "run", "oasis", {"what": object()})
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_full_disk_leaves_what_was_there(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("before")
    with (
        room_for(1000),
        pytest.raises(InputError, match=r"out\.json: cannot be written: File too l"),
    ):
        write_whole(path, "after" * 1000)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    kept, link = tmp_path / "kept.json", tmp_path / "link.json"
    kept.write_text("before")
    kept.chmod(0o604)
    link.symlink_to("kept.json")
    write_whole(link, "after")
    assert os.readlink(link) == "kept.json"
    assert kept.read_text() == "after"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o604


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    for device in (Path("/dev/null"), tmp_path / "link"):
        if not device.exists():
            device.symlink_to("/dev/null")
        before = device.stat()
        write_whole(device, "x")
        assert stat.S_ISCHR(device.stat().st_mode)
        assert os.path.samestat(before, device.stat())


def test_a_pipe_is_written_to_if_somebody_reads(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="pipe: cannot be written"):
        write_whole(pipe, "x")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "x")
    assert os.read(reader, 9) == b"x"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_the_own_output_is_written_to(capfd):
    write_whole(Path("/dev/stdout"), "to the output\n")
    assert capfd.readouterr().out == "to the output\n"


def test_where_a_file_can_be_written_is_known_before(tmp_path):
    assert writable(tmp_path / "new.json") == tmp_path / "new.json"
    assert os.listdir(tmp_path) == []
    with pytest.raises(InputError, match="it is a folder"):
        writable(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        writable(tmp_path / "nowhere" / "x.json")
    with pytest.raises(InputError, match="File name too long"):
        writable(tmp_path / ("x" * 300))
    (tmp_path / "loose").symlink_to(tmp_path / "nowhere" / "x.json")
    with pytest.raises(InputError, match="loose: cannot be written: No such file"):
        writable(tmp_path / "loose")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_what_must_not_be_written_is_known_before(tmp_path):
    (tmp_path / "mine").write_text("before")
    (tmp_path / "mine").chmod(0o400)
    with pytest.raises(InputError, match="mine: cannot be written: Permission denied"):
        writable(tmp_path / "mine")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="new: cannot be written: Permission denied"):
            writable(tmp_path / "new")
    finally:
        tmp_path.chmod(0o700)


def test_what_is_no_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    assert one_line(tmp_path / "pipe.json") == ": is a pipe, expected a file"
    assert one_line(Path("/dev/zero")) == ": is a device, expected a file"


def test_a_file_may_be_read_by_whoever_the_umask_allows(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "shared", b"x")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o640


def test_no_folder_to_write_to(tmp_path):
    with pytest.raises(InputError, match=r"nowhere/out\.json: cannot be written: No such file"):
        write_whole(tmp_path / "nowhere" / "out.json", "x")


def one_line(path, *kinds):
    with pytest.raises(InputError) as caught:
        read_json(path, *kinds) if kinds else load_instance(path)
    message = str(caught.value)
    assert message.startswith(str(path)), message
    assert "\n" not in message
    return message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 1,\n "kind" "run"}', ", line 2, column 9: is no JSON: Expecting ':'"),
        ("", ", line 1, column 1: is no JSON"),
        ("SQLite format 3\0", ": is the store of a campaign, expected JSON"),
        ('{"x": NaN}', ": NaN is no number of JSON, expected a finite number"),
        ('{"x": -Infinity}', ": -Infinity is no number of JSON"),
        ("[1, 2]", ': expected an object with "format", "kind" and "family"'),
        ('{"format": 1}', ': expected an object with "format"'),
        ('{"format": 2, "kind": "instance"}', ': "format" is 2, expected 1'),
        ('{"format": 1, "kind": "poem"}', ": holds 'poem', expected 'instance' or 'run'"),
        ("[" * 200_000, ": is no JSON text: maximum recursion"),
        ('{"x": ' + "9" * 5000 + "}", ": Exceeds the limit"),
        ('{"format": 1, "kind": "instance", "family": "oasis"}', ': lacks "instance"'),
        ('{"format": 1, "kind": "instance", "family": "x"}', ": unknown family 'x', expected one"),
        ('{"format": 1, "kind": "instance"}', ': "family" is None, expected the name of a family'),
        ('{"format": 1, "kind": "instance", "family": [1]}', ': "family" is [1], expected the'),
        ('{"format": 1, "kind": "run", "kind": "instance"}', ": 'kind' is given twice, expected o"),
        ('{"kind": "\\u001b[2Jx"}', ": '\\x1b[2Jx' holds a control character, expected text"),
        ('{"kind": "\\ud800"}', ": '\\ud800' holds a control character"),
        ('{"\\u202e": 1}', ": '\\u202e' holds a control character"),
        ('{"\u061ca": 1}', ": '\\u061ca' holds a control character"),
        ('{"kind": "a\u2028b"}', ": 'a\\u2028b' holds a control character"),
        ('{"kind": "a\\u2029b"}', ": 'a\\u2029b' holds a control character"),
        ('{"kind": "\x9b2J"}', ": '\\x9b2J' holds a control character"),
    ],
)
def test_malformed_text_gives_one_line(text, message, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert one_line(path).startswith(message)


def test_a_lock_on_a_full_disk_names_the_file(tmp_path):
    with (
        room_for(0),
        pytest.raises(InputError, match="store: cannot be written: File too large"),
        writing(tmp_path / "store"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_shown():
    """Both checkers refuse the same characters, which Unicode's categories name."""
    categories = {"Cc", "Cf", "Zl", "Zp", "Cs"}
    script = (files("optsched.pages.checker") / "shared" / "text.js").read_text("utf-8")
    (inside,) = re.findall(r"HIDDEN =\s+/\[(.*)\]/u;", script)
    second = re.compile(f"[{re.sub(r'u{(.*?)}', lambda m: 'U' + m[1].zfill(8), inside)}]")
    for c in map(chr, range(sys.maxunicode + 1)):
        hidden = unprintable(c) is not None
        assert hidden == (second.match(c) is not None), ascii(c)
        if unicodedata.category(c) != "Cn":  # newer than this Python
            assert hidden == (unicodedata.category(c) in categories), ascii(c)


def test_what_cannot_be_read_gives_one_line(tmp_path):
    assert one_line(tmp_path / "absent.json") == ": cannot be read: No such file or directory"
    assert one_line(tmp_path) == ": cannot be read: Is a directory"
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert one_line(tmp_path / "binary").startswith(": is no JSON text: 'utf-8' codec")


def test_a_file_that_is_too_long_is_not_read(tmp_path):
    with (tmp_path / "huge.json").open("wb") as f:
        f.truncate((1 << 28) + 1)  # takes no room on the disk
    assert one_line(tmp_path / "huge.json") == ": 268435457 bytes, expected at most 268435456"


@pytest.mark.parametrize("part", [b"{}", b"[]"])
def test_a_file_of_too_many_parts_is_refused_before_it_is_parsed(tmp_path, part):
    path, many = tmp_path / "many.json", 1 << 22
    path.write_bytes(b'{"format": 1, "kind": "result", "x": [' + b",".join([part] * many) + b"]}")
    assert one_line(path) == f": holds more than {many} lists and objects, expected at most that"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("horizon",), 0, ": horizon: is 0; Input should be greater than 0"),
        (("horizon",), "long", ": horizon: is 'long'; Input should be a valid integer"),
        (("colour",), "red", ": colour: is 'red'; Extra inputs are not permitted"),
        (("worker_machines",), [], ": worker_machines: is []; Tuple should have at least 1 item"),
        (("worker_machines", 0, "count"), 0, ": worker_machines.0.count: is 0; Input should be"),
        (("worker_machines", 0, "capacity"), [1], ": worker_machines[0]: capacity has 1 entries"),
        (("resources", 1), "r0", ": resources r0, r0: a name is used twice"),
        (("jobs", 1, "worker_demand", 0), -1, ": jobs.1.worker_demand.0: is -1; Input should be"),
        (("jobs", 1, "worker_demand", 0), "1 GPU", ": jobs.1.worker_demand.0: is '1 GPU'; Input"),
        (("jobs", 2, "arrival"), 99, ": job 2: arrival 99 is outside the horizon 0..5"),
        (("jobs", 0, "ps_demand"), [1], ": job 0: ps_demand has 1 entries, expected one per"),
        (("jobs", 0, "ps_bandwidth"), 1e-6, ": job 0: worker_bandwidth 4.0 is above ps_bandwidth"),
        (("jobs", 0, "utility"), {"kind": "table", "values": [1, 2]}, ": jobs.0.utility.table: ut"),
        (("jobs", 0, "chunks"), None, ": jobs.0.chunks: is None; Input should be a valid integer"),
    ],
)
def test_wrong_data_name_their_place(saved, place, value, message):
    content = json.loads(saved.read_text())
    at = content["instance"]
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    saved.write_text(json.dumps(content))
    assert one_line(saved).startswith(message)


def test_a_missing_field_is_named(saved):
    content = json.loads(saved.read_text())
    del content["instance"]["jobs"][3]["epochs"]
    saved.write_text(json.dumps(content))
    assert one_line(saved) == ": jobs.3.epochs: Field required"


def test_a_changed_instance_does_not_pass_for_the_old_one(saved):
    content = json.loads(saved.read_text())
    content["instance"]["horizon"] += 1
    saved.write_text(json.dumps(content))
    assert "instance_sha256 does not belong to this instance, expected " in one_line(saved)


def test_another_kind_of_file_is_named(saved):
    assert one_line(saved, "schedule") == ": holds 'instance', expected 'schedule'"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"packed": 1}, "packed: is 1, expected true or false"),
        ({"machines": [{"count": "2", "capacity": [4]}]}, "machines.0.count: is '2', expected a"),
        ({"machines": [{"count": True, "capacity": [4]}]}, "count: is True, expected a number"),
        ({"machines": [{"count": 2, "capacity": ["4"]}]}, "capacity.0: is '4', expected a number"),
    ],
)
def test_texts_and_truth_values_are_no_numbers(change, place):
    content = {"resources": ["cores"], "machines": [{"count": 2, "capacity": [4]}], "jobs": []}
    kind = get_family("rigid").instance
    assert checked(kind, content, "file").machines[0].count == 2
    with pytest.raises(InputError, match=re.escape(place)):
        checked(kind, content | change, "file")
