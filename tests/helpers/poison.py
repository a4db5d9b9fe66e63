"""Policies that do harm to the process that they run in, and plans that are quick to run."""

import ctypes
import os
import sys
import time
from pathlib import Path

from optsched.experiments.plan import make_plan
from optsched.families.bot.policies.baselines import Fifo

NAMES = ("Leaves", "Faults", "Hangs", "Devours", "Raises")


class _Begins(Fifo):
    """Leaves a line in a file whenever it runs: its name, and the seed, which tells the cell."""

    def start(self, *given):
        with open("begun", "a") as f:
            f.write(f"{self.name} {given[2].seed}\n")
        super().start(*given)
        self.go_wrong()

    def go_wrong(self):
        """Do nothing."""


class Leaves(_Begins):
    """Ends the process."""

    name = "leaves"

    def go_wrong(self):
        print("it was me", file=sys.stderr, flush=True)
        os._exit(7)


class Faults(_Begins):
    """Reads where nothing is."""

    name = "faults"

    def go_wrong(self):
        ctypes.string_at(1)


class Hangs(_Begins):
    """Comes to no end."""

    name = "hangs"

    def go_wrong(self):
        while True:
            time.sleep(1)


class Devours(_Begins):
    """Takes all memory."""

    name = "devours"

    def go_wrong(self):
        self.all = []
        while True:
            self.all.append(bytearray(1 << 29))


class Raises(_Begins):
    """Goes wrong."""

    name = "raises"

    def go_wrong(self):
        raise KeyError("no such thing")


class Counts(_Begins):
    """Takes its time."""

    name = "counts"

    def go_wrong(self):
        time.sleep(0.02)


def square(cell):
    """A cell of a campaign of calls; that of -1 ends its process."""
    if cell["n"] < 0:
        os._exit(7)
    return {"square": cell["n"] ** 2}


def begun(name, folder="."):
    """Return the seeds of the cells that a policy has begun, as often as it has."""
    path = Path(folder) / "begun"
    words = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [int(seed) for found, seed in words if found == name]


def small(seeds=3, policies=("fifo",), **more):
    """Return a plan of small instances of `bot`."""
    return make_plan(
        {
            "instances": [{"family": "bot", "preset": "small", "seeds": seeds}],
            "policies": [{"name": name} for name in policies],
            **more,
        },
        Path(),
    )


def numbers(path):
    """Return what must be the same however often a run was killed: all but times and versions."""
    from optsched.experiments.ratios_by_policy import COLUMNS, cells

    left = {"seconds", "optimum_seconds", "versions", "optimum_versions"}
    return [
        {n: x for n, x in zip(COLUMNS, row, strict=True) if n not in left} for row in cells(path)
    ]
