"""Figures and Table III of Zhao et al., family `bipartite`, and the growth of the regret."""

from optsched.papers.bipartite import fig2, fig3, fig4, fig5, fig6, fig7, regret, tab3
from optsched.papers.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    fig2.EXPERIMENT,
    fig3.EXPERIMENT,
    fig4.EXPERIMENT,
    fig5.EXPERIMENT,
    fig6.EXPERIMENT,
    fig7.EXPERIMENT,
    tab3.EXPERIMENT,
    regret.EXPERIMENT,
)
