"""The library: damage is found and named, what is better is taken, nothing else is."""

import csv
import json
import lzma
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import optsched
from optsched.cli.app import app
from optsched.core import simulate, solve
from optsched.families.oasis.sources.presets import generate
from optsched.library.packs import Library, Pack, open_library, result_text
from optsched.library.page import BEGIN, END, update_page
from optsched.library.submit import submit
from optsched.library.table import features, load_table, write_table
from optsched.library.verify import verify
from optsched.problem import InputError, Status
from optsched.results.result import recheck, save_result

pytestmark = pytest.mark.slow

INSTANCES = [generate("small", seed=seed, jobs=4, slots=4, machines=2) for seed in (1, 2, 4)]
NAMES = [f"oasis-small-drawn-{k:04d}" for k in (1, 2, 3)]
SEEDED = {"effort": 0, "method": "search"}  # what the first blink finds: open


@pytest.fixture(scope="module")
def solved():
    """Return the optima, the last of them open."""
    found = [solve(inst, work_limit=300) for inst in INSTANCES[:2]]
    assert [opt.status for opt in found] == ["optimal", "optimal"]
    begun = simulate(INSTANCES[2], "fifo").schedule
    opened = solve(INSTANCES[2], **SEEDED, start=begun)
    assert (opened.status, opened.value > 0) == ("feasible", True)
    return [*found, opened]


@pytest.fixture
def library(tmp_path, solved):
    """Return a small library in a tree of its own, with its page."""
    made = Library(tmp_path / "benchmarks" / "instances")
    (made.folder / "oasis").mkdir(parents=True)
    pack = Pack(made.folder / "oasis" / "small-drawn.jsonl.xz")
    pack.write([result_text(*pair) for pair in zip(INSTANCES, solved, strict=True)])
    write_table(made, "oasis", verify(made, tables=False).rows)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "library.md").write_text(f"# L\n\n{BEGIN}\nold\n{END}\n\nmore\n")
    update_page(made)
    return made


def contents(library):
    (pack,) = library.packs
    return [json.loads(text) for _, text in pack.lines()]


def damage(library, change):
    """Change what stands in the pack."""
    (pack,) = library.packs
    found = contents(library)
    change(found)
    pack.write([json.dumps(content).encode() + b"\n" for content in found])
    return verify(library)


def ask(library, *words):
    asked = [words[0], "--library", str(library.folder), *map(str, words[1:])]
    return CliRunner().invoke(app, ["library", *asked])


def test_all_is_derived_and_agrees_with_the_table(library, solved):
    found = verify(library)
    assert (found.accepted, found.read, found.by_status()) == (True, 3, {"easy": 2, "open": 1})
    row = found.rows[0]
    assert (row["name"], row["sha256"]) == (NAMES[0], INSTANCES[0].digest())
    assert row["value"] == solved[0].value
    assert verify(library, sample=2).read == 2


def test_a_sample_is_drawn_by_a_seed(library):
    drawn = [verify(library, sample=3, seed=seed) for seed in (*range(12), 0)]
    assert {found.read for found in drawn} == {1}
    assert {found.rows[0]["name"] for found in drawn} == {*NAMES}  # none is always left out
    assert drawn[0].rows == drawn[-1].rows
    assert drawn[5].lines()[-1].endswith("; drawn with --seed 5")
    assert len({verify(library, sample=3).seed for _ in range(3)}) == 3


def test_other_processes_find_the_same(library):
    found = damage(library, lambda all_: all_[1]["optimum"].update(value=1e6))
    other = verify(library, workers=2)
    assert [*found.damaged] == [*other.damaged] == NAMES[1:2]


def test_entries_whose_process_ends_are_named(library, monkeypatch):
    def lost(_look, cells, *, failed, **_more):
        for k in cells:
            failed(k, "its process was ended")

    monkeypatch.setattr("optsched.library.verify.call_all", lost)
    found = verify(library, workers=2, tables=False)
    assert not found.accepted
    assert found.lines()[0] == (
        "small-drawn.jsonl.xz, entries 1 to 3: not checked: its process was ended"
    )


