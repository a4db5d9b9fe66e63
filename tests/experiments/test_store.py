"""The store: what it keeps, what it refuses, and that it states it in one line."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys

import pytest
from stores import REFERENCE, VERSIONS

from optsched.experiments.store import CellRow, CellState, Store, StoredOptimum
from optsched.files.atomic_io import writing
from optsched.problem import InputError, Level

SOURCE, POLICY = {"family": "bot", "parameters": {}}, {"policy": "fifo"}
BEST = StoredOptimum(
    b"d" * 32, CellState.LIMIT, -1.5, -1.25, Level.CERTIFIED, -1.25, None, 2.5, 3.0
)


def add(store, key=b"c" * 16, instance=b"i" * 16, digest=b"d" * 32, **more):
    with store.batch():
        number = store.instance(instance, SOURCE, 3, digest)
        store.add_best(instance, BEST, reference=REFERENCE, versions=VERSIONS)
        row = CellRow(digest, **{"status": CellState.DONE, "value": -2.0, "low": 1.5} | more)
        store.add_row(
            key,
            row,
            instance=number,
            reference=REFERENCE,
            policy=POLICY,
            replication=0,
            seed=4,
            versions=VERSIONS,
        )


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "store.sqlite"
    with Store.create(made) as store:
        add(store)
    return made


def content(path):
    with Store.open(path) as store:
        return list(store.view())


def test_what_is_added_is_there(path):
    (cell,) = content(path)
    assert (cell["value"], cell["optimum"], cell["status"]) == (-2.0, -1.5, CellState.LIMIT)
    assert (cell["instance_seed"], cell["instance_sha256"]) == (3, "64" * 32)
    with Store.open(path) as store:
        ((key, _, reference, best),) = store.optima()
    assert (key, json.loads(reference), best) == (b"i" * 16, REFERENCE, BEST)


def test_the_same_cell_a_second_time_changes_nothing(path):
    with Store.create(path) as store:
        add(store, value=-9.0)
    assert [cell["value"] for cell in content(path)] == [-2.0]


def test_equal_instances_have_one_optimum(path):
    with Store.create(path) as store:
        add(store, key=b"e" * 16, instance=b"j" * 16)
        assert len(store.rows("SELECT * FROM optimum")) == 1
        assert len(list(store.optima())) == 2
    assert [cell["optimum"] for cell in content(path)] == [-1.5, -1.5]


def test_a_key_that_makes_another_instance_is_refused(path):
    with Store.create(path) as store, pytest.raises(InputError, match="was another instance"):
        add(store, key=b"e" * 16, digest=b"x" * 32)
    assert len(content(path)) == 1


def test_a_failed_optimum_is_known_by_the_instance_once_that_is(tmp_path):
    path = tmp_path / "store.sqlite"
    with Store.create(path) as store:
        with store.batch():
            store.instance(b"i" * 16, SOURCE, 3, None)
            failed = StoredOptimum(None, CellState.ERROR, message="gone")
            store.add_best(b"i" * 16, failed, reference=REFERENCE, versions=VERSIONS)
        add(store)
        assert [best.message for *_, best in store.optima()] == ["gone"]
    assert [cell["status"] for cell in content(path)] == [CellState.ERROR]


def test_errors_can_be_forgotten(path):
    with Store.create(path) as store:
        add(store, key=b"e" * 16, status=CellState.ERROR, message="no")
        assert store.forget_errors() == 1
    assert [cell["status"] for cell in content(path)] == [CellState.LIMIT]


def test_a_batch_is_written_whole_or_not_at_all(path):
    with Store.create(path) as store:
        with pytest.raises(InputError, match="cannot be used"), store.batch():
            store.instance(b"z" * 16, SOURCE, 1, object())
        assert store.rows("SELECT count(*) FROM instance") == [(1,)]
        with store.batch():
            assert store.instance(b"z" * 16, SOURCE, 1, None) > 0


def test_other_files_are_no_stores(tmp_path):
    text, other = tmp_path / "a", tmp_path / "b"
    text.write_text("x" * 5000)
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    for path in (text, other, tmp_path / "missing", tmp_path):
        with pytest.raises(InputError) as caught:
            Store.open(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="is no store"):
        Store.create(other)


@pytest.mark.parametrize("table", ["instance", "cell"])
def test_no_seed_is_negative(path, table):
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE {table} SET seed = -1")
    with pytest.raises(InputError, match=f"table {table}, column seed: 1 rows hold what cannot be"):
        Store.open(path)


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / "store").touch()
    with Store.create(tmp_path / "store") as store:
        add(store)
    assert len(content(tmp_path / "store")) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_file_that_may_only_be_read_can_be_read(path):
    path.chmod(stat.S_IREAD)
    assert len(content(path)) == 1
    with Store.create(path) as store, pytest.raises(InputError, match="may only be read"):
        add(store, key=b"e" * 16)


def test_a_file_that_another_program_holds_is_refused(path, monkeypatch):
    monkeypatch.setattr("optsched.experiments.store.WAIT", 0.1)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InputError, match="another program holds it"):
        Store.create(path)
    db.close()
    assert len(content(path)) == 1


FILLS = """
import sys
from pathlib import Path
from optsched.experiments.store import Store
with Store.create(Path(sys.argv[1])) as store, store.batch():
    store.instance(b"j" * 16, {}, 3, None)
    store.word("x" * 300_000)
"""


def test_a_full_disk_loses_nothing(tmp_path, path):
    (tmp_path / "disk").mkdir()
    mounted = "mount -t tmpfs -o size=128k tmpfs disk"
    apart = ["unshare", "-rm", "sh", "-c"]  # a namespace in which a small disk can be mounted
    if not shutil.which("unshare") or subprocess.call([*apart, mounted], cwd=tmp_path):
        pytest.skip("no small disk can be mounted here")
    script = f'{mounted} && cp {path.name} disk/store && "$@"; cp disk/store .'
    done = subprocess.run(
        [*apart, script, "sh", sys.executable, "-c", FILLS, "disk/store"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "disk/store: cannot be written: the disk is full; what was stored" in done.stderr
    db = sqlite3.connect(tmp_path / "store")
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    assert content(tmp_path / "store") == content(path)


def test_no_folder_is_made_for_a_lock(tmp_path):
    with pytest.raises(InputError, match="there is no folder"), writing(tmp_path / "no" / "store"):
        pass
    assert not list(tmp_path.iterdir())


def test_only_one_writes(tmp_path):
    path = tmp_path / "store"
    code = (
        "import sys; from pathlib import Path; from optsched.files.atomic_io import writing\n"
        "with writing(Path(sys.argv[1])): print('mine', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout.readline() == b"mine\n"
    link = tmp_path / "link"
    link.symlink_to("store")
    said = rf"another run writes it \(process {other.pid} on"
    for name in (path, link):
        with pytest.raises(InputError, match=said), writing(name):
            pass
    link.unlink()
    other.kill()  # what it leaves counts for nothing
    other.wait()
    assert (tmp_path / "store.lock").exists()
    with writing(path):
        pass
    assert not list(tmp_path.iterdir())
    other.stdin.close()
    other.stdout.close()
