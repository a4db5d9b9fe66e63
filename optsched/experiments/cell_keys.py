"""Cells of a campaign: instances, policies, references, and their keys.

A key is the beginning of the SHA-256 of a content's canonical JSON. It depends on the content
alone: not on the order of a plan, the folder, the machine, or the other cells.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from importlib.machinery import PathFinder
from itertools import product
from pathlib import Path, PurePath
from typing import Any

from optsched.core import Optimum, Run, open_input, recorded, simulate, solve
from optsched.core.inputs import SAMPLE
from optsched.core.simulation import FUTURE
from optsched.files.atomic_io import open_file
from optsched.files.format import load_instance
from optsched.policies.loader import get_policy
from optsched.problem import (
    REAL,
    Family,
    InputError,
    Instance,
    Level,
    Policy,
    Schedule,
    Window,
    family_of,
    get_family,
    is_named_in_file,
    problem_in,
)
from optsched.process import messages
from optsched.sandbox.process import SEAL

KEY = 16  # bytes of a key
FILES = ("machines", "profiles", "shapes")  # fields of Window that name files
WINDOWS = "windows"  # among the parameters of a trace: into how many parts it is divided
Content = dict[str, Any]


def key_of(content: Any) -> bytes:
    """Return the key of a JSON value.

    >>> key_of({"a": 1, "b": [2]}) == key_of({"b": (2,), "a": 1}) != key_of({"a": 1})
    True
    """
    return hashlib.sha256(canonical(content).encode()).digest()[:KEY]


def canonical(content: Any) -> str:
    """Return the one JSON text of a content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def grid(axes: Mapping[str, Sequence[Any]]) -> Iterator[Content]:
    """Yield every point of a grid, the last axis first.

    >>> list(grid({"jobs": [5, 10], "slots": [8]}))
    [{'jobs': 5, 'slots': 8}, {'jobs': 10, 'slots': 8}]
    """
    for point in product(*axes.values()):
        yield dict(zip(axes, point, strict=True))


