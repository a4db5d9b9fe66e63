"""The schedulers that PD-ORS is compared with: OASiS, as in the thesis, and three simple ones."""

from optsched.families.dmlrs.policies.baselines import Colocate, Drf, Fifo
from optsched.families.dmlrs.policies.oasis import Oasis

BASELINES = {policy.name: policy for policy in (Oasis, Fifo, Drf, Colocate)}

__all__ = ["BASELINES", "Colocate", "Drf", "Fifo", "Oasis"]
