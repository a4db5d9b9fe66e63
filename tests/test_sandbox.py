"""What a sealed policy can leave behind, hold or pass on: no process, no message, no odd name."""

import ctypes
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import venv
from pathlib import Path

import pytest

from optsched.core import compare, simulate
from optsched.declared.model import Maximization
from optsched.files.format import save_instance
from optsched.policies.loader import introduced
from optsched.problem import REAL, InputError, PolicyError, get_family
from optsched.results.load import load_run
from optsched.results.result import save_result, save_run

if not sys.platform.startswith("linux"):
    pytest.skip("the sandbox is that of Linux", allow_module_level=True)

PROGRAM = """
import ctypes, fcntl, json, os, socket, struct, sys, time
NAME, KNOWS, DECISION = "p", [], {}
BEFORE
for line in sys.stdin:
    kind = next(iter(json.loads(line)))
    if kind == "hello":
        print(json.dumps({"policy": {"name": NAME, "knows": KNOWS}}), flush=True)
    elif kind == "start":
        START
        print(json.dumps({"ready": True}), flush=True)
    else:
        print(json.dumps({"decision": DECISION}), flush=True)
"""
NO_NAMESPACES = "echo 0 > /proc/sys/user/max_pid_namespaces; exec "  # of the user namespace


@pytest.fixture
def inst():
    return get_family("oasis").generate("small", seed=1)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return what writes a program that does something before it is requested, or at the start."""
    monkeypatch.chdir(tmp_path)

    def write(start="pass", before="", python=f"'{sys.executable}' -S"):
        text = PROGRAM.replace("START", start.replace("\n", "\n        "))
        (tmp_path / "program.py").write_text(text.replace("BEFORE", before))
        return f"exec:{python} program.py"

    return write


def is_whole(run):
    """Whether the kernel permits all that the sandbox consists of."""
    return run.seal == "sandbox"


# --- processes ---

DAEMONS = """
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            sleep = "import time; time.sleep(600)"
            os.execv(sys.executable, [sys.executable, "-S", "-c", sleep, MARK])
        os._exit(0)