def test_a_damaged_bound_is_named(library):
    def change(all_):
        bound = all_[0]["optimum"]["bound"] - 1.0
        all_[0]["optimum"] |= {"bound": bound, "certified_bound": bound}

    found = damage(library, change)
    assert [*found.damaged] == NAMES[:1]
    assert any("the certificate proves the bound" in x for x in found.damaged[NAMES[0]])


def test_a_damaged_schedule_is_named(library):
    def change(all_):
        job = next(job for job in all_[1]["optimum"]["schedule"]["jobs"] if job is not None)
        job["workers"].pop()

    found = damage(library, change)
    assert [*found.damaged] == NAMES[1:2]
    assert not found.accepted


def test_a_worse_schedule_with_its_true_value_contradicts_the_table(library):
    def change(all_):
        optimum = all_[2]["optimum"]
        optimum["schedule"]["jobs"] = [None] * len(optimum["schedule"]["jobs"])
        optimum |= {"value": 0.0, "gap": None, "certified_gap": None}

    found = damage(library, change)
    assert [*found.damaged] == NAMES[2:]
    assert found.damaged[NAMES[2]][0].startswith("table.csv: value is ")


@pytest.mark.parametrize("renamed", [False, True])
def test_exchanged_certificates_are_named(library, renamed):
    def change(all_):
        first, second = (content["optimum"] for content in all_[:2])
        pair = second["certificate"], first["certificate"]
        for content, certificate in zip(all_, pair, strict=False):
            if renamed and "instance_sha256" in certificate:
                certificate["instance_sha256"] = content["instance_sha256"]
            content["optimum"]["certificate"] = certificate

    found = damage(library, change)
    assert [*found.damaged] == NAMES[:2]


def test_exchanged_entries_contradict_the_table(library):
    found = damage(library, lambda all_: all_.insert(0, all_.pop(1)))
    assert [*found.damaged] == NAMES[:2]
    assert any("sha256" in x for x in found.damaged[NAMES[0]])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",open,", ",easy,", "status is 'easy', derived is open"),
        (NAMES[2], "oasis-small-drawn-0009", "has no row of it"),
    ],
)
def test_a_typed_status_and_a_lost_row_are_named(library, old, new, said):
    path = library.folder / "oasis" / "table.csv"
    path.write_text(path.read_text().replace(old, new))
    found = verify(library)
    assert said in found.damaged[NAMES[2]][0]
    assert ("oasis-small-drawn-0009" in found.damaged) == (said == "has no row of it")


@pytest.mark.parametrize("column", ["size", "origin", "method", "effort", "load"])
def test_every_column_of_the_table_is_compared(library, column):
    path = library.folder / "oasis" / "table.csv"
    rows = list(csv.DictReader(path.open()))
    rows[1][column] = "4711"
    with path.open("w", newline="") as f:
        writer = csv.DictWriter(f, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    found = verify(library).damaged
    assert [*found] == [NAMES[1]]
    assert found[NAMES[1]][0].startswith(f"table.csv: {column} is '4711', derived is ")


def test_a_long_cell_is_cut(library):
    path = library.folder / "oasis" / "table.csv"
    path.write_text(path.read_text().replace(",open,", f",{5000 * '7'},"))
    (said,) = verify(library).damaged[NAMES[2]]
    assert said.startswith("table.csv: status is '7777")
    assert said.endswith("..., derived is open")
    assert len(said) < 120


def test_an_entry_that_comes_twice_is_named(library):
    (pack,) = library.packs
    pack.write([*(text for _, text in pack.lines()), next(pack.lines())[1]])
    found = verify(library, tables=False).damaged
    assert found == {
        "oasis-small-drawn-0004": [f"is the same instance as {NAMES[0]}, expected another"]
    }


def test_a_library_at_the_root_has_no_page():
    assert not update_page(Library(Path("/no-such-library")))


def test_a_pack_that_is_cut_off_is_named(library):
    (pack,) = library.packs
    pack.path.write_bytes(pack.path.read_bytes()[:-40])
    found = verify(library)
    assert "cannot be unpacked" in found.damaged["oasis-small-drawn"][0]


def packed(size, piece=b"0" * (1 << 20)):
    """Return what unpacks to ``size`` bytes, and is some hundred kilobytes at most."""
    packer = lzma.LZMACompressor(preset=0)
    parts = [packer.compress(piece) for _ in range(size // len(piece))]
    return b"".join([*parts, packer.flush()])


def endless_header():
    """Return a pack that requests a dictionary of 1.5 GB."""
    large = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 3 << 29}]
    return lzma.compress(b"{}\n", filters=large)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: packed(1 << 30), "unpacks to more than 100 times its size"),
        (lambda: packed(1 << 28, b"0" * 65_535 + b"\n"), "unpacks to more than 100 times its size"),
        (lambda: lzma.compress(b"{}\n" * 20_001), "more than 20000 entries"),
        (endless_header, "cannot be unpacked: Memory usage limit exceeded"),
        (lambda: lzma.compress(b"{}\n") + b"more", "there is more behind its end"),
        (lambda: b"", "it ends in the middle"),
        (lambda: b"PK", "it ends in the middle"),
        (lambda: b"none" * 10, "cannot be unpacked"),
    ],
    ids=["zeros", "lines", "entries", "dictionary", "more", "empty", "short", "none"],
)
def test_a_pack_that_is_too_large_is_refused_on_the_way(library, make, said):
    (pack,) = library.packs
    pack.path.write_bytes(make())
    assert pack.path.stat().st_size < 1 << 18
    ended = ask(library, "verify")
    assert ended.exit_code == 1
    assert said in ended.output
    with pytest.raises(InputError, match=r"entries|unpack"):  # whoever reads on to the end
        library.text("oasis-small-drawn-30000")


