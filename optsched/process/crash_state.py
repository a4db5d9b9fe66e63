"""State after a crash: what a worker leaves to its supervisor if it ends at any moment.

See `supervisor`. Like that module, this one must stay quick to import.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

HEAD = 3
HALF = 1 << 17  # bytes of one notice


def prefix(process: int) -> str:
    """Return how the names of files begin that are gone when a process ends as it should.

    >>> prefix(7)
    '.optsched-7-'
    """
    return f".optsched-{process}-"


class CrashState:
    """A page of memory where the worker leaves word, which can be read when it is dead.

    Every notice replaces the one before it. There is space for two, and a byte states which one is
    whole, so that a kill in the middle of writing does no harm. Two more bytes state whether the
    worker looks at signals, and how long it may take to end: a signal handler can read no
    more than that.
    """

    def __init__(self) -> None:
        import mmap

        self._page = mmap.mmap(-1, HEAD + 2 * HALF)
        self._words: dict[str, Any] = {}

    def listen(self) -> None:
        """State that signals are looked at from now on."""
        self._page[1] = 1

    @property
    def listens(self) -> bool:
        """Whether signals are looked at."""
        return self._page[1] == 1

    def be_patient(self) -> None:
        """State that the end may take long: only a second signal cuts it short."""
        self._page[2] = 1

    @property
    def patient(self) -> bool:
        """Whether a second signal is to be waited for."""
        return self._page[2] == 1

    def put(self, **words: Any) -> None:
        """Add ``words`` to the notice, or replace them; None takes a word away."""
        import json

        self._words = {k: v for k, v in (self._words | words).items() if v is not None}
        text = json.dumps(self._words).encode()
        free = 1 - self._page[0]
        start = HEAD + free * HALF
        self._page[start : start + 4] = len(text).to_bytes(4, "little")
        self._page[start + 4 : start + 4 + len(text)] = text
        self._page[0] = free

    def get(self) -> dict[str, Any]:
        """Return the last notice."""
        import json

        start = HEAD + self._page[0] * HALF
        size = int.from_bytes(self._page[start : start + 4], "little")
        text = self._page[start + 4 : start + 4 + size]
        found: dict[str, Any] = json.loads(text) if size else {}
        return found


_board: CrashState | None = None  # of the worker; None: no supervisor


def publish(**words: str | int | None) -> None:
    """Notify the supervisor, if there is one, what it must know should this process end here.

    Parameters
    ----------
    snapshot, target : str
        A complete file, and where to put it.
    best : str
        What is in it, in a sentence.
    folder : str
        Where it writes: files whose names begin with :func:`prefix` are to be removed.
    sealed : int
        A group of processes of its own, to be killed.
    home : str
        The folder of that group, to be removed.
    reported : bool
        Whether the user has been informed.
    over : bool
        Whether the command is done, well or not, so that an end is none that a policy has called.
    """
    if _board is not None:
        _board.put(**words)


def listen_to_signals() -> None:
    """Notify the supervisor that signals are looked at: there is time to end by oneself."""
    if _board is not None:
        _board.listen()


def finish_what_is_begun() -> None:
    """Notify the supervisor that signals are looked at, and that what is begun will be finished."""
    if _board is not None:
        _board.listen()
        _board.be_patient()


def is_watched() -> bool:
    """Return whether a supervisor would take up what this process leaves."""
    return _board is not None


def watch_over_me(board: CrashState) -> None:
    """From now on words are left on ``board``, which a supervisor reads."""
    global _board
    _board = board


def remove(home: str) -> None:
    """Remove a folder, whatever a policy has left in it."""
    import shutil
    import subprocess

    try:
        shutil.rmtree(home)
    except FileNotFoundError:
        pass
    except (OSError, RecursionError):  # closed folders, or too many within each other
        for command in ("chmod -R u+rwx", "rm -rf"):
            subprocess.run([*command.split(), home], stderr=subprocess.DEVNULL, check=False)