time.sleep(0.5)
"""


def survivors(mark):
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in place.read_bytes():
                found.append(place)
        except OSError:
            pass
    return found


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "os._exit(3)", "os.kill(os.getpid(), 9)", "time.sleep(60)"])
def test_processes_of_a_policy_end_with_it(inst, program, end):
    mark = uuid.uuid4().hex
    command = program(DAEMONS.replace("MARK", f"{mark!r}") + end)
    try:
        simulate(inst, command, decision_limit=3)
    except PolicyError:
        assert end
    assert not survivors(mark)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "os._exit(3)"])
def test_processes_end_without_namespaces_too(inst, program, tmp_path, end):
    """A subreaper ends them; the table states that the sandbox is not whole."""
    mark = uuid.uuid4().hex
    command = program(DAEMONS.replace("MARK", f"{mark!r}") + end)
    save_instance(inst, tmp_path / "small.json")
    words = [sys.executable, "-m", "optsched", "run", "small.json", "-p", command]
    shell = ["unshare", "-Ur", "sh", "-c", NO_NAMESPACES + '"$@"', "sh", *words]
    done = subprocess.run(shell, capture_output=True, text=True, check=False, timeout=120)
    if "unshare" in done.stderr or "max_pid_namespaces" in done.stderr:
        pytest.skip("no user namespaces")
    assert not survivors(mark)
    assert done.returncode == (1 if end else 0), done.stderr
    if not end:
        assert "sandbox: partial, without " in done.stdout
        assert "processes, runs" in done.stdout


@pytest.mark.slow
def test_tables_of_a_campaign_state_a_partial_sandbox(tmp_path, monkeypatch, call):
    """And `verify` accepts it on a machine that permits more."""
    (tmp_path / "mine.py").write_text(
        'from optsched.families.oasis.policies import Fifo\n\n\nclass P(Fifo):\n    name = "mine"\n'
    )
    (tmp_path / "plan.toml").write_text(
        "reference = {effort = 100}\n[[instances]]\n"
        'family = "oasis"\npreset = "small"\nseeds = 1\n[[policies]]\n'
        'name = "mine.py:P"\nsandbox = true\n'
    )
    monkeypatch.chdir(tmp_path)
    words = ["campaign", "run", "plan.toml", "--trust", "--workers", "1", "-q"]
    shell = ["unshare", "-Ur", "sh", "-c", NO_NAMESPACES + '"$@"', "sh"]
    shell += [sys.executable, "-m", "optsched", *words]
    done = subprocess.run(shell, capture_output=True, text=True, check=False, timeout=120)
    if "unshare" in done.stderr or "max_pid_namespaces" in done.stderr:
        pytest.skip("no user namespaces")
    assert done.returncode == 0, done.stderr
    assert call("campaign", "export", "plan.sqlite", "--csv", "cells.csv")[0] == 0
    assert re.search(
        r"mine in a sandbox \(partial, without .*processes, runs\)", Path("cells.csv").read_text()
    )
    status, out, _ = call("campaign", "verify", "plan.sqlite", "--trust")
    assert (status, out[:8]) == (0, "accepted")


def test_processes_are_limited(inst, program, capfd):
    run = simulate(
        inst,
        program(
            "n = 0\n"
            "try:\n"
            "    while n < 3000:\n"
            "        if os.fork() == 0: time.sleep(600)\n"
            "        n += 1\n"
            "except OSError: pass\n"
            'print("FORKS", n, file=sys.stderr, flush=True)'
        ),
    )
    (forks,) = re.findall(r"FORKS (\d+)", capfd.readouterr().err)
    if is_whole(run):
        assert 10 < int(forks) < 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    "left",
    [
        "for _ in range(2000): os.mkdir('d'); os.chdir('d')",
        "os.mkdir('x'); open('x/y', 'w').close(); os.chmod('x', 0); os.chmod('.', 0)",
    ],
)
def test_no_folder_stays_where_namespaces_are_missing(inst, program, tmp_path, left):
    save_instance(inst, tmp_path / "small.json")
    (tmp_path / "tmp").mkdir(mode=0o777)
    words = [sys.executable, "-m", "optsched", "run", "small.json", "-p", program(left), "-q"]
    shell = ["unshare", "-Ur", "sh", "-c", NO_NAMESPACES + '"$@"', "sh", *words]
    env = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run(shell, capture_output=True, text=True, check=False, env=env)
    if "unshare" in done.stderr or "max_pid_namespaces" in done.stderr:
        pytest.skip("no user namespaces")
    assert done.returncode == 0, done.stderr
    assert not [*(tmp_path / "tmp").iterdir()]


@pytest.mark.slow
def test_no_folder_stays_when_a_cell_of_a_campaign_hangs(program, tmp_path):
    command = program("time.sleep(600)")
    (tmp_path / "plan.toml").write_text(
        "limits = {cell_seconds = 3}\nreference = {effort = 100}\n[[instances]]\n"
        'family = "oasis"\npreset = "small"\nseeds = 1\n[[policies]]\n'
        f'name = """{command}"""\n'
    )
    (tmp_path / "tmp").mkdir()
    words = [sys.executable, "-m", "optsched", "campaign", "run", "plan.toml", "--trust", "-q"]
    env = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run([*words, "--workers", "2"], capture_output=True, text=True, env=env)
    assert "it came to no end within 3 s" in done.stdout + done.stderr
    assert not [*(tmp_path / "tmp").glob("optsched-*")]


def test_limits_that_a_policy_cannot_raise(inst, program, capfd):
    command = program(
        "import resource\n"
        "limits = [resource.getrlimit(k) for k in (resource.RLIMIT_CORE, resource.RLIMIT_AS)]\n"
        'print("LIMITS", *limits, file=sys.stderr, flush=True)'
    )
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 40, before[1]))
    try:
        simulate(inst, command)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert f"LIMITS (1, 1) {(1 << 40, 1 << 40)}" in capfd.readouterr().err


# --- messages between runs ---

CHANNELS = """
libc = ctypes.CDLL(None, use_errno=True)
FILE, HERE, KEY = "/usr/bin/env", os.path.abspath(sys.argv[0]), KEYS
def tried(how):
    try: return how()
    except Exception: return False
def lock(kind): return struct.pack("hhqqi4x", kind, 0, KEY, 1, 0)
def locked():
    found = fcntl.fcntl(os.open(FILE, os.O_RDONLY), fcntl.F_GETLK, lock(fcntl.F_WRLCK))
    return struct.unpack("hhqqi4x", found)[0] != fcntl.F_UNLCK
