"""The process of a Python policy in a sandbox: ``child.py CONFIG``.

What is trusted is imported first (so that compiled kernels are found), then the process is locked,
and only then the policy is loaded. It communicates in JSON lines, see `sandbox.process`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import IO, Any


class NoDecisionError(ValueError):
    """An answer is no decision of the family; the message states what is wrong with it."""


class FolderImporter:
    """Finds the modules of some folders, which were looked for before the process was locked."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.found: dict[str, ModuleSpec] = {}
        self.closed: dict[str, str] = {}
        for folder in folders:
            with contextlib.suppress(OSError):
                for path in sorted(Path(folder).iterdir()):
                    name = path.stem if path.suffix == ".py" else path.name
                    module = path.suffix == ".py" or (path / "__init__.py").is_file()
                    if module and name.isidentifier():  # another file cannot be imported
                        spec = PathFinder.find_spec(name, [folder])
                        if spec is not None and spec.has_location:  # not any folder of this name
                            self.found.setdefault(name, spec)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module that is called ``name``."""
        if path is not None or target is not None or name not in self.found:
            return None
        if name in self.closed:
            raise ImportError(
                f"{self.closed[name]}, which a sandbox does not follow, expected a copy of that"
            )
        return self.found[name]

    def places(self, readable: Sequence[str]) -> list[str]:
        """Return the files and folders that these modules consist of.

        Not those to which a link leads, unless they are readable or a module's own anyway.
        """
        from optsched.sandbox.lock import is_inside

        linked, own = {}, []
        for name, spec in self.found.items():
            for place in spec.submodule_search_locations or [spec.origin or ""]:
                folder, last = os.path.split(place)
                if os.path.realpath(place) != os.path.join(os.path.realpath(folder), last):
                    linked[place] = name
                elif spec.submodule_search_locations or last.endswith(".py"):
                    own.append(place)
        followed = []
        for place, name in linked.items():
            real = os.path.realpath(place)
            if is_inside(real, (*readable, *own)):
                followed.append(place)
            else:
                self.closed[name] = f"{place} is a symbolic link to {real}"
        return own + followed


def main() -> None:
    """Load and lock, then play the policy."""
    config = json.loads(sys.argv[1])
    sys.argv[1:] = []
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the policy prints
    sys.dont_write_bytecode = True
    sys.path[:] = config["path"]
    _import_optsched()
    from optsched.problem import get_family
    from optsched.sandbox.lock import SYSTEM, enclose, lock, unchanged

    apart = enclose()
    family = get_family(config["family"])
    importer = FolderImporter(config["folders"])
    plugged = importlib.util.find_spec(config["plugged"]) if config["plugged"] else None
    if plugged is not None:
        importer.found[plugged.name] = plugged
    _compile_without_saving(config["writable"][0])
    places = [*config["readable"], *unchanged(config["own"])]
    places += importer.places((*SYSTEM, *places))
    guards = lock(places, config["writable"], config["hidden"], apart=apart)
    sys.meta_path.append(importer)  # what it finds runs locked, and replaces nothing installed
    send = partial(_send, answers, os.getpid())
    send({"guards": guards})
    from optsched.policies.loader import get_policy
    from optsched.problem import InputError, PolicyError
    from optsched.process import messages
    from optsched.process.errors import explain

    messages.settle(quiet=True, verbose=False)
    policy = None
    try:
        policy = get_policy(family, config["policy"])
        _play(family, policy, send)
    except BaseException as err:
        told = isinstance(err, InputError if policy is None else NoDecisionError)
        refused = policy is None and told and not isinstance(err, PolicyError)
        with contextlib.suppress(BrokenPipeError):  # the other end has given up
            send({"error": str(err) if told else explain(err), "refused": refused})
        sys.exit(1)


def _import_optsched() -> None:
    """Import the copy of optsched that started this, and nothing else of its folder."""
    place = Path(__file__).parents[1]
    spec = PathFinder.find_spec(place.name, [str(place.parent)])
    assert spec is not None
    assert spec.loader is not None
    sys.modules[place.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[place.name])


def _compile_without_saving(folder: str) -> None:
    """Let kernels be compiled though they cannot be saved next to their source any more."""
    from numba import config as numba_config
    from numba.core.caching import Cache

    @contextlib.contextmanager
    def unless_locked(_cache: Any) -> Iterator[None]:
        with contextlib.suppress(OSError):
            yield

    setattr(Cache, "_guard_against_spurious_io_errors", unless_locked)  # noqa: B010
    setattr(numba_config, "CACHE_DIR", folder)  # noqa: B010  (of what the policy compiles itself)


def _send(answers: IO[bytes], process: int, content: dict[str, Any]) -> None:
    from pydantic_core import to_json  # found only once the path is set

    if os.getpid() != process:  # a copy that the policy has forked
        os._exit(0)
    answers.write(to_json(content) + b"\n")
    answers.flush()


def _play(family: Any, policy: Any, send: Callable[[dict[str, Any]], None]) -> None:
    from optsched.numbers.streams import Streams

    wire, public = family.wire, None
    for line in sys.stdin:
        ((kind, content),) = json.loads(line).items()
        if kind == "hello":
            about = {"name": policy.name, "information": policy.information}
            send({"policy": about | {"knows": list(policy.knows)}})
        elif kind == "start":
            public = wire.public.model_validate(content["public"])
            policy.start(public, content["prior"], Streams(content["seed"]))
            send({"ready": True})
        else:
            decision = policy.step(wire.read_event(public, content))
            try:
                written = wire.decision(decision)
            except Exception:
                _must_be_decision(wire, decision)
                raise
            send({"decision": written})


def _must_be_decision(wire: Any, decision: Any) -> None:
    try:
        wire.take(decision)
    except (ValueError, TypeError) as err:
        raise NoDecisionError(f"the decision {err}") from err


if __name__ == "__main__":
    main()