def test_a_pack_with_an_endless_line_is_read_up_to_the_longest_entry(library, monkeypatch):
    """Digits hardly shrink: to unpack all of them takes longer than anyone waits."""
    monkeypatch.setattr("optsched.library.packs.LONGEST", 2000)
    (pack,) = library.packs
    pack.path.write_bytes(lzma.compress(b"1" * 2000 + b"\n"))
    ended = ask(library, "verify")
    assert ended.exit_code == 1
    assert "has an entry of more than 2000 bytes, expected at most that" in ended.output
    pack.path.write_bytes(packed(1 << 17, b"1" * (1 << 17))[:-40])  # nobody reads to its end
    with pytest.raises(InputError, match="has an entry of more than 2000 bytes"):
        next(pack.lines())
    pack.path.write_bytes(lzma.compress(b"1" * 1999 + b"\n"))
    assert [len(text) for _, text in pack.lines()] == [2000]


def test_a_pack_of_many_lines_is_not_read_too_often(library, monkeypatch):
    (pack,) = library.packs
    pack.path.write_bytes(lzma.compress(b"{}\n" * 20_000))
    monkeypatch.setattr(
        "optsched.library.verify.call_all",
        lambda _look, cells, **_more: read.extend(cell["last"] for cell in cells.values()),
    )
    read: list[int] = []  # lines: each part is read from the beginning
    verify(library, tables=False)
    assert sum(read) <= 15 * 20_000


def test_a_better_schedule_and_bound_are_taken_from_two_files(library, solved, tmp_path):
    best, first = solve(INSTANCES[2], work_limit=300), solved[2]
    assert best.status == "optimal"
    assert best.value > first.value
    one, other = tmp_path / "schedule.json", tmp_path / "bound.json"
    bare = {"certificate": None, "bound": None, "bound_level": None, "certified_bound": None}
    bare |= {"status": Status.FEASIBLE, "gap": None, "certified_gap": None}
    save_result(one, INSTANCES[2], best.model_copy(update=bare))
    bare = {"schedule": None, "value": None, "value_level": None, "status": Status.NO_SCHEDULE}
    bare |= {"gap": None, "certified_gap": None}
    save_result(other, INSTANCES[2], best.model_copy(update=bare))
    assert submit(library, one).better == ("value",)
    assert contents(library)[2]["optimum"]["method"] == "auto"  # the last that made it better
    taken = submit(library, other)
    assert taken.better == ("bound",)
    assert (taken.name, taken.after["status"]) == (NAMES[2], "easy")
    found = verify(library)
    assert found.damaged == {}
    assert found.by_status() == {"easy": 3}
    assert found.accepted
    page = (tmp_path / "docs" / "library.md").read_text()
    assert page.startswith("# L\n")
    assert page.endswith("more\n")
    assert "| `oasis` | small | 3 | 0 | 3 | 0 | 0 |" in page
    assert submit(library, other).better == ()