def tuples(value: Any) -> Any:
    """Return ``value`` with tuples instead of lists, as generators expect."""
    return tuple(map(tuples, value)) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Source:
    """Source of instances, without the seed: a generator, a window of a trace, or files."""

    family: str
    parameters: Content  # of the generator (its preset included), or of the window
    trace: str | None = None  # a file, as the plan names it
    folder: str = "."  # where files are looked for
    digests: Mapping[str, str] | None = None  # SHA-256 of the files, by name
    pattern: str | None = None  # of the names of instance files
    name: str | None = None  # in tables; no part of the key

    @cached_property
    def content(self) -> Content:
        """Content of the key; files count by their content."""
        data: Content = {"family": self.family, "parameters": self.parameters}
        if self.pattern is not None:
            return {"family": self.family, "instances": self.pattern}
        if is_named_in_file(self.family):
            data["file_sha256"] = (self.digests or {}).get(self.family)
        if self.trace is not None:
            named = {
                name: (self.digests or {}).get(str(file), file)
                for name, file in [("trace", self.trace), *self._files()]
            }
            rest = {k: v for k, v in self.parameters.items() if k not in FILES}
            data = {"family": self.family, "files": named, "window": rest}
        return data

    @cached_property
    def key(self) -> bytes:
        """The key of the content."""
        return key_of(self.content)

    @property
    def label(self) -> str:
        """The source in a phrase, as in tables.

        >>> Source("oasis", {"preset": "small", "jobs": 4}).label
        'oasis small jobs=4'
        """
        if self.name is not None:
            return self.name
        data = {k: v for k, v in self.parameters.items() if k != "preset"}
        words = [self.family, self.pattern or self.trace or self.parameters.get("preset")]
        return " ".join([*filter(None, words), *(f"{k}={abridged(v)}" for k, v in data.items())])

    @property
    def windows(self) -> int | None:
        """Into how many parts the trace is divided; the seed of an instance is its part, from 1."""
        return None if self.trace is None else self.parameters.get(WINDOWS)

    def _files(self) -> Iterator[tuple[str, str]]:
        for name in FILES:
            found = self.parameters.get(name)
            if isinstance(found, list | tuple):
                yield from ((f"{name} {k}", file) for k, file in enumerate(found))
            elif found is not None:
                yield name, found

    def files(self) -> list[str]:
        """Return all files that it reads, as the plan names them; not the samples."""
        if self.trace is None or self.trace == SAMPLE:
            return []
        return [self.trace, *(file for _, file in self._files())]

    def check(self, seed: int) -> None:
        """Refuse a parameter that the generator, or the window, does not have.

        ``seed`` is one to try a generator that lists its own parameters.

        Raises
        ------
        InputError
            Names the parameter and those that there are.
        """
        family = get_family(self.family)
        if self.pattern is not None:
            self.make(seed, code=True)
            return
        taken = inspect.signature(family.generate).parameters.values()
        if self.trace is not None:
            known = [f.name for f in fields(Window) if f.name != "draw_seed"]
        elif any(p.kind is p.VAR_KEYWORD for p in taken):
            self.make(seed, code=True)
            return
        else:
            known = [p.name for p in taken if p.name != "seed"]
            preset = self.parameters["preset"]
            if preset not in family.presets:
                raise InputError(
                    f"{self.family}: unknown preset {preset!r}, "
                    f"expected one of: {', '.join(family.presets)}"
                )
        for name, file in self._files() if self.trace is not None else ():
            if not isinstance(file, str):
                raise InputError(f"{self.family}: {name} is {file!r}, expected the name of a file")
        for name in self.parameters:
            if name not in known and (self.windows is None or name != WINDOWS):
                raise InputError(
                    f"{self.family}: unknown parameter {name!r}, "
                    f"expected one of: {', '.join(known)}"
                )
        if self.windows is not None:
            self.make(seed)  # the first window has no more jobs than any other

    def make(self, seed: int, *, code: bool = False) -> Instance:
        """Return the instance of a seed.

        Parameters
        ----------
        seed : int
        code : bool
            Whether a problem in a file may be run: `Plan.refuse_code` has let it pass.

        Raises
        ------
        InputError
            A parameter has a value that is none, a file is another one by now, or it is code.
        """
        problem = problem_in(self.family)
        if problem is not None and not code:
            raise InputError(
                f"problem {problem!r} is a file of code, which is run only if it is trusted"
            )
        if self.pattern is not None:
            return self._read(seed)
        if problem is not None:
            self._must_be_unchanged(self.family, Path(problem.rpartition(":")[0]), kept=True)
        for name in self.files():
            self._must_be_unchanged(name, Path(self.folder) / name)
        given = {name: tuples(value) for name, value in self.parameters.items()}
        if self.trace is None:
            return get_family(self.family).generate(**given, seed=seed)
        path, window = self._window(given, seed)
        with messages.silenced():
            return open_input(path, self.family, window)

    def _must_be_unchanged(self, name: str, file: Path, *, kept: bool = False) -> None:
        """Refuse a file of the plan that is another one by now."""
        digest = (self.digests or {}).get(name)
        if digest is not None:
            found = os.stat(file) if file.is_file() else None
            now = found and _digest_of(file, found.st_mtime_ns, found.st_size)
            _must_be_unchanged(name, digest, now, kept=kept)

    def recorded(self, seed: int, instance: Instance) -> Schedule | None:
        """Return the recorded schedule, if the trace of an instance has one.

        Raises
        ------
        InputError
            It has one that is no schedule of the instance; the message states why.
        """
        if self.trace is None:
            return None
        given = {name: tuples(value) for name, value in self.parameters.items()}
        with messages.silenced(), messages.collected_remarks() as why:
            found = recorded(*self._window(given, seed), instance).get(REAL)
        if found is None and why:
            raise InputError("; ".join(why))
        return found

    def _window(self, given: Content, seed: int) -> tuple[Path, Window]:
        """Return the trace and its window of a seed."""
        assert self.trace is not None
        if self.windows is not None:
            given["start"] = f"{seed}/{given.pop(WINDOWS)}"
        folder = Path(self.folder)
        for name in FILES:
            if name in given:
                found = given[name]
                single = isinstance(found, str)
                given[name] = folder / found if single else tuple(folder / f for f in found)
        path = Path(self.trace) if self.trace == SAMPLE else folder / self.trace
        return path, Window(**given, draw_seed=seed)

    def file(self, seed: int) -> str | None:
        """Return the name of the instance file whose number is ``seed``; None: there is none."""
        there = self.digests or {}
        named = () if self.pattern is None else matching(self.pattern, there)
        return next((name for name in named if number_of(there[name]) == seed), None)

    def drawn_by(self, seed: int) -> str:
        """Report which instance of the source a seed stands for: a file has a name."""
        if self.windows is not None:
            return f"window {seed}/{self.windows}"
        return self.file(seed) or f"seed {seed}"

    def _read(self, seed: int) -> Instance:
        name = self.file(seed)
        if name is None:
            raise InputError(f"{self.label}: no file has the number {seed}, expected one")
        path = Path(self.folder) / name
        if digest_of(path) != (self.digests or {})[name]:
            raise InputError(f"{path}: is another file than when the campaign began")
        found = load_instance(path)
        if family_of(found).name != self.family:
            raise InputError(
                f"{path}: is of family {family_of(found).name}, expected {self.family}; "
                "other families have an [[instances]] of their own"
            )
        return found


