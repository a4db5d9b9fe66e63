"""Figures of Yu's thesis on PD-ORS, family `dmlrs`."""

from optsched.papers.dmlrs import fig3_11, fig3_12, fig3_13, fig3_14
from optsched.papers.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    fig3_11.EXPERIMENT,
    fig3_12.EXPERIMENT,
    fig3_13.EXPERIMENT,
    fig3_14.EXPERIMENT,
)