def flocked():
    try: fcntl.flock(os.open(OPEN, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError: return True
def connects(address):
    socket.socket(socket.AF_UNIX).connect(address)
    return True
def sends(address):
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", address)
    return True
def marked(): return os.stat(HERE).st_mtime == KEY
def mark():
    os.utime(HERE, (KEY, KEY))
    return marked()
def permits():
    os.chmod(HERE, 0o751)
    return os.stat(HERE).st_mode & 0o777 == 0o751
def names():
    os.setxattr(HERE, "user.note", b"x")
    return True
def watches(): return libc.inotify_add_watch(libc.inotify_init(), FILE.encode(), 0xFFF) >= 0
def hints():
    fcntl.fcntl(os.open(FILE, os.O_RDONLY), 1036, struct.pack("Q", 3))
    return True
ways = {
    "lock": locked, "flock": flocked, "abstract": lambda: connects("\\0" + MARK),
    "path": lambda: connects(PATH), "datagram": lambda: sends(DATAGRAM),
    "shm": lambda: libc.shmget(KEY, 64, 0) >= 0, "home": lambda: os.path.exists("note"),
    "tmp": lambda: os.path.exists("/tmp/" + MARK) or open("/tmp/" + MARK, "w"),
    "times": mark, "mode": permits, "xattr": names, "queue": lambda: libc.msgget(KEY, 0o1666) >= 0,
    "keys": lambda: libc.syscall(248, b"user", MARK.encode(), b"x", 1, -4) > 0,
    "pids": lambda: os.getpid() > 100 or os.path.exists(f"/proc/{PID}") or os.kill(PID, 0) is None,
    "watch": watches, "hint": hints, "mapped": lambda: bool(open("/proc/self/smaps").read()),
    "semaphore": lambda: libc.semget(KEY, 1, 0o1666) >= 0,
    "aio": lambda: libc.syscall(206, 1, ctypes.byref(ctypes.c_ulong(0))) == 0,
    "advice": lambda: os.posix_fadvise(os.open(FILE, os.O_RDONLY), 0, 0, 3) is None,
    "cached": lambda: os.preadv(os.open(FILE, os.O_RDONLY), [bytearray(9)], 0, 8) > 0,
}
print("WORKS", *(name for name, how in ways.items() if tried(how)), file=sys.stderr, flush=True)
open("note", "w").write("x")
"""


def test_no_message_reaches_another_run(inst, program, tmp_path, capfd):
    """This process is the other run: it holds locks, listens, and has left marks."""
    tmp_path.chmod(0o755)
    key, mark = 0x5EA1 + os.getpid(), uuid.uuid4().hex
    home = Path(tempfile.mkdtemp())  # short enough for a socket's name
    home.chmod(0o755)
    free = home / "open"
    free.write_text("x")
    libc = ctypes.CDLL(None, use_errno=True)
    held = [path.open("rb") for path in (Path("/usr/bin/env"), free)]
    ears = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
    ears.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    memory = libc.shmget(key, 64, 0o1666)
    try:
        fcntl.lockf(held[0], fcntl.LOCK_SH, 1, key)
        fcntl.flock(held[1], fcntl.LOCK_SH)
        for ear, name in zip(ears, ("\0" + mark, f"{home}/path", f"{home}/data"), strict=True):
            ear.bind(name)
        for path in home.iterdir():
            path.chmod(0o777)
        for ear in ears[:2]:
            ear.listen(5)
        names = {"KEYS": key, "PID": os.getpid(), "OPEN": str(free), "MARK": mark}
        names |= {"PATH": f"{home}/path", "DATAGRAM": f"{home}/data"}
        text = CHANNELS
        for name, value in names.items():
            text = re.sub(rf"\b{name}\b", repr(value), text)
        command = program(before=text)
        plain = subprocess.run(
            [sys.executable, "-S", "program.py"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        for left in (tmp_path / "note", Path(f"/tmp/{mark}")):
            left.unlink()
        works = {*plain.stderr.split()}  # so the channels are none that never work
        assert {"lock", "flock", "abstract", "path", "datagram", "times", "mode", "pids"} <= works
        assert {"aio", "advice"} <= works or os.uname().machine != "x86_64"
        os.utime("program.py")
        for _ in range(2):
            run = simulate(inst, command)
            assert run.seal == "sandbox" or "without" in run.seal
            found = {*capfd.readouterr().err.split()} - {"WORKS"}
            if is_whole(run):
                assert not found
    finally:
        libc.shmctl(memory, 0, None)
        libc.msgctl(libc.msgget(key, 0), 0, None)
        libc.semctl(libc.semget(key, 1, 0), 0, 0)
        for thing in (*held, *ears):
            thing.close()
        shutil.rmtree(home)
        Path(f"/tmp/{mark}").unlink(missing_ok=True)


SPY = """
def lock(kind, at, length): return struct.pack("hhqqi4x", kind, 0, at, length, 0)
def recall():
    fd = os.open("/usr/bin/env", os.O_RDONLY)
    found = fcntl.fcntl(fd, fcntl.F_GETLK, lock(fcntl.F_WRLCK, 1 << 48, 1 << 48))
    kind, _, at, _, _ = struct.unpack("hhqqi4x", found)
    return kind != fcntl.F_UNLCK and at - (1 << 48)
try: print("RECALLS", recall(), file=sys.stderr, flush=True)
except OSError: print("RECALLS False", file=sys.stderr, flush=True)
"""
HOLDS = """
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    for stream in range(3): os.close(stream)
    fd = os.open("/usr/bin/env", os.O_RDONLY)
    fcntl.fcntl(fd, fcntl.F_SETLK, lock(fcntl.F_RDLCK, (1 << 48) + 4711, 1))
    time.sleep(20)
    os._exit(0)
time.sleep(0.3)
"""


@pytest.mark.slow
def test_a_spy_that_stays_behind_tells_nothing(inst, program, capfd):
    command = program(HOLDS, SPY)
    for _ in range(2):
        simulate(inst, command)
        assert "RECALLS False" in capfd.readouterr().err


SPACES = """
import re, threading
libc = ctypes.CDLL(None, use_errno=True)
clone, setns = {"x86_64": (56, 308), "aarch64": (220, 268)}[os.uname().machine]
def cloned(*call):
    child = libc.syscall(*call)
    if child == 0: os._exit(0)
    return child > 0
ways = {
    "unshare": lambda: libc.unshare(0x10000000) == 0,
    "clone": lambda: cloned(clone, 0x10000000 | 17, 0, 0, 0, 0),
    "clone3": lambda: cloned(435, (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17), 64),
    "setns": lambda: libc.syscall(setns, os.open("/proc/self/ns/user", os.O_RDONLY), 0) != -1,
    "capabilities": lambda: int(re.search("CapEff:(.*)", open("/proc/self/status").read())[1], 16),
}
def tried(how):
    try: return how()
    except OSError: return False
found = [name for name, how in ways.items() if tried(how)]
thread = threading.Thread(target=lambda: found.append("threads"))
thread.start()
thread.join()
if os.fork() == 0: os._exit(0)
print("WORKS", *found, file=sys.stderr, flush=True)
"""


def test_no_namespace_gives_capabilities(inst, program, capfd):
    run = simulate(inst, program(before=SPACES))
    found = {*capfd.readouterr().err.split()} - {"WORKS"}
    assert "threads" in found
    if is_whole(run):
        assert found == {"threads"}


METADATA = """
libc, FILE, HERE = ctypes.CDLL(None, use_errno=True), os.path.abspath("FOUND"), os.getcwd()
def tried(how):
    try: return how()
    except OSError: return False
def walks():
    os.chdir(os.path.dirname(FILE))
    os.chdir(HERE)
    return True
def ioctl(request): return fcntl.ioctl(os.open("/usr/bin/env", os.O_RDONLY), request, bytes(4))
def ustat(): return libc.syscall(136, os.stat("/usr").st_dev, bytes(64)) == 0
ways = {
    "stat": lambda: os.stat(FILE).st_size > 0, "access": lambda: os.access(FILE, os.F_OK),
    "link": lambda: os.readlink(FILE + ".link"), "walk": walks,
    "folder": lambda: os.stat(os.path.dirname(os.path.abspath(sys.argv[0]))).st_mtime == STAMP,
    "attributes": lambda: os.listxattr(FILE) is not None,
    "blocks": lambda: os.statvfs("/usr").f_bfree, "open": lambda: os.fstatvfs(0) is not None,
    "ioctl": lambda: ioctl(2), "ustat": lambda: os.uname().machine == "x86_64" and ustat(),
    "users": lambda: os.path.exists("/etc/passwd"),
}
print("WORKS", *(name for name, how in ways.items() if tried(how)), file=sys.stderr, flush=True)
"""


def test_sizes_and_times_of_other_files_are_hidden(inst, program, tmp_path, capfd):
    """Such as those of the instance, of its folder, and of the folder of the program."""
    found, stamp = tmp_path / "data" / "small.json", 10**9
    found.parent.mkdir()
    save_instance(inst, found)
    Path(f"{found}.link").symlink_to(found)
    command = program(before=METADATA.replace("FOUND", str(found)).replace("STAMP", str(stamp)))
    os.utime(tmp_path, (stamp, stamp))
    words, nothing = [sys.executable, "-S", "program.py"], subprocess.DEVNULL
    plain = subprocess.run(words, capture_output=True, text=True, stdin=nothing, check=True)
    works = {*plain.stderr.split()}  # so the ways are none that never work
    assert {"stat", "access", "link", "walk", "folder", "blocks", "open", "users"} <= works
    run = simulate(inst, command)
    said = {*capfd.readouterr().err.split()}
    assert "WORKS" in said
    if is_whole(run):
        assert said == {"WORKS"}


SHELL = """
echo ready > /dev/stderr
while read -r line; do case $line in
    *hello*) echo '{"policy": {"name": "sh"}}' ;;
    *start*) echo '{"ready": true}' ;;
    *) echo '{"decision": {}}' > /dev/stdout ;;
