"""Figures and tables of the papers as experiments: `optsched reproduce NAME`."""

from itertools import chain

from optsched.papers import bipartite, bot, completion, dmlrs, oasis
from optsched.papers.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e
    for e in chain.from_iterable(
        package.EXPERIMENTS for package in (oasis, dmlrs, completion, bipartite, bot)
    )
}

__all__ = ["EXPERIMENTS", "Experiment"]
