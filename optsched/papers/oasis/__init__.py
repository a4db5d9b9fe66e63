"""Figures of Bao et al., family `oasis`."""

from optsched.papers.experiment import experiment_of
from optsched.papers.oasis import fig3, fig4, fig5, fig6, fig8

EXPERIMENTS = tuple(map(experiment_of, (fig3, fig4, fig5, fig6, fig8)))
