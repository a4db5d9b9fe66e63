"""Subgradient method for prices on capacity, from coarse to fine groups of rows.

Levels of `engine.ascent` (Held et al., 1974): first one price for each resource, then for blocks
of slots, then for each slot and class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator

from optsched.engine.ascent import Ascent, Level
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.prices.relaxed import RelaxedBlocks
from optsched.numbers.arrays import Floats

COARSE = (50, 10)  # slots that share a price, before each has its own


def levels(blocks: RelaxedBlocks) -> Iterator[Level]:
    """Yield the levels from coarse to fine, for prices whose scale is known."""
    for n in (blocks.slots, *(n for n in COARSE if n < blocks.slots)):
        yield Level(blocks.groups(n, classes=False), first=0.05, last=0.02, gain=5e-3)
    fine = blocks.groups(1, classes=True)
    yield Level(fine, first=0.02, last=0.01, gain=2e-3)
    yield Level(fine, first=0.01, last=0.0005, gain=2e-4, exact=True)


def on_capacity(blocks: RelaxedBlocks, prices: Floats) -> Floats:
    """Return prices in the order of the rows of `capacity.CapacityBlocks`."""
    sides = blocks.by_side(prices)  # (C, R, T) each
    return np.concatenate([side.transpose(2, 1, 0).ravel() for side in sides])


def stepwise_prices(inst: OasisInstance, rng: Generator, stop: Callable[[], bool]) -> Floats:
    """Return prices of all rows of `capacity.CapacityBlocks`, the best until it is to stop."""
    blocks = RelaxedBlocks(inst)
    ascent = Ascent(blocks, rng, stop, lambda _, __: None)
    ascent.look(np.zeros(blocks.rhs.size))
    ascent.scan(blocks.base(), ascent.bound)
    for level in levels(blocks):
        ascent.descend(level)
    return on_capacity(blocks, ascent.prices)
