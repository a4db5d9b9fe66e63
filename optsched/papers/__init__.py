"""Figures and tables of the papers as experiments: `optsched reproduce NAME`."""

from importlib import import_module

from optsched.papers.experiment import Experiment

PAPERS = ("oasis", "dmlrs", "completion", "bipartite", "bot")
"""Families, with which the names of their experiments begin."""


def experiments(paper: str) -> tuple[Experiment, ...]:
    """Return the experiments of one of :data:`PAPERS`; those of no other are imported."""
    found: tuple[Experiment, ...] = import_module(f"optsched.papers.{paper}").EXPERIMENTS
    return found


__all__ = ["PAPERS", "Experiment", "experiments"]
