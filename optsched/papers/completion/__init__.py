"""Figures 2 to 12 of Zhou et al., weighted completion time."""

from optsched.papers.completion.figures import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
