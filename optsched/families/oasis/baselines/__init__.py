"""The four schedulers that OASiS is compared with (Sec. V-A of the paper)."""

from optsched.families.oasis.baselines.dorm import Dorm
from optsched.families.oasis.baselines.drf import Drf
from optsched.families.oasis.baselines.fifo import Fifo
from optsched.families.oasis.baselines.rrh import Rrh

BASELINES = {policy.name: policy for policy in (Fifo, Drf, Rrh, Dorm)}

__all__ = ["BASELINES", "Dorm", "Drf", "Fifo", "Rrh"]