esac; done < /dev/stdin
"""


def test_links_lead_where_they_do_outside(inst, program, tmp_path, capfd):
    """Those of the streams, to a program, and from a folder with programs to another place."""
    (tmp_path / "policy.sh").write_text(SHELL)
    assert simulate(inst, "exec:sh policy.sh").policy == "sh"
    assert "ready" in capfd.readouterr().err
    command = program(before="print(sys.argv, file=sys.stderr)", python="env/bin/python")
    for folder in ("env/bin", "there/inner"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "there/python").symlink_to(sys.executable)
    (tmp_path / "way").symlink_to("there/inner")
    (tmp_path / "env/bin/python").symlink_to("../../way/../python")
    (tmp_path / "program.py").rename(tmp_path / "there/inner/p.py")
    simulate(inst, command.replace("program.py", "way/p.py"))
    assert f"['{tmp_path}/way/p.py']" in capfd.readouterr().err


# --- links that the author of a policy has put into its folder ---

READS = """
def read(path):
    try: return open(path).read()
    except OSError: return ""
print("READS", *map(read, PATHS), file=sys.stderr, flush=True)
"""
LINKS = {
    "the disk": {"share": "/"},
    "libraries": {"lib": "../outside"},
    "in two steps": {"lib64": "inner/lib", "inner": "../outside", "../outside/lib": "."},
    "a file": {"pyvenv.cfg": "../outside/secret.txt"},
    "by a process": {"libexec": "/proc/self/cwd/outside"},
    "the folder of the command": {"include": ".."},
}


@pytest.fixture
def repo(tmp_path):
    """Return the folder of a policy, next to which is a secret."""
    for name, text in (("outside", "SECRET"), ("repo/bin", ""), ("repo/etc", "")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "secret.txt").write_text(text)
    return tmp_path / "repo"


def script(program, path, *reads):
    """Write a program that reads some paths."""
    program(before=READS.replace("PATHS", repr([*map(str, reads)])))
    text = Path("program.py").read_text()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("links", LINKS.values(), ids=[*LINKS])
def test_links_next_to_a_program_open_nothing(
    inst, program, repo, capfd, monkeypatch, links, inside
):
    """Nor in a folder that pretends to be the virtual environment of the command."""
    mine = repo / "lib" / "mine.txt"
    secret = repo.parent / "outside" / "secret.txt"
    script(program, repo / "bin" / "policy", secret, mine)
    if "lib" not in links:
        mine.parent.mkdir()
        mine.write_text("MINE")
    if inside and "pyvenv.cfg" not in links:
        (repo / "pyvenv.cfg").write_text("")
    for name, target in links.items():
        (repo / name).symlink_to(target)
    monkeypatch.chdir(repo if inside else repo.parent)
    run = simulate(inst, "exec:bin/policy" if inside else "exec:repo/bin/policy")
    said = capfd.readouterr().err
    assert "READS" in said
    assert ("MINE" in said) == ("lib" not in links)
    assert ("SECRET" in said) == ("files" not in run.guards)


@pytest.mark.parametrize(
    ("link", "target", "command"),
    [
        ("repo/data", "../outside/secret.txt", "repo/bin/policy repo/data"),
        ("repo/data", "instance.json", "repo/bin/policy repo/data"),  # which others put there
        ("repo/data", "/proc/self/cwd/outside/secret.txt", "repo/bin/policy repo/data"),
        ("repo/sub", "../outside", "repo/bin/policy repo/sub/secret.txt"),
        ("repo/run", "../outside/bin/policy", "repo/run"),
        ("repo/tools", "../outside/bin", "repo/tools/policy"),
    ],
)
def test_a_command_names_no_link_to_what_is_closed(inst, program, repo, link, target, command):
    for folder in (repo, repo.parent / "outside"):
        script(program, folder / "bin" / "policy")
    (repo / "instance.json").write_text("SECRET")
    (repo.parent / link).symlink_to(target)
    expected = rf"^policy exec:.*: {repo.parent / link} is a symbolic link to {repo.parent}/"
    with pytest.raises(InputError, match=expected):
        simulate(inst, f"exec:{command}")


def test_a_file_of_a_policy_is_no_link(inst, program, repo):
    assert program()  # in whose folder the command runs
    (repo.parent / "other.py").write_text("")
    (repo / "policy.py").symlink_to("../other.py")
    with pytest.raises(InputError, match=r"policy.py is a symbolic link to .*/other.py, which"):
        simulate(inst, "repo/policy.py:Mine", sandbox=True)


def test_a_link_that_is_changed_meanwhile_opens_nothing(inst, program, repo, capfd, monkeypatch):
    data, secret = repo / "data", repo.parent / "outside" / "secret.txt"
    script(program, repo / "bin" / "policy", data, secret)
    data.write_text("MINE")
    start = subprocess.Popen

    def late(*args, **options):
        data.unlink()
        data.symlink_to(secret)
        return start(*args, **options)

    simulate(inst, "exec:repo/bin/policy repo/data")
    assert "MINE" in capfd.readouterr().err
    monkeypatch.setattr(subprocess, "Popen", late)
    run = simulate(inst, "exec:repo/bin/policy repo/data")
    assert ("SECRET" in capfd.readouterr().err) == ("files" not in run.guards)


def test_an_environment_may_be_of_another_python(inst, program, repo, capfd):
    """Its programs and libraries are open, but not where a link leads out of them."""
    python, secret = repo.parent / "python", repo.parent / "outside" / "secret.txt"
    standard = python / "lib" / "python3.99" / "os.py"
    script(program, python / "bin" / "python3", standard, secret)
    standard.parent.mkdir(parents=True)
    standard.write_text("STANDARD")
    (python / "share").symlink_to("../outside")
    (repo / "bin" / "python3").symlink_to("../../python/bin/python3")
    run = simulate(inst, "exec:repo/bin/python3")
    said = capfd.readouterr().err
    assert "STANDARD" in said
    assert ("SECRET" in said) == ("files" not in run.guards)


def test_a_program_on_the_path_may_be_a_link(inst, program, repo, capfd, monkeypatch):
    """What is installed is open, but not what programs keep in the folder of the user."""
    home, there = repo.parent / "home" / ".local", repo.parent / "opt" / "there"
    files = [there / "lib" / "one.txt", home / "lib" / "two.txt", home / "share" / "three.txt"]
    script(program, there / "bin" / "policy", *files)
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "policy").symlink_to(there / "bin" / "policy")
    for path in files:
        path.parent.mkdir()
        path.write_text(path.stem.upper())
    monkeypatch.setenv("HOME", str(home.parent))
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
    run = simulate(inst, "exec:policy")
    said = capfd.readouterr().err
    assert "READS ONE TWO" in said
    assert ("THREE" in said) == ("files" not in run.guards)


# --- limits of time and size ---

TRICKLES = 'while True: os.write(1, b" "); time.sleep(0.05)'
FLOODS = 'while True: os.write(2, b"x" * 65536)'
READS_SLOWLY = """
os.read(0, 4096)
print(json.dumps({"policy": {"name": NAME, "knows": []}}), flush=True)
while True: os.read(0, 4096); time.sleep(0.1)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "before"),
    [
        (TRICKLES, ""),
        *(pytest.param(*way, marks=pytest.mark.slow) for way in [(FLOODS, ""), ("", TRICKLES)]),
        pytest.param("", READS_SLOWLY, marks=pytest.mark.slow),
    ],
)
def test_a_limit_holds_whatever_a_policy_writes_or_reads(program, start, before):
    inst = get_family("bipartite").generate("large", seed=1, slots=2)
    with pytest.raises(PolicyError, match="has not answered within 2 s"):
        simulate(inst, program(start or "pass", before), decision_limit=2)