def number_of(digest: str) -> int:
    """Return the number of an instance file, its seed: 48 bits of a digest of its content.

    >>> number_of("00000000002a" + 52 * "f")
    42
    """
    return int(digest[:12], 16)


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names of files that match a pattern, in order; policies have digests as well.

    >>> matching("small/*.json", ["small/b.json", "small/a.json", "large/a.json", "policy:Mine"])
    ['small/a.json', 'small/b.json']
    >>> matching("*.json", ["a.json", "exec:python3 mine.py b.json"])
    ['a.json']
    """
    parts = len(PurePath(pattern).parts)
    return sorted(
        name
        for name in names
        if len(PurePath(name).parts) == parts
        and PurePath(name).match(pattern)
        and not name.startswith("exec:")
    )


def abridged(value: Any) -> str:
    """Return a value of a parameter as labels show it."""
    return ":".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@dataclass(frozen=True)
class Contender:
    """A policy with its parameters."""

    name: str
    parameters: Content
    sealed: bool = False
    digest: str | None = None  # of the file of a policy from outside
    decision_limit: float | None = None  # seconds

    @cached_property
    def content(self) -> Content:
        """Content of the key."""
        data: Content = {"policy": self.name}
        if self.parameters:
            data["parameters"] = self.parameters
        if self.sealed:
            data["sealed"] = True
        if self.digest is not None:
            data["file_sha256"] = self.digest
        if self.decision_limit is not None:
            data["decision_limit"] = self.decision_limit
        return data

    @cached_property
    def key(self) -> bytes:
        """The key of the content."""
        return key_of(self.content)

    @property
    def label(self) -> str:
        """The policy in a phrase, as in tables.

        >>> Contender("fifo", {"workers": 3}).label
        'fifo(workers=3)'
        """
        data = ", ".join(f"{k}={abridged(v)}" for k, v in self.parameters.items())
        return f"{self.name}({data})" if data else self.name

    def play(self, instance: Instance, seed: int, *, code: bool = False) -> Run:
        """Run the policy on an instance.

        Parameters
        ----------
        instance : Instance
        seed : int
        code : bool
            Whether an external policy may be run: it is named outside files.

        Raises
        ------
        InputError
            It is from outside, and may not be run, or its file has changed.
        """
        if ":" in self.name and not code:
            raise InputError(
                f"{self.label} is a program from outside, which is run only if "
                f"--policy {json.dumps(self.label)} requests it"
            )
        now = None if self.digest is None else digest_of_policy(self.name)
        own = not (self.sealed or self.name.startswith("exec:"))  # else each run loads it again
        _must_be_unchanged(self.name, self.digest, now, kept=own)
        chosen: Policy | str = self.name
        if self.parameters:
            chosen = get_policy(family_of(instance), self.name, **self.parameters)
        how: dict[str, Any] = {"sandbox": self.sealed, "decision_limit": self.decision_limit}
        return simulate(instance, chosen, seed=seed, **how)

    def serves(self, family: Family) -> bool:
        """Whether the family has a policy of this name, or it comes from outside."""
        return ":" in self.name or self.name in family.policies


def files_of_policy(name: str, folder: Path) -> list[Path]:
    """Return the files in which a policy from outside is written; there may be none to read.

    That is the file of MODULE:CLASS or FILE.py:NAME, and all that exec:COMMAND names: a program
    that is found in the folders of the system is not among them. ``folder`` is looked into first,
    as when a command is run there. Nothing is imported.
    """
    if name.startswith("exec:"):
        with contextlib.suppress(ValueError):
            program, *arguments = shlex.split(name.removeprefix("exec:")) or [""]
            named = [program] * ("/" in program) + arguments
            return [folder / word for word in named if (folder / word).is_file()]
        return []
    if is_named_in_file(name):
        file = folder / name.rpartition(":")[0]
        return [file] if file.is_file() else []
    if ":" not in name:
        return []
    places, module, found = [str(folder), *sys.path], "", None
    for part in name.partition(":")[0].split("."):  # `importlib.util` would import packages
        module = f"{module}.{part}" if module else part
        found = PathFinder.find_spec(module, places)
        places = [] if found is None else [*(found.submodule_search_locations or ())]
    if found is None or found.origin is None or not Path(found.origin).is_file():
        return []
    return [Path(found.origin)]


def digest_of_policy(name: str) -> str | None:
    """Return the SHA-256 of the file of a policy from outside, None where there is none to read.

    Of several files, it is that of the list of theirs.
    """
    found = [digest_of(file) for file in files_of_policy(name, Path.cwd())]
    if len(found) < 2:
        return found[0] if found else None
    return hashlib.sha256(" ".join(found).encode()).hexdigest()


_used: dict[str, str] = {}  # digest of a file of code, by place, when it was first used here


def _must_be_unchanged(name: str, digest: str | None, now: str | None, *, kept: bool) -> None:
    """Refuse a file that is another one by now, and code of it that was loaded before it changed.

    Parameters
    ----------
    name : str
    digest, now : str, optional
        Of the file, as the plan states it, and as it is; None: it is not known.
    kept : bool
        Whether this process keeps what it has loaded.

    Raises
    ------
    InputError
        It has changed.
    """
    if digest is None:
        return
    if now != digest:
        raise InputError(f"{name}: is another file than when the campaign began")
    named = problem_in(name)  # a module of a file has its path as its name
    place = name if named is None else str(Path(named.rpartition(":")[0]).resolve())
    if kept and _used.setdefault(place, digest) != digest:
        raise InputError(
            f"{name}: this process has loaded it before its file changed, expected a new process"
        )


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises
    ------
    InputError
        It cannot be read.
    """
    with open_file(path) as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


