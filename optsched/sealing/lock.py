"""Giving up, in a child process, what a policy has no use for (Linux; standard library only).

Guards, each of which holds or does not, whatever the system lacks:

    files        nothing on the disk can be read but what was listed (Landlock)
    memory       no other process can be looked into (Landlock, or another user)
    network      no network (a network namespace of its own, or Landlock for TCP)
    privileges   no capabilities, and none to be gained by starting programs

As a program it locks itself and becomes another program: ``lock.py CONFIG``, where CONFIG is JSON:
"readable", "writable", "hidden" (paths) and "command".
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import stat
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

NOBODY = 65534
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, on every architecture
PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
REFER, IOCTL = 1 << 13, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
READ = EXECUTE | READ_FILE | READ_DIR
NO_NEW_PRIVILEGES, PARENT_DEATH_SIGNAL, DROP_BOUND = 38, 1, 24
NEW_USER, NEW_IPC, NEW_NETWORK = 0x10000000, 0x08000000, 0x40000000
CAPABILITIES = 0x20080522  # version of the structure

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
    *("/etc/localtime", "/etc/ssl", "/etc/perl", "/etc/node", "/etc/java", "/etc/R"),
    *("/dev/zero", "/dev/random", "/dev/urandom", "/proc/self", "/proc/cpuinfo", "/proc/meminfo"),
    "/sys/devices/system/cpu",
)
"""What programs and their libraries read."""


def lock(readable: Iterable[str], writable: Iterable[str], hidden: Iterable[str]) -> list[str]:
    """Lock this process, which must have one thread, for good; return the guards that hold.

    Parameters
    ----------
    readable, writable : iterable of str
        Files, and folders with all that they hold.
    hidden : iterable of str
        Folders that stay closed though they lie in a readable one.
    """
    readable = [*SYSTEM, *readable]
    if not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    guards = []
    root = os.getuid() == 0
    rules = _ruleset(libc, readable, writable, hidden)
    apart = NEW_IPC | NEW_NETWORK | (0 if root else NEW_USER)
    alone = libc.unshare(apart) == 0
    if alone or rules is not None:
        guards.append("network")
    if root:
        _drop_root(libc, stay=rules is not None and not all(map(_open_to_all, readable)))
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 and _drop_capabilities(libc):
        guards.append("privileges")
    if rules is not None and libc.syscall(RESTRICT_SELF, rules, 0) == 0:
        guards += ["files", "memory"]
    elif root:
        guards.append("memory")  # another user now
    libc.prctl(PARENT_DEATH_SIGNAL, 9, 0, 0, 0)
    return guards


def _ruleset(
    libc: Any, readable: Iterable[str], writable: Iterable[str], hidden: Iterable[str]
) -> int | None:
    """Make a set of Landlock rules; None where the kernel has none."""
    version = libc.syscall(CREATE_RULESET, None, 0, 1)
    if version < 1:
        return None
    known = (1 << 13) - 1
    known |= REFER if version >= 2 else 0
    known |= TRUNCATE if version >= 3 else 0
    known |= IOCTL if version >= 5 else 0
    tcp = 0b11 if version >= 4 else 0
    scoped = 0b11 if version >= 6 else 0  # abstract sockets and signals stay inside
    attributes = struct.pack("QQQ", known, tcp, scoped)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = libc.syscall(CREATE_RULESET, attributes[:size], size, 0)
    if rules < 0:
        return None
    closed = [Path(path).resolve() for path in hidden]
    for path in readable:
        for inner, access in _without(Path(path), closed):
            _allow(libc, rules, inner, access & known)
    for path in writable:
        _allow(libc, rules, Path(path), known & ~EXECUTE)
    _allow(libc, rules, Path("/dev/null"), (READ_FILE | WRITE_FILE) & known)
    return int(rules)


def _without(path: Path, closed: list[Path]) -> Iterator[tuple[Path, int]]:
    """Yield what of ``path`` may be read, such that what is closed may not."""
    real = Path(os.path.realpath(path)) if str(path) != "/proc/self" else path
    if any(hidden == real or hidden in real.parents for hidden in closed):
        return
    if not any(real in hidden.parents for hidden in closed):
        yield real, READ
        return
    yield real, READ_DIR
    with contextlib.suppress(OSError):
        for inner in real.iterdir():
            if not inner.is_symlink():
                yield from _without(inner, closed)


def _allow(libc: Any, rules: int, path: Path, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            access &= OF_FILES
        libc.syscall(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", access, handle), 0)
    finally:
        os.close(handle)


def _open_to_all(path: str) -> bool:
    """Whether everybody may read ``path``, or it is not there."""
    try:
        if not os.stat(path).st_mode & stat.S_IROTH:
            return False
        return all(folder.stat().st_mode & stat.S_IXOTH for folder in Path(path).resolve().parents)
    except OSError:
        return True


def _drop_root(libc: Any, *, stay: bool) -> None:
    """Become nobody; where nobody could not read the policy, stay a root without capabilities."""
    for capability in range(64):
        libc.prctl(DROP_BOUND, capability, 0, 0, 0)
    if not stay:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def _drop_capabilities(libc: Any) -> bool:
    head, none = struct.pack("Ii", CAPABILITIES, 0), bytes(24)
    return bool(libc.capset(head, none) == 0)


def main() -> None:
    """Lock this process, say what holds, and become the command."""
    config = json.loads(sys.argv[1])
    guards = lock(config["readable"], config["writable"], config["hidden"])
    os.write(1, json.dumps({"guards": guards}).encode() + b"\n")
    command = config["command"]
    try:
        os.execv(command[0], command)
    except OSError as err:
        os.write(1, json.dumps({"error": f"{command[0]}: {err.strerror}"}).encode() + b"\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
