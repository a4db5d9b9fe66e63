"""Figures of the papers as experiments: `optsched reproduce NAME`."""

from optsched.papers import oasis_fig3, oasis_fig4, oasis_fig5, oasis_fig6
from optsched.papers.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e
    for e in (
        oasis_fig3.EXPERIMENT,
        oasis_fig4.EXPERIMENT,
        oasis_fig5.EXPERIMENT,
        oasis_fig6.EXPERIMENT,
    )
}

__all__ = ["EXPERIMENTS", "Experiment"]
