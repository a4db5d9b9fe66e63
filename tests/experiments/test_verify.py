"""`optsched campaign verify`, and stores that are not what they were: one line, exit status 2."""

import csv
import json
import os
import re
import shutil
import sqlite3
import struct
import time
from contextlib import closing

import pytest
from edits_of_files import ENDLESS, PLAN

from optsched.experiments.campaign import AS_STORED, Campaign, campaign
from optsched.experiments.plan import make_plan
from optsched.experiments.verify import verify
from optsched.problem import InputError


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("verify") / "store.sqlite"
    campaign(PLAN, path, workers=1)
    return path


@pytest.fixture
def edit(whole, tmp_path):
    def make(script):
        path = tmp_path / "edited.sqlite"
        shutil.copy(whole, path)
        with closing(sqlite3.connect(path)) as db:
            db.executescript(script)
        return path

    return make


def test_a_store_as_it_was_made_is_accepted(call, whole):
    status, out, _ = call("campaign", "verify", whole, "--json")
    said = json.loads(out)
    assert (status, said["accepted"], said["wrong"]) == (0, True, [])
    assert (said["cells"], said["runs"], said["optima"], said["certificates"]) == (4, 4, 2, 2)
    assert call("campaign", "verify", whole, "--sample", 2, "--seed", 7)[1] == (
        "accepted: 2 of 4 cells run again, instances solved again: 1, their certificates checked: 1"
        "; drawn with --seed 7\n"
    )


def test_nobody_knows_beforehand_which_instances_are_looked_at(call, edit):
    """A forged instance is found by some seeds, and the seed that is shown finds it again."""
    path = edit("UPDATE cell SET value = value * 1.5 WHERE instance = 1")
    found = {}
    while {*found.values()} != {0, 1}:
        status, out, _ = call("campaign", "verify", path, "--sample", 2, "--json")
        found[json.loads(out)["seed"]] = status
    for seed, status in list(found.items())[:2]:
        assert call("campaign", "verify", path, "--sample", 2, "--seed", seed)[0] == status


@pytest.mark.slow
def test_processes_of_their_own_say_the_same(whole):
    plan = Campaign(whole).plan()
    assert verify(whole, plan, workers=2) == verify(whole, plan)