@pytest.mark.slow
def test_an_interruption_is_noticed_though_a_policy_writes(inst, program):
    timer = threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        simulate(inst, program(TRICKLES), decision_limit=30)
    timer.join()


@pytest.mark.slow
def test_what_is_written_after_the_last_event_has_an_end(inst, program):
    flood = """
def flood():
    until = time.monotonic() + 40
    while time.monotonic() < until: os.write(1, b"x" * 65536)
import atexit; atexit.register(flood)
"""
    began = time.monotonic()
    assert simulate(inst, program(before=flood)).value == 0
    assert time.monotonic() - began < 30


def test_an_answer_has_a_size(inst, program):
    with pytest.raises(PolicyError, match="start: answers with more than 8388608 bytes"):
        simulate(inst, program('print("[" + "[]," * 3 * 2**20, flush=True)'))


# --- names, priors, stderr ---


@pytest.mark.parametrize(
    "name",
    [
        *("fi\x1b[31mfo", "a\u202eb", "a\nb", "a\u2028b", "a\x00", "", " ", "x ", "x" * 101),
        *("fifo\ufe0f", "fi\u034ffo", "\u3164"),  # marks and letters that nobody sees
        *("\u200bx", "fifo", "FIFO", "\uff46ifo", 3, None, ["x"]),
        *("fif\u043e", "m\u0131ne", "\u043e\u0430\u0455\u0456\u0455"),  # letters that look alike
        *(REAL, "LP relaxation", "lp  Relaxation", "relaxation", "Optimum", "fifo *", "*"),  # rows
    ],
)
def test_a_name_that_cannot_be_shown_or_is_taken_is_refused(inst, program, name):
    with pytest.raises(ValueError, match=r"its name|an object with a") as caught:
        simulate(inst, program(before=f"NAME = {name!r}"))
    assert str(caught.value).isprintable()


