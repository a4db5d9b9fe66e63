"""Dynamic programs over time of tiny instances."""

from __future__ import annotations

import numpy as np

from optsched.families.completion.optimum.dominance import undominated
from optsched.families.completion.optimum.prices.capacity import Jobs, ServerBlocks
from optsched.families.completion.optimum.prices.filtering import filtered
from optsched.families.completion.optimum.timeline.program import Timeline
from optsched.families.completion.optimum.timeline.slot_items import SlotItems


def priced(inst, seed):
    """Return the jobs of an instance, random prices, and their bound B(p)."""
    jobs = Jobs(inst)
    problem = ServerBlocks(jobs, inst.horizon)
    rng = np.random.default_rng([seed, 7])
    demand = jobs.types.worker_demand.max(axis=0).clip(1)
    prices = rng.uniform(0, 2, problem.shape) * (rng.random(problem.shape) < 0.4) / demand
    best = problem.price(prices.ravel(), np.full(len(inst.jobs), -np.inf)).best
    return jobs, prices, -float(prices.ravel() @ problem.rhs + best.sum())


def program_of(jobs, prices, bound, value):
    """Return the dynamic program with what prices leave of the modes worth having."""
    modes = undominated(jobs)
    left = filtered(jobs, prices, bound, value, modes)
    return Timeline(jobs, SlotItems(jobs, modes), [prices], left)
