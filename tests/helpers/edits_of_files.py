"""Stores, results and packs that somebody has edited: commands must answer in time and in a line.

Every edit is made in a process of its own, and every command that reads it gets this many seconds.
"""

import contextlib
import io
import json
import lzma
import os
import random
import shutil
import signal
import sqlite3
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from damages import damage
from hostile import damaged

from optsched.cli.app import main
from optsched.core import compare, solve
from optsched.experiments.campaign import campaign
from optsched.families.oasis.sources.presets import generate
from optsched.library.packs import Library, Pack, result_text
from optsched.library.table import write_table
from optsched.library.verify import verify
from optsched.problem import get_family
from optsched.results.result import save_result

KINDS = ("store", "result", "pack")
SECONDS = 10  # of processor time that an answer may take
PATIENCE = 60  # seconds on the clock: the machine may be busy
PLAN = {
    "instances": [{"family": "oasis", "preset": "small", "seeds": 2, "parameters": {"jobs": 3}}],
    "policies": [{"name": "fifo"}, {"name": "drf"}],
    "reference": {"effort": 50.0},
}
TABLES = ("fact", "word", "instance", "optimum", "cell")
VALUES = (
    *(None, 0, 1, -1, 3, 99, 2**31, 2**62, -(2**63), 0.5, -2.0, 1e308, float("inf"), -float("inf")),
    *(
        "",
        "x",
        "1",
        "{}",
        "[]",
        "nan",
        '{"family": "oasis"}',
        '{"family": 1}',
        "{" * 5000,
        "\x1b[31m",
    ),
    *(b"", b"x", b"\xff" * 16, b"\0" * 32, b"z" * (1 << 20)),
)
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"
SCRIPTS = (
    *(f"DROP TABLE {table}" for table in TABLES),
    *(f"DELETE FROM {table}" for table in TABLES),
    f"DROP TABLE fact; CREATE VIEW fact AS {ENDLESS} x AS name, x AS value FROM n",
    f"ALTER TABLE word RENAME TO old; CREATE VIEW word AS {ENDLESS} x AS id, 'y' AS text FROM n",
    f"CREATE VIEW more AS {ENDLESS} x FROM n",
    "CREATE TRIGGER t AFTER INSERT ON cell BEGIN DELETE FROM cell; END",
    "CREATE TABLE more (x)",
    "CREATE INDEX i ON cell (abs(value))",
    "ALTER TABLE cell ADD COLUMN more",
    "ALTER TABLE cell RENAME COLUMN low TO lower",
    "PRAGMA user_version = 2",
    "PRAGMA application_id = 1",
    "PRAGMA journal_mode = WAL; DELETE FROM optimum",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE cell (key)' "
    "WHERE name = 'cell'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 2",
    "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'word'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = x'00ff', type = 7",
    "UPDATE cell SET instance = instance + 1",
    "UPDATE instance SET digest = NULL",
    "UPDATE word SET id = id + 1",
    "UPDATE fact SET name = 'else' WHERE name = 'plan'",
    "UPDATE fact SET value = 'many' WHERE name = 'cells'",
    "UPDATE optimum SET status = 0, level = 2, bound = value, certified = value",
)