def test_a_name_is_plain_text(inst):
    class Name(str):
        __slots__ = ()

        def isprintable(self):
            return True

    policy = get_family("oasis").policies["fifo"]()
    policy.name = Name("a\x1b[2J")
    with pytest.raises(ValueError, match="its name is"):
        simulate(inst, policy)


def test_an_error_of_a_program_is_short_and_harms_no_terminal(inst, program):
    said = r'"\x1b[2J\noptsched: fine\n" + "x" * 10**6'
    command = program(f'print(json.dumps({{"error": {said}}}), flush=True)')
    with pytest.raises(PolicyError) as caught:
        simulate(inst, command)
    first, second, *_ = str(caught.value).splitlines()
    assert first == r"policy p: start: \x1b[2J"
    assert second == "  optsched: fine"
    assert len(str(caught.value)) < 3000


def test_an_odd_decision_harms_no_terminal(program):
    column = {"name": "x", "cost": 1, "upper": 1, "revealed": 0, "decided": 0}
    problem = Maximization.model_validate({"columns": [column], "rows": []})
    with pytest.raises(PolicyError, match="the decision") as caught:
        simulate(problem, program('DECISION = {"\\x1b[31m": {}}'))
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "knows",
    [["a\u202eb"], ["jobs", "jobs"], ["x" * 201], [f"jobs(a={k})" for k in range(101)], [""]],
)
def test_what_it_knows_can_be_shown(inst, program, knows):
    with pytest.raises(ValueError, match="knows") as caught:
        simulate(inst, program(before=f"KNOWS = {knows!r}"))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_a_long_decision_is_cut_off_in_the_message(program):
    command = program("DECISION = ['a' * 100_000]")
    with pytest.raises(PolicyError, match="expected a list of numbers") as refused:
        simulate(get_family("bipartite").generate("small", seed=1), command)
    assert len(str(refused.value)) < 500


