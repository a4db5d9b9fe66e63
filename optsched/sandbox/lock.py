"""Isolation of a child process by the kernel (Linux; standard library only).

Guards, each of which holds or does not, whatever the system lacks:

    files        nothing on the disk can be read but what was listed (Landlock)
    memory       no other process can be looked into (Landlock, or another user)
    network      no network (a network namespace of its own, or Landlock for TCP)
    privileges   no capabilities, and none to be gained by starting programs
    processes    a PID namespace: all processes of the policy end with it, and are limited in number
    runs         nothing stays behind for a later run, and no channel leads to a concurrent one
                 (a root that holds what was listed, read-only; own /proc, own folder, IPC
                 namespace, seccomp)

As a program it locks itself and becomes another program: ``lock.py CONFIG``, where CONFIG is JSON:
"readable", "writable", "hidden" (paths), "own" (where the policy's files are) and "command".
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import signal
import socket
import stat
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

GUESTS = range(61184, 65520)  # users without files, one for each run: systemd has these as well
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, on every architecture
PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
REFER, IOCTL = 1 << 13, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
READ = EXECUTE | READ_FILE | READ_DIR
NO_NEW_PRIVILEGES, PARENT_DEATH_SIGNAL, DROP_BOUND, SUBREAPER, SECCOMP = 38, 1, 24, 36, 22
NEW_USER, NEW_IPC, NEW_NETWORK = 0x10000000, 0x08000000, 0x40000000
NEW_PID, NEW_MOUNTS = 0x20000000, 0x00020000
CAPABILITIES = 0x20080522  # version of the structure
SET_MOUNT, RECURSIVE, READ_ONLY = 442, 0x8000, 1
PRIVATE, BIND, DETACH = (1 << 18) | (1 << 14), (1 << 12) | (1 << 14), 2
NO_SET_UID, NO_DEVICES, NO_EXECUTION = 2, 4, 8
PROCESSES = 256  # and threads
FIRST_PIDS = 300  # which the kernel does not use again
ENDS = {signal.SIGTERM, signal.SIGCHLD}

CALLS = {  # by machine: its number, fcntl, socketpair, ioctl, clone, and calls that are refused:
    # flock, inotify, fanotify, socket, System V and POSIX IPC, keys, syslog, the page cache
    # (mincore, preadv2, cachestat, io_setup, io_submit) or changes it (fadvise64, readahead), perf,
    # bpf, userfaultfd, io_uring, free blocks (statfs, fstatfs, ustat, quotactl), namespaces
    # (unshare, setns)
    "x86_64": (
        *(0xC000003E, 72, 53, 16, 56, 73, 253, 294, 300, 41, 29, 64, 68, 240, 248, 249, 250),
        *(103, 27, 327, 451, 206, 209, 221, 187),
        *(298, 321, 323, 425, 137, 138, 136, 179, 443, 272, 308),
    ),
    "aarch64": (
        *(0xC00000B7, 25, 199, 29, 220, 32, 26, 262, 198, 194, 190, 186, 180, 217, 218, 219),
        *(116, 232, 286, 451, 0, 2, 223, 213),
        *(241, 280, 282, 425, 43, 44, 60, 443, 97, 268),
    ),
}
CONTROLS = (*range(5), *range(1030, 1035))  # of fcntl: neither locks, leases, notices nor hints
CLONE3 = 435  # its flags lie in memory, where no filter looks; the C library then calls clone
NAMESPACES = 0x7E020000  # flags of clone
STREAMS = (0x5400,)  # ioctl for terminals and pipes; those of file systems count blocks

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
    *(
        "/etc/localtime",
        "/etc/ssl/certs",
        "/etc/ssl/openssl.cnf",
        "/etc/perl",
        "/etc/node",
        "/etc/java",
        "/etc/R",
    ),
    *("/dev/zero", "/dev/random", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo"),
    *(f"/proc/self/{name}" for name in ("maps", "stat", "statm", "status", "cgroup", "fd")),
    "/sys/devices/system/cpu",
)
"""Paths that programs and libraries read; none shows which process has mapped a page."""
STREAM_LINKS = ("/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr")


def enclose() -> bool:
    """Go on in a new process, in namespaces of its own; return whether the kernel permits these.

    This process, which must have one thread, watches over it. At SIGTERM, or when the process that
    has started it dies, it ends the new one and all its descendants.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    libc.prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))  # no file, and (unlike 0) no other program
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # the kernel ends them first
    apart = _separate(libc)
    _fork(init=False)
    if apart:  # this is the init process of the namespace, whose end ends all the others
        libc.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        _fork(init=True)
    os.setsid()  # signals to its group reach no other process
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    return apart


def _separate(libc: Any) -> bool:
    """Enter new namespaces, as root or in a user namespace; return whether the kernel permits."""
    apart, user, group = NEW_PID | NEW_MOUNTS | NEW_IPC | NEW_NETWORK, os.getuid(), os.getgid()
    if libc.unshare(apart) == 0:
        return True
    if libc.unshare(apart | NEW_USER) != 0:
        return False
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        return False
    return True


