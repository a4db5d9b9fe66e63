"""The four schedulers that OASiS is compared with (Sec. V-A of the paper)."""

from optsched.families.oasis.policies.baselines import Drf, Fifo
from optsched.families.oasis.policies.dorm import Dorm
from optsched.families.oasis.policies.rrh import Rrh

BASELINES = {policy.name: policy for policy in (Fifo, Drf, Rrh, Dorm)}

__all__ = ["BASELINES", "Dorm", "Drf", "Fifo", "Rrh"]