def test_a_long_or_odd_stderr_is_cut_off(inst, program, capsys):
    command = program(
        'for _ in range(40): sys.stderr.buffer.write(b"x" * (1 << 20))\n'
        'sys.stderr.buffer.write(b"\\n\\x1b[2J\\xff\\tb\\n")\n'
        'sys.stderr.buffer.write(b"y" * 60000 + b"\\n")\n'
        "for _ in range(30): sys.stderr.buffer.write(b'z' * 60000 + b'\\n')\n"
        "sys.stderr.flush()"
    )
    simulate(inst, command)
    said = capsys.readouterr().err
    lines = said.splitlines()
    assert len(said) < 1.2e6
    assert max(map(len, lines)) <= 1 << 16
    assert lines[0] == "x" * (1 << 16)
    assert lines[1] == "\\x1b[2J\\xff\tb"
    assert lines[-1] == "optsched: policy p: writes more than 1 MB to stderr, cut off here"


def test_two_rows_have_two_names(inst, program):
    command = program()
    report = compare(inst, [command, f"{command} again"], time_limit=10)
    assert [run.policy for run in report.runs] == ["p"]
    assert "has the name 'p', expected a name of its own" in report.failed[0].why
    assert [f.name for f in compare(inst, ["fifo", "fifo"], time_limit=10).failed] == ["fifo"]
    policy = get_family("oasis").policies["fifo"]()
    policy.name = "P"
    assert [f.name for f in compare(inst, [command, policy], time_limit=10).failed] == ["P"]


