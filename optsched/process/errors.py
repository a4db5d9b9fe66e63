"""Errors of policies, reported with their traceback."""

from __future__ import annotations

import os
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from optsched.base import PolicyError
from optsched.process import interrupts
from optsched.process.limit import LateError
from optsched.process.messages import printable

PACKAGE = str(Path(__file__).parents[1])
LIBRARIES = tuple({*sysconfig.get_paths().values(), PACKAGE})
MOST = 3  # lines of the policy that are shown
LONGEST = 2000  # characters of a message


class Explained:
    """Turns what goes wrong in a policy inside into one message, with its own lines.

    It ends a copy of this process that a policy has forked, and that would go on as if it were the
    original.

    Parameters
    ----------
    place : str
        How the message begins.
    passed : type of BaseException, or several
        What is a message already.
    limit : float, optional
        Seconds that the policy had.

    Raises
    ------
    PolicyError
        Anything was raised but what is ``passed``, or comes of Ctrl-C.
    """

    def __init__(
        self,
        place: str,
        *passed: type[BaseException],
        limit: float | None = None,
    ) -> None:
        self._place, self._passed, self._limit = place, passed, limit
        self._process = os.getpid()

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, _kind: type[BaseException] | None, err: BaseException | None, _: TracebackType | None
    ) -> None:
        if os.getpid() != self._process:
            os._exit(0)
        if err is None or isinstance(err, self._passed):
            return
        if isinstance(err, KeyboardInterrupt) and interrupts.received() is not None:
            return
        late = isinstance(err, LateError) and self._limit is not None
        why = f"has not answered within {self._limit:g} s" if late else explain(err)
        raise PolicyError(f"{self._place}: {why}") from err


def explain(err: BaseException) -> str:
    """Return what was raised, and the last lines of the policy on the way there."""
    own = [f for f in _frames(err) if not f[0].startswith(LIBRARIES) and f[0][:1] != "<"]
    try:
        text = " ".join(str(err)[:LONGEST].split())
    except BaseException:  # it cannot even state what it is
        text = ""
    kind = kind_of(err)
    head = f"{kind}: {text}" if text else kind
    lines = [f"{Path(file).name}, line {n}, {name}: {code}" for file, n, name, code in own[-MOST:]]
    lines = [line[:LONGEST] for line in lines]
    return "\n  ".join(map(printable, [head, *lines]))


def _frames(err: BaseException) -> list[tuple[str, int | None, str, str | None]]:
    """Return file, line, function and code of each frame; no code where its loader raises."""
    try:
        frames = traceback.extract_tb(err.__traceback__)
        return [(f.filename, f.lineno, f.name, f.line) for f in frames]
    except BaseException:
        codes = [(frame.f_code, line) for frame, line in traceback.walk_tb(err.__traceback__)]
        return [(code.co_filename, line, code.co_name, "") for code, line in codes]


def kind_of(thing: object) -> str:
    """Return the name of an object's class, whatever its metaclass does."""
    return type.__dict__["__name__"].__get__(type(thing))[:LONGEST]  # type: ignore[no-any-return]
