"""Figures and tables of the papers as experiments: `optsched reproduce NAME`."""

from optsched.papers import bipartite, oasis
from optsched.papers.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e for e in (*oasis.EXPERIMENTS, *bipartite.EXPERIMENTS)
}

__all__ = ["EXPERIMENTS", "Experiment"]