def _fork(*, init: bool) -> None:
    """Return in a new process; the old one waits for its end, and ends in the same way."""
    child = os.fork()
    if not child:
        return
    for stream in range(3):
        os.close(stream)  # their ends are those of the policy's
    status = None
    while status is None and signal.sigwait(ENDS) != signal.SIGTERM:
        while (found := os.waitpid(-1, os.WNOHANG))[0] not in (0, child):
            pass  # a process whose parent is dead
        status = found[1] if found[0] else None
    code = 0 if status is None else os.waitstatus_to_exitcode(status)
    code = code if code >= 0 else 128 - code
    if init:  # the kernel kills the others
        os._exit(code)
    _end_children()
    if code > 128:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
        os.kill(os.getpid(), code - 128)
    os._exit(code)


def _end_children() -> None:
    """Kill all descendants: those of a killed child become children of this process."""
    with contextlib.suppress(OSError):  # none is left
        while True:
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
            os.waitpid(-1, 0)


def lock(
    readable: Iterable[str], writable: Iterable[str], hidden: Iterable[str], *, apart: bool
) -> list[str]:
    """Lock this process, which must have one thread, for good; return the guards that hold.

    Parameters
    ----------
    readable, writable : iterable of str
        Files, and folders with all that they hold.
    hidden : iterable of str
        Folders that stay closed though they lie in a readable one.
    apart : bool
        Whether this process is in namespaces of its own, see `enclose`.
    """
    readable, writable, hidden = [*SYSTEM, *readable], [*writable], [*hidden]
    if not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    memory, _ = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))  # that of a campaign cannot be raised
    guards = []
    root = os.getuid() == 0
    mounted = apart and _mount(libc, readable, writable, hidden)
    counted = mounted and _limit_processes()
    rules = _ruleset(libc, readable, writable, () if mounted else hidden)
    stay = rules is not None and not all(map(_open_to_all, readable))
    other = root and _drop_root(libc, stay=stay)
    none = struct.pack("Ii", CAPABILITIES, 0), bytes(24)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 and libc.capset(*none) == 0:
        guards.append("privileges")
    landlocked = rules is not None and libc.syscall(RESTRICT_SELF, rules, 0) == 0
    filtered = _filter(libc)
    if landlocked:
        guards.append("files")
    if landlocked or other or mounted:  # mounted: no other process is seen
        guards.append("memory")
    if apart or rules is not None or filtered:
        guards.append("network")
    if mounted and (counted or os.getuid() != 0):
        guards.append("processes")
    if mounted and filtered:
        guards.append("runs")
    libc.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    return guards


