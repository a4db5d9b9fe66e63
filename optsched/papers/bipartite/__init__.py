"""Figures and Table III of Zhao et al., family `bipartite`, and the growth of the regret."""

from optsched.papers.bipartite import common, fig2, fig3, fig4, fig5, fig6, fig7, regret, tab3
from optsched.papers.experiment import experiment_of

FIGURES = (fig2, fig3, fig4, fig5, fig6, fig7, tab3, regret)
EXPERIMENTS = tuple(experiment_of(figure, common) for figure in FIGURES)
