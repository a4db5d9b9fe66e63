"""Figures 2 to 12 of Zhou et al., weighted completion time."""

from optsched.papers.completion.totals import TOTALS
from optsched.papers.completion.weights import WEIGHTS

EXPERIMENTS = (*TOTALS, *WEIGHTS)