@lru_cache(maxsize=100)
def _digest_of(path: Path, _changed: int, _size: int) -> str:
    """Return the SHA-256 of a file, which may be large, once as long as it stays the same."""
    return digest_of(path)


@dataclass(frozen=True)
class Reference:
    """How the optimum is looked for."""

    method: str = "auto"
    time_limit: float | None = None
    effort: float | None = None
    gap: float = 1e-6
    seed: int = 0
    check: str = Level.CERTIFIED
    params: Content = field(default_factory=dict, hash=False)
    sense: str = ""  # "min" of a declared problem, whose digest is that of the maximization

    @cached_property
    def content(self) -> Content:
        """Content of the key; without parameters, where all are those by default, and sense."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: x for name, x in found.items() if name not in ("params", "sense") or x}

    @cached_property
    def key(self) -> bytes:
        """The key of the content."""
        return key_of(self.content)

    @property
    def limit(self) -> str:
        """Limit of the search for an open optimum: only work is reproducible."""
        return "seconds" if self.effort is None else "effort"

    def solve(self, instance: Instance) -> Optimum:
        """Look for the optimum of an instance."""
        options = {name: x for name, x in self.content.items() if name not in ("effort", "sense")}
        return solve(instance, work_limit=self.effort, **options)


@dataclass(frozen=True)
class Cell:
    """One policy on one instance with one seed."""

    key: bytes
    contender: Contender
    seed: int  # of the policy: the same for all policies of an instance
    replication: int


@dataclass(frozen=True)
class Case:
    """One instance, its reference and its cells."""

    key: bytes  # of the instance
    source: Source
    seed: int
    reference: Reference
    cells: tuple[Cell, ...]


def instance_key(source: Source, seed: int) -> bytes:
    """Return the key of an instance."""
    return hashlib.sha256(source.key + str(seed).encode()).digest()[:KEY]


def cells_of(
    instance: bytes, reference: Reference, contenders: Sequence[Contender], replications: int
) -> Iterator[Cell]:
    """Yield the cells of an instance; all policies get the same random numbers."""
    for replication in range(replications):
        drawn = hashlib.sha256(instance + str(replication).encode()).digest()
        seed = int.from_bytes(drawn[:4], "big") >> 1
        for contender in contenders:
            whole = instance + reference.key + contender.key + str(replication).encode()
            yield Cell(hashlib.sha256(whole).digest()[:KEY], contender, seed, replication)


def source_of(content: str, names: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return family and label of a source as it is stored.

    ``names`` are those of `ratios_by_policy.plan_names`.
    """
    data, names = json.loads(content), names or {}
    if content in names:
        label = names[content]
    elif "window" in data:
        trace = str(data["files"]["trace"])
        short = names.get(trace) or (trace if len(trace) < 64 else f"trace {trace[:8]}")
        label = Source(data["family"], data["window"], short).label
    elif "instances" in data:
        label = Source(data["family"], {}, pattern=data["instances"]).label
    else:
        label = Source(data["family"], data["parameters"]).label
    return data["family"], label