REST = "effort, micros, wall, schedule, certificate, versions, message"
CERTIFIED = f"1, 901, 902, 2, 902, {REST} FROM optimum LIMIT 1;"
PHANTOM = (
    "INSERT INTO instance (key, source, seed, digest) SELECT x'01', source, 777, x'11' "
    "FROM instance LIMIT 1;"
)
OPTIMUM_OF_PHANTOM = f"INSERT INTO optimum SELECT x'11', reference, {CERTIFIED}"
OTHER_REFERENCE = (
    """INSERT INTO word (text) SELECT replace(text, '50.0', '9999.0') FROM word WHERE id = """
    "(SELECT min(reference) FROM optimum); "
    f"INSERT INTO optimum SELECT digest, (SELECT max(id) FROM word), {CERTIFIED}"
)
FORGED = {
    "a value": ("UPDATE cell SET value = value * 1.5", "value is"),
    "a ratio": ("UPDATE cell SET low = 1, high = 1", "low is"),
    "a schedule": ("UPDATE cell SET schedule = x'00'", "another schedule"),
    "an optimum": ("UPDATE optimum SET value = value * 2", "is beyond the certified bound"),
    "a bound": ("UPDATE optimum SET bound = bound / 2, certified = bound / 2", "is refuted by"),
    "a looser bound": ("UPDATE optimum SET bound = bound * 2", "optimum: bound is"),
    "a level": ("UPDATE optimum SET level = 1", "optimum: level is"),
    "a status": ("UPDATE optimum SET status = 1", "optimum: status is"),
    "a name": (
        "INSERT INTO word (text) VALUES ('calls itself mine'); "
        "UPDATE cell SET message = (SELECT max(id) FROM word)",
        "message is None, the store states 'calls itself mine'",
    ),
    "a message": (
        "INSERT INTO word (text) VALUES ('defect'); "
        "UPDATE optimum SET message = (SELECT max(id) FROM word)",
        "message is None, the store states defect",
    ),
    "a certificate": ("UPDATE optimum SET certificate = x'00'", "another certificate"),
    "an instance": ("UPDATE instance SET digest = x'00'", "another instance"),
    "a seed": ("UPDATE cell SET seed = seed + 1", "of something else"),
    "a policy": (
        "UPDATE cell SET policy = (SELECT min(policy) FROM cell)",
        "of something else",
    ),
    "a key": ("UPDATE cell SET key = x'00' WHERE key = (SELECT min(key) FROM cell)", "not of the"),
    "no optima": ("DELETE FROM optimum", "its optimum is missing"),
    "strays": (
        "INSERT INTO optimum SELECT x'00', reference, status, value, bound, level, certified, "
        "effort, micros, wall, schedule, certificate, versions, message FROM optimum LIMIT 1",
        "belong to no instance",
    ),
    "an instance of no cell": (
        f"{PHANTOM} {OPTIMUM_OF_PHANTOM}",
        "1 instances are not of the plan",
    ),
    "its optimum": (f"{PHANTOM} {OPTIMUM_OF_PHANTOM}", "1 optima belong to no instance and"),
    "another reference": (f"{OTHER_REFERENCE}", "1 optima belong to no instance and"),
    "an instance under the key of another": (
        "UPDATE cell SET instance = 1; UPDATE instance SET seed = 7 WHERE id = 2",
        "1 instances are not of the plan",
    ),
    "the optimum of an instance without cells": (
        "DELETE FROM cell WHERE instance = 2; UPDATE optimum SET value = value * 2 "
        "WHERE digest = (SELECT digest FROM instance WHERE id = 2)",
        "is beyond the certified bound",
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_rows_are_found(call, edit, what):
    script, said = FORGED[what]
    status, out, _ = call("campaign", "verify", edit(script))
    assert status == 1
    assert said in out
    assert "rejected" in out


@pytest.mark.slow
@pytest.mark.parametrize("script", [f"{PHANTOM} {OPTIMUM_OF_PHANTOM}", OTHER_REFERENCE])
def test_an_optimum_of_no_cell_is_not_shown(call, whole, edit, tmp_path, script):
    said = call("campaign", "status", whole)
    for more in ("", "UPDATE optimum SET level = 1, status = 0 WHERE value = 901"):  # open, claimed
        path = edit(f"{script} {more}")
        assert call("campaign", "status", path) == said
        assert call("report", path, "-o", tmp_path / "page.html")[0] == 0
        page = (tmp_path / "page.html").read_text()
        assert not {"901", "9999"} & {*re.findall(r"\d+", page)}


TEXTS = {
    "a policy": ("word", "fifo", "fi\\u001b[31mfo"),
    "a policy over two lines": ("word", "fifo", "fifo\\n\\\\input{x}"),
    "half a character": ("word", "fifo", "fi\\ud800fo"),
    "a source": ("word", '"jobs":3', '"jobs":"\\u202e3"'),
    "a version": ("word", '"numpy"', '"\\u001b[31mnumpy"'),
    "the plan": ("fact", "campaign", "\\u001b[31mcampaign"),
    "a plan that is no JSON": ("fact", '"jobs":3', '"jobs":NaN'),
    "an infinite plan": ("fact", '"jobs":3', '"jobs":1e999'),
    "a deep plan": ("fact", '"jobs":3', '"jobs":' + 900 * "[" + 900 * "]"),
    "a large seed": ("fact", '"seeds":[0,1]', f'"seeds":[0,{1 << 63}]'),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", TEXTS)
def test_texts_that_no_store_holds_are_refused(call, edit, tmp_path, what):
    table, old, new = TEXTS[what]
    column = {"word": "text", "fact": "value"}[table]
    script = f"UPDATE {table} SET {column} = replace({column}, '{old}', '{new}')"
    path = edit(script)
    for words in (
        ("campaign", "verify", path),
        ("campaign", "resume", path, "--workers", 1, "-q"),
        ("report", path, "-o", tmp_path / "page.html"),
    ):
        status, _, err = call(*words)
        assert status == 2, words
        assert err.splitlines()[-1].startswith("optsched: ")
        assert "\x1b" not in err
    assert not (tmp_path / "page.html").exists()


SEARCHES = {
    '"method":"auto"': '"method":"proved by Gurobi"',
    '"check":"certified"': '"check":"proved twice"',
    '"effort":50.0': '"effort":-5.0',
    '"gap":1e-06': '"gap":1e999',
}


@pytest.mark.parametrize("there", SEARCHES)
def test_a_search_that_there_is_not_is_refused(call, edit, tmp_path, there):
    path = edit(f"UPDATE word SET text = replace(text, '{there}', '{SEARCHES[there]}')")
    for command in (("campaign", "status", path), ("report", path, "-o", tmp_path / "p.html")):
        status, _, err = call(*command)
        assert (status, "is no reference of a cell" in err.splitlines()[-1]) == (2, True)


@pytest.mark.parametrize("low", ["-1e308", "-9e999", "-1"])
def test_ratios_below_zero_are_refused(call, edit, low):
    path = edit(f"UPDATE cell SET low = {low}, high = 1e308")
    assert call("campaign", "export", path)[0] == 2
    assert call("report", path, "-o", path.with_suffix(".html"))[0] == 2


def test_messages_do_not_command_a_terminal(call, edit, tmp_path):
    path = edit(
        "INSERT INTO word (text) VALUES (char(27) || '[31mred' || char(10) || 'forged'); "
        "UPDATE cell SET status = 2, message = (SELECT max(id) FROM word)"
    )
    status, out, _ = call("campaign", "export", path, "--csv", tmp_path / "t.csv")
    assert status == 0
    assert "\\x1b[31mred\\nforged" in out
    assert "\x1b" not in out + (tmp_path / "t.csv").read_text()


def test_messages_are_no_formulas_and_only_those_of_errors_are_told(call, edit, tmp_path):
    path = edit(
        "INSERT INTO word (text) VALUES ('=1+1'); "
        "UPDATE cell SET message = (SELECT max(id) FROM word)"
    )
    assert call("campaign", "export", path, "--csv", tmp_path / "t.csv")[0] == 0
    assert {row["message"] for row in csv.DictReader((tmp_path / "t.csv").open())} == {"'=1+1"}
    assert "1+1" not in call("campaign", "status", path)[1]
    path = edit(
        "INSERT INTO word (text) VALUES ('=1+1'); "
        "UPDATE cell SET status = 2, message = (SELECT max(id) FROM word)"
    )
    assert "\n4 failed cells: =1+1\n" in call("campaign", "status", path)[1]
    path = edit(
        "INSERT INTO word (text) VALUES ('=1+1'); "
        "UPDATE cell SET status = 2, message = (SELECT max(id) FROM word) WHERE instance = 1; "
        "UPDATE optimum SET status = 2, message = (SELECT max(id) FROM word)"
    )
    _, out, _ = call("campaign", "status", path)
    assert "\n2 failed cells and 2 optima: =1+1\n" in out
    said = json.loads(call("campaign", "status", path, "--json")[1])
    assert said["messages"] == {"=1+1": {"cells": 2, "optima": 2}}


def test_rows_of_other_versions_are_wrong_only_if_they_cannot_be_true(call, edit):
    other = """UPDATE word SET text = '{"optsched":"0.0.1"}' WHERE text LIKE '{"%python%';"""
    status, out, _ = call("campaign", "verify", edit(other))
    assert (status, "rows of other versions" in out) == (0, False)
    less = "value = value / 2, known = known / 2, low = low * 2, high = high * 2"
    status, out, _ = call("campaign", "verify", edit(f"{other} UPDATE cell SET {less}"))
    assert (status, "4 rows of other versions" in out) == (0, True)
    forged = "UPDATE optimum SET bound = bound / 2, certified = bound / 2"
    status, out, _ = call("campaign", "verify", edit(other + forged))
    assert (status, "is refuted by a schedule" in out) == (1, True)


OTHER = """INSERT INTO word (text) SELECT replace(text, '"numpy":"', '"numpy":"0.') FROM word
    WHERE text LIKE '{"%python%'; UPDATE cell SET versions = (SELECT max(id) FROM word);"""
IMPOSSIBLE = {  # whatever the versions
    "a value beyond the bound": "SET value = 1e9, known = 1e9, low = 0.5, high = 0.5",
    "a value alone": "SET value = 1e9, low = 0.5, high = 0.5",
    "another schedule of the model": "SET known = 1e9",
    "a policy that leaves the model": "SET known = NULL, value = 1e9, low = 0.5, high = 0.5",
    "another ratio": "SET low = low + 1, high = high + 1",
    "no upper end": "SET high = NULL",
    "no ratio": "SET low = NULL, high = NULL",
    "a ratio without a value": "SET value = NULL",
    "an error that has a ratio": "SET status = 2, low = 0.5, high = 0.5",
    "a status that only optima have": "SET status = 1",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_other_versions_excuse_nothing_that_cannot_be(call, edit, what):
    status, out, _ = call("campaign", "verify", edit(f"{OTHER} UPDATE cell {IMPOSSIBLE[what]}"))
    assert (status, "rejected, 4 wrong" in out) == (1, True), out


def test_an_optimum_of_other_versions_is_closed_only_if_its_gap_is(call, edit):
    versions = OTHER.replace("UPDATE cell", "UPDATE optimum")
    path = edit(f"{versions} UPDATE optimum SET bound = bound * 2, certified = certified * 2")
    status, out, _ = call("campaign", "verify", path)
    assert (status, "counts as closed, but its gap is 1" in out) == (1, True), out


def test_an_optimum_of_other_versions_may_lack_a_certified_bound(call, edit):
    versions = OTHER.replace("UPDATE cell", "UPDATE optimum")
    path = edit(f"{versions} UPDATE optimum SET certified = NULL, level = 1, certificate = NULL")
    status, out, _ = call("campaign", "verify", path)
    assert (status, "accepted: 4 of 4 cells" in out) == (0, True), out


NOTHING = "value = NULL, schedule = NULL"
NO_ERROR = {
    "cells": f"UPDATE cell SET status = 2, known = NULL, low = NULL, high = NULL, {NOTHING}",
    "optima": f"UPDATE optimum SET status = 2, bound = NULL, certified = NULL, {NOTHING}",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", NO_ERROR)
def test_errors_are_errors_here_too(call, edit, what):
    status, out, _ = call("campaign", "verify", edit(NO_ERROR[what]))
    assert (status, "reports an error, but there is none here" in out) == (1, True), out


@pytest.mark.slow
def test_other_versions_may_have_had_an_error(call, edit):
    script = f"{OTHER} {NO_ERROR['cells']} WHERE key = (SELECT min(key) FROM cell)"
    status, out, _ = call("campaign", "verify", edit(script))
    assert (status, "1 cells state an error" in out) == (0, True), out


HANGS = """
from optsched.families.bot.policies.baselines import Fifo


class Hangs(Fifo):
    name = "hangs"

    def step(self, event):
        while True:
            pass


class Fails(Fifo):
    name = "fails"

    def step(self, event):
        raise ValueError("no")
"""


@pytest.mark.slow
def test_what_fails_again_is_accepted(call, tmp_path, monkeypatch):
    """Also what comes to no end: it has the time that the plan gives it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "never.py").write_text(HANGS)
    plan = {
        "instances": [{"family": "bot", "preset": "small"}],
        "policies": [{"name": "fifo"}, {"name": "never.py:Hangs"}, {"name": "never.py:Fails"}],
        "reference": {"effort": 50.0},
        "limits": {"cell_seconds": 2},
    }
    assert campaign(plan, "store", workers=1).progress.errors == 2
    status, out, _ = call("campaign", "verify", "store", "--trust")
    assert (status, "2 cells state an error" in out) == (0, True), out


WRONG = {
    "an endless view": "DROP TABLE fact; CREATE VIEW fact AS "
    f"{ENDLESS} x AS name, x AS value FROM n",
    "another view": f"CREATE VIEW more AS {ENDLESS} x FROM n",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON cell BEGIN DELETE FROM cell; END",
    "another table": "CREATE TABLE more (x)",
    "an index": "CREATE INDEX i ON cell (abs(value))",
    "no table": "DROP TABLE optimum",
    "another column": "ALTER TABLE cell ADD COLUMN more",
    "a write-ahead log": "PRAGMA journal_mode = WAL",
    "a text for a number": "UPDATE cell SET value = 'x'",
    "a blob for a text": "UPDATE word SET text = x'ff' WHERE id = 1",
    "a number for a key": "UPDATE instance SET digest = 3",
    "a long key": "UPDATE cell SET schedule = zeroblob(1000)",
    "a status": "UPDATE cell SET status = 9",
    "a level": "UPDATE optimum SET level = -1",
    "no words": "DELETE FROM word",
    "no instances": "DELETE FROM instance",
    "a source": "UPDATE word SET text = '{\"family\": 1}' "
    "WHERE id IN (SELECT source FROM instance)",
    "a family": "UPDATE word SET text = replace(text, 'oasis', 'none')",
    "no JSON": "UPDATE word SET text = '{' WHERE id IN (SELECT reference FROM cell)",
    "deep JSON": "UPDATE word SET text = printf('%.99999c', '[') "
    "WHERE id IN (SELECT reference FROM cell)",
    "a policy": "UPDATE word SET text = '{\"policy\": 3}' "
    "WHERE id = (SELECT min(policy) FROM cell)",
    "versions": "UPDATE word SET text = '[1]' WHERE id IN (SELECT versions FROM cell)",
    "how many": "UPDATE fact SET value = 'many' WHERE name = 'cells'",
    "a name of the family's": "INSERT INTO word (text) VALUES ('calls itself oasis'); "
    "UPDATE cell SET message = (SELECT max(id) FROM word)",
    "a name of two lines": "INSERT INTO word (text) VALUES ('calls itself x' || char(10) || 'y'); "
    "UPDATE cell SET message = (SELECT max(id) FROM word)",
    "a name that a terminal obeys": "INSERT INTO word (text) VALUES ('calls itself ' || char(27)); "
    "UPDATE cell SET message = (SELECT max(id) FROM word)",
    "a number that no float has": "UPDATE cell SET instance = 9007199254740993 WHERE instance = 1; "
    "UPDATE instance SET id = 9007199254740993 WHERE id = 1",
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_store_is_refused_in_a_line(call, edit, tmp_path, what):
    path = edit(WRONG[what])
    before = path.read_bytes()
    for command in (
        ["campaign", "status", path],
        ["campaign", "export", path],
        ["campaign", "resume", path],
        ["campaign", "verify", path],
        ["report", path, "-o", tmp_path / "page.html"],
    ):
        status, out, err = call(*command)
        assert (status, out, err.count("\n")) == (2, "", 1), (command, err)
        assert err.startswith(f"optsched: {path}: ")
    assert path.read_bytes() == before
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("table", ["cell", "optimum"])
def test_two_rows_of_one_key_are_damage(call, whole, edit, table):
    """The schema is that of a store; the rows were written by a table with a longer key."""
    with closing(sqlite3.connect(whole)) as db:
        (sql,) = db.execute(f"SELECT sql FROM sqlite_master WHERE name = '{table}'").fetchone()
        names = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
    longer = ", ".join(names[: names.index("micros") + 1])
    loose = re.sub(r",\s*PRIMARY KEY \([^)]*\)| PRIMARY KEY", "", sql)
    loose = loose.replace(") WITHOUT", f", PRIMARY KEY ({longer})) WITHOUT")
    rows = [
        ", ".join({"effort": "0.0", "micros": f"micros + {more}"}.get(name, name) for name in names)
        for more in (0, 1)
    ]
    path = edit(
        f"CREATE TABLE old AS SELECT * FROM {table}; DROP TABLE {table}; {loose};"
        + "".join(f"INSERT INTO {table} SELECT {row} FROM old;" for row in rows)
        + "DROP TABLE old; PRAGMA writable_schema = ON;"
        f"UPDATE sqlite_master SET sql = '{sql}' WHERE name = '{table}'"
    )
    status, out, err = call("campaign", "verify", path)
    assert (status, out) == (2, "")
    assert err.startswith(f"optsched: {path}: is damaged, expected a store")


@pytest.mark.parametrize(
    "change",
    [
        {"instances": [{"family": "oasis", "seeds": 10**15}]},
        {"instances": [{"family": "oasis", "grid": {k: list(range(99)) for k in "abcdefgh"}}]},
        {"replications": 10**15},
    ],
)
def test_plans_that_nobody_could_go_through(change, tmp_path):
    with pytest.raises(InputError, match="expected"):
        make_plan(PLAN | change, tmp_path)


def fanned_out(path):
    """Make the pages of a table's tree point to one and the same page, over and over."""
    with closing(sqlite3.connect(path)) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'word'").fetchone()[0]
        count = db.execute("PRAGMA page_count").fetchone()[0]
    data = bytearray(path.read_bytes())
    page = slice((root - 1) * size, root * size)
    pages = [bytes(data[page])]
    for child in range(count + 1, count + 5):
        entries = (size - 12) // 7 - 1
        made = bytearray(size)
        begin = size - 5 * entries
        made[:12] = struct.pack(">BHHHBI", 5, 0, entries, begin, 0, child)
        for k in range(entries):
            struct.pack_into(">H", made, 12 + 2 * k, begin + 5 * k)
            struct.pack_into(">IB", made, begin + 5 * k, child, 1)
        pages.append(bytes(made))
    data[page] = pages.pop()
    data += b"".join(pages)
    struct.pack_into(">I", data, 28, len(data) // size)
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1 << 30, 200 << 30])  # bytes that are holes
def test_a_file_that_seems_large_is_not_read_for_long(edit, size):
    path = edit("")
    fanned_out(path)
    if size:
        os.truncate(path, size)
    began = time.thread_time()
    with pytest.raises(InputError, match="expected a store"):
        Campaign(path).status()
    assert time.thread_time() - began < 20


@pytest.mark.slow
def test_exports_and_reports_say_that_nothing_was_run_again(call, whole, tmp_path):
    status, _, err = call("campaign", "export", whole, "--latex", tmp_path / "t.tex")
    assert (status, AS_STORED in err) == (0, True)
    assert f"% {AS_STORED}\n" in (tmp_path / "t.tex").read_text()
    assert AS_STORED in call("campaign", "status", whole)[1]
    assert call("report", whole, "-o", tmp_path / "page.html")[0] == 0
    said = (tmp_path / "page.html").read_text()
    assert "Not verified" in said