def good_files(folder: Path) -> dict[str, Path]:
    """Make one good file of each kind, and results of all families."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {"store": folder / "store.sqlite", "pack": folder / "library"}
    campaign(PLAN, made["store"], workers=1)
    for name, preset in (("oasis", "small"), ("completion", "small"), ("bot", "small")):
        instance = get_family(name).generate(preset, seed=1)
        made[f"result {name}"] = folder / f"{name}.json"
        found = compare(instance, list(get_family(name).policies)[:1], work_limit=200)
        parts = (found.optimum, found.runs, found.references)
        save_result(made[f"result {name}"], instance, *parts)
    library = Library(made["pack"])
    (library.folder / "oasis").mkdir(parents=True)
    entries = [generate("small", seed=seed, jobs=3, slots=4, machines=2) for seed in (1, 2)]
    solved = [solve(instance, work_limit=100) for instance in entries]
    texts = [result_text(*pair) for pair in zip(entries, solved, strict=True)]
    made["entry"] = folder / "entry.json"
    save_result(made["entry"], entries[0], solved[0])
    Pack(library.folder / "oasis" / "small-drawn.jsonl.xz").write(texts)
    write_table(library, "oasis", verify(library, tables=False).rows)
    for kind in KINDS:  # what commands import is there before they are timed
        whole = made["result bot" if kind == "result" else kind]
        spare = folder / "spare" / whole.name
        shutil.rmtree(spare.parent, ignore_errors=True)
        spare.parent.mkdir()
        (shutil.copytree if whole.is_dir() else shutil.copy)(whole, spare)
        for command in commands(kind, spare, made):
            assert _call(command) == "", command
    return made


def edited(kind: str, good: dict[str, Path], folder: Path, draw: random.Random) -> Path:
    """Write an edited copy of a file of a kind."""
    if kind == "store":
        path = folder / "edited.sqlite"
        shutil.copy(good["store"], path)
        draw.choice((_rows, _rows, _rows, _script, _script, _texts, _texts, _bytes))(path, draw)
    elif kind == "pack":
        path = folder / "edited"
        shutil.copytree(good["pack"], path)
        _library(path / "oasis", draw)
    else:
        path = folder / "edited.json"
        whole = good[draw.choice([name for name in good if name.startswith("result")])]
        content = json.loads(whole.read_text())
        if draw.random() < 0.5:
            path.write_text(json.dumps(damage(content, draw)[0]))
        else:
            if draw.random() < 0.7:
                del content["instance_sha256"]
            path.write_text(damaged(content, draw))
        if draw.random() < 0.1:
            _bytes(path, draw)
    return path


def _rows(path: Path, draw: random.Random) -> None:
    """Put something else into rows of a table, delete some of them, or double them."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        for _ in range(draw.choice((1, 1, 2, 5))):
            table = draw.choice(TABLES)
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            some = draw.choice(
                ("", f" WHERE {columns[0]} = (SELECT min({columns[0]}) FROM {table})")
            )
            with contextlib.suppress(sqlite3.Error):
                if draw.random() < 0.2:
                    db.execute(f"DELETE FROM {table}{some}")
                else:
                    change = f"UPDATE {table} SET {draw.choice(columns)} = ?{some}"
                    db.execute(change, (draw.choice(VALUES),))
        db.commit()


def _script(path: Path, draw: random.Random) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db, contextlib.suppress(sqlite3.Error):
        db.executescript(draw.choice(SCRIPTS))
        db.commit()


