"""Code from outside: modules and files of Python that are named on a command line."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from optsched.base import InputError, PolicyError
from optsched.process import messages
from optsched.process.errors import Explained

FILE = "optsched file "  # how the names of modules of files begin
IMPORT = {"importlib", "importlib._bootstrap", "importlib._bootstrap_external"}


class Siblings:
    """Finds modules of a folder for code of that folder only, after those that are installed.

    Another file of the folder may belong to a policy that runs in a sandbox alone: no other code,
    such as a library that looks for an optional one, may import it.
    """

    def __init__(self) -> None:
        self.folders: dict[str, str] = {}  # by the module that was loaded from it

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module that is called ``name``, if code of its folder imports it."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__") in IMPORT:
            frame = frame.f_back
        importer = str(frame.f_globals.get("__name__"))
        folder = self.folders.get(importer) or self.folders.get(importer.partition(".")[0])
        if path is not None or target is not None or folder is None:
            return None
        spec = PathFinder.find_spec(name, [folder])
        if spec is not None:
            self.folders[name] = folder
        return spec

    def load(self, name: str, spec: ModuleSpec, folder: str) -> ModuleType:
        """Return a module of a folder; its code is run."""
        if self not in sys.meta_path:
            sys.meta_path.append(self)
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made  # dataclasses look for it
        self.folders[name] = folder
        try:
            if spec.loader is not None:  # not a package without code
                spec.loader.exec_module(made)
        except BaseException:
            del sys.modules[name]
            raise
        return made


SIBLINGS = Siblings()


def is_named_in_file(name: str) -> bool:
    """Whether a name means something in a file of Python.

    >>> is_named_in_file("mine/adwords.py:msvv"), is_named_in_file("adwords:Msvv")
    (True, False)
    """
    return name.rpartition(":")[0].endswith(".py")


def import_from_folder(module: str, what: str, otherwise: str = "") -> Any:
    """Import a module that is installed, or lies in the folder in which the command is run.

    Raises
    ------
    InputError
        It cannot be imported; the message begins with ``what``. If there is no such module, it
        ends with what to name ``otherwise``.
    PolicyError
        Its own code fails.
    """
    if not all(part.isidentifier() for part in module.split(".")):
        raise InputError(f"{what} cannot be loaded: {module!r} is no name of a module")
    here, first = str(Path.cwd()), module.partition(".")[0]
    spec = PathFinder.find_spec(first, [here])
    known = getattr(sys.modules.get(first), "__spec__", None)
    taken = first in sys.stdlib_module_names or (known is not None and known.origin is not None)
    if spec is not None and taken and (known is None or known.origin != spec.origin):
        raise InputError(
            f"{what} cannot be loaded: {here} has a module {first!r}, and so has Python or a "
            "library, expected another name"
        )
    if module not in sys.modules and (spec or PathFinder.find_spec(first)) is not None:
        messages.remark(f"{what}: importing module {module}")
    with loading(what), messages.diverted():
        try:
            if spec is not None and first not in sys.modules:
                SIBLINGS.load(first, spec, here)
            return importlib.import_module(module)
        except (ImportError, SyntaxError) as err:
            if isinstance(err, ModuleNotFoundError) and err.name == first:
                raise InputError(
                    f"{what} cannot be loaded: module {err.name!r} is neither installed nor in "
                    f"{here}, where the command is run; expected one of both{otherwise}"
                ) from err
            raise InputError(f"{what} cannot be loaded: {err}") from err


def load_from_file(name: str, what: str) -> Any:
    """Return what a file of Python calls so: ``FILE.py:NAME``. The file is run once.

    Raises
    ------
    InputError
        There is no such file, or it has nothing of this name; the message begins with ``what``.
    PolicyError
        Its own code fails.
    """
    file, _, attribute = name.rpartition(":")
    found = getattr(run_file(file, what), attribute, None)
    if found is None:
        raise InputError(f"{what} cannot be loaded: {file} has no {attribute!r}")
    return found


def run_file(file: str, what: str) -> ModuleType:
    """Return a file of Python as a module. It is run once.

    Raises
    ------
    InputError
        There is no such file; the message begins with ``what``.
    PolicyError
        Its own code fails.
    """
    path = Path(file).resolve()
    module = f"{FILE}{path}"
    if module not in sys.modules:
        spec = importlib.util.spec_from_file_location(module, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise InputError(
                f"{what} cannot be loaded: there is no file {file} (seen from {Path.cwd()})"
            )
        messages.remark(f"{what}: running {file}")
        with loading(what), messages.diverted():
            SIBLINGS.load(module, spec, str(path.parent))
    return sys.modules[module]


def named_in_files(name: str) -> dict[str, Any]:
    """Return what the files that have been run call so, by ``FILE.py:NAME``."""
    return {
        f"{_seen(key.removeprefix(FILE))}:{name}": getattr(module, name)
        for key, module in [*sys.modules.items()]
        if key.startswith(FILE) and hasattr(module, name)
    }


def name_of(function: FunctionType) -> str:
    """Return the name of a function as ``FILE.py:NAME``; in a notebook it is in no file."""
    file = function.__code__.co_filename
    return f"{_seen(file) if Path(file).is_file() else 'FILE.py'}:{function.__name__}"


def _seen(file: str) -> Path:
    """Return the path of a file as seen from the folder in which the command is run."""
    path, here = Path(file), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def loading(what: str) -> Explained:
    """Explain what goes wrong in code that is being loaded."""
    return Explained(f"{what} cannot be loaded", InputError, PolicyError, KeyboardInterrupt)
