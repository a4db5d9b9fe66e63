"""`optsched` and scripts without waiting for imports: each is forked from a process that has them.

    python tests/helpers/warm.py ADDRESS    # serve, until stdin ends

A command has arguments, folder, environment and streams of its own, and runs as `__main__`.
"""

import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any

CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as here:
    here.connect({address!r})
    words = json.dumps([{script!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]) + "\\n"
    socket.send_fds(here, [words.encode()], [0, 1, 2])
    sys.exit(int(here.recv(9)))
"""


def program(address: str, script: str = "") -> str:
    """Return a program that runs a script, or `optsched`, in a process of the server."""
    return CLIENT.format(python=sys.executable, address=address, script=script)


def serve(address: str) -> str:
    """Run the commands that clients send; return in the process of each its script."""
    _warm_up()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the processes of clients are not waited for
        print("ready", flush=True)
        while True:
            if server not in select.select([server, sys.stdin], [], [])[0]:
                sys.exit()
            client, _ = server.accept()
            if os.fork() == 0:
                break
            client.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with client:
        words, streams = _received(client)
        worker = os.fork()
        if worker:
            status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
            client.send(str(status if status >= 0 else 128 - status).encode())
            os._exit(0)
    return _become(words, streams)


def _warm_up() -> None:
    """Import what commands and pages need: run some commands."""
    import pyomo.environ  # noqa: F401

    from optsched.cli.app import main

    with TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        small, result = f"{folder}/small.json", f"{folder}/result.json"
        for words in (
            ["info"],
            ["generate", "oasis", "--preset", "small", "--seed", "1", "-o", small],
            ["ratio", small, "--work-limit", "100", "-o", result],
            ["verify", result],
            ["report", result, "-o", f"{folder}/page.html"],
        ):
            with suppress(SystemExit):
                main(words)


def _received(client: socket.socket) -> tuple[Any, list[int]]:
    text, streams, *_ = socket.recv_fds(client, 1 << 20, 3)
    while not text.endswith(b"\n"):
        text += client.recv(1 << 20)
    return json.loads(text), streams


def _become(words: Any, streams: list[int]) -> str:
    script, arguments, folder, environment = words
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (  # a line is out before the next one, on either stream
        open(0),  # noqa: SIM115
        open(1, "w", buffering=1),  # noqa: SIM115
        open(2, "w", buffering=1),  # noqa: SIM115
    )
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [script or "optsched", *arguments]
    sys.path[0] = os.path.dirname(script) or folder
    return str(script)


if __name__ == "__main__":
    if script := serve(sys.argv[1]):
        runpy.run_path(script, run_name="__main__")
    else:
        runpy.run_module("optsched", run_name="__main__", alter_sys=True)
