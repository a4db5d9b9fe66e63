"""Tables and figures of the bag-of-tasks paper."""

from optsched.papers.bot import ablation, common, counts, fig5, fig7, fig8, order, steps
from optsched.papers.bot.anova import FIG_4, FIG_6
from optsched.papers.bot.tables import NAIVE, TABLE_1, TABLE_2
from optsched.papers.experiment import Experiment, experiment_of

EXPERIMENTS: tuple[Experiment, ...] = (
    TABLE_1,
    TABLE_2,
    NAIVE,
    FIG_4,
    FIG_6,
    *(
        experiment_of(module, common)
        for module in (fig5, ablation, counts, order, fig7, fig8, steps)
    ),
)
