"""Modes that are left out are needed by no optimal schedule."""

from __future__ import annotations

import numpy as np
import pytest
from completion_brute import optimum, solvable, tiny

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.cpsat import Choices, Program, unmasked
from optsched.families.completion.optimum.dominance import scarce, undominated
from optsched.families.completion.optimum.prices.capacity import Jobs
from optsched.families.completion.sources.presets import generate


def test_an_optimum_needs_no_other_modes():
    fewer = 0
    for seed in solvable(60):
        inst = tiny(seed)
        jobs = Jobs(inst)
        choices = []
        for j, rows in enumerate(undominated(jobs)):
            fewer += len(rows) < len(unmasked(jobs, j))
            rows = rows[jobs.arrival[j] + rows[:, 4] <= inst.horizon]
            starts = [range(int(jobs.arrival[j]), inst.horizon - d + 1) for d in rows[:, 4]]
            choices.append(Choices(rows, starts))
        monitor = Progress(FAMILY, inst, time_limit=30.0, gap=0.0)
        Program(jobs, choices).solve(monitor, threads=1, seed=0)
        assert monitor.value == optimum(inst), seed
    assert fewer > 10


@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_every_mode_left_out_is_beaten_by_one_that_stays(architecture):
    jobs = Jobs(generate("mid", seed=0, jobs=8, machines=6, architecture=architecture))
    left_out, short = 0, scarce(jobs)
    worker = jobs.types.worker_demand[:, short]
    for j, kept in enumerate(undominated(jobs)):
        assert len(np.unique(kept, axis=0)) == len(kept)
        stay = {tuple(row) for row in kept.tolist()}
        for row in unmasked(jobs, j).tolist():
            if tuple(row) in stay:
                continue
            left_out += 1
            m, _, q, n, d = row
            assert any(
                (worker[a] <= worker[m]).all() and (x, y) == (q, q) and number <= n and length <= d
                for a, _, x, number, length in kept.tolist()
                for y in [x]
            ), (j, row)
    assert left_out > 20


def test_what_never_runs_short_does_not_count():
    jobs = Jobs(generate("mid", seed=0, jobs=2, machines=6))
    short = scarce(jobs)
    assert short.tolist() == [True, True, False, True]  # memory
    types, capacity = jobs.types, jobs.class_capacity
    demand = np.concatenate([types.worker_demand, types.ps_demand])
    rng = np.random.default_rng(0)
    for server in capacity:
        for _ in range(300):  # as many of everything as fit, in random order
            free = server[short].copy()
            used = 0
            for k in rng.permutation(np.repeat(np.arange(len(demand)), 20)).tolist():
                if (demand[k, short] <= free).all():
                    free -= demand[k, short]
                    used += int(demand[k, 2])
            assert used <= server[2]