def _texts(path: Path, draw: random.Random) -> None:
    """Damage the JSON of a plan, source, policy, reference or set of versions."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        texts = [("fact", "value", text) for (text,) in db.execute("SELECT value FROM fact")]
        texts += [("word", "text", text) for (text,) in db.execute("SELECT text FROM word")]
        table, column, text = draw.choice([texts[0], *texts])
        content = json.loads(text)
        new = (
            damaged(content, draw)
            if isinstance(content, dict) and content
            else draw.choice(("x", "-1"))
        )
        with contextlib.suppress(sqlite3.Error, UnicodeError):
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, text))
        db.commit()


def _bytes(path: Path, draw: random.Random) -> None:
    """Flip, cut, add or move bytes."""
    data = bytearray(path.read_bytes())
    how = draw.random()
    if how < 0.5:
        for _ in range(draw.choice((1, 3, 10, 50))):
            data[draw.randrange(min(len(data), draw.choice((100, 5000, 1 << 30))))] = (
                draw.randrange(256)
            )
    elif how < 0.7:
        del data[draw.randrange(len(data)) :]
    elif how < 0.8:
        data += bytes(draw.randrange(256) for _ in range(draw.choice((1, 100, 5000))))
    else:
        size = min(4096, len(data) // 2)
        here, there = (size * draw.randrange(len(data) // size) for _ in range(2))
        data[here : here + size] = data[there : there + size]
    path.write_bytes(bytes(data))


def _library(folder: Path, draw: random.Random) -> None:
    pack, table = folder / "small-drawn.jsonl.xz", folder / "table.csv"
    how = draw.random()
    if how < 0.35:
        lines = lzma.decompress(pack.read_bytes()).splitlines()
        k = draw.randrange(len(lines))
        content = json.loads(lines[k])
        other = (
            damaged(content, draw) if draw.random() < 0.5 else json.dumps(damage(content, draw)[0])
        )
        lines[k] = other.encode(errors="surrogatepass")
        pack.write_bytes(lzma.compress(b"\n".join(lines)))
    elif how < 0.5:
        piece = draw.choice((b"0" * (1 << 20), b"\n" * (1 << 20), b"{}\n" * (1 << 18)))
        packer = lzma.LZMACompressor(preset=0)
        parts = [packer.compress(piece) for _ in range(draw.choice((2, 64, 1024)))]
        pack.write_bytes(b"".join([*parts, packer.flush()]))
    elif how < 0.75:
        _bytes(pack, draw)
    elif how < 0.85:
        _bytes(table, draw)
    else:
        text = table.read_text()
        old, new = draw.choice(
            (("name", "nom"), (",", ";"), ("easy", "open"), ("0", "9"), ("\n", "\n\n"))
        )
        table.write_text(text.replace(old, new, draw.choice((1, 5, -1))))


def commands(kind: str, path: Path, good: dict[str, Path]) -> Iterator[list[Any]]:
    """Yield the commands that read a file of a kind."""
    other, library = path.parent, ["--library", path]
    if kind == "store":
        yield ["campaign", "status", path]
        yield ["campaign", "export", path, "--csv", other / "t.csv", "--latex", other / "t.tex"]
        yield ["campaign", "export", path, "--ecdf", other / "e.csv", "--worst", other / "w"]
        yield ["report", path, "-o", other / "page.html"]
        yield ["campaign", "verify", path]
        yield ["campaign", "merge", other / "both.sqlite", path, good["store"]]
        yield ["campaign", "resume", path, "--workers", 1, "-q"]
    elif kind == "pack":
        yield ["library", "list", *library]
        yield ["library", "get", "oasis-small-drawn-0002", "-o", other / "e.json", *library]
        yield ["library", "verify", "--workers", 1, *library]
        yield ["library", "submit", good["entry"], *library]
    else:
        yield ["verify", path]
        yield ["show", path]
        yield ["show", path, "--json"]
        yield ["report", path, "-o", other / "page.html"]
        yield ["ratio", path, "--optimum", path, "-p", "fifo"]


def attack(kind: str, good: dict[str, Path], folder: Path, seed: int) -> list[str]:
    """Edit a file of a kind and read it with all commands; return what went wrong."""
    wrong = []
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = edited(kind, good, folder, random.Random(f"{kind} {seed}"))
    for command in commands(kind, path, good):
        found = apart(lambda words=command: _call(words))
        if found:
            wrong.append(f"{kind} {seed}: {' '.join(map(str, command[:2]))}: {found}")
    return wrong


def _call(words: list[Any]) -> str:
    """Run a command here; return what is wrong with its answer."""
    out, err = io.StringIO(), io.StringIO()
    status: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(word) for word in words])
        except SystemExit as left:
            status = left.code or 0
        except BaseException:
            return traceback.format_exc()
    said = err.getvalue()
    if "Traceback" in said + out.getvalue():
        return said
    if status not in (0, 1, 2):
        return f"exit status {status}: {said}"
    told = [line.startswith("optsched: ") for line in said.splitlines()]
    if status == 2 and (sum(told) != 1 or not told[-1]):  # before it may stand what was written
        return f"not one line: {said}"
    return ""


def apart(call: Callable[[], str]) -> str:
    """Return what a call states in a process of its own, or that it came to no end in time."""
    source, target = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        for number in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(PATIENCE)
        said = call()
        with os.fdopen(target, "w", errors="replace") as f:
            f.write(said[-4000:])
        os._exit(0)
    os.close(target)
    with os.fdopen(source, errors="replace") as f:
        said = f.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"no answer within {SECONDS} s: {signal.Signals(os.WTERMSIG(status)).name}"
    return said
