"""Figures of Yu's thesis on PD-ORS, family `dmlrs`."""

from optsched.papers.dmlrs import fig3_11, fig3_12, fig3_13, fig3_14, rounding
from optsched.papers.experiment import experiment_of

EXPERIMENTS = (
    *map(experiment_of, (fig3_11, fig3_12)),
    *(experiment_of(figure, rounding) for figure in (fig3_13, fig3_14)),
)