def _mount(libc: Any, readable: Iterable[str], writable: list[str], hidden: Iterable[str]) -> bool:
    """Enter a read-only root with what is readable, its own /proc, and empty folders of its own."""
    plain = NO_SET_UID | NO_DEVICES
    read_only = struct.pack("QQQQ", READ_ONLY, 0, 0, 0)

    def in_memory(folder: str, limits: bytes) -> bool:
        return bool(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", plain, limits) == 0)

    if (
        libc.mount(None, b"/", None, PRIVATE, None) != 0
        or libc.mount(b"proc", b"/proc", b"proc", plain | NO_EXECUTION, None) != 0
    ):
        return False
    if _own_pid_max():
        with contextlib.suppress(OSError):
            Path("/proc/sys/kernel/pid_max").write_text(str(FIRST_PIDS + PROCESSES))
    os.umask(0o022)
    done = in_memory(writable[0], b"mode=755") and _fill_root(libc, readable, writable)
    if done:
        os.chdir(writable[0])
        done = libc.pivot_root(b".", b".") == 0 and libc.umount2(b".", DETACH) == 0
    done &= all(in_memory(path, b"size=4k") for path in hidden if os.path.isdir(path))
    done &= libc.syscall(SET_MOUNT, -1, b"/", RECURSIVE, read_only, len(read_only)) == 0
    done &= all(in_memory(path, b"mode=777,size=10%") for path in writable)  # of the memory
    os.chdir(writable[0])  # into what is mounted there now
    return bool(done)


def _fill_root(libc: Any, readable: Iterable[str], writable: list[str]) -> bool:
    """Put into a root what is readable, the links that lead there, and the writable folders.

    The root is mounted on the first of these folders.
    """
    root, held = writable[0], set[Path]()
    for real in sorted({*map(os.path.realpath, ("/proc", "/dev/null", *readable))}):
        if os.path.exists(real) and held.isdisjoint(Path(real).parents):
            place = Path(root + real)
            (place if os.path.isdir(real) else place.parent).mkdir(parents=True, exist_ok=True)
            if not place.is_dir():
                place.touch()
            if libc.mount(os.fsencode(real), bytes(place), None, BIND, None) != 0:
                return False
            held.add(Path(real))
    ways = map(links_on_the_way, (*readable, *writable, *STREAM_LINKS))
    for link in {link for way in ways for link in way}:
        if held.isdisjoint(Path(link).parents):
            os.makedirs(root + os.path.dirname(link), exist_ok=True)
            os.symlink(os.readlink(link), root + link)
    for path in writable:
        os.makedirs(root + os.path.realpath(path), exist_ok=True)
    return True


def links_on_the_way(path: str) -> Iterator[str]:
    """Yield the symbolic links on the way to ``path``, if it is there."""
    place, parts = "/", path.split("/") if os.path.exists(path) else []
    while parts:
        part = parts.pop(0)
        place = os.path.normpath(os.path.join(place, part))  # no link leads to it
        if os.path.islink(place):
            yield place
            target = os.path.join(os.path.dirname(place), os.readlink(place))
            place, parts = "/", [*target.split("/"), *parts]


def is_inside(real: str, places: Iterable[str]) -> bool:
    """Whether a path without links is one of these places, or in one of them."""
    return any(Path(real).is_relative_to(os.path.realpath(place)) for place in places)


def unchanged(own: dict[str, str]) -> list[str]:
    """Return the paths that still lead where they did when the links in them were checked."""
    return [path for path, real in own.items() if os.path.realpath(path) == real]


def _own_pid_max() -> bool:
    """Whether the kernel has a limit on process numbers per namespace, not one of the machine."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int("".join(filter(str.isdigit, minor)) or 0)) >= (6, 14)


def _limit_processes() -> bool:
    """Limit the number of processes and threads; return whether for root as well."""
    resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))
    return (
        _own_pid_max()
        and int(Path("/proc/sys/kernel/pid_max").read_text()) == FIRST_PIDS + PROCESSES
    )


def _filter(libc: Any) -> bool:
    """Refuse system calls for communication and for namespaces; return whether the kernel does so.

    In a new user namespace, a process has all capabilities.
    """
    if os.uname().machine not in CALLS or struct.calcsize("P") != 8:
        return False
    architecture, control, pair, devices, clone, *numbers = CALLS[os.uname().machine]
    allow, refuse = (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050000 | errno.EPERM)
    number, first, argument = ((0x20, 0, 0, place) for place in (0, 16, 24))
    low_bits, group, spaces = ((0x54, 0, 0, mask) for mask in (0xF, 0xFF00, NAMESPACES))
    program = [(0x20, 0, 0, 4), (0x15, 1, 0, architecture), refuse, number]
    program += [(0x35, 0, 1, 1 << 30), refuse]  # calls of a program with pointers of 32 bits
    for call in numbers:
        program += [(0x15, 0, 1, call), refuse]
    program += [(0x15, 0, 1, CLONE3), (0x06, 0, 0, 0x00050000 | errno.ENOSYS)]
    for call, head, among in (
        (control, [argument], CONTROLS),
        (pair, [argument, low_bits], (socket.SOCK_STREAM,)),
        (devices, [argument, group], STREAMS),
        (clone, [first, spaces], (0,)),
    ):
        tests = [t for value in among for t in ((0x15, 0, 1, value), allow)]
        program += [(0x15, 0, len(head) + len(tests) + 1, call), *head, *tests, refuse]
    code = b"".join(struct.pack("HBBI", *line) for line in [*program, allow])
    held = ctypes.create_string_buffer(code, len(code))
    whole = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(held))
    return bool(libc.prctl(SECCOMP, 2, whole, 0, 0) == 0)


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
    real = Path(os.path.realpath(path))
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
    """Whether all users may read ``path``, or it is not there."""
    try:
        if not os.stat(path).st_mode & stat.S_IROTH:
            return False
        return all(folder.stat().st_mode & stat.S_IXOTH for folder in Path(path).resolve().parents)
    except OSError:
        return True


def _drop_root(libc: Any, *, stay: bool) -> bool:
    """Become a guest, and return whether; one that must ``stay`` is root without capabilities.

    A guest could not read the policy then. A user namespace has no guests either. Each run has its
    own: users share limits on processes, pipes and the like, by which runs could communicate.
    """
    for capability in range(64):
        libc.prctl(DROP_BOUND, capability, 0, 0, 0)
    if stay:
        return False
    try:
        os.setgroups([])
        guest = GUESTS[int.from_bytes(os.urandom(4)) % len(GUESTS)]
        os.setgid(guest)
        os.setuid(guest)
    except OSError:
        return False
    return True


def main() -> None:
    """Lock this process, state what holds, and become the command."""
    config = json.loads(sys.argv[1])
    apart = enclose()
    places = [*config["readable"], *unchanged(config["own"])]
    guards = lock(places, config["writable"], config["hidden"], apart=apart)
    os.write(1, json.dumps({"guards": guards}).encode() + b"\n")
    command = config["command"]
    try:
        os.execv(command[0], command)
    except OSError as err:
        os.write(1, json.dumps({"error": f"{command[0]}: {err.strerror}"}).encode() + b"\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
