"""Files that somebody has damaged, with or without intent: one line, and nothing else happens."""

import json
import random
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FILES = 150  # damaged files of each kind
SECONDS = 20.0  # that none of them may take, even on a busy machine
MEMORY = 1 << 30  # bytes beyond what the process has

NUMBERS = (
    *(0, -1, 1, 2, 3, 0.5, 7, 100, 10**4, 10**6, 10**8, 10**10, 10**13, 2**31, 2**40, 2**53),
    *(2**62, 2**63 - 1, 2**63, 2**64, 2**70, 10**30, 10**400, -(2**63), -(2**70), -(10**400)),
    *(1e-9, 1e-12, 1e-300, 5e-324, 1e9, 1e12, 1e30, 1e100, 1e300, 1.7e308, -1e308, -0.0, 1e-7),
)
OTHERS = (
    *(
        None,
        True,
        False,
        "",
        "x",
        "inf",
        "-inf",
        "nan",
        "1",
        "x" * 5000,
        [],
        {},
        [[]],
        [{}],
        {"x": 1},
    ),
    *([1] * 50, [[0, 0, 1]], [[0, 0, 1]] * 3, {"kind": "x"}, "\x1b[31mred", "\u202ex", "\udc80"),
)


def places(content: Any) -> list[tuple[Any, Any]]:
    """Return where something could be changed: a dictionary or list, and a key of it."""
    found, left = [], [content]
    while left:
        value = left.pop()
        keys = list(value) if isinstance(value, dict) else range(min(len(value), 40))
        for key in keys:
            found.append((value, key))
            if isinstance(value[key], dict | list):
                left.append(value[key])
    return found


def damaged(content: Any, rng: random.Random) -> str:
    """Return the text of ``content`` with a damage or two; ``content`` is changed."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        where, key = rng.choice(places(content) or [({"x": 1}, "x")])  # nothing may be left
        old = where[key]
        number = isinstance(old, int | float) and abs(old) < 1e300
        kind = rng.random()
        if number and kind < 0.75:
            where[key] = rng.choice((*NUMBERS, -old, old + 1, old * 1000, old / 1000, old + 1e-9))
        elif isinstance(where, dict) and kind < 0.15:
            del where[key]
        elif isinstance(where, dict) and kind < 0.25:
            where[rng.choice(("", "x", "seed", "jobs"))] = rng.choice(OTHERS)
        elif isinstance(old, list) and kind < 0.6:
            where[key] = rng.choice((old[:-1], old[1:], old * 2, old * 30, old[::-1], [old]))
        else:
            where[key] = rng.choice((*OTHERS, *NUMBERS))
    text = json.dumps(content)
    kind = rng.random()
    if kind < 0.04:
        return text[: rng.randrange(len(text))]
    if kind < 0.08:
        k = rng.randrange(len(text))
        return text[:k] + rng.choice('{}[],:"0x\\\u00e9') + text[k + 1 :]
    if kind < 0.10:
        return text.replace(": 1", f": {rng.choice(('NaN', 'Infinity', '1e999', '--1', '01'))}", 1)
    if kind < 0.11:
        return text.replace("null", "[" * 100_000, 1)
    if kind < 0.13:
        return text.replace('"family":', '"family": 1, "family":', 1)
    return text


@contextmanager
def bounded() -> Iterator[None]:
    """Let the process take no more than a gigabyte beyond what it has, and not too long."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    began = time.monotonic()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert time.monotonic() - began < SECONDS


def make(call: Callable[..., Any], folder: Path, family: str, policy: str) -> dict[str, Path]:
    """Make one good file of every kind."""
    made = {kind: folder / f"{kind}.json" for kind in ("instance", "run", "result", "schedule")}
    assert call("generate", family, "--preset", "small", "-o", made["instance"])[0] == 0
    assert call("run", made["instance"], "-p", policy, "-o", made["run"])[0] == 0
    args = ("-p", policy, "--time-limit", 3, "-o", made["result"])
    assert call("ratio", made["instance"], *args)[0] == 0
    content = json.loads(made["run"].read_text())
    schedule = {
        **{name: content[name] for name in ("format", "family")},
        **{"kind": "schedule", "schedule": content["run"]["schedule"]},
    }
    made["schedule"].write_text(json.dumps(schedule))
    return made


def commands(kind: str, good: dict[str, Path], path: Path) -> list[list[object]]:
    """Return the commands that read a file of a kind."""
    if kind == "instance":
        return [["show", path], ["verify", path, good["schedule"]]]
    if kind == "schedule":
        return [["verify", good["instance"], path]]
    return [["verify", path], ["show", path]]


def attack(call: Callable[..., Any], folder: Path, family: str, policy: str, kind: str) -> None:
    """Damage a file again and again; every command must end with a status and a word."""
    good = make(call, folder, family, policy)
    text, rng = good[kind].read_text(), random.Random(f"{family} {kind}")
    digested = "instance_sha256" in json.loads(text) and kind != "schedule"
    path, before = folder / "damaged.json", sorted(folder.iterdir())
    seen = set()
    for _ in range(FILES):
        fresh = json.loads(text)
        if digested and rng.random() < 0.8:
            del fresh["instance_sha256"]  # so that the damage is looked at
        path.write_text(damaged(fresh, rng), encoding="utf-8")
        for command in commands(kind, good, path):
            with bounded():
                status, out, err = call(*command)
            assert status in (0, 1, 2), (command, status, err)
            seen.add(status)
            if status == 2:
                assert (out, err.count("\n")) == ("", 1), (out, err)
                assert err.startswith("optsched: ")
            assert all(c.isprintable() or c in "\n\t" for c in out + err), (out, err)
    path.unlink()
    assert sorted(folder.iterdir()) == before
    assert len(seen) > 1  # not all of them are refused for one reason
