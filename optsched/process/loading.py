"""Code from outside: modules and files of Python that are named on a command line."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from optsched.base import InputError, PolicyError
from optsched.process import messages
from optsched.process.errors import Explained

FILE = "optsched file "  # how the names of modules of files begin


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
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if module not in sys.modules and PathFinder.find_spec(module.partition(".")[0]) is not None:
        messages.remark(f"{what}: importing module {module}")
    with loading(what), messages.diverted():
        try:
            return importlib.import_module(module)
        except (ImportError, SyntaxError) as err:
            if isinstance(err, ModuleNotFoundError) and err.name == module.partition(".")[0]:
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
        made = importlib.util.module_from_spec(spec)
        sys.modules[module] = made  # dataclasses look for it
        folder = str(path.parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        try:
            messages.remark(f"{what}: running {file}")
            with loading(what), messages.diverted():
                spec.loader.exec_module(made)
        except BaseException:
            del sys.modules[module]
            raise
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
