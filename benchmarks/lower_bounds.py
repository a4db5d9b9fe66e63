"""Lower bounds for all online algorithms of `oasis` and `completion`, on tiny menus of jobs.

    python benchmarks/lower_bounds.py     (about a minute)

A menu is all sequences of three items: in each slot a short job arrives, a long one, or nobody. It
is written as a declared problem, of which `optsched.minimax` finds the best online algorithm and
the adversary's distribution. Each file in results/minimax is a certificate that `optsched verify`
checks; the figures in docs/worst-cases.md are written from them. For each sequence there is the
instance of the family, and the schedule that the values of the declared variables mean: the tests
compare optima, and have the family's feasibility check accept every schedule.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from bench import RESULTS
from worst_cases import PAGE, replaced

import optsched
from optsched.declared.model import Declared
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule, Piece
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.files.atomic_io import write_whole
from optsched.minimax.files import Checked, check_file
from optsched.minimax.game import Game
from optsched.minimax.menu import Menu
from optsched.problem import Schedule

FOLDER = RESULTS / "minimax"
NOBODY, SHORT, LONG = "nobody", "short", "long"


@dataclass(frozen=True)
class Kind:
    """A kind of job: slots of work on the only worker, what it earns, or what a slot costs it."""

    work: int
    weight: float
    patience: int = 0  # slots from its arrival until it earns nothing any more


TRAINING = {SHORT: Kind(1, 1.0, 1), LONG: Kind(2, 2.0, 3)}
DELAYED = {SHORT: Kind(1, 3.0), LONG: Kind(4, 1.0)}
SLOTS = 4  # of `oasis`
ARRIVALS = 3  # slots of `completion` in which jobs arrive
LAST = ARRIVALS - 1 + ARRIVALS * DELAYED[LONG].work  # by then, all of them can have ended


def arrived(sequence: Sequence[str], kinds: Mapping[str, Kind]) -> dict[int, tuple[int, Kind]]:
    """Return slot and kind of each job of a sequence."""
    there = [(t, kinds[item]) for t, item in enumerate(sequence) if item != NOBODY]
    return dict(enumerate(there))


def training(sequence: Sequence[str], *, at_arrival: bool) -> Declared:
    """Return `oasis` on one machine for one worker, as a declared problem.

    A job may be left unfinished, and then earns nothing. Parameter servers are left out: there is
    always a free one for the worker that runs.
    """
    jobs = arrived(sequence, TRAINING)
    m = pyo.ConcreteModel()
    slots = {i: range(a, min(SLOTS, a + job.patience)) for i, (a, job) in jobs.items()}
    runs = [(i, t) for i, there in slots.items() if len(there) >= jobs[i][1].work for t in there]
    ends = [(i, t) for i, t in runs if t >= jobs[i][0] + jobs[i][1].work - 1]
    m.run = pyo.Var(runs, domain=pyo.Binary)
    m.end = pyo.Var(ends, domain=pyo.Binary)
    m.utility = pyo.Objective(
        expr=sum(jobs[i][1].weight * m.end[i, t] for i, t in ends), sense=pyo.maximize
    )
    m.machine = pyo.Constraint(
        sorted({t for _, t in runs}),
        rule=lambda m, t: sum(m.run[i, s] for i, s in runs if s == t) <= 1,
    )
    m.work = pyo.Constraint(
        ends,
        rule=lambda m, i, t: (
            jobs[i][1].work * sum(m.end[j, s] for j, s in ends if j == i and s <= t)
            <= sum(m.run[j, s] for j, s in runs if j == i and s <= t)
        ),
    )

    def arrival(i: int, _t: int) -> int:
        return jobs[i][0]

    used = [m.run, m.end] if runs else []  # nobody may arrive
    decided = arrival if at_arrival else lambda _i, t: t
    return optsched.online(
        m, revealed=dict.fromkeys(used, arrival), decided=dict.fromkeys(used, decided)
    )


@optsched.menu(items=(NOBODY, SHORT, LONG), horizon=SLOTS, shortest=SLOTS)
def oasis_slots(sequence: Sequence[str]) -> Declared:
    """Return `oasis` where the worker is decided slot by slot."""
    return training(sequence, at_arrival=False)


@optsched.menu(items=(NOBODY, SHORT, LONG), horizon=SLOTS, shortest=SLOTS)
def oasis_arrival(sequence: Sequence[str]) -> Declared:
    """Return `oasis` where all slots of a job are decided when it arrives."""
    return training(sequence, at_arrival=True)


@optsched.menu(items=(NOBODY, SHORT, LONG), horizon=ARRIVALS, shortest=ARRIVALS)
def completion_starts(sequence: Sequence[str]) -> Declared:
    """Return `completion` on one server for one worker: jobs start once, and run to the end."""
    jobs = arrived(sequence, DELAYED)
    m = pyo.ConcreteModel()
    starts = [(j, t) for j, (a, job) in jobs.items() for t in range(a, LAST - job.work + 1)]
    m.start = pyo.Var(starts, domain=pyo.Binary)
    m.delay = pyo.Objective(
        expr=sum(jobs[j][1].weight * (t + jobs[j][1].work) * m.start[j, t] for j, t in starts)
    )
    m.once = pyo.Constraint(
        list(jobs), rule=lambda m, j: sum(m.start[i, t] for i, t in starts if i == j) == 1
    )
    busy = {
        slot: [(j, t) for j, t in starts if t <= slot < t + jobs[j][1].work] for slot in range(LAST)
    }
    m.server = pyo.Constraint(
        [slot for slot, users in busy.items() if users],
        rule=lambda m, slot: sum(m.start[j, t] for j, t in busy[slot]) <= 1,
    )
    used = [m.start] if jobs else []  # nobody may arrive
    return optsched.online(
        m,
        revealed=dict.fromkeys(used, lambda j, _t: jobs[j][0]),
        decided=dict.fromkeys(used, lambda _j, t: t),
    )


def oasis_instance(sequence: Sequence[str]) -> OasisInstance:
    """Return the instance of `oasis` that a sequence means."""
    jobs = [
        {"arrival": a, "epochs": job.work, "chunks": 1, "batches_per_chunk": 1, "batch_time": 1.0}
        | {"gradient_mb": 0.0, "worker_bandwidth": 1.0, "ps_bandwidth": 1.0}
        | {"worker_demand": (1.0,), "ps_demand": (1.0,)}
        | {"utility": {"kind": "table", "values": (job.weight,) * job.patience}}
        for a, job in arrived(sequence, TRAINING).values()
    ]
    machines = ({"capacity": (1.0,)},)
    return OasisInstance.model_validate(
        {"horizon": SLOTS, "resources": ("gpu",), "jobs": jobs}
        | {"worker_machines": machines, "ps_machines": machines}
    )


def oasis_schedule(inst: OasisInstance, values: Mapping[str, float]) -> OasisSchedule:
    """Return the schedule that the values of the declared variables mean."""
    plans = []
    for i in range(len(inst.jobs)):
        slots = [t for t in range(SLOTS) if values.get(f"run[{i},{t}]")]
        entries = tuple((t, 0, 1) for t in slots)
        plans.append(JobSchedule(workers=entries, ps=entries) if entries else None)
    return OasisSchedule(jobs=tuple(plans))


def completion_instance(sequence: Sequence[str]) -> CompletionInstance:
    """Return the instance of `completion` that a sequence means."""
    jobs = [
        {"arrival": a, "epochs": job.work, "chunks": 1, "batches_per_chunk": 1, "gradient_mb": 0.0}
        | {"weight": job.weight, "batch_time": (1.0,), "update_time": (0.0,)}
        for a, job in arrived(sequence, DELAYED).values()
    ]
    return CompletionInstance.model_validate(
        {"architecture": "ring", "horizon": ARRIVALS, "resources": ("gpu",), "jobs": jobs}
        | {"servers": ({"capacity": (1.0,)},)}
        | {"worker_types": ({"demand": (1.0,), "bandwidth": 1.0},)}
    )


def completion_schedule(
    inst: CompletionInstance, values: Mapping[str, float]
) -> CompletionSchedule:
    """Return the schedule that the values of the declared variables mean."""
    pieces = []
    for j, job in enumerate(inst.jobs):
        (start,) = [t for t in range(LAST) if values.get(f"start[{j},{t}]")]
        on = {"worker_type": 0, "ps_type": None, "workers": ((0, 1),), "ps": ()}
        pieces.append((Piece.model_validate({"start": start, "duration": job.epochs} | on),))
    return CompletionSchedule(jobs=tuple(pieces))


@dataclass(frozen=True)
class Bound:
    """A lower bound: its menu, for whom it holds, and how to read the menu in the family."""

    menu: Menu
    family: str
    holds: str
    instance: Callable[[Sequence[str]], Any]
    schedule: Callable[[Any, Mapping[str, float]], Schedule]

    @property
    def name(self) -> str:
        """What its file is called."""
        return self.menu.name.replace("_", "-")


BOUNDS = (
    Bound(
        oasis_arrival,
        "oasis",
        "algorithms that fix all slots of a job when it arrives, as OASiS does",
        oasis_instance,
        oasis_schedule,
    ),
    Bound(
        oasis_slots,
        "oasis",
        "all algorithms: also those that decide slot by slot, and leave jobs unfinished",
        oasis_instance,
        oasis_schedule,
    ),
    Bound(
        completion_starts,
        "completion",
        "algorithms that run each job in one piece, as the model states",
        completion_instance,
        completion_schedule,
    ),
)


def stored(bound: Bound, folder: Path) -> tuple[Game, Checked]:
    """Return the game of a file, and what its checker states."""
    found = check_file(folder / f"{bound.name}.json")
    assert found.tree is not None
    assert found.proof is not None
    return Game(found.tree, found.certificate, found.proof), found


def overview(folder: Path) -> str:
    """Return the table of all bounds."""
    lines = [
        "| bound | family | sequences | randomized | deterministic | holds for |",
        "|---|---|---:|---:|---:|---|",
    ]
    for bound in BOUNDS:
        game, _ = stored(bound, folder)
        proof = game.proof
        lines.append(
            f"| [{bound.name}](#{bound.name}) | {bound.family} | {len(game.instances)} | "
            f"{proof.proved} = {game.bound:.6g} | {proof.deterministic} = {game.deterministic:.6g}"
            f" | {bound.holds} |"
        )
    return "\n".join(lines)


def figures(bound: Bound, folder: Path) -> str:
    """Return the adversary's tree, and how to check it."""
    game, _ = stored(bound, folder)
    # later, nothing arrives; the colon stands before an item
    lines = [(depth, text) for depth, text in game.lines() if not depth or ": " in text]
    tree = "\n".join(f"{'  ' * depth}{text}" for depth, text in lines)
    command = f"optsched verify benchmarks/results/minimax/{bound.name}.json"
    return (
        f"```text\n{tree}\n```\n\n"
        f"<!-- not run: the file is part of the repository -->\n\n```sh\n{command}\n```"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Write the certificates and the page's figures."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--folder", type=Path, default=FOLDER, help="of the certificates")
    p.add_argument("--page", type=Path, default=PAGE)
    options = p.parse_args(argv)
    options.folder.mkdir(parents=True, exist_ok=True)
    for bound in BOUNDS:
        game = optsched.minimax(bound.menu)
        game.save(options.folder / f"{bound.name}.json")
        print(f"{bound.name}: {game}", flush=True)
    blocks = {"bounds": overview(options.folder)}
    blocks |= {bound.name: figures(bound, options.folder) for bound in BOUNDS}
    page = options.page.read_text(encoding="utf-8")
    write_whole(options.page, replaced(page, blocks))
    print(f"{options.page} is written")


if __name__ == "__main__":
    main()
