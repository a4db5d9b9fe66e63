"""Figures of Bao et al., family `oasis`."""

from optsched.papers.experiment import Experiment
from optsched.papers.oasis import fig3, fig4, fig5, fig6

EXPERIMENTS: tuple[Experiment, ...] = (
    fig3.EXPERIMENT,
    fig4.EXPERIMENT,
    fig5.EXPERIMENT,
    fig6.EXPERIMENT,
)