def contender_of(content: str, name: str = "") -> str:
    """Return the label of a policy as it is stored, or with its own ``name``."""
    data = json.loads(content)
    label = Contender(name or data["policy"], data.get("parameters", {})).label
    return label + IN_SANDBOX if data.get("sealed") else label


IN_SANDBOX = " in a sandbox"  # a label ends in it
KNOWS = "knows "  # a message begins so
AHEAD = "the future"  # what a policy with foresight knows
PARTIAL = "sandbox: partial"  # a part of a message: guards were missing
CALLED = "calls itself "  # a message, or the end of one: a policy's own name


def without_guards(message: str | None) -> str | None:
    """Return a message of a cell without the part that states which guards were missing.

    >>> without_guards("sandbox: partial, without processes, runs; calls itself mine")
    'calls itself mine'
    """
    said, calls, name = (message or "").partition(CALLED)
    kept = [part for part in said.split("; ") if not part.startswith(PARTIAL)]
    return "; ".join(kept) + calls + name or None


def known_of(message: str | None) -> tuple[str, ...]:
    """Return what a policy knew beforehand, as far as the message of a cell states it.

    >>> known_of("knows the future, own:load; calls itself mine"), known_of("calls itself mine")
    (('the future', 'own:load'), ())
    """
    first = (message or "").partition(CALLED)[0].partition("; ")[0]
    return tuple(first.removeprefix(KNOWS).split(", ")) if first.startswith(KNOWS) else ()


def missing_guards(messages: Iterable[str]) -> list[str]:
    """Return the guards that were missing in cells with these messages.

    >>> missing_guards(["sandbox: partial, without runs, sense; calls itself mine"])
    ['runs']
    """
    found: set[str] = set()
    for message in messages:
        for part in message.partition(CALLED)[0].split("; "):
            if part.startswith(PARTIAL):
                found.update(part.removeprefix(f"{PARTIAL}, without ").split(", "))
    return [guard for guard in SEAL if guard in found]


def knows_future(family: Family, content: str) -> bool:
    """Whether a policy of the family, as it is stored, has foresight.

    One from outside is not looked at: that would run it. Its cells have a message, see `known_of`.
    """
    data = json.loads(content)
    if data["policy"] not in family.policies:
        return False
    try:
        policy = get_policy(family, data["policy"], **data.get("parameters", {}))
    except InputError:  # it has no such parameters: all of its cells are errors
        return False
    return FUTURE in policy.knows