@pytest.fixture
def better(tmp_path):
    """Return a result that is better than the last entry."""
    path = tmp_path / "better.json"
    save_result(path, INSTANCES[2], solve(INSTANCES[2], work_limit=300))
    return path


FALSE_ROWS = {
    "a value": {"status": "open", "value": "1234567", "bound": "7654321", "gap": "0.5"},
    "no number": {"status": "open", "value": "abc"},
    "a status": {"status": "open | 1 | 2 | 3"},
    "a name": {"name": "oasis-<script>alert(1)</script>"},
    "an instance": {"sha256": INSTANCES[2].digest()},
}


@pytest.mark.parametrize("what", FALSE_ROWS)
def test_nothing_is_written_next_to_a_false_row(library, better, what):
    path = library.folder / "oasis" / "table.csv"
    rows = list(csv.DictReader(path.open()))
    rows[0] |= FALSE_ROWS[what]
    with path.open("w", newline="") as f:
        writer = csv.DictWriter(f, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    refused_and_unchanged(library, better, "expected a library that verifies")


def refused_and_unchanged(library, better, why):
    files = [file for file in library.folder.parent.parent.rglob("*") if file.is_file()]
    before = [file.read_bytes() for file in files]
    with pytest.raises(InputError, match=why):
        submit(library, better)
    assert [file.read_bytes() for file in files] == before


def test_nothing_is_written_next_to_a_damaged_entry_of_another_family(library, better):
    shutil.copytree(library.folder / "oasis", library.folder / "bot")
    refused_and_unchanged(library, better, "expected a library that verifies")


def test_nothing_is_written_without_a_place_in_the_page(library, better):
    page = library.folder.parent.parent / "docs" / "library.md"
    page.write_text("# L\n")
    refused_and_unchanged(library, better, "lacks the lines")


def test_entries_whose_names_are_none_are_damaged(library):
    shutil.move(library.folder / "oasis", library.folder / "oasis<b>")
    (name, (why,)), *_ = verify(library).damaged.items()
    assert name == "oasis<b>-small-drawn-0001"
    assert why.startswith("is no name, expected one such as oasis-small-drawn-0001")


def test_what_is_equal_wrong_or_unknown_is_refused(library, solved, tmp_path):
    path = tmp_path / "again.json"
    before = library.packs[0].path.read_bytes()
    save_result(path, INSTANCES[0], solved[0])
    assert submit(library, path).better == ()
    save_result(path, INSTANCES[0], solved[0].model_copy(update={"value": solved[0].value + 1}))
    with pytest.raises(InputError, match=r"again\.json: value is "):
        submit(library, path)
    lied = {"bound": solved[2].value, "certified_bound": solved[2].value}
    save_result(path, INSTANCES[2], solved[2].model_copy(update=lied))
    with pytest.raises(InputError, match="the certificate proves the bound"):
        submit(library, path)
    stranger = generate("small", seed=9, jobs=3, slots=4, machines=2)
    save_result(path, stranger, solve(stranger, **SEEDED))
    with pytest.raises(InputError, match=r"is not in .*expected one that optsched library get"):
        submit(library, path)
    assert library.packs[0].path.read_bytes() == before


def test_the_commands(library, tmp_path):
    listed = ask(library, "list", "--status", "open")
    assert listed.stdout.startswith(f"{NAMES[2]}  open  value ")
    rows = json.loads(ask(library, "list", "--json").stdout)["entries"]
    assert [row["name"] for row in rows] == NAMES
    assert rows[0]["load"] > 0
    target = tmp_path / "entry.json"
    assert ask(library, "get", NAMES[0], "-o", target).exit_code == 0
    assert all(part.accepted for part in recheck(target))
    said = json.loads(ask(library, "verify", "--workers", 1, "--json").stdout)
    assert (said["accepted"], said["entries"]) == (True, 3)
    assert ask(library, "submit", target).exit_code == 1
    damage(library, lambda all_: all_[1]["optimum"].update(value=1e6))
    told = ask(library, "verify", "--workers", 1)
    assert told.exit_code == 1
    assert told.stdout.startswith(f"{NAMES[1]}: value is ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("get", "oasis"), "is no name, expected one such as"),
        (("get", "oasis-small-mine-0001"), "there is no such entry, expected one of"),
        (("get", "oasis-small-drawn-0004"), "has 3 entries"),
        (("get", f"oasis-small-drawn-{'0' * 5000}1"), "is no name"),
        (("get", f"oasis-small-drawn-{'9' * 20}"), "is no name"),
        (("list", "--family", "bot"), "has no family 'bot', expected one of: oasis"),
        (("verify", "--family", "bot"), "has no family bot, expected one of: oasis"),
    ],
)
def test_wrong_questions_say_what_would_be_right(library, words, said):
    assert said in str(ask(library, *words).exception)