@pytest.mark.parametrize("name", ["LP relaxation", "lp_relaxation", "Stationary", "DRF *"])
def test_no_policy_has_the_name_of_a_row(name):
    policy = get_family("oasis").policies["fifo"]()
    policy.name = name
    family = get_family("bipartite")
    if "_" in name:
        assert introduced(family, policy, "p", own=False).name == policy.name
    else:
        with pytest.raises(InputError, match="its name"):
            introduced(family, policy, "p", own=False)


def test_what_is_written_can_be_read(inst, program, tmp_path):
    name = "Size " + "n" * 95
    run = simulate(inst, program(before=f"NAME, KNOWS = {name!r}, ['jobs']"))
    save_run(tmp_path / "run.json", inst, run)
    assert load_run(tmp_path / "run.json") == run
    report = compare(inst, [program(before=f"NAME = {name!r}")], time_limit=10)
    save_result(tmp_path / "result.json", inst, report.optimum, report.runs)
    content = json.loads((tmp_path / "result.json").read_text())
    assert content["runs"][0]["decision_limit"] == 600


# --- virtual environments ---


@pytest.mark.parametrize("inside", [False, True])
def test_a_program_of_a_virtual_environment(inst, program, tmp_path, capfd, inside):
    """Also where the environment is the folder of the command itself."""
    folder = tmp_path if inside else tmp_path / "env"
    venv.create(folder, symlinks=True, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "only_here.py").write_text("VALUE = 42\n")
    before = 'import only_here\nprint("FOUND", only_here.VALUE, sys.prefix, file=sys.stderr)'
    simulate(inst, program(before=before, python=f"'{folder}/bin/python3'"))
    assert f"FOUND 42 {folder}" in capfd.readouterr().err


@pytest.mark.parametrize("script", [False, True])
def test_python3_is_that_of_the_environment_of_the_command(inst, program, tmp_path, capfd, script):
    before = 'import numpy\nprint("FOUND", sys.prefix, file=sys.stderr, flush=True)'
    command = program(before=before, python="python3")
    if script:
        path = tmp_path / "program.py"
        path.write_text("#!/usr/bin/env python3\n" + path.read_text())
        path.chmod(0o755)
        command = "exec:./program.py"
    simulate(inst, command)
    assert f"FOUND {sys.prefix}\n" in capfd.readouterr().err
