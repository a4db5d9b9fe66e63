"""A policy in a process of its own: JSON lines to its stdin, and from its stdout.

    {"hello": {"protocol": 1, "family": "oasis"}}
                        {"policy": {"name": "mine", "information": "after", "knows": ["ln_L1"]}}
    {"start": {"public": {...}, "prior": {"ln_L1": -5.2}, "seed": 0}}
                        {"ready": true}
    {"event": {...}}    {"decision": ...}      and so on; stdin ends after the last event

One line for one line; numbers as in files. ``{"error": "..."}`` instead of an answer ends the run.
What public data, events and decisions look like is the family's `Wire`.
"""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from types import SimpleNamespace
from typing import Any, Self

from pydantic_core import from_json, to_json

from optsched.numbers.streams import Streams
from optsched.policies.loader import blamed, introduced
from optsched.problem import (
    Family,
    Information,
    InputError,
    Policy,
    PolicyError,
    Prior,
    is_named_in_file,
    moment,
)
from optsched.process import crash_state, interrupts, messages
from optsched.process.errors import LONGEST
from optsched.process.loading import SIBLINGS
from optsched.sandbox.lock import SYSTEM, is_inside, links_on_the_way

PROTOCOL = 1
PROGRAM = "exec:"
DECISION_LIMIT = 600.0  # seconds; kernels may have to be compiled first
LONGEST_ANSWER = 1 << 23  # bytes; rates of 50,000 nodes and 3 applications take 5 MB
LONGEST_LINE, MOST_ON_STDERR = 1 << 16, 1 << 20  # characters
SEAL = ("files", "memory", "processes", "runs")  # without one of these guards it is partial
LOOK_UP = 0.2  # seconds between two looks at the clock
FAREWELL = 1.0  # seconds to end after the last event
GET_DUMPABLE, SET_DUMPABLE = 3, 4
HERE = Path(__file__).parent
PACKAGE = HERE.parent
PARTS = ("bin", "lib", "lib64", "libexec", "include", "share", "pyvenv.cfg")
ENVIRONMENT = {
    "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}


def is_program(policy: object) -> bool:
    """Whether ``policy`` names a program in any language."""
    return isinstance(policy, str) and policy.startswith(PROGRAM)


class SealedPolicy:
    """A policy whose answers come from a process of its own; made by ``with``.

    Parameters
    ----------
    family : Family
    policy : str
        The name of a policy, or ``exec:COMMAND``.
    decision_limit : float, optional
        Seconds for each answer, `DECISION_LIMIT` by default.
    """

    name: str
    information: Information
    knows: tuple[str, ...]

    def __init__(
        self, family: Family, policy: Policy | str, *, decision_limit: float | None = None
    ) -> None:
        if not isinstance(policy, str):
            raise InputError(
                f"a policy in a sandbox is made there, expected its name (MODULE:CLASS), "
                f"not a {type(policy).__name__}"
            )
        if os.name != "posix":
            raise InputError("a sandbox needs Linux, macOS or another Unix")
        self.family, self.called, self.own = family, policy, policy in family.policies
        self.limit = DECISION_LIMIT if decision_limit is None else decision_limit
        self.guards: tuple[str, ...] = ()
        self.name = policy
        self._place = "start"
        self._unread = b""
        self._events = 0

    def __enter__(self) -> Self:
        self._home = tempfile.mkdtemp(prefix="optsched-")
        try:
            if os.geteuid() == 0:
                os.chmod(self._home, 0o777)  # the child may be another user
            command = _program(self) if is_program(self.called) else _python(self)
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._home,
                env=ENVIRONMENT | {"HOME": self._home, "TMPDIR": self._home} | _numba(),
                start_new_session=True,
            )
        except BaseException:
            crash_state.remove(self._home)
            raise
        crash_state.publish(sealed=self._process.pid, home=self._home)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._mouth, self._ear = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._mouth, False)
        self._ears = DefaultSelector()
        self._ears.register(self._ear, EVENT_READ)
        self._dumpable = _be_dumpable(0)
        self._echo = threading.Thread(target=self._pass_through, daemon=True)
        self._echo.start()
        try:
            self._greet()
        except BaseException as err:
            self.__exit__(type(err), err, err.__traceback__)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        until = time.monotonic() + FAREWELL
        while kind is None and (left := until - time.monotonic()) > 0:
            if not self._ears.select(left) or not os.read(self._ear, 1 << 16):
                break
        self._end()
        self._ears.close()
        if process.stdout is not None:
            process.stdout.close()
        self._echo.join(FAREWELL)
        if self._dumpable is not None:
            _be_dumpable(self._dumpable)
        crash_state.remove(self._home)
        crash_state.publish(sealed=None, home=None)

    def _end(self) -> int:
        """End the process and whatever it has started; return its exit status."""
        process = self._process
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(FAREWELL)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()

    def start(self, public: Any, prior: Prior, streams: Streams) -> None:
        """Send what is known beforehand."""
        self._public = public
        content = {"public": public.model_dump(mode="json"), "prior": dict(prior)}
        if self._request({"start": content | {"seed": streams.seed}}, "ready") is not True:
            raise self._wrong('answers that it is not ready, expected {"ready": true}')

    def step(self, event: Any) -> Any:
        """Send an event; return the decision."""
        self._place = moment(event, self._events)
        self._events += 1
        answer = self._request({"event": self.family.wire.event(event)}, "decision")
        try:
            return self.family.wire.read_decision(self._public, answer)
        except (ValueError, TypeError, RecursionError, OverflowError) as err:
            raise self._wrong(messages.printable(f"the decision {err!s:.300}")) from err

    def _greet(self) -> None:
        self.guards = tuple(self._listen(time.monotonic() + self.limit, "guards"))
        answer = self._request(
            {"hello": {"protocol": PROTOCOL, "family": self.family.name}}, "policy"
        )
        if not isinstance(answer, dict) or not isinstance(answer.get("name"), str):
            raise self._wrong(f'states {answer!r:.80}, expected an object with a "name"')
        answer = {"information": "after", "knows": (), "start": None, "step": None} | answer
        if not isinstance(answer["knows"], list | tuple):
            raise self._wrong(f"knows is {answer['knows']!r:.80}, expected a list of names")
        with blamed(own=self.own):
            self.name, self.information, self.knows = introduced(
                self.family, SimpleNamespace(**answer), self.called, own=self.own
            )

    def _wrong(self, what: str) -> PolicyError:
        return PolicyError(f"policy {self.name}: {self._place}: {what}")

    def _request(self, message: Mapping[str, Any], expected: str) -> Any:
        """Send a line; return what the answer holds under ``expected``."""
        if self._unread or self._has_more_output():
            self._own_error()
            raise self._wrong(f"answers without a request: {_shown(self._unread)}")
        until = time.monotonic() + self.limit
        line = to_json(message) + b"\n"
        self._send(line, until)
        return self._listen(until, expected)

    def _own_error(self) -> None:
        """Raise the error that the child reports, if its line is there."""
        line, end, _ = self._unread.partition(b"\n")
        if end and line.startswith(b'{"error"'):
            self._content(line, "error")

    def _has_more_output(self) -> bool:
        if self._ears.select(0):
            self._unread = os.read(self._ear, 1 << 16)
        return bool(self._unread)

    def _send(self, line: bytes, until: float) -> None:
        rest, pipe = memoryview(line), self._mouth
        while rest:
            try:
                rest = rest[os.write(pipe, rest) :]
            except BlockingIOError:
                with DefaultSelector() as selector:
                    selector.register(pipe, EVENT_WRITE)
                    self._wait(selector, until)
            except BrokenPipeError:
                return  # why it has ended, its answer or its status states

    def _wait(self, selector: DefaultSelector, until: float) -> None:
        """Wait until a pipe is ready; check interruptions and the limit even if it always is."""
        ready = False
        while not ready:
            ready = bool(selector.select(LOOK_UP))
            interrupts.raise_if_interrupted()
            if time.monotonic() > until:
                raise self._wrong(f"has not answered within {self.limit:g} s")

    def _listen(self, until: float, expected: str) -> Any:
        """Return what the next line holds under ``expected``."""
        printed, piece = bytearray(self._unread), self._unread
        while b"\n" not in piece:
            self._wait(self._ears, until)
            piece = os.read(self._ear, 1 << 16)
            printed += piece
            if not piece:
                raise self._ended(bytes(printed))
            if len(printed) > LONGEST_ANSWER:
                raise self._wrong(f"answers with more than {LONGEST_ANSWER} bytes")
        line, _, rest = printed.partition(b"\n")
        self._unread = bytes(rest)
        return self._content(bytes(line), expected)

    def _content(self, line: bytes, expected: str) -> Any:
        try:
            content = from_json(line, allow_inf_nan=False)
        except ValueError:
            content = None
        if isinstance(content, dict) and isinstance(content.get("error"), str):
            lines = content["error"][:LONGEST].splitlines()
            wrong = self._wrong("\n  ".join(messages.printable(line.strip()) for line in lines))
            if content.get("refused") is True and self._place == "start":
                raise InputError(str(wrong))  # before it is made, as without a sandbox
            raise wrong
        if not isinstance(content, dict) or set(content) != {expected}:
            raise self._wrong(
                f"answers {_shown(line)}, expected one line {{{json.dumps(expected)}: ...}}; "
                "what is meant for people belongs to stderr"
            )
        return content[expected]

    def _ended(self, printed: bytes) -> PolicyError:
        self._echo.join(FAREWELL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(FAREWELL)
        status = self._end()
        how = f"exit status {status}" if status >= 0 else signal.Signals(-status).name
        answer = f", after printing {_shown(printed)}" if printed.strip() else ""
        return self._wrong(f"its process has ended ({how}){answer}")

    def _pass_through(self) -> None:
        """Print what the policy writes to stderr, without commands to a terminal, and not all."""
        assert self._process.stderr is not None
        begins, left = True, MOST_ON_STDERR
        with self._process.stderr as pipe:
            while piece := pipe.readline(LONGEST_LINE):
                shown, begins = begins and left > 0, piece.endswith(b"\n")
                if not shown:
                    continue
                line = piece.decode(errors="backslashreplace").rstrip("\r\n")
                line = messages.printable(line, shown="\t")[:LONGEST_LINE] + "\n"
                left -= len(line)
                sys.stderr.write(line)
                if left <= 0:
                    messages.notify(
                        f"policy {self.name}: writes more than 1 MB to stderr, cut off here"
                    )


def _shown(text: bytes) -> str:
    shown = text[:80].decode(errors="backslashreplace").strip()
    return repr(shown + ("..." if len(text) > 80 else ""))


def _numba() -> dict[str, str]:
    """Return where compiled kernels are, if that is reported."""
    name = "NUMBA_CACHE_DIR"
    return {name: os.path.abspath(os.environ[name])} if os.environ.get(name) else {}


def _python(sealed: SealedPolicy) -> list[str]:
    """Return the command that plays a policy written in Python."""
    here = os.getcwd()
    path = [os.path.abspath(p) for p in sys.path if p and os.path.exists(p)]
    known = [p for p in path if p != here and _is_installed(os.path.realpath(p))]
    folders = [here, *SIBLINGS.folders.values()]
    folders += [p for p in path if p not in known and os.path.isdir(p)]
    plugged = {e.name: e.module for e in entry_points(group="optsched.policies")}
    file, _, name = sealed.called.rpartition(":")
    readable = [*_interpreter(), *known, str(PACKAGE), *_numba().values()]
    own = [os.path.abspath(file)] if is_named_in_file(sealed.called) else []
    config = {
        "family": sealed.family.name,
        "policy": f"{own[0]}:{name}" if own else sealed.called,
        "plugged": plugged.get(sealed.called, "").partition(".")[0],
        "path": known,
        "folders": [] if sealed.own else list(dict.fromkeys(folders)),
        "readable": readable,
        "own": {p: _followed(sealed, p, readable) for p in own},
        "writable": [sealed._home],
        "hidden": _samples(known),
    }
    return [sys.executable, "-s", "-P", str(HERE / "child.py"), json.dumps(config)]


def _samples(path: Iterable[str]) -> list[str]:
    """Return the sample traces of this copy of optsched, and of others that are installed."""
    places = (p / "samples" for p in (PACKAGE, *(Path(p, "optsched") for p in path)))
    return [str(p) for p in places if p.is_dir()]  # to hide one takes a tenth of a second


def _interpreter() -> list[str]:
    """Return where Python and its libraries are."""
    return [sys.executable, *(p for x in {sys.prefix, sys.base_prefix} for p in _parts(Path(x)))]


def _parts(prefix: Path) -> list[str]:
    """Return the programs and libraries of an installation, but for links that lead out of it."""
    real = prefix.resolve()
    parts = [prefix / part for part in PARTS if part != "share" or real != _home() / ".local"]
    return [str(p) for p in parts if p.resolve().is_relative_to(real)]


def _home() -> Path:
    """Return the folder of the user, whose .local/share holds more than what is installed."""
    return Path(os.path.realpath(os.path.expanduser("~")))


def _is_installed(path: str) -> bool:
    """Whether a place where modules are looked for holds installed modules only."""
    inside = (*map(os.path.abspath, _interpreter()), os.path.abspath(site.getusersitepackages()))
    return path.endswith(("site-packages", "dist-packages")) or path.startswith(
        tuple(p + os.sep for p in inside)
    )


def _program(sealed: SealedPolicy) -> list[str]:
    """Return the command that locks itself and becomes the policy's program."""
    try:
        words = shlex.split(sealed.called.removeprefix(PROGRAM))
    except ValueError as err:
        raise InputError(f"policy {sealed.called}: {err}") from err
    path = f"{sys.prefix}/bin:{os.environ.get('PATH', '')}"  # of a virtual environment first
    found = shutil.which(words[0], path=path) if words else None
    if found is None:
        raise InputError(f"policy {sealed.called}: there is no such program, expected exec:COMMAND")
    program = os.path.abspath(found)
    arguments = [os.path.abspath(w) if os.path.isfile(w) else w for w in words[1:]]
    readable = [*_interpreter(), *_around(sealed, Path(program), path)]
    files = [program, *(w for w in arguments if os.path.isfile(w))]
    config = {
        "readable": readable,
        "own": {p: _followed(sealed, p, readable) for p in files},
        "writable": [sealed._home],
        "hidden": _samples(sys.path),
        "command": [program, *arguments],
    }
    return [sys.executable, "-I", "-S", str(HERE / "lock.py"), json.dumps(config)]


def _around(sealed: SealedPolicy, program: Path, path: str) -> list[str]:
    """Return the libraries of a program in a folder called ``bin``.

    Nothing of the folder in which the command runs, and none that holds it. A link in a folder of
    the ``path`` is followed, another one only to an installation of Python.
    """
    places = [os.path.abspath(p) for p in path.split(os.pathsep) if os.path.isabs(p)]
    installed, real = str(program.parent) in places, program.resolve()
    found = [str(real)] if installed else []
    folders = [program.parent if installed else Path(_followed(sealed, str(program.parent), []))]
    if installed or any(real.parent.parent.glob("lib/py*/os.py")):
        folders.append(real.parent)
    here = Path.cwd()
    for folder in map(Path.resolve, folders):
        prefix = folder.parent
        known = prefix not in (_home(), here, *here.parents)
        if folder.name == "bin" and (known or (prefix / "pyvenv.cfg").is_file()):
            found += _parts(prefix)
    return found


def _followed(sealed: SealedPolicy, path: str, readable: Iterable[str]) -> str:
    """Return where a file or folder of a policy is: links open nothing that would be closed.

    Raises
    ------
    InputError
        A link leads to a file that is not ``readable`` anyway, or out of the link's folder.
    """
    real = os.path.realpath(path)
    if not is_inside(real, (*SYSTEM, *readable)):
        for link in links_on_the_way(path):
            target = os.path.realpath(link)
            if not (os.path.isdir(target) and is_inside(target, [os.path.dirname(link)])):
                raise InputError(
                    f"policy {sealed.called}: {link} is a symbolic link to {target}, which a "
                    f"sandbox does not follow, expected the path of what it leads to"
                )
    return real


def _be_dumpable(value: int) -> int | None:
    """Return whether other processes of this user may look into this one; return what it was."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    before = int(libc.prctl(GET_DUMPABLE, 0, 0, 0, 0))
    libc.prctl(SET_DUMPABLE, value, 0, 0, 0)
    return before
