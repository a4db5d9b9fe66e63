"""Policies that do harm to the process that they run in, and plans that are quick to run."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path

from optsched.campaigns.plan import make_plan
from optsched.families.bot.policies.baselines import Fifo

NAMES = ("Leaves", "Faults", "Devours", "Raises")


class Leaves(Fifo):
    """Ends the process."""

    name = "leaves"

    def start(self, *_):
        print("it was me", file=sys.stderr, flush=True)
        os._exit(7)


class Faults(Fifo):
    """Reads where nothing is."""

    name = "faults"

    def start(self, *_):
        ctypes.string_at(1)


class Hangs(Fifo):
    """Comes to no end."""

    name = "hangs"

    def start(self, *_):
        while True:
            time.sleep(1)


class Devours(Fifo):
    """Takes all memory."""

    name = "devours"

    def start(self, *_):
        self.all = []
        while True:
            self.all.append(bytearray(1 << 29))


class Raises(Fifo):
    """Goes wrong."""

    name = "raises"

    def start(self, *_):
        raise KeyError("no such thing")


class Counts(Fifo):
    """Leaves a line in a file whenever it runs, and takes its time."""

    name = "counts"

    def start(self, *given):
        with open("counted", "a") as f:
            f.write(f"{os.getpid()}\n")
        time.sleep(0.02)
        super().start(*given)


def small(seeds=3, policies=("fifo",), **more):
    """Return a plan of small instances of `bot`."""
    return make_plan(
        {
            "instances": [{"family": "bot", "preset": "small", "seeds": seeds}],
            "policies": [{"name": name} for name in policies],
            "reference": {"time_limit": 20},
            **more,
        },
        Path(),
    )


def numbers(path):
    """Return what must be the same however often a run was killed: all but times and versions."""
    from optsched.campaigns.export import COLUMNS, cells

    left = {"seconds", "optimum_seconds", "versions", "optimum_versions"}
    return [
        {n: x for n, x in zip(COLUMNS, row, strict=True) if n not in left} for row in cells(path)
    ]