def test_a_folder_without_packs_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no packs .*expected the folder"):
        open_library(tmp_path)


def test_a_table_that_is_none_is_refused(library):
    path = library.folder / "oasis" / "table.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="begins with other columns"):
        load_table(library, "oasis")
    path.write_text("a\n1,2\n")
    assert "oasis/table.csv" in verify(library).damaged


def test_a_row_without_a_name_is_refused(library):
    path = library.folder / "oasis" / "table.csv"
    path.write_text(path.read_text().replace(NAMES[1], ""))
    assert "a row has no name, expected that of an entry" in str(ask(library, "list").exception)


def test_features_tell_size_load_and_variety():
    found = features(INSTANCES[0])
    assert (found["jobs"], found["slots"]) == (4, 4)
    assert found["load"] > 0
    alike = generate("small", seed=1, jobs=4, slots=4, machines=2, priority=(5.0, 5.0))
    assert features(alike)["jobs.utility.scale cv"] == 0.0
    assert found["jobs.utility.scale cv"] > 0.1


def test_a_pack_is_read_line_by_line(library):
    (pack,) = library.packs
    whole = lzma.decompress(pack.path.read_bytes()).splitlines(keepends=True)
    assert [text for _, text in pack.lines(2, 2)] == whole[1:2]
    assert library.text(NAMES[2]) == whole[2]


def test_without_a_source_tree_the_library_is_asked_for(call, tmp_path, monkeypatch):
    monkeypatch.setattr(optsched, "__file__", str(tmp_path / "site" / "optsched" / "__init__.py"))
    for command in (("list",), ("get", "oasis-small-drawn-0001"), ("verify",)):
        status, out, err = call("library", *command)
        assert (status, out) == (2, "")
        assert err == (
            "optsched: the library is not installed with the package, expected --library FOLDER, "
            "the folder benchmarks/instances of a copy of the repository\n"
        )


@pytest.mark.parametrize("name", ["scope", "effort", "history"])
def test_what_has_a_default_may_be_left_out_of_an_entry(library, name):
    def leave_out(found):
        found[0]["optimum"].pop(name)

    assert [*damage(library, leave_out).damaged] == []


@pytest.mark.parametrize(
    "text", ["," * (1 << 23) + "\n", ",".join("abcdefghij") + "\nx" * (1 << 19)]
)
def test_a_table_that_is_too_large_is_refused(library, text):
    (library.folder / "oasis" / "table.csv").write_text(text)
    (wrong,) = verify(library).damaged["oasis/table.csv"]
    assert "too many" in wrong or "begins with" in wrong or "field" in wrong


@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        ("status", "easy (certified)", "expected one of: easy, hard, open"),
        ("value", "abc", "value is 'abc', expected a number"),
        ("gap", "none", "gap is 'none', expected a number"),
    ],
)
def test_a_table_that_states_something_else_is_not_listed(library, call, column, text, said):
    place = next(library.folder.glob("*/table.csv"))
    head, first, *rest = place.read_text().splitlines()
    row = first.split(",")
    row[head.split(",").index(column)] = text
    place.write_text("\n".join([head, ",".join(row), *rest]) + "\n")
    status, out, err = call("library", "list", "--library", library.folder)
    assert (status, out) == (2, "")
    assert said in err
